/* The laws of contact, see contact/law.h. */
#include "contact/law.h"

#include <string.h>

#include "contact/broad.h"
#include "kernel/barrier.h"
#include "kernel/constant.h"

double law_stiffness(const Model *m, LawStep step, double factor, double mass, double approach) {
  double r = m->def.contact.range, g = norm(vec3_from(m->def.gravity)), part = step.h / m->def.dt;
  double rest = mass * most(part * part * BARRIER_INERTIAS / 6.386 * r * r, BARRIER_WEIGHTS * g * step.h2 * r);
  return most(factor * rest, BARRIER_IMPACT * mass * approach * r);
}

/* The load of bodies that jam grows with the stiffness, and their gap stays. A factor that doubled until the gap is
 * wide would strain them with energy that nothing gave. */
bool law_jams(double grown_at, double gap) { return gap > STIFFEN_SAME * grown_at && STIFFEN_SAME * gap < grown_at; }

Stiffening law_stiffening(double factor, double grown_at, double gap) {
  if (!(gap < BARRIER_TIGHT)) return (Stiffening){factor, factor, 1};
  if (law_jams(grown_at, gap)) return (Stiffening){factor, factor, grown_at};
  return (Stiffening){factor < STIFFENING_MAX ? STIFFEN_STEP * factor : factor, factor, gap};
}

double law_relaxed(double factor, double gap) {
  if (!(gap > RELAX_ABOVE)) return factor;
  return most(1, factor * most(RELAX_STEP, barrier_d1(gap) / barrier_d1(RELAX_ABOVE)));
}

double law_raise(double stiffening) { return stiffening > STIFFENING_MAX ? 1 : GUARD_STEP; }

bool law_loads_agree(double difference, double total) { return difference <= LOAD_ERROR * total; }

/* The mass that meets an obstacle: a dynamic body as a whole; of a soft one a part, between one vertex and all. */
static double contact_mass(const Model *m, const Body *b) {
  if (b->soft) return b->mass / sqrt((double)m->soft[b->soft - 1].vertex_count);
  return b->motion == ABD_MOTION_DYNAMIC ? b->mass : 0;
}

/* A barrier as stiff as the heavier body needs would hold the lighter one at the edge of the range. Its force rises
 * from zero there within so small a part of the range that Newton's steps open and close the contact in turn. */
double pair_mass(const Model *m, const Pair *p) {
  double a = contact_mass(m, &m->body[p->a]), b = contact_mass(m, &m->body[p->b]);
  return a > 0 && b > 0 ? least(a, b) : most(a, b);
}

Vec3 point_way(const Model *m, const Nodes *from, Nodes to, int body, Vec3 rest, const int v[3], const double w[3]) {
  const Body *b = &m->body[body];
  if (!b->soft) {
    Affine d = from ? affine_sub(to.body[body], from->body[body]) : to.body[body];
    return affine_point(&d, rest);
  }
  const Soft *s = &m->soft[b->soft - 1];
  Vec3 sum = vec3(0, 0, 0);
  for (int k = 0; k < 3; k++) {
    int vertex = s->vertex + s->surface_vertex[v[k]];
    sum = add_scaled(sum, w[k], from ? sub(to.vertex[vertex], from->vertex[vertex]) : to.vertex[vertex]);
  }
  return sum;
}

double pair_approach(const Pair *p, const ContactScene *scene, Nodes q, Nodes target) {
  const Model *m = scene->model;
  if (p->soft && p->contact.count == 0) return 0;
  if (p->contact.count == 0) {
    Box a = swept_box(m, p->a, &q.body[p->a], &target.body[p->a]);
    Box b = swept_box(m, p->b, &q.body[p->b], &target.body[p->b]);
    return box_overlap(a, b) ? p->approach : 0;
  }
  double closest = 0;
  const Contact *contact = pair_contacts(p, scene);
  for (int i = 0; i < p->acting; i++) {
    const Contact *c = &contact[i];
    if (c->weight <= 0) continue;
    int va[3], vb[3];
    pair_corners(p, scene, c, va, vb);
    Vec3 a = point_way(m, &q, target, p->a, c->ya, va, c->wa), b = point_way(m, &q, target, p->b, c->yb, vb, c->wb);
    closest = most(closest, -dot(c->normal, sub(a, b)));
  }
  return closest;
}

/* About how long edges are, as if the triangles were spread over a sphere around the mesh. */
static double edge_length(const Mesh *mesh) {
  return LIST_EDGE_LENGTH * mesh->radius / sqrt(mesh->triangle_count + 1.0);
}

/* The list shall cover the motion expected in this step and some more, but not much of a long one, most of which
 * would be listed for nothing: pair_bound_cover searches beyond the list. Beyond the length of edges, lists grow
 * with the square of what they cover. */
void pair_begin(Pair *p, const ContactScene *scene, const Affine *q, const Affine *target) {
  const Model *m = scene->model;
  const Mesh *mesh = &m->mesh[m->body[p->a].mesh];
  Affine now = affine_relative(&q[p->a], &q[p->b]), then = affine_relative(&target[p->a], &target[p->b]);
  double limit = least(LIST_RADIUS * mesh->radius, LIST_EDGES * edge_length(mesh));
  p->approach = APPROACH_MOTION * pair_displacement(mesh, &now, &then);
  limit = most(limit, LIST_RANGES * scene->range);
  p->margin = LIST_SPARE * scene->range + least(p->approach, limit);
  p->mu = m->has_friction ? model_friction(m, p->a, p->b) : 0;
  bool turns = m->has_friction && !p->soft;
  p->rolling = turns ? m->body[p->a].rolling + m->body[p->b].rolling : 0;
  p->torsion = turns ? m->body[p->a].torsion + m->body[p->b].torsion : 0;
  p->failed = false;
  p->stiffness = 1;
  p->expected = -1;
  p->friction.count = 0;
  p->coupled = false;
  memset(&p->counts, 0, sizeof p->counts);
}

const PairMemory *pair_memory(const State *state, int a, int b) {
  int lo = 0, hi = state->memory_count;
  uint64_t key = pair_key(a, b);
  while (lo < hi) {
    int mid = lo + (hi - lo) / 2;
    const PairMemory *m = &state->memory[mid];
    uint64_t k = pair_key(m->a, m->b);
    if (k == key) return m->a == a ? m : NULL;
    if (k < key) lo = mid + 1;
    else hi = mid;
  }
  return NULL;
}

static double stiffness_of(const Pair *p, const Model *m, LawStep step, double factor, double approach) {
  return m->def.contact.stiffness * law_stiffness(m, step, factor, pair_mass(m, p), approach);
}

void pair_set_stiffness(Pair *p, const ContactScene *scene, double h2, const State *state) {
  const PairMemory *memory = pair_memory(state, p->a, p->b);
  p->stiffening = law_relaxed(memory ? memory->stiffening.factor : 1, p->min_gap / scene->range);
  p->stiffness = stiffness_of(p, scene->model, (LawStep){state->duration, h2}, p->stiffening, p->approach);
  p->energy = p->barrier *= p->stiffness;
  p->gap = p->min_gap;
}

double pair_barrier_before(const Pair *p, const ContactScene *scene, double h2, const State *state) {
  const PairMemory *memory = pair_memory(state, p->a, p->b);
  double factor = least(memory ? memory->stiffening.last : 1, p->stiffening);
  double before = stiffness_of(p, scene->model, (LawStep){state->duration, h2}, factor, 0);
  return p->barrier * least(1, before / p->stiffness);
}

/* Would a contact of this stiffness be tight under a force? */
static bool is_soft_for(double force, double stiffness, double range) {
  return force * range > -barrier_d1(BARRIER_TIGHT) * stiffness;
}

/* A cut step may leave a small gap to a body that flies off in the next one. A barrier made stiffer for that holds a
 * light body at the very edge of the range for many steps. So the force to which Newton's step led has to need it. */
void pair_stiffen(Pair *p, double range, const State *state) {
  double factor = law_raise(p->stiffening);
  if (p->min_gap > BARRIER_TIGHT * range || factor == 1 || !is_soft_for(p->expected, p->stiffness, range)) return;
  const PairMemory *memory = pair_memory(state, p->a, p->b);
  if (memory && law_jams(memory->stiffening.gap, p->min_gap / range)) return;
  p->energy += (factor - 1) * p->barrier;
  p->barrier *= factor;
  p->stiffness *= factor;
  p->stiffening *= factor;
}

bool pair_renew_friction(Pair *p, const ContactScene *scene, const State *state, const Affine *q, bool begins) {
  if (p->acting == 0 && p->friction.count == 0) { /* most pairs */
    p->energy = p->barrier;
    return true;
  }
  const Affine pose[2] = {state->q.body[p->a], state->q.body[p->b]}, now[2] = {q[p->a], q[p->b]};
  const PairMemory *memory = pair_memory(state, p->a, p->b);
  const FrictionStart start = {pose, now, memory ? state->anchor + memory->first_anchor : NULL,
                               memory ? memory->anchor_count : 0};
  if (!pair_list_friction(p, scene, &start, begins)) return false;
  p->energy = p->barrier + pair_energy_of_loads(p, scene);
  return true;
}

int pair_anchor_count(const Pair *p, const Model *m) { return m->def.contact.friction_anchors ? p->friction.count : 0; }

bool pair_remembers(const Pair *p, const Model *m) {
  return pair_anchor_count(p, m) > 0 || p->stiffening > 1 || p->min_gap < BARRIER_TIGHT * m->def.contact.range;
}

Stiffening pair_stiffening(const Pair *p, const ContactScene *scene, const State *state) {
  const PairMemory *memory = pair_memory(state, p->a, p->b);
  return law_stiffening(p->stiffening, memory ? memory->stiffening.gap : 1, p->min_gap / scene->range);
}

void pair_save_anchors(const Pair *p, const ContactScene *scene, const Affine *q, Anchor *anchor) {
  for (int i = 0; i < pair_anchor_count(p, scene->model); i++) {
    const FrictionPoint *f = &pair_friction(p, scene)[i];
    anchor[i] = (Anchor){f->key, f->ya, friction_slip_after(p, f, scene, &q[p->a], &q[p->b])};
  }
}
