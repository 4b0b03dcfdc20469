/* Builds a linkage: nodes, equations, elimination, columns. Tested in tests/test_linkage.c. */
#include "model/linkage.h"

#include <stdlib.h>
#include <string.h>

#include "model/model.h"

typedef struct Term {
  int scalar;
  double factor;
} Term;
typedef struct Sum {
  Term *term;
  int count, capacity;
} Sum;
typedef struct Users {
  int *scalar;
  int count, capacity;
} Users;

/* Each linked body has 12 scalars, with index 3 node + axis. */
typedef struct Elimination {
  const Model *model;
  Linkage *linkage;
  Sum *sum;            /* an eliminated scalar in terms of the others */
  Users *users;        /* eliminated scalars whose sum contains a scalar */
  int *meets;          /* number of equations that contain a scalar */
  unsigned char *gone; /* eliminated */
  double *value;       /* accumulator over scalars, and the scalars in use */
  int *used, used_count;
  unsigned char *marked;
  double length; /* [m] length of a direction */
  int scalar_count;
  int joint; /* joint whose equations are being eliminated; -1 for others */
} Elimination;

static const double independent = 1e-6; /* smallest independent part of a node, relative to its length */
static const double vanishing = 1e-9;   /* of an equation's largest factor; an equation below it is redundant */

void linkage_read(const LinkedBody *b, const Affine *q, double y[12]) {
  for (int u = 0; u < b->size; u++) {
    int i = b->unknown[u] / 3, axis = b->unknown[u] % 3;
    y[u] = 0;
    for (int k = 0; k < 4; k++) y[u] += b->node[i][k] * component(q->n[k], axis);
  }
}

Affine linkage_pose(const Linkage *l, const LinkedBody *b, const double *y) {
  double q[12];
  memcpy(q, &b->offset, sizeof q);
  for (int c = b->first; c < b->first + b->count; c++) {
    const LinkColumn *column = &l->column[c];
    double x = y[12 * column->owner + column->index];
    for (int k = 0; k < column->count; k++) q[column->at[k]] += column->g[column->at[k]] * x;
  }
  Affine pose;
  memcpy(&pose, q, sizeof pose);
  return pose;
}

/* ---- Bodies and nodes ---- */

static double block_radius(const Model *m, int block) { return block_mesh(m, block)->radius; }

/* Weights over the nodes (p, r c1, r c2, r c3), all in metres. A direction is scaled by the common length. */
static void scaled_weight(const Elimination *e, int body, const double weight[4], double out[4]) {
  double r = block_radius(e->model, body), f = weight[0] == 0 ? e->length : 1;
  out[0] = weight[0];
  for (int k = 1; k < 4; k++) out[k] = f * weight[k] / r;
}

/* A vertex fixed to a body: its node is the body's point at its initial position. */
static LinearRow attachment_row(const Model *m, const Attachment *a, int end[2]) {
  LinearRow row;
  memset(&row, 0, sizeof row);
  const Affine *q = &m->body[a->body].start;
  end[0] = m->soft[a->soft].first + a->vertex;
  end[1] = a->body;
  Vec3 y = mat3_mul_vec(mat3_inverse(affine_linear(q)), sub(soft_place(&m->soft[a->soft], a->vertex), q->n[0]));
  row.weight[0][0] = 1;
  row.weight[1][0] = -1;
  row.weight[1][1] = -y.x;
  row.weight[1][2] = -y.y;
  row.weight[1][3] = -y.z;
  return row;
}

static bool mark_linked(Linkage *l, const Model *m) {
  LinearRow row[JOINT_LINEAR_ROWS];
  l->of_body = mem_alloc((size_t)m->block_count, sizeof(int));
  if (!l->of_body) return false;
  for (int i = 0; i < m->block_count; i++) l->of_body[i] = -1;
  for (int j = 0; j < m->joint_count; j++) {
    if (joint_linear_rows(&m->joint[j], row) == 0) continue;
    for (int e = 0; e < 2; e++)
      if (m->joint[j].end[e].body >= 0) l->of_body[m->joint[j].end[e].body] = 0;
  }
  for (int k = 0; k < m->attachment_count; k++) {
    int end[2];
    attachment_row(m, &m->attachment[k], end);
    l->of_body[end[0]] = l->of_body[end[1]] = 0;
  }
  for (int i = 0; i < m->block_count; i++)
    if (l->of_body[i] == 0) l->of_body[i] = l->linked_count++;
  if (l->linked_count == 0) return true;
  l->linked = mem_zeroed((size_t)l->linked_count, sizeof(LinkedBody));
  if (!l->linked) return false;
  for (int i = 0; i < m->block_count; i++)
    if (l->of_body[i] >= 0) l->linked[l->of_body[i]].body = i;
  return true;
}

/* The part of w that is orthogonal to the directions chosen so far. */
static double independent_part(double direction[4][4], int count, const double w[4], double rest[4]) {
  double size = 0, whole = 0;
  memcpy(rest, w, 4 * sizeof(double));
  for (int pass = 0; pass < 2; pass++)
    for (int i = 0; i < count; i++) {
      double d = 0;
      for (int k = 0; k < 4; k++) d += rest[k] * direction[i][k];
      for (int k = 0; k < 4; k++) rest[k] -= d * direction[i][k];
    }
  for (int k = 0; k < 4; k++) size += rest[k] * rest[k], whole += w[k] * w[k];
  return whole > 0 ? sqrt(size / whole) : 0;
}

typedef struct NodeChoice {
  double direction[4][4];
  int count;
} NodeChoice;

static void offer_node(Elimination *e, NodeChoice *choice, int linked, const double w[4], double threshold) {
  double rest[4], size = 0;
  NodeChoice *c = &choice[linked];
  if (c->count == 4 || independent_part(c->direction, c->count, w, rest) < threshold) return;
  for (int k = 0; k < 4; k++) size += rest[k] * rest[k];
  for (int k = 0; k < 4; k++) {
    c->direction[c->count][k] = rest[k] / sqrt(size);
    e->linkage->linked[linked].node[c->count][k] = w[k];
  }
  c->count++;
}

/* Chooses clearly independent nodes first, then any independent ones, then coordinate axes until there are four. */
static bool choose_nodes(Elimination *e) {
  Linkage *l = e->linkage;
  const Model *m = e->model;
  LinearRow row[JOINT_LINEAR_ROWS];
  NodeChoice *choice = mem_zeroed((size_t)l->linked_count, sizeof *choice);
  if (!choice) return false;
  for (int pass = 0; pass < 2; pass++)
    for (int j = 0; j < m->joint_count; j++) {
      int count = joint_linear_rows(&m->joint[j], row);
      for (int r = 0; r < count; r++)
        for (int s = 0; s < 2; s++) {
          double w[4];
          int body = m->joint[j].end[s].body;
          if (body < 0) continue;
          scaled_weight(e, body, row[r].weight[s], w);
          if (s == 1)
            for (int k = 0; k < 4; k++) w[k] = -w[k];
          offer_node(e, choice, l->of_body[body], w, pass == 0 ? 0.1 : independent);
        }
    }
  for (int b = 0; b < l->linked_count; b++)
    for (double threshold = 0.7; choice[b].count < 4; threshold *= 0.5)
      for (int k = 0; k < 4; k++) {
        double w[4] = {k == 0, k == 1, k == 2, k == 3};
        offer_node(e, choice, b, w, threshold);
      }
  mem_free(choice);
  return true;
}

/* The inverse of a 4x4 matrix by Gauss-Jordan elimination with row pivots. */
static void invert4(double a[4][4], double inverse[4][4]) {
  double work[4][8];
  for (int i = 0; i < 4; i++)
    for (int k = 0; k < 8; k++) work[i][k] = k < 4 ? a[i][k] : k - 4 == i;
  for (int p = 0; p < 4; p++) {
    int best = p;
    for (int i = p + 1; i < 4; i++)
      if (fabs(work[i][p]) > fabs(work[best][p])) best = i;
    for (int k = 0; k < 8; k++) {
      double t = work[p][k];
      work[p][k] = work[best][k];
      work[best][k] = t;
    }
    for (int k = 7; k >= p; k--) work[p][k] /= work[p][p];
    for (int i = 0; i < 4; i++)
      if (i != p)
        for (int k = 7; k >= p; k--) work[i][k] -= work[i][p] * work[p][k];
  }
  for (int i = 0; i < 4; i++)
    for (int k = 0; k < 4; k++) inverse[i][k] = work[i][k + 4];
}

/* ---- Equations ---- */

static void accumulate(Elimination *e, int scalar, double factor) {
  if (!e->marked[scalar]) {
    e->marked[scalar] = 1;
    e->value[scalar] = 0;
    e->used[e->used_count++] = scalar;
  }
  e->value[scalar] += factor;
}

static void accumulate_sum(Elimination *e, const Sum *sum, double factor) {
  for (int t = 0; t < sum->count; t++) accumulate(e, sum->term[t].scalar, factor * sum->term[t].factor);
}

static void clear(Elimination *e) {
  for (int k = 0; k < e->used_count; k++) e->marked[e->used[k]] = 0;
  e->used_count = 0;
}

static int compare_ints(const void *x, const void *y) { return *(const int *)x - *(const int *)y; }

/* Stores the accumulator, times factor, as the sum of an eliminated scalar. */
static bool store(Elimination *e, int scalar, int without, double factor) {
  Sum *sum = &e->sum[scalar];
  sum->count = 0;
  qsort(e->used, (size_t)e->used_count, sizeof(int), compare_ints);
  if (!mem_reserve((void **)&sum->term, &sum->capacity, e->used_count, sizeof(Term))) return false;
  for (int k = 0; k < e->used_count; k++) {
    int s = e->used[k];
    if (s == without || fabs(e->value[s]) < 1e-14) continue;
    sum->term[sum->count++] = (Term){s, factor * e->value[s]};
    Users *u = &e->users[s];
    if (!mem_reserve((void **)&u->scalar, &u->capacity, u->count + 1, sizeof(int))) return false;
    u->scalar[u->count++] = scalar;
  }
  clear(e);
  return true;
}

/* Accumulates an equation with its eliminated scalars substituted. */
static void reduce(Elimination *e, const Term *term, int count) {
  for (int t = 0; t < count; t++) {
    if (e->gone[term[t].scalar]) accumulate_sum(e, &e->sum[term[t].scalar], term[t].factor);
    else accumulate(e, term[t].scalar, term[t].factor);
  }
}

/* Among the scalars with a factor near the largest, the one in the fewest equations; -1 if the equation is
 * redundant. */
static int choose_pivot(const Elimination *e) {
  double largest = 0;
  int best = -1;
  for (int k = 0; k < e->used_count; k++) largest = most(largest, fabs(e->value[e->used[k]]));
  if (largest < vanishing) return -1;
  for (int k = 0; k < e->used_count; k++) {
    int s = e->used[k];
    if (fabs(e->value[s]) < 0.3 * largest) continue;
    if (best < 0 || e->meets[s] < e->meets[best] || (e->meets[s] == e->meets[best] && s > best)) best = s;
  }
  return best;
}

/* Substitutes a newly eliminated scalar in all sums that contain it. */
static bool substitute(Elimination *e, int pivot) {
  Users *u = &e->users[pivot];
  for (int k = 0; k < u->count; k++) {
    int user = u->scalar[k];
    Sum *sum = &e->sum[user];
    double factor = 0;
    for (int t = 0; t < sum->count; t++)
      if (sum->term[t].scalar == pivot) factor = sum->term[t].factor;
    if (factor == 0) continue;
    accumulate_sum(e, sum, 1);
    accumulate_sum(e, &e->sum[pivot], factor);
    if (!store(e, user, pivot, 1)) return false;
  }
  u->count = 0;
  return true;
}

static bool eliminate(Elimination *e, const Term *term, int count) {
  reduce(e, term, count);
  int pivot = choose_pivot(e);
  e->linkage->rows++;
  if (pivot < 0) {
    e->linkage->redundant++;
    if (e->joint >= 0) e->linkage->redundant_of[e->joint]++;
    clear(e);
    return true;
  }
  double factor = -1 / e->value[pivot];
  e->gone[pivot] = 1;
  return store(e, pivot, pivot, factor) && substitute(e, pivot);
}

/* Converts the weights of one end to its body's own nodes. */
static int own_weights(const Elimination *e, double (*inverse)[4][4], int body, const double weight[4], double out[4]) {
  int b = e->linkage->of_body[body];
  double w[4];
  scaled_weight(e, body, weight, w);
  for (int i = 0; i < 4; i++) {
    out[i] = 0;
    for (int k = 0; k < 4; k++) out[i] += w[k] * inverse[b][k][i];
    if (fabs(out[i]) < 1e-12) out[i] = 0;
  }
  return b;
}

/* The terms of one scalar equation of a joint, along a world axis or its direction. */
static int row_terms(const Elimination *e, double (*inverse)[4][4], const int body[2], const LinearRow *row, int axis,
                     Term *term) {
  bool along = norm_sq(row->direction) > 0;
  int count = 0;
  for (int s = 0; s < 2; s++) {
    double w[4];
    if (body[s] < 0) continue;
    int b = own_weights(e, inverse, body[s], row->weight[s], w);
    for (int i = 0; i < 4; i++)
      for (int k = 0; k < 3; k++) {
        double f = along ? component(row->direction, k) : k == axis;
        if (w[i] != 0 && fabs(f) > 1e-15) term[count++] = (Term){12 * b + 3 * i + k, w[i] * f};
      }
  }
  return count;
}

static bool to_world(const Joint *j) { return j->end[0].body < 0 || j->end[1].body < 0; }

typedef bool TermVisitor(Elimination *e, const Term *term, int count);

static bool count_meets(Elimination *e, const Term *term, int count) {
  for (int t = 0; t < count; t++) e->meets[term[t].scalar]++;
  return true;
}

/* Equations with the world come first, so that fixed scalars are substituted in all others. */
static bool visit_joints(Elimination *e, double (*inverse)[4][4], TermVisitor *visit) {
  const Model *m = e->model;
  LinearRow row[JOINT_LINEAR_ROWS];
  Term term[24];
  for (int pass = 0; pass < 2; pass++)
    for (int j = 0; j < m->joint_count; j++) {
      if (to_world(&m->joint[j]) != (pass == 0)) continue;
      int body[2] = {m->joint[j].end[0].body, m->joint[j].end[1].body};
      int count = joint_linear_rows(&m->joint[j], row);
      e->joint = j;
      for (int r = 0; r < count; r++) {
        int axes = norm_sq(row[r].direction) > 0 ? 1 : 3;
        for (int k = 0; k < axes; k++)
          if (!visit(e, term, row_terms(e, inverse, body, &row[r], k, term))) return false;
      }
    }
  return true;
}

static bool visit_attachments(Elimination *e, double (*inverse)[4][4], TermVisitor *visit) {
  Term term[24];
  for (int k = 0; k < e->model->attachment_count; k++) {
    int end[2];
    LinearRow row = attachment_row(e->model, &e->model->attachment[k], end);
    for (int axis = 0; axis < 3; axis++)
      if (!visit(e, term, row_terms(e, inverse, end, &row, axis, term))) return false;
  }
  return true;
}

/* Held coordinates of a body: the directions that its projector removes. */
static bool visit_held(Elimination *e, double (*inverse)[4][4], TermVisitor *visit) {
  for (int b = 0; b < e->linkage->linked_count; b++) {
    int body = e->linkage->linked[b].body;
    bool held_any = block_is_vertex(e->model, body) || e->model->body[body].fixed;
    double r = block_radius(e->model, body);
    for (int d = 0; held_any && d < 12; d++) {
      double unit_vector[12] = {0}, held[12];
      Affine v;
      Term term[12];
      int count = 0;
      unit_vector[d] = 1;
      memcpy(&v, unit_vector, sizeof v);
      v = affine_sub(v, block_project(e->model, body, v));
      memcpy(held, &v, sizeof held);
      for (int i = 0; i < 4; i++)
        for (int k = 0; k < 3; k++) {
          double f = 0;
          for (int n = 0; n < 4; n++) f += held[3 * n + k] * inverse[b][n][i] / (n == 0 ? 1 : r);
          if (fabs(f) > 1e-12) term[count++] = (Term){12 * b + 3 * i + k, f * (d < 3 ? 1 : r)};
        }
      if (count && !visit(e, term, count)) return false;
    }
  }
  return true;
}

/* ---- Columns ---- */

static void own_unknowns(const Elimination *e) {
  for (int b = 0; b < e->linkage->linked_count; b++) {
    LinkedBody *x = &e->linkage->linked[b];
    for (int s = 0; s < 12; s++)
      if (!e->gone[12 * b + s]) x->unknown[x->size++] = (unsigned char)s;
  }
}

static int unknown_index(const Elimination *e, int scalar) {
  const LinkedBody *x = &e->linkage->linked[scalar / 12];
  for (int u = 0; u < x->size; u++)
    if (x->unknown[u] == scalar % 12) return u;
  return -1;
}

/* Adds own number (node i, axis) of body b, expressed by an unknown, to that unknown's column. */
static bool add_to_column(Elimination *e, LinkedBody *x, double inverse[4][4], int i, int axis, int scalar,
                          double factor) {
  Linkage *l = e->linkage;
  int owner = scalar / 12, index = unknown_index(e, scalar), c;
  for (c = x->first; c < x->first + x->count; c++)
    if (l->column[c].owner == owner && l->column[c].index == index) break;
  if (c == x->first + x->count) {
    if (!mem_reserve((void **)&l->column, &l->column_capacity, l->column_count + 1, sizeof(LinkColumn))) return false;
    memset(&l->column[c], 0, sizeof(LinkColumn));
    l->column[c].owner = owner;
    l->column[c].index = index;
    x->count++;
    l->column_count++;
  }
  double r = block_radius(e->model, x->body);
  for (int k = 0; k < 4; k++) l->column[c].g[3 * k + axis] += factor * inverse[k][i] / (k == 0 ? 1 : r);
  return true;
}

static int compare_columns(const void *x, const void *y) {
  const LinkColumn *a = x, *b = y;
  return a->owner != b->owner ? a->owner - b->owner : a->index - b->index;
}

static void find_entries(LinkColumn *column) {
  for (int k = 0; k < 12; k++)
    if (column->g[k] != 0) column->at[column->count++] = (unsigned char)k;
}

static bool make_columns(Elimination *e, double (*inverse)[4][4]) {
  Linkage *l = e->linkage;
  for (int b = 0; b < l->linked_count; b++) {
    LinkedBody *x = &l->linked[b];
    x->first = l->column_count;
    for (int i = 0; i < 4; i++)
      for (int axis = 0; axis < 3; axis++) {
        int s = 12 * b + 3 * i + axis;
        if (!e->gone[s] && !add_to_column(e, x, inverse[b], i, axis, s, 1)) return false;
        for (int t = 0; e->gone[s] && t < e->sum[s].count; t++)
          if (!add_to_column(e, x, inverse[b], i, axis, e->sum[s].term[t].scalar, e->sum[s].term[t].factor))
            return false;
      }
    if (x->count) qsort(l->column + x->first, (size_t)x->count, sizeof(LinkColumn), compare_columns);
  }
  for (int c = 0; c < l->column_count; c++) find_entries(&l->column[c]);
  return true;
}

/* offset = start pose - the pose of the unknowns at the start. */
static bool set_offsets(Elimination *e) {
  Linkage *l = e->linkage;
  double *y = mem_zeroed((size_t)l->linked_count * 12, sizeof(double));
  if (!y) return false;
  for (int b = 0; b < l->linked_count; b++) {
    LinkedBody *x = &l->linked[b];
    double r = block_radius(e->model, x->body);
    for (int i = 0; i < 4; i++)
      for (int k = 1; k < 4; k++) x->node[i][k] *= r;
    Affine start = block_start(e->model, x->body);
    linkage_read(x, &start, y + 12 * b);
  }
  for (int b = 0; b < l->linked_count; b++) {
    LinkedBody *x = &l->linked[b];
    x->offset = affine_sub(block_start(e->model, x->body), linkage_pose(l, x, y));
  }
  mem_free(y);
  return true;
}

static double mean_radius(const Linkage *l, const Model *m) {
  double sum = 0;
  for (int b = 0; b < l->linked_count; b++) sum += block_radius(m, l->linked[b].body);
  return sum / l->linked_count;
}

static void end(Elimination *e) {
  for (int s = 0; s < e->scalar_count; s++) {
    if (e->sum) mem_free(e->sum[s].term);
    if (e->users) mem_free(e->users[s].scalar);
  }
  void *array[] = {e->sum, e->users, e->meets, e->gone, e->value, e->used, e->marked};
  for (int k = 0; k < ARRAY_COUNT(array); k++) mem_free(array[k]);
}

static bool begin(Elimination *e) {
  size_t n = (size_t)e->scalar_count;
  e->sum = mem_zeroed(n, sizeof(Sum));
  e->users = mem_zeroed(n, sizeof(Users));
  e->meets = mem_zeroed(n, sizeof(int));
  e->gone = mem_zeroed(n, 1);
  e->value = mem_alloc(n, sizeof(double));
  e->used = mem_alloc(n, sizeof(int));
  e->marked = mem_zeroed(n, 1);
  return e->sum && e->users && e->meets && e->gone && e->value && e->used && e->marked;
}

static bool run(Elimination *e) {
  Linkage *l = e->linkage;
  double(*inverse)[4][4] = mem_alloc((size_t)l->linked_count, sizeof *inverse);
  bool ok = inverse && begin(e) && choose_nodes(e);
  for (int b = 0; ok && b < l->linked_count; b++) invert4(l->linked[b].node, inverse[b]);
  ok = ok && visit_joints(e, inverse, count_meets);
  e->joint = -1;
  ok = ok && visit_held(e, inverse, eliminate) && visit_attachments(e, inverse, eliminate);
  l->rows = l->redundant = 0; /* count only the joints' rows */
  l->redundant_of = mem_zeroed((size_t)e->model->joint_count, sizeof(int));
  ok = ok && l->redundant_of;
  ok = ok && visit_joints(e, inverse, eliminate);
  if (ok) own_unknowns(e);
  ok = ok && make_columns(e, inverse) && set_offsets(e);
  mem_free(inverse);
  end(e);
  return ok;
}

bool linkage_build(Linkage *l, const Model *m) {
  memset(l, 0, sizeof *l);
  if (m->joint_count == 0 && m->attachment_count == 0) return true;
  if (!mark_linked(l, m)) return false;
  if (l->linked_count == 0) return true;
  Elimination e = {
      .model = m, .linkage = l, .length = mean_radius(l, m), .scalar_count = 12 * l->linked_count, .joint = -1};
  return run(&e);
}

void linkage_destroy(Linkage *l) {
  mem_free(l->linked);
  mem_free(l->of_body);
  mem_free(l->column);
  mem_free(l->redundant_of);
  memset(l, 0, sizeof *l);
}
