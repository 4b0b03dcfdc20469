/* Soft bodies of abd's own format: their shapes and their material (own.h). Tests: tests/test_scene_soft.c. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scene/own.h"
#include "scene/setting.h"
#include "scene/soft_shape.h"

/* Every parameter a soft shape can have. */
typedef struct SoftShape {
  double size[3], radius, height;
  int cells[3];
} SoftShape;

typedef struct SoftKind {
  const char *name, *key[4]; /* its parameters */
  size_t size_count, cell_count;
  int cells; /* the default */
  double (*elements)(const SoftShape *shape);
  bool (*make)(const SoftShape *shape, TetMesh *out);
} SoftKind;

static double box_elements(const SoftShape *s) { return 6.0 * s->cells[0] * s->cells[1] * s->cells[2]; }
static double beam_elements(const SoftShape *s) {
  double least = fmin(s->size[0], fmin(s->size[1], s->size[2])), count = 6;
  for (int k = 0; k < 3; k++) count *= fmax(1, round(s->cells[0] * s->size[k] / least));
  return count;
}
static double sphere_elements(const SoftShape *s) { return 20 * pow(s->cells[0], 3); }
static double cylinder_elements(const SoftShape *s) { return 18.0 * s->cells[0] * s->cells[0] * s->cells[1]; }
static double sheet_elements(const SoftShape *s) { return 2.0 * s->cells[0] * s->cells[1]; }

static double rod_elements(const SoftShape *s) { return s->cells[0]; }

static bool make_box(const SoftShape *s, TetMesh *out) { return soft_shape_box(s->size, s->cells, out); }
static bool make_beam(const SoftShape *s, TetMesh *out) { return soft_shape_beam(s->size, s->cells[0], out); }
static bool make_sphere(const SoftShape *s, TetMesh *out) { return soft_shape_sphere(s->radius, s->cells[0], out); }
static bool make_cylinder(const SoftShape *s, TetMesh *out) {
  return soft_shape_cylinder(s->radius, s->height, s->cells[0], s->cells[1], out);
}
static bool make_sheet(const SoftShape *s, TetMesh *out) { return soft_shape_sheet(s->size, s->cells, out); }

static bool make_rod(const SoftShape *s, TetMesh *out) { return soft_shape_rod(s->height, s->cells[0], out); }

static const SoftKind kinds[] = {
    {"box", {"size", "cells"}, 3, 3, 4, box_elements, make_box},
    {"beam", {"size", "cells"}, 3, 1, 2, beam_elements, make_beam},
    {"sphere", {"radius", "cells"}, 0, 1, 4, sphere_elements, make_sphere},
    {"cylinder", {"radius", "height", "cells"}, 0, 2, 4, cylinder_elements, make_cylinder},
    {"sheet", {"size", "cells"}, 2, 2, 10, sheet_elements, make_sheet},
    {"rod", {"height", "cells"}, 0, 1, 20, rod_elements, make_rod},
};
enum { KIND_COUNT = sizeof kinds / sizeof *kinds };

static int add_shape(Loader *loader, const Node *at, const SoftKind *kind, const SoftShape *s) {
  char key[400];
  TetMesh mesh;
  snprintf(key, sizeof key, "soft %s|%a %a %a|%a %a|%d %d %d", kind->name, s->size[0], s->size[1], s->size[2],
           s->radius, s->height, s->cells[0], s->cells[1], s->cells[2]);
  int index = scene_find_mesh(loader->scene, key);
  if (index >= 0) return index;
  double elements = kind->elements(s);
  if (!(elements <= SCENE_SHAPE_VERTEX_LIMIT))
    return node_fail(at, "a %s of %.3g elements, expected at most %d: use fewer cells", kind->name, elements,
                     SCENE_SHAPE_VERTEX_LIMIT) -
           1;
  if (!own_check_shape_room(loader)) return -1;
  if (kind->make(s, &mesh)) index = scene_add_tets(loader->scene, key, kind->name, &mesh);
  return index < 0 ? loader_out_of_memory(loader) - 1 : index;
}

static int read_shape(OwnFile *file, const Node *object) {
  const char *names[KIND_COUNT + 1] = {0}, *allowed[6] = {"shape"};
  int choice = 0;
  for (int i = 0; i < KIND_COUNT; i++) names[i] = kinds[i].name;
  if (!read_choice(object, "shape", names, &choice)) return -1;
  const SoftKind *kind = &kinds[choice];
  SoftShape shape = {.size = {1, 1, 1}, .radius = 0.5, .height = 1, .cells = {kind->cells, kind->cells, kind->cells}};
  for (int i = 0; i < 4; i++) allowed[1 + i] = kind->key[i];
  bool ok = own_check_geometry_keys(object, kind->name, allowed) &&
            (!kind->size_count || own_read_sizes(object, "size", kind->size_count, shape.size)) &&
            read_number(object, "radius", NUMBER_POSITIVE, &shape.radius) &&
            read_number(object, "height", NUMBER_POSITIVE, &shape.height) &&
            own_read_cells(object, shape.cells, kind->cell_count);
  return ok ? add_shape(file->loader, object, kind, &shape) : -1;
}

int own_read_soft_geometry(OwnFile *file, const Node *object) {
  Node child;
  if (node_get(object, "thickness", &child)) return node_fail(&child, "a soft body has its thickness in \"soft\"") - 1;
  if (node_get(object, "shape", &child)) return read_shape(file, object);
  int mesh = own_read_geometry(file, object, "mesh");
  if (mesh < 0) return -1;
  const SceneMesh *m = &file->loader->scene->mesh[mesh];
  if (m->half_space) return node_fail(object, "a half-space cannot be soft") - 1;
  if (!m->tet_count && !m->data.triangle_count && !m->data.edge_count)
    return node_fail(object, "mesh \"%.100s\" has neither tets nor triangles nor edges: nothing of it can be soft",
                     m->name) -
           1;
  return mesh;
}

/* Keys that a soft body does not have, and their replacements. */
static bool check_keys(const Node *object) {
  static const char *const none[][2] = {{"motion", "fix its vertices with \"attach\""},
                                        {"fixed", "fix its vertices with \"attach\""},
                                        {"path", "move its vertices with \"scripted\""},
                                        {"motion_end", "move its vertices with \"scripted\""},
                                        {"torque", "turn it by \"vertex_forces\" or \"scripted\" vertices"},
                                        {"stiffness", "\"soft\" has \"young\""},
                                        {"elasticity", "\"soft\" has \"model\""},
                                        {"rolling_friction", "points of a soft surface have no rotation"},
                                        {"torsional_friction", "points of a soft surface have no rotation"},
                                        {"sensor", "only a stiff body can be one"},
                                        {"angular_drag", "the drag of its vertices slows its turning too"},
                                        {"surface_velocity", "only stiff bodies have belts"},
                                        {"surface_angular_velocity", "only stiff bodies have belts"}};
  Node child;
  for (size_t k = 0; k < sizeof none / sizeof *none; k++)
    if (node_get(object, none[k][0], &child)) return node_fail(&child, "a soft body has no such key: %s", none[k][1]);
  return true;
}

bool own_read_soft(OwnFile *file, const Node *object, SceneBody *body) {
  KeyList keys = {0};
  Node soft, child;
  if (!node_get(object, "soft", &soft)) {
    if (node_get(object, "attach", &child))
      return node_fail(&child, "only a soft body is attached; stiff ones are joined in \"joints\"");
    if (node_get(object, "scripted", &child) || node_get(object, "vertex_forces", &child))
      return node_fail(&child,
                       "only a soft body has vertices that move by themselves; a stiff one has \"path\" and \"force\"");
    return true;
  }
  body->soft = calloc(1, sizeof *body->soft);
  if (!body->soft) return loader_out_of_memory(file->loader);
  AbdSoftDef *def = &body->soft->def;
  *def = abd_default_soft_def();
  settings_add_keys(&keys, ABD_DEF_SOFT);
  bool ok = node_check_keys(&soft, keys.name) && check_keys(object) && settings_read(&soft, ABD_DEF_SOFT, def);
  bool solid = file->loader->scene->mesh[body->mesh].tet_count > 0;
  if (ok && solid && (node_get(&soft, "thickness", &child) || node_get(&soft, "bending", &child)))
    return node_fail(&child, "only shells and rods have it; this body is a solid of tets");
  return ok;
}
