/* Contacts and crossings. */
#include "api/world.h"
#include "contact/broad.h"
#include "contact/soft_side.h"
#include "geom/crossing.h"

#include <string.h>

/* The backend writes index + 1 instead of ids. */
size_t world_present_contacts(const AbdWorld *world, AbdContact *contact, size_t capacity) {
  size_t count = world->backend.stages->contacts(world->backend.self, contact, capacity);
  for (size_t k = 0; k < count && k < capacity; k++) {
    contact[k].body_a = world_body_id(world, (int)contact[k].body_a.id - 1);
    contact[k].body_b = world_body_id(world, (int)contact[k].body_b.id - 1);
  }
  return count;
}

size_t abd_world_contacts(const AbdWorld *world, AbdContact *contact, size_t capacity) {
  const Kept *kept = &world->kept;
  const Mean *mean = &world->mean;
  if (world->contacts_known && !mean->split) return world_present_contacts(world, contact, capacity);
  size_t count = world->contacts_known ? (size_t)mean->contact_count : kept->contact_count;
  size_t n = count < capacity ? count : capacity;
  if (n) memcpy(contact, world->contacts_known ? mean->contact : kept->contact, n * sizeof *contact);
  return count;
}

static uint32_t element_triangle(const Mesh *m, int element) {
  return element >= 0 && m->element[element].triangle >= 0 ? (uint32_t)m->element[element].triangle : UINT32_MAX;
}

/* Surfaces of all soft bodies for a query. NULL if memory runs out. */
static Surface *surfaces_create(const Model *m) { return mem_zeroed((size_t)m->soft_count, sizeof(Surface)); }

static void surfaces_destroy(const Model *m, Surface *surface) {
  for (int k = 0; surface && k < m->soft_count; k++) surface_destroy(&surface[k]);
  mem_free(surface);
}

/* Returns a body's side and pose at the given numbers. A soft body's surface is made on first use and moved to them.
 * False if memory runs out. */
static bool take_nodes(const Model *m, Surface *surface, const Body *b, const double *nodes, Side *side, Affine *q) {
  if (!b->soft) {
    *side = side_stiff(&m->mesh[b->mesh]);
    memcpy(q, nodes, sizeof *q);
    return true;
  }
  Surface *own = &surface[b->soft - 1];
  if (!own->mesh && !soft_side_init(own, m, b->soft - 1)) return false;
  soft_side_put(own, &m->soft[b->soft - 1], nodes);
  *side = side_soft(own);
  *q = affine(vec3(0, 0, 0), mat3_identity());
  return true;
}

static size_t nodes_size(const AbdWorld *world, const Body *b) {
  return b->soft ? 3 * (size_t)world->model.soft[b->soft - 1].vertex_count : 12;
}

/* x, y: indices of the bodies a, b. */
static bool sides_cross(const AbdWorld *world, const Side side[2], const Affine q[2], int x, int y,
                        AbdCrossing *crossing) {
  Crossing c;
  if (x == y) {
    int element[1][2];
    if (side_find_self_crossings(side[0], element, 1) == 0) return false;
    c = (Crossing){
        .element_a = element[0][0], .element_b = element[0][1], .point = side_crossing_point(side[0], element[0])};
  } else if (!body_find_crossing(side[0], &q[0], x, side[1], &q[1], y, &c)) {
    return false;
  }
  if (crossing) {
    crossing->body_a = world_body_id(world, x);
    crossing->body_b = world_body_id(world, y);
    crossing->triangle_a = element_triangle(side[0].mesh, c.element_a);
    crossing->triangle_b = element_triangle(side[1].mesh, c.element_b);
    vec3_to(crossing->point, c.point);
  }
  return true;
}

bool abd_world_find_crossing(const AbdWorld *world, AbdBodyId a, const double *nodes_a, AbdBodyId b,
                             const double *nodes_b, AbdCrossing *crossing) {
  const Model *m = &world->model;
  const Body *x = world_body(world, a), *y = world_body(world, b);
  Side side[2];
  Affine q[2];
  if (!x || !y) return false;
  Surface *surface = surfaces_create(m);
  bool known = surface && take_nodes(m, surface, x, nodes_a, &side[0], &q[0]) &&
               take_nodes(m, surface, y, nodes_b, &side[1], &q[1]);
  bool found = !known || sides_cross(world, side, q, world_index(world, x), world_index(world, y), crossing);
  if (!known && crossing) *crossing = (AbdCrossing){.triangle_a = UINT32_MAX, .triangle_b = UINT32_MAX};
  surfaces_destroy(m, surface);
  return found;
}

/* The offset of each body's numbers: 12 for a stiff body, 3 for each vertex of a soft one. NULL if memory is out. */
static size_t *node_offsets(const AbdWorld *world) {
  const Model *m = &world->model;
  size_t *at = mem_alloc((size_t)m->body_count, sizeof *at), sum = 0;
  for (int i = 0; at && i < m->body_count; i++) {
    at[i] = sum;
    sum += nodes_size(world, &m->body[i]);
  }
  return at;
}

size_t abd_world_find_crossings(const AbdWorld *world, const double *nodes, AbdCrossing *crossing, size_t capacity) {
  return world_find_crossings(world, nodes, crossing, capacity, NULL);
}

size_t world_find_crossings(const AbdWorld *world, const double *nodes, AbdCrossing *crossing, size_t capacity,
                            Interrupt *interrupt) {
  const Model *m = &world->model;
  size_t count = SIZE_MAX, *at = node_offsets(world), n = (size_t)m->body_count;
  Surface *surface = surfaces_create(m);
  Side *side = mem_alloc(n, sizeof *side);
  Affine *q = mem_alloc(n, sizeof *q);
  Broad broad;
  if (!broad_init(&broad, m) || !at || !surface || !side || !q) goto done;
  for (int i = 0; i < m->body_count; i++) {
    broad.box[i] = box_empty(); /* a body that is not there has NaN */
    if (isnan(nodes[at[i]])) continue;
    if (!take_nodes(m, surface, &m->body[i], nodes + at[i], &side[i], &q[i])) goto done;
    Box box = posed_box(&side[i], &q[i]);
    broad.box[i] = box_inflate(box, 1e-9 * norm(sub(box.hi, box.lo)));
  }
  if (!broad_find(&broad, m)) goto done;
  count = 0;
  for (int k = 0; k < broad.pair_count && !interrupted(interrupt); k++) {
    uint32_t a = (uint32_t)(broad.pair[k] >> 32), b = (uint32_t)broad.pair[k];
    Side own[2] = {side[a], side[b]};
    Affine pose[2] = {q[a], q[b]};
    AbdCrossing c;
    if (!sides_cross(world, own, pose, (int)a, (int)b, &c)) continue;
    if (count < capacity) crossing[count] = c;
    count++;
  }
done:
  surfaces_destroy(m, surface);
  mem_free(side);
  mem_free(q);
  mem_free(at);
  broad_destroy(&broad);
  return count;
}
