/* See table.h. The tables are Markdown that is legible as text. */
#define _GNU_SOURCE
#include "table.h"

#include "args.h"
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Reading results ---- */

static double number(const json_t *result, const char *key) { return json_number_value(json_object_get(result, key)); }

static const json_t *find(const json_t *results, const char *scene, int rate, const char *engine) {
  size_t index;
  json_t *one;
  json_array_foreach(results, index,
                     one) if (!strcmp(json_string_value(json_object_get(one, "scene")), scene) &&
                              number(one, "rate") == rate &&
                              !strcmp(json_string_value(json_object_get(one, "engine")), engine)) return one;
  return NULL;
}

/* A result with at least one step. */
static bool stepped(const json_t *result) { return result && number(result, "steps") > 0; }

static const char *story(const json_t *result) {
  const char *text = json_string_value(json_object_get(result, "story"));
  return text ? text : "";
}

/* ---- Cells ---- */

/* Two significant digits, or all digits before the point. */
static void brief(FILE *out, double value) { fprintf(out, value >= 100 ? "%.0f" : "%.2g", value); }

static void milliseconds(FILE *out, const json_t *result, const json_t *own) {
  if (!stepped(result)) {
    fprintf(out, " - |");
    return;
  }
  fprintf(out, " "), brief(out, number(result, "cpu_ms"));
  if (result != own && stepped(own)) {
    fprintf(out, " ("), brief(out, number(own, "cpu_ms") / number(result, "cpu_ms")), fprintf(out, ")");
  }
  fprintf(out, " |");
}

static void length(FILE *out, double metres) {
  if (metres <= 0) fprintf(out, "0");
  else brief(out, metres < 0.1 ? 1e3 * metres : metres), fprintf(out, metres < 0.1 ? " mm" : " m");
}

static void crossings(FILE *out, const json_t *result) {
  if (!stepped(result)) {
    fprintf(out, " - |");
    return;
  }
  double frames = number(result, "frames"), crossing = number(result, "crossing_frames");
  fprintf(out, " %.0f %%", frames > 0 ? 100 * crossing / frames : 0);
  if (crossing > 0) fprintf(out, ", %g, ", number(result, "pairs_most")), length(out, number(result, "depth"));
  fprintf(out, " |");
}

/* ---- Tables ---- */

static void head(FILE *out, const TableDef *def, const char *columns) {
  int count = 0;
  fprintf(out, "|%s", columns);
  for (const char *c = columns; *c; c++) count += *c == '|';
  for (const Engine *const *engine = engine_list(); *engine; engine++)
    if (*engine == &engine_abd || !def->engine || !strcmp(def->engine, (*engine)->name))
      fprintf(out, " %s |", (*engine)->title), count++;
  fprintf(out, "\n|");
  while (count--) fprintf(out, "---|");
  fprintf(out, "\n");
}

/* scene and dt of a row; the scene only in its first row. */
static void row_name(FILE *out, const Case *one, const char **last) {
  bool same = *last && !strcmp(*last, one->name);
  fprintf(out, "| %s | 1/%d |", same ? "" : one->name, one->rate);
  *last = one->name;
}

static void speed_table(FILE *out, const TableDef *def, const json_t *results) {
  const char *last = NULL;
  fprintf(out, "Milliseconds of processor time per step, and in brackets how often that fits into abd's:\n\n");
  head(out, def, " scene | dt | bodies | steps |");
  for (const Case *one = suite_cases(); one->name; one++) {
    const json_t *own = find(results, one->name, one->rate, "abd");
    if (!own) continue;
    row_name(out, one, &last);
    fprintf(out, " %g | %g |", number(own, "bodies"), number(own, "steps"));
    for (const Engine *const *engine = engine_list(); *engine; engine++)
      if (find(results, one->name, one->rate, (*engine)->name))
        milliseconds(out, find(results, one->name, one->rate, (*engine)->name), own);
    fprintf(out, "\n");
  }
}

static void crossing_table(FILE *out, const TableDef *def, const json_t *results) {
  const char *last = NULL;
  fprintf(out, "\nFrames in which surfaces cross, pairs of bodies that cross in the worst of them, depth of the "
               "deepest vertex:\n\n");
  head(out, def, " scene | dt |");
  for (const Case *one = suite_cases(); one->name; one++) {
    if (!find(results, one->name, one->rate, "abd")) continue;
    row_name(out, one, &last);
    for (const Engine *const *engine = engine_list(); *engine; engine++)
      if (find(results, one->name, one->rate, (*engine)->name))
        crossings(out, find(results, one->name, one->rate, (*engine)->name));
    fprintf(out, "\n");
  }
}

static void story_table(FILE *out, const TableDef *def, const json_t *results) {
  const char *last = NULL;
  fprintf(out, "\nWhat happens:\n\n");
  head(out, def, " scene | dt |");
  for (const Case *one = suite_cases(); one->name; one++) {
    bool found = false;
    for (const Engine *const *engine = engine_list(); *engine; engine++)
      found = found || *story(find(results, one->name, one->rate, (*engine)->name));
    if (!found) continue;
    row_name(out, one, &last);
    for (const Engine *const *engine = engine_list(); *engine; engine++) {
      const json_t *result = find(results, one->name, one->rate, (*engine)->name);
      if (result) fprintf(out, " %s |", story(result));
    }
    fprintf(out, "\n");
  }
}

static void print_all(FILE *out, const TableDef *def, const json_t *results) {
  if (def->note) fprintf(out, "%s%s\n\n", def->note, def->quick ? "; --quick: a part of the time" : "");
  speed_table(out, def, results);
  crossing_table(out, def, results);
  story_table(out, def, results);
  fprintf(out, "\n");
  for (const Engine *const *engine = engine_list() + 1; *engine; engine++)
    fprintf(out, "- %s: %s\n", (*engine)->title, (*engine)->about);
}

/* ---- Files ---- */

static FILE *open_file(const TableDef *def, const char *ending) {
  char *path = NULL;
  FILE *out = asprintf(&path, "%s%s", def->output, ending) < 0 ? NULL : fopen(path, "w");
  if (!out) fprintf(stderr, "abd-peers: cannot write %s%s\n", def->output, ending);
  free(path);
  return out;
}

static bool write_files(const TableDef *def, json_t *results) {
  json_t *all =
      json_pack("{s:s, s:b, s:O}", "note", def->note ? def->note : "", "quick", def->quick, "results", results);
  FILE *json = all ? open_file(def, ".json") : NULL, *text = json ? open_file(def, ".md") : NULL;
  if (text) {
    fprintf(text, "# abd and its peers\n\nMade by bench/peers/run; [what it means](../../docs/peers.md).\n\n");
    print_all(text, def, results);
  }
  bool good = text && json_dumpf(all, json, JSON_INDENT(1) | JSON_REAL_PRECISION(6)) == 0;
  if (json && fclose(json) != 0) good = false;
  if (text && fclose(text) != 0) good = false;
  json_decref(all);
  return good;
}

/* ---- Running ---- */

static bool wanted(const TableDef *def, const Case *one) {
  if (def->quick && one->rate == 1000 && one->story == STORY_IMPACT) return false;
  return !def->only || !strncmp(one->name, def->only, strlen(def->only));
}

/* Short runs are repeated three times and the least time is taken, because the machine has other work. */
static json_t *run_engine(const TableDef *def, const Case *one, const Engine *engine) {
  json_t *result = suite_run(one, engine, def->quick, false);
  double best = number(result, "cpu_ms");
  bool brief_run = stepped(result) && number(result, "steps") * best < 500;
  for (int k = 0; k < 2 && brief_run; k++) {
    json_t *again = suite_run(one, engine, def->quick, true);
    if (stepped(again) && number(again, "cpu_ms") < best) best = number(again, "cpu_ms");
    json_decref(again);
  }
  if (brief_run) json_object_set_new(result, "cpu_ms", json_real(best));
  return result;
}

static bool run_case(const TableDef *def, const Case *one, json_t *results) {
  for (const Engine *const *engine = engine_list(); *engine; engine++) {
    if (*engine != &engine_abd && def->engine && strcmp(def->engine, (*engine)->name)) continue;
    fprintf(stderr, "%s, 1/%d, %s ...", one->name, one->rate, (*engine)->name);
    json_t *result = run_engine(def, one, *engine);
    if (!result || json_array_append_new(results, result) != 0) return false;
    fprintf(stderr, " %.3g ms, %g crossing frames of %g %s\n", number(result, "cpu_ms"),
            number(result, "crossing_frames"), number(result, "frames"), story(result));
  }
  return true;
}

int table_make(const TableDef *def) {
  json_t *results = json_array();
  bool good = results != NULL;
  for (const Case *one = suite_cases(); good && one->name; one++)
    if (wanted(def, one)) good = run_case(def, one, results);
  if (good && json_array_size(results) == 0) {
    fprintf(stderr, "abd-peers: no scene begins with '%s'\n", def->only);
    return json_decref(results), EXIT_BAD_INPUT;
  }
  if (good) print_all(stdout, def, results);
  if (good && def->output) good = write_files(def, results);
  json_decref(results);
  return good ? EXIT_GOOD : EXIT_FAILED;
}
