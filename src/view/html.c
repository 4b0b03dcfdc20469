/* See html.h.
 *
 * Frames are most of the data, and consecutive frames are similar. Numbers are rounded to 18 bits of mantissa (2e-6 of
 * their size, which no picture shows), each frame is stored as the exclusive or with the previous one, the four bytes
 * of each word in four planes, and, if zlib is present, everything is deflated. The page reverses this in source.js. */
#define _GNU_SOURCE
#include "view/html.h"

#include "export/out_file.h"
#include "view/data.h"
#include "view/page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef ABD_HAVE_ZLIB
#include <zlib.h>
#endif

static bool fail_memory(ViewData *data) {
  data->error.kind = RUN_DISK;
  snprintf(data->error.text, sizeof data->error.text, "%s: out of memory for the page", data->path);
  return false;
}

static bool fail_gone(ViewData *data) {
  data->error.kind = RUN_BAD_FILE;
  snprintf(data->error.text, sizeof data->error.text, "%s: the run was rewound or replaced during the export",
           data->path);
  return false;
}

/* ---- Packing ---- */

/* Round to nearest; an infinity stays one. */
static uint32_t round_word(uint32_t word) {
  enum { DROPPED = 23 - 18 };
  if ((word & 0x7f800000u) == 0x7f800000u) return word;
  uint32_t rounded = (word + (1u << (DROPPED - 1))) & ~((1u << DROPPED) - 1);
  return (rounded & 0x7f800000u) == 0x7f800000u ? word : rounded;
}

/* In place: rounds all numbers but the first two doubles of each frame, and replaces frames by their differences. */
static void difference_frames(Bytes *frames, size_t stride) {
  uint32_t *word = (uint32_t *)(void *)frames->data;
  size_t words = frames->size / 4, step = stride / 4;
  for (size_t k = 0; k < words; k++)
    if (k % step >= 4) word[k] = round_word(word[k]);
  for (size_t k = words; k-- > step;) word[k] ^= word[k - step];
}

static bool split_planes(Bytes *bytes) {
  Bytes planes = {0};
  size_t words = bytes->size / 4;
  unsigned char *at = bytes_extend(&planes, bytes->size);
  if (!at) return false;
  for (size_t k = 0; k < words; k++)
    for (size_t plane = 0; plane < 4; plane++) at[plane * words + k] = bytes->data[4 * k + plane];
  bytes_free(bytes);
  *bytes = planes;
  return true;
}

/* Deflates in place; returns false and leaves the bytes unchanged if it cannot. */
static bool deflate_bytes(Bytes *bytes) {
#ifdef ABD_HAVE_ZLIB
  Bytes packed = {0};
  uLongf size = compressBound(bytes->size);
  unsigned char *at = bytes_extend(&packed, size);
  if (!at || compress2(at, &size, bytes->data ? bytes->data : at, bytes->size, 6) != Z_OK)
    return bytes_free(&packed), false;
  packed.size = size;
  bytes_free(bytes);
  *bytes = packed;
  return true;
#else
  (void)bytes;
  return false;
#endif
}

/* ---- Writing ---- */

static void write_base64(FILE *file, const Bytes *bytes) {
  static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  char line[4 * 1024 + 1];
  size_t used = 0;
  for (size_t k = 0; k < bytes->size; k += 3) {
    size_t left = bytes->size - k;
    uint32_t three = (uint32_t)bytes->data[k] << 16 | (left > 1 ? (uint32_t)bytes->data[k + 1] << 8 : 0) |
                     (left > 2 ? bytes->data[k + 2] : 0);
    line[used++] = digit[three >> 18], line[used++] = digit[three >> 12 & 63];
    line[used++] = left > 1 ? digit[three >> 6 & 63] : '=', line[used++] = left > 2 ? digit[three & 63] : '=';
    if (used == sizeof line - 1) fwrite(line, 1, used, file), used = 0;
  }
  fwrite(line, 1, used, file);
}

/* Deflates, writes and frees the bytes; planes is the frames' stride or 0. */
static void write_section(FILE *file, const char *name, Bytes *bytes, size_t planes) {
  bool small = deflate_bytes(bytes);
  fprintf(file, "<script type=\"application/octet-stream\" id=\"abd-%s\" data-packing=\"%s%s\" data-stride=\"%zu\">",
          name, planes ? "planes " : "", small ? "deflate" : "", planes);
  write_base64(file, bytes);
  fputs("</script>\n", file);
  bytes_free(bytes);
}

/* Text inside a script element: escapes a "<" that could begin a tag. */
static void write_json(FILE *file, const Bytes *text) {
  for (size_t k = 0; k < text->size; k++) {
    if (text->data[k] == '<') fputs("\\u003c", file);
    else fputc(text->data[k], file);
  }
}

/* "</script" within the program's own strings would end it. */
static void write_script(FILE *file, PagePart part) {
  const char *at = part.data, *end = part.data + part.size;
  while (at < end) {
    const char *tag = memmem(at, (size_t)(end - at), "</script", 8);
    size_t length = (size_t)((tag ? tag : end) - at);
    fwrite(at, 1, length, file);
    if (tag) fputs("<\\/script", file);
    at += length + (tag ? 8 : 0);
  }
}

/* The page with the style sheet, the data and the program in place of their references. */
static bool write_page(FILE *file, ViewData *data, bool (*sections)(FILE *, ViewData *)) {
  static const char style[] = "<link rel=\"stylesheet\" href=\"viewer.css\">",
                    script[] = "<script src=\"viewer.js\"></script>";
  static const char policy[] = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src "
                               "'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:\">\n<style>";
  PagePart html = page_html(), sheet = page_style();
  const char *end = html.data + html.size, *at = memmem(html.data, html.size, style, sizeof style - 1);
  const char *then = at ? memmem(at, (size_t)(end - at), script, sizeof script - 1) : NULL;
  if (!then) return false;
  fwrite(html.data, 1, (size_t)(at - html.data), file);
  fputs(policy, file);
  fwrite(sheet.data, 1, sheet.size, file);
  fputs("</style>", file);
  at += sizeof style - 1;
  fwrite(at, 1, (size_t)(then - at), file);
  if (!sections(file, data)) return false;
  fputs("<script>", file);
  write_script(file, page_script());
  fputs("</script>", file);
  then += sizeof script - 1;
  fwrite(then, 1, (size_t)(end - then), file);
  return true;
}

/* ---- Sections ---- */

/* Answers end at a size limit; this repeats them until all data is there. */
static bool all_frames(ViewData *data, Bytes *out) {
  size_t stride = view_frame_size(&data->run.scene);
  for (size_t first = 0; first < data->run.step_count;) {
    Bytes some = {0};
    bool good = view_data_frames(data, first, data->run.step_count, &some) &&
                (some.size >= stride || fail_gone(data)) && (bytes_add(out, some.data, some.size) || fail_memory(data));
    first += some.size / stride;
    bytes_free(&some);
    if (!good) return false;
  }
  return true;
}

static bool all_records(ViewData *data, bool (*read)(ViewData *, size_t, size_t, Bytes *), Bytes *out) {
  for (size_t k = 0; k < data->run.step_count; k++) {
    Bytes some = {0};
    bool good = read(data, k, 1, &some) && (bytes_add(out, some.data, some.size) || fail_memory(data));
    bytes_free(&some);
    if (!good) return false;
  }
  return true;
}

static bool write_meta(FILE *file, ViewData *data) {
  Bytes meta = {0};
  if (!view_data_meta(data, false, &meta)) return bytes_free(&meta), false;
  meta.size--; /* the closing brace follows after one more member */
  fputs("<script type=\"application/json\" id=\"abd-meta\">", file);
  write_json(file, &meta);
  fprintf(file, ",\"frames\":%zu}</script>\n", data->run.step_count);
  bytes_free(&meta);
  return true;
}

static bool write_sections(FILE *file, ViewData *data) {
  Bytes steps = {0}, meshes = {0}, frames = {0}, contacts = {0}, joints = {0}, reports = {0};
  size_t stride = view_frame_size(&data->run.scene);
  bool good = write_meta(file, data) && view_data_steps(data, 0, &steps) &&
              view_data_meshes(data, 0, data->run.scene.mesh_count, &meshes) && all_frames(data, &frames) &&
              all_records(data, view_data_contacts, &contacts) && all_records(data, view_data_joints, &joints) &&
              view_data_reports(data, -1, 10000000, &reports);
  if (good) {
    difference_frames(&frames, stride);
    good = split_planes(&frames) || fail_memory(data);
  }
  if (good) {
    write_section(file, "steps", &steps, 0), write_section(file, "meshes", &meshes, 0);
    write_section(file, "frames", &frames, stride), write_section(file, "contacts", &contacts, 0);
    write_section(file, "joints", &joints, 0), write_section(file, "reports", &reports, 0);
  }
  bytes_free(&steps), bytes_free(&meshes), bytes_free(&frames), bytes_free(&contacts);
  bytes_free(&joints), bytes_free(&reports);
  return good;
}

/* The frames of the series; if they are too many, every n-th and the last. */
static bool choose_steps(ViewData *data, const ExportSeries *series) {
  int64_t *step = malloc((series->step_count + 1) * sizeof *step);
  if (!step) return fail_memory(data);
  size_t every = 1 + series->step_count * view_frame_size(&data->run.scene) / VIEW_HTML_BYTES;
  free(data->run.step);
  data->run.step = step, data->run.step_count = 0;
  for (size_t k = 0; k < series->step_count; k++)
    if (k % every == 0 || k + 1 == series->step_count) step[data->run.step_count++] = series->step[k];
  return true;
}

static bool write_file(ViewData *data, const char *path, ExportError *error) {
  OutFile out;
  if (!out_open(&out, path, error)) return false;
  data->error.text[0] = 0;
  bool good = write_page(out.file, data, write_sections);
  if (out_close(&out, good, error)) return true;
  if (!good && data->error.text[0]) memcpy(error->text, data->error.text, sizeof error->text);
  return false;
}

bool view_write_html(const ExportSeries *series, const char *path, ExportError *error) {
  ViewData data;
  if (!page_present()) return snprintf(error->text, sizeof error->text, "%s", page_missing()), false;
  bool read = view_data_open(&data, run_path(series->run)) && choose_steps(&data, series);
  if (!read) memcpy(error->text, data.error.text, sizeof error->text);
  bool good = read && write_file(&data, path, error);
  view_data_destroy(&data);
  return good;
}
