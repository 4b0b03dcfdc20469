/* See zip_unit.h. The start of the first archive member whose name ends with ".model" is inflated. Everything is
 * checked against the size of the file. */
#include "scene/zip_unit.h"

#ifdef ABD_HAVE_ASSIMP

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

#include "scene/file_bytes.h"

enum { DIRECTORY_END = 22, DIRECTORY_ENTRY = 46, LOCAL_HEADER = 30, START = 4096 };

static uint32_t little(const char *bytes, int count) {
  uint32_t x = 0;
  for (int i = count - 1; i >= 0; i--) x = x << 8 | (unsigned char)bytes[i];
  return x;
}

static bool ends_with(const char *name, size_t length, const char *end) {
  size_t n = strlen(end);
  return length >= n && strncasecmp(name + length - n, end, n) == 0;
}

/* The place of the central directory's first entry; the file's length if there is none. */
static size_t find_directory(const FileBytes *file) {
  for (size_t back = DIRECTORY_END; back <= file->length && back < 70000; back++) {
    const char *end = file->bytes + file->length - back;
    if (little(end, 4) == 0x06054b50) return little(end + 16, 4);
  }
  return file->length;
}

/* The local header of the model; the file's length if there is none. */
static size_t find_model(const FileBytes *file) {
  size_t at = find_directory(file);
  while (at + DIRECTORY_ENTRY <= file->length && little(file->bytes + at, 4) == 0x02014b50) {
    const char *entry = file->bytes + at;
    size_t name = little(entry + 28, 2), next = DIRECTORY_ENTRY + name + little(entry + 30, 2) + little(entry + 32, 2);
    if (at + next > file->length) break;
    if (ends_with(entry + DIRECTORY_ENTRY, name, ".model")) return little(entry + 42, 4);
    at += next;
  }
  return file->length;
}

/* Writes at most START bytes of the model and a zero. */
static void read_start(const FileBytes *file, char text[START + 1]) {
  size_t at = find_model(file);
  text[0] = 0;
  if (at + LOCAL_HEADER > file->length) return;
  const char *header = file->bytes + at;
  size_t data = at + LOCAL_HEADER + little(header + 26, 2) + little(header + 28, 2);
  if (data >= file->length) return;
  size_t rest = file->length - data;
  if (little(header + 8, 2) == 0) { /* stored */
    size_t n = rest < START ? rest : START;
    memcpy(text, file->bytes + data, n);
    text[n] = 0;
    return;
  }
  z_stream z = {.next_in = (Bytef *)(file->bytes + data),
                .avail_in = (uInt)(rest < 1u << 20 ? rest : 1u << 20),
                .next_out = (Bytef *)text,
                .avail_out = START};
  if (inflateInit2(&z, -MAX_WBITS) != Z_OK) return;
  inflate(&z, Z_SYNC_FLUSH);
  text[START - z.avail_out] = 0;
  inflateEnd(&z);
}

static double unit_in(const char *text) {
  static const struct {
    const char *name;
    double metres;
  } unit[] = {{"\"micron\"", 1e-6}, {"\"millimeter\"", 1e-3}, {"\"centimeter\"", 1e-2},
              {"\"inch\"", 0.0254}, {"\"foot\"", 0.3048},     {"\"meter\"", 1}};
  const char *model = strstr(text, "<model"), *end = model ? strchr(model, '>') : NULL;
  const char *key = model ? strstr(model, "unit=") : NULL;
  for (int i = 0; key && end && key < end && i < 6; i++)
    if (strncmp(key + 5, unit[i].name, strlen(unit[i].name)) == 0) return unit[i].metres;
  return 1e-3;
}

double zip_unit_3mf(const char *path) {
  FileBytes file;
  SceneError error;
  char text[START + 1];
  if (!file_read(path, &file, &error)) return 1e-3;
  read_start(&file, text);
  free(file.bytes);
  return unit_in(text);
}

#endif
