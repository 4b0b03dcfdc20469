/* The pairs of bodies within reach, through a step: which there are, how stiff their barriers, what load their friction lags
 * behind. Tested in tests/test_determinism.c and tests/test_physics_contact.c. */
#include "cpu/cpu.h"

#include <string.h>

/* About how long edges are: as if the triangles were spread over a sphere around the mesh. */
static double edge_length(const Mesh *mesh) { return 3.5 * mesh->radius / sqrt(mesh->triangle_count + 1.0); }

/* The list shall cover the motion expected in this step and some more; not much of a long one, most of which would be listed
 * for nothing: pair_bound_cover looks beyond the list. Beyond edges' length lists grow with the square of what they cover. */
void pair_begin(const Cpu *cpu, const Step *step, Pair *p) {
  const Model *m = cpu->model;
  const Mesh *mesh = &m->mesh[m->body[p->a].mesh];
  Affine now = affine_relative(&step->q[p->a], &step->q[p->b]),
         then = affine_relative(&step->target[p->a], &step->target[p->b]);
  double motion = 1.1 * pair_displacement(mesh, &now, &then),
         limit = least(0.05 * mesh->radius, 0.25 * edge_length(mesh));
  p->motion = motion;
  if (limit < 4 * cpu->scene.range) limit = 4 * cpu->scene.range;
  p->margin = 0.5 * cpu->scene.range + (motion < limit ? motion : limit);
  p->mu = m->has_friction ? model_friction(m, p->a, p->b) : 0;
  p->failed = false;
  p->stiffness = 1;
  p->friction_count = p->friction_counted = 0;
  p->coupled = false;
  if (p->soft) p->listed = false; /* a list stands in the order of its path: that of an earlier step must not count */
  memset(&p->counts, 0, sizeof p->counts);
}

bool pairs_sync(Cpu *cpu) {
  const Broad *broad = &cpu->broad;
  Pair *fresh = mem_zeroed((size_t)broad->pair_count, sizeof(Pair));
  if (!fresh) return false;
  int old = 0;
  for (int k = 0; k < broad->pair_count; k++) {
    uint64_t key = broad->pair[k];
    for (; old < cpu->pair_count && pair_key(cpu->pair[old].a, cpu->pair[old].b) < key; old++)
      pair_destroy(&cpu->pair[old]);
    if (old < cpu->pair_count && pair_key(cpu->pair[old].a, cpu->pair[old].b) == key) {
      fresh[k] = cpu->pair[old++];
      continue;
    }
    fresh[k].a = (int)(key >> 32);
    fresh[k].b = (int)(key & 0xffffffffu);
    pair_order(cpu->model, &fresh[k].a, &fresh[k].b);
    fresh[k].soft = cpu->model->body[fresh[k].a].soft || cpu->model->body[fresh[k].b].soft;
  }
  for (; old < cpu->pair_count; old++) pair_destroy(&cpu->pair[old]);
  mem_free(cpu->pair);
  cpu->pair = fresh;
  cpu->pair_count = broad->pair_count;
  return true;
}

/* What meets an obstacle: a dynamic body as a whole; of a soft one a part, between one vertex and all of them. */
static double contact_mass(const Model *m, const Body *b) {
  if (b->soft) return b->mass / sqrt((double)m->soft[b->soft - 1].vertex_count);
  return b->motion == ABD_MOTION_DYNAMIC ? b->mass : 0;
}

/* The heavier of a pair's dynamic bodies. */
static double pair_mass(const Model *m, const Pair *p) {
  return most(contact_mass(m, &m->body[p->a]), contact_mass(m, &m->body[p->b]));
}

/* Where inertia and forces alone would bring a contact's point of one side in this step. */
static Vec3 point_travel(const Cpu *cpu, const Step *step, int body, Vec3 rest, const int v[3], const double w[3]) {
  const Body *b = &cpu->model->body[body];
  Affine d = affine_sub(step->target[body], step->q[body]);
  if (!b->soft) return affine_point(&d, rest);
  const Soft *s = &cpu->model->soft[b->soft - 1];
  Vec3 sum = vec3(0, 0, 0);
  for (int k = 0; k < 3; k++) {
    int vertex = s->first + s->surface_vertex[v[k]];
    sum = add_scaled(sum, w[k], sub(step->target[vertex].n[0], step->q[vertex].n[0]));
  }
  return sum;
}

/* How far the surfaces of a pair would move into each other if nothing held them: along the normals where they touch, else
 * all of their relative motion if their boxes meet on the way. */
static double pair_approach(const Cpu *cpu, const Pair *p, const Step *step) {
  if (p->soft && p->contact_count == 0) return 0;
  if (p->contact_count == 0) {
    Box a = swept_box(cpu->model, p->a, &step->q[p->a], &step->target[p->a]);
    Box b = swept_box(cpu->model, p->b, &step->q[p->b], &step->target[p->b]);
    return box_overlap(a, b) ? p->motion : 0;
  }
  double closest = 0;
  for (int i = 0; i < p->contact_count; i++) {
    const Contact *c = &p->contact[i];
    int va[3], vb[3];
    pair_corners(p, &cpu->scene, c, va, vb);
    Vec3 a = point_travel(cpu, step, p->a, c->ya, va, c->wa), b = point_travel(cpu, step, p->b, c->yb, vb, c->wb);
    closest = most(closest, -dot(c->normal, sub(a, b)));
  }
  return closest;
}

static const PairMemory *find_memory(const State *state, int a, int b) {
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

/* Stiffness of a pair's barrier [J as dt^2 energy]: enough that at half the range a contact resists as 40 inertias over
 * dt^2, carries thirty times the weight, and takes up the energy of its own approach and a share of the strongest impact
 * in the island, which may reach it through others. A pair pressed below a tenth of the range was too soft for its load:
 * it doubles, and relaxes again when it has room. */
static void set_stiffness(const Cpu *cpu, const Step *step, Pair *p) {
  const Model *m = cpu->model;
  const PairMemory *memory = find_memory(step->state, p->a, p->b);
  double y = p->min_gap / cpu->scene.range, g = norm(vec3_from(m->def.gravity)), r = cpu->scene.range,
         mass = pair_mass(m, p);
  p->stiffening = memory ? memory->stiffening : 1;
  if (y < 0.1 && p->stiffening < 1e6) p->stiffening *= 2;
  if (y > 0.5) p->stiffening = most(1, 0.9 * p->stiffening);
  double rest = mass * most(40.0 / 6.386 * r * r, 30 * g * step->h2 * r);
  double impact = most(0.05 * mass * p->approach * p->approach, 0.00002 * step->islands[pair_island(step, p)].impact);
  p->stiffness = m->def.contact.stiffness * p->stiffening * most(rest, impact);
  p->energy = p->barrier *= p->stiffness;
}

/* Approaches of all pairs and the strongest impact of each island [J as dt^2 energy]. */
static void set_impacts(Cpu *cpu, Step *step) {
  for (int k = 0; k < step->island_count; k++) step->islands[k].impact = 0;
  for (int k = 0; k < cpu->pair_count; k++) {
    Pair *p = &cpu->pair[k];
    Island *g = &step->islands[pair_island(step, p)];
    p->approach = pair_approach(cpu, p, step);
    g->impact = most(g->impact, pair_mass(cpu->model, p) * p->approach * p->approach);
  }
}

/* Friction from the contacts as they are, with the slips remembered from earlier steps. */
static bool lag_forces(Cpu *cpu, const Step *step, Pair *p) {
  const State *state = step->state;
  Affine start[2] = {state->q[p->a], state->q[p->b]};
  const PairMemory *memory = find_memory(state, p->a, p->b);
  const Anchor *anchor = memory ? state->anchor + memory->first_anchor : NULL;
  if (!pair_lag(p, &cpu->scene, start, anchor, memory ? memory->anchor_count : 0)) return false;
  pair_friction_start(p, &cpu->scene, &step->q[p->a], &step->q[p->b]);
  p->energy = p->barrier + pair_friction_energy(p, &cpu->scene, &step->q[p->a], &step->q[p->b]);
  return true;
}

bool pairs_set_forces(Cpu *cpu, Step *step) {
  set_impacts(cpu, step);
  for (int k = 0; k < cpu->pair_count; k++) {
    Pair *p = &cpu->pair[k];
    set_stiffness(cpu, step, p);
    if (p->mu > 0 && !lag_forces(cpu, step, p)) return false;
  }
  return true;
}

bool pair_join(const Cpu *cpu, const Step *step, Pair *p) {
  pair_begin(cpu, step, p);
  pair_eval(p, &cpu->scene, &step->q[p->a], &step->q[p->b]);
  p->approach = pair_approach(cpu, p, step);
  set_stiffness(cpu, step, p);
  return !p->failed;
}

void cpu_stiffen(Backend *base, Step *step, int island, double gap) {
  Cpu *cpu = (Cpu *)base;
  const double factor = 16;
  for (int k = step->islands[island].pair; k >= 0; k = cpu->pair[k].next) {
    Pair *p = &cpu->pair[k];
    if (p->min_gap > gap || p->stiffening > 1e6) continue;
    p->energy += (factor - 1) * p->barrier;
    p->barrier *= factor;
    p->stiffness *= factor;
    p->stiffening *= factor;
  }
}

static double pair_load(const Pair *p) {
  double sum = 0;
  for (int i = 0; i < p->friction_count; i++) sum += p->friction[i].load;
  return sum;
}

bool cpu_renew_friction(Backend *base, Step *step, int island, bool *changed) {
  Cpu *cpu = (Cpu *)base;
  double largest = 0, total = 0;
  soft_load(cpu, step->q); /* trials of other islands may have moved the surfaces */
  for (int k = step->islands[island].pair; k >= 0; k = cpu->pair[k].next) {
    Pair *p = &cpu->pair[k];
    if (p->mu <= 0) continue;
    double before = pair_load(p);
    if (!lag_forces(cpu, step, p)) return false;
    double after = pair_load(p);
    total += after;
    if (fabs(after - before) > largest) largest = fabs(after - before);
  }
  *changed = largest > 0.02 * total;
  return true;
}
