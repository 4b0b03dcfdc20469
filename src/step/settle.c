/* The balance of energy of all clusters, see step/settle.h. */
#include "step/settle.h"

#include <string.h>

#include "base/disjoint.h"
#include "contact/describe.h"
#include "contact/law.h"
#include "kernel/rigid.h"
#include "step/flight.h"
#include "step/joint.h"
#include "step/soft.h"

static void unite(Settle *s, int a, int b) { disjoint_join(s->root, a, b); }

/* The block that represents a body in its cluster: of a soft body the first vertex that is not held. */
static int block_of(const Model *m, int body) {
  if (!m->body[body].soft) return body;
  const Soft *soft = &m->soft[m->body[body].soft - 1];
  int v = 0;
  while (v + 1 < soft->vertex_count && !block_moves(m, soft->first + v)) v++;
  return soft->first + v;
}

static bool is_own(const Settle *s, int block) { return !s->own || s->own[block]; }

bool settle_acts(const Pair *p) { return p->contact.count > 0 || p->friction.count > 0 || p->coupled; }

/* Of a pair's barrier energy, half belongs to each of its bodies, or all to the only one that moves. */
static double share_of(const Model *m, const Pair *p, int body, double energy) {
  if (!(energy > 0) || !block_moves(m, block_of(m, body))) return 0;
  int other = body == p->a ? p->b : p->a;
  return other != body && block_moves(m, block_of(m, other)) ? 0.5 * energy : energy;
}

void settle_store(Work *w, const Pairs *pairs, const ContactScene *scene) {
  memset(w->stored, 0, (size_t)w->model->body_count * sizeof *w->stored);
  for (int k = 0; k < pairs->count; k++) {
    const Pair *p = pairs_at(pairs, k);
    if (!(p->barrier > 0)) continue;
    double held = pair_barrier_before(p, scene, w->h2, w->state);
    w->stored[p->a] += share_of(w->model, p, p->a, held);
    if (p->b != p->a) w->stored[p->b] += share_of(w->model, p, p->b, held);
  }
}

void settle_unite(Settle *s) {
  const Model *m = s->work->model;
  for (int i = 0; i < m->block_count; i++) s->root[i] = i;
  for (int k = 0; k < m->soft_count; k++)
    for (int v = 1; v < m->soft[k].vertex_count; v++) unite(s, m->soft[k].first, m->soft[k].first + v);
  for (int k = 0; k < m->attachment_count; k++)
    unite(s, m->attachment[k].body, m->soft[m->attachment[k].soft].first + m->attachment[k].vertex);
  for (int j = 0; j < m->joint_count; j++) {
    const Joint *joint = &m->joint[j];
    int a = joint_body(m, j);
    for (int e = 0; e < 2; e++)
      if (a >= 0 && joint->end[e].body >= 0) unite(s, a, joint->end[e].body);
    for (int e = 0; e < 2 && joint->partner[0] >= 0; e++)
      if (a >= 0 && joint_body(m, joint->partner[e]) >= 0) unite(s, a, joint_body(m, joint->partner[e]));
  }
  for (int k = 0; k < s->pairs->count; k++) {
    if (!s->acts[k]) continue;
    int a = block_of(m, s->pairs->body[k][0]), b = block_of(m, s->pairs->body[k][1]);
    if (block_moves(m, a) && block_moves(m, b)) unite(s, a, b);
  }
}

/* NULL if no block of it moves. */
static Cluster *cluster_of(Settle *s, int block) {
  int label = s->label[disjoint_root(s->root, block)];
  return label < 0 ? NULL : &s->cluster[label];
}

static bool is_world(const Model *m, int body) {
  return body < 0 || (m->body[body].motion == ABD_MOTION_STATIC && !m->body[body].soft);
}

/* What is at the other side of a contact or a joint: the world, or a body of the cluster. */
static void mark_side(const Model *m, Cluster *c, int body) {
  if (is_world(m, body)) c->tied = true, c->ties++;
  else if (m->body[body].motion == ABD_MOTION_KINEMATIC) c->scripted = true;
}

/* A rope that stays taut, and is fixed to the world at one end. */
static void hook(const Settle *s, int joint, Cluster *c) {
  const Joint *j = &s->work->model->joint[joint];
  int fixed = is_world(s->work->model, j->end[0].body) ? 0 : 1;
  if (!is_world(s->work->model, j->end[fixed].body)) return;
  Vec3 point[2];
  for (int e = 0; e < 2; e++) {
    Affine q = joint_pose(s->after->q.body, j->end[e].body);
    point[e] = affine_point(&q, j->end[e].anchor);
  }
  c->hooks++;
  c->along = unit(sub(point[1], point[0]));
}

void settle_add_joints(Settle *s) {
  const Model *m = s->work->model;
  const Work *w = s->work;
  for (int j = 0; j < m->joint_count; j++) {
    int body = joint_body(m, j);
    Cluster *c = body < 0 ? NULL : cluster_of(s, body);
    if (!c) continue;
    c->jointed = true;
    if (m->joint[j].partner[0] < 0)
      for (int e = 0; e < 2; e++) {
        mark_side(m, c, m->joint[j].end[e].body);
        c->grips |= is_world(m, m->joint[j].end[e].body);
      }
    c->driven |= w->state->joint[j].drive.kind != ABD_DRIVE_NONE;
    bool guides = joint_guides(w, j);
    c->guided |= guides;
    if (guides) hook(s, j, c);
    c->touched |= joint_takes_energy(m, w->state, j) && !guides;
    c->loaded |= joint_is_loaded(m, w->state, j);
    double drive, damping;
    joint_work(w, j, s->after, &drive, &damping);
    s->report->work[ABD_WORK_DRIVES] += drive;
    s->report->work[ABD_WORK_DAMPING] += damping;
    c->known += drive + damping;
    c->drive_work += drive;
    double stored = joint_spring_gain(w, j);
    c->gain += stored;
    c->exchange += fabs(stored);
    c->owed += w->state->joint[j].owed;
    c->joints++;
    double error = joint_spring_error(w, j);
    c->swing[error > 0] += error;
  }
}

/* A scripted body works against the blows that it gives instead of what it did to the same bodies in the solve. */
static double blow_work(const Settle *s, int k) {
  const Work *w = s->work;
  const Pair *p = pairs_at(s->pairs, k);
  const int side[2] = {p->a, p->b};
  double sum = 0;
  if (!s->blows->any || p->soft || !(w->bounced[p->a] || w->bounced[p->b])) return 0;
  for (int x = 0; x < 2; x++) {
    if (w->model->body[side[x]].motion != ABD_MOTION_KINEMATIC) continue;
    Affine way = affine_sub(w->q.body[side[x]], w->state->q.body[side[x]]);
    for (int i = 0; i < p->acting; i++) {
      const Contact *c = &pair_contacts(p, s->scene)[i];
      AbdContact solve = contact_describe(p, i, s->scene, &w->q.body[p->a], &w->q.body[p->b], w->h2), blow = solve;
      blows_describe(s->blows, w, s->pairs, k, i, &blow);
      Vec3 more = sub(vec3_from(blow.friction_force), vec3_from(solve.friction_force));
      more = add_scaled(more, blow.normal_force - solve.normal_force, c->normal);
      sum += (x == 0 ? -1 : 1) * dot(more, affine_point(&way, x == 0 ? c->ya : c->yb));
    }
  }
  return sum;
}

void settle_pair_work(const Settle *s, int k, double work[SETTLE_WORKS]) {
  const Work *w = s->work;
  const Pair *p = pairs_at(s->pairs, k);
  const Affine *start = w->state->q.body;
  work[SETTLE_FRICTION] = pair_friction_work(p, s->scene) / w->h2;
  if (model_drifts(w->model, p->a, p->b))
    work[SETTLE_BELT] = pair_drift_work(p, s->scene, (Affine[2]){start[p->a], start[p->b]}) / w->h2;
  work[SETTLE_SCRIPT] = blow_work(s, k);
}

/* A surface that moves against its body drives the bodies on it. */
static void add_pair_work(Settle *s, int k, const double work[SETTLE_WORKS], Cluster *c) {
  const int *body = s->pairs->body[k];
  double friction = work[SETTLE_FRICTION], belt = work[SETTLE_BELT], script = work[SETTLE_SCRIPT];
  s->report->work[ABD_WORK_FRICTION] += friction;
  s->report->work[ABD_WORK_SCRIPTS] += script;
  c->known += friction + script;
  if (!model_drifts(s->work->model, body[0], body[1])) return;
  s->report->work[ABD_WORK_SCRIPTS] += belt;
  c->known += belt;
  c->scripted |= pairs_at(s->pairs, k)->friction.count > 0;
}

/* The directions in which contacts of the cluster with the world push. */
static void add_pushes(const Settle *s, const Pair *p, Cluster *c, bool own) {
  c->grips |= pair_rubs(p) || p->friction.count > 0;
  for (int i = 0; i < p->acting && own && !c->grips; i++) {
    Vec3 n = pair_contacts(p, s->scene)[i].normal;
    c->pushes = mat3_add(c->pushes, mat3_outer(n, n));
  }
}

void settle_add_pair(Settle *s, int k, const double work[SETTLE_WORKS], bool counts) {
  const Model *m = s->work->model;
  const int *body = s->pairs->body[k];
  const Pair *p = pairs_at(s->pairs, k);
  for (int side = 0; side < 2; side++) {
    if (!block_moves(m, block_of(m, body[side]))) continue;
    Cluster *c = cluster_of(s, block_of(m, body[side]));
    c->touched = true;
    for (int other = 0; other < 2; other++) mark_side(m, c, body[other]);
    bool own = is_own(s, block_of(m, body[side]));
    if (is_world(m, body[!side])) add_pushes(s, p, c, own);
    if (own && (side == 0 || body[0] != body[1])) c->released -= share_of(m, p, body[side], p->barrier) / s->work->h2;
  }
  int block = block_of(m, block_moves(m, block_of(m, body[0])) ? body[0] : body[1]);
  if (counts) add_pair_work(s, k, work, cluster_of(s, block));
}

void settle_add_soft(Settle *s) {
  const Model *m = s->work->model;
  for (int k = 0; k < m->soft_count; k++) {
    const Soft *soft = &m->soft[k];
    Cluster *c = cluster_of(s, soft->first);
    if (!c) continue;
    c->touched = true; /* elements damp */
    c->soft = true;
    c->released += s->work->stored[soft->body] / s->work->h2;
    for (int v = 0; v < soft->vertex_count; v++) {
      if (block_motion(m, soft->first + v) == ABD_MOTION_STATIC) c->tied = c->grips = true;
      c->scripted |= block_motion(m, soft->first + v) == ABD_MOTION_KINEMATIC;
    }
  }
}

double *settle_soft_gain(Settle *s, int k) {
  Cluster *c = cluster_of(s, s->work->model->soft[k].first);
  return c ? &c->gain : NULL;
}

/* The half kick that contact took in the step before acts in this one, see State.taken. If contact has ended, it may
 * raise the energy. Flights of mechanisms are corrected without this. */
static void mark_taken(const Work *w, int i, Cluster *c) {
  if (block_is_vertex(w->model, i) || w->model->body[i].jointed) return;
  if (norm_sq(w->state->taken[i].v) > 0) c->touched = c->tied = true;
}

void settle_number(Settle *s) {
  const Model *m = s->work->model;
  s->count = 0;
  for (int i = 0; i < m->block_count; i++) s->label[i] = s->of[i] = -1;
  for (int k = 0; k < m->moving_count; k++) {
    int *label = &s->label[disjoint_root(s->root, m->moving[k])];
    if (*label < 0) *label = s->count++;
    if (is_own(s, m->moving[k])) s->of[m->moving[k]] = *label;
  }
}

/* ---- sums over blocks ---- */

static bool has_several_chunks(const Settle *s, int cluster) {
  return s->members->first[cluster + 1] - s->members->first[cluster] > SEGMENT_CHUNK;
}

int settle_number_parts(Settle *s) {
  int count = 0;
  for (int k = 0; k < s->members->chunk_count; k++)
    if (has_several_chunks(s, s->members->chunk[k].segment)) s->chunk[k].part = count++;
  return count;
}

static bool is_first_chunk(const Settle *s, int chunk) {
  return s->members->chunk[chunk].first == s->members->first[s->members->chunk[chunk].segment];
}

static void add_block(const Settle *s, int i, Cluster *c, SettleChunk *sum) {
  const Work *w = s->work;
  if (block_motion(w->model, i) == ABD_MOTION_DYNAMIC) {
    if (!block_is_vertex(w->model, i) && w->model->body[i].freedom.rotations == 1)
      c->jointed = c->tied = c->grips = true;
    mark_taken(w, i, c);
    GivenWork own = cluster_add(c, w, i, s->after);
    sum->given.gravity += own.gravity;
    sum->given.forces += own.forces;
    sum->given.drag += own.drag;
    return;
  }
  double script = cluster_script_work(w, i);
  c->scripted = true;
  c->known += script;
  sum->script += script;
}

void settle_add_chunk(Settle *s, int k) {
  Chunk chunk = s->members->chunk[k];
  SettleChunk *sum = &s->chunk[k];
  bool several = has_several_chunks(s, chunk.segment);
  sum->given = (GivenWork){0, 0, 0};
  sum->script = sum->rest = 0;
  Cluster *c = several ? &s->part[sum->part] : &s->cluster[chunk.segment];
  if (several) memset(c, 0, sizeof *c);
  for (int e = chunk.first; e < chunk.end; e++) add_block(s, s->members->item[e], c, sum);
}

void settle_join_chunks(Settle *s) {
  double *work = s->report->work;
  for (int k = 0; k < s->members->chunk_count; k++) {
    const SettleChunk *sum = &s->chunk[k];
    int cluster = s->members->chunk[k].segment;
    work[ABD_WORK_GRAVITY] += sum->given.gravity;
    work[ABD_WORK_FORCES] += sum->given.forces;
    work[ABD_WORK_DAMPING] += sum->given.drag;
    work[ABD_WORK_SCRIPTS] += sum->script;
    if (has_several_chunks(s, cluster)) cluster_join(&s->cluster[cluster], &s->part[sum->part]);
  }
}

/* ---- velocities ---- */

static void close_cluster(const Settle *s, int chunk) {
  Cluster *c = &s->cluster[s->members->chunk[chunk].segment];
  c->keeps_spin = s->work->model->def.integrator == ABD_INTEGRATOR_RIGID;
  cluster_close(c, s->work->h);
  s->chunk[chunk].rest = cluster_rest(c);
  s->chunk[chunk].acted_on = c->touched || c->driven || c->scripted;
}

/* Another process may count a cluster that has its first block there. */
void settle_close_large(Settle *s) {
  for (int k = 0; k < s->members->chunk_count; k++) {
    Chunk chunk = s->members->chunk[k];
    s->chunk[k].counts = is_first_chunk(s, k) && is_own(s, disjoint_root(s->root, s->members->item[chunk.first]));
    if (is_first_chunk(s, k) && has_several_chunks(s, chunk.segment)) close_cluster(s, k);
  }
}

static Flight momenta(const Work *w, int i, const State *after) {
  const Affine *q = &after->q.body[i], *rate = &after->rate.body[i];
  return (Flight){rate->n[0], spin_momentum(affine_linear(q), affine_linear(rate), w->model->body[i].second)};
}

static void settle_block(const Settle *s, int i, const Cluster *c) {
  State *after = s->after;
  node_put(s->work->model, after->rate, i, cluster_rate(c, s->work, i, after));
  if (!block_is_vertex(s->work->model, i)) after->taken[i] = cluster_taken(c, s->work->model, i, after);
}

/* Notes what contact gave a body after the solve. */
static void settle_body(const Settle *s, int i, const Cluster *c, bool changes) {
  Flight back = flight_returned(s->work, i), took = s->after->taken[i];
  Flight *later = &s->work->later[i];
  *later = (Flight){sub(back.v, took.v), sub(back.l, took.l)};
  if (!changes) return;
  Flight before = momenta(s->work, i, s->after);
  settle_block(s, i, c);
  Flight now = momenta(s->work, i, s->after);
  *later = (Flight){add(later->v, sub(now.v, before.v)), add(later->l, sub(now.l, before.l))};
}

void settle_close_chunk(Settle *s, int k) {
  const Model *m = s->work->model;
  Chunk chunk = s->members->chunk[k];
  const Cluster *c = &s->cluster[chunk.segment];
  if (!has_several_chunks(s, chunk.segment)) close_cluster(s, k);
  bool changes = cluster_changes(c);
  for (int e = chunk.first; e < chunk.end; e++) {
    int i = s->members->item[e];
    if (block_motion(m, i) != ABD_MOTION_DYNAMIC) continue;
    if (!block_is_vertex(m, i)) settle_body(s, i, c, changes);
    else if (changes) settle_block(s, i, c);
  }
}

void settle_share_owed(Settle *s) {
  const Model *m = s->work->model;
  for (int j = 0; j < m->joint_count; j++) {
    int body = joint_body(m, j);
    const Cluster *c = body < 0 ? NULL : cluster_of(s, body);
    s->after->joint[j].owed = c ? c->owed / c->joints : 0;
  }
}

void settle_add_rests(Settle *s) {
  for (int k = 0; k < s->members->chunk_count; k++) {
    const SettleChunk *sum = &s->chunk[k];
    if (sum->counts) s->report->work[sum->acted_on ? ABD_WORK_IMPACTS : ABD_WORK_RESIDUAL] += sum->rest;
  }
}
