/* A scene from mesh files alone (mesh_scene.h). Parts keep the coordinates of their files, as an assembly exported
 * from CAD needs; a part that crosses an earlier one is put on top of the pile instead. The ground is half a per cent
 * below the lowest point, gravity is along -z, friction is 0.3. Tests: tests/test_scene.c. */
#include "scene/mesh_scene.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scene/disjoint.h"
#include "scene/json_node.h"
#include "scene/shape.h"

typedef struct Box {
  double low[3], high[3];
} Box;

static Box box_of(const MeshData *mesh) {
  Box box = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};
  for (size_t i = 0; i < 3 * mesh->vertex_count; i++) {
    box.low[i % 3] = fmin(box.low[i % 3], mesh->vertex[i]);
    box.high[i % 3] = fmax(box.high[i % 3], mesh->vertex[i]);
  }
  return box;
}

static bool boxes_meet(const Box *a, const Box *b) {
  for (int k = 0; k < 3; k++) {
    if (a->low[k] > b->high[k] || b->low[k] > a->high[k]) return false;
  }
  return true;
}

static double diagonal(const Box *box) {
  double x = box->high[0] - box->low[0], y = box->high[1] - box->low[1], z = box->high[2] - box->low[2];
  return sqrt(x * x + y * y + z * z);
}

/* ---- Pieces ---- */

enum { PIECE_LIMIT = 1000 }; /* boxes are compared in pairs */

/* The boxes of the connected pieces of the triangles; their number, or 0 if there are too many or memory is out. */
static size_t find_pieces(const MeshData *mesh, Box *piece) {
  size_t count = 0;
  uint32_t *parent = malloc((mesh->vertex_count + 1) * sizeof *parent), *number = calloc(mesh->vertex_count + 1, 4);
  bool ok = parent && number;
  for (size_t v = 0; ok && v < mesh->vertex_count; v++) parent[v] = (uint32_t)v;
  for (size_t t = 0; ok && t < mesh->triangle_count; t++)
    for (int k = 1; k < 3; k++) disjoint_join(parent, mesh->triangle[3 * t], mesh->triangle[3 * t + k]);
  for (size_t k = 0; ok && k < 3 * mesh->triangle_count; k++) {
    uint32_t v = mesh->triangle[k], root = disjoint_root(parent, v);
    const double *x = mesh->vertex + 3 * (size_t)v;
    if (!number[root] && (ok = count < PIECE_LIMIT)) {
      piece[count] = (Box){{x[0], x[1], x[2]}, {x[0], x[1], x[2]}};
      number[root] = (uint32_t)++count;
    }
    for (int c = 0; ok && c < 3; c++) {
      Box *box = &piece[number[root] - 1];
      box->low[c] = fmin(box->low[c], x[c]), box->high[c] = fmax(box->high[c], x[c]);
    }
  }
  free(parent), free(number);
  return ok ? count : 0;
}

/* Groups of pieces whose boxes do not meet: the parts of an assembly in one file, not the shells of a hollow part. */
static size_t count_separate(const MeshData *mesh) {
  Box *piece = malloc(PIECE_LIMIT * sizeof *piece);
  uint32_t parent[PIECE_LIMIT];
  size_t count = piece ? find_pieces(mesh, piece) : 0, groups = 0;
  for (size_t i = 0; i < count; i++) parent[i] = (uint32_t)i;
  for (size_t i = 0; i < count; i++)
    for (size_t j = 0; j < i; j++)
      if (boxes_meet(&piece[i], &piece[j])) disjoint_join(parent, (uint32_t)i, (uint32_t)j);
  for (size_t i = 0; i < count; i++) groups += parent[i] == i;
  free(piece);
  return groups;
}

static void note_pieces(Scene *scene, const char *path, const MeshData *mesh) {
  size_t count = count_separate(mesh);
  if (count > 1)
    scene_add_note(scene,
                   "%.300s has %zu separate pieces, which move as one body; a file for each makes them %zu bodies",
                   path, count, count);
}

static bool add_part(Scene *scene, const char *path, double scale, SceneError *error) {
  MeshData data;
  const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
  int mesh = scene_find_mesh(scene, path);
  if (mesh < 0) {
    if (!mesh_load(path, &data, error)) return false;
    scene_note_mesh(scene, path, &data);
    note_pieces(scene, path, &data);
    for (size_t i = 0; i < 3 * data.vertex_count; i++) data.vertex[i] *= scale;
    mesh = scene_add_mesh(scene, path, base, &data);
  }
  return (mesh >= 0 && scene_add_body(scene, base, mesh)) ||
         scene_fail(error, "out of memory while loading %.500s", path);
}

/* Finds the bodies that cross an earlier one at their own places. Queries the library only for pairs whose boxes
 * meet. */
static bool find_crossing_parts(const Scene *scene, bool *crosses, SceneError *error) {
  AbdWorld *world = scene_build(scene, 1, error);
  if (!world) return false;
  bool ok = true;
  for (size_t j = 1; ok && j < scene->body_count; j++) {
    Box box_j = box_of(&scene->mesh[scene->body[j].mesh].data);
    for (size_t i = 0; ok && i < j && !crosses[j]; i++) {
      Box box_i = box_of(&scene->mesh[scene->body[i].mesh].data);
      AbdBodyId a = {(uint32_t)i + 1}, b = {(uint32_t)j + 1};
      double nodes_a[12], nodes_b[12];
      AbdCrossing crossing;
      if (crosses[i] || !boxes_meet(&box_i, &box_j)) continue;
      ok = abd_body_nodes(world, a, nodes_a) == ABD_OK && abd_body_nodes(world, b, nodes_b) == ABD_OK;
      crosses[j] = ok && abd_world_find_crossing(world, a, nodes_a, b, nodes_b, &crossing);
    }
  }
  if (!ok) scene_fail(error, "%.500s", abd_world_error(world));
  abd_world_destroy(world);
  return ok;
}

static bool any_boxes_meet(const Box *box, size_t count) {
  for (size_t j = 1; j < count; j++) {
    for (size_t i = 0; i < j; i++) {
      if (boxes_meet(&box[i], &box[j])) return true;
    }
  }
  return false;
}

static void stack_crossing_parts(Scene *scene, const Box *box, const bool *crosses, double gap) {
  double top = -INFINITY;
  for (size_t i = 0; i < scene->body_count; i++) {
    if (!crosses[i]) top = fmax(top, box[i].high[2]);
  }
  for (size_t i = 0; i < scene->body_count; i++) {
    if (!crosses[i]) continue;
    scene->body[i].def.position[2] = top + gap - box[i].low[2];
    top += gap + box[i].high[2] - box[i].low[2];
    scene_add_note(scene, "%s crosses another part at the place of its file: moved up by %g m", scene->body[i].name,
                   scene->body[i].def.position[2]);
  }
}

/* A length for parts that are single points. */
static double or_metre(double length) { return length > 0 ? length : 1; }

static bool add_ground(Scene *scene, const Box *box, size_t count, double gap, SceneError *error) {
  const double up[3] = {0, 0, 1};
  Box all = box[0];
  MeshData data;
  for (size_t i = 1; i < count; i++) {
    for (int k = 0; k < 3; k++)
      all.low[k] = fmin(all.low[k], box[i].low[k]), all.high[k] = fmax(all.high[k], box[i].high[k]);
  }
  int mesh =
      shape_half_space(up, 4 * or_metre(diagonal(&all)), &data) ? scene_add_mesh(scene, "ground", "ground", &data) : -1;
  SceneBody *body = mesh >= 0 ? scene_add_body(scene, "ground", mesh) : NULL;
  if (!body) return scene_fail(error, "out of memory while adding the ground");
  scene->mesh[mesh].half_space = true;
  body->def.motion = ABD_MOTION_STATIC;
  for (int k = 0; k < 2; k++) body->def.position[k] = (all.low[k] + all.high[k]) / 2;
  body->def.position[2] = all.low[2] - gap;
  return true;
}

/* CAD programs usually write millimetres, and the formats store no unit. */
static void note_units(Scene *scene, double largest) {
  const double suspicious = 20;
  if (largest > suspicious)
    scene_add_note(scene, "the largest part is %.3g m across: if its file is in millimetres, add --scale 0.001",
                   largest);
}

static bool arrange(Scene *scene, Box *box, bool *crosses, double scale, SceneError *error) {
  double smallest = INFINITY, largest = 0;
  size_t count = scene->body_count;
  for (size_t i = 0; i < count; i++) {
    box[i] = box_of(&scene->mesh[scene->body[i].mesh].data);
    smallest = fmin(smallest, diagonal(&box[i]));
    largest = fmax(largest, diagonal(&box[i]));
  }
  if (scale == 0) note_units(scene, largest);
  double gap = 0.005 * or_metre(smallest);
  if (any_boxes_meet(box, count) && !find_crossing_parts(scene, crosses, error)) return false;
  stack_crossing_parts(scene, box, crosses, gap);
  return add_ground(scene, box, count, gap, error);
}

bool mesh_scene_fill(Scene *scene, const char *const *path, int path_count, double scale, SceneError *error) {
  scene->world.contact.friction = 0.3;
  for (int i = 0; i < path_count; i++) {
    if (!add_part(scene, path[i], scale > 0 ? scale : 1, error)) return false;
  }
  Box *box = calloc(scene->body_count, sizeof *box);
  bool *crosses = calloc(scene->body_count, sizeof *crosses);
  bool ok = box && crosses ? arrange(scene, box, crosses, scale, error)
                           : scene_fail(error, "out of memory while placing the meshes");
  free(box);
  free(crosses);
  return ok;
}
