/* Reads a run file. Its contents are not trusted: sizes, indices and references are checked. See run.h. */
#include "record/file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *run_read_meta(Run *run, const char *key) {
  sqlite3_stmt *s = run_prepare(run, "SELECT value FROM meta WHERE key = ?");
  if (!s) return NULL;
  sqlite3_bind_text(s, 1, key, -1, SQLITE_STATIC);
  char *value = NULL;
  if (sqlite3_step(s) == SQLITE_ROW && sqlite3_column_text(s, 0))
    value = strdup((const char *)sqlite3_column_text(s, 0));
  sqlite3_finalize(s);
  return value;
}

static bool out_of_memory(Run *run) { return run_fail(run, RUN_DISK, "%s: out of memory", run->path); }

static char *copy_text(sqlite3_stmt *s, int column) {
  const char *text = (const char *)sqlite3_column_text(s, column);
  return strdup(text ? text : "");
}

/* A column's blob as count items of item bytes, malloc'ed. */
static bool copy_blob(Run *run, sqlite3_stmt *s, int column, size_t item, const char *what, void *out, size_t *count) {
  size_t size = (size_t)sqlite3_column_bytes(s, column);
  if (size % item)
    return run_fail(run, RUN_BAD_FILE, "%s: %s has %zu bytes, expected a multiple of %zu", run->path, what, size, item);
  void *bytes = malloc(size + 1);
  if (!bytes) return out_of_memory(run);
  if (size) memcpy(bytes, sqlite3_column_blob(s, column), size);
  memcpy(out, &bytes, sizeof bytes);
  *count = size / item;
  return true;
}

static bool copy_exactly(Run *run, sqlite3_stmt *s, int column, const char *what, void *out, size_t size) {
  if ((size_t)sqlite3_column_bytes(s, column) != size)
    return run_fail(run, RUN_BAD_FILE, "%s: %s has %d bytes, expected %zu", run->path, what,
                    sqlite3_column_bytes(s, column), size);
  memcpy(out, sqlite3_column_blob(s, column), size);
  return true;
}

static bool check_indices(Run *run, const char *name, const char *what, const uint32_t *index, size_t count,
                          size_t limit) {
  for (size_t k = 0; k < count; k++)
    if (index[k] >= limit)
      return run_fail(run, RUN_BAD_FILE, "%s: mesh '%s': %s uses vertex %u of %zu", run->path, name, what, index[k],
                      limit);
  return true;
}

static bool check_numbers(Run *run, const char *what, const double *value, size_t count) {
  for (size_t k = 0; k < count; k++)
    if (!isfinite(value[k]))
      return run_fail(run, RUN_BAD_FILE, "%s: %s: number %zu is %g", run->path, what, k, value[k]);
  return true;
}

static bool read_mesh(Run *run, sqlite3_stmt *s, RunMesh *mesh) {
  mesh->name = copy_text(s, 0);
  if (!mesh->name) return out_of_memory(run);
  mesh->closed = sqlite3_column_int(s, 6), mesh->half_space = sqlite3_column_int(s, 7);
  return copy_blob(run, s, 1, 24, "a mesh's vertex blob", &mesh->vertex, &mesh->vertex_count) &&
         copy_blob(run, s, 2, 8, "a mesh's edge blob", &mesh->edge, &mesh->edge_count) &&
         copy_blob(run, s, 3, 12, "a mesh's triangle blob", &mesh->triangle, &mesh->triangle_count) &&
         copy_blob(run, s, 8, 16, "a mesh's tet blob", &mesh->tet, &mesh->tet_count) &&
         copy_exactly(run, s, 4, "a mesh's origin", mesh->origin, sizeof mesh->origin) &&
         copy_exactly(run, s, 5, "a mesh's axes", mesh->axes, sizeof mesh->axes) &&
         check_numbers(run, "a mesh's vertex blob", mesh->vertex, 3 * mesh->vertex_count) &&
         check_indices(run, mesh->name, "an edge", mesh->edge, 2 * mesh->edge_count, mesh->vertex_count) &&
         check_indices(run, mesh->name, "a triangle", mesh->triangle, 3 * mesh->triangle_count, mesh->vertex_count) &&
         check_indices(run, mesh->name, "a tet", mesh->tet, 4 * mesh->tet_count, mesh->vertex_count);
}

/* Parses "[2,5]", the list that exclusion_text writes, or RUN_SENSOR. */
static bool parse_exclusions(Run *run, const char *text, RunBody *body, size_t body_count) {
  size_t capacity = 1;
  for (const char *c = text; *c; c++) capacity += *c == ',';
  body->exclude = malloc(capacity * sizeof *body->exclude);
  if (!body->exclude) return out_of_memory(run);
  if ((body->sensor = strcmp(text, RUN_SENSOR) == 0)) return true;
  const char *at = text + strspn(text, " [");
  while (*at && *at != ']') {
    char *end;
    unsigned long id = strtoul(at, &end, 10);
    if (end == at || id < 1 || id > body_count)
      return run_fail(run, RUN_BAD_FILE, "%s: body '%s': collide is '%.40s', expected a list of body ids", run->path,
                      body->name, text);
    body->exclude[body->exclude_count++] = (uint32_t)id;
    at = end + strspn(end, " ,");
  }
  return true;
}

static bool read_motion(Run *run, const char *text, RunBody *body) {
  const char *const *names = abd_enum_names(ABD_ENUM_MOTION);
  for (int k = 0; names[k]; k++) {
    if (strcmp(text, names[k])) continue;
    body->motion = (AbdMotion)k;
    return true;
  }
  return run_fail(run, RUN_BAD_FILE, "%s: body '%s': motion is '%.40s', expected dynamic, static or kinematic",
                  run->path, body->name, text);
}

static bool read_kind(Run *run, const char *kind, RunBody *body) {
  if (!strcmp(kind, "affine")) return true;
  if (strcmp(kind, "soft"))
    return run_fail(run, RUN_BAD_FILE, "%s: body '%s' is of kind '%.40s', this abd %s reads affine and soft bodies",
                    run->path, body->name, kind, abd_version());
  body->soft = calloc(1, sizeof *body->soft);
  return body->soft ? true : out_of_memory(run);
}

static bool read_body(Run *run, sqlite3_stmt *s, RunScene *scene, RunBody *body) {
  body->name = copy_text(s, 0);
  char *motion = copy_text(s, 3), *collide = copy_text(s, 4), *color = copy_text(s, 7);
  int64_t mesh = sqlite3_column_int64(s, 1);
  unsigned byte[3] = {180, 180, 180};
  bool good = body->name && motion && collide && color ? true : out_of_memory(run);
  if (good && (mesh < 1 || (size_t)mesh > scene->mesh_count))
    good = run_fail(run, RUN_BAD_FILE, "%s: body '%s' uses mesh %lld of %zu", run->path, body->name, (long long)mesh,
                    scene->mesh_count);
  good = good && read_kind(run, (const char *)sqlite3_column_text(s, 2), body) && read_motion(run, motion, body) &&
         parse_exclusions(run, collide, body, scene->body_count);
  if (good) {
    body->mesh = (size_t)mesh - 1;
    body->group = (int32_t)sqlite3_column_int64(s, 8);
    run_read_life(s, 9, &body->born, &body->died);
    body->density = sqlite3_column_double(s, 5), body->mass = sqlite3_column_double(s, 6);
    sscanf(color, "#%2x%2x%2x", &byte[0], &byte[1], &byte[2]);
    for (int k = 0; k < 3; k++) body->color[k] = (unsigned char)byte[k];
  }
  free(motion), free(collide), free(color);
  return good;
}

static bool count_rows(Run *run, const char *sql, size_t *count) {
  sqlite3_stmt *s = run_prepare(run, sql);
  if (!s) return false;
  bool good = sqlite3_step(s) == SQLITE_ROW;
  if (good) *count = (size_t)sqlite3_column_int64(s, 0);
  else run_fail_sqlite(run, "read the file");
  int64_t last = sqlite3_column_int64(s, 1);
  sqlite3_finalize(s);
  if (good && (size_t)last != *count)
    return run_fail(run, RUN_BAD_FILE, "%s: ids of meshes and bodies must be 1, 2, 3, ...", run->path);
  return good;
}

static bool read_rows(Run *run, const char *sql, RunScene *scene, size_t count,
                      bool (*read)(Run *, sqlite3_stmt *, RunScene *, size_t)) {
  sqlite3_stmt *s = run_prepare(run, sql);
  bool good = s != NULL;
  for (size_t k = 0; good && k < count; k++)
    good = sqlite3_step(s) == SQLITE_ROW ? read(run, s, scene, k) : run_fail_sqlite(run, "read the file");
  sqlite3_finalize(s);
  return good;
}

static bool read_mesh_row(Run *run, sqlite3_stmt *s, RunScene *scene, size_t k) {
  return read_mesh(run, s, &scene->mesh[k]);
}
static bool read_body_row(Run *run, sqlite3_stmt *s, RunScene *scene, size_t k) {
  return sqlite3_column_text(s, 2) ? read_body(run, s, scene, &scene->body[k])
                                   : run_fail(run, RUN_BAD_FILE, "%s: body %zu has no kind", run->path, k + 1);
}

static void read_numbers(Run *run, const char *key, double *value, int count) {
  char *text = run_read_meta(run, key);
  char *at = text;
  for (int k = 0; text && k < count; k++) {
    char *end;
    double number = strtod(at, &end);
    if (end == at || !isfinite(number)) break;
    value[k] = number, at = end;
  }
  free(text);
}

static void count_numbers(RunScene *scene) {
  for (size_t b = 0; b < scene->body_count; b++) {
    RunBody *body = &scene->body[b];
    size_t vertices = scene->mesh[body->mesh].vertex_count;
    body->node = scene->node_count, body->rate = scene->rate_count;
    scene->node_count += body->soft ? 3 * vertices : 12;
    scene->rate_count += body->soft ? 3 * vertices : 6;
  }
}

static bool read_scene(Run *run, RunScene *scene) {
  *scene = (RunScene){.up = {0, 0, 1}};
  if (!count_rows(run, "SELECT count(*), ifnull(max(id), 0) FROM mesh", &scene->mesh_count) ||
      !count_rows(run, "SELECT count(*), ifnull(max(id), 0) FROM body", &scene->body_count)) {
    scene->mesh_count = scene->body_count = 0;
    return false;
  }
  scene->mesh = calloc(scene->mesh_count + 1, sizeof *scene->mesh);
  scene->body = calloc(scene->body_count + 1, sizeof *scene->body);
  bool good = scene->mesh && scene->body ? true : out_of_memory(run);
  good =
      good &&
      read_rows(run, "SELECT name, vertex, edge, triangle, origin, axes, closed, half_space, tet FROM mesh ORDER BY id",
                scene, scene->mesh_count, read_mesh_row) &&
      read_rows(
          run,
          run->version < 5
              ? "SELECT name, mesh, kind, motion, collide, density, mass, color, grp, 0, NULL FROM body ORDER BY id"
              : "SELECT name, mesh, kind, motion, collide, density, mass, color, grp, born, died FROM body"
                " ORDER BY id",
          scene, scene->body_count, read_body_row) &&
      run_read_soft_defs(run, scene);
  if (good) count_numbers(scene);
  if (!good) run_scene_destroy(scene);
  else read_numbers(run, "up", scene->up, 3), read_numbers(run, "dt", &scene->dt, 1);
  return good;
}

bool run_read_scene(Run *run, RunScene *scene) {
  *scene = (RunScene){0};
  if (!run_begin_read(run)) return false;
  bool good = read_scene(run, scene);
  run_end_read(run);
  return good;
}

void run_scene_destroy(RunScene *scene) {
  for (size_t k = 0; scene->mesh && k < scene->mesh_count; k++) {
    free(scene->mesh[k].name), free(scene->mesh[k].vertex), free(scene->mesh[k].edge), free(scene->mesh[k].triangle);
    free(scene->mesh[k].tet);
  }
  for (size_t k = 0; scene->body && k < scene->body_count; k++) {
    RunBody *body = &scene->body[k];
    if (body->soft) free(body->soft->attached);
    free(body->name), free(body->exclude), free(body->soft);
  }
  free(scene->mesh), free(scene->body);
  *scene = (RunScene){0};
}

/* ---- Frames ---- */

bool run_read_frame_steps(Run *run, int64_t **steps, size_t *count) {
  int64_t last;
  if (!run_last_complete(run, &last)) return false;
  sqlite3_stmt *s = run_prepare(run, "SELECT step FROM frame WHERE step <= ? ORDER BY step");
  if (!s) return false;
  sqlite3_bind_int64(s, 1, last);
  size_t capacity = 0;
  int code;
  *steps = NULL, *count = 0;
  while ((code = sqlite3_step(s)) == SQLITE_ROW) {
    if (*count == capacity) {
      capacity = 2 * capacity + 64;
      int64_t *more = realloc(*steps, capacity * sizeof **steps);
      if (!more) break;
      *steps = more;
    }
    (*steps)[(*count)++] = sqlite3_column_int64(s, 0);
  }
  if (code == SQLITE_ROW) out_of_memory(run);
  else if (code != SQLITE_DONE) run_fail_sqlite(run, "read the frames");
  sqlite3_finalize(s);
  if (code == SQLITE_DONE) return true;
  free(*steps), *steps = NULL;
  return false;
}

size_t run_body_numbers(const RunScene *scene, const RunBody *body, size_t stiff) {
  return body->soft ? 3 * scene->mesh[body->mesh].vertex_count : stiff;
}

size_t run_frame_numbers(const RunScene *scene, int64_t step, size_t stiff) {
  size_t sum = 0;
  for (size_t b = 0; b < scene->body_count; b++)
    if (run_body_alive(&scene->body[b], step)) sum += run_body_numbers(scene, &scene->body[b], stiff);
  return sum;
}

/* The numbers of a blob, which has the bodies of the step alone, as those of all bodies: NaN for the others. */
static bool spread(Run *run, const void *blob, const RunScene *scene, int64_t step, size_t stiff, size_t count,
                   double **out) {
  const char *from = blob;
  double *to = *out = malloc((count + 1) * sizeof *to);
  if (!to) return out_of_memory(run);
  for (size_t b = 0; b < scene->body_count; b++) {
    size_t n = run_body_numbers(scene, &scene->body[b], stiff);
    bool alive = run_body_alive(&scene->body[b], step);
    if (alive && n) memcpy(to, from, n * sizeof *to), from += n * sizeof *to;
    for (size_t k = 0; !alive && k < n; k++) to[k] = NAN;
    to += n;
  }
  return true;
}

static bool check_frame(Run *run, const RunScene *scene, const RunFrame *frame, const char *what) {
  bool good = true;
  for (size_t b = 0; good && b < scene->body_count; b++) {
    const RunBody *body = &scene->body[b];
    if (run_body_alive(body, frame->step))
      good = check_numbers(run, what, frame->nodes + body->node, run_body_numbers(scene, body, 12));
  }
  return good;
}

/* The numbers of the bodies that are there, as the file or its shards have them. */
typedef struct Numbers {
  const void *node, *rate;
  size_t node_bytes, rate_bytes;
  double *owned[2]; /* read from shards */
} Numbers;

static bool find_numbers(Run *run, sqlite3_stmt *s, const RunScene *scene, int64_t step, Numbers *n) {
  bool in_shards = run->shards && sqlite3_column_type(s, 1) == SQLITE_NULL;
  *n = (Numbers){sqlite3_column_blob(s, 1),
                 sqlite3_column_blob(s, 2),
                 (size_t)sqlite3_column_bytes(s, 1),
                 (size_t)sqlite3_column_bytes(s, 2),
                 {NULL, NULL}};
  if (!in_shards) return true;
  if (!run_read_parts(run, scene, step, &n->owned[0], &n->owned[1])) return false;
  n->node = n->owned[0], n->node_bytes = run_frame_numbers(scene, step, 12) * sizeof(double);
  n->rate = n->owned[1], n->rate_bytes = run_frame_numbers(scene, step, 6) * sizeof(double);
  return true;
}

static bool spread_numbers(Run *run, const Numbers *n, const RunScene *scene, RunFrame *frame) {
  char what[64];
  size_t size = run_frame_numbers(scene, frame->step, 12) * sizeof(double);
  size_t rates = run_frame_numbers(scene, frame->step, 6) * sizeof(double);
  snprintf(what, sizeof what, "the node blob of frame %lld", (long long)frame->step);
  if (n->node_bytes != size)
    return run_fail(run, RUN_BAD_FILE, "%s: %s has %zu bytes, expected %zu for %zu bodies", run->path, what,
                    n->node_bytes, size, scene->body_count);
  if (!spread(run, n->node, scene, frame->step, 12, scene->node_count, &frame->nodes)) return false;
  if (rates && n->rate_bytes == rates &&
      !spread(run, n->rate, scene, frame->step, 6, scene->rate_count, &frame->velocity))
    return false;
  return check_frame(run, scene, frame, what);
}

static bool fill_frame(Run *run, sqlite3_stmt *s, const RunScene *scene, RunFrame *frame) {
  Numbers n;
  bool good = find_numbers(run, s, scene, frame->step, &n) && spread_numbers(run, &n, scene, frame);
  frame->time = sqlite3_column_double(s, 0);
  free(n.owned[0]), free(n.owned[1]);
  return good;
}

bool run_read_frame(Run *run, const RunScene *scene, int64_t step, RunFrame *frame) {
  *frame = (RunFrame){.step = step};
  sqlite3_stmt *s = run_prepare(run, "SELECT time, node, velocity FROM frame WHERE step = ?");
  if (!s) return false;
  sqlite3_bind_int64(s, 1, step);
  int code = sqlite3_step(s);
  bool good = code == SQLITE_ROW && fill_frame(run, s, scene, frame);
  if (code == SQLITE_DONE)
    run_fail(run, RUN_BAD_FILE, "%s: there is no frame of step %lld", run->path, (long long)step);
  else if (code != SQLITE_ROW) run_fail_sqlite(run, "read a frame");
  sqlite3_finalize(s);
  if (!good) run_frame_destroy(frame);
  return good;
}

void run_frame_destroy(RunFrame *frame) {
  free(frame->nodes), free(frame->velocity);
  *frame = (RunFrame){0};
}

/* ---- Resuming ---- */

bool run_read_checkpoint(Run *run, void **bytes, size_t *size, int64_t *step) {
  sqlite3_stmt *s = run_prepare(run, "SELECT step, state FROM checkpoint");
  if (!s) return false;
  int code = sqlite3_step(s);
  bool good = code == SQLITE_ROW && copy_blob(run, s, 1, 1, "the state to resume from", bytes, size);
  if (good) *step = sqlite3_column_int64(s, 0);
  else if (code == SQLITE_DONE) run_fail(run, RUN_BAD_FILE, "%s: the file holds no state to resume from", run->path);
  else if (code != SQLITE_ROW) run_fail_sqlite(run, "read the state to resume from");
  sqlite3_finalize(s);
  return good;
}

static bool same_mesh(const RunMesh *mesh, const AbdMeshView *view) {
  return mesh->vertex_count == view->vertex_count && mesh->triangle_count == view->triangle_count &&
         mesh->edge_count == view->edge_count && !memcmp(mesh->vertex, view->vertex, 24 * mesh->vertex_count) &&
         !memcmp(mesh->triangle, view->triangle, 12 * mesh->triangle_count) &&
         !memcmp(mesh->edge, view->edge, 8 * mesh->edge_count);
}

/* Compares rest coordinates. The file stores them as given; the world's move. */
static bool same_soft(const RunMesh *mesh, const RunSoft *soft, const AbdSoftView *view, const AbdWorld *world,
                      AbdBodyId id) {
  bool same = mesh->vertex_count == view->vertex_count && mesh->triangle_count == view->triangle_count &&
              mesh->tet_count == view->tet_count && !memcmp(mesh->vertex, view->rest, 24 * mesh->vertex_count) &&
              !memcmp(mesh->triangle, view->triangle, 12 * mesh->triangle_count) &&
              (!mesh->tet_count || !memcmp(mesh->tet, view->tet, 16 * mesh->tet_count)) && soft->model == view->model &&
              soft->young == view->young && soft->poisson == view->poisson &&
              soft->self_contact == view->self_contact && (mesh->tet_count || soft->thickness == view->thickness);
  for (size_t v = 0; same && v < mesh->vertex_count; v++) same = soft->attached[v] == abd_soft_attached(world, id, v);
  return same;
}

/* Bodies share meshes. compared[mesh]: this mesh has been compared already. */
static bool same_body(const RunScene *scene, const RunBody *body, const AbdWorld *world, AbdBodyId id, bool *compared) {
  AbdBodyView view;
  AbdMeshView mesh;
  AbdSoftView soft;
  const RunMesh *own = &scene->mesh[body->mesh];
  if (abd_body_view(world, id, &view) != ABD_OK || view.mesh.id != body->mesh + 1 || view.motion != body->motion ||
      view.mass != body->mass || abd_body_is_soft(world, id) != (body->soft != NULL))
    return false;
  if (compared[body->mesh]) return true;
  compared[body->mesh] = true;
  return body->soft ? abd_soft_view(world, id, &soft) == ABD_OK && same_soft(own, body->soft, &soft, world, id)
                    : abd_mesh_view(world, view.mesh, &mesh) == ABD_OK && same_mesh(own, &mesh);
}

/* Bodies that went or came after the state of the world are in the file alone. */
static bool compare_world(Run *run, const RunScene *scene, const AbdWorld *world) {
  size_t count = abd_world_body_count(world);
  uint32_t last = count ? abd_world_body_at(world, count - 1).id : 0;
  if (scene->mesh_count < abd_world_mesh_count(world) || scene->body_count < last)
    return run_fail(run, RUN_BAD_FILE, "%s: made of %zu meshes and %zu bodies, the scene has %zu and %u", run->path,
                    scene->mesh_count, scene->body_count, abd_world_mesh_count(world), last);
  bool *compared = calloc(scene->mesh_count + 1, sizeof *compared), same = true;
  if (!compared) return out_of_memory(run);
  for (size_t k = 0; same && k < scene->body_count; k++) {
    const RunBody *body = &scene->body[k];
    AbdBodyId id = {(uint32_t)k + 1};
    AbdBodyView view;
    bool may_lack = body->born > 0 || body->died < INT64_MAX;
    if (body->died <= body->born) continue; /* it went before the file began */
    if (may_lack && abd_body_view(world, id, &view) != ABD_OK) continue;
    if (!same_body(scene, body, world, id, compared))
      same = run_fail(run, RUN_BAD_FILE, "%s: body '%s' or its mesh '%s' differs from the scene's", run->path,
                      body->name, scene->mesh[body->mesh].name);
  }
  free(compared);
  return same;
}

bool run_same_world(Run *run, const AbdWorld *world) {
  RunScene scene;
  if (!run_read_scene(run, &scene)) return false;
  bool same = compare_world(run, &scene, world);
  run_scene_destroy(&scene);
  return same;
}
