/* The invariants, see cpu/validate.h. A check that cannot allocate memory is left out. */
#include "cpu/validate.h"

#ifdef ABD_VALIDATE
#undef NDEBUG
#include <assert.h>
#include <float.h>

#include "geom/crossing.h"

enum { SAMPLE = 16 }; /* one pair of so many */
/* [rounding of a coordinate] With a shorter range, rounding decides whether a contact at its very end is found:
 * distances in two frames differ. Such a contact has next to no force. */
static const double sharp_range = 1e6;

/* A pair by itself: nothing cached, nothing shared with the step. */
typedef struct Fresh {
  PairStore store;
  ContactScene scene;
  Pair pair;
} Fresh;

static bool fresh_init(Fresh *f, const Cpu *cpu, const Pair *of) {
  if (!store_init(&f->store, 1)) return false;
  f->scene = cpu->scene;
  f->scene.path_length = NULL;
  f->scene.store = &f->store;
  f->pair = (Pair){.a = of->a, .b = of->b, .soft = of->soft, .stiffness = of->stiffness, .margin = of->margin};
  return store_reserve(&f->store, 1);
}

/* Evaluates it; false if memory is out. */
static bool fresh_eval(Fresh *f, const Affine *qa, const Affine *qb) {
  pair_eval(&f->pair, &f->scene, qa, qb);
  return !f->pair.failed && store_settle(&f->store);
}

static bool sampled(const Cpu *cpu, int k) {
  return k % SAMPLE == (int)(cpu->work.state->step % SAMPLE) && pair_selected(cpu, k);
}

void validate_islands(const Cpu *cpu) {
  const Islands *s = cpu->islands;
  int bodies = 0;
  for (int k = 0; k < s->count; k++) {
    const Island *g = &s->island[k];
    int active = 0;
    for (int e = s->member.first[k]; e < s->member.first[k + 1]; e++) {
      assert(s->of[s->member.item[e]] == k);
      active += cpu->work.active[s->member.item[e]];
    }
    assert(g->body_count == s->member.first[k + 1] - s->member.first[k]);
    assert(!g->selected || g->active_count == active);
    bodies += g->body_count;
  }
  assert(bodies == cpu->model->moving_count);
}

static bool is_sharp(const Cpu *cpu, const Pair *p) {
  double far = most(norm(cpu->work.trial.body[p->a].n[0]), norm(cpu->work.trial.body[p->b].n[0]));
  return cpu->scene.range > sharp_range * DBL_EPSILON * far;
}

void validate_contacts(const Cpu *cpu) {
  for (int k = 0; k < cpu->pairs.count; k++) {
    const Pair *p = pairs_at(&cpu->pairs, k);
    if (!sampled(cpu, k) || p->soft || !is_sharp(cpu, p)) continue;
    Fresh f;
    if (fresh_init(&f, cpu, p) && fresh_eval(&f, &cpu->work.trial.body[p->a], &cpu->work.trial.body[p->b])) {
      assert(f.pair.contact.count == p->contact.count);
      assert(f.pair.min_gap == p->min_gap);
      assert(f.pair.barrier == p->barrier);
    }
    store_destroy(&f.store);
  }
}

void validate_bounds(const Cpu *cpu) {
  const Work *w = &cpu->work;
  for (int k = 0; k < cpu->pairs.count; k++) {
    const Pair *p = pairs_at(&cpu->pairs, k);
    if (!sampled(cpu, k) || p->soft) continue;
    double bound = cpu->islands->island[islands_of_pair(cpu->islands, cpu->pairs.body[k])].bound;
    for (int part = 1; part <= 4; part++) {
      Affine qa = affine_add_scaled(w->q.body[p->a], 0.25 * part * bound, w->direction.body[p->a]);
      Affine qb = affine_add_scaled(w->q.body[p->b], 0.25 * part * bound, w->direction.body[p->b]);
      Side a = scene_side(&cpu->scene, p->a), b = scene_side(&cpu->scene, p->b);
      Crossing crossing;
      assert(!body_find_crossing(a, &qa, p->a, b, &qb, p->b, &crossing));
    }
  }
}

void validate_energies(const Cpu *cpu) {
  const Work *w = &cpu->work;
  for (int j = (int)(w->state->step % SAMPLE); j < cpu->model->moving_count; j += SAMPLE) {
    int i = cpu->model->moving[j];
    if (!block_is_vertex(cpu->model, i) && !is_halo(cpu, i)) assert(w->energy[i] == body_energy(w, i, &w->q.body[i]));
  }
  for (int k = 0; k < cpu->pairs.count; k++) {
    const Pair *p = pairs_at(&cpu->pairs, k);
    if (!sampled(cpu, k)) continue;
    assert(p->min_gap > 0);
    assert(p->energy >= 0 && p->energy < INFINITY);
  }
}
#else
typedef int ValidateNothing; /* a file must declare something */
#endif
