/* Words and numbers of text mesh files (mesh_text.h). Tests: tests/test_mesh_file.c. */
#define _GNU_SOURCE /* strtod_l */
#include "scene/mesh_text.h"

#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "scene/file_bytes.h"

MeshText mesh_text(const char *bytes, size_t length, const char *name, SceneError *error) {
  size_t mark = byte_order_mark(bytes, length);
  bool old_lines = length && !memchr(bytes, '\n', length) && memchr(bytes, '\r', length);
  return (MeshText){.at = bytes + mark,
                    .end = bytes + length,
                    .name = name,
                    .line = 1,
                    .newline = old_lines ? '\r' : '\n',
                    .error = error};
}

bool text_fail(const MeshText *t, const char *format, ...) {
  if (!t->error) return false;
  va_list list;
  int used = t->line ? snprintf(t->error->text, sizeof t->error->text, "%.500s:%d: ", t->name, t->line)
                     : snprintf(t->error->text, sizeof t->error->text, "%.500s: ", t->name);
  va_start(list, format);
  vsnprintf(t->error->text + used, sizeof t->error->text - (size_t)used, format, list);
  va_end(list);
  return false;
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v'; }

bool text_word(MeshText *t, Word *word) {
  for (; t->at < t->end && *t->at != t->newline; t->at++) {
    bool continued = *t->at == '\\' && t->at + 1 < t->end && (t->at[1] == '\n' || t->at[1] == '\r');
    if (continued) {
      text_next_line(t);
      t->at--;
    } else if (!is_blank(*t->at)) {
      break;
    }
  }
  if (t->at == t->end || *t->at == t->newline || *t->at == '#') return false;
  const char *start = t->at;
  while (t->at < t->end && !is_blank(*t->at) && *t->at != t->newline) t->at++;
  *word = (Word){start, (size_t)(t->at - start)};
  return true;
}

bool text_next_line(MeshText *t) {
  const char *newline = t->at < t->end ? memchr(t->at, t->newline, (size_t)(t->end - t->at)) : NULL;
  if (!newline) {
    t->at = t->end;
    return false;
  }
  t->at = newline + 1;
  t->line++;
  return t->at < t->end;
}

bool text_next_word(MeshText *t, Word *word) {
  while (!text_word(t, word)) {
    if (!text_next_line(t)) return false;
  }
  return true;
}

bool word_is(Word word, const char *text) {
  return strlen(text) == word.length && memcmp(word.at, text, word.length) == 0;
}

bool word_is_any_case(Word word, const char *text) {
  return strlen(text) == word.length && strncasecmp(word.at, text, word.length) == 0;
}

/* At most 15 digits and powers of ten up to 22 are exact in double arithmetic: one rounding, the right one. */
static bool exact_number(Word word, double *value) {
  static const double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  const char *c = word.at, *end = word.at + word.length;
  bool negative = c < end && *c == '-', point = false;
  int digits = 0, scale = 0;
  int64_t mantissa = 0;
  for (c += negative; c < end; c++) {
    if (*c == '.' && !point) point = true;
    else if (*c >= '0' && *c <= '9' && ++digits <= 15) mantissa = 10 * mantissa + (*c - '0'), scale += point;
    else return false;
  }
  if (!digits) return false;
  *value = (double)mantissa / power[scale] * (negative ? -1 : 1);
  return true;
}

bool word_number(Word word, double *value) {
  if (exact_number(word, value)) return true;
  char buffer[128], *end;
  if (word.length == 0 || word.length >= sizeof buffer) return false;
  memcpy(buffer, word.at, word.length);
  buffer[word.length] = 0;
  if (strpbrk(buffer, "xX")) return false; /* no hexadecimal */
  locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (!c_locale) return false;
  *value = strtod_l(buffer, &end, c_locale);
  freelocale(c_locale);
  return end == buffer + word.length;
}

bool word_integer(Word word, int64_t *value) {
  const char *c = word.at, *end = word.at + word.length;
  bool negative = c < end && *c == '-';
  int64_t x = 0;
  c += negative || (c < end && *c == '+');
  if (c == end || end - c > 18) return false;
  for (; c < end; c++) {
    if (*c < '0' || *c > '9') return false;
    x = 10 * x + (*c - '0');
  }
  *value = negative ? -x : x;
  return true;
}

int word_shown(Word word) { return word.length < 40 ? (int)word.length : 40; }

bool text_coordinates(MeshText *t, const char *what, size_t index, double x[3]) {
  Word word;
  for (int k = 0; k < 3; k++) {
    if (!text_word(t, &word)) return text_fail(t, "%s %zu: expected 3 coordinates, found %d", what, index, k);
    if (!word_number(word, &x[k]) || !isfinite(x[k])) {
      return text_fail(t, "%s %zu: expected a finite number, got \"%.*s\"", what, index, word_shown(word), word.at);
    }
  }
  return true;
}

bool text_index(MeshText *t, Word word, int64_t *value) {
  return word_integer(word, value) || text_fail(t, "expected a whole number, got \"%.*s\"", word_shown(word), word.at);
}

bool text_add_polygon(const MeshText *t, const char *what, long long index, Polygon *polygon, MeshData *out) {
  bool too_long;
  size_t count = polygon->count;
  if (polygon_cut(polygon, out, &too_long)) return true;
  if (!too_long) return text_fail(t, "out of memory");
  return text_fail(t,
                   "%s %lld: a polygon of %zu corners that is not convex, expected at most %d; cut it into triangles",
                   what, index, count, POLYGON_LIMIT);
}

bool text_check_count(const MeshText *t, const char *what, int64_t count, size_t element_size) {
  size_t rest = (size_t)(t->end - t->at);
  if (count >= 0 && (uint64_t)count <= rest / element_size + 1) return true;
  return text_fail(t, "the header claims %lld %s, but only %zu bytes follow: the file is cut off or damaged",
                   (long long)count, what, rest);
}
