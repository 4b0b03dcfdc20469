/* Run files with changed bytes and changed values, put to info, verify, export and resume: each is read or refused with
 * a sentence.
 *
 * A run of boxes, a hinge and a soft block is made once. An input is a list of changes: a byte of the file, or a value
 * of a table by SQL (NULL, an extreme number, a text, a longer or shorter blob, a changed byte of a blob), or a row
 * that is deleted. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <math.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <abd/record.h>

#include "args.h"

static const char scene_text[] =
    "{ \"version\": 1, \"dt\": 0.01, \"steps\": 3, \"contact\": { \"friction\": 0.5 }, \"bodies\": ["
    "{ \"name\": \"ground\", \"shape\": \"ground\" },"
    "{ \"name\": \"low\", \"shape\": \"box\", \"size\": [1, 1, 0.4], \"position\": [0, 0, 0.201] },"
    "{ \"name\": \"high\", \"shape\": \"box\", \"size\": [0.3, 0.3, 0.3], \"position\": [0, 0, 0.552] },"
    "{ \"name\": \"jelly\", \"shape\": \"beam\", \"cells\": 1, \"size\": [0.2, 0.2, 0.2], \"position\": [2, 0, "
    "0.102],"
    " \"soft\": { \"young\": 1e5 } } ],"
    "\"joints\": [ { \"name\": \"hinge\", \"type\": \"hinge\", \"bodies\": [\"low\"], \"point\": [0.5, 0, 0.2],"
    " \"axis\": [0, 1, 0] } ] }";

static struct Base {
  char folder[64], path[128], out[8][160];
  unsigned char *bytes;
  size_t size;
  char sql[256][2][64]; /* table and column of each value */
  int columns;
} base;

static void need(int good, const char *what) {
  if (good) return;
  fprintf(stderr, "fuzz_run: %s\n", what);
  abort();
}

static void make_run(void) {
  AbdError error = {ABD_OK, ""};
  AbdStepReport report;
  AbdRunDef def = abd_default_run_def();
  def.contacts = def.replace = true;
  AbdScene *scene = abd_scene_parse(scene_text, strlen(scene_text), "fuzz", NULL, &error);
  need(scene != NULL, error.text);
  AbdWorld *world = abd_scene_build(scene, 1, &error);
  need(world != NULL, error.text);
  need(abd_world_start(world) == ABD_OK, abd_world_error(world));
  AbdRun *run = abd_run_create(base.path, &def, scene, world, &error);
  need(run != NULL, error.text);
  for (int k = 0; k < 3; k++) {
    need(abd_scene_apply(scene, world, &error) == ABD_OK, error.text);
    need(abd_world_step(world, &report) == ABD_OK, abd_world_error(world));
    need(abd_run_record(run, world, &report) == ABD_OK, abd_run_error(run));
  }
  need(abd_run_finish(run, world) == ABD_OK, abd_run_error(run));
  abd_run_close(run);
  abd_world_destroy(world);
  abd_scene_destroy(scene);
}

static void read_base(void) {
  FILE *file = fopen(base.path, "rb");
  struct stat status;
  need(file && fstat(fileno(file), &status) == 0, "the run is missing");
  base.size = (size_t)status.st_size;
  base.bytes = malloc(base.size);
  need(base.bytes && fread(base.bytes, 1, base.size, file) == base.size, "the run cannot be read");
  fclose(file);
}

static void list_columns(void) {
  sqlite3 *db;
  sqlite3_stmt *s;
  need(sqlite3_open(base.path, &db) == SQLITE_OK, "the run cannot be opened");
  need(sqlite3_prepare_v2(db,
                          "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = "
                          "'table' ORDER BY 1, c.cid",
                          -1, &s, NULL) == SQLITE_OK,
       sqlite3_errmsg(db));
  while (sqlite3_step(s) == SQLITE_ROW && base.columns < 256) {
    for (int k = 0; k < 2; k++)
      snprintf(base.sql[base.columns][k], sizeof base.sql[0][0], "%s", (const char *)sqlite3_column_text(s, k));
    base.columns++;
  }
  sqlite3_finalize(s);
  sqlite3_close(db);
}

static void clean_up(void) {
  char command[128];
  snprintf(command, sizeof command, "rm -rf '%s'", base.folder);
  if (system(command) != 0) fprintf(stderr, "fuzz_run: %s is left\n", base.folder);
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  static const char *const ending[8] = {"obj", "ply", "vtp", "vtk", "csv", "glb", "usda", "pvd"};
  (void)argc, (void)argv;
  snprintf(base.folder, sizeof base.folder, "%s/abd-fuzz-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
  need(mkdtemp(base.folder) != NULL, "no temporary folder");
  atexit(clean_up);
  snprintf(base.path, sizeof base.path, "%s/run.abd", base.folder);
  for (int k = 0; k < 8; k++) snprintf(base.out[k], sizeof base.out[k], "%s/out.%s", base.folder, ending[k]);
  make_run();
  read_base();
  list_columns();
  int null = open("/dev/null", O_WRONLY); /* the commands print on standard output; sanitizers on standard error */
  need(null >= 0 && dup2(null, STDOUT_FILENO) >= 0, "no /dev/null");
  return 0;
}

/* ---- Changes ---- */

typedef struct Input {
  const uint8_t *at, *end;
} Input;

static uint32_t take(Input *in, int bytes) {
  uint32_t value = 0;
  for (int k = 0; k < bytes; k++) value = value << 8 | (in->at < in->end ? *in->at++ : 0);
  return value;
}

static void change_bytes(Input *in, unsigned char *bytes) {
  bytes[take(in, 3) % base.size] = (unsigned char)take(in, 1);
}

static void bind_blob(Input *in, sqlite3_stmt *s, const unsigned char *blob, size_t size, uint32_t kind) {
  size_t length = kind == 5 ? take(in, 2) % (size + 1) : size + (kind == 6 ? take(in, 2) : 0);
  unsigned char *copy = calloc(length + 1, 1);
  need(copy != NULL, "out of memory");
  memcpy(copy, blob, size < length ? size : length);
  if (kind == 7 && length) {
    size_t at = take(in, 2) % length;
    for (size_t k = at; k < at + 8 && k < length; k++) copy[k] = (unsigned char)take(in, 1);
  }
  sqlite3_bind_blob(s, 1, copy, (int)length, free);
}

static void bind_value(Input *in, sqlite3_stmt *s, const unsigned char *blob, size_t size) {
  static const int64_t whole[] = {INT64_MIN, INT64_MAX,  -1,           0, 1, 2, UINT32_MAX, INT32_MIN,
                                  255,       1000000000, INT64_MAX - 1};
  static const double real[] = {0, -0.0, 1, -1, 1e300, -1e300, 1e-300, 9.3e18, -9.3e18, 4294967296.0, 0.5};
  uint32_t kind = take(in, 1) % 9;
  char text[33];
  switch (kind) {
    case 0: sqlite3_bind_null(s, 1); break;
    case 1: sqlite3_bind_int64(s, 1, whole[take(in, 1) % (sizeof whole / sizeof *whole)]); break;
    case 2: sqlite3_bind_double(s, 1, real[take(in, 1) % (sizeof real / sizeof *real)]); break;
    case 3: sqlite3_bind_double(s, 1, take(in, 1) % 2 ? INFINITY : -INFINITY); break;
    case 4:
      for (uint32_t k = 0, n = take(in, 1) % 32; k <= n; k++) text[k] = k < n ? (char)take(in, 1) : 0;
      sqlite3_bind_text(s, 1, text, -1, SQLITE_TRANSIENT);
      break;
    case 8:
      snprintf(text, sizeof text, "%lld", (long long)whole[take(in, 1) % (sizeof whole / sizeof *whole)]);
      sqlite3_bind_text(s, 1, text, -1, SQLITE_TRANSIENT);
      break;
    default: bind_blob(in, s, blob, size, kind);
  }
}

static void change_value(Input *in, sqlite3 *db) {
  const char *table = base.sql[take(in, 1) % (uint32_t)base.columns][0], *column = NULL;
  uint32_t row = take(in, 1), which = take(in, 1), count = 0;
  for (int k = 0; k < base.columns; k++) count += !strcmp(base.sql[k][0], table);
  for (int k = 0, seen = 0; k < base.columns && !column; k++)
    if (!strcmp(base.sql[k][0], table) && (uint32_t)seen++ == which % count) column = base.sql[k][1];
  char read[320], write[320];
  snprintf(read, sizeof read, "SELECT \"%s\" FROM \"%s\" LIMIT 1 OFFSET %u", column, table, row % 8);
  snprintf(write, sizeof write,
           which == 255 ? "DELETE FROM \"%1$s\" WHERE \"%2$s\" IS (SELECT \"%2$s\" FROM \"%1$s\" LIMIT 1 OFFSET %3$u)"
                        : "UPDATE \"%1$s\" SET \"%2$s\" = ?1 WHERE \"%2$s\" IS "
                          "(SELECT \"%2$s\" FROM \"%1$s\" LIMIT 1 OFFSET %3$u)",
           table, column, row % 8);
  sqlite3_stmt *old = NULL, *s = NULL;
  sqlite3_prepare_v2(db, read, -1, &old, NULL);
  bool found = old && sqlite3_step(old) == SQLITE_ROW;
  const unsigned char *blob = found ? sqlite3_column_blob(old, 0) : NULL;
  size_t size = blob ? (size_t)sqlite3_column_bytes(old, 0) : 0;
  unsigned char *copy = malloc(size + 1);
  if (copy && blob) memcpy(copy, blob, size);
  sqlite3_finalize(old);
  if (copy && sqlite3_prepare_v2(db, write, -1, &s, NULL) == SQLITE_OK) {
    if (which != 255) bind_value(in, s, copy, size);
    sqlite3_step(s);
  }
  sqlite3_finalize(s);
  free(copy);
}

static void write_changed(Input *in) {
  unsigned char *bytes = malloc(base.size);
  need(bytes != NULL, "out of memory");
  memcpy(bytes, base.bytes, base.size);
  uint32_t byte_changes = take(in, 1);
  byte_changes = byte_changes < 192 ? 0 : byte_changes - 191; /* most inputs change values */
  for (uint32_t k = 0; k < byte_changes && in->at < in->end; k++) change_bytes(in, bytes);
  FILE *file = fopen(base.path, "wb");
  need(file && fwrite(bytes, 1, base.size, file) == base.size, "the run cannot be written");
  fclose(file);
  free(bytes);
  sqlite3 *db = NULL;
  if (in->at < in->end && sqlite3_open(base.path, &db) == SQLITE_OK) {
    sqlite3_exec(db, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF", NULL, NULL, NULL);
    for (int k = 0; k < 6 && in->at < in->end; k++) change_value(in, db);
  }
  sqlite3_close(db);
}

/* ---- What reads it ---- */

static void call(int (*command)(int, char **), const char *name, const char *more, const char *out) {
  char *argv[] = {(char *)name, base.path, (char *)more, (char *)"-o", (char *)out, NULL};
  int count = out ? 5 : more ? 3 : 2;
  command(count, argv);
}

static void resume(void) {
  AbdError error = {ABD_OK, ""};
  AbdScene *scene = NULL;
  AbdWorld *world = NULL;
  AbdStepReport report;
  AbdRun *run = abd_run_resume(base.path, 1, &scene, &world, &error);
  need(run || error.text[0], "a refusal without a sentence");
  if (run && abd_world_step_count(world) < INT64_MAX && abd_scene_apply(scene, world, &error) == ABD_OK &&
      abd_world_step(world, &report) == ABD_OK)
    abd_run_record(run, world, &report), abd_run_finish(run, world);
  abd_run_close(run);
  abd_world_destroy(world);
  abd_scene_destroy(scene);
}

static void read_all(void) {
  AbdError error = {ABD_OK, ""};
  AbdRunView view;
  const AbdContact *contact;
  const AbdJointReading *reading;
  AbdRunReports reports;
  size_t count;
  AbdRun *run = abd_run_open(base.path, &error);
  need(run || error.text[0], "a refusal without a sentence");
  if (run && abd_run_view(run, &view) == ABD_OK)
    for (size_t k = 0; k < view.frame_count && k < 4; k++) {
      abd_run_contacts(run, view.frame[k], &contact, &count);
      abd_run_readings(run, view.frame[k], &reading, &count);
    }
  if (run) abd_run_reports(run, -1, 1000, &reports);
  abd_run_close(run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Input in = {data, data + size};
  uint32_t reader = take(&in, 1) % 16;
  write_changed(&in);
  switch (reader) {
    case 0: call(command_info, "info", NULL, NULL); break;
    case 1: call(command_info, "info", "--json", NULL); break;
    case 2:
    case 3: call(command_verify, "verify", "--quiet", NULL); break;
    case 4:
    case 5: resume(); break;
    case 6:
    case 7: read_all(); break;
    default: call(command_export, "export", "--quiet", base.out[reader - 8]);
  }
  return 0;
}
