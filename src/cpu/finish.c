/* What remains of a step: what pairs remember for the next one, and the report's counts, energies and momenta. Tested in
 * tests/test_world.c. */
#include "cpu/cpu.h"

#include "kernel/elasticity.h"
#include "kernel/rigid.h"
#include "step/soft.h"

static bool save_memory(const Cpu *cpu, const Step *step, State *after) {
  bool anchors = cpu->model->def.contact.friction_anchors;
  after->anchor_count = after->memory_count = 0;
  for (int k = 0; k < cpu->pair_count; k++) {
    const Pair *p = &cpu->pair[k];
    int count = anchors ? p->friction_count : 0;
    if (count == 0 && p->stiffening <= 1) continue;
    if (!mem_reserve((void **)&after->anchor, &after->anchor_capacity, after->anchor_count + count, sizeof(Anchor)) ||
        !mem_reserve((void **)&after->memory, &after->memory_capacity, after->memory_count + 1, sizeof(PairMemory)))
      return false;
    after->memory[after->memory_count++] = (PairMemory){p->a, p->b, after->anchor_count, count, p->stiffening};
    for (int i = 0; i < count; i++) {
      const FrictionPoint *f = &p->friction[i];
      after->anchor[after->anchor_count++] =
          (Anchor){f->key, f->ya, friction_slip_after(p, f, &cpu->scene, &step->q[p->a], &step->q[p->b])};
    }
  }
  return true;
}

/* NaN never spreads: a body whose pose or velocity is no number ends the step. */
static bool check_finite(Cpu *cpu, const State *after) {
  for (int s = 0; s < cpu->model->moving_count; s++) {
    int body = cpu->model->moving[s];
    for (int k = 0; k < 4; k++) {
      if (vec3_finite(after->q[body].n[k]) && vec3_finite(after->rate[body].n[k])) continue;
      cpu->base.numeric = true;
      cpu->base.blame.id = (uint32_t)model_whole(cpu->model, body) + 1;
      return false;
    }
  }
  return true;
}

static void report_pairs(const Cpu *cpu, AbdStepReport *r, double h2) {
  r->min_distance = INFINITY;
  r->body_pairs = cpu->pair_count;
  for (int k = 0; k < cpu->pair_count; k++) {
    const Pair *p = &cpu->pair[k];
    r->box_tests += p->counts.box_tests;
    r->candidates += p->counts.candidates;
    r->distances += p->counts.distances;
    r->ccd_calls += p->counts.ccd_calls;
    r->contacts += p->contact_count;
    r->energy[ABD_TERM_CONTACT] += p->barrier / h2;
    r->energy[ABD_TERM_FRICTION] += (p->energy - p->barrier) / h2;
    double d = p->min_distance;
    if (d >= r->min_distance) continue;
    r->min_distance = d;
    r->nearest[0].id = (uint32_t)p->a + 1;
    r->nearest[1].id = (uint32_t)p->b + 1;
  }
}

static void report_body(const Model *m, int i, const State *after, AbdStepReport *r) {
  const Body *b = &m->body[i];
  const Affine *q = &after->q[i], *rate = &after->rate[i];
  Mat3 a = affine_linear(q), c = elastic_strain(a);
  double strain = sqrt(mat3_dot(c, c));
  if (strain > r->max_strain) {
    r->max_strain = strain;
    r->most_strained.id = (uint32_t)i + 1;
  }
  double kinetic = 0.5 * b->mass * norm_sq(rate->n[0]);
  for (int k = 0; k < 3; k++) kinetic += 0.5 * component(b->second, k) * norm_sq(rate->n[k + 1]);
  Vec3 momentum = scale(b->mass, rate->n[0]),
       spin = add(spin_momentum(a, affine_linear(rate), b->second), cross(q->n[0], momentum));
  r->energy[ABD_TERM_KINETIC] += kinetic;
  r->energy[ABD_TERM_GRAVITY] -= b->mass * dot(vec3_from(m->def.gravity), q->n[0]);
  r->energy[ABD_TERM_ELASTIC] += b->volume * elastic_energy((int)b->elasticity, b->stiffness, a);
  for (int k = 0; k < 3; k++) {
    r->momentum[k] += component(momentum, k);
    r->angular_momentum[k] += component(spin, k);
  }
}

/* Elastic energy of a soft body; what damping takes is not stored. */
static double soft_stored(const Cpu *cpu, const Step *step, int k) {
  const Soft *s = &cpu->model->soft[k];
  double sum = 0;
  if (s->def.damping == 0) return step->soft_energy[k] / step->h2;
  for (int e = 0; e < soft_element_count(s); e++) sum += soft_elastic_energy(s, e, step->q);
  return sum;
}

static void report_soft(const Cpu *cpu, const Step *step, int k, AbdStepReport *r) {
  const Soft *s = &cpu->model->soft[k];
  r->energy[ABD_TERM_SOFT] += soft_stored(cpu, step, k);
  for (int e = 0; e < soft_element_count(s); e++) {
    double strain = soft_element_strain(s, e, step->q);
    if (strain <= r->max_soft_strain) continue;
    r->max_soft_strain = strain;
    r->most_strained_soft.id = (uint32_t)s->body + 1;
  }
}

bool cpu_finish(Backend *base, Step *step, State *after) {
  Cpu *cpu = (Cpu *)base;
  soft_load(cpu, step->q);
  for (int k = 0; k < cpu->model->soft_count; k++) report_soft(cpu, step, k, step->report);
  if (!check_finite(cpu, after) || !save_memory(cpu, step, after)) return false;
  report_pairs(cpu, step->report, step->h2);
  for (int i = 0; i < cpu->model->body_count; i++)
    if (cpu->model->body[i].motion == ABD_MOTION_DYNAMIC) report_body(cpu->model, i, after, step->report);
  return true;
}
