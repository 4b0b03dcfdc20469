/* Base64 of little-endian numbers (packed.h). Tests: tests/test_scene.c. */
#include "scene/packed.h"

#include <stdlib.h>
#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static char *encode(const unsigned char *byte, size_t length) {
  char *text = malloc((length + 2) / 3 * 4 + 1), *out = text;
  if (!text) return NULL;
  for (size_t i = 0; i < length; i += 3, out += 4) {
    size_t rest = length - i;
    uint32_t v = (uint32_t)byte[i] << 16 | (rest > 1 ? (uint32_t)byte[i + 1] << 8 : 0) | (rest > 2 ? byte[i + 2] : 0);
    for (int k = 0; k < 4; k++) out[k] = k <= (int)(rest < 3 ? rest : 3) ? digits[v >> (18 - 6 * k) & 63] : '=';
  }
  *out = 0;
  return text;
}

static bool decode(const char *text, size_t length, unsigned char **byte, size_t *count) {
  signed char value[256];
  memset(value, -1, sizeof value);
  for (int i = 0; i < 64; i++) value[(unsigned char)digits[i]] = (signed char)i;
  if (length % 4) return false;
  size_t padding = length && text[length - 1] == '=' ? 1 + (text[length - 2] == '=') : 0;
  *count = length / 4 * 3 - padding;
  *byte = malloc(length / 4 * 3 + 1);
  if (!*byte) return false;
  for (size_t i = 0; i < length; i += 4) {
    uint32_t v = 0;
    for (size_t k = 0; k < 4; k++) {
      int digit = i + k >= length - padding ? 0 : value[(unsigned char)text[i + k]];
      if (digit < 0) {
        free(*byte);
        return false;
      }
      v = v << 6 | (uint32_t)digit;
    }
    for (size_t k = 0; k < 3; k++) (*byte)[i / 4 * 3 + k] = (unsigned char)(v >> (16 - 8 * k));
  }
  return true;
}

static void put(unsigned char *byte, uint64_t bits, size_t size) {
  for (size_t k = 0; k < size; k++) byte[k] = (unsigned char)(bits >> (8 * k));
}

static uint64_t get(const unsigned char *byte, size_t size) {
  uint64_t bits = 0;
  for (size_t k = 0; k < size; k++) bits |= (uint64_t)byte[k] << (8 * k);
  return bits;
}

char *packed_from_f64(const double *value, size_t count) {
  unsigned char *byte = malloc(8 * count + 1);
  for (size_t i = 0; byte && i < count; i++) {
    uint64_t bits;
    memcpy(&bits, &value[i], sizeof bits);
    put(byte + 8 * i, bits, 8);
  }
  char *text = byte ? encode(byte, 8 * count) : NULL;
  free(byte);
  return text;
}

char *packed_from_u32(const uint32_t *value, size_t count) {
  unsigned char *byte = malloc(4 * count + 1);
  for (size_t i = 0; byte && i < count; i++) put(byte + 4 * i, value[i], 4);
  char *text = byte ? encode(byte, 4 * count) : NULL;
  free(byte);
  return text;
}

bool packed_to_f64(const char *text, size_t length, double **value, size_t *count) {
  unsigned char *byte;
  size_t size;
  if (!decode(text, length, &byte, &size)) return false;
  *count = size / 8;
  *value = size % 8 ? NULL : malloc(size + 1);
  for (size_t i = 0; *value && i < *count; i++) {
    uint64_t bits = get(byte + 8 * i, 8);
    memcpy(&(*value)[i], &bits, sizeof bits);
  }
  free(byte);
  return *value != NULL;
}

bool packed_to_u32(const char *text, size_t length, uint32_t **value, size_t *count) {
  unsigned char *byte;
  size_t size;
  if (!decode(text, length, &byte, &size)) return false;
  *count = size / 4;
  *value = size % 4 ? NULL : malloc(size + 1);
  for (size_t i = 0; *value && i < *count; i++) (*value)[i] = (uint32_t)get(byte + 4 * i, 4);
  free(byte);
  return *value != NULL;
}
