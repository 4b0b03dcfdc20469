/* Shards: the poses and velocities of a run's frames in one file of each rank of an MPI job, RUN.0, RUN.1, ... The run
 * file has everything else, and in its table `shard` which steps are in the shards of how many ranks. A shard has one
 * row a frame: the ids of its bodies and their numbers. Ranks commit by themselves, so after a kill some shards have
 * frames that others do not have: a frame counts if all have it. docs/run-file.md describes the tables. Tested by
 * tests/test_shard.c and tests/cli/shards.sh. */
#define _GNU_SOURCE /* asprintf */
#include "record/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_OPEN = 64 }; /* files kept open; a process may have few descriptors, a job many ranks */

static const char shard_schema[] = "CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;"
                                   "CREATE TABLE part(step INTEGER PRIMARY KEY, body BLOB, node BLOB, velocity BLOB);";

/* From a step on, the frames are in the shards of so many ranks. */
typedef struct Range {
  int64_t first;
  int ranks;
} Range;

struct Shards {
  Range *range; /* ascending */
  int count;
  char *id;
  Run *open[MOST_OPEN];
};

static char *shard_path(const char *path, int rank) {
  char *name = NULL;
  return asprintf(&name, "%s.%d", path, rank) < 0 ? NULL : name;
}

static bool out_of_memory(Run *run) { return run_fail(run, RUN_DISK, "%s: out of memory", run->path); }

/* ---- Which steps are in shards ---- */

void run_forget_shards(Run *run) {
  Shards *s = run->shards;
  if (!s) return;
  for (int k = 0; k < MOST_OPEN; k++) run_close(s->open[k]);
  free(s->range), free(s->id), free(s);
  run->shards = NULL;
}

static bool read_ranges(Run *run, Shards *shards) {
  sqlite3_stmt *s = run_prepare(run, "SELECT first, ranks, count(*) OVER () FROM shard ORDER BY first");
  if (!s) return false;
  int code;
  while ((code = sqlite3_step(s)) == SQLITE_ROW) {
    int64_t ranks = sqlite3_column_int64(s, 1);
    if (!shards->range) shards->range = calloc((size_t)sqlite3_column_int64(s, 2), sizeof *shards->range);
    if (!shards->range) break;
    if (ranks < 1 || ranks > INT32_MAX) break;
    shards->range[shards->count++] = (Range){sqlite3_column_int64(s, 0), (int)ranks};
  }
  sqlite3_finalize(s);
  if (code == SQLITE_ROW && !shards->range) return out_of_memory(run);
  if (code == SQLITE_ROW) return run_fail(run, RUN_BAD_FILE, "%s: a row of shard has no ranks", run->path);
  return code == SQLITE_DONE || run_fail_sqlite(run, "read which steps are in shards");
}

bool run_find_shards(Run *run) {
  run_forget_shards(run);
  if (!run_has_table(run, "shard")) return true;
  run->shards = calloc(1, sizeof *run->shards);
  if (!run->shards) return out_of_memory(run);
  run->shards->id = run_read_meta(run, "run_id");
  return read_ranges(run, run->shards);
}

/* A run gets shards after its file has appeared, and other ones when it is resumed. */
bool run_refresh_shards(Run *run) {
  Shards now = {0};
  const Shards *s = run->shards;
  if (!run_has_table(run, "shard")) return !s || run_find_shards(run);
  bool good = read_ranges(run, &now);
  bool same = good && s && s->count == now.count;
  for (int k = 0; same && k < now.count; k++)
    same = s->range[k].first == now.range[k].first && s->range[k].ranks == now.range[k].ranks;
  free(now.range);
  return good && (same || run_find_shards(run));
}

static int ranks_of(const Run *run, int64_t step) {
  const Shards *s = run->shards;
  int ranks = 0;
  for (int k = 0; k < s->count && s->range[k].first <= step; k++) ranks = s->range[k].ranks;
  return ranks;
}

/* ---- Files ---- */

static bool has_meta(Run *shard, const char *key, const char *value) {
  char *text = run_read_meta(shard, key);
  bool same = text && value && !strcmp(text, value);
  free(text);
  return same;
}

static bool belongs(Run *shard, const char *id, int rank) {
  char number[16];
  snprintf(number, sizeof number, "%d", rank);
  return has_meta(shard, "run_id", id) && has_meta(shard, "rank", number);
}

static Run *open_to_read(Run *run, int rank) {
  RunError why;
  char *path = shard_path(run->path, rank);
  if (!path) return out_of_memory(run), NULL;
  Run *shard = access(path, F_OK) ? NULL : run_open_file(path, RUN_READ, SHARD_APPLICATION_ID, &why);
  if (access(path, F_OK))
    run_fail(run, RUN_BAD_FILE, "%s: %s is missing: the frames of rank %d", run->path, path, rank);
  else if (!shard) run_fail(run, why.kind, "%s", why.text);
  else if (!belongs(shard, run->shards->id, rank)) {
    run_fail(run, RUN_BAD_FILE, "%s: %s has not the frames of its rank %d, but those of another run or rank", run->path,
             path, rank);
    run_close(shard), shard = NULL;
  }
  free(path);
  return shard;
}

/* A rank that writes its shard leaves it as one file without a log if no one else has it open. */
static bool keeps_open(const Run *run, int rank) { return run->mode == RUN_READ && rank < MOST_OPEN; }

static Run *borrow(Run *run, int rank) {
  Shards *s = run->shards;
  if (!keeps_open(run, rank)) return open_to_read(run, rank);
  if (!s->open[rank]) s->open[rank] = open_to_read(run, rank);
  return s->open[rank];
}

static void give_back(const Run *run, int rank, Run *shard) {
  if (!keeps_open(run, rank)) run_close(shard);
}

/* The failure of a shard is that of its run. */
static bool pass_on(Run *run, const Run *shard) {
  run->error = shard->error;
  return false;
}

int64_t run_shard_bytes(Run *run) {
  int most = 0;
  int64_t sum = 0;
  for (int k = 0; k < run->shards->count; k++)
    if (run->shards->range[k].ranks > most) most = run->shards->range[k].ranks;
  for (int k = 0; k < most; k++) {
    struct stat file;
    char *path = shard_path(run->path, k);
    if (path && stat(path, &file) == 0) sum += file.st_size;
    free(path);
  }
  return sum;
}

void run_remove_shards(const char *path) {
  for (int k = 0;; k++) {
    RunError why;
    char *name = shard_path(path, k);
    Run *shard = name && access(name, F_OK) == 0 ? run_open_file(name, RUN_READ, SHARD_APPLICATION_ID, &why) : NULL;
    bool is_shard = shard != NULL;
    run_close(shard);
    if (is_shard) run_remove_file(name);
    free(name);
    if (!is_shard) return;
  }
}

/* ---- Complete frames ---- */

/* Steps of earlier ranges are complete: resuming deletes the others. */
bool run_last_complete(Run *run, int64_t *last) {
  *last = INT64_MAX;
  if (!run->shards || run->shards->count == 0) return true;
  const Range *range = &run->shards->range[run->shards->count - 1];
  int64_t least = INT64_MAX, missing;
  for (int k = 0; k < range->ranks; k++) {
    int64_t step;
    Run *shard = borrow(run, k);
    if (!shard) return false;
    bool good = run_read_number(shard, "SELECT ifnull(max(step), 0) FROM part", &step);
    if (!good) pass_on(run, shard);
    give_back(run, k, shard);
    if (!good) return false;
    if (step < least) least = step;
  }
  if (least < range->first) least = range->first - 1;
  char sql[128];
  snprintf(sql, sizeof sql, "SELECT ifnull(min(step), 0) FROM frame WHERE step > %lld AND node IS NULL",
           (long long)least);
  if (!run_read_number(run, sql, &missing)) return false;
  if (missing) *last = missing - 1;
  return true;
}

bool run_count_lost(Run *run, int64_t step, int64_t *last) {
  char sql[128];
  run->lost_frames = 0;
  if (!run_last_complete(run, last)) return false;
  snprintf(sql, sizeof sql, "SELECT count(*) FROM frame WHERE node IS NULL AND step > %lld AND step <= %lld",
           (long long)*last, (long long)step);
  return run_read_number(run, sql, &run->lost_frames);
}

bool run_rewind_shards(Run *run, int64_t step) {
  char sql[160];
  int64_t last;
  if (!run_count_lost(run, step, &last)) return false;
  if (!run->shards) return true;
  snprintf(sql, sizeof sql, "DELETE FROM frame WHERE node IS NULL AND step > %lld", (long long)last);
  if (run->lost_frames && !run_exec(run, sql, "forget incomplete frames")) return false;
  snprintf(sql, sizeof sql, "DELETE FROM shard WHERE first > %lld", (long long)step);
  return run_exec(run, sql, "forget steps") && run_find_shards(run);
}

int64_t run_lost_frames(const Run *run) { return run->lost_frames; }

/* ---- Reading ---- */

/* Where the numbers of the bodies of a step begin in its frame. */
typedef struct Layout {
  size_t *node, *rate; /* per body; SIZE_MAX: not there, or read already */
  size_t left;         /* bodies to read */
} Layout;

static void layout_destroy(Layout *l) { free(l->node), free(l->rate); }

static bool layout_init(Layout *l, const RunScene *scene, int64_t step) {
  size_t node = 0, rate = 0;
  *l =
      (Layout){malloc((scene->body_count + 1) * sizeof *l->node), malloc((scene->body_count + 1) * sizeof *l->rate), 0};
  for (size_t b = 0; l->node && l->rate && b < scene->body_count; b++) {
    bool alive = run_body_alive(&scene->body[b], step);
    l->node[b] = alive ? node : SIZE_MAX, l->rate[b] = rate;
    if (!alive) continue;
    node += run_body_numbers(scene, &scene->body[b], 12), rate += run_body_numbers(scene, &scene->body[b], 6);
    l->left++;
  }
  return l->node && l->rate;
}

typedef struct Part {
  const uint32_t *body;
  const double *node, *rate;
  size_t count, node_count, rate_count;
} Part;

static Part part_of(sqlite3_stmt *s) {
  return (Part){sqlite3_column_blob(s, 0),
                sqlite3_column_blob(s, 1),
                sqlite3_column_blob(s, 2),
                (size_t)sqlite3_column_bytes(s, 0) / sizeof(uint32_t),
                (size_t)sqlite3_column_bytes(s, 1) / sizeof(double),
                (size_t)sqlite3_column_bytes(s, 2) / sizeof(double)};
}

/* Copies the numbers of a part to their places. */
static bool place_part(Run *shard, const RunScene *scene, int64_t step, const Part *part, Layout *l, double *node,
                       double *rate) {
  size_t at = 0, rate_at = 0;
  for (size_t k = 0; k < part->count; k++) {
    uint32_t id = part->body[k];
    if (id < 1 || id > scene->body_count || l->node[id - 1] == SIZE_MAX)
      return run_fail(shard, RUN_BAD_FILE, "%s: step %lld: body %u is not there, or in two shards", shard->path,
                      (long long)step, id);
    size_t n = run_body_numbers(scene, &scene->body[id - 1], 12), m = run_body_numbers(scene, &scene->body[id - 1], 6);
    if (at + n > part->node_count || rate_at + m > part->rate_count) break;
    memcpy(node + l->node[id - 1], part->node + at, n * sizeof *node);
    memcpy(rate + l->rate[id - 1], part->rate + rate_at, m * sizeof *rate);
    at += n, rate_at += m;
    l->node[id - 1] = SIZE_MAX, l->left--;
  }
  if (at == part->node_count && rate_at == part->rate_count) return true;
  return run_fail(shard, RUN_BAD_FILE, "%s: step %lld: %zu numbers of poses and %zu of velocities for %zu bodies",
                  shard->path, (long long)step, part->node_count, part->rate_count, part->count);
}

static bool read_part(Run *shard, const RunScene *scene, int64_t step, Layout *l, double *node, double *rate) {
  sqlite3_stmt *s = run_prepare(shard, "SELECT body, node, velocity FROM part WHERE step = ?");
  if (!s) return false;
  sqlite3_bind_int64(s, 1, step);
  int code = sqlite3_step(s);
  bool good = false;
  if (code == SQLITE_ROW) {
    Part part = part_of(s);
    good = place_part(shard, scene, step, &part, l, node, rate);
  } else if (code == SQLITE_DONE) {
    run_fail(shard, RUN_BAD_FILE, "%s: there is no frame of step %lld", shard->path, (long long)step);
  } else {
    run_fail_sqlite(shard, "read a frame");
  }
  sqlite3_finalize(s);
  return good;
}

static bool read_all_parts(Run *run, const RunScene *scene, int64_t step, Layout *l, double *node, double *rate) {
  int ranks = ranks_of(run, step);
  for (int k = 0; k < ranks; k++) {
    Run *shard = borrow(run, k);
    if (!shard) return false;
    bool good = read_part(shard, scene, step, l, node, rate) || pass_on(run, shard);
    give_back(run, k, shard);
    if (!good) return false;
  }
  return l->left == 0 ||
         run_fail(run, RUN_BAD_FILE, "%s: step %lld: %zu bodies are in no shard", run->path, (long long)step, l->left);
}

bool run_read_parts(Run *run, const RunScene *scene, int64_t step, double **node, double **rate) {
  Layout l;
  *node = malloc((run_frame_numbers(scene, step, 12) + 1) * sizeof **node);
  *rate = malloc((run_frame_numbers(scene, step, 6) + 1) * sizeof **rate);
  bool room = layout_init(&l, scene, step) && *node && *rate;
  bool good = room ? read_all_parts(run, scene, step, &l, *node, *rate) : out_of_memory(run);
  layout_destroy(&l);
  if (good) return true;
  free(*node), free(*rate);
  *node = *rate = NULL;
  return false;
}

/* ---- Writing ---- */

bool run_read_id(Run *run, char id[RUN_ID_SIZE]) {
  unsigned char random[(RUN_ID_SIZE - 1) / 2];
  char *text = run_read_meta(run, "run_id");
  if (text) snprintf(id, RUN_ID_SIZE, "%s", text);
  bool known = text != NULL;
  free(text);
  if (known) return true;
  sqlite3_randomness(sizeof random, random);
  for (size_t k = 0; k < sizeof random; k++) sprintf(id + 2 * k, "%02x", random[k]);
  return run_drain(run) && run_write_meta(run, "run_id", id);
}

static Run *fail_to_open(Run *shard, RunError *error) {
  *error = shard->error;
  run_close(shard);
  return NULL;
}

static Run *make_shard(const char *path, int rank, const char *id, RunError *error) {
  char number[16];
  Run *shard = run_new_file(path, SHARD_APPLICATION_ID, RUN_SHARDS_VERSION, error);
  if (!shard) return NULL;
  shard->is_shard = true;
  snprintf(number, sizeof number, "%d", rank);
  bool good = run_exec(shard, shard_schema, "create the file") && run_write_meta(shard, "format", "abd shard") &&
              run_write_meta(shard, "run_id", id) && run_write_meta(shard, "rank", number) && run_publish(shard);
  return good ? shard : fail_to_open(shard, error);
}

static Run *go_on_with(Run *shard, int64_t step, RunError *error) {
  char sql[64];
  shard->is_shard = true;
  snprintf(sql, sizeof sql, "DELETE FROM part WHERE step > %lld", (long long)step);
  return run_exec(shard, sql, "forget steps") ? shard : fail_to_open(shard, error);
}

/* A shard of another run under this name belongs to a run that was replaced. */
Run *run_open_shard(const char *path, int rank, const char *id, int64_t step, RunError *error) {
  char *name = shard_path(path, rank);
  Run *shard = NULL;
  *error = (RunError){RUN_DISK, "out of memory for the name of a shard"};
  if (!name) return NULL;
  bool is_there = access(name, F_OK) == 0;
  if (is_there) shard = run_open_file(name, RUN_APPEND, SHARD_APPLICATION_ID, error);
  bool is_ours = shard && belongs(shard, id, rank);
  if (shard && !is_ours) run_close(shard);
  if (is_ours) shard = go_on_with(shard, step, error);
  else if (!is_there || shard) shard = make_shard(name, rank, id, error);
  free(name);
  return shard;
}

static bool write_version(Run *run, int version) {
  char pragma[48], number[16];
  snprintf(pragma, sizeof pragma, "PRAGMA user_version=%d", version);
  snprintf(number, sizeof number, "%d", version);
  return run_exec(run, pragma, "write the file") && run_write_meta(run, "format_version", number);
}

static bool write_range(Run *run, int64_t step, int ranks) {
  char sql[96];
  snprintf(sql, sizeof sql, "INSERT OR REPLACE INTO shard VALUES(%lld, %d)", (long long)step + 1, ranks);
  const char *doing = "write which steps are in shards";
  return run_exec(run, "CREATE TABLE IF NOT EXISTS shard(first INTEGER PRIMARY KEY, ranks INTEGER)", doing) &&
         run_exec(run, sql, doing) && write_version(run, RUN_SHARDS_VERSION);
}

bool run_use_shards(Run *run, int64_t step, int ranks) {
  if (!run_begin(run)) return false;
  if (write_range(run, step, ranks) && run_commit(run)) return run_find_shards(run);
  run_rollback(run);
  return false;
}

bool run_write_part(Run *run, int64_t step, const uint32_t *body, size_t count, const double *node, size_t node_count,
                    const double *rate, size_t rate_count) {
  sqlite3_stmt *s = run_statement(run, RUN_STATEMENT_PART, "INSERT OR REPLACE INTO part VALUES(?,?,?,?)");
  if (!s) return false;
  sqlite3_bind_int64(s, 1, step);
  run_bind_blob(s, 2, body, count * sizeof *body);
  run_bind_blob(s, 3, node, node_count * sizeof *node);
  run_bind_blob(s, 4, rate, rate_count * sizeof *rate);
  return run_finish(run, s, "write a frame");
}

/* ---- Merging ---- */

static bool copy_file(Run *from, Run *to) {
  if (!run_commit(to)) return false;
  sqlite3_backup *backup = sqlite3_backup_init(to->db, "main", from->db, "main");
  if (backup) sqlite3_backup_step(backup, -1);
  int code = backup ? sqlite3_backup_finish(backup) : SQLITE_ERROR;
  return (code == SQLITE_OK || run_fail_sqlite(to, "copy the run")) &&
         run_exec(to, "PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF", "copy the run");
}

/* Ends the run before the first frame that misses in a shard, but not before the state to resume from. */
static bool drop_incomplete(Run *to, int64_t last) {
  int64_t state = 0;
  char sql[96];
  if (last == INT64_MAX) return true;
  if (!run_read_number(to, "SELECT ifnull(max(step), 0) FROM checkpoint", &state)) return false;
  snprintf(sql, sizeof sql, "DELETE FROM frame WHERE node IS NULL AND step > %lld", (long long)last);
  return run_rewind(to, state > last ? state : last) && run_exec(to, sql, "forget incomplete frames");
}

static bool merge_frame(Run *from, Run *to, const RunScene *scene, int64_t step, double time) {
  double *node, *rate;
  if (!run_read_parts(from, scene, step, &node, &rate)) return false;
  bool good = run_write_poses(to, step, time, node, run_frame_numbers(scene, step, 12), rate,
                              run_frame_numbers(scene, step, 6));
  free(node), free(rate);
  return good;
}

static bool merge_frames(Run *from, Run *to, const RunScene *scene) {
  sqlite3_stmt *s = run_prepare(to, "SELECT step, time FROM frame WHERE node IS NULL AND step > ? ORDER BY step");
  if (!s) return false;
  bool good = true;
  int code = SQLITE_ROW;
  for (int64_t step = -1; good && code == SQLITE_ROW;) { /* a row is replaced: each is asked for anew */
    sqlite3_bind_int64(s, 1, step);
    if ((code = sqlite3_step(s)) != SQLITE_ROW) break;
    step = sqlite3_column_int64(s, 0);
    double time = sqlite3_column_double(s, 1);
    sqlite3_reset(s);
    good = merge_frame(from, to, scene, step, time);
  }
  if (good && code != SQLITE_DONE) good = run_fail_sqlite(to, "read the frames");
  sqlite3_finalize(s);
  return good;
}

static bool merge(Run *from, Run *to, int64_t *end) {
  RunScene scene;
  int64_t last;
  if (!copy_file(from, to) || !run_last_complete(from, &last) || !drop_incomplete(to, last)) return false;
  *end = last == INT64_MAX ? -1 : last + 1;
  if (!run_read_scene(from, &scene)) return false;
  bool good = run_begin(to) && merge_frames(from, to, &scene) &&
              run_exec(to, "DROP TABLE shard; DELETE FROM meta WHERE key IN ('run_id', 'shards')", "merge the run") &&
              write_version(to, RUN_FORMAT_VERSION);
  run_scene_destroy(&scene);
  return good;
}

bool run_merge(const char *path, const char *out, int64_t *end, RunError *error) {
  Run *from = run_open(path, RUN_READ, error), *to = NULL;
  bool good = from != NULL;
  if (good && !from->shards) good = run_fail(from, RUN_BAD_FILE, "%s has no shards: it is one file already", path);
  if (good)
    good = (to = run_new_file(out, RUN_APPLICATION_ID, RUN_FORMAT_VERSION, error)) != NULL && merge(from, to, end);
  if (from && from->error.kind) *error = from->error;
  else if (to && to->error.kind) *error = to->error;
  run_close(from);
  if (good && !(good = run_publish(to))) *error = to->error;
  run_close(to);
  return good;
}
