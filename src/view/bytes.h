/* A growing block of bytes: the answer to a request or a section of an exported page. Internal to src/view. */
#ifndef ABD_VIEW_BYTES_H
#define ABD_VIEW_BYTES_H

#include <stdbool.h>
#include <stddef.h>

typedef struct Bytes {
  unsigned char *data; /* malloc'ed; NULL while empty */
  size_t size, capacity;
} Bytes;

/* Appends size bytes and returns their address; NULL if memory runs out, with the block unchanged. */
void *bytes_extend(Bytes *bytes, size_t size);
bool bytes_add(Bytes *bytes, const void *data, size_t size);
bool bytes_add_text(Bytes *bytes, const char *text);
void bytes_free(Bytes *bytes);

#endif
