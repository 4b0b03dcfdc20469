/* Storage of the resolved scene (scene_def.h). Tests: tests/test_scene.c. */
#include "scene/scene_def.h"
#include "scene/tet_mesh.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *array_add(void *array_pointer, size_t *count, size_t element_size) {
  void *array;
  memcpy(&array, array_pointer, sizeof array);
  if ((*count & (*count - 1)) == 0) {
    array = realloc(array, (*count ? 2 * *count : 1) * element_size);
    if (!array) return NULL;
    memcpy(array_pointer, &array, sizeof array);
  }
  return memset((char *)array + (*count)++ * element_size, 0, element_size);
}

Scene *scene_create(void) {
  Scene *scene = calloc(1, sizeof *scene);
  if (!scene) return NULL;
  scene->world = abd_default_world_def();
  scene->duration = 5;
  scene->steps = -1;
  return scene;
}

void scene_destroy(Scene *scene) {
  if (!scene) return;
  for (size_t i = 0; i < scene->mesh_count; i++) {
    free(scene->mesh[i].name);
    free(scene->mesh[i].key);
    mesh_data_free(&scene->mesh[i].data);
    free(scene->mesh[i].tet);
  }
  for (size_t i = 0; i < scene->body_count; i++) {
    free(scene->body[i].name);
    free(scene->body[i].path);
    free(scene->body[i].forces);
    scene_soft_free(scene->body[i].soft);
  }
  for (size_t i = 0; i < scene->joint_count; i++) {
    free(scene->joint[i].name);
    free(scene->joint[i].drive);
  }
  for (size_t i = 0; i < scene->note_count; i++) free(scene->note[i]);
  for (size_t i = 0; i < scene->material_count; i++) free(scene->material[i]);
  free(scene->material);
  free(scene->mesh);
  free(scene->body);
  free(scene->exclude);
  free(scene->pair_friction);
  free(scene->joint);
  free(scene->note);
  free(scene->name);
  free(scene->text);
  free(scene);
}

int scene_find_mesh(const Scene *scene, const char *key) {
  for (size_t i = scene->mesh_count; i-- > 0;) { /* the latest first: bodies with one mesh usually follow each other */
    if (strcmp(scene->mesh[i].key, key) == 0) return (int)i;
  }
  return -1;
}

int scene_add_mesh(Scene *scene, const char *key, const char *name, MeshData *data) {
  char *own_key = strdup(key), *own_name = strdup(name);
  SceneMesh *mesh = own_key && own_name ? array_add(&scene->mesh, &scene->mesh_count, sizeof *mesh) : NULL;
  if (!mesh) {
    free(own_key);
    free(own_name);
    mesh_data_free(data);
    return -1;
  }
  *mesh = (SceneMesh){.name = own_name, .key = own_key, .data = *data, .scale = {1, 1, 1}};
  *data = (MeshData){0};
  return (int)scene->mesh_count - 1;
}

/* A file's triangles are dropped if it has tets: the world extracts a solid's surface itself. */
int scene_add_tets(Scene *scene, const char *key, const char *name, TetMesh *mesh) {
  if (mesh->tet_count) free(mesh->mesh.triangle), mesh->mesh.triangle = NULL, mesh->mesh.triangle_count = 0;
  int index = scene_add_mesh(scene, key, name, &mesh->mesh);
  if (index >= 0) {
    scene->mesh[index].tet = mesh->tet, scene->mesh[index].tet_count = mesh->tet_count;
    mesh->tet = NULL, mesh->tet_count = 0;
  }
  tet_mesh_free(mesh);
  return index;
}

SceneBody *scene_add_body(Scene *scene, const char *name, int mesh) {
  char *own_name = strdup(name);
  SceneBody *body = own_name ? array_add(&scene->body, &scene->body_count, sizeof *body) : NULL;
  if (!body) {
    free(own_name);
    return NULL;
  }
  *body = (SceneBody){.name = own_name,
                      .mesh = mesh,
                      .def = abd_default_body_def(),
                      .motion_end = INFINITY,
                      .until = INFINITY,
                      .died = INT64_MAX};
  return body;
}

SceneJoint *scene_add_joint(Scene *scene, const char *name, AbdJointKind kind) {
  char *own_name = strdup(name);
  SceneJoint *joint = own_name ? array_add(&scene->joint, &scene->joint_count, sizeof *joint) : NULL;
  if (!joint) {
    free(own_name);
    return NULL;
  }
  *joint = (SceneJoint){.name = own_name, .def = abd_default_joint_def()};
  joint->def.kind = kind;
  return joint;
}

bool scene_add_note(Scene *scene, const char *format, ...) {
  char text[512];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  for (size_t i = 0; i < scene->note_count; i++) {
    if (strcmp(scene->note[i], text) == 0) return true;
  }
  char *own = strdup(text), **slot = own ? array_add(&scene->note, &scene->note_count, sizeof *slot) : NULL;
  if (!slot) {
    free(own);
    return false;
  }
  *slot = own;
  return true;
}

void scene_note_mesh(Scene *scene, const char *name, const MeshData *mesh) {
  const char *merged = mesh->welded_count == 1 ? "vertex with another" : "vertices with others";
  if (mesh->dropped_count)
    scene_add_note(scene, "%.300s: dropped %zu degenerate triangle%s", name, mesh->dropped_count,
                   mesh->dropped_count == 1 ? "" : "s");
  if (mesh->welded_count && mesh->weld_tolerance > 0)
    scene_add_note(scene, "%.300s: merged %zu %s at most %g apart", name, mesh->welded_count, merged,
                   mesh->weld_tolerance);
  else if (mesh->welded_count)
    scene_add_note(scene, "%.300s: merged %zu %s at the same place", name, mesh->welded_count, merged);
  if (mesh->unused_count)
    scene_add_note(scene,
                   "%.300s: left out %zu %s that no triangle and no edge uses; the first is at (%g, %g, %g); vertices "
                   "after it have smaller numbers",
                   name, mesh->unused_count, mesh->unused_count == 1 ? "vertex" : "vertices", mesh->unused[0],
                   mesh->unused[1], mesh->unused[2]);
}

double scene_dt(const Scene *scene) { return scene->world.dt; }

int64_t scene_steps_for(const Scene *scene, double seconds) {
  double steps = ceil(seconds / scene->world.dt - 1e-6); /* 0.3 / 0.1 is a little more than 3 */
  return steps < 0 ? 0 : steps > 1e15 ? (int64_t)1e15 : (int64_t)steps;
}

int64_t scene_steps(const Scene *scene) {
  return scene->steps >= 0 ? scene->steps : scene_steps_for(scene, scene->duration);
}

const char *scene_name(const Scene *scene) { return scene->name ? scene->name : "scene"; }
size_t scene_body_count(const Scene *scene) { return scene->body_count; }
int scene_note_count(const Scene *scene) { return (int)scene->note_count; }
const char *scene_note(const Scene *scene, int index) {
  return index >= 0 && (size_t)index < scene->note_count ? scene->note[index] : "";
}
