/* Friction with loads that are fixed during an iteration, and with anchors. The tangential displacement of a contact is
 * its displacement in this step plus the slip carried over: an elastic-plastic spring of length at most eps. At rest
 * under load the slip is constant, so nothing creeps. Tested in tests/test_physics_contact.c and tests/test_load.c. */
#include "contact/law.h"
#include "contact/point.h"

#include <string.h>

#include "kernel/constant.h"

/* Finds items by their keys, which come first in them. Open addressing; few items, or all if memory is out, are
 * compared one by one. Items are often looked up in their order, so the slots are filled by the first search. */
typedef struct KeyIndex {
  const char *item;
  size_t size;
  int count, next; /* next: the item after the last one that was found */
  int *slot;       /* 1 + item, 0 = empty; NULL: none yet */
  uint32_t mask;
  int few[512];
} KeyIndex;

static uint64_t key_at(const KeyIndex *x, int i) {
  uint64_t key;
  memcpy(&key, x->item + (size_t)i * x->size, sizeof key);
  return key;
}

static uint32_t key_slot(const KeyIndex *x, uint64_t key) {
  return (uint32_t)(key * 0x9e3779b97f4a7c15u >> 32) & x->mask;
}

static void index_fill(KeyIndex *x) {
  uint32_t slots = 512;
  while (slots < 2u * (uint32_t)x->count) slots *= 2;
  x->mask = slots - 1;
  x->slot = slots <= ARRAY_COUNT(x->few) ? x->few : mem_alloc(slots, sizeof(int));
  if (!x->slot) return;
  memset(x->slot, 0, ((size_t)x->mask + 1) * sizeof(int));
  for (int i = 0; i < x->count; i++) {
    uint32_t at = key_slot(x, key_at(x, i));
    while (x->slot[at]) at = (at + 1) & x->mask;
    x->slot[at] = i + 1;
  }
}

static void index_open(KeyIndex *x, const void *item, size_t size, int count) {
  x->item = item, x->size = size, x->count = count, x->next = 0, x->slot = NULL;
}

static void index_close(KeyIndex *x) {
  if (x->slot && x->slot != x->few) mem_free(x->slot);
}

static int index_search(KeyIndex *x, uint64_t key) {
  if (x->count > 16 && !x->slot) index_fill(x);
  if (!x->slot) {
    for (int i = 0; i < x->count; i++)
      if (key_at(x, i) == key) return i;
    return -1;
  }
  for (uint32_t at = key_slot(x, key); x->slot[at]; at = (at + 1) & x->mask)
    if (key_at(x, x->slot[at] - 1) == key) return x->slot[at] - 1;
  return -1;
}

/* The item with a key, -1 if there is none. */
static int index_find(KeyIndex *x, uint64_t key) {
  int i = x->next < x->count && key_at(x, x->next) == key ? x->next : index_search(x, key);
  if (i >= 0) x->next = i + 1;
  return i;
}

/* Finds the anchor of the same stencil, else the nearest anchor of the pair and way: stencils change as contacts slide,
 * slips hardly do. -1 if there is none. */
static int find_anchor(KeyIndex *x, uint64_t key, Vec3 at) {
  int same = index_find(x, key);
  return same >= 0 ? same : anchor_nearest((const Anchor *)(const void *)x->item, x->count, key, at);
}

/* The position of a side's point: a stiff body's by its pose, a soft body's by its vertices now or at the start of the
 * step. */
static Vec3 side_point(Side side, const Affine *q, Vec3 rest, const int v[3], const double w[3], bool at_start) {
  if (!side.surface) return affine_point(q, rest);
  const Vec3 *x = at_start ? side.surface->start : side.x;
  return add_scaled(add_scaled(scale(w[0], x[v[0]]), w[1], x[v[1]]), w[2], x[v[2]]);
}

static Vec3 point_gap(const Pair *p, const FrictionPoint *f, const ContactScene *scene, const Affine *qa,
                      const Affine *qb, bool at_start) {
  if (!p->soft || friction_way(f) != FRICTION_SLIDE) return friction_apart(f, qa, qb);
  return sub(side_point(scene_side(scene, p->a), qa, f->ya, f->va, f->wa, at_start),
             side_point(scene_side(scene, p->b), qb, f->yb, f->vb, f->wb, at_start));
}

Vec3 friction_displacement(const Pair *p, const FrictionPoint *f, const ContactScene *scene, const Affine *qa,
                           const Affine *qb) {
  return friction_slip_at(f, point_gap(p, f, scene, qa, qb, false));
}

Vec3 friction_slip_after(const Pair *p, const FrictionPoint *f, const ContactScene *scene, const Affine *qa,
                         const Affine *qb) {
  Vec3 u = friction_displacement(p, f, scene, qa, qb);
  double length = norm(u);
  if (length > scene->friction_eps) u = scale(scene->friction_eps / length, u);
  return mat3_tmul_vec(affine_linear(qb), u);
}

/* What all friction points of a pair share. */
typedef struct PointMaker {
  const Pair *pair;
  const ContactScene *scene;
  const Affine *start; /* poses of a and b at the start of the step */
  const Affine *now;   /* and now */
  bool drifts;         /* a surface moves against its body */
  double arm;          /* [m] at which rolling and spinning are slips */
  Passing pass;        /* contacts, loads over the normal forces, the points of the iteration before */
  KeyIndex *anchors;
  KeyIndex *before; /* the points of the iteration before; NULL = the step begins */
} PointMaker;

/* With the radius of the smaller body as arm a ball sticks below a rolling speed of friction_speed. */
double pair_load_factors(const Pair *p, const Model *m, double factor[FRICTION_WAYS]) {
  double arm = m->mesh[m->body[p->a].mesh].radius;
  factor[FRICTION_SLIDE] = p->mu;
  factor[FRICTION_ROLL] = p->rolling / arm;
  factor[FRICTION_SPIN] = p->torsion / arm;
  return arm;
}

static double pair_part_rubbing(const Passing *s) {
  double sum = 0, positive = 0;
  for (int i = 0; i < s->contacts; i++) {
    double push = passing_force(s, i);
    sum += push;
    positive += most(push, 0);
  }
  return part_rubbing(sum, positive);
}

static PointMaker maker_of(const Pair *p, const ContactScene *scene, const Affine *start) {
  PointMaker l = {.pair = p, .scene = scene, .start = start, .drifts = model_drifts(scene->model, p->a, p->b)};
  l.arm = pair_load_factors(p, scene->model, l.pass.factor);
  l.pass.contact = pair_contacts(p, scene);
  l.pass.contacts = p->acting;
  l.pass.stiffness = p->stiffness;
  l.pass.range = scene->range;
  double part = pair_part_rubbing(&l.pass);
  for (int way = 0; way < FRICTION_WAYS; way++) l.pass.factor[way] *= part;
  return l;
}

/* The way of a's surface against its body in the step, less that of b's: from the points at its start, or to those at
 * its end. */
static Vec3 point_drift(const PointMaker *l, const FrictionPoint *f) {
  const int body[2] = {l->pair->a, l->pair->b};
  const Model *m = l->scene->model;
  const Vec3 y[2] = {f->ya, f->yb};
  double dt = l->scene->dt;
  if (friction_way(f) == FRICTION_SLIDE)
    return f->late ? scale(-1, model_drift(m, body, l->start, y, -dt)) : model_drift(m, body, l->start, y, dt);
  Vec3 turn = scale(l->scene->dt, model_drift_turn(m, body, l->start));
  return cross(turn, affine_vector(&l->start[0], f->ya));
}

static FrictionPoint *find_point(const PointMaker *l, const Contact *c, int way) {
  int i = index_find(l->before, point_key(c, way));
  return i < 0 ? NULL : &l->pass.point[i];
}

/* Contacts without a point claim loads of points without a contact; the rest goes to the nearest contacts. */
static void claim_loads(PointMaker *l) {
  Passing *s = &l->pass;
  for (int i = 0; i < s->contacts; i++)
    for (int way = 0; way < FRICTION_WAYS; way++) {
      if (!contact_rubs(s, i, way) || find_point(l, &s->contact[i], way)) continue;
      int lost = nearest_lost(s, way, s->contact[i].ya);
      if (lost >= 0) claim_load(s, i, lost);
    }
  for (int i = 0; i < s->count; i++)
    if (s->point[i].successor == SUCCESSOR_NONE) s->point[i].successor = nearest_contact(s, &s->point[i]);
}

static void find_successors(PointMaker *l, FrictionPoint *point, int count) {
  Passing *s = &l->pass;
  s->point = point;
  s->count = s->lost = count;
  for (int i = 0; i < count; i++) point[i].successor = SUCCESSOR_NONE, point[i].claim = 0;
  for (int i = 0; i < s->contacts; i++)
    for (int way = 0; way < FRICTION_WAYS; way++) {
      FrictionPoint *f = contact_rubs(s, i, way) ? find_point(l, &s->contact[i], way) : NULL;
      if (!f) continue;
      f->successor = i;
      s->lost--;
    }
  if (s->lost > 0) claim_loads(l);
}

static void set_slip(PointMaker *l, const FrictionPoint *before, FrictionPoint *f) {
  int index = before ? before->anchor : find_anchor(l->anchors, f->key, f->ya);
  point_set_slip(f, (const Anchor *)(const void *)l->anchors->item, index, &l->start[1]);
}

/* The load of a point is that of the contact when the step begins, later the one that the points before pass on. It is
 * unknown yet if there is no such point: a contact that a cut step left deep in the barrier pushes far harder than it
 * will. */
static inline void make_point(PointMaker *l, int contact, FrictionWay way, FrictionPoint *f) {
  const Pair *pair = l->pair;
  const Passing *s = &l->pass;
  const Contact *c = &s->contact[contact];
  f->contact = contact;
  f->late = l->before != NULL;
  point_open(f, c, way, l->start, l->arm);
  if (pair->soft) pair_corners(pair, l->scene, c, f->va, f->vb);
  f->origin = point_gap(pair, f, l->scene, &l->start[0], &l->start[1], true);
  if (l->drifts) f->origin = sub(f->origin, point_drift(l, f));
  const FrictionPoint *own = l->before ? find_point(l, c, (int)way) : NULL;
  int lost = own ? -1 : nearest_lost(s, (int)way, c->ya);
  const FrictionPoint *before = lost >= 0 ? &s->point[lost] : own;
  double load =
      l->before ? passed_load(s, contact, (int)way, own, lost, true) : s->factor[way] * passing_force(s, contact);
  set_slip(l, before, f);
  Vec3 u = friction_displacement(pair, f, l->scene, &l->now[0], &l->now[1]);
  point_set_load(f, before, u, load, l->scene->friction_eps);
}

static int list_points(PointMaker *l, FrictionPoint *point) {
  int count = 0;
  for (int i = 0; i < l->pass.contacts; i++)
    for (int way = 0; way < FRICTION_WAYS; way++)
      if (contact_rubs(&l->pass, i, way)) make_point(l, i, (FrictionWay)way, &point[count++]);
  return count;
}

/* Fewer than the contacts: a range that were made for all of them would be outgrown again in every step, because it is
 * stored with room for half as many more as it has. */
static int count_points(const Passing *s) {
  int count = 0;
  for (int i = 0; i < s->contacts; i++)
    for (int way = 0; way < FRICTION_WAYS; way++) count += contact_rubs(s, i, way);
  return count;
}

/* The points of the iteration before move to scratch, the new ones take their place. room: of the new ones. */
static bool make_room(Pair *pair, const ContactScene *scene, int old, int room, FrictionPoint **before) {
  Pool *pool = &scene->store->friction;
  pair->friction.count = old;
  if (room > old && !pool_extend(pool, &pair->friction, room - old)) return false;
  *before = old ? pool_scratch(pool, old) : NULL;
  if (old && !*before) return false;
  if (old) memcpy(*before, pair_friction(pair, scene), (size_t)old * sizeof(FrictionPoint));
  return true;
}

bool pair_list_friction(Pair *pair, const ContactScene *scene, const FrictionStart *start, bool begins) {
  int old = begins ? 0 : pair->friction.count;
  if (!pair_rubs(pair) || pair->acting == 0) {
    pair->friction.count = 0;
    return true;
  }
  FrictionPoint *points;
  PointMaker l = maker_of(pair, scene, start->pose);
  if (!make_room(pair, scene, old, count_points(&l.pass), &points)) return false;
  KeyIndex before, anchors;
  index_open(&before, points, sizeof(FrictionPoint), old);
  index_open(&anchors, start->anchor, sizeof(Anchor), start->anchor_count);
  l.now = start->now;
  l.anchors = &anchors;
  l.before = begins ? NULL : &before;
  if (!begins) find_successors(&l, points, old);
  int count = list_points(&l, pair_friction(pair, scene));
  index_close(&before);
  index_close(&anchors);
  pair->friction.count = count;
  return true;
}

double pair_energy_of_loads(const Pair *pair, const ContactScene *scene) {
  const FrictionPoint *point = pair_friction(pair, scene);
  double e = 0;
  for (int i = 0; i < pair->friction.count; i++)
    e += point[i].load * friction_f0(norm(point[i].displacement), scene->friction_eps);
  return e;
}

double pair_friction_energy(Pair *pair, const ContactScene *scene, const Affine *qa, const Affine *qb) {
  const double eps = scene->friction_eps;
  FrictionPoint *point = pair_friction(pair, scene);
  double e = 0;
  for (int i = 0; i < pair->friction.count; i++) {
    FrictionPoint *f = &point[i];
    f->trial = friction_displacement(pair, f, scene, qa, qb);
    e += f->load * friction_f0(norm(f->trial), eps);
  }
  return e;
}

double pair_friction_work(const Pair *pair, const ContactScene *scene) {
  const FrictionPoint *point = pair_friction(pair, scene);
  double work = 0;
  for (int i = 0; i < pair->friction.count; i++) {
    const FrictionPoint *f = &point[i];
    double force = f->load * friction_f1_over_y(norm(f->displacement), scene->friction_eps);
    work -= force * dot(f->displacement, sub(f->displacement, f->slip));
  }
  return work;
}

double pair_drift_work(const Pair *pair, const ContactScene *scene, const Affine q_start[2]) {
  const FrictionPoint *point = pair_friction(pair, scene);
  PointMaker l = maker_of(pair, scene, q_start);
  double work = 0;
  for (int i = 0; i < pair->friction.count; i++) {
    const FrictionPoint *f = &point[i];
    Vec3 drift = point_drift(&l, f);
    if (friction_way(f) == FRICTION_SPIN) drift = scale(dot(f->across, drift), f->normal);
    work += f->load * friction_f1_over_y(norm(f->displacement), scene->friction_eps) * dot(f->displacement, drift);
  }
  return work;
}

void pair_friction_advance(Pair *pair, const ContactScene *scene, double length) {
  const double eps = scene->friction_eps;
  FrictionPoint *point = pair_friction(pair, scene);
  for (int i = 0; i < pair->friction.count; i++) {
    FrictionPoint *f = &point[i];
    f->force = friction_force_after(f->displacement, f->force, sub(f->trial, f->displacement), length, eps);
    f->displacement = f->trial;
  }
}

/* ---- loads that follow the normal forces ---- */

static double force_ahead(const Pair *p, const ContactScene *scene, const Contact *c, Nodes step) {
  const bool both[2] = {true, true};
  return contact_force_ahead(c, p->stiffness, scene->range, contact_apart(p, scene, c, step, both));
}

LoadChange pair_predict_loads(Pair *p, const ContactScene *scene, Nodes step, double weight) {
  FrictionPoint *f = pair_friction(p, scene);
  const Contact *contact = pair_contacts(p, scene);
  PointMaker l = maker_of(p, scene, NULL);
  LoadChange out = {0, 0, 0, 0};
  for (int i = 0; i < p->friction.count; i++) {
    double ahead = l.pass.factor[friction_way(&f[i])] * force_ahead(p, scene, &contact[f[i].contact], step);
    point_move_load(&f[i], ahead, weight, &out);
  }
  p->energy = p->barrier + pair_energy_of_loads(p, scene);
  return out;
}

LoadChange pair_load_error(const Pair *p, const ContactScene *scene) {
  LoadChange out = {0, 0, 0, 0};
  if (!pair_rubs(p) || (p->acting == 0 && p->friction.count == 0)) return out;
  KeyIndex points;
  PointMaker l = maker_of(p, scene, NULL);
  const Passing *s = &l.pass;
  index_open(&points, pair_friction(p, scene), sizeof(FrictionPoint), p->friction.count);
  l.before = &points;
  find_successors(&l, pair_friction(p, scene), p->friction.count);
  for (int i = 0; i < s->count; i++)
    if (s->point[i].successor == SUCCESSOR_NONE) out.change += s->point[i].load;
  for (int i = 0; i < s->contacts; i++)
    for (int way = 0; way < FRICTION_WAYS; way++) {
      if (!contact_rubs(s, i, way)) continue;
      const FrictionPoint *own = find_point(&l, &s->contact[i], way);
      int lost = own ? -1 : nearest_lost(s, way, s->contact[i].ya);
      double now = s->factor[way] * passing_force(s, i);
      out.change += fabs(now - passed_load(s, i, way, own, lost, false));
      out.load += now;
    }
  index_close(&points);
  return out;
}
