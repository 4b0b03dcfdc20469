/* Reading a whole regular file into memory. Tests: tests/test_mesh_file.c. */
#ifndef ABD_SCENE_FILE_BYTES_H
#define ABD_SCENE_FILE_BYTES_H

#include "scene/scene.h"

typedef struct FileBytes {
  char *bytes;
  size_t length;
} FileBytes; /* free(bytes); a zero follows the last byte */

/* Fails for folders, devices and pipes, which could block or never end. */
bool file_read(const char *path, FileBytes *file, SceneError *error);
/* 3 if a text begins with the byte order mark of UTF-8, as some editors write it; else 0. */
size_t byte_order_mark(const char *bytes, size_t length);
bool file_exists(const char *path);
const char *file_extension(const char *path); /* "obj" of "a/b.obj"; "" if the path has none */

#endif
