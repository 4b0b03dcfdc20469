/* Linear joints by elimination, on random mechanisms: chains, trees, loops, stars, repeated joints, held coordinates,
 * points on lines and planes of the world. Every equation vanishes on every column, the number of unknowns is right (by
 * an independent elimination), the start is reproduced, and the sparse system has the solution of the dense one. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/system.h"
#include "draw.h"
#include "shape.h"

enum { BODIES_MAX = 12 };

static Model *new_model(int body_count, Draw *d, bool hold) {
  static Shape shape;
  static const uint32_t holds[] = {0,
                                   ABD_FIX_X,
                                   ABD_FIX_Y | ABD_FIX_ROTATION_X | ABD_FIX_ROTATION_Z,
                                   ABD_FIX_ROTATION_Z,
                                   ABD_FIX_ROTATION_X | ABD_FIX_ROTATION_Y | ABD_FIX_ROTATION_Z,
                                   ABD_FIX_X | ABD_FIX_Y | ABD_FIX_Z};
  AbdError error = {ABD_OK, ""};
  Model *m = mem_zeroed(1, sizeof *m);
  assert_non_null(m);
  m->def = abd_default_world_def();
  for (int i = 0; i < 2; i++) {
    memset(&shape, 0, sizeof shape);
    shape_box(&shape, 0.3 + i, 0.2, 0.1 + 0.3 * i);
    AbdMeshDef mesh = shape_def(&shape, "box");
    assert_int_equal(model_add_mesh(m, &mesh, &error), ABD_OK);
  }
  for (int i = 0; i < body_count; i++) {
    AbdBodyDef def = {
        .mesh = {(uint32_t)draw_int(d, 2) + 1}, .density = 700, .stiffness = 1e6, .friction = -1, .group = -1};
    Vec3 axis = unit(draw_vec3(d, 1));
    double half = draw(d, 0, 3);
    vec3_to(def.position, draw_vec3(d, 1));
    def.rotation[0] = cos(half);
    vec3_to(def.rotation + 1, scale(sin(half), axis));
    if (hold) def.fixed = holds[draw_int(d, ARRAY_COUNT(holds))];
    if (hold && draw_int(d, 6) == 0) def.motion = ABD_MOTION_KINEMATIC, def.fixed = 0;
    if (model_add_body(m, &def, &error)) fail_msg("%s", error.text);
  }
  return m;
}

static void destroy(Model *m) {
  model_destroy(m);
  mem_free(m);
}

/* b = -1: the world. */
static bool join(Model *m, AbdJointKind kind, int a, int b, Vec3 point, Vec3 axis) {
  AbdError error = {ABD_OK, ""};
  AbdJointDef def = {.kind = kind,
                     .point_b = {NAN, NAN, NAN},
                     .length = -1,
                     .ratio = 1,
                     .pitch = 0.1,
                     .limit = {-INFINITY, INFINITY},
                     .angle_limit = {-INFINITY, INFINITY},
                     .break_force = INFINITY,
                     .break_torque = INFINITY,
                     .drive = {.max_effort = INFINITY}};
  def.body_a.id = (uint32_t)a + 1;
  def.body_b.id = (uint32_t)(b + 1);
  vec3_to(def.point, point);
  vec3_to(def.axis, axis);
  if (kind == ABD_JOINT_UNIVERSAL) vec3_to(def.axis_b, cross(axis, fabs(axis.x) < 0.6 ? vec3(1, 0, 0) : vec3(0, 1, 0)));
  AbdStatus status = model_add_joint(m, &def, &error);
  if (status != ABD_OK && status != ABD_ERROR_JOINT) fail_msg("%s", error.text);
  return status == ABD_OK; /* two kinematic bodies cannot be joined */
}

static AbdJointKind draw_kind(Draw *d) {
  static const AbdJointKind kind[] = {ABD_JOINT_HINGE,  ABD_JOINT_BALL,        ABD_JOINT_HINGE,  ABD_JOINT_BALL,
                                      ABD_JOINT_WELD,   ABD_JOINT_ORIENTATION, ABD_JOINT_LINE,   ABD_JOINT_PLANE,
                                      ABD_JOINT_SLIDER, ABD_JOINT_CYLINDRICAL, ABD_JOINT_PLANAR, ABD_JOINT_UNIVERSAL,
                                      ABD_JOINT_SCREW};
  return kind[draw_int(d, ARRAY_COUNT(kind))];
}

static Vec3 draw_axis(Draw *d) { /* often along a coordinate: what mechanisms have, and what makes equations repeat */
  int k = draw_int(d, 5);
  return k < 3 ? vec3(k == 0, k == 1, k == 2) : draw_vec3(d, 1);
}

typedef enum Form { CHAIN, TREE, LOOP, STAR, TWICE, TANGLE, FORM_COUNT } Form;
static const char *const form_name[FORM_COUNT] = {"chain", "tree", "loop", "star", "twice", "tangle"};

static void add_joints(Model *m, Form form, int n, Draw *d) {
  bool plain = draw_int(d, 2);
  Vec3 common = draw_axis(d);
  for (int i = form == LOOP || form == STAR ? 0 : 1; i < n; i++) {
    int to = form == TREE ? draw_int(d, i) : form == STAR ? 0 : i - 1;
    if (form == LOOP && i == 0) to = n - 1;
    if (i == to) continue;
    AbdJointKind kind = plain ? ABD_JOINT_HINGE : draw_kind(d);
    Vec3 point = draw_vec3(d, 1), axis = plain && draw_int(d, 2) ? common : draw_axis(d);
    join(m, kind, i, to, point, axis);
    if (form == TWICE) join(m, kind, i, to, draw_int(d, 2) ? point : add_scaled(point, 1, axis), axis);
  }
  if (draw_int(d, 3)) join(m, plain ? ABD_JOINT_HINGE : draw_kind(d), 0, -1, draw_vec3(d, 1), common);
  for (int k = 0; form == TANGLE && k < n; k++) {
    int a = draw_int(d, n), b = draw_int(d, n + 1) - 1;
    if (a != b) join(m, draw_kind(d), a, b, draw_vec3(d, 1), draw_axis(d));
  }
}

/* ---- dense matrices, column-major ---- */

typedef struct Dense {
  int rows, columns;
  double *v;
} Dense;

static Dense dense(int rows, int columns) {
  Dense a = {rows, columns, calloc((size_t)rows * (size_t)columns + 1, sizeof(double))};
  assert_non_null(a.v);
  return a;
}
static double *at(const Dense *a, int i, int j) { return &a->v[(size_t)j * (size_t)a->rows + (size_t)i]; }

/* Rank by orthogonalising rows, the largest that is left first. */
static int rank_of(Dense *a, double *gap) {
  int rank = 0;
  double *size = calloc((size_t)a->rows + 1, sizeof(double)), first = 0, last = 0;
  unsigned char *used = calloc((size_t)a->rows + 1, 1);
  for (*gap = 0; rank < a->rows; rank++) {
    int best = -1;
    for (int i = 0; i < a->rows; i++) {
      if (used[i]) continue;
      size[i] = 0;
      for (int j = 0; j < a->columns; j++) size[i] += *at(a, i, j) * *at(a, i, j);
      if (best < 0 || size[i] > size[best]) best = i;
    }
    double s = sqrt(size[best]);
    if (rank == 0) first = s;
    if (!(s > 1e-8 * first)) {
      *gap = s / fmax(last, 1e-300);
      break;
    }
    last = s;
    used[best] = 1;
    for (int j = 0; j < a->columns; j++) *at(a, best, j) /= s;
    for (int pass = 0; pass < 2; pass++)
      for (int i = 0; i < a->rows; i++) {
        double dot_product = 0;
        if (used[i]) continue;
        for (int j = 0; j < a->columns; j++) dot_product += *at(a, i, j) * *at(a, best, j);
        for (int j = 0; j < a->columns; j++) *at(a, i, j) -= dot_product * *at(a, best, j);
      }
  }
  free(size);
  free(used);
  return rank;
}

/* All equations over the poses of all linked bodies, directions counted as lengths; the joints' first. */
static Dense equations(const Model *m, int *of_joints) {
  const Linkage *l = &m->linkage;
  Dense c = dense(12 * l->linked_count + 12 * m->joint_count, 12 * l->linked_count);
  LinearRow row[JOINT_LINEAR_ROWS];
  int r = 0;
  for (int j = 0; j < m->joint_count; j++) {
    int count = joint_linear_rows(&m->joint[j], row);
    for (int k = 0; k < count; k++) {
      bool along = norm_sq(row[k].direction) > 0;
      for (int axis = 0; axis < (along ? 1 : 3); axis++, r++)
        for (int e = 0; e < 2; e++)
          for (int n = 0; n < 4 && m->joint[j].end[e].body >= 0; n++)
            for (int x = 0; x < 3; x++)
              *at(&c, r, 12 * l->of_body[m->joint[j].end[e].body] + 3 * n + x) =
                  row[k].weight[e][n] * (along ? component(row[k].direction, x) : x == axis);
    }
  }
  *of_joints = r;
  for (int b = 0; b < l->linked_count; b++)
    for (int d = 0; d < 12 && m->body[l->linked[b].body].fixed; d++, r++) {
      Affine unit_pose = affine(vec3(0, 0, 0), mat3_zero());
      (&unit_pose.n[0].x)[d] = 1;
      Affine held = affine_sub(unit_pose, freedom_project(&m->body[l->linked[b].body], unit_pose));
      for (int k = 0; k < 12; k++) *at(&c, r, 12 * b + k) = (&held.n[0].x)[k];
    }
  return c;
}

static int unknown_count(const Linkage *l, int *first) {
  int n = 0;
  for (int b = 0; b < l->linked_count; b++) {
    first[b] = n;
    n += l->linked[b].size;
  }
  return n;
}

/* dq / dy */
static Dense columns(const Linkage *l) {
  int first[BODIES_MAX], n = unknown_count(l, first);
  Dense g = dense(12 * l->linked_count, n);
  for (int b = 0; b < l->linked_count; b++)
    for (int c = l->linked[b].first; c < l->linked[b].first + l->linked[b].count; c++)
      for (int k = 0; k < 12; k++)
        *at(&g, 12 * b + k, first[l->column[c].owner] + l->column[c].index) += l->column[c].g[k];
  return g;
}

static double largest(const Dense *a) {
  double most_of = 0;
  for (int i = 0; i < a->rows * a->columns; i++) most_of = fmax(most_of, fabs(a->v[i]));
  return most_of;
}

static double worst_product(const Dense *c, const Dense *g) {
  double worst = 0;
  for (int i = 0; i < c->rows; i++)
    for (int j = 0; j < g->columns; j++) {
      double sum = 0, size = 1e-300;
      for (int k = 0; k < c->columns; k++) {
        if (*at(c, i, k) == 0) continue;
        sum += *at(c, i, k) * *at(g, k, j);
        size = fmax(size, fabs(*at(c, i, k)));
      }
      worst = fmax(worst, fabs(sum) / size);
    }
  return worst / fmax(1, largest(g));
}

static double start_error(const Model *m) {
  const Linkage *l = &m->linkage;
  double y[12 * BODIES_MAX], worst = 0;
  for (int b = 0; b < l->linked_count; b++) linkage_read(&l->linked[b], &m->body[l->linked[b].body].start, y + 12 * b);
  for (int b = 0; b < l->linked_count; b++) {
    Affine off = affine_sub(linkage_pose(l, &l->linked[b], y), m->body[l->linked[b].body].start);
    for (int k = 0; k < 12; k++) worst = fmax(worst, fabs((&off.n[0].x)[k]));
  }
  return worst;
}

typedef struct Tally {
  double product, start, factor;
  int redundant, unknowns;
} Tally;

static void check_linkage(const Model *m, const char *what, Tally *tally) {
  const Linkage *l = &m->linkage;
  int of_joints, first[BODIES_MAX];
  if (l->linked_count == 0) return;
  Dense c = equations(m, &of_joints), g = columns(l);
  tally->product = fmax(tally->product, worst_product(&c, &g));
  tally->start = fmax(tally->start, start_error(m));
  tally->factor = fmax(tally->factor, largest(&g));
  if (!(tally->product < 1e-11))
    fail_msg("%s: an equation moves by %g when an unknown moves by 1", what, tally->product);
  if (!(tally->start < 1e-12)) fail_msg("%s: the start is missed by %g", what, tally->start);
  assert_int_equal(l->rows, of_joints);
  double gap;
  int rank = rank_of(&c, &gap), left = unknown_count(l, first);
  if (left != 12 * l->linked_count - rank)
    fail_msg("%s: %d unknowns of %d bodies with equations of rank %d (next %g)", what, left, l->linked_count, rank,
             gap);
  tally->redundant += l->redundant;
  tally->unknowns += left;
  free(c.v);
  free(g.v);
}

static void start(Model *m) {
  AbdError error = {ABD_OK, ""};
  if (model_start(m, &error)) fail_msg("%s", error.text);
}

static void test_mechanisms(void **state) {
  (void)state;
  for (int form = 0; form < FORM_COUNT; form++) {
    Tally tally = {0};
    Draw d = {(uint64_t)form + 1};
    for (int k = 0; k < (getenv("ABD_TEST_SHORT") ? 12 : 45); k++) {
      int n = 2 + draw_int(&d, BODIES_MAX - 2);
      char what[64];
      Model *m = new_model(n, &d, k % 3 == 2);
      add_joints(m, (Form)form, n, &d);
      start(m);
      snprintf(what, sizeof what, "%s %d", form_name[form], k);
      check_linkage(m, what, &tally);
      destroy(m);
    }
    printf("  %s: equations off by %.1e, start by %.1e; largest factor %.1e; %d unknowns left, %d equations followed "
           "from others\n",
           form_name[form], tally.product, tally.start, tally.factor, tally.unknowns, tally.redundant);
  }
}

/* Mechanisms whose freedoms are known: hinges on one body too many change nothing but the count. */
static void test_known(void **state) {
  Draw d = {9};
  Tally tally = {0};
  (void)state;
  /* A four-bar linkage of parallel hinges: three bars, closed over the world; affine bodies keep more than its one
   * freedom. */
  Model *m = new_model(3, &d, false);
  Vec3 pin[4] = {{0, 0, 0}, {0, 0, 1}, {2, 0, 1.5}, {2.5, 0, 0}};
  for (int i = 0; i < 4; i++)
    assert_true(join(m, ABD_JOINT_HINGE, i < 3 ? i : 2, i == 0 ? -1 : i < 3 ? i - 1 : -1, pin[i], vec3(0, 1, 0)));
  start(m);
  check_linkage(m, "four bars", &tally);
  assert_true(m->linkage.redundant >= 3); /* the axis comes round to itself */
  destroy(m);
  /* A weld leaves the unknowns of one body; a second one nothing less. */
  m = new_model(2, &d, false);
  for (int k = 0; k < 2; k++) assert_true(join(m, ABD_JOINT_WELD, 1, 0, draw_vec3(&d, 1), vec3(0, 0, 1)));
  start(m);
  tally = (Tally){0};
  check_linkage(m, "welds", &tally);
  assert_int_equal(tally.unknowns, 12);
  assert_int_equal(tally.redundant, 12);
  assert_int_equal(m->linkage.redundant_of[0], 0);
  assert_int_equal(m->linkage.redundant_of[1], 12); /* the second is the one that is named */
  destroy(m);
  /* Four balls to the world in general position leave nothing. */
  m = new_model(1, &d, false);
  for (int k = 0; k < 4; k++) assert_true(join(m, ABD_JOINT_BALL, 0, -1, draw_vec3(&d, 1), vec3(0, 0, 1)));
  start(m);
  tally = (Tally){0};
  check_linkage(m, "balls", &tally);
  assert_int_equal(tally.unknowns, 0);
  destroy(m);
}

/* A chain's unknowns meet only their neighbours: its columns do not grow with its length. */
static void test_chain_stays_sparse(void **state) {
  Draw d = {4};
  (void)state;
  for (int kind = 0; kind < 2; kind++) {
    int most_columns[2];
    for (int k = 0; k < 2; k++) {
      int n = k ? BODIES_MAX : 4;
      Model *m = new_model(n, &d, false);
      for (int i = 0; i < n; i++)
        join(m, kind ? ABD_JOINT_HINGE : ABD_JOINT_BALL, i, i - 1, draw_vec3(&d, 1),
             kind && i % 2 ? vec3(0, 1, 0) : vec3(1, 0, 0));
      start(m);
      most_columns[k] = 0;
      for (int b = 0; b < n; b++)
        most_columns[k] = m->linkage.linked[b].count > most_columns[k] ? m->linkage.linked[b].count : most_columns[k];
      destroy(m);
    }
    printf("  %s: at most %d columns a body in a chain of 4, %d in a chain of %d\n", kind ? "hinges" : "balls",
           most_columns[0], most_columns[1], BODIES_MAX);
    assert_true(most_columns[1] <= most_columns[0] && most_columns[1] <= 15);
  }
}

/* ---- the system ---- */

/* H += J^T J over two bodies, J 24 x 24 by chance, and a diagonal of its own for each. */
static void draw_blocks(Draw *d, int n, int pairs, int (*pair)[2], System *s, Dense *h) {
  for (int p = 0; p < pairs + n; p++) {
    int a = p < pairs ? pair[p][0] : p - pairs, b = p < pairs ? pair[p][1] : a, two[2] = {a, b};
    double j[12][24];
    for (int i = 0; i < 12; i++)
      for (int k = 0; k < 24; k++) j[i][k] = a == b && k >= 12 ? 0 : draw(d, -1, 1);
    for (int x = 0; x < (a == b ? 1 : 2); x++)
      for (int y = x; y < (a == b ? 1 : 2); y++) {
        double block[144];
        for (int r = 0; r < 12; r++)
          for (int c = 0; c < 12; c++) {
            double sum = a == b && r == c ? 1 : 0;
            for (int i = 0; i < 12; i++) sum += j[i][12 * x + r] * j[i][12 * y + c];
            block[12 * c + r] = sum;
            *at(h, 12 * two[x] + r, 12 * two[y] + c) += sum;
            if (x != y) *at(h, 12 * two[y] + c, 12 * two[x] + r) += sum;
          }
        system_add(s, two[x], two[y], block);
      }
  }
}

/* G over all bodies: the identity where a body is free. */
static Dense all_columns(const Model *m) {
  const Linkage *l = &m->linkage;
  Dense linked = columns(l);
  int free_count = m->block_count - l->linked_count, column = linked.columns;
  Dense g = dense(12 * m->block_count, linked.columns + 12 * free_count);
  for (int i = 0; i < m->block_count; i++) {
    int b = l->of_body ? l->of_body[i] : -1;
    for (int k = 0; k < 12 && b < 0; k++) *at(&g, 12 * i + k, column++) = 1;
    for (int j = 0; j < linked.columns && b >= 0; j++)
      for (int k = 0; k < 12; k++) *at(&g, 12 * i + k, j) = *at(&linked, 12 * b + k, j);
  }
  free(linked.v);
  return g;
}

static Dense times(const Dense *a, bool turned, const Dense *b) {
  Dense c = dense(turned ? a->columns : a->rows, b->columns);
  for (int i = 0; i < c.rows; i++)
    for (int j = 0; j < c.columns; j++)
      for (int k = 0; k < b->rows; k++) *at(&c, i, j) += (turned ? *at(a, k, i) : *at(a, i, k)) * *at(b, k, j);
  return c;
}

/* A x = b in place by Cholesky, dense. */
static void solve_dense(Dense *a, double *b) {
  int n = a->rows;
  for (int j = 0; j < n; j++) {
    for (int k = 0; k < j; k++)
      for (int i = j; i < n; i++) *at(a, i, j) -= *at(a, i, k) * *at(a, j, k);
    double pivot = sqrt(*at(a, j, j));
    assert_true(pivot > 0);
    for (int i = j; i < n; i++) *at(a, i, j) /= pivot;
  }
  for (int i = 0; i < n; i++) {
    for (int k = 0; k < i; k++) b[i] -= *at(a, i, k) * b[k];
    b[i] /= *at(a, i, i);
  }
  for (int i = n - 1; i >= 0; i--) {
    for (int k = i + 1; k < n; k++) b[i] -= *at(a, k, i) * b[k];
    b[i] /= *at(a, i, i);
  }
}

static void add_bodies(System *s, int count) {
  system_reset(s);
  for (int i = 0; i < count; i++) system_add_body(s, i);
}

/* Couplings that are kept, some of which come again, and an order that is made of them alone: the same as of one
 * list. */
static void check_kept_couplings(const System *s, int n, int pairs, const int (*pair)[2]) {
  System t;
  assert_true(system_init(&t, s->model, false));
  add_bodies(&t, n);
  for (int p = 0; p < pairs / 2; p++) assert_true(system_couple(&t, pair[p][0], pair[p][1]));
  assert_true(system_guide(&t));
  for (int time = 0; time < 2; time++) {
    add_bodies(&t, n);
    assert_int_equal(system_has_couplings(&t), time > 0);
    for (int p = 0; p < pairs / 2 && !t.keeps; p++) assert_true(system_couple(&t, pair[p][0], pair[p][1]));
    assert_true(t.keeps || system_keep_couplings(&t));
    for (int i = 0; i < n; i++) assert_true(system_couple(&t, i, i));
    for (int p = pairs / 4; p < pairs; p++) assert_true(system_couple(&t, pair[p][0], pair[p][1]));
    assert_true(system_analyze(&t));
    assert_int_equal(t.edge_count, s->edge_count);
    if (s->edge_count) assert_memory_equal(t.edge, s->edge, (size_t)s->edge_count * sizeof *s->edge);
  }
  add_bodies(&t, n - 1);
  assert_false(system_has_couplings(&t) && t.column_count < s->column_count);
  system_destroy(&t);
}

static double check_system(const Model *m, Draw *d) {
  int n = m->block_count, pair[2 * BODIES_MAX][2], pairs = 0;
  System s;
  Dense h = dense(12 * n, 12 * n), f = dense(12 * n, 1);
  for (int k = 0; k < 2 * n; k++) {
    int a = draw_int(d, n), b = draw_int(d, n);
    if (a != b) pair[pairs][0] = a, pair[pairs++][1] = b;
  }
  assert_true(system_init(&s, m, false));
  system_reset(&s);
  for (int i = 0; i < n; i++) system_add_body(&s, i);
  for (int i = 0; i < n; i++) assert_true(system_couple(&s, i, i));
  for (int p = 0; p < pairs; p++) assert_true(system_couple(&s, pair[p][0], pair[p][1]));
  assert_true(system_analyze(&s));
  check_kept_couplings(&s, n, pairs, (const int(*)[2])pair);
  system_clear(&s);
  draw_blocks(d, n, pairs, pair, &s, &h);
  for (int i = 0; i < n; i++) {
    Affine right = affine(draw_vec3(d, 1), draw_mat3(d, 1));
    memcpy(at(&f, 12 * i, 0), &right, sizeof right);
    system_add_right(&s, i, &right);
  }
  Dense g = all_columns(m), hg = times(&h, false, &g), small = times(&g, true, &hg), y = times(&g, true, &f);
  assert_int_equal(system_factor(&s, 1), 0);
  assert_int_equal(s.unknown_count, g.columns);
  system_solve(&s);
  solve_dense(&small, y.v);
  Dense q = times(&g, false, &y);
  double worst = 0, size = fmax(1e-300, largest(&q));
  for (int i = 0; i < n; i++) {
    Affine x = system_solution(&s, i);
    for (int k = 0; k < 12; k++) worst = fmax(worst, fabs((&x.n[0].x)[k] - *at(&q, 12 * i + k, 0)) / size);
  }
  system_destroy(&s);
  Dense all[] = {h, f, g, hg, small, y, q};
  for (int k = 0; k < ARRAY_COUNT(all); k++) free(all[k].v);
  return worst;
}

static void test_system(void **state) {
  Draw d = {8};
  double worst = 0;
  (void)state;
  for (int k = 0; k < 60; k++) {
    int n = 2 + draw_int(&d, 7);
    Model *m = new_model(n, &d, false);
    add_joints(m, (Form)(k % FORM_COUNT), 2 + draw_int(&d, n - 1), &d); /* the last bodies stay free */
    start(m);
    if (m->linkage.linked_count) worst = fmax(worst, check_system(m, &d));
    destroy(m);
    if (!(worst < 1e-9)) fail_msg("mechanism %d: sparse and dense solutions are %g apart", k, worst);
  }
  printf("  sparse and dense solutions at most %.1e apart\n", worst);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_mechanisms),
      cmocka_unit_test(test_known),
      cmocka_unit_test(test_chain_stays_sparse),
      cmocka_unit_test(test_system),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
