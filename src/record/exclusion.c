/* Pairs of bodies that a run file excludes: those that `collide` of a body has at its first step, and the events after
 * it. They are compared with the world, because a restore or a step that was not recorded leaves changes without an
 * event. See run.h. Tested in tests/test_record_change.c. */
#include "record/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Reading ---- */

static bool add_exclusion(RunExclusion **list, size_t *count, RunExclusion one) {
  RunExclusion *grown = *count & (*count - 1) ? *list : realloc(*list, 2 * (*count + 1) * sizeof *grown);
  if (!grown) return false;
  *list = grown;
  grown[(*count)++] = one;
  return true;
}

bool run_read_exclusions(Run *run, RunExclusion **list, size_t *count) {
  char sql[192];
  const char *excluded = abd_event_kind_name(ABD_EVENT_PAIR_EXCLUDED);
  *list = NULL, *count = 0;
  if (!run_has_table(run, "event")) return true;
  snprintf(sql, sizeof sql,
           "SELECT step, body_a, body_b, kind = '%s' FROM event WHERE kind IN ('%s', '%s') ORDER BY step, rowid",
           excluded, excluded, abd_event_kind_name(ABD_EVENT_PAIR_INCLUDED));
  sqlite3_stmt *s = run_prepare(run, sql);
  bool good = s != NULL;
  int code = SQLITE_DONE;
  while (good && (code = sqlite3_step(s)) == SQLITE_ROW) {
    RunExclusion one = {sqlite3_column_int64(s, 0), (uint32_t)sqlite3_column_int64(s, 1),
                        (uint32_t)sqlite3_column_int64(s, 2), sqlite3_column_int(s, 3)};
    good = add_exclusion(list, count, one) || run_fail(run, RUN_DISK, "%s: out of memory", run->path);
  }
  if (good && code != SQLITE_DONE) good = run_fail_sqlite(run, "read the events");
  sqlite3_finalize(s);
  if (good) return true;
  free(*list);
  *list = NULL, *count = 0;
  return false;
}

/* ---- Comparing with the world ---- */

typedef struct Pair {
  uint32_t a, b; /* a < b */
  size_t order;  /* of what the file has about the pair, the last counts */
  bool excluded;
} Pair;

typedef struct Pairs {
  Pair *pair;
  size_t count, capacity;
} Pairs;

static bool out_of_memory(Run *run) { return run_fail(run, RUN_DISK, "%s: out of memory", run->path); }

static bool add_pair(Run *run, Pairs *p, uint32_t a, uint32_t b, bool excluded) {
  if (p->count == p->capacity) {
    size_t capacity = 2 * p->capacity + 64;
    Pair *grown = realloc(p->pair, capacity * sizeof *grown);
    if (!grown) return out_of_memory(run);
    p->pair = grown, p->capacity = capacity;
  }
  p->pair[p->count] = (Pair){a < b ? a : b, a < b ? b : a, p->count, excluded};
  p->count++;
  return true;
}

/* A list of ids like "[2,5]". A sensor has a text instead, which has no id. */
static bool add_text(Run *run, Pairs *p, uint32_t id, const char *text) {
  bool good = true;
  for (const char *at = text + strcspn(text, "0123456789"); good && *at; at += strcspn(at, "0123456789")) {
    char *end;
    good = add_pair(run, p, id, (uint32_t)strtoul(at, &end, 10), true);
    at = end;
  }
  return good;
}

static bool read_first(Run *run, Pairs *p) {
  sqlite3_stmt *s = run_prepare(run, "SELECT id, collide FROM body WHERE died IS NULL AND collide <> '[]' ORDER BY id");
  bool good = s != NULL;
  int code = SQLITE_DONE;
  while (good && (code = sqlite3_step(s)) == SQLITE_ROW) {
    const char *text = (const char *)sqlite3_column_text(s, 1);
    good = add_text(run, p, (uint32_t)sqlite3_column_int64(s, 0), text ? text : "");
  }
  if (good && code != SQLITE_DONE) good = run_fail_sqlite(run, "read the bodies");
  sqlite3_finalize(s);
  return good;
}

static int compare_ids(const Pair *x, const Pair *y) {
  if (x->a != y->a) return x->a < y->a ? -1 : 1;
  return (x->b > y->b) - (x->b < y->b);
}

static int compare_pairs(const void *x, const void *y) {
  const Pair *p = x, *q = y;
  int order = compare_ids(p, q);
  return order ? order : (p->order > q->order) - (p->order < q->order);
}

/* Sorts; of equal pairs the last stays. */
static void sort_pairs(Pairs *p) {
  size_t count = 0;
  if (p->count) qsort(p->pair, p->count, sizeof *p->pair, compare_pairs);
  for (size_t k = 0; k < p->count; k++) {
    bool same = count && compare_ids(&p->pair[count - 1], &p->pair[k]) == 0;
    p->pair[same ? count - 1 : count++] = p->pair[k];
  }
  p->count = count;
}

static bool list_file(Run *run, Pairs *p) {
  RunExclusion *change;
  size_t changes;
  if (!read_first(run, p) || !run_read_exclusions(run, &change, &changes)) return false;
  bool good = true;
  for (size_t k = 0; good && k < changes; k++) good = add_pair(run, p, change[k].a, change[k].b, change[k].excluded);
  free(change);
  sort_pairs(p);
  return good;
}

static bool list_world(Run *run, const AbdWorld *world, Pairs *p) {
  size_t count = abd_world_excluded_pairs(world, NULL, 0);
  AbdBodyId(*pair)[2] = run_bytes(run, count * sizeof *pair);
  bool good = pair != NULL;
  if (good) abd_world_excluded_pairs(world, pair, count);
  for (size_t k = 0; good && k < count; k++) good = add_pair(run, p, pair[k][0].id, pair[k][1].id, true);
  sort_pairs(p);
  return good;
}

static bool write_pair(Run *run, const Pair *p, int64_t step, bool excluded) {
  AbdEvent event = {.step = step,
                    .kind = excluded ? ABD_EVENT_PAIR_EXCLUDED : ABD_EVENT_PAIR_INCLUDED,
                    .body_a = {p->a},
                    .body_b = {p->b}};
  return run_write_events(run, &event, 1);
}

/* Both are sorted. Pairs of a group are in neither list, but the file may have an event of them. */
static bool write_differences(Run *run, const AbdWorld *world, const Pairs *file, const Pairs *now, int64_t step) {
  size_t i = 0, j = 0;
  bool good = true;
  while (good && (i < file->count || j < now->count)) {
    const Pair *f = i < file->count ? &file->pair[i] : NULL, *n = j < now->count ? &now->pair[j] : NULL;
    int order = !f ? 1 : !n ? -1 : compare_ids(f, n);
    i += order <= 0, j += order >= 0;
    if (order >= 0 && !(order == 0 && f->excluded)) good = write_pair(run, n, step, true);
    if (order < 0 && f->excluded && abd_world_pair_collides(world, (AbdBodyId){f->a}, (AbdBodyId){f->b}))
      good = write_pair(run, f, step, false);
  }
  return good;
}

bool run_write_exclusions(Run *run, const AbdWorld *world, int64_t step) {
  Pairs file = {0}, now = {0};
  bool good = !run_has_table(run, "event") || (list_file(run, &file) && list_world(run, world, &now) &&
                                               write_differences(run, world, &file, &now, step));
  free(file.pair), free(now.pair);
  return good;
}
