/* Mass, centre of mass and inertia that a body's def gives instead of its mesh: the same motion as a mesh that has
 * them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "lab.h"

static AbdWorldDef still_world(void) {
  AbdWorldDef def = abd_default_world_def();
  def.dt = 0.01;
  def.solver.threads = 1;
  return def;
}

static AbdMeshId box_mesh(Lab *lab, double x, double y, double z, double shift) {
  MeshData m;
  assert_true(shape_box((double[3]){x, y, z}, &m));
  for (size_t i = 0; i < m.vertex_count; i++) m.vertex[3 * i] += shift;
  return lab_mesh(lab, &m, 0, false);
}

static AbdBodyId put(Lab *lab, const AbdBodyDef *def) {
  AbdBodyId id;
  lab_expect_ok(lab, abd_world_add_body(lab->world, def, &id));
  return id;
}

static AbdBodyView view_of(const Lab *lab, AbdBodyId id) {
  AbdBodyView view;
  assert_int_equal(abd_body_view(lab->world, id, &view), ABD_OK);
  return view;
}

/* A point of the mesh's file, in the world. */
static Vec3 place(const Lab *lab, AbdBodyId id, Vec3 file) {
  AbdBodyView body = view_of(lab, id);
  AbdMeshView mesh;
  double n[12];
  assert_int_equal(abd_mesh_view(lab->world, body.mesh, &mesh), ABD_OK);
  assert_int_equal(abd_body_nodes(lab->world, id, n), ABD_OK);
  Vec3 d = sub(file, vec3_from(mesh.origin));
  double x[3] = {dot(vec3_from(mesh.axes), d), dot(vec3_from(mesh.axes + 3), d), dot(vec3_from(mesh.axes + 6), d)};
  Vec3 p = vec3_from(n);
  for (int k = 0; k < 3; k++) p = add_scaled(p, x[k], vec3_from(n + 3 + 3 * k));
  return p;
}

static void test_mass(void **state) {
  (void)state;
  Lab lab = lab_open(still_world());
  AbdBodyDef def = abd_default_body_def();
  def.mesh = box_mesh(&lab, 1, 2, 3, 0);
  AbdBodyView plain = view_of(&lab, put(&lab, &def));
  def.mass = 12;
  AbdBodyView given = view_of(&lab, put(&lab, &def));
  assert_float_equal(given.mass, 12, 0);
  assert_int_equal(given.mesh.id, plain.mesh.id);
  for (int k = 0; k < 3; k++) assert_float_equal(given.inertia[k], plain.inertia[k] * 12 / plain.mass, 1e-12);
  lab_close(&lab);
}

/* The inertia of a box given to a cube, in turned axes: its principal moments come back, and its flight is the
 * box's. */
static void test_inertia(void **state) {
  (void)state;
  AbdWorldDef world = still_world();
  memset(world.gravity, 0, sizeof world.gravity);
  Lab lab = lab_open(world);
  AbdBodyDef def = abd_default_body_def();
  def.angular_velocity[0] = 1, def.angular_velocity[1] = 3, def.angular_velocity[2] = 2;
  def.mesh = box_mesh(&lab, 1, 2, 3, 0);
  AbdBodyId box = put(&lab, &def);
  AbdBodyView is = view_of(&lab, box);
  def.mesh = box_mesh(&lab, 1, 1, 1, 0.25);
  def.position[0] = 10;
  def.mass = is.mass;
  def.has_center_of_mass = true;
  memcpy(def.inertia, (double[6]){is.inertia[0], is.inertia[1], is.inertia[2], 0, 0, 0}, sizeof def.inertia);
  AbdBodyId cube = put(&lab, &def), twin = put(&lab, (AbdBodyDef[]){def});
  assert_int_equal(view_of(&lab, cube).mesh.id, view_of(&lab, twin).mesh.id); /* they share the copy */
  assert_int_equal(abd_world_mesh_count(lab.world), 3);
  lab_expect_ok(&lab, abd_world_exclude_pair(lab.world, cube, twin));
  for (int k = 0; k < 3; k++) assert_float_equal(view_of(&lab, cube).inertia[k], is.inertia[k], 1e-9 * is.inertia[k]);
  for (int i = 0; i < 100; i++) lab_expect_ok(&lab, abd_world_step(lab.world, NULL));
  for (int k = 0; k < 3; k++) {
    Vec3 e = vec3(k == 0, k == 1, k == 2), a = place(&lab, box, e), b = place(&lab, cube, e);
    assert_true(norm(sub(add_scaled(b, -1, vec3(10, 0, 0)), a)) < 1e-9);
  }
  lab_close(&lab);
}

static void test_products(void **state) {
  (void)state;
  Lab lab = lab_open(still_world());
  AbdBodyDef def = abd_default_body_def();
  def.mesh = box_mesh(&lab, 1, 1, 1, 0);
  def.mass = 1;
  /* diag(2, 3, 4) turned by 30 degrees about z */
  double c = sqrt(0.75), s = 0.5;
  memcpy(def.inertia, (double[6]){2 * c * c + 3 * s * s, 2 * s * s + 3 * c * c, 4, (2 - 3) * c * s, 0, 0},
         sizeof def.inertia);
  AbdBodyView view = view_of(&lab, put(&lab, &def));
  assert_float_equal(view.inertia[0], 2, 1e-12);
  assert_float_equal(view.inertia[1], 3, 1e-12);
  assert_float_equal(view.inertia[2], 4, 1e-12);
  lab_close(&lab);
}

/* A cube with its centre of mass near one side falls over the edge on which it is put; as given by the mesh it does
 * not. */
static void test_center(void **state) {
  (void)state;
  for (int heavy = 0; heavy < 2; heavy++) {
    Lab lab = lab_open(still_world());
    MeshData m;
    AbdBodyDef def = abd_default_body_def(), base = abd_default_body_def();
    assert_true(shape_box((double[3]){1, 1, 1}, &m));
    def.mesh = lab_mesh(&lab, &m, 0, false);
    def.position[0] = 0.2, def.position[2] = 1.005;
    def.has_center_of_mass = heavy;
    def.center_of_mass[0] = 0.4;
    AbdBodyId cube = put(&lab, &def);
    assert_true(shape_box((double[3]){1, 1, 1}, &m));
    base.mesh = lab_mesh(&lab, &m, 0, false);
    base.motion = ABD_MOTION_STATIC;
    base.density = 0;
    AbdBodyId block = put(&lab, &base);
    assert_true(view_of(&lab, block).mass == 0);
    for (int i = 0; i < 120; i++) lab_expect_ok(&lab, abd_world_step(lab.world, NULL));
    double z = place(&lab, cube, vec3(0.4, 0, 0)).z;
    if (heavy) assert_true(z < 0.9);
    else assert_true(z > 0.99);
    lab_close(&lab);
  }
}

static void expect_refused(Lab *lab, const AbdBodyDef *def, const char *words) {
  assert_int_equal(abd_world_add_body(lab->world, def, NULL), ABD_ERROR_ARGUMENT);
  if (!strstr(abd_world_error(lab->world), words)) fail_msg("%s", abd_world_error(lab->world));
}

static void test_refused(void **state) {
  (void)state;
  Lab lab = lab_open(still_world());
  AbdBodyDef good = abd_default_body_def(), def;
  good.mesh = box_mesh(&lab, 1, 1, 1, 0);
  good.name = "part";
  def = good, def.density = 0;
  expect_refused(&lab, &def, "\"part\": density is 0");
  def = good, def.mass = -1;
  expect_refused(&lab, &def, "\"part\": mass is -1");
  def = good, def.has_center_of_mass = true, def.center_of_mass[1] = NAN;
  expect_refused(&lab, &def, "center_of_mass[1] is nan");
  def = good, def.inertia[0] = 1, def.inertia[1] = 1, def.inertia[2] = 2.1;
  expect_refused(&lab, &def, "no mass has the inertia");
  def = good, def.inertia[3] = INFINITY;
  expect_refused(&lab, &def, "inertia[3] is inf");
  lab_close(&lab);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_mass), cmocka_unit_test(test_inertia),
                                     cmocka_unit_test(test_products), cmocka_unit_test(test_center),
                                     cmocka_unit_test(test_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
