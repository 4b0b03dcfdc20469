/* Writes and reads the figures of a benchmark; docs/benchmarks.md lists the keys. */
#include "bench.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FORMAT = 1 };

static json_t *stages_json(const BenchRow *row) {
  json_t *object = json_object();
  for (int k = 0; k < ABD_STAGE_COUNT; k++)
    json_object_set_new(object, abd_stage_name((AbdStage)k),
                        json_real(1e3 * row->best.seconds[k] / (double)row->best.steps));
  return object;
}

static json_t *runs_json(const BenchRow *row) {
  json_t *list = json_array();
  for (int k = 0; k < row->runs; k++)
    json_array_append_new(list, json_real(1e3 * row->user[k] / (double)row->best.steps));
  return list;
}

static json_t *row_json(const BenchRow *row) {
  const BenchRun *b = &row->best;
  char hash[20];
  snprintf(hash, sizeof hash, "%016" PRIx64, b->hash);
  json_t *o = json_pack("{s:s, s:s, s:f, s:i, s:I, s:I, s:I, s:I, s:I, s:I}", "name", row->name, "scene", row->scene,
                        "dt", b->dt, "threads", row->threads, "steps", (json_int_t)b->steps, "bodies",
                        (json_int_t)b->bodies, "triangles", (json_int_t)b->triangles, "edges", (json_int_t)b->edges,
                        "iterations", (json_int_t)b->iterations, "not_converged", (json_int_t)b->not_converged);
  const struct {
    const char *key;
    int64_t value;
  } count[] = {
      {"contacts_most", b->contacts_most}, {"box_tests", b->box_tests}, {"candidates", b->candidates},
      {"distances", b->distances},         {"ccd_calls", b->ccd_calls}, {"most_iterations", b->most_iterations},
      {"substeps", b->substeps},           {"memory_bytes", b->memory}, {"peak_bytes", b->peak}};
  for (size_t k = 0; k < sizeof count / sizeof count[0]; k++)
    json_object_set_new(o, count[k].key, json_integer(count[k].value));
  json_object_set_new(o, "wall_ms", json_real(bench_wall_ms(row)));
  json_object_set_new(o, "user_ms", json_real(bench_user_ms(row)));
  json_object_set_new(o, "user_ms_runs", runs_json(row));
  json_object_set_new(o, "stages_ms", stages_json(row));
  json_object_set_new(o, "longest_ms", json_real(1e3 * b->longest));
  json_object_set_new(o, "start_s", json_real(b->load));
  json_object_set_new(o, "joint_gap", json_real(b->joint_gap));
  json_object_set_new(o, "hash", json_string(hash));
  return o;
}

bool bench_write_json(const char *path, const BenchRows *rows, const char *set_name) {
  json_t *list = json_array();
  for (int k = 0; k < rows->count; k++)
    if (rows->row[k].runs) json_array_append_new(list, row_json(&rows->row[k]));
  json_t *top = json_pack("{s:i, s:s, s:o, s:o}", "abd_bench", FORMAT, "set", set_name, "machine",
                          json_incref(rows->machine), "rows", list);
  bool good = top && json_dump_file(top, path, JSON_INDENT(1) | JSON_REAL_PRECISION(12)) == 0;
  if (!good) fprintf(stderr, "abd bench: cannot write %s\n", path), perror("abd bench");
  json_decref(top);
  return good;
}

/* ---- Reading ---- */

static int64_t integer_of(const json_t *o, const char *key) {
  return (int64_t)json_integer_value(json_object_get(o, key));
}
static double real_of(const json_t *o, const char *key) { return json_number_value(json_object_get(o, key)); }

static bool read_row(const json_t *o, BenchRows *rows) {
  const char *name = json_string_value(json_object_get(o, "name")),
             *scene = json_string_value(json_object_get(o, "scene"));
  const json_t *runs = json_object_get(o, "user_ms_runs"), *stages = json_object_get(o, "stages_ms");
  if (!name || !scene || !json_is_array(runs) || json_array_size(runs) < 1 || integer_of(o, "steps") < 1) return false;
  if (!bench_rows_add(rows, &(BenchCase){.name = name, .scene = scene}, real_of(o, "dt"),
                      (int)integer_of(o, "threads")))
    return false;
  BenchRow *row = &rows->row[rows->count - 1];
  BenchRun *b = &row->best;
  *b = (BenchRun){.dt = row->dt,
                  .steps = integer_of(o, "steps"),
                  .bodies = integer_of(o, "bodies"),
                  .triangles = integer_of(o, "triangles"),
                  .edges = integer_of(o, "edges"),
                  .iterations = integer_of(o, "iterations"),
                  .not_converged = integer_of(o, "not_converged"),
                  .contacts_most = integer_of(o, "contacts_most"),
                  .box_tests = integer_of(o, "box_tests"),
                  .candidates = integer_of(o, "candidates"),
                  .distances = integer_of(o, "distances"),
                  .ccd_calls = integer_of(o, "ccd_calls"),
                  .most_iterations = integer_of(o, "most_iterations"),
                  .substeps = integer_of(o, "substeps"),
                  .longest = 1e-3 * real_of(o, "longest_ms"),
                  .memory = integer_of(o, "memory_bytes"),
                  .peak = integer_of(o, "peak_bytes"),
                  .load = real_of(o, "start_s"),
                  .joint_gap = real_of(o, "joint_gap")};
  double second = (double)b->steps / 1e3;
  b->wall = second * real_of(o, "wall_ms"), b->user = second * real_of(o, "user_ms");
  for (int k = 0; k < ABD_STAGE_COUNT; k++) b->seconds[k] = second * real_of(stages, abd_stage_name((AbdStage)k));
  for (size_t k = 0; k < json_array_size(runs) && k < BENCH_MOST_RUNS; k++)
    row->user[row->runs++] = second * json_number_value(json_array_get(runs, k));
  return true;
}

bool bench_read_json(const char *path, BenchRows *rows) {
  json_error_t error;
  json_t *top = json_load_file(path, 0, &error);
  const json_t *list = json_object_get(top, "rows");
  bool good = false;
  if (!top && error.line < 0) fprintf(stderr, "abd bench: %s: %s\n", path, error.text);
  else if (!top) fprintf(stderr, "abd bench: %s:%d:%d: %s\n", path, error.line, error.column, error.text);
  else if (integer_of(top, "abd_bench") != FORMAT || !json_is_array(list))
    fprintf(stderr, "abd bench: %s: expected a file written by 'abd bench --json' of format %d\n", path, FORMAT);
  else good = true;
  if (good) rows->machine = json_incref(json_object_get(top, "machine"));
  for (size_t k = 0; good && k < json_array_size(list); k++) {
    good = read_row(json_array_get(list, k), rows);
    if (!good) fprintf(stderr, "abd bench: %s: rows[%zu]: expected name, scene, steps > 0 and user_ms_runs\n", path, k);
  }
  json_decref(top);
  return good;
}
