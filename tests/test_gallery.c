/* The gallery: keys and values, the same text twice, closed meshes. Gears: over a whole pitch two of them roll on each
 * other without touching, and touch when one is turned by a little more than the play. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "scene/gallery_vessel.h"

static void test_keys(void **state) {
  (void)state;
  for (const GalleryScene *const *scene = gallery_list(); *scene; scene++) {
    assert_true(gallery_key_count(*scene) <= GALLERY_KEY_LIMIT);
    assert_ptr_equal(gallery_find((*scene)->name), *scene); /* no two of one name */
    for (const GalleryKey *key = (*scene)->key; key->name; key++) {
      char text[32];
      double value = -1e300;
      SceneError error;
      gallery_write_value(key, key->value, text);
      if (!gallery_read(key, text, &value, &error)) fail_msg("%s: %s", (*scene)->name, error.text);
      if (fabs(value - key->value) > 1e-9 * fabs(key->value))
        fail_msg("%s --%s: %g became %g", (*scene)->name, key->name, key->value, value);
    }
  }
  assert_null(gallery_find("nothing"));
}

static void expect_refused(const GalleryKey *key, const char *text, const char *sentence) {
  double value;
  SceneError error = {""};
  assert_false(gallery_read(key, text, &value, &error));
  assert_string_equal(error.text, sentence);
}

static void test_refused_values(void **state) {
  (void)state;
  static const char *const words[] = {"red", "blue", NULL};
  const GalleryKey count = {"count", "", 3, 1, 10, true, NULL}, color = {"color", "", 0, 0, 1, true, words};
  expect_refused(&count, "2.5", "--count: expected a whole number from 1 to 10, got '2.5'");
  expect_refused(&count, "11", "--count: expected a whole number from 1 to 10, got '11'");
  expect_refused(&count, "nan", "--count: expected a whole number from 1 to 10, got 'nan'");
  expect_refused(&count, "3x", "--count: expected a whole number from 1 to 10, got '3x'");
  expect_refused(&color, "green", "--color: expected one of red, blue, got 'green'");
}

static char *text_of(const char *name, const char *key, double changed, SceneError *error) {
  const GalleryScene *scene = gallery_find(name);
  double value[GALLERY_KEY_LIMIT];
  size_t length;
  gallery_defaults(scene, value);
  for (int k = 0; scene->key[k].name; k++)
    if (key && !strcmp(scene->key[k].name, key)) value[k] = changed;
  return gallery_text(scene, value, &length, error);
}

static void test_text(void **state) {
  (void)state;
  SceneError error;
  char *one = text_of("pile", "count", 20, &error), *two = text_of("pile", "count", 20, &error);
  char *other = text_of("pile", "seed", 2, &error);
  assert_non_null(one);
  assert_string_equal(one, two);
  assert_string_not_equal(one, other);
  assert_non_null(strstr(one, "\"# made by\": \"abd scene pile --count 20\""));
  assert_null(text_of("four-bar", "crank", 2, &error));
  assert_non_null(strstr(error.text, "four-bar: the crank 2 cannot turn around"));
  double few[GALLERY_KEY_LIMIT] = {10, 10, 0.01, 14, 0.06, 1, 0, 4}; /* teeth, teeth, module, pressure angle, ... */
  size_t length;
  assert_null(gallery_text(gallery_find("gears"), few, &length, &error));
  assert_non_null(strstr(error.text, "gears: 10 and 10 teeth with a pressure angle of 14 degrees overlap by "));
  free(one), free(two), free(other);
}

/* Volume of a closed surface by the divergence theorem. */
static double volume(const MeshData *m) {
  double sum = 0;
  for (size_t t = 0; t < m->triangle_count; t++) {
    const uint32_t *corner = m->triangle + 3 * t;
    const double *a = m->vertex + 3 * corner[0], *b = m->vertex + 3 * corner[1], *c = m->vertex + 3 * corner[2];
    sum += a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) + a[2] * (b[0] * c[1] - b[1] * c[0]);
  }
  return sum / 6;
}

/* The normal of an involute touches the base circle: seen from the middle of two neighbours on a flank, the line at
 * right angles to them passes the centre at the distance of the base radius. */
static void test_involute(void **state) {
  (void)state;
  GearShape gear = {.teeth = 17,
                    .module = 0.01,
                    .pressure_angle = radians(20),
                    .backlash = 0.0006,
                    .mate_teeth = 40,
                    .thickness = 0.03,
                    .resolution = 24};
  double base = gear_base_radius(&gear), tip = gear_tip_radius(&gear), worst = 0;
  int count = 0;
  MeshData mesh;
  assert_true(part_gear(&gear, &mesh));
  for (size_t i = 0; i + 1 < mesh.vertex_count; i++) {
    const double *a = mesh.vertex + 3 * i, *b = a + 3;
    double ra = hypot(a[0], a[1]), rb = hypot(b[0], b[1]), dx = b[0] - a[0], dy = b[1] - a[1], d = hypot(dx, dy);
    bool flank = a[2] == b[2] && fabs(a[2]) < gear.thickness / 2 - 1e-9 && ra > base * (1 + 1e-9) &&
                 rb > base * (1 + 1e-9) && fabs(ra - rb) > 1e-6 && d < 0.01 && ra <= tip * (1 + 1e-12);
    if (!flank) continue;
    double from_centre = fabs(((a[0] + b[0]) * dx + (a[1] + b[1]) * dy) / (2 * d));
    worst = fmax(worst, fabs(from_centre / base - 1));
    count++;
  }
  if (worst > 1e-3 || count < 17 * 2 * 20)
    fail_msg("%d pieces of flanks, the worst normal misses the base circle by %g", count, worst);
  double thickness = 2 * gear_half_angle(&gear, gear_pitch_radius(&gear)) * gear_pitch_radius(&gear);
  if (fabs(thickness - (pi * 0.01 / 2 - 0.0003)) > 1e-15)
    fail_msg("a tooth is %.17g thick on the pitch circle", thickness);
  if (!(volume(&mesh) > 0)) fail_msg("volume %g", volume(&mesh));
  mesh_data_free(&mesh);
}

/* Soft parts of ships and helicopters are sound at any resolution: tets with a volume, a closed surface, of the
 * genus of their form: tyres are rings. */
static void check_tets(const char *name, double resolution, TetMesh *tets, int holes, int pieces, double least,
                       double most) {
  SceneError error = {""};
  uint32_t(*surface)[3], *node_of;
  size_t count, shared;
  double sum = 0;
  MeshData skin;
  if (!tet_mesh_require_sound(tets, name, &error)) fail_msg("%s", error.text);
  for (size_t t = 0; t < tets->tet_count; t++) sum += tet_mesh_volume(tets, t);
  assert_true(tet_mesh_surface(tets, &surface, &count, &shared));
  assert_int_equal(shared, 0);
  assert_true(tet_mesh_skin(tets, &skin, &node_of));
  long euler = (long)skin.vertex_count - (long)count / 2;
  if (euler != 2 * pieces - 2 * holes)
    fail_msg("%s at %g: %ld, expected the Euler number of %d pieces", name, resolution, euler, pieces);
  if (!(sum > least && sum < most))
    fail_msg("%s at %g: volume %g, expected %g to %g", name, resolution, sum, least, most);
  free(surface), free(node_of);
  mesh_data_free(&skin);
  tet_mesh_free(tets);
}

static void test_vessels(void **state) {
  (void)state;
  size_t before = 0;
  for (double resolution = 0.5; resolution < 5; resolution *= 2) {
    RotorShape rotor = helicopter_rotor(resolution), tail = helicopter_tail_rotor(resolution);
    MeshData ship, helicopter;
    TetMesh tets;
    assert_true(part_ship(resolution, &ship) && part_helicopter(resolution, &helicopter));
    double of_ship = volume(&ship), of_helicopter = volume(&helicopter);
    if (!(of_ship > 0.02 && of_ship < 0.04)) fail_msg("ship at %g: volume %g", resolution, of_ship);
    if (!(of_helicopter > 0.002 && of_helicopter < 0.006))
      fail_msg("helicopter at %g: volume %g", resolution, of_helicopter);
    assert_true(ship.triangle_count + helicopter.triangle_count > before);
    before = ship.triangle_count + helicopter.triangle_count;
    mesh_data_free(&ship), mesh_data_free(&helicopter);
    assert_true(part_rotor(&rotor, &tets));
    check_tets("rotor", resolution, &tets, 0, 1, 1e-4, 3e-4);
    assert_true(part_rotor(&tail, &tets));
    check_tets("tail rotor", resolution, &tets, 0, 1, 5e-6, 4e-5);
    assert_true(part_tyres(resolution, &tets));
    check_tets("tyres", resolution, &tets, 4, 4, 2e-4, 6e-4);
  }
}

static AbdMeshId add_gear(AbdWorld *world, const GearShape *shape) {
  MeshData data;
  AbdMeshDef def = abd_default_mesh_def();
  AbdMeshId mesh;
  assert_true(part_gear(shape, &data));
  def.vertex = data.vertex, def.vertex_count = data.vertex_count;
  def.triangle = data.triangle, def.triangle_count = data.triangle_count;
  assert_int_equal(abd_world_add_mesh(world, &def, &mesh), ABD_OK);
  mesh_data_free(&data);
  return mesh;
}

static AbdBodyId add_body(AbdWorld *world, AbdMeshId mesh, double x, double turn, double nodes[12]) {
  AbdBodyDef def = abd_default_body_def();
  AbdBodyId body;
  def.mesh = mesh;
  def.position[0] = x;
  def.rotation[0] = cos(turn / 2), def.rotation[3] = sin(turn / 2);
  assert_int_equal(abd_world_add_body(world, &def, &body), ABD_OK);
  abd_body_nodes(world, body, nodes);
  return body;
}

typedef struct Pair {
  AbdWorld *world;
  GearShape a, b;
  AbdMeshId mesh_a, mesh_b;
} Pair;

static Pair make_pair(int teeth_a, int teeth_b) {
  AbdWorldDef def = abd_default_world_def();
  Pair pair = {.world = abd_world_create(&def, NULL)};
  pair.a = (GearShape){.teeth = teeth_a,
                       .module = 0.01,
                       .pressure_angle = radians(20),
                       .backlash = 0.0006,
                       .mate_teeth = teeth_b,
                       .thickness = 0.03,
                       .resolution = 12};
  pair.b = pair.a;
  pair.b.teeth = teeth_b, pair.b.mate_teeth = teeth_a;
  pair.mesh_a = add_gear(pair.world, &pair.a);
  pair.mesh_b = add_gear(pair.world, &pair.b);
  return pair;
}

/* Do the gears cross, the first turned by turn, the second by what the ratio says and an extra angle? Exact. */
static bool gears_cross(const Pair *p, double turn, double extra) {
  double apart = gear_pitch_radius(&p->a) + gear_pitch_radius(&p->b), nodes_a[12], nodes_b[12];
  double turn_b = pi + pi / p->b.teeth - turn * p->a.teeth / p->b.teeth + extra;
  AbdBodyId a = add_body(p->world, p->mesh_a, 0, turn, nodes_a),
            b = add_body(p->world, p->mesh_b, apart, turn_b, nodes_b);
  AbdCrossing crossing;
  return abd_world_find_crossing(p->world, a, nodes_a, b, nodes_b, &crossing);
}

static void test_rolling(void **state) {
  (void)state;
  static const int teeth[][2] = {{20, 32}, {10, 10}, {12, 70}, {50, 45}};
  for (size_t k = 0; k < sizeof teeth / sizeof *teeth; k++) {
    Pair pair = make_pair(teeth[k][0], teeth[k][1]);
    double play = pair.a.backlash / gear_pitch_radius(&pair.b) / 2; /* the second gear may turn by so much each way */
    for (int step = 0; step < 8; step++) {
      double turn = 2 * pi / pair.a.teeth * step / 8;
      for (int side = -1; side <= 1; side++)
        if (gears_cross(&pair, turn, 0.9 * side * play))
          fail_msg("%d and %d teeth cross at %g rad, side %d", teeth[k][0], teeth[k][1], turn, side);
      for (int side = -1; side <= 1; side += 2)
        if (!gears_cross(&pair, turn, 1.15 * side * play))
          fail_msg("%d and %d teeth do not touch at %g rad, side %d", teeth[k][0], teeth[k][1], turn, side);
    }
    abd_world_destroy(pair.world);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_keys),     cmocka_unit_test(test_refused_values), cmocka_unit_test(test_text),
      cmocka_unit_test(test_involute), cmocka_unit_test(test_rolling),        cmocka_unit_test(test_vessels),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
