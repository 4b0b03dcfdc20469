/* Motions and lower bounds of distances of a pair, in b's rest frame. Tested in tests/test_contact.c and
 * tests/test_bound.c. */
#include "contact/cache.h"

#include <float.h>
#include <string.h>

#include "kernel/constant.h"

void pair_order(const Model *model, int *a, int *b) {
  const Mesh *x = &model->mesh[model->body[*a].mesh], *y = &model->mesh[model->body[*b].mesh];
  bool larger = x->radius > y->radius || (x->radius == y->radius && *a < *b);
  bool soft_a = model->body[*a].soft, soft_b = model->body[*b].soft;
  bool swap = y->half_space != x->half_space ? x->half_space : soft_a != soft_b ? soft_b : soft_a ? *a < *b : larger;
  if (swap) {
    int t = *a;
    *a = *b;
    *b = t;
  }
}

/* The corners of the box move by m + s1 u1 + s2 u2 + s3 u3 with signs s: m is the motion of its centre, u_k that of
 * half an edge. Opposite corners have |m + e|^2 and |m - e|^2, whose larger one is |m|^2 + |e|^2 + 2 |m.e|. Ten
 * products suffice, and the largest of the four sums has no cancellation. Pairs without contact spend most of their
 * time here. */
static double farthest_corner(const Mesh *a, const Affine *d, Vec3 m) {
  const Vec3 half = scale(0.5, sub(a->box.hi, a->box.lo));
  const Vec3 u = scale(half.x, d->n[1]), v = scale(half.y, d->n[2]), w = scale(half.z, d->n[3]);
  double mu = dot(m, u), mv = dot(m, v), mw = dot(m, w), uv = dot(u, v), uw = dot(u, w), vw = dot(v, w);
  double p = uv + uw + vw + fabs(mu + mv + mw), q = uv - uw - vw + fabs(mu + mv - mw);
  double r = uw - uv - vw + fabs(mu - mv + mw), s = vw - uv - uw + fabs(mv + mw - mu);
  return sqrt(norm_sq(m) + norm_sq(u) + norm_sq(v) + norm_sq(w) + 2 * most(most(p, q), most(r, s)));
}

double pair_displacement(const Mesh *a, const Affine *t0, const Affine *t1) {
  const Affine d = affine_sub(*t1, *t0);
  return farthest_corner(a, &d, affine_point(&d, scale(0.5, add(a->box.lo, a->box.hi))));
}

double pair_spread(const Mesh *a, const Affine *d) { return farthest_corner(a, d, vec3(0, 0, 0)); }

/* Points in contact are no farther from the world's origin than a reaches. */
double pair_rounding(const Pair *pair, const ContactScene *scene, const Affine *qa) {
  Side a = scene_side(scene, pair->a);
  return GAP_ROUNDING * DBL_EPSILON * (max_component(vec3_abs(qa->n[0])) + side_radius(&a));
}

/* As memcmp, without a call and branches: the poses are the same as a rule. */
static bool same_bits(const Affine *x, const Affine *y) {
  uint64_t a[12], b[12], differ = 0;
  memcpy(a, x, sizeof a);
  memcpy(b, y, sizeof b);
  for (int k = 0; k < 12; k++) differ |= a[k] ^ b[k];
  return differ == 0;
}

bool pair_at_pose(const Pair *pair, const ContactScene *scene, const Affine *qa, const Affine *qb) {
  const PathLength *p = scene->path_length;
  return p && same_bits(&p[pair->a].at, qa) && same_bits(&p[pair->b].at, qb);
}

bool pair_contacts_valid(const Pair *pair, const ContactScene *scene) {
  const PathLength *p = scene->path_length;
  const uint64_t *valid = pair_cache(pair, scene)->valid;
  return p && valid[0] > 0 && valid[0] == p[pair->a].serial && valid[1] == p[pair->b].serial &&
         pair->barrier < INFINITY;
}

static FullEval eval_now(const Pair *pair, const ContactScene *scene, double rel, double near) {
  const PathLength *a = &scene->path_length[pair->a], *b = &scene->path_length[pair->b];
  return (FullEval){
      {a->serial, b->serial}, sub(a->length.mid, b->length.origin), a->length.spread, b->length.turn, rel, near};
}

static Mark mark_of(const PairCache *cache, const FullEval *w, const Pair *pair, const ContactScene *scene) {
  return (Mark){
      w->apart, w->spread, w->turn, cache->extent + w->rel, w->near, scene->range + pair_separation(pair, scene)};
}

void cache_set_full(PairCache *cache, const Pair *pair, const ContactScene *scene, double rel, double near) {
  cache->full = eval_now(pair, scene, rel, near);
  *pair_mark(pair, scene) = mark_of(cache, &cache->full, pair, scene);
}

double cache_motion(const PairCache *cache, const Pair *pair, const ContactScene *scene) {
  const FullEval *w = &cache->full;
  if (!cache->listed || w->serial[0] == 0) return INFINITY;
  const PathLength *a = &scene->path_length[pair->a], *b = &scene->path_length[pair->b];
  if (w->serial[0] == a->serial && w->serial[1] == b->serial) return 0;
  const Mark mark = {w->apart, w->spread, w->turn, cache->extent + w->rel, w->near, 0};
  return mark_motion(&mark, a, b);
}

double mark_motion(const Mark *w, const PathLength *a, const PathLength *b) {
  if (w->size == 0) return INFINITY;
  double way = norm(sub(sub(a->length.mid, b->length.origin), w->apart)) + a->rounding + b->rounding +
               a->length.spread - w->spread + (b->length.turn - w->turn) * w->size;
  return way / b->stretch * (1 + 1e-9);
}

double mark_near(const Mark *w, const PathLength *a, const PathLength *b) { return w->near - mark_motion(w, a, b); }

void cache_set_mark(const PairCache *cache, const Pair *pair, const ContactScene *scene, double rel, double near) {
  const PathLength *length = scene->path_length;
  Mark *mark = pair_mark(pair, scene);
  if (!(near > mark_near(mark, &length[pair->a], &length[pair->b]))) return;
  const FullEval now = eval_now(pair, scene, rel, near);
  *mark = mark_of(cache, &now, pair, scene);
}

bool pair_is_far(const ContactScene *scene, int slot, const int body[2]) {
  const PathLength *a = &scene->path_length[body[0]], *b = &scene->path_length[body[1]];
  const Mark *w = &scene->store->cache->mark[slot];
  return mark_near(w, a, b) > w->reach / b->stretch * (1 + 1e-9);
}

double least_stretch(const Affine *q) {
  Mat3 a = affine_linear(q), c = mat3_tmul(a, a);
  c.c[0].x -= 1;
  c.c[1].y -= 1;
  c.c[2].z -= 1;
  double s = sqrt(mat3_dot(c, c)), rounding = 1e-14 * (1 + s); /* of a square */
  if (s < 0.75) return sqrt(1 - s);
  double least = mat3_least_singular(a); /* a body that turns by a straight path stretches: it is no small number */
  return sqrt(most(least * least - rounding, 1e-20));
}
