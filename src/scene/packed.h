/* Numbers packed into a JSON string: base64 of little-endian f64 or u32, bit for bit. Tests: tests/test_scene.c. */
#ifndef ABD_SCENE_PACKED_H
#define ABD_SCENE_PACKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero-terminated strings to free; NULL when out of memory. */
char *packed_from_f64(const double *value, size_t count);
char *packed_from_u32(const uint32_t *value, size_t count);
/* Arrays to free, never NULL on success; false when the text is no base64 of whole numbers, or out of memory. */
bool packed_to_f64(const char *text, size_t length, double **value, size_t *count);
bool packed_to_u32(const char *text, size_t length, uint32_t **value, size_t *count);

#endif
