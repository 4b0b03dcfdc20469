/* Forces in linear joints, see step/reaction.h. */
#include "step/reaction.h"

#include <stdlib.h>
#include <string.h>

#include "linear/block_cholesky.h"
#include "linear/block_edge.h"
#include "step/joint.h"
#include "step/soft.h"

/* One row: its gradient by the poses of the joint's two ends. */
typedef struct Row {
  Affine end[2];
} Row;

static Affine row_side(const LinearRow *row, int end, int axis) {
  Vec3 direction = norm_sq(row->direction) > 0 ? row->direction : vec3(axis == 0, axis == 1, axis == 2);
  Affine g;
  for (int k = 0; k < 4; k++) g.n[k] = scale(row->weight[end][k], direction);
  return g;
}

static int joint_rows(const Joint *j, Row out[12]) {
  LinearRow row[JOINT_LINEAR_ROWS];
  int linear = joint_linear_rows(j, row), count = 0;
  for (int r = 0; r < linear; r++) {
    int axes = norm_sq(row[r].direction) > 0 ? 1 : 3;
    for (int k = 0; k < axes; k++, count++)
      for (int e = 0; e < 2; e++) out[count].end[e] = row_side(&row[r], e, k);
  }
  return count;
}

static Vec3 weight_of(const Body *b) {
  double least_weight = 1e-6 * max_component(b->weight);
  return vec3_max(b->weight, vec3(least_weight, least_weight, least_weight));
}

/* x . M^-1 y */
static double inverse_dot(const Body *b, const Affine *x, const Affine *y) {
  Vec3 w = weight_of(b);
  double sum = dot(x->n[0], y->n[0]) / b->pull;
  for (int k = 0; k < 3; k++) sum += dot(x->n[k + 1], y->n[k + 1]) / component(w, k);
  return sum;
}

/* ---- Soft bodies in contact with, or attached to, linked bodies ---- */

/* Adds the forces of contacts on linked vertices. */
static void add_springs(const Linkage *l, const Pair *p, const ContactScene *scene, Affine *gradient) {
  const Spring *s = pair_springs(p, scene);
  for (int k = 0; k < p->spring.count; k++)
    for (int i = 0; i < s[k].count; i++) {
      if (!linkage_of(l, s[k].vertex[i])) continue;
      Vec3 *g = &gradient[l->of_body[s[k].vertex[i]]].n[0];
      *g = add_scaled(*g, s[k].weight[i], s[k].force);
    }
}

/* Adds the forces of elements on attached vertices. */
static void add_soft_elements(const Work *w, const Soft *soft, Affine *gradient) {
  const Linkage *l = &w->model->linkage;
  SoftTerm t;
  for (int e = 0, n = soft_element_count(soft); e < n; e++) {
    int v[4], count;
    bool linked = false;
    soft_element_vertices(soft, e, v, &count);
    for (int k = 0; k < count; k++) linked |= linkage_of(l, v[k]) != NULL;
    if (!linked) continue;
    soft_term(w, soft, e, w->q, false, &t);
    for (int k = 0; k < t.count; k++)
      if (linkage_of(l, t.body[k])) {
        Vec3 *g = &gradient[l->of_body[t.body[k]]].n[0];
        *g = add(*g, t.gradient[k]);
      }
  }
}

/* Adds the gradient of each attached vertex to its body: x = n0 + Y . (n1, n2, n3), Y its rest coordinates there. */
static void add_attached_gradients(const Model *m, Affine *gradient) {
  for (int k = 0; k < m->attachment_count; k++) {
    const Attachment *a = &m->attachment[k];
    const Affine *pose = &m->body[a->body].start;
    Vec3 y = mat3_mul_vec(mat3_inverse(affine_linear(pose)), sub(soft_place(&m->soft[a->soft], a->vertex), pose->n[0]));
    Vec3 g = gradient[m->linkage.of_body[m->soft[a->soft].first + a->vertex]].n[0];
    Affine *to = &gradient[m->linkage.of_body[a->body]];
    to->n[0] = add(to->n[0], g);
    for (int i = 0; i < 3; i++) to->n[i + 1] = add_scaled(to->n[i + 1], component(y, i), g);
  }
}

typedef struct Reactions {
  const Work *work;
  const Pairs *pairs;
  const ContactScene *scene;
  const JointedFlight *flight;
  int threads;
  Affine *gradient; /* per linked block */
  Row (*row)[12];
  int *size, *joint; /* of each block */
  int *at;           /* first unknown of a block */
  int block_count;
  int (*edge)[2];
  int edge_count, edge_capacity;
  double *right;
} Reactions;

/* In a step in which it bounced, joints act on a body in flight and pass blows on, and no more. */
static bool has_bounced(const Work *w, int block) { return !block_is_vertex(w->model, block) && w->bounced[block]; }

static void add_bodies(Reactions *r) {
  const Work *w = r->work;
  const Linkage *l = &w->model->linkage;
  for (int k = 0; k < l->linked_count; k++) {
    int block = l->linked[k].body;
    Affine q = node_pose(w->model, w->q, block);
    r->gradient[k] = has_bounced(w, block) ? (Affine){0} : body_gradient(w, block, &q);
    if (r->flight->count) /* the joints have acted in flight, too */
      r->gradient[k] = affine_add_scaled(r->gradient[k], w->h2, mechanism_force(r->flight, block));
  }
}

static void add_pair(Reactions *r, Pair *p) {
  const Work *w = r->work;
  const Linkage *l = &w->model->linkage;
  bool a = linkage_of(l, p->a) && !has_bounced(w, p->a), b = linkage_of(l, p->b) && !has_bounced(w, p->b);
  if (!(a || b || p->soft) || (p->contact.count == 0 && p->friction.count == 0)) return;
  pair_assemble(p, r->scene, &w->q.body[p->a], &w->q.body[p->b]);
  if (p->failed) return;
  for (int i = 0; i < 4; i++) {
    Vec3 *ga = a ? &r->gradient[l->of_body[p->a]].n[i] : NULL, *gb = b ? &r->gradient[l->of_body[p->b]].n[i] : NULL;
    if (ga) *ga = add(*ga, pair_moment_sums(p, r->scene)->ga[i]);
    if (gb) *gb = add(*gb, pair_moment_sums(p, r->scene)->gb[i]);
  }
  if (p->soft) add_springs(l, p, r->scene, r->gradient);
}

static void add_joint(Reactions *r, int j) {
  const Linkage *l = &r->work->model->linkage;
  JointForce force[JOINT_FORCES];
  int count = joint_forces(r->work, j, r->work->q.body, force);
  for (int f = 0; f < count; f++)
    for (int x = 0; x < force[f].jet.count; x++) {
      const LinkedBody *linked = linkage_of(l, force[f].jet.body[x]);
      Affine *g = linked && !has_bounced(r->work, force[f].jet.body[x]) ? &r->gradient[linked - l->linked] : NULL;
      if (g) *g = affine_add_scaled(*g, force[f].slope, force[f].jet.gradient[x]);
    }
}

/* The gradient of all energies except linear joints at the step's last poses. */
static void gather_gradients(Reactions *r) {
  const Model *m = r->work->model;
  add_bodies(r);
  for (int k = 0; k < r->pairs->count; k++) add_pair(r, pairs_at(r->pairs, k));
  for (int j = 0; j < m->joint_count; j++) add_joint(r, j);
  for (int k = 0; m->attachment_count && k < m->soft_count; k++) add_soft_elements(r->work, &m->soft[k], r->gradient);
  add_attached_gradients(m, r->gradient);
}

typedef struct Incidence {
  int body, block;
} Incidence; /* a joint at a body */

static int compare_incidences(const void *x, const void *y) {
  const Incidence *a = x, *b = y;
  return a->body != b->body ? a->body - b->body : a->block - b->block;
}

/* Couples joints that share a moving body. */
static bool find_edges(Reactions *r, const Model *m) {
  Incidence *incidence = mem_alloc((size_t)r->block_count * 2, sizeof *incidence);
  int count = 0;
  if (!incidence) return false;
  for (int b = 0; b < r->block_count; b++)
    for (int e = 0; e < 2; e++)
      if (m->joint[r->joint[b]].end[e].body >= 0)
        incidence[count++] = (Incidence){m->joint[r->joint[b]].end[e].body, b};
  qsort(incidence, (size_t)count, sizeof *incidence, compare_incidences);
  bool ok = true;
  for (int i = 0; ok && i < count; i++)
    for (int j = i + 1; ok && j < count && incidence[j].body == incidence[i].body; j++) {
      ok = mem_reserve((void **)&r->edge, &r->edge_capacity, r->edge_count + 1, sizeof *r->edge);
      if (!ok) break;
      r->edge[r->edge_count][0] = incidence[i].block;
      r->edge[r->edge_count++][1] = incidence[j].block;
    }
  mem_free(incidence);
  r->edge_count = block_edges_sort(r->edge, r->edge_count);
  return ok;
}

/* C_x M^-1 C_y^T of two blocks. */
static void product(const Reactions *r, const Model *m, int x, int y, double *out) {
  const Joint *a = &m->joint[r->joint[x]], *b = &m->joint[r->joint[y]];
  memset(out, 0, 144 * sizeof(double));
  for (int e = 0; e < 2; e++)
    for (int f = 0; f < 2; f++) {
      int body = a->end[e].body;
      if (body < 0 || b->end[f].body != body) continue;
      for (int j = 0; j < r->size[y]; j++)
        for (int i = 0; i < r->size[x]; i++)
          out[r->size[x] * j + i] += inverse_dot(&m->body[body], &r->row[x][i].end[e], &r->row[y][j].end[f]);
    }
}

static bool solve_rows(Reactions *r, const Model *m, BlockCholesky *solver) {
  double block[144];
  if (!block_cholesky_analyze(solver, r->block_count, r->size, r->edge_count, (const int(*)[2])r->edge, NULL))
    return false;
  block_cholesky_clear(solver);
  for (int b = 0; b < r->block_count; b++) {
    product(r, m, b, b, block);
    for (int i = 0; i < r->size[b]; i++) block[(r->size[b] + 1) * i] *= 1 + 1e-10;
    block_cholesky_add_diagonal(solver, b, block);
    const Joint *j = &m->joint[r->joint[b]];
    for (int i = 0; i < r->size[b]; i++) {
      double sum = 0;
      for (int e = 0; e < 2; e++)
        if (j->end[e].body >= 0)
          sum += inverse_dot(&m->body[j->end[e].body], &r->row[b][i].end[e],
                             &r->gradient[m->linkage.of_body[j->end[e].body]]);
      r->right[r->at[b] + i] = sum;
    }
  }
  for (int e = 0; e < r->edge_count; e++) {
    product(r, m, r->edge[e][0], r->edge[e][1], block);
    block_cholesky_add_edge(solver, e, block);
  }
  if (block_cholesky_factor(solver, r->threads) < 0) return false;
  block_cholesky_solve(solver, r->right, r->right);
  return true;
}

static bool allocate(Reactions *r, const Model *m) {
  size_t n = (size_t)m->joint_count;
  r->gradient = mem_zeroed((size_t)m->linkage.linked_count, sizeof(Affine));
  r->row = mem_alloc(n, sizeof *r->row);
  r->size = mem_alloc(n, sizeof(int));
  r->joint = mem_alloc(n, sizeof(int));
  r->at = mem_alloc(n, sizeof(int));
  r->right = mem_alloc(12 * n, sizeof(double));
  return r->gradient && r->row && r->size && r->joint && r->at && r->right;
}

/* Lists the joints with linear rows. */
static void list_rows(Reactions *r, const Model *m) {
  int at = 0;
  for (int j = 0; j < m->joint_count; j++) {
    int count = joint_rows(&m->joint[j], r->row[r->block_count]);
    if (count == 0) continue;
    r->joint[r->block_count] = j;
    r->size[r->block_count] = count;
    r->at[r->block_count++] = at;
    at += count;
  }
}

bool reactions_find(const Work *work, const Pairs *pairs, const ContactScene *scene, const JointedFlight *flight,
                    int threads, Affine *force) {
  const Model *m = work->model;
  Reactions r = {.work = work, .pairs = pairs, .scene = scene, .flight = flight, .threads = threads};
  BlockCholesky *solver = block_cholesky_create();
  memset(force, 0, (size_t)m->joint_count * sizeof *force);
  bool ok = solver && allocate(&r, m);
  if (ok) list_rows(&r, m);
  if (ok && r.block_count > 0) {
    gather_gradients(&r);
    ok = find_edges(&r, m) && solve_rows(&r, m, solver);
  }
  for (int b = 0; ok && b < r.block_count; b++)
    for (int i = 0; i < r.size[b]; i++)
      force[r.joint[b]] = affine_add_scaled(force[r.joint[b]], r.right[r.at[b] + i] / work->h2,
                                            r.row[b][i].end[joint_moving_end(&m->joint[r.joint[b]])]);
  if (solver) block_cholesky_destroy(solver);
  void *array[] = {r.gradient, r.row, r.size, r.joint, r.at, r.edge, r.right};
  for (int k = 0; k < ARRAY_COUNT(array); k++) mem_free(array[k]);
  return ok;
}
