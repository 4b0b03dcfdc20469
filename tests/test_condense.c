/* Rigid motions and strains of an affine body against sums over its nodes, and which bodies have six unknowns in
 * Newton's system. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "draw.h"
#include "kernel/condense.h"
#include "mechanism.h"

/* Column k of R or S as twelve numbers. */
static void column_of(const Affine *q, bool strain, int k, double out[12]) {
  double part[2][6] = {{0}};
  part[strain][k] = 1;
  Affine d = motion_of_parts(q, part[0], part[1]);
  memcpy(out, &d, 12 * sizeof(double));
}

/* x^T H y */
static double form(const double h[144], const double x[12], const double y[12]) {
  double sum = 0;
  for (int j = 0; j < 12; j++)
    for (int i = 0; i < 12; i++) sum += x[i] * h[12 * j + i] * y[j];
  return sum;
}

static Affine draw_pose(Draw *d) {
  Vec3 place = draw_vec3(d, 2);
  return affine(place, draw_rotation(d));
}

static void expect(const char *what, double value, double wanted) {
  if (fabs(value - wanted) > 1e-12) fail_msg("%s: %.15g instead of %.15g", what, value, wanted);
}

/* The parts of a vector are its products with the columns, and rigid motions strain nothing. */
static void test_parts(void **state) {
  (void)state;
  Draw d = {1};
  for (int n = 0; n < 20; n++) {
    Affine q = draw_pose(&d);
    double v[12], rigid[6], strain[6], x[12], y[12];
    for (int i = 0; i < 12; i++) v[i] = draw(&d, -1, 1);
    rigid_part(&q, v, rigid);
    strain_part(&q, v, strain);
    for (int k = 0; k < 6; k++) {
      double sum[2] = {0, 0}, mixed = 0, own = 0;
      column_of(&q, false, k, x);
      column_of(&q, true, k, y);
      for (int i = 0; i < 12; i++) sum[0] += x[i] * v[i], sum[1] += y[i] * v[i], own += y[i] * y[i];
      expect("rigid part", rigid[k], sum[0]);
      expect("strain", strain[k], sum[1]);
      expect("size of a strain", own, 1);
      for (int l = 0; l < 6; l++) {
        column_of(&q, true, l, y);
        for (int i = 0; i < 12; i++) mixed += x[i] * y[i];
        expect("rigid motion times strain", mixed, 0);
      }
    }
  }
}

static void test_blocks(void **state) {
  (void)state;
  Draw d = {2};
  for (int n = 0; n < 20; n++) {
    Affine a = draw_pose(&d), b = draw_pose(&d);
    double h[144], own[144], x[12], y[12], unit[12] = {0}, rigid[36], strain[36], rows[72], columns[72];
    for (int k = 0; k < 144; k++) h[k] = draw(&d, -1, 1);
    for (int j = 0; j < 12; j++)
      for (int i = 0; i < 12; i++) own[12 * j + i] = h[12 * j + i] + h[12 * i + j];
    rigid_block(&a, &b, h, rigid);
    rigid_rows(&a, h, rows);
    rigid_columns(&b, h, columns);
    strain_block(&a, own, strain);
    for (int i = 0; i < 6; i++)
      for (int j = 0; j < 6; j++) {
        column_of(&a, false, i, x);
        column_of(&b, false, j, y);
        expect("rigid block", rigid[6 * j + i], form(h, x, y));
        column_of(&a, true, i, x);
        column_of(&a, true, j, y);
        expect("block of strains", strain[6 * j + i], form(own, x, y));
      }
    for (int i = 0; i < 6; i++)
      for (int j = 0; j < 12; j++) {
        memset(unit, 0, sizeof unit);
        unit[j] = 1;
        column_of(&a, false, i, x);
        column_of(&b, false, i, y);
        expect("rows", rows[6 * j + i], form(h, x, unit));
        expect("columns", columns[12 * i + j], form(h, unit, y));
      }
  }
}

/* The factor's bytes for each of so many boxes that have come to rest on the ground. */
static double factor_under(double stiffness, int count) {
  AbdWorldDef def = world_def(0.01);
  def.solver.threads = 1;
  Lab lab = lab_open(def);
  lab_ground(&lab, vec3(0, 0, 1));
  AbdMeshId mesh = lab_box(&lab, 0.2, 0.2, 0.2);
  for (int i = 0; i < count; i++) {
    AbdBodyDef box = lab_at(mesh, vec3(0.3 * i, 0, 0.101));
    box.stiffness = stiffness;
    lab_body_def(&lab, &box);
  }
  for (int i = 0; i < 20; i++) lab_step(&lab);
  double bytes = lab.report.factor_memory;
  lab_close(&lab);
  return bytes / count;
}

/* Contacts of a box have a tenth of the stiffness of its strains in between. */
static void test_choice(void **state) {
  (void)state;
  const double number = sizeof(double);
  assert_float_equal(factor_under(2.5e7, 700), 144 * number, 0);
  assert_float_equal(factor_under(1e8, 700), 36 * number, 0);
  assert_float_equal(factor_under(1e8, 500), 144 * number, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_parts), cmocka_unit_test(test_blocks),
                                     cmocka_unit_test(test_choice)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
