/* A scene from mesh files alone (mesh_scene.h). Parts keep the coordinates of their files, as an assembly exported
 * from CAD needs; a part that crosses an earlier one is put on top of the pile instead. The ground is half a per cent
 * below the lowest point, gravity is along -z, friction is 0.3. Tests: tests/test_scene.c. */
#include "scene/mesh_scene.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

static bool add_part(Scene *scene, const char *path, double scale, SceneError *error) {
  MeshData data;
  const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
  int mesh = scene_find_mesh(scene, path);
  if (mesh < 0) {
    if (!mesh_load(path, &data, error)) return false;
    scene_note_mesh(scene, path, &data);
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

static bool add_ground(Scene *scene, const Box *box, size_t count, double gap, SceneError *error) {
  const double up[3] = {0, 0, 1};
  Box all = box[0];
  MeshData data;
  for (size_t i = 1; i < count; i++) {
    for (int k = 0; k < 3; k++)
      all.low[k] = fmin(all.low[k], box[i].low[k]), all.high[k] = fmax(all.high[k], box[i].high[k]);
  }
  int mesh = shape_half_space(up, 4 * diagonal(&all), &data) ? scene_add_mesh(scene, "ground", "ground", &data) : -1;
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
  double gap = 0.005 * smallest;
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
