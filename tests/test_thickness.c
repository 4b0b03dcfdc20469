/* Collision thickness: sheets rest half of it above the ground and all of it above each other, fast bodies come no
 * nearer, a mesh finer than its thickness does not push itself apart, and errors name starts that are too near. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "kernel/distance.h"
#include "softlab.h"

static const double range = 1e-3, thickness = 0.02;

static Lab open_lab(double gravity) {
  AbdWorldDef def = abd_default_world_def();
  def.contact.range = range;
  def.gravity[2] = -gravity;
  return lab_open(def);
}

static AbdSoftDef sheet_def(const SoftMesh *mesh, double z) {
  AbdSoftDef def = soft_def(mesh, vec3(0, 0, z));
  def.young = 1e6;
  def.contact_thickness = thickness;
  return def;
}

/* All heights of a sheet between two values. */
static void expect_heights(const Lab *lab, AbdBodyId soft, const char *what, double low, double high) {
  double *x = lab_vertices(lab, soft);
  double least_z = INFINITY, most_z = -INFINITY;
  for (size_t v = 0; v < lab_soft_view(lab, soft).vertex_count; v++)
    least_z = fmin(least_z, x[3 * v + 2]), most_z = fmax(most_z, x[3 * v + 2]);
  free(x);
  printf("  %s: %.6f to %.6f m\n", what, least_z, most_z);
  if (!(least_z > low && most_z < high))
    fail_msg("%s: from %g to %g m, expected between %g and %g", what, least_z, most_z, low, high);
}

/* Two sheets on the ground, one with cells finer than it is thick, and a stiff box on the upper one. */
static void test_rest(void **state) {
  (void)state;
  Lab lab = open_lab(9.81);
  lab_ground(&lab, vec3(0, 0, 1));
  SoftMesh coarse = soft_sheet(4, 4, 0.4, 0.4), fine = soft_sheet(7, 7, 0.1, 0.1);
  AbdSoftDef lower = sheet_def(&coarse, 0.011), upper = sheet_def(&fine, 0.033);
  AbdBodyId a = lab_soft(&lab, &lower), b = lab_soft(&lab, &upper);
  AbdBodyId box = lab_body(&lab, lab_box(&lab, 0.05, 0.05, 0.05), vec3(0, 0, 0.07), vec3(0, 0, 0));
  lab_run(&lab, 0.3);
  expect_heights(&lab, a, "lower sheet", 0.5 * thickness, 0.5 * thickness + range);
  expect_heights(&lab, b, "upper sheet", 1.5 * thickness, 1.5 * thickness + 2 * range);
  double under = lab_position(&lab, box).z - 0.025;
  if (!(under > 2 * thickness && under < 2 * thickness + 3 * range)) fail_msg("the box stands at %g m", under);
  lab_expect_near("smallest distance", lab.report.min_distance, 0.5 * thickness, range);
  soft_mesh_free(&coarse);
  soft_mesh_free(&fine);
  lab_close(&lab);
}

/* A stiff plate, a body without any volume, lies on the ground by half of its thickness. */
static void test_stiff_plate(void **state) {
  (void)state;
  Lab lab = open_lab(9.81);
  lab_ground(&lab, vec3(0, 0, 1));
  MeshData mesh = {0};
  assert_true(shape_grid((double[2]){0.5, 0.5}, (int[2]){1, 1}, &mesh));
  AbdBodyDef def = lab_at(lab_mesh(&lab, &mesh, 0.01, false), vec3(0, 0, 0.012));
  def.contact_thickness = thickness;
  AbdBodyId plate = lab_body_def(&lab, &def);
  assert_float_equal(lab_view(&lab, plate).contact_thickness, thickness, 0);
  lab_run(&lab, 0.5);
  lab_expect_near("height of the plate", lab_position(&lab, plate).z, 0.5 * (thickness + range), 0.5 * range);
  lab_close(&lab);
}

/* A box thrown at a held sheet at 20 m/s: 0.2 m in a step. */
static void test_fast(void **state) {
  (void)state;
  Lab lab = open_lab(0);
  SoftMesh mesh = soft_sheet(4, 4, 0.6, 0.6);
  AbdSoftDef def = sheet_def(&mesh, 0);
  AbdBodyId sheet = lab_soft(&lab, &def);
  for (size_t v = 0; v < mesh.vertex_count; v++)
    if (v < 5 || v >= 20) lab_expect_ok(&lab, abd_soft_attach(lab.world, sheet, v, (AbdBodyId){0}));
  lab_body(&lab, lab_box(&lab, 0.1, 0.1, 0.1), vec3(0.03, 0.05, 0.3), vec3(0, 0, -20));
  for (int i = 0; i < 10; i++) {
    lab_step(&lab);
    if (!(lab.report.min_distance > 0.5 * thickness)) fail_msg("step %d: %g m apart", i + 1, lab.report.min_distance);
  }
  lab_expect_below("smallest distance over range", (lab.least_gap - 0.5 * thickness) / range, 1);
  soft_mesh_free(&mesh);
  lab_close(&lab);
}

/* From the strip's last vertices to the half that it began with. */
static double layers_apart(const Lab *lab, AbdBodyId strip, const SoftMesh *mesh) {
  double *x = lab_vertices(lab, strip), nearest = INFINITY;
  for (size_t t = 0; t < mesh->triangle_count / 2; t++)
    for (size_t v = mesh->vertex_count - 2; v < mesh->vertex_count; v++) {
      const uint32_t *c = mesh->triangle + 3 * t;
      double w[3];
      Vec3 diff;
      double d = closest_point_triangle(vec3_from(x + 3 * v), vec3_from(x + 3 * c[0]), vec3_from(x + 3 * c[1]),
                                        vec3_from(x + 3 * c[2]), w, &diff);
      nearest = fmin(nearest, sqrt(d));
    }
  free(x);
  return nearest;
}

/* A strip folded over: its layers are kept a whole thickness apart, its neighbouring cells are not pushed. */
static void test_fold(void **state) {
  (void)state;
  Lab lab = open_lab(0);
  SoftMesh mesh = soft_sheet(24, 1, 0.4, 0.02);
  AbdSoftDef def = sheet_def(&mesh, 0);
  def.bending = 0.1;
  AbdBodyId strip = lab_soft(&lab, &def);
  for (size_t v = 0; v < 2; v++) {
    lab_expect_ok(&lab, abd_soft_attach(lab.world, strip, v, (AbdBodyId){0}));
    lab_expect_ok(&lab, abd_soft_script(lab.world, strip, 48 + v));
  }
  lab_step(&lab);
  lab_expect_below("energy of a flat start", lab.report.energy[ABD_TERM_SOFT] + lab.report.energy[ABD_TERM_CONTACT],
                   1e-12);
  for (int step = 1; step <= 60; step++) { /* half a circle to above the held end, then down to nothing */
    double angle = fmin(step, 50) * 3.14159265358979 / 50, drop = fmax(0, step - 50) * 0.002;
    for (size_t v = 0; v < 2; v++) {
      double at[3] = {0.17 * cos(angle), mesh.vertex[3 * v + 1], 0.17 * sin(angle) + (1 - cos(angle)) * 0.015 - drop};
      lab_expect_ok(&lab, abd_soft_set_target(lab.world, strip, 48 + v, at));
    }
    lab_expect_ok(&lab, abd_world_step(lab.world, &lab.report));
    lab_expect_no_crossing(&lab);
  }
  lab_expect_near("layers apart", layers_apart(&lab, strip, &mesh), thickness + 1.5 * range, 1.5 * range);
  soft_mesh_free(&mesh);
  lab_close(&lab);
}

static void test_start(void **state) {
  (void)state;
  for (int soft = 0; soft < 2; soft++) {
    Lab lab = open_lab(0);
    lab_ground(&lab, vec3(0, 0, 1));
    SoftMesh mesh = soft_sheet(2, 2, 1, 1);
    AbdSoftDef def = sheet_def(&mesh, 0.004);
    def.name = "canvas";
    AbdBodyDef box = lab_at(lab_box(&lab, 1, 1, 1), vec3(0, 0, 0.504));
    box.name = "canvas";
    box.contact_thickness = thickness;
    if (soft) lab_soft(&lab, &def);
    else lab_body_def(&lab, &box);
    AbdStatus status = abd_world_start(lab.world);
    const char *text = abd_world_error(lab.world);
    if (status != ABD_ERROR_CROSSING || !strstr(text, "canvas") || !strstr(text, "0.004 m apart") ||
        !strstr(text, "0.01 m"))
      fail_msg("%s: '%s'", abd_status_name(status), text);
    soft_mesh_free(&mesh);
    lab_close(&lab);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_rest), cmocka_unit_test(test_stiff_plate),
                                     cmocka_unit_test(test_fast), cmocka_unit_test(test_fold),
                                     cmocka_unit_test(test_start)};
  return cmocka_run_group_tests_name("thickness", tests, NULL, NULL);
}
