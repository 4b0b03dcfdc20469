/* Scenes of soft bodies for tests of several lengths: a beam and a twisted mat. */
#ifndef TESTS_SOFTSCENE_H
#define TESTS_SOFTSCENE_H

#include "softlab.h"

static const double pi = 3.14159265358979323846;

static inline AbdWorldDef world_def(double dt, double gravity) {
  AbdWorldDef def = abd_default_world_def();
  def.dt = dt;
  def.gravity[2] = -gravity;
  return def;
}

enum { BEAM_LENGTH = 1 };
static const double beam_height = 0.1, beam_density = 1000;

/* A beam along x, clamped at x = 0, with n cells over its height and one over its width; Poisson's ratio is 0, so the
 * width does not matter. */
static inline AbdBodyId beam(Lab *lab, int n, double young, size_t *tip) {
  int length = (int)(n * BEAM_LENGTH / beam_height + 0.5);
  SoftMesh mesh = soft_block(length, 1, n, vec3(BEAM_LENGTH, beam_height, beam_height));
  AbdSoftDef def = soft_def(&mesh, vec3(0.5 * BEAM_LENGTH, 0, 0));
  def.young = young;
  def.poisson = 0;
  def.density = beam_density;
  def.self_contact = false;
  AbdBodyId soft = lab_soft(lab, &def);
  size_t section = 2 * ((size_t)n + 1);
  for (size_t v = 0; v < section; v++) lab_expect_ok(lab, abd_soft_attach(lab->world, soft, v, (AbdBodyId){0}));
  *tip = (size_t)length * section + (size_t)n / 2;
  soft_mesh_free(&mesh);
  return soft;
}

/* Static: implicit Euler with steps far above any period. Beam theory with shear (k = 5/6 at Poisson's ratio 0). */
static inline double tip_deflection(int n, double young, double g) {
  AbdWorldDef def = world_def(100, g);
  def.integrator = ABD_INTEGRATOR_EULER;
  def.solver.tolerance = 1e-12;
  size_t tip;
  Lab lab = lab_open(def);
  AbdBodyId soft = beam(&lab, n, young, &tip);
  for (int i = 0; i < 3; i++) lab_step(&lab);
  double z = 0.5 * (lab_vertex(&lab, soft, tip).z + lab_vertex(&lab, soft, tip + (size_t)n + 1).z);
  lab_close(&lab);
  return -z;
}

/* Released straight, the beam swings about its rest: the time between two upward passages of the tip through it. */
static inline double beam_frequency(int n, double young, double g, double rest) {
  AbdWorldDef def = world_def(0.001, g);
  def.integrator = ABD_INTEGRATOR_BDF2;
  size_t tip;
  Lab lab = lab_open(def);
  AbdBodyId soft = beam(&lab, n, young, &tip);
  double last = 0, passed[2] = {0, 0};
  int count = 0;
  for (int i = 1; i < 400 && count < 2; i++) {
    lab_step(&lab);
    double z = lab_vertex(&lab, soft, tip).z + rest;
    if (last < 0 && z >= 0) passed[count++] = (i - z / (z - last)) * lab.def.dt;
    last = z;
  }
  assert_int_equal(count, 2);
  printf("  %d cells high: %.3f iterations a step\n", n, (double)lab.iterations / (double)lab.report.step);
  lab_close(&lab);
  return 1 / (passed[1] - passed[0]);
}

/* Against Bernoulli's beam. */
static inline void check_beam_frequency(int n, double tolerance) {
  const double g = 9.81, young = 4e8, h = beam_height, l = BEAM_LENGTH;
  double theory = 1.8751040687 * 1.8751040687 / (2 * pi) * sqrt(young * h * h / (12 * beam_density * l * l * l * l));
  double f = beam_frequency(n, young, g, tip_deflection(n, young, g));
  lab_expect_near("first bending frequency, Hz", f, theory, tolerance * theory);
}

/* A mat held by two kinematic bars that turn against each other, so that it folds onto itself. */
static inline void twist(int n, double turns, double seconds, int limit) {
  AbdWorldDef world = world_def(0.01, 0);
  Lab lab = lab_open(world);
  int across = n / 2;
  SoftMesh mesh = soft_sheet(n, across, 1, 0.4);
  AbdSoftDef def = soft_def(&mesh, vec3(0, 0, 0));
  def.thickness = 2e-3;
  def.young = 1e6;
  def.poisson = 0.3;
  def.density = 200;
  AbdBodyId mat = lab_soft(&lab, &def);
  AbdMeshId rod = lab_box(&lab, 0.04, 0.5, 0.04);
  for (int k = 0; k < 2; k++) {
    AbdBodyDef bar = lab_at(rod, vec3(k ? 0.53 : -0.53, 0, 0));
    bar.motion = ABD_MOTION_KINEMATIC;
    bar.angular_velocity[0] = (k ? 1 : -1) * pi * turns / seconds;
    AbdBodyId id = lab_body_def(&lab, &bar);
    for (int j = 0; j <= across; j++)
      lab_expect_ok(&lab, abd_soft_attach(lab.world, mat, (size_t)(k * n * (across + 1) + j), id));
  }
  int count = (int)(seconds / world.dt + 0.5);
  double spent = 0;
  for (int i = 1; i <= count && i <= limit; i++) {
    lab_step(&lab);
    if (i % 5 == 0 || i == count) lab_expect_no_crossing(&lab);
    for (int k = 0; k < ABD_STAGE_COUNT; k++) spent += lab.report.seconds[k];
  }
  printf("  %d triangles, %g turns: %lld contacts, %.1f iterations a step, at most %d, smallest gap %.1e m, %.3f s a "
         "step\n",
         4 * n * across / 2, turns * (double)lab.report.step / count, (long long)lab.report.contacts,
         (double)lab.iterations / (double)lab.report.step, lab.most_iterations, lab.least_gap,
         spent / (double)lab.report.step);
  assert_true(limit < count || lab.report.contacts > 20);
  soft_mesh_free(&mesh);
  lab_close(&lab);
}

#endif
