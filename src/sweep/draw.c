/* Random settings (study.h). A draw is a function of the member's seed and the setting's name, so points of a grid with
 * one seed have the same draws, and a study that gets another setting keeps its draws.
 *
 *   {"uniform": [a, b]}  {"log_uniform": [a, b]}  {"normal": [mean, deviation]}  {"integer": [a, b]}  {"choice": [...]}
 *   "seed": the seed itself        [d, d, 1]: a vector with a distribution or a number for each coordinate */
#include <math.h>
#include <string.h>

#include "sweep/study.h"

static const char *const kind_name[] = {"uniform", "log_uniform", "normal", "integer", "choice", NULL};
enum { UNIFORM, LOG_UNIFORM, NORMAL, INTEGER, CHOICE, KIND_COUNT };

static const char expected[] =
    "a distribution, such as {\"uniform\": [0, 1]}, \"seed\", or a list with one for each coordinate";

/* ---- Reading ---- */

static int kind_of(const json_t *distribution) {
  for (int k = 0; k < KIND_COUNT; k++)
    if (json_object_get(distribution, kind_name[k])) return k;
  return -1;
}

static bool check_range(const Node *range, int kind) {
  double value[2];
  if (!node_vector(range, value, 2)) return false;
  if (kind == NORMAL) return value[1] >= 0 || node_fail(range, "expected a deviation >= 0, got %g", value[1]);
  if (kind == LOG_UNIFORM && value[0] <= 0) return node_fail(range, "expected a least value > 0, got %g", value[0]);
  if (kind == INTEGER && (value[0] != floor(value[0]) || value[1] != floor(value[1])))
    return node_fail(range, "expected whole numbers, got %g and %g", value[0], value[1]);
  return value[0] <= value[1] ||
         node_fail(range, "expected the least value first, got %g and then %g", value[0], value[1]);
}

static bool check_object(const Node *node) {
  Node child;
  int kind = kind_of(node->value);
  if (!node_check_keys(node, kind_name)) return false;
  if (kind < 0 || json_object_size(node->value) != 1) return node_expected(node, expected);
  node_get(node, kind_name[kind], &child);
  if (kind != CHOICE) return check_range(&child, kind);
  return node_is_array(&child) && (node_size(&child) || node_fail(&child, "expected at least one value"));
}

static bool check_coordinate(const Node *node) {
  return json_is_number(node->value) ||
         (json_is_object(node->value) ? check_object(node) : node_expected(node, expected));
}

bool draw_check(const Node *node) {
  const char *word = json_string_value(node->value);
  if (word) return !strcmp(word, "seed") || node_expected(node, expected);
  if (json_is_object(node->value)) return check_object(node);
  if (!json_is_array(node->value) || !node_size(node)) return node_expected(node, expected);
  for (size_t k = 0; k < node_size(node); k++) {
    Node item = node_item(node, k);
    if (!check_coordinate(&item)) return false;
  }
  return true;
}

/* ---- Drawing ---- */

/* The finalizer of splitmix64: every bit of the result depends on every bit of x. */
static uint64_t mix(uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

/* The stream of a seed and a name. */
static uint64_t stream_of(int64_t seed, const char *name) {
  uint64_t hash = mix((uint64_t)seed + 0x9e3779b97f4a7c15u);
  for (; *name; name++) hash = mix(hash + (unsigned char)*name + 0x9e3779b97f4a7c15u);
  return hash;
}

/* The next number in (0, 1). */
static double next(uint64_t *stream) {
  *stream += 0x9e3779b97f4a7c15u;
  return ((double)(mix(*stream) >> 11) + 0.5) * 0x1p-53;
}

/* Box and Muller's method. */
static double next_normal(uint64_t *stream) {
  double radius = sqrt(-2 * log(next(stream)));
  return radius * cos(6.283185307179586 * next(stream));
}

static json_t *draw_range(int kind, double a, double b, uint64_t *stream) {
  switch (kind) {
    case LOG_UNIFORM: return json_real(fmin(fmax(a * exp(next(stream) * log(b / a)), a), b));
    case NORMAL: return json_real(a + b * next_normal(stream));
    case INTEGER: return json_integer((json_int_t)fmin(a + floor(next(stream) * (b - a + 1)), b));
    default: return json_real(fmin(a + next(stream) * (b - a), b));
  }
}

static json_t *draw_object(const json_t *distribution, uint64_t *stream) {
  int kind = kind_of(distribution);
  const json_t *value = json_object_get(distribution, kind_name[kind]);
  if (kind != CHOICE)
    return draw_range(kind, json_number_value(json_array_get(value, 0)), json_number_value(json_array_get(value, 1)),
                      stream);
  size_t count = json_array_size(value), k = (size_t)(next(stream) * (double)count);
  return json_deep_copy(json_array_get(value, k < count ? k : count - 1));
}

json_t *draw_value(const json_t *distribution, const char *name, int64_t seed) {
  uint64_t stream = stream_of(seed, name);
  if (json_is_string(distribution)) return json_integer(seed);
  if (json_is_object(distribution)) return draw_object(distribution, &stream);
  json_t *list = json_array();
  for (size_t k = 0; k < json_array_size(distribution); k++) {
    const json_t *item = json_array_get(distribution, k);
    json_array_append_new(list, json_is_object(item) ? draw_object(item, &stream) : json_deep_copy(item));
  }
  return list;
}
