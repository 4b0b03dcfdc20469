/* Energy, gradient and Hessian of a body by itself: 1/2 |q - target|^2_M + h2 vol psi(A). A large M draws a kinematic
 * body to its target; that, or if its script turns it an elasticity of its own, keeps it rigid. Tested in
 * tests/test_body.c. */
#include "step/work.h"

#include "kernel/body.h"
#include "kernel/constant.h"

static double node_mass(const Model *m, int block, int k) {
  if (k == 0) return block_pull(m, block);
  return block_is_vertex(m, block) ? 0 : component(m->body[block].weight, k - 1);
}

/* Whether it is a scripted body that its script turns: see step/script.c. */
static bool script_turns(const Work *work, int block) {
  const Model *m = work->model;
  return block_motion(m, block) == ABD_MOTION_KINEMATIC && work->script_turns[model_kinematic(m, block)];
}

static double inertia(const Work *work, int block, int k) {
  double part = k > 0 && script_turns(work, block) ? 1 / KINEMATIC_RIGID : 1;
  return part * predict_node_inertia(work, block, k) * node_mass(work->model, block, k);
}

/* What keeps a scripted body that turns rigid: a factor of the energy of ortho. */
static double script_rigidity(const Work *work, int body) { return KINEMATIC_RIGID / 8 * inertia(work, body, 1); }

double body_product(const Work *work, int block, const Affine *a, const Affine *b) {
  double sum = 0;
  for (int k = 0; k < (block_is_vertex(work->model, block) ? 1 : 4); k++)
    sum += inertia(work, block, k) * dot(a->n[k], b->n[k]);
  return sum;
}

/* Whether its columns may turn: those of a vertex never do. */
static bool turns(const Model *m, int block) {
  return !block_is_vertex(m, block) && m->body[block].motion == ABD_MOTION_DYNAMIC &&
         m->body[block].freedom.rotations < 3;
}

static Vec3 vertex_off(const Work *work, int block, Vec3 x) {
  return sub(x, work->target.vertex[block - work->model->body_count]);
}

double body_strain_energy(const Model *m, int body, const Affine *q) {
  const Body *b = &m->body[body];
  return turns(m, body) ? b->volume * elastic_energy((int)b->elasticity, b->stiffness, affine_linear(q)) : 0;
}

bool body_is_strained(const Model *m, int body, const Affine *q) {
  return turns(m, body) && elastic_strain_square(affine_linear(q)) > FREE_STRAIN * FREE_STRAIN;
}

double body_energy(const Work *work, int body, const Affine *q) {
  if (block_is_vertex(work->model, body))
    return 0.5 * inertia(work, body, 0) * norm_sq(vertex_off(work, body, q->n[0]));
  double e = 0;
  for (int k = 0; k < 4; k++) e += 0.5 * inertia(work, body, k) * norm_sq(sub(q->n[k], work->target.body[body].n[k]));
  if (script_turns(work, body))
    return e + script_rigidity(work, body) * elastic_energy(ABD_ELASTICITY_ORTHO, 1, affine_linear(q));
  return e + work->h2 * body_strain_energy(work->model, body, q);
}

BodyTerm body_term(const Work *work, int block) {
  BodyTerm term = {.turns = turns(work->model, block)};
  for (int k = 0; k < 4; k++) term.inertia[k] = inertia(work, block, k);
  if (block_is_vertex(work->model, block)) return term;
  const Body *b = &work->model->body[block];
  term.target = work->target.body[block];
  term.factor = work->h2 * b->volume;
  term.stiffness = b->stiffness;
  term.elasticity = (int)b->elasticity;
  if (!script_turns(work, block)) return term;
  term.turns = true;
  term.factor = script_rigidity(work, block);
  term.stiffness = 1;
  term.elasticity = ABD_ELASTICITY_ORTHO;
  return term;
}

Affine body_gradient(const Work *work, int body, const Affine *q) {
  if (block_is_vertex(work->model, body))
    return (Affine){{scale(inertia(work, body, 0), vertex_off(work, body, q->n[0]))}};
  BodyTerm term = body_term(work, body);
  return body_term_gradient(&term, q);
}

void body_hessian(const Work *work, int body, const Affine *q, double damping, bool project, double h[144]) {
  BodyTerm term = body_term(work, body);
  body_term_hessian(&term, q, damping, project, h);
}

double body_noise(const Work *work, int body, double energy) {
  if (block_is_vertex(work->model, body)) return 1e-14 * fabs(energy);
  const Body *b = &work->model->body[body];
  double stiffness = script_turns(work, body) ? script_rigidity(work, body) : work->h2 * b->stiffness * b->volume;
  return ROUNDING_ENERGY * fabs(energy) + ROUNDING_STRAIN * sqrt(fabs(energy) * stiffness);
}

Vec3 body_turn(const Affine *q, const Affine *d) {
  return mat3_axial(mat3_mul(affine_linear(d), mat3_transpose(affine_linear(q))));
}

/* With dA = [w] A + rest, A -> exp([w]) (A + rest). The path to it is still a straight line in q. */
Affine body_retract(const Work *work, int block, const Affine *q, Affine d) {
  if (!turns(work->model, block) && !script_turns(work, block)) return d;
  Mat3 a = affine_linear(q), da = affine_linear(&d);
  Vec3 w = body_turn(q, &d);
  Mat3 rest = mat3_sub(mat3_add(a, da), mat3_mul(mat3_skew(w), a));
  return affine(d.n[0], mat3_sub(mat3_mul(mat3_exp(w), rest), a));
}

Affine body_turned(const Model *m, int block, const Affine *q, const Affine *d) {
  if (!turns(m, block)) return *d;
  Mat3 a = affine_linear(q);
  return affine(d->n[0], mat3_sub(mat3_mul(mat3_exp(body_turn(q, d)), a), a));
}

double body_speed(const Work *work, int body, const Affine *d) {
  if (block_is_vertex(work->model, body)) return norm(d->n[0]) / work->h;
  const Mesh *mesh = &work->model->mesh[work->model->body[body].mesh];
  double most = 0;
  for (int k = 0; k < 8; k++) {
    Vec3 lo = mesh->box.lo, hi = mesh->box.hi,
         corner = vec3(k & 1 ? hi.x : lo.x, k & 2 ? hi.y : lo.y, k & 4 ? hi.z : lo.z);
    double m = norm_sq(affine_point(d, corner));
    if (!(m <= most)) most = m;
  }
  return sqrt(most) / work->h;
}

double block_energy(const Work *work, int block) {
  if (!block_is_vertex(work->model, block)) return work->energy[block];
  Affine q = node_pose(work->model, work->q, block);
  return body_energy(work, block, &q);
}

double block_speed(const Work *work, int block) {
  if (!block_is_vertex(work->model, block)) return work->speed[block];
  Affine d = node_vector(work->model, work->newton, block);
  return body_speed(work, block, &d);
}
