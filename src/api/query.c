/* Contacts and crossings. */
#include "api/world.h"
#include "contact/broad.h"
#include "geom/crossing.h"

#include <string.h>

size_t abd_world_contacts(const AbdWorld *world, AbdContact *contact, size_t capacity) {
  return world->contacts_known ? world->backend.stages->contacts(world->backend.self, contact, capacity) : 0;
}

static uint32_t element_triangle(const Mesh *m, int element) {
  return element >= 0 && m->element[element].triangle >= 0 ? (uint32_t)m->element[element].triangle : UINT32_MAX;
}

/* The pose that a body's numbers mean; those of a soft one move its surface. */
static Affine take_nodes(const AbdWorld *world, const Body *b, const double *nodes) {
  Affine q = affine(vec3(0, 0, 0), mat3_identity());
  if (!b->soft) {
    memcpy(&q, nodes, sizeof q);
    return q;
  }
  const Soft *s = &world->model.soft[b->soft - 1];
  Mesh *mesh = &world->model.mesh[b->mesh];
  for (int v = 0; v < mesh->vertex_count; v++) {
    mesh->vertex[v] = vec3_from(nodes + 3 * (size_t)s->surface_vertex[v]);
    mesh->bound[v] = s->attached[s->surface_vertex[v]]; /* known here also to a world that never starts */
  }
  mesh_refit(mesh);
  return q;
}

/* Surfaces of soft bodies back where they are: contacts read from them. */
static void put_back(const AbdWorld *world) {
  if (world->started) soft_load(world->backend.self, world->state.q);
}

static size_t nodes_size(const AbdWorld *world, const Body *b) {
  return b->soft ? 3 * (size_t)world->model.soft[b->soft - 1].vertex_count : 12;
}

static bool find_crossing(const AbdWorld *world, AbdBodyId a, const double *nodes_a, AbdBodyId b, const double *nodes_b,
                          AbdCrossing *crossing) {
  const Body *x = world_body(world, a), *y = world_body(world, b);
  Affine qa, qb;
  Crossing c;
  if (!x || !y) return false;
  qa = take_nodes(world, x, nodes_a);
  qb = take_nodes(world, y, nodes_b);
  const Mesh *ma = &world->model.mesh[x->mesh], *mb = &world->model.mesh[y->mesh];
  if (a.id == b.id) {
    int element[1][2];
    if (mesh_find_self_crossings(ma, element, 1) == 0) return false;
    c = (Crossing){.element_a = element[0][0],
                   .element_b = element[0][1],
                   .point = ma->vertex[ma->element[element[0][0]].vertex[0]]};
  } else if (!body_find_crossing(ma, &qa, (int)a.id - 1, mb, &qb, (int)b.id - 1, &c)) {
    return false;
  }
  if (crossing) {
    crossing->body_a = a;
    crossing->body_b = b;
    crossing->triangle_a = element_triangle(ma, c.element_a);
    crossing->triangle_b = element_triangle(mb, c.element_b);
    vec3_to(crossing->point, c.point);
  }
  return true;
}

bool abd_world_find_crossing(const AbdWorld *world, AbdBodyId a, const double *nodes_a, AbdBodyId b,
                             const double *nodes_b, AbdCrossing *crossing) {
  bool found = find_crossing(world, a, nodes_a, b, nodes_b, crossing);
  put_back(world);
  return found;
}

/* Where each body's numbers begin: 12 for a stiff body, 3 for each vertex of a soft one. NULL when memory is out. */
static size_t *node_offsets(const AbdWorld *world) {
  const Model *m = &world->model;
  size_t *at = mem_alloc((size_t)m->given_count, sizeof *at), sum = 0;
  for (int i = 0; at && i < m->given_count; i++) {
    at[i] = sum;
    sum += nodes_size(world, &m->body[i]);
  }
  return at;
}

size_t abd_world_find_crossings(const AbdWorld *world, const double *nodes, AbdCrossing *crossing, size_t capacity) {
  const Model *m = &world->model;
  size_t count = SIZE_MAX, *at = node_offsets(world);
  Broad broad;
  if (!broad_init(&broad, m) || !at) goto done;
  for (int i = 0; i < m->given_count; i++) {
    Affine q = take_nodes(world, &m->body[i], nodes + at[i]);
    Box box = body_box(m, i, &q);
    broad.box[i] = box_inflate(box, 1e-9 * norm(sub(box.hi, box.lo)));
  }
  if (!broad_find(&broad, m)) goto done;
  count = 0;
  for (int k = 0; k < broad.pair_count; k++) {
    uint32_t a = (uint32_t)(broad.pair[k] >> 32), b = (uint32_t)broad.pair[k];
    AbdCrossing c;
    if (!find_crossing(world, (AbdBodyId){a + 1}, nodes + at[a], (AbdBodyId){b + 1}, nodes + at[b], &c)) continue;
    if (count < capacity) crossing[count] = c;
    count++;
  }
done:
  put_back(world);
  mem_free(at);
  broad_destroy(&broad);
  return count;
}
