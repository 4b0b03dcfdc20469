/* Writes a run file: meta, meshes, bodies, frames, contacts, checkpoints. See run.h. */
#include "record/file.h"
#include "record/world_nodes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool run_write_meta(Run *run, const char *key, const char *value) {
  sqlite3_stmt *statement = run_prepare(run, "INSERT OR REPLACE INTO meta VALUES(?, ?)");
  if (!statement) return false;
  sqlite3_bind_text(statement, 1, key, -1, SQLITE_STATIC);
  sqlite3_bind_text(statement, 2, value, -1, SQLITE_STATIC);
  bool good = run_finish(run, statement, "write the file");
  sqlite3_finalize(statement);
  return good;
}

/* ---- Meshes and bodies ---- */

void run_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, size_t size) {
  if (size) sqlite3_bind_blob64(statement, index, bytes, size, SQLITE_STATIC);
  else sqlite3_bind_zeroblob(statement, index, 0);
}

static bool write_mesh(Run *run, sqlite3_stmt *s, uint32_t id, const AbdMeshView *mesh) {
  sqlite3_bind_int64(s, 1, id);
  sqlite3_bind_text(s, 2, mesh->name ? mesh->name : "", -1, SQLITE_STATIC);
  run_bind_blob(s, 3, mesh->vertex, mesh->vertex_count * 3 * sizeof(double));
  run_bind_blob(s, 4, mesh->edge, mesh->edge_count * 2 * sizeof(uint32_t));
  run_bind_blob(s, 5, mesh->triangle, mesh->triangle_count * 3 * sizeof(uint32_t));
  run_bind_blob(s, 6, NULL, 0);
  run_bind_blob(s, 7, mesh->origin, sizeof mesh->origin);
  run_bind_blob(s, 8, mesh->axes, sizeof mesh->axes);
  sqlite3_bind_int(s, 9, mesh->closed);
  sqlite3_bind_int(s, 10, mesh->half_space);
  sqlite3_bind_double(s, 11, mesh->volume);
  return run_finish(run, s, "write a mesh");
}

/* Automatic colours: hues a golden angle apart, so that consecutive ids differ; bodies that do not move are grey. */
static void body_color(uint32_t id, AbdMotion motion, char text[8]) {
  if (motion == ABD_MOTION_STATIC) {
    snprintf(text, 8, "#b9bec6");
    return;
  }
  double hue = fmod(0.57 + 0.61803398875 * (id - 1), 1.0), saturation = id % 3 == 0 ? 0.42 : 0.56;
  double value = id % 2 ? 0.93 : 0.82;
  int byte[3];
  for (int k = 0; k < 3; k++) {
    double x = fabs(fmod(hue * 6.0 + (k == 0 ? 0.0 : k == 1 ? 4.0 : 2.0), 6.0) - 3.0) - 1.0;
    double channel = value * (1.0 - saturation + saturation * fmin(fmax(x, 0.0), 1.0));
    byte[k] = (int)(255.0 * channel + 0.5) & 0xff;
  }
  snprintf(text, 8, "#%02x%02x%02x", byte[0], byte[1], byte[2]);
}

/* Excluded pairs in both directions, sorted, without pairs of one group, which the column grp excludes. */
typedef struct Exclusions {
  AbdBodyId (*pair)[2];
  size_t count, next; /* next: the first one of the next body */
} Exclusions;

static int compare_exclusions(const void *x, const void *y) {
  const AbdBodyId *a = x, *b = y;
  if (a[0].id != b[0].id) return a[0].id < b[0].id ? -1 : 1;
  return (a[1].id > b[1].id) - (a[1].id < b[1].id);
}

static bool list_exclusions(Run *run, const AbdWorld *world, Exclusions *e) {
  size_t count = abd_world_excluded_pairs(world, NULL, 0);
  *e = (Exclusions){.pair = malloc((2 * count + 1) * sizeof *e->pair), .count = 2 * count};
  if (!e->pair) return run_fail(run, RUN_DISK, "%s: out of memory for %zu pairs", run->path, count);
  abd_world_excluded_pairs(world, e->pair, count);
  for (size_t k = 0; k < count; k++) e->pair[count + k][0] = e->pair[k][1], e->pair[count + k][1] = e->pair[k][0];
  qsort(e->pair, e->count, sizeof *e->pair, compare_exclusions);
  return true;
}

/* The exclusions of one body as a JSON list. Call it in the order of ids. */
static char *exclusion_text(Run *run, Exclusions *e, uint32_t id) {
  while (e->next < e->count && e->pair[e->next][0].id < id) e->next++;
  size_t end = e->next, used = 1;
  while (end < e->count && e->pair[end][0].id == id) end++;
  char *text = run_bytes(run, 16 + 11 * (end - e->next));
  if (!text) return NULL;
  text[0] = '[';
  for (; e->next < end; e->next++)
    used += (size_t)sprintf(text + used, used > 1 ? ",%u" : "%u", e->pair[e->next][1].id);
  text[used] = ']', text[used + 1] = 0;
  return text;
}

/* The row of an id whose body came and went between two steps, so that ids have no gap. */
static bool write_absent_body(Run *run, sqlite3_stmt *s, uint32_t id, int64_t born) {
  sqlite3_clear_bindings(s);
  sqlite3_bind_int64(s, 1, id);
  sqlite3_bind_text(s, 2, "", -1, SQLITE_STATIC);
  sqlite3_bind_int64(s, 3, 1);
  sqlite3_bind_text(s, 4, "affine", -1, SQLITE_STATIC);
  sqlite3_bind_text(s, 5, abd_motion_name(ABD_MOTION_STATIC), -1, SQLITE_STATIC);
  sqlite3_bind_text(s, 6, "[]", -1, SQLITE_STATIC);
  sqlite3_bind_int(s, 14, -1);
  sqlite3_bind_int64(s, 16, born);
  sqlite3_bind_int64(s, 17, born);
  return run_finish(run, s, "write a body");
}

static bool write_body(Run *run, sqlite3_stmt *s, const AbdWorld *world, uint32_t id, int64_t born,
                       Exclusions *exclusions) {
  AbdBodyView body;
  AbdSoftView soft;
  bool is_soft = abd_soft_view(world, (AbdBodyId){id}, &soft) == ABD_OK;
  if (abd_body_view(world, (AbdBodyId){id}, &body) != ABD_OK) return write_absent_body(run, s, id, born);
  char *collide = exclusion_text(run, exclusions, id);
  if (!collide) return false;
  char color[8];
  body_color(id, body.motion, color);
  sqlite3_bind_int64(s, 1, id);
  sqlite3_bind_text(s, 2, body.name ? body.name : "", -1, SQLITE_STATIC);
  sqlite3_bind_int64(s, 3, body.mesh.id);
  sqlite3_bind_text(s, 4, is_soft ? "soft" : "affine", -1, SQLITE_STATIC);
  sqlite3_bind_text(s, 5, abd_motion_name(body.motion), -1, SQLITE_STATIC);
  sqlite3_bind_text(s, 6, body.sensor ? RUN_SENSOR : collide, -1, SQLITE_STATIC);
  sqlite3_bind_double(s, 7, body.density);
  sqlite3_bind_double(s, 8, body.mass);
  run_bind_blob(s, 9, body.inertia, sizeof body.inertia);
  sqlite3_bind_double(s, 10, is_soft ? soft.young : body.stiffness);
  sqlite3_bind_text(s, 11, is_soft ? abd_soft_model_name(soft.model) : abd_elasticity_name(body.elasticity), -1,
                    SQLITE_STATIC);
  sqlite3_bind_double(s, 12, body.friction);
  sqlite3_bind_int64(s, 13, body.fixed);
  sqlite3_bind_int(s, 14, body.group);
  sqlite3_bind_text(s, 15, color, -1, SQLITE_STATIC);
  sqlite3_bind_int64(s, 16, born);
  sqlite3_bind_null(s, 17);
  return run_finish(run, s, "write a body");
}

static bool write_one_mesh(Run *run, sqlite3_stmt *s, const AbdWorld *world, uint32_t id, uint32_t soft) {
  AbdMeshView mesh;
  if (soft) return run_write_soft_mesh(run, s, world, (AbdBodyId){soft});
  if (abd_mesh_view(world, (AbdMeshId){id}, &mesh) != ABD_OK) mesh = (AbdMeshView){.name = ""}; /* of a removed body */
  return write_mesh(run, s, id, &mesh);
}

static bool write_meshes(Run *run, const AbdWorld *world) {
  size_t count = abd_world_mesh_count(world);
  uint32_t last;
  if (!run_last_id(run, "mesh", &last)) return false;
  if (last >= count) return true;
  uint32_t *soft = calloc(count + 1, sizeof *soft); /* by mesh: its soft body */
  if (!soft) return run_fail(run, RUN_DISK, "%s: out of memory for %zu meshes", run->path, count);
  for (size_t k = 0; k < abd_world_body_count(world); k++) {
    AbdBodyId id = abd_world_body_at(world, k);
    AbdBodyView body;
    if (abd_body_is_soft(world, id) && abd_body_view(world, id, &body) == ABD_OK) soft[body.mesh.id - 1] = id.id;
  }
  sqlite3_stmt *s = run_prepare(run, "INSERT INTO mesh VALUES(?,?,?,?,?,?,?,?,?,?,?)");
  bool good = s != NULL;
  for (uint32_t id = last + 1; good && id <= count; id++) good = write_one_mesh(run, s, world, id, soft[id - 1]);
  free(soft);
  sqlite3_finalize(s);
  return good;
}

static bool write_bodies(Run *run, const AbdWorld *world, int64_t born, uint32_t after, uint32_t last) {
  Exclusions exclusions;
  if (!list_exclusions(run, world, &exclusions)) return false;
  sqlite3_stmt *s = run_prepare(run, "INSERT INTO body VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
  bool good = s != NULL;
  for (uint32_t id = after + 1; good && id <= last; id++) good = write_body(run, s, world, id, born, &exclusions);
  sqlite3_finalize(s);
  free(exclusions.pair);
  return good;
}

bool run_write_new_bodies(Run *run, const AbdWorld *world, int64_t born, uint32_t last) {
  uint32_t after;
  return run_last_id(run, "body", &after) && write_meshes(run, world) &&
         (after >= last || (write_bodies(run, world, born, after, last) && run_write_soft_defs(run, world, after)));
}

bool run_write_world(Run *run, const AbdWorld *world) {
  run_keep_world(run, world);
  return run_write_new_bodies(run, world, 0, (uint32_t)world_bodies(world)) &&
         run_write_joint_defs(run, world, 0, (uint32_t)world_joints(world));
}

bool run_write_color(Run *run, uint32_t body, const char *color) {
  sqlite3_stmt *s = run_statement(run, RUN_STATEMENT_COLOR, "UPDATE body SET color = ? WHERE id = ?");
  if (!s) return false;
  sqlite3_bind_text(s, 1, color, -1, SQLITE_STATIC);
  sqlite3_bind_int64(s, 2, body);
  return run_finish(run, s, "write a colour");
}

/* ---- Steps ---- */

static void bind_numbers(sqlite3_stmt *s, int index, const double *number, size_t count) {
  if (number) run_bind_blob(s, index, number, count * sizeof *number);
  else sqlite3_bind_null(s, index);
}

bool run_write_poses(Run *run, int64_t step, double time, const double *node, size_t node_count, const double *rate,
                     size_t rate_count) {
  sqlite3_stmt *s = run_statement(run, RUN_STATEMENT_FRAME, "INSERT OR REPLACE INTO frame VALUES(?,?,?,?)");
  if (!s) return false;
  sqlite3_bind_int64(s, 1, step);
  sqlite3_bind_double(s, 2, time);
  bind_numbers(s, 3, node, node_count);
  bind_numbers(s, 4, rate, rate_count);
  return run_finish(run, s, "write a frame");
}

bool run_write_frame(Run *run, const AbdWorld *world) {
  size_t node_count = world_node_count(world), rate_count = world_rate_count(world);
  double *nodes = run_bytes(run, (node_count + rate_count) * sizeof *nodes);
  if (!nodes) return false;
  abd_world_poses(world, nodes, nodes + node_count);
  return run_write_poses(run, abd_world_step_count(world), abd_world_time(world), nodes, node_count, nodes + node_count,
                         rate_count);
}

static void bind_contact(sqlite3_stmt *s, int64_t step, const AbdContact *c) {
  static const char *const kind[] = {"vertex-triangle", "triangle-vertex", "edge-edge"};
  sqlite3_bind_int64(s, 1, step);
  sqlite3_bind_int64(s, 2, c->body_a.id);
  sqlite3_bind_int64(s, 3, c->body_b.id);
  sqlite3_bind_text(s, 4, kind[c->kind], -1, SQLITE_STATIC);
  sqlite3_bind_int64(s, 5, c->primitive_a);
  sqlite3_bind_int64(s, 6, c->primitive_b);
  for (int i = 0; i < 3; i++) sqlite3_bind_double(s, 7 + i, c->point[i]);
  for (int i = 0; i < 3; i++) sqlite3_bind_double(s, 10 + i, c->normal[i]);
  sqlite3_bind_double(s, 13, c->distance);
  sqlite3_bind_double(s, 14, c->normal_force);
  for (int i = 0; i < 3; i++) sqlite3_bind_double(s, 15 + i, c->friction_force[i]);
}

bool run_write_step_contacts(Run *run, int64_t step, const AbdContact *contact, size_t count) {
  sqlite3_stmt *s =
      run_statement(run, RUN_STATEMENT_CONTACT, "INSERT INTO contact VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
  bool good = s != NULL;
  for (size_t k = 0; good && k < count; k++) {
    bind_contact(s, step, &contact[k]);
    good = run_finish(run, s, "write a contact");
  }
  return good;
}

bool run_write_contacts(Run *run, const AbdWorld *world) {
  size_t count = abd_world_contacts(world, NULL, 0);
  AbdContact *contact = run_bytes(run, count * sizeof *contact);
  if (!contact) return false;
  count = abd_world_contacts(world, contact, count);
  return run_write_step_contacts(run, abd_world_step_count(world), contact, count);
}

static const char *const state_writing = "write the state to resume from";

/* By pieces: SQLite makes a copy of a value that it gets as a whole, and a state is the largest. */
static bool fill_state(Run *run, const char *bytes, size_t size) {
  enum { PIECE = 1 << 24 };
  sqlite3_blob *blob = NULL;
  bool good = sqlite3_blob_open(run->db, "main", "checkpoint", "state", 1, 1, &blob) == SQLITE_OK;
  for (size_t at = 0; good && at < size; at += PIECE) {
    int part = (int)(size - at < PIECE ? size - at : PIECE);
    good = sqlite3_blob_write(blob, bytes + at, part, (int)at) == SQLITE_OK;
  }
  if (!good) run_fail_sqlite(run, state_writing);
  sqlite3_blob_close(blob);
  return good;
}

/* In a transaction. */
bool run_write_state(Run *run, int64_t step, const void *bytes, size_t size) {
  sqlite3_stmt *s = run_statement(run, RUN_STATEMENT_CHECKPOINT, "INSERT OR REPLACE INTO checkpoint VALUES(1,?,?)");
  if (!s) return false;
  sqlite3_bind_int64(s, 1, step);
  if (sqlite3_bind_zeroblob64(s, 2, size) != SQLITE_OK) return run_fail_sqlite(run, state_writing);
  return run_finish(run, s, state_writing) && fill_state(run, bytes, size);
}

bool run_write_checkpoint(Run *run, const AbdWorld *world) {
  size_t size = abd_world_snapshot_size(world);
  void *bytes = run_bytes(run, size);
  if (!bytes) return false;
  if (abd_world_save(world, bytes, size) != ABD_OK)
    return run_fail(run, RUN_DISK, "%s: cannot save the state: %s", run->path, abd_world_error(world));
  bool good = run_write_state(run, abd_world_step_count(world), bytes, size);
  run_free_bytes(run); /* as large as the state, and used at the start and the end of a run alone */
  return good;
}
