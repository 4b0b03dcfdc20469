/* See bytes.h. */
#include "view/bytes.h"

#include <stdlib.h>
#include <string.h>

void *bytes_extend(Bytes *bytes, size_t size) {
  if (size > bytes->capacity - bytes->size || !bytes->data) {
    size_t capacity = bytes->size + size + (bytes->size + size) / 2 + 256;
    unsigned char *data = realloc(bytes->data, capacity);
    if (!data) return NULL;
    bytes->data = data, bytes->capacity = capacity;
  }
  bytes->size += size;
  return bytes->data + bytes->size - size;
}

bool bytes_add(Bytes *bytes, const void *data, size_t size) {
  void *at = bytes_extend(bytes, size);
  if (at && size) memcpy(at, data, size);
  return at != NULL;
}

bool bytes_add_text(Bytes *bytes, const char *text) { return bytes_add(bytes, text, strlen(text)); }

void bytes_free(Bytes *bytes) {
  free(bytes->data);
  *bytes = (Bytes){0};
}
