/* Choices of vertices of soft bodies in abd's own format: by box, sphere, distance or number (own.h). They are
 * evaluated at load, so a scene stores only vertex numbers. Tests: tests/test_scene_soft.c. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scene/own.h"
#include "scene/surface_distance.h"

typedef enum ChoiceKind { CHOICE_BOX, CHOICE_SPHERE, CHOICE_NEAREST, CHOICE_VERTICES, CHOICE_COUNT } ChoiceKind;
static const char *const choice_key[] = {"box", "sphere", "nearest", "vertices", NULL};

/* One entry of a list of choices. */
typedef struct Choice {
  ChoiceKind kind;
  Node node; /* of its key */
  double box[2][3], center[3], radius, distance;
  bool body_frame; /* box and sphere in the coordinates of the body's mesh */
  uint32_t to;     /* body of the scene, or SCENE_WORLD */
  double shift[3]; /* of this copy of the body */
} Choice;

static bool read_box(const Node *node, Choice *c) {
  if (!json_is_array(node->value) || node_size(node) != 2)
    return node_expected(node, "a list of 2 corners [[x, y, z], [x, y, z]]");
  for (size_t k = 0; k < 2; k++) {
    Node corner = node_item(node, k);
    if (!node_vector(&corner, c->box[k], 3)) return false;
  }
  for (int k = 0; k < 3; k++)
    if (c->box[0][k] > c->box[1][k])
      return node_fail(node, "the first corner is above the second along %c: %g and %g", "xyz"[k], c -> box[0][k],
                       c -> box[1][k]);
  return true;
}

static bool read_sphere(const Node *node, Choice *c) {
  static const char *const known[] = {"center", "radius", NULL};
  c->radius = -1;
  if (!node_check_keys(node, known) || !read_vector(node, "center", c->center, 3) ||
      !read_number(node, "radius", NUMBER_NOT_NEGATIVE, &c->radius))
    return false;
  return c->radius >= 0 || node_fail(node, "expected \"center\" and \"radius\"");
}

static bool read_target(OwnFile *file, const Node *entry, Choice *c) {
  Node node;
  size_t body;
  c->to = SCENE_WORLD;
  if (!node_get(entry, "body", &node) || json_is_null(node.value)) return true;
  if (!own_find_body(file, &node, &body)) return false;
  if (file->loader->scene->body[body].soft)
    return node_fail(&node, "is soft too: a soft body is attached to stiff ones");
  c->to = (uint32_t)body;
  return true;
}

static bool read_choice_of(OwnFile *file, const Node *entry, Choice *c) {
  static const char *const frames[] = {"world", "body", NULL};
  int frame = 0, count = 0;
  *c = (Choice){0};
  if (!read_target(file, entry, c) || !read_choice(entry, "frame", frames, &frame)) return false;
  c->body_frame = frame == 1;
  for (int k = 0; k < CHOICE_COUNT; k++) {
    Node node;
    if (!node_get(entry, choice_key[k], &node)) continue;
    c->kind = (ChoiceKind)k, c->node = node, count++;
  }
  if (count != 1)
    return node_fail(entry, "expected one of \"box\", \"sphere\", \"nearest\" and \"vertices\", got %d", count);
  if (c->kind == CHOICE_BOX) return read_box(&c->node, c);
  if (c->kind == CHOICE_SPHERE) return read_sphere(&c->node, c);
  if (c->kind == CHOICE_VERTICES) return node_is_array(&c->node);
  if (c->to == SCENE_WORLD) return node_fail(&c->node, "\"nearest\" needs a \"body\" to be near to");
  return node_number(&c->node, NUMBER_NOT_NEGATIVE, &c->distance);
}

/* x: the vertex in the mesh, at: in the world. */
static bool chosen(const Choice *c, const SurfaceIndex *surface, const double x[3], const double at[3]) {
  const double *p = c->body_frame ? x : at;
  double from = 0;
  bool inside = true;
  if (c->kind == CHOICE_NEAREST) return surface_index_near(surface, at);
  for (int k = 0; k < 3; k++) {
    double shift = c->body_frame ? 0 : c->shift[k], d = p[k] - shift - c->center[k];
    inside &= p[k] - shift >= c->box[0][k] && p[k] - shift <= c->box[1][k];
    from += d * d;
  }
  return c->kind == CHOICE_BOX ? inside : from <= c->radius * c->radius;
}

static bool add(OwnFile *file, VertexList *list, uint32_t vertex) {
  uint32_t *slot = array_add(&list->vertex, &list->count, sizeof *slot);
  if (!slot) return loader_out_of_memory(file->loader);
  *slot = vertex;
  return true;
}

/* Each number once. */
static bool add_listed(OwnFile *file, const Choice *c, size_t vertex_count, VertexList *list) {
  bool *taken = calloc(vertex_count + 1, sizeof *taken), ok = taken || loader_out_of_memory(file->loader);
  for (size_t i = 0; ok && i < node_size(&c->node); i++) {
    Node item = node_item(&c->node, i);
    int64_t vertex;
    ok = node_integer(&item, 0, (int64_t)vertex_count - 1, &vertex);
    if (!ok || taken[vertex]) continue;
    taken[vertex] = true;
    ok = add(file, list, (uint32_t)vertex);
  }
  free(taken);
  return ok;
}

static bool fail_empty(const Choice *c, const char *name, const double lo[3], const double hi[3]) {
  return node_fail(
      &c->node, "no vertex of \"%.100s\" is there; in the world they lie from (%.4g, %.4g, %.4g) to (%.4g, %.4g, %.4g)",
      name, lo[0], lo[1], lo[2], hi[0], hi[1], hi[2]);
}

static bool add_chosen(OwnFile *file, const Choice *c, size_t index, VertexList *list) {
  const Scene *scene = file->loader->scene;
  const SceneBody *body = &scene->body[index];
  const MeshData *data = &scene->mesh[body->mesh].data;
  double lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY};
  bool ok = true;
  SurfaceIndex surface = {0};
  if (c->kind == CHOICE_VERTICES) return add_listed(file, c, data->vertex_count, list);
  if (c->kind == CHOICE_NEAREST && !surface_index_create(&surface, scene, c->to, c->distance))
    return loader_out_of_memory(file->loader);
  for (uint32_t v = 0; ok && v < data->vertex_count; v++) {
    double at[3];
    scene_vertex_to_world(body, data->vertex + 3 * (size_t)v, at);
    for (int k = 0; k < 3; k++) lo[k] = fmin(lo[k], at[k]), hi[k] = fmax(hi[k], at[k]);
    if (chosen(c, &surface, data->vertex + 3 * (size_t)v, at)) ok = add(file, list, v);
  }
  surface_index_destroy(&surface);
  return ok && (list->count || fail_empty(c, body->name, lo, hi));
}

bool own_choose_vertices(OwnFile *file, const Node *entry, size_t body, const double shift[3], VertexList *list,
                         uint32_t *to) {
  Choice choice;
  *list = (VertexList){0};
  if (!read_choice_of(file, entry, &choice)) return false;
  choice.node.parent = entry;
  memcpy(choice.shift, shift, sizeof choice.shift);
  if (to) *to = choice.to;
  return add_chosen(file, &choice, body, list);
}

/* Each copy chooses its own vertices; boxes and spheres move with the copies. */
bool own_each_list(OwnFile *file, const char *key,
                   bool (*read)(OwnFile *, const Node *list, size_t body, const double shift[3])) {
  Node list;
  if (!node_get(file->top, "bodies", &list)) return true;
  for (size_t i = 0, index = file->first_body; i < node_size(&list); i++) {
    Node body = node_item(&list, i), copies, entries;
    int64_t count = 1;
    double offset[3] = {0};
    bool has_copies = node_get(&body, "copies", &copies);
    if (has_copies &&
        (!read_integer(&copies, "count", 1, 100000, &count) || !read_vector(&copies, "offset", offset, 3)))
      return false;
    bool there = node_get(&body, key, &entries);
    if (there && !node_is_array(&entries)) return false;
    for (int64_t c = 0; c < count; c++, index++) {
      double shift[3] = {(double)c * offset[0], (double)c * offset[1], (double)c * offset[2]};
      if (there && !read(file, &entries, index, shift)) return false;
    }
  }
  return true;
}
