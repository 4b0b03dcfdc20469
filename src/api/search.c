/* The questions of abd/query.h. Tested in tests/test_query.c. */
#include "abd/query.h"

#include <stdlib.h>
#include <string.h>

#include "api/world.h"
#include "contact/broad.h"
#include "contact/soft_side.h"
#include "geom/crossing.h"
#include "geom/search.h"

/* ---- surfaces at the present poses ---- */

void searched_destroy(Searched *s) {
  for (int k = 0; k < s->count; k++) surface_destroy(&s->surface[k]);
  mem_free(s->surface);
  *s = (Searched){0};
}

/* Surfaces of the soft bodies, made when the model has others than at the last question. */
static bool need_surfaces(AbdWorld *world) {
  const Model *m = &world->model;
  Searched *s = &world->searched;
  bool same = s->count == m->soft_count;
  for (int k = 0; same && k < s->count; k++) same = s->surface[k].mesh == &m->mesh[m->body[m->soft[k].body].mesh];
  if (same) return true;
  searched_destroy(s);
  s->surface = mem_zeroed((size_t)m->soft_count, sizeof(Surface));
  for (int k = 0; s->surface && k < m->soft_count; k++) {
    if (!soft_side_init(&s->surface[k], m, k)) return searched_destroy(s), false;
    s->count = k + 1;
  }
  return s->surface != NULL;
}

/* Takes the poses q of all bodies. */
static AbdStatus take_poses(AbdWorld *world, Nodes q, AbdError *error) {
  if (!need_surfaces(world)) return fault(error, ABD_ERROR_MEMORY, "out of memory for the surfaces of soft bodies");
  for (int k = 0; k < world->model.soft_count; k++)
    soft_side_move(&world->searched.surface[k], &world->model.soft[k], q);
  world->searched.q = q.body;
  return ABD_OK;
}

static AbdStatus ready(const AbdWorld *world) {
  AbdWorld *own = (AbdWorld *)world; /* the surfaces are a cache */
  AbdError *error = world_fresh_error(own);
  if (!world->started) return fault(error, ABD_ERROR_STATE, "the world has not started: abd_world_start comes first");
  return take_poses(own, world->state.q, error);
}

static AbdStatus refuse(const AbdWorld *world, const char *sentence) {
  return fault(world_fresh_error((AbdWorld *)world), ABD_ERROR_ARGUMENT, "%s", sentence);
}

static Placed place(const AbdWorld *world, int body) {
  const Model *m = &world->model;
  const Body *b = &m->body[body];
  if (b->soft)
    return (Placed){side_soft(&world->searched.surface[b->soft - 1]), affine(vec3(0, 0, 0), mat3_identity())};
  return (Placed){side_stiff(&m->mesh[b->mesh]), world->searched.q[body]};
}

static bool admits(const AbdWorld *world, const AbdQueryFilter *filter, int body) {
  const Body *b = &world->model.body[body];
  return (!filter || filter->ignore.id != b->id) && (!b->sensor || (filter && filter->sensors));
}

static uint32_t triangle_of(const Placed *p, int element) {
  if (p->side.mesh->half_space) return 0;
  return element >= 0 && p->side.mesh->element[element].triangle >= 0
             ? (uint32_t)p->side.mesh->element[element].triangle
             : UINT32_MAX;
}

/* ---- distances ---- */

static AbdNearest none_near(void) {
  return (AbdNearest){.distance = INFINITY, .triangle_a = UINT32_MAX, .triangle_b = UINT32_MAX};
}

AbdStatus abd_world_distance(const AbdWorld *world, AbdBodyId a, AbdBodyId b, AbdNearest *nearest) {
  *nearest = none_near();
  if (ready(world)) return world->error.status;
  const Body *x = world_body(world, a), *y = world_body(world, b);
  if (!x || !y || x == y) return refuse(world, "the distance of two bodies needs two different bodies of the world");
  Placed p = place(world, world_index(world, x)), q = place(world, world_index(world, y));
  Nearest found = {.distance_sq = INFINITY};
  if (!search_pair(&p, &q, &found)) return ABD_OK;
  nearest->distance = sqrt(found.distance_sq);
  nearest->body_a = a;
  nearest->body_b = b;
  vec3_to(nearest->point_a, found.point[0]);
  vec3_to(nearest->point_b, found.point[1]);
  nearest->triangle_a = triangle_of(&p, found.element[0]);
  nearest->triangle_b = triangle_of(&q, found.element[1]);
  return ABD_OK;
}

AbdStatus abd_world_nearest(const AbdWorld *world, const double point[3], double max_distance,
                            const AbdQueryFilter *filter, AbdNearest *nearest) {
  *nearest = none_near();
  if (ready(world)) return world->error.status;
  Vec3 x = vec3_from(point);
  if (!vec3_finite(x) || !(max_distance >= 0)) return refuse(world, "a point must be finite and its distance >= 0");
  /* up to and with the distance: the search looks for something nearer */
  Nearest found = {.distance_sq = nextafter(max_distance * max_distance, INFINITY)};
  for (int i = 0; i < world->model.body_count; i++) {
    Placed p = place(world, i);
    if (!admits(world, filter, i) || !search_point(&p, x, &found)) continue;
    nearest->body_a = world_body_id(world, i);
    nearest->triangle_a = triangle_of(&p, found.element[0]);
  }
  if (!nearest->body_a.id) return ABD_OK;
  nearest->distance = sqrt(found.distance_sq);
  vec3_to(nearest->point_a, found.point[0]);
  vec3_to(nearest->point_b, x);
  return ABD_OK;
}

/* ---- casts ---- */

AbdStatus abd_world_cast(const AbdWorld *world, const AbdCast *cast, const AbdQueryFilter *filter, AbdHit *hit) {
  *hit = (AbdHit){.distance = INFINITY, .triangle = UINT32_MAX};
  if (ready(world)) return world->error.status;
  Vec3 direction = vec3_from(cast->direction), origin = vec3_from(cast->origin);
  double length = norm(direction);
  if (!vec3_finite(origin) || !(length > 0) || !isfinite(length) || !(cast->radius >= 0) || !isfinite(cast->radius) ||
      !(cast->max_distance >= 0))
    return refuse(world, "a cast needs a finite origin, a direction that is not 0, radius and way >= 0");
  Cast c = {origin, scale(1 / length, direction), cast->radius};
  CastHit found = {.way = nextafter(cast->max_distance, INFINITY)};
  for (int i = 0; i < world->model.body_count; i++) {
    Placed p = place(world, i);
    if (!admits(world, filter, i) || !search_cast(&p, &c, &found)) continue;
    hit->body = world_body_id(world, i);
    hit->triangle = triangle_of(&p, found.element);
  }
  if (!hit->body.id) return ABD_OK;
  hit->distance = found.way;
  vec3_to(hit->point, found.point);
  vec3_to(hit->normal, found.normal);
  return ABD_OK;
}

/* ---- overlaps ---- */

static bool any_rotation(const double r[4]) { return r[0] != 0 || r[1] != 0 || r[2] != 0 || r[3] != 0; }

AbdStatus abd_world_overlap_box(const AbdWorld *world, const AbdBoxQuery *box, const AbdQueryFilter *filter,
                                AbdBodyId *body, size_t capacity, size_t *count) {
  const double upright[4] = {1, 0, 0, 0};
  *count = 0;
  if (ready(world)) return world->error.status;
  Vec3 half = vec3_from(box->half), center = vec3_from(box->center);
  if (!vec3_finite(center) || !vec3_finite(half) || !(half.x >= 0 && half.y >= 0 && half.z >= 0))
    return refuse(world, "a box needs a finite centre and half sizes >= 0");
  Affine frame = model_pose_of(center, any_rotation(box->rotation) ? box->rotation : upright);
  for (int i = 0; i < world->model.body_count; i++) {
    Placed p = place(world, i);
    if (!admits(world, filter, i) || !search_box(&p, &frame, half)) continue;
    if (*count < capacity) body[*count] = world_body_id(world, i);
    ++*count;
  }
  return ABD_OK;
}

/* Surfaces that do not cross: a piece is inside if one of its vertices is. */
static bool encloses(const Placed *outer, const Placed *inner) {
  const Mesh *m = inner->side.mesh;
  bool any = false;
  for (int k = 0; k < m->piece_count && !m->half_space && !any; k++)
    any = search_contains(outer, affine_point(&inner->q, inner->side.x[m->piece[k]]));
  return any;
}

static bool overlap(const Placed *a, int body_a, const Placed *b, int body_b) {
  Crossing unused;
  Box box_a = posed_box(&a->side, &a->q), box_b = posed_box(&b->side, &b->q);
  if (!box_overlap(box_inflate(box_a, 1e-9 * norm(box_half(box_a))), box_b)) return false;
  return body_find_crossing(a->side, &a->q, body_a, b->side, &b->q, body_b, &unused) || encloses(a, b) ||
         encloses(b, a);
}

AbdStatus abd_body_overlaps(const AbdWorld *world, AbdBodyId body, const AbdQueryFilter *filter, AbdBodyId *other,
                            size_t capacity, size_t *count) {
  *count = 0;
  if (ready(world)) return world->error.status;
  const Body *b = world_body(world, body);
  if (!b) return refuse(world, "overlaps are those of a body of the world");
  int own = world_index(world, b);
  Placed p = place(world, own);
  for (int i = 0; i < world->model.body_count; i++) {
    Placed q = place(world, i);
    bool planes = p.side.mesh->half_space && q.side.mesh->half_space;
    if (i == own || planes || !admits(world, filter, i) || !overlap(&p, own, &q, i)) continue;
    if (*count < capacity) other[*count] = world_body_id(world, i);
    ++*count;
  }
  return ABD_OK;
}

/* ---- sensors ---- */

static bool has_sensor(const Model *m) {
  for (int i = 0; i < m->body_count; i++)
    if (m->body[i].sensor) return true;
  return false;
}

static bool rests(const Body *b) { return b->motion == ABD_MOTION_STATIC && !b->soft; }

/* A sensor and a body, one of which can move; two sensors do not find each other. */
static bool senses(const Model *m, int a, int b) {
  const Body *x = &m->body[a], *y = &m->body[b];
  bool planes = m->mesh[x->mesh].half_space && m->mesh[y->mesh].half_space;
  return x->sensor && !y->sensor && !planes && !(rests(x) && rests(y));
}

AbdStatus world_sense(AbdWorld *world, AbdError *error) {
  const Model *m = &world->model;
  State *next = &world->next;
  if (!has_sensor(m)) return ABD_OK;
  if (take_poses(world, next->q, error)) return error->status;
  for (int a = 0; a < m->body_count; a++)
    for (int b = 0; b < m->body_count && m->body[a].sensor; b++) {
      Placed p = place(world, a), q = place(world, b);
      if (!senses(m, a, b) || !overlap(&p, a, &q, b)) continue;
      if (!mem_reserve((void **)&next->touch, &next->touch_capacity, next->touch_count + 1, sizeof *next->touch))
        return fault(error, ABD_ERROR_MEMORY, "out of memory for what overlaps sensors");
      next->touch[next->touch_count++] = pair_key(a, b);
    }
  if (next->touch_count > 1) qsort(next->touch, (size_t)next->touch_count, sizeof *next->touch, world_compare_touches);
  return ABD_OK;
}

/* ---- loads of contacts ---- */

static Vec3 center_of(const AbdWorld *world, const Body *b, Nodes q) {
  if (!b->soft) return q.body[world_index(world, b)].n[0];
  const Soft *s = &world->model.soft[b->soft - 1];
  Vec3 sum = vec3(0, 0, 0);
  for (int v = 0; v < s->vertex_count; v++) sum = add_scaled(sum, s->mass[v], q.vertex[s->vertex + v]);
  return scale(1 / s->total_mass, sum);
}

/* On a; on b the opposite force and torque act. */
static Vec3 torque_about(const AbdContact *c, Vec3 center) {
  Vec3 force = add_scaled(vec3_from(c->friction_force), c->normal_force, vec3_from(c->normal));
  return add(cross(sub(vec3_from(c->point), center), force), vec3_from(c->torque));
}

ContactTorque world_contact_torque(const AbdWorld *world, const AbdContact *c, Nodes q) {
  Vec3 a = center_of(world, world_body(world, c->body_a), q), b = center_of(world, world_body(world, c->body_b), q);
  return (ContactTorque){torque_about(c, a), neg(torque_about(c, b))};
}

/* Of the contacts of abd_world_contacts, if other poses count for them than those of the state; else NULL. */
static const ContactTorque *stored_torques(const AbdWorld *world) {
  if (!world->contacts_known) return world->kept.torque;
  return world->mean.split ? world->mean.torque : NULL;
}

static void add_contact(const AbdContact *c, double sign, Vec3 torque, AbdContactLoad *load) {
  Vec3 normal = scale(sign * c->normal_force, vec3_from(c->normal)),
       friction = scale(sign, vec3_from(c->friction_force));
  vec3_to(load->normal, add(vec3_from(load->normal), normal));
  vec3_to(load->friction, add(vec3_from(load->friction), friction));
  vec3_to(load->torque, add(vec3_from(load->torque), torque));
  load->contacts++;
}

/* other null: by all bodies. */
static AbdStatus sum_contacts(const AbdWorld *world, AbdBodyId body, AbdBodyId other, AbdContactLoad *load) {
  const Body *b = world_body(world, body);
  memset(load, 0, sizeof *load);
  if (!b) return refuse(world, "the load of contacts is that of a body of the world");
  if (!world->started) return ABD_OK;
  size_t count = abd_world_contacts(world, NULL, 0);
  AbdContact *contact = mem_alloc(count, sizeof *contact);
  if (!contact) return fault(world_fresh_error((AbdWorld *)world), ABD_ERROR_MEMORY, "out of memory for contacts");
  abd_world_contacts(world, contact, count);
  const ContactTorque *stored = stored_torques(world);
  Vec3 center = center_of(world, b, world->state.q);
  for (size_t k = 0; k < count; k++) {
    const AbdContact *c = &contact[k];
    bool as_a = c->body_a.id == body.id, as_b = c->body_b.id == body.id;
    if (as_a == as_b || (other.id && other.id != (as_a ? c->body_b.id : c->body_a.id))) continue;
    double sign = as_a ? 1 : -1;
    Vec3 torque = stored ? (as_a ? stored[k].on_a : stored[k].on_b) : scale(sign, torque_about(c, center));
    add_contact(c, sign, torque, load);
  }
  mem_free(contact);
  return ABD_OK;
}

AbdStatus abd_body_contact_load(const AbdWorld *world, AbdBodyId body, AbdContactLoad *load) {
  return sum_contacts(world, body, (AbdBodyId){0}, load);
}

AbdStatus abd_pair_contact_load(const AbdWorld *world, AbdBodyId body, AbdBodyId other, AbdContactLoad *load) {
  if (!world_body(world, other)) return refuse(world, "the load of contacts is that of a pair of bodies of the world");
  return sum_contacts(world, body, other, load);
}
