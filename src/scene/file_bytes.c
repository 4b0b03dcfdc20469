/* Reading a whole regular file into memory (file_bytes.h). Tests: tests/test_mesh_file.c. */
#include "scene/file_bytes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "scene/json_node.h"

bool file_exists(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

size_t byte_order_mark(const char *bytes, size_t length) {
  return length >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

const char *file_extension(const char *path) {
  const char *dot = strrchr(path, '.');
  return dot && !strchr(dot, '/') ? dot + 1 : "";
}

bool file_read(const char *path, FileBytes *file, SceneError *error) {
  struct stat info;
  *file = (FileBytes){0};
  if (stat(path, &info) != 0) return scene_fail(error, "%.500s: cannot read: %s", path, strerror(errno));
  if (!S_ISREG(info.st_mode)) return scene_fail(error, "%.500s: cannot read: not a regular file", path);
  FILE *stream = fopen(path, "rb");
  if (!stream) return scene_fail(error, "%.500s: cannot read: %s", path, strerror(errno));
  size_t size = (size_t)info.st_size;
  file->bytes = malloc(size + 1);
  if (file->bytes) file->length = fread(file->bytes, 1, size, stream);
  fclose(stream);
  if (!file->bytes) return scene_fail(error, "%.500s: no memory for its %zu bytes", path, size);
  if (file->length != size) {
    free(file->bytes);
    return scene_fail(error, "%.500s: read only %zu of %zu bytes", path, file->length, size);
  }
  file->bytes[size] = 0;
  return true;
}
