/* Worlds with plane faces divided into 2 to 512 triangles: the same motion, gaps and forces. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "gridbox.h"
#include "lab.h"

typedef struct Result {
  Affine pose;
  Vec3 force, friction;
  double gap;
  int64_t contacts, iterations;
} Result;

/* It overhangs the plate by a third and slides along the edge, 0.1 m until it stops. */
static Result slide_along(int plate, int box) {
  static Grid grid;
  AbdWorldDef def = abd_default_world_def();
  def.contact.friction = 0.5;
  Lab lab = lab_open(def);
  AbdMeshDef mesh = grid_box(&grid, plate, vec3(1, 1, 0.1), 0);
  lab_static(&lab, lab_mesh_def(&lab, &mesh), vec3(0, 0, -0.05));
  mesh = grid_box(&grid, box, vec3(0.3, 0.2, 0.1), 0);
  AbdBodyId id = lab_body(&lab, lab_mesh_def(&lab, &mesh), vec3(0.45, 0, 0.05095), vec3(0, 1, 0));
  lab_steps(&lab, 40);
  Result r = {.pose = lab_pose(&lab, id), .gap = lab.report.min_distance, .contacts = lab.report.contacts};
  r.force = lab_contact_force(&lab, id, &r.friction);
  r.iterations = lab.iterations;
  lab_close(&lab);
  return r;
}

static double farthest(const Affine *x, const Affine *y) {
  double most = 0;
  for (int k = 0; k < 4; k++) most = fmax(most, norm(sub(x->n[k], y->n[k])));
  return most;
}

static void test_division(void **state) {
  (void)state;
  const Result one = slide_along(1, 1);
  for (int k = 0; k < 4; k++) {
    const int division[4][2] = {{4, 1}, {16, 1}, {1, 16}, {16, 4}};
    Result r = slide_along(division[k][0], division[k][1]);
    printf("  plate %d, box %d: %d contacts, %d iterations, gap %.9f mm, force %.9f N\n", division[k][0],
           division[k][1], (int)r.contacts, (int)r.iterations, 1e3 * r.gap, r.force.z);
    lab_expect_below("pose off by [m]", farthest(&r.pose, &one.pose), 1e-11);
    lab_expect_near("gap [m]", r.gap, one.gap, 1e-12);
    lab_expect_below("force off by [N]", norm(sub(r.force, one.force)), 1e-7 * norm(one.force));
    assert_int_equal(r.contacts, one.contacts);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_division)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
