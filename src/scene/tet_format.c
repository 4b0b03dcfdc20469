/* Numbers of tetrahedral mesh files (tet_format.h). Tests: tests/test_tet_mesh.c. */
#include "scene/tet_format.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

MeshNumbers mesh_numbers(const char *bytes, size_t length, const char *name, SceneError *error) {
  return (MeshNumbers){.text = mesh_text(bytes, length, name, error), .start = bytes};
}

bool host_is_little(void) {
  const uint16_t one = 1;
  return *(const unsigned char *)&one == 1;
}

bool numbers_fail(const MeshNumbers *n, const char *format, ...) {
  char sentence[400];
  va_list list;
  va_start(list, format);
  vsnprintf(sentence, sizeof sentence, format, list);
  va_end(list);
  if (!n->binary) return text_fail(&n->text, "%s", sentence);
  if (n->text.error)
    snprintf(n->text.error->text, sizeof n->text.error->text, "%.500s: byte %zu: %s", n->text.name,
             (size_t)(n->text.at - n->start), sentence);
  return false;
}

/* The next size bytes in this machine's order. */
static bool take(MeshNumbers *n, int size, const char *what, int64_t index, void *value) {
  unsigned char b[8];
  if (n->text.end - n->text.at < size)
    return numbers_fail(n, "%s %lld: the file ends within it", what, (long long)index);
  for (int k = 0; k < size; k++) b[k] = (unsigned char)n->text.at[n->swap ? size - 1 - k : k];
  n->text.at += size;
  memcpy(value, b, (size_t)size);
  return true;
}

bool numbers_integer(MeshNumbers *n, int size, const char *what, int64_t index, int64_t *value) {
  int32_t small = 0;
  Word word;
  *value = 0;
  if (n->binary && size == 8) return take(n, 8, what, index, value);
  if (n->binary) {
    if (!take(n, 4, what, index, &small)) return false;
    *value = small;
    return true;
  }
  if (!text_next_word(&n->text, &word))
    return numbers_fail(n, "%s %lld: the file ends before it is complete", what, (long long)index);
  return word_integer(word, value) || numbers_fail(n, "%s %lld: expected a whole number, got \"%.*s\"", what,
                                                   (long long)index, word_shown(word), word.at);
}

bool numbers_coordinates(MeshNumbers *n, int size, const char *what, int64_t index, double x[3]) {
  for (int k = 0; k < 3; k++) {
    float small = 0;
    Word word;
    if (n->binary) {
      if (!take(n, size, what, index, size == 8 ? (void *)&x[k] : (void *)&small)) return false;
      if (size == 4) x[k] = (double)small;
    } else {
      if (!text_next_word(&n->text, &word))
        return numbers_fail(n, "%s %lld: the file ends before its 3 coordinates", what, (long long)index);
      if (!word_number(word, &x[k]))
        return numbers_fail(n, "%s %lld: expected a number, got \"%.*s\"", what, (long long)index, word_shown(word),
                            word.at);
    }
    if (!isfinite(x[k]))
      return numbers_fail(n, "%s %lld: coordinate %d is %g, expected a finite number", what, (long long)index, k + 1,
                          x[k]);
  }
  return true;
}

bool numbers_check_count(const MeshNumbers *n, const char *what, int64_t count, int numbers, int size) {
  size_t rest = (size_t)(n->text.end - n->text.at), least = (size_t)numbers * (size_t)(n->binary ? size : 2);
  if (count >= 0 && (uint64_t)count <= rest / least + 1 && count < INT32_MAX) return true;
  return numbers_fail(n, "the file claims %lld %s, but only %zu bytes follow: it is cut off or damaged",
                      (long long)count, what, rest);
}

void numbers_end_line(MeshNumbers *n) {
  if (n->binary) text_next_line(&n->text);
}
