/* Soft bodies in the solver: elements and springs of contact against differences of their energies, the same bits for
 * any number of threads and after a snapshot, attachments, errors of defs, failure of every allocation.
 * Labels: threads */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "api/world.h"
#include "draw.h"
#include "slope.h"
#include "softlab.h"
#include "step/soft.h"
#include "thread_sanitizer.h"
#include "trial.h"

static const double pi = 3.14159265358979323846;

static Lab still(double range, double dt, double friction) {
  AbdWorldDef def = abd_default_world_def();
  def.dt = dt;
  def.contact.friction = friction;
  def.contact.friction_speed = 10; /* so that differences see the smooth part */
  def.gravity[2] = 0;
  def.contact.range = range;
  def.solver.threads = 1;
  return lab_open(def);
}

/* ---- elements ---- */

typedef struct Place {
  const Work *work;
  const Soft *soft;
  int element;
  Nodes q;
} Place;

static void put_corners(const Place *p, const Vec3 *x) {
  SoftTerm term;
  soft_term(p->work, p->soft, p->element, p->q, false, &term);
  for (int k = 0; k < term.count; k++) *node_at(p->work->model, p->q, term.body[k]) = x[k];
}

static double element_energy(const void *context, const Vec3 *x) {
  const Place *p = context;
  put_corners(p, x);
  return soft_energy(p->work, p->soft, p->element, p->q);
}

static void element_gradient(const void *context, const Vec3 *x, Vec3 *g) {
  const Place *p = context;
  SoftTerm term;
  put_corners(p, x);
  soft_term(p->work, p->soft, p->element, p->q, false, &term);
  memcpy(g, term.gradient, (size_t)term.count * sizeof(Vec3));
}

static void element_hessian(const void *context, const Vec3 *x, bool project, double *h) {
  const Place *p = context;
  SoftTerm term;
  (void)project;
  put_corners(p, x);
  soft_term(p->work, p->soft, p->element, p->q, false, &term);
  memcpy(h, term.hessian, 9 * (size_t)(term.count * term.count) * sizeof(double));
}

/* x^T H x of a random x, over the largest entry. */
static double curvature(Draw *d, const SoftTerm *t) {
  int n = 3 * t->count;
  double x[12], sum = 0, size = 0;
  for (int i = 0; i < n; i++) x[i] = draw(d, -1, 1);
  for (int i = 0; i < n * n; i++) {
    sum += x[i / n] * x[i % n] * t->hessian[i];
    size = most(size, fabs(t->hessian[i]));
  }
  return sum / size;
}

/* Stretched somewhat the exact Hessians are positive: what the solver projects is then what differences give.
 * Hinges: where they are at their rest angle. */
static void check_elements(Draw *d, AbdWorld *world, const char *name, double noise) {
  const Soft *soft = &world->model.soft[0];
  Slope slope = {.name = name, .energy = element_energy, .gradient = element_gradient, .hessian = element_hessian};
  for (int v = 0; v < soft->vertex_count; v++)
    world_view(world)->q.vertex[soft->vertex + v] = add(scale(1.05, soft_place(soft, v)), draw_vec3(d, noise));
  for (int e = 0; e < soft_element_count(soft); e++) {
    SoftTerm term;
    Vec3 x[4];
    Place place = {world_view(world), soft, e, world_view(world)->q};
    soft_term(world_view(world), soft, e, world_view(world)->q, true, &term);
    for (int k = 0; k < term.count; k++) x[k] = *node_at(&world->model, world_view(world)->q, term.body[k]);
    slope.element = &place;
    slope.node_count = term.count;
    bool hinge = e >= soft->tet_count + soft->triangle_count;
    if (!hinge || noise > 0) slope_check_gradient(&slope, x, 1e-6, 1e-6);
    put_corners(&place, x);
    if (!hinge || noise == 0) slope_check_hessian(&slope, x, 1e-6, 1e-6);
    put_corners(&place, x);
    for (int i = 0; i < 20; i++)
      if (!(curvature(d, &term) > -1e-12)) fail_msg("%s: the Hessian of element %d is not positive", name, e);
  }
  slope_check_differs(&slope);
}

static void test_elements(void **state) {
  Draw d = {1};
  (void)state;
  for (int model = 0; model < 5; model++) {
    static const char *const name[] = {"neo-Hookean", "stable neo-Hookean", "corotated", "shell", "rod"};
    static const uint32_t edge[] = {0, 3, 3, 6, 6, 9, 3, 4, 6, 7, 9, 10, 1, 4, 4, 7, 7, 10, 2, 5, 5, 8, 8, 11, 1, 2};
    Lab lab = still(1e-3, 0.01, 0);
    SoftMesh mesh = model < 3 ? soft_block(2, 1, 1, vec3(1, 0.5, 0.6)) : soft_sheet(3, 2, 1, 0.8);
    AbdSoftDef def = soft_def(&mesh, vec3(0, 0, 0));
    def.model = model < 3 ? (AbdSoftModel)model : ABD_SOFT_NEO_HOOKEAN;
    def.thickness = 0.1; /* so that bending counts */
    def.poisson = 0.3;
    def.damping = model % 2 ? 0.01 : 0;
    if (model == 4) def.triangle_count = 0, def.edge = edge, def.edge_count = 13, def.damping = 0.01;
    lab_soft(&lab, &def);
    lab_step(&lab);
    assert_true(world_view(lab.world)->h2 > 0);
    check_elements(&d, lab.world, name[model], 0.004);
    if (model == 3) check_elements(&d, lab.world, name[model], 0);
    soft_mesh_free(&mesh);
    lab_close(&lab);
  }
}

/* ---- springs of contact ---- */

static double energy_at(Cpu *cpu, Pair *p, Nodes q) {
  soft_load(cpu, q);
  pair_eval(p, &cpu->scene, &q.body[p->a], &q.body[p->b]);
  return p->energy_trial;
}

/* Gradient of all springs of a pair, and of the moments of its stiff side. */
static void sum_springs(Cpu *cpu, Pair *p, Nodes q, Nodes gradient) {
  energy_at(cpu, p, q);
  pair_assemble(p, &cpu->scene, &q.body[p->a], &q.body[p->b]);
  const Spring *s = pair_springs(p, &cpu->scene);
  for (int k = 0; k < p->spring.count; k++)
    for (int i = 0; i < s[k].count; i++) {
      Vec3 *g = node_at(cpu->model, gradient, s[k].vertex[i]);
      *g = add_scaled(*g, s[k].weight[i], s[k].force);
    }
  int body = pair_stiff_side(p, cpu->model);
  for (int n = 0; body >= 0 && n < 4; n++) {
    const Moments *m = pair_moment_sums(p, &cpu->scene);
    Vec3 *g = node_at(cpu->model, gradient, body);
    g[n] = add(g[n], body == p->a ? m->ga[n] : m->gb[n]);
  }
}

static bool same_contacts(const Cpu *cpu, const Pair *p, const Contact *was, int count) {
  const Contact *c = pair_contacts(p, &cpu->scene);
  if (p->contact.count != count) return false;
  for (int i = 0; i < count; i++)
    if (c[i].kind != was[i].kind || c[i].prim_a != was[i].prim_a || c[i].prim_b != was[i].prim_b) return false;
  return true;
}

typedef struct Tally {
  int compared, same, pairs, contacts, mollified, friction;
  double worst;
} Tally;

static void check_pair(Cpu *cpu, Pair *p, Nodes q0, Tally *tally) {
  const Model *m = cpu->model;
  Nodes q = {0}, gradient = {0};
  assert_true(nodes_init(&q, m) && nodes_init(&gradient, m));
  memcpy(q.body, q0.body, (size_t)m->body_count * sizeof *q.body);
  memcpy(q.vertex, q0.vertex, (size_t)model_vertex_count(m) * sizeof *q.vertex);
  sum_springs(cpu, p, q, gradient);
  double size = 0, h = 1e-6 * cpu->scene.range;
  for (int s = 0; s < m->moving_count; s++)
    for (int n = 0; n < (block_is_vertex(m, m->moving[s]) ? 1 : 4); n++)
      size = most(size, norm(node_at(m, gradient, m->moving[s])[n]));
  int count = p->contact.count;
  Contact *was = malloc(((size_t)count + 1) * sizeof *was);
  memcpy(was, pair_contacts(p, &cpu->scene), (size_t)count * sizeof *was);
  for (int i = 0; i < count; i++) tally->mollified += was[i].mollifier_d1 != 0;
  for (int s = 0; s < m->moving_count; s++) {
    int body = m->moving[s], nodes = block_is_vertex(m, body) ? 1 : 4;
    for (int u = 0; u < 3 * nodes; u++) {
      double *x = slope_unknown(node_at(m, q, body), u), keep = *x;
      double exact = *slope_unknown(node_at(m, gradient, body), u);
      *x = keep + h;
      double up = energy_at(cpu, p, q);
      bool fine = same_contacts(cpu, p, was, count);
      *x = keep - h;
      double numeric = (up - energy_at(cpu, p, q)) / (2 * h);
      *x = keep;
      if (!fine || !same_contacts(cpu, p, was, count)) continue;
      tally->compared += exact != 0;
      tally->same += exact != 0 && exact == numeric;
      tally->worst = most(tally->worst, fabs(numeric - exact) / size);
      if (!(fabs(numeric - exact) <= 2e-6 * size))
        fail_msg("bodies %d, %d: gradient %d of body %d is %.12g, by differences %.12g", p->a, p->b, u, body, exact,
                 numeric);
    }
  }
  tally->pairs++;
  tally->contacts += count;
  tally->friction += p->friction.count;
  free(was);
  nodes_destroy(&q);
  nodes_destroy(&gradient);
}

static void check_springs(Lab *lab, const char *name, Tally *tally) {
  Cpu *cpu = lab->world->backend.self;
  for (int k = 0; k < cpu->pairs.count; k++) {
    Pair *p = pairs_at(&cpu->pairs, k);
    if (p->contact.count) check_pair(cpu, p, lab->world->state.q, tally);
  }
  printf(
      "  %s: %d pairs, %d contacts (%d of nearly parallel edges), %d with friction, %d numbers compared, off by %.1e\n",
      name, tally->pairs, tally->contacts, tally->mollified, tally->friction, tally->compared, tally->worst);
  assert_true(tally->contacts > 10 && tally->compared > 30 && tally->same * 5 < tally->compared);
}

/* A soft block and something under it, askew, within range of each other. */
static void test_springs_between_bodies(void **state) {
  (void)state;
  for (int both = 0; both < 2; both++) {
    Lab lab = still(0.05, 1e-4, 0.5);
    SoftMesh mesh = soft_block(2, 2, 2, vec3(1, 0.9, 0.5));
    AbdSoftDef def = soft_def(&mesh, vec3(0.1, 0.05, 0.54));
    def.velocity[0] = 0.3;
    def.rotation[0] = cos(0.01);
    def.rotation[3] = sin(0.01);
    lab_soft(&lab, &def);
    if (both) {
      AbdSoftDef under = soft_def(&mesh, vec3(0, 0, 0));
      lab_soft(&lab, &under);
    } else {
      lab_body(&lab, lab_box(&lab, 1, 1, 0.5), vec3(0, 0, 0), vec3(0, 0, 0));
    }
    Tally tally = {0};
    lab_step(&lab);
    check_springs(&lab, both ? "soft on soft" : "soft on stiff", &tally);
    assert_true(tally.friction > 5 && (both || tally.mollified > 0));
    soft_mesh_free(&mesh);
    lab_close(&lab);
  }
}

/* A sheet folded so that its halves are within range of each other. */
static void fold(SoftMesh *mesh, double gap) {
  for (size_t v = 0; v < mesh->vertex_count; v++) {
    double *x = mesh->vertex + 3 * v, along = x[0], turn = pi * 0.5 * gap;
    if (along > 0.5 * turn) {
      x[0] = -(along - 0.5 * turn);
      x[2] = gap;
    } else if (along < -0.5 * turn) {
      x[0] = along + 0.5 * turn;
      x[2] = 0;
    } else {
      x[0] = 0.5 * gap * cos(along / turn * pi);
      x[2] = 0.5 * gap * (1 + sin(along / turn * pi));
    }
    x[1] += 0.03 * x[2]; /* the layers' edges cross at small angles */
  }
}

static void test_springs_within_a_body(void **state) {
  Draw d = {3};
  (void)state;
  Lab lab = still(0.08, 1e-4, 0.5);
  SoftMesh mesh = soft_sheet(16, 3, 1, 0.4);
  fold(&mesh, 0.06);
  for (size_t i = 0; i < 3 * mesh.vertex_count; i++)
    mesh.vertex[i] += draw(&d, -0.004, 0.004); /* no two edges parallel */
  AbdSoftDef def = soft_def(&mesh, vec3(0, 0, 0));
  def.thickness = 0.01;
  lab_soft(&lab, &def);
  Tally tally = {0};
  lab_step(&lab);
  check_springs(&lab, "a folded sheet", &tally);
  lab_expect_no_crossing(&lab);
  soft_mesh_free(&mesh);
  lab_close(&lab);
}

/* A soft block falls on the edge of a plate that may only move up and down: its contacts turn and shift nothing. */
static void test_held_coordinates_of_a_stiff_side(void **state) {
  (void)state;
  AbdWorldDef def = abd_default_world_def();
  def.contact.friction = 0.5;
  def.dt = 0.005;
  Lab lab = lab_open(def);
  SoftMesh mesh = soft_block(2, 2, 2, vec3(0.3, 0.3, 0.3));
  AbdSoftDef block = soft_def(&mesh, vec3(0.4, 0.1, 0.21));
  block.velocity[0] = 1;
  block.velocity[2] = -1;
  lab_soft(&lab, &block);
  AbdBodyDef plate = lab_at(lab_box(&lab, 1, 1, 0.1), vec3(0, 0, 0));
  plate.fixed = ABD_FIX_X | ABD_FIX_Y | ABD_FIX_ROTATION_X | ABD_FIX_ROTATION_Y | ABD_FIX_ROTATION_Z;
  AbdBodyId held = lab_body_def(&lab, &plate);
  Affine before = lab_pose(&lab, held);
  size_t contacts = 0;
  for (int i = 0; i < 12; i++) {
    lab_step(&lab);
    contacts += abd_world_contacts(lab.world, NULL, 0);
  }
  Affine after = lab_pose(&lab, held);
  double turned = 0;
  for (int k = 1; k < 4; k++) turned = most(turned, norm(cross(before.n[k], after.n[k])));
  printf("  %zu contacts; the plate moved by %.1e, %.1e, turned by %.1e\n", contacts, after.n[0].x, after.n[0].y,
         turned);
  assert_true(contacts > 20);
  assert_true(fabs(after.n[0].x) < 1e-12 && fabs(after.n[0].y) < 1e-12 && turned < 1e-9);
  soft_mesh_free(&mesh);
  lab_close(&lab);
}

/* A soft body whose vertices are all attached to the world has no moving block: others step beside it. */
static void test_soft_body_that_cannot_move(void **state) {
  (void)state;
  AbdWorldDef def = abd_default_world_def();
  Lab lab = lab_open(def);
  SoftMesh mesh = soft_sheet(2, 2, 0.4, 0.4);
  AbdSoftDef sheet = soft_def(&mesh, vec3(0, 0, 0));
  AbdBodyId held = lab_soft(&lab, &sheet);
  for (size_t j = 0; j < mesh.vertex_count; j++)
    lab_expect_ok(&lab, abd_soft_attach(lab.world, held, j, (AbdBodyId){0}));
  AbdBodyId box = lab_body(&lab, lab_box(&lab, 0.1, 0.1, 0.1), vec3(0, 0, 0.1), vec3(0, 0, -1));
  AbdStepReport report;
  for (int i = 0; i < 10; i++) lab_expect_ok(&lab, abd_world_step(lab.world, &report));
  printf("  the box is at %.4f m\n", lab_pose(&lab, box).n[0].z);
  assert_true(lab_pose(&lab, box).n[0].z > 0.05);
  assert_true(report.min_distance > 0);
  soft_mesh_free(&mesh);
  lab_close(&lab);
}

/* ---- the same bits ---- */

/* A soft block with a flag held by a stiff bar, falling on the ground with friction, a stiff box on top. */
static Lab tumble_open(int threads) {
  AbdWorldDef def = abd_default_world_def();
  def.contact.friction = 0.4;
  def.dt = 0.004;
  def.solver.threads = threads;
  Lab lab = lab_open(def);
  SoftMesh block = soft_block(3, 3, 3, vec3(0.3, 0.3, 0.3)), flag = soft_sheet(8, 5, 0.4, 0.2);
  lab_ground(&lab, vec3(0, 0, 1));
  AbdSoftDef soft = soft_def(&block, vec3(0, 0, 0.16));
  soft.velocity[2] = -0.5;
  soft.velocity[0] = 0.3;
  lab_soft(&lab, &soft);
  AbdBodyId bar = lab_body(&lab, lab_box(&lab, 0.04, 0.3, 0.04), vec3(-0.22, 0, 0.345), vec3(0, 0, -0.6));
  AbdSoftDef shell = soft_def(&flag, vec3(0.01, 0, 0.345));
  shell.velocity[2] = -0.6;
  AbdBodyId sheet = lab_soft(&lab, &shell);
  for (size_t j = 0; j <= 5; j++) lab_expect_ok(&lab, abd_soft_attach(lab.world, sheet, j, bar));
  lab_body(&lab, lab_box(&lab, 0.1, 0.1, 0.1), vec3(0.05, 0.02, 0.42), vec3(0, 0, -1));
  soft_mesh_free(&block);
  soft_mesh_free(&flag);
  return lab;
}

static void test_same_bits_for_any_thread_count(void **state) {
  (void)state;
  lab_same_bits(tumble_open, getenv("ABD_TEST_SHORT") ? 8 : 10, 10);
}

/* A folded sheet of so many triangles that its list of stencils is made in parts. */
static Lab folded_open(int threads) {
  AbdWorldDef def = abd_default_world_def();
  def.contact.range = 0.02;
  def.dt = 0.004;
  def.solver.threads = threads;
  Lab lab = lab_open(def);
  SoftMesh mesh = getenv("ABD_TEST_SHORT") ? soft_sheet(36, 12, 1, 0.4) : soft_sheet(40, 14, 1, 0.4);
  fold(&mesh, 0.04);
  AbdSoftDef sheet = soft_def(&mesh, vec3(0, 0, 0));
  sheet.thickness = 0.005;
  sheet.angular_velocity[1] = 2;
  lab_soft(&lab, &sheet);
  soft_mesh_free(&mesh);
  return lab;
}

static void test_list_in_parts(void **state) {
  (void)state;
  long long first[2] = {0, 0};
  uint64_t hash = 0;
  bool brief = getenv("ABD_TEST_SHORT");
  for (int threads = 1; threads <= (brief ? 2 : 4); threads *= 2) {
    Lab lab = folded_open(threads);
    long long tests = 0, candidates = 0;
    for (int i = 0; i < (brief ? 1 : 4); i++) {
      lab_step(&lab);
      tests += lab.report.box_tests;
      candidates += lab.report.candidates;
    }
    if (threads == 1) first[0] = tests, first[1] = candidates, hash = abd_world_hash(lab.world);
    printf("  %d threads: %lld box tests, %lld candidates, %lld contacts\n", threads, tests, candidates,
           (long long)lab.report.contacts);
    assert_true(abd_world_hash(lab.world) == hash);
    assert_true(tests == first[0] && candidates == first[1]);
    assert_true(tests > 10000 && candidates > 0);
    lab_close(&lab);
  }
}

static void test_same_bits_after_a_snapshot(void **state) {
  (void)state;
  Lab whole = tumble_open(1), fresh = tumble_open(2);
  lab_steps(&whole, 8);
  size_t size = abd_world_snapshot_size(whole.world);
  void *bytes = malloc(size);
  assert_non_null(bytes);
  lab_expect_ok(&whole, abd_world_save(whole.world, bytes, size));
  lab_steps(&whole, 6);
  uint64_t end = abd_world_hash(whole.world);
  lab_expect_ok(&whole, abd_world_restore(whole.world, bytes, size));
  lab_steps(&whole, 6);
  assert_true(abd_world_hash(whole.world) == end);
  lab_expect_ok(&fresh, abd_world_restore(fresh.world, bytes, size));
  lab_steps(&fresh, 6);
  assert_true(abd_world_hash(fresh.world) == end);
  free(bytes);
  lab_close(&whole);
  lab_close(&fresh);
}

/* Asking for crossings elsewhere moves no surface for good: forces of contact read afterwards are the same. */
static void test_crossing_query_changes_nothing(void **state) {
  (void)state;
  Lab lab = tumble_open(1);
  lab_steps(&lab, 8);
  AbdContact before[64], after[64];
  size_t count = abd_world_contacts(lab.world, before, 64);
  double *nodes = lab_nodes(&lab);
  AbdSoftView view = lab_soft_view(&lab, (AbdBodyId){2});
  for (size_t i = 0; i < 3 * view.vertex_count; i++) nodes[12 + i] += 100;
  abd_world_find_crossings(lab.world, nodes, NULL, 0);
  free(nodes);
  assert_true(count > 10);
  assert_int_equal(abd_world_contacts(lab.world, after, 64), count);
  for (size_t i = 0; i < count && i < 64; i++)
    assert_memory_equal(before[i].friction_force, after[i].friction_force, sizeof before[i].friction_force);
  lab_close(&lab);
}

/* ---- what is refused ---- */

static void refuse(AbdSoftDef def, AbdStatus expected, const char *what, const char *value) {
  AbdWorld *world = abd_world_create(NULL, NULL);
  AbdBodyId body = {77};
  def.name = "bad one";
  AbdStatus status = abd_world_add_soft(world, &def, &body);
  const char *text = abd_world_error(world);
  if (status != expected)
    fail_msg("a soft body with %s %s gives status %s: '%s'", what, value, abd_status_name(status), text);
  if (!strstr(text, "bad one") || !strstr(text, what) || !strstr(text, value))
    fail_msg("'%s' does not name '%s' and '%s'", text, what, value);
  assert_int_equal(abd_world_body_count(world), 0);
  assert_int_equal(abd_world_mesh_count(world), 0);
  assert_int_equal(body.id, 77);
  abd_world_destroy(world);
}

#define REFUSE(change, status, what, value)                                                                            \
  do {                                                                                                                 \
    AbdSoftDef d = soft_def(&block, vec3(0, 0, 0));                                                                    \
    change;                                                                                                            \
    refuse(d, status, what, value);                                                                                    \
  } while (0)

static void test_values(void **state) {
  (void)state;
  SoftMesh block = soft_block(1, 1, 1, vec3(1, 1, 1)), sheet = soft_sheet(2, 2, 1, 1);
  REFUSE(d.density = 0, ABD_ERROR_ARGUMENT, "density", "0");
  REFUSE(d.density = NAN, ABD_ERROR_ARGUMENT, "density", "nan");
  REFUSE(d.young = -5, ABD_ERROR_ARGUMENT, "young", "-5");
  REFUSE(d.young = INFINITY, ABD_ERROR_ARGUMENT, "young", "inf");
  REFUSE(d.poisson = 0.5, ABD_ERROR_ARGUMENT, "poisson", "0.5");
  REFUSE(d.poisson = -1, ABD_ERROR_ARGUMENT, "poisson", "-1");
  REFUSE(d.poisson = NAN, ABD_ERROR_ARGUMENT, "poisson", "nan");
  REFUSE(d.bending = -2, ABD_ERROR_ARGUMENT, "bending", "-2");
  REFUSE(d.bending = NAN, ABD_ERROR_ARGUMENT, "bending", "nan");
  REFUSE(d.friction = NAN, ABD_ERROR_ARGUMENT, "friction", "nan");
  REFUSE(d.model = (AbdSoftModel)9, ABD_ERROR_ARGUMENT, "model", "9");
  REFUSE(d.position[1] = NAN, ABD_ERROR_ARGUMENT, "position[1]", "nan");
  REFUSE(d.rotation[2] = INFINITY, ABD_ERROR_ARGUMENT, "rotation[2]", "inf");
  REFUSE(d.rotation[0] = 0, ABD_ERROR_ARGUMENT, "rotation", "zero");
  REFUSE(d.velocity[0] = INFINITY, ABD_ERROR_ARGUMENT, "velocity[0]", "inf");
  REFUSE(d.angular_velocity[2] = NAN, ABD_ERROR_ARGUMENT, "angular velocity[2]", "nan");
  REFUSE((d.tet_count = 0, d.triangle_count = 0), ABD_ERROR_MESH, "0 tets", "0 triangles");
  REFUSE((d.triangle = sheet.triangle, d.triangle_count = 1), ABD_ERROR_MESH, "6 tets", "1 triangles");
  REFUSE((d = soft_def(&sheet, vec3(0, 0, 0)), d.thickness = 0), ABD_ERROR_ARGUMENT, "thickness", "0");
  REFUSE((d = soft_def(&sheet, vec3(0, 0, 0)), d.thickness = NAN), ABD_ERROR_ARGUMENT, "thickness", "nan");
  REFUSE(d.vertex_count = 7, ABD_ERROR_MESH, "tet 0", "vertex 7");
  REFUSE(block.tet[22] = 99, ABD_ERROR_MESH, "tet 5", "vertex 99");
  block.tet[22] = block.tet[21];
  REFUSE((void)0, ABD_ERROR_MESH, "tet 5", "twice");
  soft_mesh_free(&block);
  block = soft_block(1, 1, 1, vec3(1, 1, 1));
  REFUSE(block.vertex[4] = NAN, ABD_ERROR_MESH, "coordinate 1 of vertex 1", "nan");
  REFUSE(block.vertex[4] = 1e31, ABD_ERROR_MESH, "coordinate 1 of vertex 1", "1e+31");
  soft_mesh_free(&block);
  block = soft_block(1, 1, 1, vec3(1, 1, 1));
  uint32_t keep = block.tet[9];
  block.tet[9] = block.tet[10];
  block.tet[10] = keep;
  REFUSE((void)0, ABD_ERROR_MESH, "tet 2", "inside out");
  soft_mesh_free(&block);
  block = soft_block(1, 1, 1, vec3(1, 1, 1));
  REFUSE((d.tet_count = 1), ABD_ERROR_MESH, "vertex 1",
         "no element"); /* the others are used by tets that are not there */
  for (size_t v = 0; v < block.vertex_count; v++) block.vertex[3 * v + 2] = 0;
  REFUSE((void)0, ABD_ERROR_MESH, "tet 0", "flat");
  for (size_t v = 0; v < sheet.vertex_count; v++) sheet.vertex[3 * v + 1] = 0;
  REFUSE(d = soft_def(&sheet, vec3(0, 0, 0)), ABD_ERROR_MESH, "triangle 0", "no area");
  soft_mesh_free(&block);
  soft_mesh_free(&sheet);
}

static void expect_fault(AbdWorld *world, AbdStatus status, AbdStatus expected, const char *a, const char *b) {
  const char *text = abd_world_error(world);
  if (status != expected || !strstr(text, a) || !strstr(text, b))
    fail_msg("%s: '%s', expected %s with '%s' and '%s'", abd_status_name(status), text, abd_status_name(expected), a,
             b);
}

static void test_invalid_attachments(void **state) {
  (void)state;
  Lab lab = still(1e-3, 0.01, 0);
  SoftMesh mesh = soft_block(1, 1, 1, vec3(1, 1, 1));
  AbdSoftDef def = soft_def(&mesh, vec3(0, 0, 0));
  def.name = "jelly";
  AbdBodyId soft = lab_soft(&lab, &def), stiff = lab_body(&lab, lab_box(&lab, 1, 1, 1), vec3(3, 0, 0), vec3(0, 0, 0));
  vec3_to(def.position, vec3(0, 0, 5));
  AbdBodyId other = lab_soft(&lab, &def);
  const double bad[3] = {0, NAN, 0}, push[3] = {0, 0, 1};
  double x[24];
  AbdSoftView view;
  AbdWorld *w = lab.world;
  expect_fault(w, abd_soft_attach(w, stiff, 0, stiff), ABD_ERROR_ARGUMENT, "2", "not a soft one");
  expect_fault(w, abd_soft_attach(w, (AbdBodyId){9}, 0, stiff), ABD_ERROR_ARGUMENT, "9", "not a soft one");
  expect_fault(w, abd_soft_attach(w, soft, 8, stiff), ABD_ERROR_ARGUMENT, "jelly", "vertex 8");
  expect_fault(w, abd_soft_attach(w, soft, 0, (AbdBodyId){9}), ABD_ERROR_ARGUMENT, "9", "does not exist");
  expect_fault(w, abd_soft_attach(w, soft, 0, other), ABD_ERROR_ARGUMENT, "jelly", "soft too");
  lab_expect_ok(&lab, abd_soft_attach(w, soft, 0, stiff));
  expect_fault(w, abd_soft_attach(w, soft, 0, (AbdBodyId){0}), ABD_ERROR_ARGUMENT, "vertex 0", "already");
  assert_int_equal(abd_soft_velocities(w, soft, x), ABD_ERROR_STATE);
  lab_expect_ok(&lab, abd_world_step(w, NULL));
  expect_fault(w, abd_soft_attach(w, soft, 1, stiff), ABD_ERROR_STATE, "jelly", "has begun to move");
  expect_fault(w, abd_soft_script(w, soft, 1), ABD_ERROR_STATE, "jelly", "has begun to move");
  expect_fault(w, abd_soft_set_force(w, stiff, 0, push), ABD_ERROR_ARGUMENT, "2", "no soft vertex 0");
  expect_fault(w, abd_soft_set_force(w, soft, 8, push), ABD_ERROR_ARGUMENT, "1", "no soft vertex 8");
  expect_fault(w, abd_soft_set_force(w, soft, 1, bad), ABD_ERROR_ARGUMENT, "jelly", "nan");
  assert_int_equal(abd_soft_view(w, stiff, &view), ABD_ERROR_ARGUMENT);
  assert_int_equal(abd_soft_vertices(w, stiff, x), ABD_ERROR_ARGUMENT);
  assert_int_equal(abd_soft_velocities(w, stiff, x), ABD_ERROR_ARGUMENT);
  assert_int_equal(abd_world_body_count(w), 3);
  assert_false(abd_body_is_soft(w, stiff));
  assert_false(abd_body_is_soft(w, (AbdBodyId){4})); /* vertices are no bodies to the outside */
  assert_true(abd_body_is_soft(w, other));
  soft_mesh_free(&mesh);
  lab_close(&lab);
}

/* Reports name bodies that the caller knows: a soft body, not its vertices. */
static void test_blame_names_the_soft_body(void **state) {
  (void)state;
  const double huge[3] = {1e308, 1e308, 1e308}, none[3] = {0, 0, 0};
  Lab lab = still(1e-3, 0.01, 0);
  SoftMesh mesh = soft_block(1, 1, 1, vec3(1, 1, 1));
  AbdSoftDef def = soft_def(&mesh, vec3(0, 0, 0));
  def.name = "jelly";
  def.density = 1e-6;
  AbdBodyId soft = lab_soft(&lab, &def);
  uint64_t hash;
  lab_step(&lab);
  hash = abd_world_hash(lab.world);
  lab_expect_ok(&lab, abd_soft_set_force(lab.world, soft, 3, huge));
  expect_fault(lab.world, abd_world_step(lab.world, NULL), ABD_ERROR_NUMERIC, "jelly", "");
  assert_true(abd_world_hash(lab.world) == hash);
  lab_expect_ok(&lab, abd_soft_set_force(lab.world, soft, 3, none));
  lab_step(&lab);
  lab_close(&lab);
  AbdWorldDef few = abd_default_world_def();
  few.solver.max_iterations = 1;
  lab = lab_open(few);
  lab_ground(&lab, vec3(0, 0, 1));
  vec3_to(def.position, vec3(0, 0, 0.503));
  vec3_to(def.velocity, vec3(0, 0, -3));
  def.density = 1000;
  soft = lab_soft(&lab, &def);
  lab_expect_ok(&lab, abd_world_step(lab.world, &lab.report));
  assert_int_equal(lab.report.outcome, ABD_STOPPED_AT_MAX_ITERATIONS);
  if (lab.report.culprit[0].id > 2 || lab.report.culprit[1].id > 2 || lab.report.limit[0].id > 2)
    fail_msg("bodies %u, %u, %u are to blame, there are 2", lab.report.culprit[0].id, lab.report.culprit[1].id,
             lab.report.limit[0].id);
  soft_mesh_free(&mesh);
  lab_close(&lab);
}

static void test_crossing_at_the_start(void **state) {
  (void)state;
  Lab lab = still(1e-3, 0.01, 0);
  SoftMesh mesh = soft_sheet(8, 1, 1, 0.2);
  for (size_t v = 0; v < mesh.vertex_count; v++) { /* a loop whose ends pass through each other */
    double *x = mesh.vertex + 3 * v, a = 7.5 * x[0];
    vec3_to(x, vec3(0.2 * cos(a), x[1] + 0.01 * a, 0.2 * sin(a) + 0.05 * (a > 0)));
  }
  AbdSoftDef def = soft_def(&mesh, vec3(0, 0, 0));
  def.name = "loop";
  lab_soft(&lab, &def);
  AbdStatus status = abd_world_start(lab.world);
  expect_fault(lab.world, status, ABD_ERROR_CROSSING, "loop", "triangle");
  lab_close(&lab);
  lab = still(1e-3, 0.01, 0);
  def.self_contact = false;
  lab_soft(&lab, &def);
  lab_expect_ok(&lab, abd_world_start(lab.world));
  soft_mesh_free(&mesh);
  lab_close(&lab);
}

/* ---- memory ---- */

enum { TRIAL_STEPS = 2 };

static AbdStatus create(Trial *t) {
  AbdWorldDef def = abd_default_world_def();
  AbdError error;
  def.contact.friction = 0.4;
  def.contact.range = 1e-3;
  def.solver.threads = 1;
  t->world = abd_world_create(&def, &error);
  return t->world ? ABD_OK : error.status;
}

/* A stiff block, a soft one on it, and a strip fixed to the stiff one and folded over itself. */
static void trial_run(Trial *t, long fail_at) {
  static const double corner[] = {0, 0, 0, 0.3, 0, 0, 0, 0.3, 0, 0, 0, -0.3};
  static const uint32_t face[] = {0, 1, 2, 0, 3, 1, 0, 2, 3, 1, 3, 2};
  SoftMesh block = soft_block(1, 1, 1, vec3(0.2, 0.2, 0.2)), strip = soft_sheet(8, 1, 0.4, 0.05);
  fold(&strip, 1e-3);
  AbdMeshDef mesh = {.vertex = corner, .vertex_count = 4, .triangle = face, .triangle_count = 4};
  AbdMeshId id;
  memset(t, 0, sizeof *t);
  mem_fail_after(fail_at);
  TRIAL_CALL(t, create(t));
  TRIAL_CALL(t, abd_world_add_mesh(t->world, &mesh, &id));
  AbdBodyDef stiff = lab_at(id, vec3(0, 0, 0));
  AbdSoftDef soft = soft_def(&block, vec3(0.05, 0.05, 0.1005)), shell = soft_def(&strip, vec3(0.6, 0, 0));
  AbdBodyId one, jelly, leaf;
  TRIAL_CALL(t, abd_world_add_body(t->world, &stiff, &one));
  TRIAL_CALL(t, abd_world_add_soft(t->world, &soft, &jelly));
  TRIAL_CALL(t, abd_world_add_soft(t->world, &shell, &leaf));
  TRIAL_CALL(t, abd_soft_attach(t->world, leaf, 0, one));
  TRIAL_CALL(t, abd_soft_attach(t->world, leaf, 1, one));
  TRIAL_CALL(t, abd_soft_attach(t->world, jelly, 0, (AbdBodyId){0}));
  TRIAL_CALL(t, abd_world_start(t->world));
  for (int i = 0; i < TRIAL_STEPS; i++) {
    uint64_t before = abd_world_hash(t->world);
    if (trial_again(t, abd_world_step(t->world, NULL))) {
      assert_true(abd_world_hash(t->world) == before);
      trial_again(t, abd_world_step(t->world, NULL));
    }
    t->hash[i] = abd_world_hash(t->world);
  }
  mem_fail_after(0);
  soft_mesh_free(&block);
  soft_mesh_free(&strip);
}

static void test_every_allocation_may_fail(void **state) {
  Trial whole, t;
  long n = 1;
  (void)state;
  if (THREAD_SANITIZER) skip(); /* one thread, half of the time of all tests here */
  trial_run(&whole, 0);
  for (;; n = trial_next(n)) {
    trial_run(&t, n);
    for (int i = 0; i < TRIAL_STEPS; i++)
      if (t.hash[i] != whole.hash[i])
        fail_msg("allocation %ld failed with '%s': after step %d the state is another", n, abd_status_name(t.failure),
                 i + 1);
    abd_world_destroy(t.world);
    if (t.failures == 0) break;
    if (t.failure != ABD_ERROR_MEMORY)
      fail_msg("allocation %ld failed, the status was %s", n, abd_status_name(t.failure));
  }
  printf("  %ld allocations, %zu contacts at the end\n", n - 1, abd_world_contacts(whole.world, NULL, 0));
  assert_true(n > 100 && abd_world_contacts(whole.world, NULL, 0) > 0);
  abd_world_destroy(whole.world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_elements),
      cmocka_unit_test(test_springs_between_bodies),
      cmocka_unit_test(test_springs_within_a_body),
      cmocka_unit_test(test_held_coordinates_of_a_stiff_side),
      cmocka_unit_test(test_soft_body_that_cannot_move),
      cmocka_unit_test(test_same_bits_for_any_thread_count),
      cmocka_unit_test(test_list_in_parts),
      cmocka_unit_test(test_same_bits_after_a_snapshot),
      cmocka_unit_test(test_crossing_query_changes_nothing),
      cmocka_unit_test(test_values),
      cmocka_unit_test(test_invalid_attachments),
      cmocka_unit_test(test_blame_names_the_soft_body),
      cmocka_unit_test(test_crossing_at_the_start),
      cmocka_unit_test(test_every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
