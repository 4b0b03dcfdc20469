/* Soft bodies in the run file: their meshes (rest coordinates, tets, surface), materials and attachments. See run.h.
 * Tested in tests/test_record_soft.c. */
#include "record/file.h"

#include <stdlib.h>
#include <string.h>

bool run_create_soft_tables(Run *run) {
  return run_exec(
      run,
      "CREATE TABLE soft(body INTEGER PRIMARY KEY REFERENCES body(id), model TEXT, young REAL, poisson REAL,"
      " thickness REAL, self_contact INTEGER, damping REAL);"
      "CREATE TABLE attachment(body INTEGER, vertex INTEGER, to_body INTEGER, PRIMARY KEY(body, vertex))"
      " WITHOUT ROWID;",
      "create the file");
}

/* ---- Writing ---- */

bool run_write_soft_mesh(Run *run, sqlite3_stmt *s, const AbdWorld *world, AbdBodyId id) {
  static const double origin[3] = {0, 0, 0}, axes[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  AbdSoftView soft;
  AbdBodyView body;
  AbdMeshView mesh;
  if (abd_soft_view(world, id, &soft) != ABD_OK || abd_body_view(world, id, &body) != ABD_OK ||
      abd_mesh_view(world, body.mesh, &mesh) != ABD_OK)
    return run_fail(run, RUN_DISK, "%s: soft body %u: %s", run->path, id.id, abd_world_error(world));
  uint32_t *edge = run_bytes(run, 2 * mesh.edge_count * sizeof *edge);
  if (!edge) return false;
  for (size_t k = 0; k < 2 * mesh.edge_count; k++) edge[k] = (uint32_t)soft.surface_vertex[mesh.edge[k]];
  sqlite3_bind_int64(s, 1, body.mesh.id);
  sqlite3_bind_text(s, 2, soft.name ? soft.name : "", -1, SQLITE_STATIC);
  run_bind_blob(s, 3, soft.rest, soft.vertex_count * 3 * sizeof(double));
  run_bind_blob(s, 4, edge, mesh.edge_count * 2 * sizeof *edge);
  run_bind_blob(s, 5, soft.triangle, soft.triangle_count * 3 * sizeof(uint32_t));
  run_bind_blob(s, 6, soft.tet, soft.tet_count * 4 * sizeof(uint32_t));
  run_bind_blob(s, 7, origin, sizeof origin);
  run_bind_blob(s, 8, axes, sizeof axes);
  sqlite3_bind_int(s, 9, mesh.closed);
  sqlite3_bind_int(s, 10, 0);
  sqlite3_bind_double(s, 11, soft.density > 0 ? soft.mass / soft.density : 0);
  return run_finish(run, s, "write a mesh");
}

static bool write_attachments(Run *run, sqlite3_stmt *s, const AbdWorld *world, uint32_t id, size_t vertex_count) {
  for (size_t v = 0; v < vertex_count; v++) {
    int64_t to = abd_soft_attached(world, (AbdBodyId){id}, v);
    if (to < 0) continue;
    sqlite3_bind_int64(s, 1, id);
    sqlite3_bind_int64(s, 2, (int64_t)v);
    if (to) sqlite3_bind_int64(s, 3, to);
    else sqlite3_bind_null(s, 3);
    if (!run_finish(run, s, "write an attachment")) return false;
  }
  return true;
}

static bool write_soft(Run *run, sqlite3_stmt *s, uint32_t id, const AbdSoftView *soft) {
  sqlite3_bind_int64(s, 1, id);
  sqlite3_bind_text(s, 2, abd_soft_model_name(soft->model), -1, SQLITE_STATIC);
  sqlite3_bind_double(s, 3, soft->young);
  sqlite3_bind_double(s, 4, soft->poisson);
  if (soft->tet_count) sqlite3_bind_null(s, 5);
  else sqlite3_bind_double(s, 5, soft->thickness);
  sqlite3_bind_int(s, 6, soft->self_contact);
  sqlite3_bind_double(s, 7, soft->damping);
  return run_finish(run, s, "write a soft body");
}

bool run_write_soft_defs(Run *run, const AbdWorld *world, uint32_t after) {
  sqlite3_stmt *s = run_prepare(run, "INSERT INTO soft VALUES(?,?,?,?,?,?,?)");
  sqlite3_stmt *attachment = s ? run_prepare(run, "INSERT INTO attachment VALUES(?,?,?)") : NULL;
  bool good = s && attachment;
  for (size_t k = 0; good && k < abd_world_body_count(world); k++) {
    AbdSoftView soft;
    uint32_t id = abd_world_body_at(world, k).id;
    if (id <= after || abd_soft_view(world, (AbdBodyId){id}, &soft) != ABD_OK) continue;
    good = write_soft(run, s, id, &soft) && write_attachments(run, attachment, world, id, soft.vertex_count);
  }
  sqlite3_finalize(s);
  sqlite3_finalize(attachment);
  return good;
}

/* ---- Reading ---- */

/* Older files have '-' instead of '_'. */
static bool find_model(const char *text, AbdSoftModel *model) {
  const char *const *names = abd_enum_names(ABD_ENUM_SOFT_MODEL);
  for (int k = 0; text && names[k]; k++) {
    size_t i = 0;
    while (names[k][i] && (text[i] == names[k][i] || (text[i] == '-' && names[k][i] == '_'))) i++;
    if (names[k][i] || text[i]) continue;
    *model = (AbdSoftModel)k;
    return true;
  }
  return false;
}

static bool read_soft(Run *run, sqlite3_stmt *s, RunScene *scene) {
  int64_t id = sqlite3_column_int64(s, 0);
  const char *model = (const char *)sqlite3_column_text(s, 1);
  RunSoft *soft = id >= 1 && (size_t)id <= scene->body_count ? scene->body[id - 1].soft : NULL;
  if (!soft)
    return run_fail(run, RUN_BAD_FILE, "%s: table soft names body %lld, which is not a soft one", run->path,
                    (long long)id);
  if (!find_model(model, &soft->model))
    return run_fail(run, RUN_BAD_FILE,
                    "%s: soft body '%s': model is '%.40s', expected neo_hookean, stable_neo_hookean or corotated",
                    run->path, scene->body[id - 1].name, model ? model : "");
  soft->young = sqlite3_column_double(s, 2), soft->poisson = sqlite3_column_double(s, 3);
  soft->thickness = sqlite3_column_double(s, 4);
  soft->self_contact = sqlite3_column_int(s, 5);
  return true;
}

static bool read_attachment(Run *run, sqlite3_stmt *s, RunScene *scene) {
  int64_t id = sqlite3_column_int64(s, 0), vertex = sqlite3_column_int64(s, 1), to = sqlite3_column_int64(s, 2);
  RunBody *body = id >= 1 && (size_t)id <= scene->body_count ? &scene->body[id - 1] : NULL;
  if (!body || !body->soft || vertex < 0 || (size_t)vertex >= scene->mesh[body->mesh].vertex_count || to < 0 ||
      (size_t)to > scene->body_count)
    return run_fail(run, RUN_BAD_FILE, "%s: an attachment fixes vertex %lld of body %lld to body %lld of %zu",
                    run->path, (long long)vertex, (long long)id, (long long)to, scene->body_count);
  body->soft->attached[vertex] = to;
  return true;
}

static bool read_rows(Run *run, const char *sql, RunScene *scene, bool (*read)(Run *, sqlite3_stmt *, RunScene *)) {
  sqlite3_stmt *s = run_prepare(run, sql);
  bool good = s != NULL;
  int code = SQLITE_DONE;
  while (good && (code = sqlite3_step(s)) == SQLITE_ROW) good = read(run, s, scene);
  if (good && code != SQLITE_DONE) good = run_fail_sqlite(run, "read the soft bodies");
  sqlite3_finalize(s);
  return good;
}

bool run_read_soft_defs(Run *run, RunScene *scene) {
  bool any = false;
  for (size_t b = 0; b < scene->body_count; b++) {
    RunSoft *soft = scene->body[b].soft;
    if (!soft) continue;
    RunMesh *mesh = &scene->mesh[scene->body[b].mesh];
    size_t count = mesh->vertex_count;
    if (mesh->soft)
      return run_fail(run, RUN_BAD_FILE, "%s: soft body '%s' shares mesh '%s' with another, expected one of its own",
                      run->path, scene->body[b].name, mesh->name);
    mesh->soft = true;
    soft->attached = malloc((count + 1) * sizeof *soft->attached);
    if (!soft->attached) return run_fail(run, RUN_DISK, "%s: out of memory", run->path);
    for (size_t v = 0; v < count; v++) soft->attached[v] = -1;
    any = true;
  }
  if (!any) return true;
  return read_rows(run, "SELECT body, model, young, poisson, thickness, self_contact FROM soft ORDER BY body", scene,
                   read_soft) &&
         read_rows(run, "SELECT body, vertex, to_body FROM attachment ORDER BY body, vertex", scene, read_attachment);
}
