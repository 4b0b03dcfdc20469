/* Soft bodies against theory: momentum, beams, the catenary, the rigid limit, attachments, friction on an incline, a
 * twisted mat and a squeezed ball without crossings.
 * Labels: slow */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "softscene.h"

static Vec3 momentum(const Lab *lab) { return vec3_from(lab->report.momentum); }
static Vec3 angular_momentum(const Lab *lab) { return vec3_from(lab->report.angular_momentum); }

/* ---- momentum ---- */

/* A block that spins and quivers in flight. */
static void test_flight_keeps_momentum(void **state) {
  (void)state;
  double lost[2];
  for (int fine = 0; fine < 2; fine++) {
    Lab lab = lab_open(world_def(fine ? 0.001 : 0.002, 0));
    SoftMesh mesh = soft_block(3, 2, 2, vec3(0.3, 0.2, 0.25));
    AbdSoftDef def = soft_def(&mesh, vec3(1, 2, 3));
    vec3_to(def.velocity, vec3(0.3, -0.2, 0.5));
    vec3_to(def.angular_velocity, vec3(1, 3, -2));
    AbdBodyId soft = lab_soft(&lab, &def);
    lab_step(&lab);
    Vec3 p = momentum(&lab), l = angular_momentum(&lab);
    double mass = lab_soft_view(&lab, soft).mass;
    lab_expect_below("momentum against that given, relative",
                     norm(sub(p, scale(mass, vec3_from(def.velocity)))) / norm(p), 1e-12);
    lab_run(&lab, lab_seconds(0.3, 0.05));
    lab_expect_below("momentum lost in flight, relative", norm(sub(momentum(&lab), p)) / norm(p), 1e-9);
    Vec3 spin = sub(angular_momentum(&lab), l), middle = lab_middle(&lab, soft);
    lost[fine] = norm(spin) / norm(l);
    printf("  at dt %g s the angular momentum changed by %.2e, %.2f iterations a step, middle at %g %g %g\n",
           lab.def.dt, lost[fine], (double)lab.iterations / (double)lab.report.step, middle.x, middle.y, middle.z);
    soft_mesh_free(&mesh);
    lab_close(&lab);
  }
  for (int fine = 0; fine < 2; fine++) lab_expect_below("angular momentum changed, relative", lost[fine], 1e-9);
}

/* A stiff box hits a soft block; after they have parted what both have is what the box had. */
static void test_collision_keeps_momentum(void **state) {
  (void)state;
  Lab lab = lab_open(world_def(0.002, 0));
  SoftMesh mesh = soft_block(3, 3, 3, vec3(0.3, 0.3, 0.3));
  AbdSoftDef def = soft_def(&mesh, vec3(0, 0, 0));
  lab_soft(&lab, &def);
  AbdBodyDef hit = lab_at(lab_box(&lab, 0.1, 0.12, 0.08), vec3(-0.25, 0.03, 0.02));
  vec3_to(hit.velocity, vec3(2, 0, 0));
  lab_turn(&hit, vec3(1, 2, 3), 0.5);
  AbdBodyId box = lab_body_def(&lab, &hit);
  Vec3 p = scale(2 * lab_view(&lab, box).mass, vec3(1, 0, 0));
  int64_t contacts = 0;
  double energy = 2 * lab_view(&lab, box).mass, gained = 0; /* half m times 2 m/s squared */
  for (int i = 0; i < 100; i++) {
    lab_step(&lab);
    contacts += lab.report.contacts;
    gained = fmax(gained, lab_energy(&lab) - energy);
  }
  lab_expect_no_crossing(&lab);
  printf("  %lld contacts, %.1f iterations a step, at most %d; the box goes on at %g m/s\n", (long long)contacts,
         (double)lab.iterations / 100, lab.most_iterations, lab_velocity(&lab, box).x);
  assert_true(contacts > 10 && lab.report.contacts == 0);
  printf("  energy %.6g -> %.6g J\n", energy, lab_energy(&lab));
  lab_expect_below("energy gained, relative", gained / energy, 1e-6);
  lab_expect_below("momentum lost, relative", norm(sub(momentum(&lab), p)) / norm(p), 1e-9);
  soft_mesh_free(&mesh);
  lab_close(&lab);
}

/* ---- beams ---- */

static void test_cantilever(void **state) {
  (void)state;
  const double g = 9.81, young = 1.5e9, load = beam_density * g, h = beam_height, l = BEAM_LENGTH;
  double bending = 1.5 * load * l * l * l * l / (young * h * h), shear = 1.2 * load * l * l / young,
         theory = bending + shear;
  int levels = getenv("ABD_TEST_SHORT") ? 3 : 4;
  double error = 0, before = 0, rate = 0;
  for (int k = 0; k < levels; k++) {
    int n = 2 << k;
    double z = tip_deflection(n, young, g);
    error = fabs(z / theory - 1);
    rate = k ? log2(before / error) : 0;
    printf("  %2d cells high: tip %.6e m, beam theory %.6e m, off by %.2f %%, rate %.2f\n", n, z, theory, 100 * error,
           rate);
    before = error;
  }
  lab_expect_below("error of the finest", error, levels == 4 ? 0.02 : 0.08);
  lab_expect_near("rate of convergence", rate, 2, 0.35);
}

static void test_bending_frequency(void **state) {
  (void)state;
  bool brief = getenv("ABD_TEST_SHORT") != NULL;
  check_beam_frequency(brief ? 2 : 4, brief ? 0.35 : 0.12);
}

/* ---- the catenary ---- */

/* A strip without bending stiffness, half a circle at rest, between two fixed ends. */
static void test_catenary(void **state) {
  (void)state;
  const int n = 48;
  const double radius = 0.5, length = pi * radius;
  AbdWorldDef world = world_def(0.2, 9.81);
  world.integrator = ABD_INTEGRATOR_EULER;
  world.solver.tolerance = 1e-9;
  Lab lab = lab_open(world);
  SoftMesh mesh = soft_sheet(n, 1, length, 0.03);
  for (size_t v = 0; v < mesh.vertex_count; v++) {
    double *x = mesh.vertex + 3 * v, a = x[0] / radius;
    vec3_to(x, vec3(radius * sin(a), x[1], -radius * cos(a)));
  }
  AbdSoftDef def = soft_def(&mesh, vec3(0, 0, 0));
  def.young = 1e9;
  def.poisson = 0;
  def.bending = 0;
  def.self_contact = false;
  AbdBodyId strip = lab_soft(&lab, &def);
  for (size_t j = 0; j < 2; j++) {
    lab_expect_ok(&lab, abd_soft_attach(lab.world, strip, j, (AbdBodyId){0}));
    lab_expect_ok(&lab, abd_soft_attach(lab.world, strip, 2 * (size_t)n + j, (AbdBodyId){0}));
  }
  for (int i = 0; i < 60; i++) lab_step(&lab);
  double a = 0.3; /* 2 a sinh(1 / 2 a) = length of the polygon; span 1 */
  double chord = 2 * n * radius * sin(length / (2 * n * radius));
  for (int i = 0; i < 50; i++) {
    double f = 2 * a * sinh(0.5 / a) - chord, d = 2 * sinh(0.5 / a) - cosh(0.5 / a) / a;
    a -= f / d;
  }
  double worst = 0, *x = lab_vertices(&lab, strip);
  for (size_t v = 0; v < mesh.vertex_count; v++) {
    double z = a * (cosh(x[3 * v] / a) - cosh(0.5 / a));
    worst = most(worst, fabs(x[3 * v + 2] - z));
  }
  printf("  sag %.6f m, catenary %.6f m, circle %.6f m, at most %d iterations\n", -x[3 * n + 2],
         a * (cosh(0.5 / a) - 1), radius, lab.most_iterations);
  lab_expect_below("farthest from the catenary, m", worst, 2e-3);
  free(x);
  soft_mesh_free(&mesh);
  lab_close(&lab);
}

/* ---- the rigid limit ---- */

/* A hard soft box and the affine one of the same size side by side: each falls, slides without friction, or spins. */
static void compare_with_affine(const char *what, double gravity, Vec3 normal, Vec3 spin, double seconds) {
  AbdWorldDef world = world_def(0.002, gravity);
  world.contact.range = 1e-3;
  Lab lab = lab_open(world);
  double angle = acos(normal.z);
  if (normal.z < 1) lab_ground(&lab, normal);
  SoftMesh mesh = soft_block(2, 2, 2, vec3(0.3, 0.2, 0.1));
  Vec3 up = add_scaled(vec3(0, 0, 0), 0.0509, normal);
  AbdSoftDef def = soft_def(&mesh, add(up, vec3(0, 0.3, 0)));
  def.young = 1e9;
  def.poisson = 0.3;
  def.rotation[0] = cos(0.5 * angle);
  def.rotation[2] = sin(0.5 * angle);
  vec3_to(def.angular_velocity, spin);
  AbdBodyId soft = lab_soft(&lab, &def);
  AbdBodyDef affine = lab_at(lab_box(&lab, 0.3, 0.2, 0.1), add(up, vec3(0, -0.3, 0)));
  memcpy(affine.rotation, def.rotation, sizeof affine.rotation);
  vec3_to(affine.angular_velocity, spin);
  AbdBodyId stiff = lab_body_def(&lab, &affine);
  lab_expect_ok(&lab, abd_world_start(lab.world));
  Vec3 from = lab_middle(&lab, soft), from_stiff = lab_position(&lab, stiff);
  size_t corner = 26; /* the last vertex */
  Vec3 arm = vec3(0.15, 0.1, 0.05);
  lab_run(&lab, seconds);
  Vec3 went = sub(lab_middle(&lab, soft), from), went_stiff = sub(lab_position(&lab, stiff), from_stiff);
  Affine pose = lab_pose(&lab, stiff);
  AbdMeshView view;
  lab_expect_ok(&lab, abd_mesh_view(lab.world, lab_view(&lab, stiff).mesh, &view));
  Mat3 axes = {{vec3_from(view.axes), vec3_from(view.axes + 3), vec3_from(view.axes + 6)}};
  Vec3 stiff_arm = affine_vector(&pose, mat3_tmul_vec(axes, arm)),
       soft_arm = sub(lab_vertex(&lab, soft, corner), lab_middle(&lab, soft));
  printf("  %s: soft went %.6f %.6f %.6f m, affine %.6f %.6f %.6f m; at most %d iterations\n", what, went.x, went.y,
         went.z, went_stiff.x, went_stiff.y, went_stiff.z, lab.most_iterations);
  lab_expect_below("difference of travel, relative", norm(sub(went, went_stiff)) / (norm(went_stiff) + 1e-2), 0.01);
  lab_expect_below("difference of a corner's direction, relative", norm(sub(soft_arm, stiff_arm)) / norm(arm), 0.01);
  soft_mesh_free(&mesh);
  lab_close(&lab);
}

static void test_rigid_limit(void **state) {
  (void)state;
  compare_with_affine("falling", 9.81, vec3(0, 0, 1), vec3(0, 0, 0), 0.3);
  compare_with_affine("sliding", 9.81, vec3(0.5, 0, sqrt(0.75)), vec3(0, 0, 0), 0.3);
  compare_with_affine("spinning", 0, vec3(0, 0, 1), vec3(0, 0, 4), 0.4);
}

/* ---- attachments ---- */

/* How far each attached vertex is from where it is fixed on the body. */
static double attachment_gap(const Lab *lab, AbdBodyId soft, AbdBodyId body, const size_t *vertex, const Vec3 *rest,
                             int count) {
  Affine pose = body.id ? lab_pose(lab, body) : (Affine){{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  double *x = lab_vertices(lab, soft), worst = 0;
  for (int i = 0; i < count; i++)
    worst = most(worst, norm(sub(vec3_from(x + 3 * vertex[i]), affine_point(&pose, rest[i]))));
  free(x);
  return worst;
}

/* A flag on a box that tumbles to the ground, one on a kinematic box that turns, one pinned. */
static void test_attachments_hold(void **state) {
  (void)state;
  enum { ROW = 4 };
  static const char *const name[3] = {"dynamic", "kinematic", "pinned"};
  for (int kind = 0; kind < 3; kind++) {
    AbdWorldDef world = world_def(0.005, 9.81);
    world.contact.friction = 0.3;
    Lab lab = lab_open(world);
    lab_ground(&lab, vec3(0, 0, 1));
    SoftMesh mesh = soft_sheet(6, ROW - 1, 0.3, 0.12);
    AbdSoftDef def = soft_def(&mesh, vec3(0.21, 0, 0.3));
    def.young = 1e6;
    def.thickness = 2e-3;
    AbdBodyDef box = lab_at(lab_box(&lab, 0.1, 0.14, 0.1), vec3(0, 0, 0.3));
    AbdBodyId holder = {0};
    box.motion = kind == 1 ? ABD_MOTION_KINEMATIC : ABD_MOTION_DYNAMIC;
    vec3_to(box.angular_velocity, kind == 1 ? vec3(0, 5, 0) : vec3(1, -6, 2));
    if (kind < 2) holder = lab_body_def(&lab, &box);
    AbdBodyId soft = lab_soft(&lab, &def);
    size_t vertex[ROW];
    Vec3 rest[ROW];
    for (int j = 0; j < ROW; j++) lab_expect_ok(&lab, abd_soft_attach(lab.world, soft, vertex[j] = (size_t)j, holder));
    lab_expect_ok(&lab, abd_world_start(lab.world));
    Affine pose = holder.id ? lab_pose(&lab, holder) : (Affine){{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    for (int j = 0; j < ROW; j++)
      rest[j] = mat3_mul_vec(mat3_inverse(affine_linear(&pose)), sub(lab_vertex(&lab, soft, vertex[j]), pose.n[0]));
    double worst = 0;
    int count = (int)(lab_seconds(0.6, 0.1) / lab.def.dt + 0.5);
    for (int i = 1; i <= count; i++) {
      lab_step(&lab);
      if (i % 10 == 0) lab_expect_no_crossing(&lab);
      worst = most(worst, attachment_gap(&lab, soft, holder, vertex, rest, ROW));
    }
    printf("  %s: %.1f iterations a step, at most %d, target missed by %.1e m\n", name[kind],
           (double)lab.iterations / count, lab.most_iterations, lab.report.target_error);
    lab_expect_below("widest gap of an attachment, m", worst, 2e-15);
    soft_mesh_free(&mesh);
    lab_close(&lab);
  }
}

/* ---- contact ---- */

/* A soft box on an incline of 20 degrees: it stays with 1.05 tan, and with 0.9 tan slides as a rigid one does. */
static void test_friction_on_an_incline(void **state) {
  (void)state;
  const double angle = 20 * pi / 180, g = 9.81;
  for (int slides = 0; slides < 2; slides++) {
    AbdWorldDef world = world_def(0.005, g);
    double mu = world.contact.friction = (slides ? 0.9 : 1.05) * tan(angle);
    Lab lab = lab_open(world);
    Vec3 normal = vec3(sin(angle), 0, cos(angle)), down = vec3(cos(angle), 0, -sin(angle));
    lab_ground(&lab, normal);
    SoftMesh mesh = soft_block(3, 2, 2, vec3(0.3, 0.2, 0.1));
    AbdSoftDef def = soft_def(&mesh, scale(0.0502, normal));
    def.young = 1e6;
    def.rotation[0] = cos(0.5 * angle);
    def.rotation[2] = sin(0.5 * angle);
    AbdBodyId soft = lab_soft(&lab, &def);
    double quiet = 0.3, t = lab_seconds(0.6, 0.1);
    lab_run(&lab, quiet);
    Vec3 at = lab_middle(&lab, soft);
    double v0 = dot(momentum(&lab), down) / lab_soft_view(&lab, soft).mass;
    lab_run(&lab, t);
    double went = dot(sub(lab_middle(&lab, soft), at), down), a = g * (sin(angle) - mu * cos(angle));
    printf("  mu %.4f: %.1f iterations a step, at most %d\n", mu, (double)lab.iterations / (double)lab.report.step,
           lab.most_iterations);
    if (slides) lab_expect_near("slid, m", went, v0 * t + 0.5 * a * t * t, 0.05 * (v0 * t + 0.5 * a * t * t) + 1e-3);
    else lab_expect_below("crept, m", fabs(went), 1e-4);
    soft_mesh_free(&mesh);
    lab_close(&lab);
  }
}

static void test_twisted_mat(void **state) {
  (void)state;
  twist(16, 2, lab_seconds(1, 1), (int)lab_seconds(100, 20));
}

/* A soft ball between two stiff plates that close with friction, then part. */
static void test_squeezed_ball(void **state) {
  (void)state;
  AbdWorldDef world = world_def(0.01, 0);
  world.contact.friction = 0.3;
  Lab lab = lab_open(world);
  SoftMesh mesh = soft_ball(4, 0.1);
  AbdSoftDef def = soft_def(&mesh, vec3(0, 0, 0));
  AbdBodyId ball = lab_soft(&lab, &def), plate[2];
  AbdMeshId slab = lab_box(&lab, 0.4, 0.4, 0.05);
  for (int k = 0; k < 2; k++) {
    AbdBodyDef body = lab_at(slab, vec3(0, 0, k ? 0.127 : -0.127));
    body.motion = ABD_MOTION_KINEMATIC;
    body.velocity[2] = k ? -0.2 : 0.2;
    plate[k] = lab_body_def(&lab, &body);
  }
  lab_run(&lab, lab_seconds(0.25, 0.05));
  double *x = lab_vertices(&lab, ball), wide = 0, high = 0;
  for (size_t v = 0; v < mesh.vertex_count; v++) {
    wide = most(wide, fabs(x[3 * v]));
    high = most(high, fabs(x[3 * v + 2]));
  }
  free(x);
  printf("  %.1f mm wide, %.1f mm high of 200; %.1f iterations a step, at most %d, smallest gap %.1e m\n", 2e3 * wide,
         2e3 * high, (double)lab.iterations / (double)lab.report.step, lab.most_iterations, lab.least_gap);
  assert_true(getenv("ABD_TEST_SHORT") || (high < 0.06 && wide > 0.105));
  const double zero[3] = {0, 0, 0};
  for (int k = 0; k < 2; k++)
    lab_expect_ok(&lab, abd_body_set_velocity(lab.world, plate[k], (double[3]){0, 0, k ? 1 : -1}, zero));
  lab_run(&lab, lab_seconds(0.1, 0.05));
  soft_mesh_free(&mesh);
  lab_close(&lab);
}

/* A wheel about y with pointed teeth. */
static AbdMeshId toothed_wheel(Lab *lab, int teeth, double inner, double outer, double width) {
  enum { TEETH_MAX = 16 };
  double vertex[3 * (4 * TEETH_MAX + 2)];
  uint32_t triangle[3 * 8 * TEETH_MAX], n = 2 * (uint32_t)teeth, *t = triangle;
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t k = 0; k < 2; k++) {
      double r = i % 2 ? outer : inner, a = 2 * pi * i / n;
      vec3_to(vertex + 3 * (k * n + i), vec3(r * cos(a), k ? 0.5 * width : -0.5 * width, -r * sin(a)));
    }
  for (uint32_t k = 0; k < 2; k++) vec3_to(vertex + 3 * (2 * n + k), vec3(0, k ? 0.5 * width : -0.5 * width, 0));
  for (uint32_t i = 0; i < n; i++) {
    uint32_t j = (i + 1) % n, piece[12] = {2 * n, j, i, 2 * n + 1, n + i, n + j, i, j, n + j, i, n + j, n + i};
    memcpy(t, piece, sizeof piece);
    t += 12;
  }
  AbdMeshDef def = abd_default_mesh_def();
  def.vertex = vertex;
  def.vertex_count = 2 * n + 2;
  def.triangle = triangle;
  def.triangle_count = 4 * n;
  return lab_mesh_def(lab, &def);
}

/* Two wheels that turn against each other draw a soft ball between their teeth. */
static void test_ball_between_gears(void **state) {
  (void)state;
  AbdWorldDef world = world_def(0.01, 0);
  world.contact.friction = 0.5;
  Lab lab = lab_open(world);
  SoftMesh mesh = soft_ball(4, 0.1);
  AbdSoftDef def = soft_def(&mesh, vec3(-0.15, 0, 0));
  def.velocity[0] = 0.6;
  AbdBodyId ball = lab_soft(&lab, &def);
  AbdMeshId wheel = toothed_wheel(&lab, 8, 0.1, 0.13, 0.3);
  for (int k = 0; k < 2; k++) {
    AbdBodyDef body = lab_at(wheel, vec3(0, 0, k ? 0.2 : -0.2));
    body.motion = ABD_MOTION_KINEMATIC;
    body.angular_velocity[1] = k ? -4 : 4;
    lab_body_def(&lab, &body);
  }
  lab_run(&lab, lab_seconds(0.5, 0.1));
  Vec3 at = lab_middle(&lab, ball);
  printf("  the ball went to x = %.3f m; %.1f iterations a step, at most %d, smallest gap %.1e m, %lld contacts at the "
         "end\n",
         at.x, (double)lab.iterations / (double)lab.report.step, lab.most_iterations, lab.least_gap,
         (long long)lab.report.contacts);
  assert_true(getenv("ABD_TEST_SHORT") || (lab.least_gap < 1e-3 && at.x > 0));
  soft_mesh_free(&mesh);
  lab_close(&lab);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_flight_keeps_momentum),
      cmocka_unit_test(test_collision_keeps_momentum),
      cmocka_unit_test(test_cantilever),
      cmocka_unit_test(test_bending_frequency),
      cmocka_unit_test(test_catenary),
      cmocka_unit_test(test_rigid_limit),
      cmocka_unit_test(test_attachments_hold),
      cmocka_unit_test(test_friction_on_an_incline),
      cmocka_unit_test(test_twisted_mat),
      cmocka_unit_test(test_squeezed_ball),
      cmocka_unit_test(test_ball_between_gears),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
