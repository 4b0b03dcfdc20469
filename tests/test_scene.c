/* Scenes: both formats, the effect of every key, errors with their places, self-contained text, and the worlds
 * built. */
#define _GNU_SOURCE /* nftw */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scene/json_node.h"
#include "scene/packed.h"
#include "scene/principal_frame.h"
#include "scene/scene_def.h"

static const double pi = 3.14159265358979323846;

static Scene *good_with(const char *text, const SceneOptions *options) {
  SceneError error = {""};
  Scene *scene = scene_parse(text, strlen(text), "s.json", options, &error);
  if (!scene) fail_msg("%s", error.text);
  return scene;
}

static Scene *good(const char *text) { return good_with(text, NULL); }

static void bad_with(const char *text, const SceneOptions *options, const char *what) {
  SceneError error = {""};
  Scene *scene = scene_parse(text, strlen(text), "s.json", options, &error);
  if (scene) fail_msg("accepted: %s", text);
  if (!strstr(error.text, what)) fail_msg("error \"%s\" does not say \"%s\"", error.text, what);
}

static void bad(const char *text, const char *what) { bad_with(text, NULL, what); }

static void assert_vector(const double *got, size_t count, const double *expected, double tolerance) {
  for (size_t i = 0; i < count; i++) {
    if (!(fabs(got[i] - expected[i]) <= tolerance))
      fail_msg("component %zu is %.17g, expected %.17g", i, got[i], expected[i]);
  }
}
#define VECTOR(got, ...)                                                                                               \
  assert_vector(got, sizeof(double[]){__VA_ARGS__} / sizeof(double), (double[]){__VA_ARGS__}, 1e-12)

/* ---- abd's own format ---- */

static void settings(void **state) {
  (void)state;
  Scene *s = good(
      "{\"version\": 1, \"name\": \"n\", \"dt\": 0.002, \"steps\": 7, \"gravity\": [1, 2, 3], \"integrator\": \"bdf2\","
      "\"contact\": {\"range\": 0.01, \"separation\": 0.02, \"stiffness\": 3, \"friction\": 0.4, \"friction_speed\": "
      "0.5,"
      "\"friction_iterations\": 6, \"friction_anchors\": false}, \"solver\": {\"max_iterations\": 9, \"tolerance\": "
      "0.25}}");
  assert_string_equal(scene_name(s), "n");
  assert_int_equal(scene_steps(s), 7);
  assert_int_equal(s->world.integrator, ABD_INTEGRATOR_BDF2);
  VECTOR(s->world.gravity, 1, 2, 3);
  const AbdContactDef *c = &s->world.contact;
  VECTOR(((double[]){scene_dt(s), c->range, c->separation, c->stiffness, c->friction, c->friction_speed}), 0.002, 0.01,
         0.02, 3, 0.4, 0.5);
  assert_int_equal(c->friction_iterations, 6);
  assert_false(c->friction_anchors);
  assert_int_equal(s->world.solver.max_iterations, 9);
  assert_float_equal(s->world.solver.tolerance, 0.25, 0);
  scene_destroy(s);
  s = good("{\"version\": 1}");
  assert_string_equal(scene_name(s), "s");
  assert_int_equal(scene_steps(s), 500);
  VECTOR(s->world.gravity, 0, 0, -9.81);
  scene_destroy(s);
  s = good("{\"version\": 1, \"dt\": \"1/24\"}");
  assert_true(scene_dt(s) == 1.0 / 24);
  scene_destroy(s);
  s = good("{\"version\": 1, \"dt\": 0.1, \"duration\": 0.3}");
  assert_int_equal(scene_steps(s), 3);
  scene_destroy(s);
}

static void set_options(void **state) {
  (void)state;
  const char *const set[] = {"contact.friction=0.75", "integrator=euler", "gravity=[0,0,-1]", "dt=0.5", "duration=2"};
  const SceneOptions options = {.set = set, .set_count = 5};
  const char *const texts[] = {"{\"version\": 1, \"steps\": 3, \"contact\": {\"range\": 0.125}}",
                               "{\"timestep\": 0.1, \"max_iterations\": 3, \"distance_barrier_constraint\":"
                               "{\"initial_barrier_activation_distance\": 0.125}, \"rigid_body_problem\": {}}"};
  for (int i = 0; i < 2; i++) {
    Scene *s = good_with(texts[i], &options);
    assert_float_equal(s->world.contact.friction, 0.75, 0);
    assert_float_equal(s->world.contact.range, 0.125, 0); /* the rest of the block stays */
    assert_int_equal(s->world.integrator, ABD_INTEGRATOR_EULER);
    VECTOR(s->world.gravity, 0, 0, -1);
    assert_int_equal(scene_steps(s), 4);
    scene_destroy(s);
  }
  const struct {
    const char *set, *what;
  } wrong[] = {
      {"contact.friction=-1", "--set contact.friction=-1: contact.friction: expected a number >= 0, got -1"},
      {"contact.frictoin=1", "contact.frictoin: unknown key; did you mean \"friction\"?"},
      {"friction", "--set friction: expected NAME=VALUE"},
      {"bodies=3", "expected bodies.NAME.KEY=VALUE"},
      {"dt=0", "expected a number > 0, got 0"},
      {"dt=1/0", "expected a number > 0, got \"1/0\""},
      {"contact=3", "expected an object"},
      {"integrator=bdf3", "expected one of \"rigid\", \"euler\", \"bdf2\", got \"bdf3\""},
      {"contact.range=nan", "got \"nan\""},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    bad_with(texts[0], &(SceneOptions){.set = &wrong[i].set, .set_count = 1}, wrong[i].what);
  }
}

/* Materials and single bodies by --set: a body's own value wins over its material's, a copy is meant with its name. */
static void set_options_of_bodies(void **state) {
  (void)state;
  const char text[] =
      "{\"version\": 1, \"materials\": {\"steel\": {\"density\": 7800, \"friction\": 0.2}}, \"bodies\": ["
      "{\"name\": \"a.b\", \"shape\": \"box\", \"material\": \"steel\"},"
      "{\"name\": \"ball\", \"shape\": \"box\", \"material\": \"steel\", \"density\": 5, \"copies\": {\"count\": 2}}]}";
  const char *const set[] = {"materials.steel.density=1000", "bodies.a.b.friction=0.7", "bodies.ball.velocity=[1,2,3]",
                             "bodies.ball-2.friction=0.4"};
  Scene *s = good_with(text, &(SceneOptions){.set = set, .set_count = 4});
  VECTOR(((double[]){s->body[0].def.density, s->body[1].def.density}), 1000, 5);
  VECTOR(((double[]){s->body[0].def.friction, s->body[1].def.friction, s->body[2].def.friction}), 0.7, 0.2, 0.4);
  VECTOR(s->body[1].def.velocity, 1, 2, 3);
  VECTOR(s->body[2].def.velocity, 1, 2, 3);
  scene_destroy(s);
  const struct {
    const char *set, *what;
  } wrong[] = {
      {"materials.stel.density=1", "no material 'stel'; did you mean 'steel'?"},
      {"materials.steel.densty=1", "unknown key; did you mean \"density\"?"},
      {"materials.steel.density=-1", "expected a number >= 0, got -1"},
      {"materials.steel", "expected materials.NAME.KEY=VALUE"},
      {"bodies.a,b.friction=1", "no body 'a,b'; did you mean 'a.b'?"},
      {"bodies.a.b.weight=1", "weight: unknown key"},
      {"bodies.ball=1", "expected bodies.NAME.KEY=VALUE"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    bad_with(text, &(SceneOptions){.set = &wrong[i].set, .set_count = 1}, wrong[i].what);
  }
}

static void bodies(void **state) {
  (void)state;
  Scene *s = good(
      "{\"version\": 1, \"materials\": {\"steel\": {\"density\": 7800, \"friction\": 0.2, \"color\": \"#010203\"}},"
      "\"meshes\": {\"brick\": {\"shape\": \"box\", \"size\": [2, 1, 1]}},"
      "\"bodies\": [{\"shape\": \"ground\", \"normal\": [0, 1, 0]},"
      "{\"name\": \"a\", \"mesh\": \"brick\", \"material\": \"steel\", \"friction\": 0.3, \"position\": [1, 2, 3], "
      "\"velocity\": [4, 5, 6],"
      " \"angular_velocity\": [7, 8, 9], \"force\": [1, 0, 0], \"torque\": [0, 1, 0], \"fixed\": [\"y\", "
      "\"rotation_z\"], \"group\": 4,"
      " \"rotation\": {\"axis\": [0, 0, 2], \"degrees\": 90}, \"copies\": {\"count\": 3, \"offset\": [0, 0, 10]}},"
      "{\"shape\": \"box\", \"size\": [2, 1, 1], \"motion\": \"static\", \"stiffness\": 5, \"elasticity\": "
      "\"neo_hookean\","
      " \"quaternion\": [2, 0, 0, 2]}], \"exclude\": [[\"a\", 4], [\"a-2\", 0]], \"pair_friction\": [{\"bodies\": [1, "
      "2], \"friction\": 0.9}]}");
  assert_int_equal(s->body_count, 5);
  assert_int_equal(s->mesh_count, 2); /* equal boxes share one mesh */
  assert_true(s->mesh[s->body[0].mesh].half_space);
  assert_int_equal(s->body[0].def.motion, ABD_MOTION_STATIC);
  const SceneBody *a = &s->body[1];
  assert_string_equal(a->name, "a-1");
  assert_string_equal(s->body[3].name, "a-3");
  assert_string_equal(a->color, "#010203");
  VECTOR(((double[]){a->def.density, a->def.friction}), 7800, 0.3);
  VECTOR(s->body[3].def.position, 1, 2, 23);
  VECTOR(a->def.velocity, 4, 5, 6);
  VECTOR(a->def.angular_velocity, 7, 8, 9);
  VECTOR(a->def.rotation, sqrt(0.5), 0, 0, sqrt(0.5));
  VECTOR(s->body[4].def.rotation, sqrt(0.5), 0, 0, sqrt(0.5));
  assert_int_equal(a->def.fixed, ABD_FIX_Y | ABD_FIX_ROTATION_Z);
  assert_int_equal(a->def.group, 4);
  assert_int_equal(s->body[4].def.elasticity, ABD_ELASTICITY_NEO_HOOKEAN);
  assert_int_equal(s->exclude_count, 4);
  assert_int_equal(s->pair_friction_count, 1);
  SceneError error;
  AbdWorld *world = scene_build(s, 1, &error);
  if (!world) fail_msg("%s", error.text);
  assert_int_equal(abd_world_body_count(world), 5);
  assert_int_equal(abd_world_mesh_count(world), 2);
  assert_false(abd_world_pair_collides(world, (AbdBodyId){2}, (AbdBodyId){5}));
  assert_false(abd_world_pair_collides(world, (AbdBodyId){3}, (AbdBodyId){1}));
  assert_true(abd_world_pair_collides(world, (AbdBodyId){4}, (AbdBodyId){1}));
  abd_world_destroy(world);
  scene_destroy(s);
}

static void every_shape_builds(void **state) {
  (void)state;
  Scene *s = good("{\"version\": 1, \"bodies\": [{\"shape\": \"box\"}, {\"shape\": \"sphere\"}, {\"shape\": "
                  "\"cylinder\"}, {\"shape\": \"cone\"},"
                  "{\"shape\": \"capsule\"}, {\"shape\": \"torus\", \"stretch\": 1}, {\"shape\": \"plane\", "
                  "\"thickness\": 0.1}, {\"shape\": \"grid\"},"
                  "{\"shape\": \"half_space\"}, {\"vertices\": [[0,0,0],[1,0,0],[0,1,0]], \"edges\": [[0,1]]}]}");
  SceneError error;
  AbdWorld *world = scene_build(s, 1, &error);
  if (!world) fail_msg("%s", error.text);
  for (uint32_t i = 1; i <= 6; i++) {
    AbdMeshView view;
    assert_int_equal(abd_mesh_view(world, (AbdMeshId){i}, &view), ABD_OK);
    if (!view.closed) fail_msg("shape %u is not closed", i);
  }
  AbdBodyView body;
  assert_int_equal(abd_body_view(world, (AbdBodyId){7}, &body), ABD_OK);
  assert_float_equal(body.mass, 100, 1e-9); /* 1 m^2 x 0.1 m x 1000 kg/m^3 */
  abd_world_destroy(world);
  scene_destroy(s);
}

static void errors_name_their_place(void **state) {
  (void)state;
  bad("{\"version\": 1,\n \"bodies\": [{\"shape\": \"box\"},\n  {\"shape\": \"box\", \"density\": -2.5}]}",
      "s.json:3:31: bodies[1].density: expected a number >= 0, got -2.5");
  bad("{\"version\": 1, \"bodies\": [{\"shape\": \"box\", \"density\": 0}]}",
      "bodies[0].density: density 0 is only for static bodies, expected a number > 0");
  bad("{\"version\": 1, \"bodies\": [{\"shape\": \"box\", \"inertia\": [1, 2]}]}",
      "bodies[0].inertia: expected a list of 3 numbers xx, yy, zz or 6 numbers xx, yy, zz, xy, xz, yz");
  bad("{\"version\": 1, \"bodies\": [{\"shape\": \"box\", \"densty\": 2}]}",
      "bodies[0].densty: unknown key; did you mean \"density\"?");
  bad("{\"version\": 1, \"bodies\": [{\"shape\": \"box\"}, {\"shape\": \"box\"}],\n"
      " \"pair_friction\": [{\"bodies\": [0, 1], \"restitution\": 2}]}",
      "s.json:2:54: pair_friction[0].restitution: expected a number from 0 to 1, got 2");
  bad("{\"version\": 1, \"gravity\": [0, \"x\", 0]}", "s.json:1:31: gravity[1]: expected a number, got \"x\"");
  bad("{\"version\": 1, \"gravity\": [0, 1]}", "gravity: expected a list of 3 numbers, got [0, 1]");
  bad("{\"version\": 1, \"dt\": 0}", "dt: expected a number > 0, got 0");
  bad("{\"version\": 1, \"bodies\": [{\"shape\": \"box\", \"quaternion\": [0, 0, 0, 0]}]}",
      "quaternion: expected 4 numbers w, x, y, z that are not all 0, got [0, 0, 0, 0]");
  bad("{\"version\": 1, \"gravity\": [1, 2, 3, 4, 5]}", "expected a list of 3 numbers, got a list of 5");
  bad("{\"version\": 1, \"bodies\": [{\"mesh\": \"a.obj\", \"scale\": [1, 0, 1]}]}",
      "scale: expected factors that are not 0, got [1, 0, 1]");
  bad("{\"version\": 1, \"bodies\": [{\"mesh\": \"a.obj\", \"scale\": 1e-300}]}",
      "scale: expected factors of 1e-60 and more, or negative ones of as much, got 1e-300");
  const char *const no_ratio[] = {"1/0", "1/", "/2", "-1/2", "1/2/3", "a/b", "0.1", "1/24 s", "nan/1", ""};
  for (size_t k = 0; k < sizeof no_ratio / sizeof *no_ratio; k++) {
    char text[64], words[100];
    snprintf(text, sizeof text, "{\"version\": 1, \"dt\": \"%s\"}", no_ratio[k]);
    snprintf(words, sizeof words, "dt: expected a number > 0, got \"%s\"", no_ratio[k]);
    bad(text, words);
  }
  bad("{\"version\": 1, \"dt\": 1e999}", "s.json:1:");
  bad("{\"version\": 1, \"dt\": NaN}", "s.json:1:");
  bad("{\"version\": 1, \"dt\": null}", "dt: expected a number > 0, got null");
  bad("{\"version\": 1, \"dt\": 1, \"dt\": 2}", "duplicate");
  bad("{\"version\": 1, \"duration\": 1, \"steps\": 2}", "exclude each other");
  bad("{\"version\": 2}", "reads version 1");
  bad("{}", "expected \"version\": 1");
  bad("[]", "expected an object");
  bad("{\"version\": 1", "s.json:1:");
  bad("", "s.json:");
  bad("{\"version\": 1, \"bodies\": [{}]}", "bodies[0]: expected \"shape\", \"mesh\" or \"vertices\"");
  bad("{\"version\": 1, \"bodies\": [{\"shape\": \"bax\"}]}", "got \"bax\"");
  bad("{\"version\": 1, \"bodies\": [{\"shape\": \"sphere\", \"size\": [1, 1, 1]}]}",
      "bodies[0].size: sphere has no such key");
  bad("{\"version\": 1, \"bodies\": [{\"shape\": \"box\", \"size\": [1, 0, 1]}]}",
      "bodies[0].size[1]: expected a number > 0");
  bad("{\"version\": 1, \"bodies\": [{\"shape\": \"torus\", \"tube\": 2}]}", "bodies[0].tube: expected a tube thinner");
  bad("{\"version\": 1, \"bodies\": [{\"shape\": \"box\", \"rotation\": [0, 0, 90]}]}", "\"euler_degrees\"");
  bad("{\"version\": 1, \"bodies\": [{\"shape\": \"box\", \"rotation\": {\"axis\": [0, 0, 1], \"degrees\": 9, "
      "\"radians\": 1}}]}",
      "bodies[0].rotation: \"degrees\" and \"radians\" exclude each other");
  bad("{\"version\": 1, \"bodies\": [{\"shape\": \"box\", \"inertia\": [0, 0, 0]}]}",
      "bodies[0].inertia: expected moments of inertia > 0");
  bad("{\"version\": 1, \"bodies\": [{\"shape\": \"box\", \"material\": \"tin\"}]}", "no material \"tin\"");
  bad("{\"version\": 1, \"bodies\": [{\"shape\": \"ground\", \"motion\": \"dynamic\"}]}",
      "a half-space can only be static");
  bad("{\"version\": 1, \"bodies\": [{\"shape\": \"box\", \"path\": []}]}",
      "only a body with \"motion\": \"kinematic\"");
  bad("{\"version\": 1, \"bodies\": [{\"shape\": \"box\", \"motion\": \"kinematic\", \"path\": [{\"time\": 1}, "
      "{\"time\": 1}]}]}",
      "bodies[0].path[1].time: expected a time later than the key before");
  bad("{\"version\": 1, \"bodies\": [{\"mesh\": \"no.obj\"}]}", "bodies[0].mesh: mesh \"no.obj\" not found");
  bad("{\"version\": 1, \"bodies\": [{\"vertices\": [[0,0,0],[1,0,0],[0,1,0]], \"triangles\": [[0,1,3]]}]}",
      "bodies[0].triangles[0][2]: expected a whole number from 0 to 2, got 3");
  bad("{\"version\": 1, \"exclude\": [[\"x\", \"y\"]]}", "exclude[0][0]: no body is called \"x\"");
  bad("{\"version\": 1, \"materials\": {\"a\": {\"density\": \"much\"}}}",
      "materials.a.density: expected a number >= 0, got \"much\"");
  bad("{\"version\": 1, \"bodies\": [{\"shape\": \"torus\", \"radius\": 1.7e308, \"tube\": 1e308}]}",
      "mesh torus: coordinates overflow after scaling");
  bad("{\"version\": 1, \"bodies\": [{\"shape\": \"box\", \"copies\": {\"count\": 3, \"offset\": [1e308, 0, 0]}}]}",
      "its position overflows");
  bad("{\"version\": 1, \"include\": [\"nothing.json\"]}", "include[0]: no file \"nothing.json\" to include");
}

static void keys_without_effect_are_noted(void **state) {
  (void)state;
  static const struct {
    const char *keys, *note;
  } row[] = {
      {"\"motion\": \"static\", \"velocity\": [1, 0, 0]", "body \"a\" is static: its key \"velocity\" has no effect"},
      {"\"motion\": \"static\", \"force\": [1, 0, 0]", "body \"a\" is static: its key \"force\" has no effect"},
      {"\"motion\": \"kinematic\", \"torque\": [1, 0, 0]", "body \"a\" is kinematic: its key \"torque\" has no effect"},
      {"\"motion\": \"kinematic\", \"forces\": [{\"time\": 0}]",
       "body \"a\" is kinematic: its key \"forces\" has no effect"},
      {"\"motion\": \"kinematic\", \"fixed\": [\"x\"]", "body \"a\" is kinematic: its key \"fixed\" has no effect"},
      {"\"motion\": \"static\", \"drag\": 1", "body \"a\" is static: its key \"drag\" has no effect"},
      {"\"motion\": \"kinematic\", \"angular_drag\": 1",
       "body \"a\" is kinematic: its key \"angular_drag\" has no effect"},
      {"\"motion\": \"static\", \"gravity_scale\": 0", "body \"a\" is static: its key \"gravity_scale\" has no effect"},
      {"\"motion\": \"static\", \"gravity_scale\": 1, \"drag\": 0", NULL},
      {"\"gravity_scale\": 0, \"drag\": 1, \"angular_drag\": 1, \"friction\": 1", NULL},
      {"\"soft\": {}, \"mass\": 1",
       "body \"a\" is soft: its key \"mass\" has no effect; its mass is that of its density"},
      {"\"soft\": {}, \"restitution\": 1", "body \"a\" is soft: its key \"restitution\" has no effect"},
      {"\"soft\": {}, \"mass\": 0", NULL},
      {"\"motion_end\": 1", "body \"a\" is dynamic: its key \"motion_end\" has no effect"},
      {"\"motion\": \"kinematic\", \"velocity\": [1, 0, 0], \"motion_end\": 1", NULL},
      {"\"motion\": \"static\", \"velocity\": [0, 0, 0]", NULL},
      {"\"velocity\": [1, 0, 0], \"force\": [1, 0, 0], \"fixed\": [\"x\"]", NULL}};
  for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
    char text[400];
    snprintf(text, sizeof text, "{\"version\": 1, \"bodies\": [{\"name\": \"a\", \"shape\": \"box\", %s}]}",
             row[k].keys);
    Scene *s = good(text);
    print_message("%s: %s\n", row[k].keys, scene_note(s, 0));
    assert_int_equal(scene_note_count(s), row[k].note ? 1 : 0);
    assert_string_equal(scene_note(s, 0), row[k].note ? row[k].note : "");
    scene_destroy(s);
  }
}

static void deep_nesting(void **state) {
  (void)state;
  enum { DEPTH = 200000 };
  char *text = malloc(DEPTH + 1);
  memset(text, '[', DEPTH);
  text[DEPTH] = 0;
  bad(text, "s.json:1:");
  free(text);
}

/* ---- files ---- */

static char work[] = "/tmp/abd-scene-XXXXXX";

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *walk) {
  (void)info, (void)kind, (void)walk;
  return remove(path);
}

static int make_work(void **state) {
  (void)state;
  return mkdtemp(work) ? 0 : -1;
}

static int remove_work(void **state) {
  (void)state;
  return nftw(work, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static const char *write_file(const char *name, const char *text) {
  static char path[4][256];
  static int next;
  char *out = path[next++ % 4];
  snprintf(out, sizeof path[0], "%s/%s", work, name);
  FILE *file = fopen(out, "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
  return out;
}

static Scene *load(const char *path) {
  SceneError error = {""};
  Scene *scene = scene_load(&path, 1, NULL, &error);
  if (!scene) fail_msg("%s", error.text);
  return scene;
}

static void bad_file(const char *path, const char *what) {
  SceneError error = {""};
  Scene *scene = scene_load(&path, 1, NULL, &error);
  if (scene) fail_msg("accepted: %s", path);
  if (!strstr(error.text, what)) fail_msg("error \"%s\" does not say \"%s\"", error.text, what);
}

static const char tetrahedron[] = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n";

static void meshes_are_found(void **state) {
  (void)state;
  char path[300];
  snprintf(path, sizeof path, "%s/meshes", work);
  mkdir(path, 0700);
  snprintf(path, sizeof path, "%s/deep", work);
  mkdir(path, 0700);
  snprintf(path, sizeof path, "%s/other", work);
  mkdir(path, 0700);
  write_file("deep/beside.obj", tetrahedron);
  write_file("meshes/parent.obj", tetrahedron);
  write_file("other/option.obj", tetrahedron);
  const char *scene_path =
      write_file("deep/s.json", "{\"version\": 1, \"bodies\": [{\"mesh\": \"beside.obj\", \"scale\": [-2, 1, 1]},"
                                "{\"mesh\": \"parent.obj\"}, {\"mesh\": \"option.obj\"}, {\"mesh\": \"parent.obj\"}]}");
  bad_file(scene_path, "bodies[2].mesh: mesh \"option.obj\" not found");
  SceneError error = {""};
  Scene *s = scene_load(&scene_path, 1, &(SceneOptions){.mesh_dir = path}, &error);
  if (!s) fail_msg("%s", error.text);
  assert_int_equal(s->mesh_count, 3);
  assert_int_equal(s->body[1].mesh, s->body[3].mesh);
  VECTOR(s->mesh[0].data.vertex + 3, -2, 0, 0);
  assert_int_equal(s->mesh[0].data.triangle[1], 1); /* mirrored, so turned round: 0 1 2, not 0 2 1 */
  scene_destroy(s);
  write_file("deep/beside.obj", "v 0 0\n");
  bad_file(scene_path, "beside.obj:1: vertex 1: expected 3 coordinates, found 2");
}

static void includes(void **state) {
  (void)state;
  write_file("part.json", "{\"version\": 1, \"dt\": 7, \"bodies\": [{\"name\": \"p\", \"shape\": \"box\"}, {\"shape\": "
                          "\"box\"}], \"exclude\": [[0, 1]]}");
  Scene *s = load(
      write_file("whole.json",
                 "{\"version\": 1, \"bodies\": [{\"name\": \"w\", \"shape\": \"box\"}], \"include\": [\"part.json\"],"
                 "\"exclude\": [[\"w\", \"p\"]]}"));
  assert_int_equal(s->body_count, 3);
  assert_float_equal(scene_dt(s), 0.01, 0);
  assert_int_equal(s->exclude_count, 2);
  assert_int_equal(s->exclude[0].a, 1); /* numbers count in their own file */
  scene_destroy(s);
  write_file("b.json", "{\"version\": 1, \"include\": [\"a.json\"]}");
  bad_file(write_file("a.json", "{\"version\": 1, \"include\": [\"b.json\"]}"),
           "includes itself: a.json -> b.json -> a.json");
  write_file("broken.json", "{\"version\": 1,\n ]");
  bad_file(write_file("c.json", "{\"version\": 1, \"include\": [\"broken.json\"]}"), "broken.json:2:");
}

/* Paths turn the short way between keys: angles that say otherwise get a note. */
static void long_turns_of_paths_are_noted(void **state) {
  (void)state;
#define KEY(time, z) "{\"time\": " #time ", \"euler_degrees\": [0, 0, " #z "]}"
#define AXIS(time, z) "{\"time\": " #time ", \"rotation\": {\"axis\": [0, 0, 2], \"degrees\": " #z "}}"
  static const struct {
    const char *keys, *note;
  } row[] = {
      {"\"path\": [" KEY(1, 360) "]", "body \"a\": from the start to path[0] its angles change by 360 degrees"},
      {"\"path\": [" KEY(0, 0) ", " KEY(1, 270) "]", "from path[0] to path[1] its angles change by 270 degrees"},
      {"\"path\": [" KEY(0, 0) ", {\"time\": 0.5}, " KEY(1, -180) "]",
       "from path[1] to path[2] its angles change by 180 degrees"},
      {"\"path\": [" AXIS(1, 90) ", " AXIS(2, -100) "]", "from path[0] to path[1] its angles change by 190 degrees"},
      {"\"path\": [" KEY(0, 270) "]", NULL}, /* it is there from the start */
      {"\"path\": [" KEY(1, 120) ", " KEY(2, 240) ", " KEY(3, 360) "]", NULL},
      {"\"euler_degrees\": [0, 0, 200], \"path\": [" KEY(1, 270) "]", NULL},
      {"\"path\": [{\"time\": 1, \"quaternion\": [-1, 0, 0, 0]}]", NULL}};
  for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
    char text[500];
    snprintf(text, sizeof text,
             "{\"version\": 1, \"bodies\": [{\"name\": \"a\", \"shape\": \"box\", \"motion\": \"kinematic\", %s}]}",
             row[k].keys);
    Scene *s = good(text);
    print_message("%s: %s\n", row[k].keys, scene_note(s, 0));
    assert_int_equal(scene_note_count(s), row[k].note ? 1 : 0);
    if (row[k].note) assert_non_null(strstr(scene_note(s, 0), row[k].note));
    scene_destroy(s);
  }
}

/* A pair's coefficient is the mean of two bodies': one body's alone has no effect. */
static void coefficients_of_one_body_are_noted(void **state) {
  (void)state;
  static const struct {
    const char *ball, *ground, *more;
    const char *note; /* the start */
  } row[] = {
      {"\"friction\": 0.5", "", "", "no pair has friction: body \"ball\" has a coefficient"},
      {"\"restitution\": 0.5", "", "", "no pair has restitution: body \"ball\" has a coefficient"},
      {"\"friction\": 0", ", \"friction\": 1", "", "no pair has friction: body \"ground\""},
      {"\"friction\": 0", "", "\"contact\": {\"friction\": 1}, ", NULL}, /* the world's is a default */
      {"\"friction\": 0.5", "", "\"contact\": {\"friction\": 1}, ", NULL},
      {"\"friction\": 0.5", ", \"friction\": 0.1", "", NULL},
      {"\"friction\": 0.5", "", "\"pair_friction\": [{\"bodies\": [\"ball\", \"ground\"], \"friction\": 0.1}], ", NULL},
      {"\"friction\": 0.5, \"soft\": {}", "", "", NULL}};
  for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
    char text[500];
    snprintf(text, sizeof text,
             "{\"version\": 1, %s\"bodies\": [{\"name\": \"ball\", \"shape\": \"box\", \"position\": [0, 0, 2], %s}, "
             "{\"name\": \"ground\", \"shape\": \"ground\"%s}]}",
             row[k].more, row[k].ball, row[k].ground);
    Scene *s = good(text);
    print_message("%s%s: %s\n", row[k].ball, row[k].ground, scene_note(s, 0));
    assert_int_equal(scene_note_count(s), row[k].note ? 1 : 0);
    if (row[k].note) assert_ptr_equal(strstr(scene_note(s, 0), row[k].note), scene_note(s, 0));
    scene_destroy(s);
  }
}

/* Lengths in millimetres: gravity is a thousand times as strong, and every body that moves is large. */
static void scenes_in_millimetres_are_noted(void **state) {
  (void)state;
  static const struct {
    const char *gravity, *body;
    bool noted;
  } row[] = {{"[0, 0, -9810]", "\"size\": [4, 2, 2]", true},
             {"[0, -9810, 0]", "\"size\": [400, 200, 200]", true},
             {"[0, 0, -9810]", "\"size\": [0.4, 0.2, 0.2]", false}, /* in a centrifuge */
             {"[0, 0, -900]", "\"size\": [400, 200, 200]", false},
             {"[0, 0, -9810]", "\"size\": [400, 200, 200], \"motion\": \"static\"", false}};
  for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
    char text[400];
    snprintf(text, sizeof text,
             "{\"version\": 1, \"gravity\": %s, \"bodies\": [{\"shape\": \"ground\"}, {\"shape\": \"box\", %s}]}",
             row[k].gravity, row[k].body);
    Scene *s = good(text);
    print_message("%s %s: %s\n", row[k].gravity, row[k].body, scene_note(s, 0));
    assert_int_equal(scene_note_count(s), row[k].noted);
    if (row[k].noted)
      assert_non_null(strstr(scene_note(s, 0), "gravity is 9810 m/s^2 and every dynamic body is more than 1 m across"));
    scene_destroy(s);
  }
}

/* A vertex that no element uses does not collide, neither of a file nor inline. */
static void unused_vertices_are_left_out(void **state) {
  (void)state;
  const char *path = write_file("stray.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nv 0 0 -3\nf 1 3 2\nf 1 2 4\nf 2 3 4\n"
                                             "f 1 4 3\n");
  SceneError error = {""};
  Scene *s = scene_load(&path, 1, NULL, &error);
  if (!s) fail_msg("%s", error.text);
  assert_int_equal(s->mesh[0].data.vertex_count, 4);
  assert_int_equal(scene_note_count(s), 1);
  assert_non_null(strstr(scene_note(s, 0),
                         "stray.obj: left out 1 vertex that no triangle and no edge uses; the first is "
                         "at (0, 0, -3)"));
  scene_destroy(s);
#define STRAY "\"vertices\": [[0, 0, 0], [7, 0, 0], [1, 0, 0], [0, 1, 0]], "
  s = good("{\"version\": 1, \"bodies\": [{" STRAY "\"triangles\": [[0, 2, 3]], \"thickness\": 0.01}]}");
  assert_int_equal(s->mesh[0].data.vertex_count, 3);
  assert_int_equal(s->mesh[0].data.triangle[2], 2);
  assert_int_equal(scene_note_count(s), 1);
  assert_non_null(strstr(scene_note(s, 0), "inline mesh: left out 1 vertex"));
  scene_destroy(s);
  s = good("{\"version\": 1, \"bodies\": [{" STRAY "\"edges\": [[0, 2]], \"thickness\": 0.01}]}");
  assert_int_equal(s->mesh[0].data.vertex_count, 4);
  scene_destroy(s);
  s = good("{\"rigid_body_problem\": {\"rigid_bodies\": [{" STRAY "\"faces\": [[0, 2, 3]]}]}}");
  assert_int_equal(s->mesh[0].data.vertex_count, 3);
  assert_non_null(strstr(scene_note(s, 0), "inline mesh: left out 1 vertex"));
  scene_destroy(s);
}

static void mesh_files_alone(void **state) {
  (void)state;
  const char *a = write_file("a.obj", tetrahedron);
  const char *paths[3] = {
      a, write_file("b.obj", "v 2 0 0\nv 3 0 0\nv 2 1 0\nv 2 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n"), a};
  SceneError error = {""};
  Scene *s = scene_load(paths, 3, NULL, &error);
  if (!s) fail_msg("%s", error.text);
  assert_int_equal(s->body_count, 4);
  VECTOR(s->body[0].def.position, 0, 0, 0);
  VECTOR(s->body[1].def.position, 0, 0, 0);
  assert_true(s->body[2].def.position[2] > 1); /* the third crosses the first where it is: on top */
  assert_int_equal(scene_note_count(s), 1);
  assert_true(s->mesh[s->body[3].mesh].half_space);
  assert_true(s->body[3].def.position[2] < 0 && s->body[3].def.position[2] > -0.02);
  assert_float_equal(s->world.contact.friction, 0.3, 0);
  AbdWorld *world = scene_build(s, 1, &error);
  if (!world) fail_msg("%s", error.text);
  if (abd_world_start(world) != ABD_OK) fail_msg("%s", abd_world_error(world));
  abd_world_destroy(world);
  scene_destroy(s);
  s = scene_load(paths, 1, &(SceneOptions){.mesh_scale = 0.001}, &error);
  if (!s) fail_msg("%s", error.text);
  double largest = 0;
  for (size_t i = 0; i < 3 * s->mesh[0].data.vertex_count; i++) largest = fmax(largest, s->mesh[0].data.vertex[i]);
  assert_float_equal(largest, 0.001, 1e-18);
  assert_int_equal(scene_note_count(s), 0);
  scene_destroy(s);
  s = scene_load(paths, 1, &(SceneOptions){.mesh_scale = 100}, &error); /* large, and meant so: no question */
  if (!s) fail_msg("%s", error.text);
  assert_int_equal(scene_note_count(s), 0);
  scene_destroy(s);
  const char *pair = write_file("pair.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n"
                                            "v 2 0 0\nv 3 0 0\nv 2 1 0\nv 2 0 1\nf 5 7 6\nf 5 6 8\nf 6 7 8\nf 5 8 7\n"
                                            "v 0.1 0.1 0.1\nv 0.2 0.1 0.1\nv 0.1 0.2 0.1\nv 0.1 0.1 0.2\n" /* a hole */
                                            "f 9 10 11\nf 9 12 10\nf 10 12 11\nf 9 11 12\n");
  s = scene_load(&pair, 1, NULL, &error);
  if (!s) fail_msg("%s", error.text);
  assert_int_equal(scene_note_count(s), 1);
  assert_non_null(strstr(scene_note(s, 0), "pair.obj has 2 separate pieces, which move as one body"));
  scene_destroy(s);
  const char *point = write_file("point.obj", "v 1 2 3\n"); /* above a ground that has a size */
  s = scene_load(&point, 1, NULL, &error);
  if (!s) fail_msg("%s", error.text);
  world = scene_build(s, 1, &error);
  if (!world) fail_msg("%s", error.text);
  assert_int_equal(abd_world_start(world), ABD_OK);
  abd_world_destroy(world);
  scene_destroy(s);
  const char *mixed[2] = {a, "scene.json"};
  assert_null(scene_load(mixed, 2, NULL, &error));
  assert_non_null(strstr(error.text, "scene.json: expected a mesh file"));
  bad_file("/nowhere.json", "/nowhere.json: cannot read");
}

/* Texts of other editors, and files that are no scenes. */
static void texts_and_endings(void **state) {
  (void)state;
  write_file("marked-part.json", "\xef\xbb\xbf{\"version\": 1, \"bodies\": [{\"shape\": \"box\"}]}");
  Scene *s = load(write_file("marked.json", "\xef\xbb\xbf{\"version\": 1, \"include\": \"marked-part.json\"}"));
  assert_int_equal(s->body_count, 1);
  scene_destroy(s);
  bad_file(write_file("marked.json", "\xef\xbb\xbf{\"version\": 1, \"dt\": 0}"), "marked.json:1:22: dt: expected");
  bad_file(write_file("wide.json", "\xff\xfe{"), "wide.json: the text is UTF-16; save it as UTF-8");
  bad_file(write_file("points.xyz", "1 2 3\n"), "points.xyz: expected a scene (.json), a robot");
  bad_file(write_file("tets.msh", "$MeshFormat\n"), "it is a mesh of tetrahedra");
  bad_file(write_file("part.STEP", "ISO-10303-21;\n"), "a CAD file has no triangles: export it as STL");
  bad_file(write_file("cad.json", "{\"version\": 1, \"bodies\": [{\"mesh\": \"part.STEP\"}]}"),
           "part.STEP: a CAD file has no triangles");
  s = load(write_file("scene.txt", " {\"version\": 1, \"bodies\": [{\"shape\": \"box\"}]}")); /* any name will do */
  scene_destroy(s);
  bad_file(write_file("late.json", "{\"version\": 1, \"bodies\": [{\"shape\": \"box\", \"from\": 5, \"until\": 2}]}"),
           "late.json: body 1 (box 1): it comes at 5 s and goes at 2 s");
}

/* ---- rigid-IPC's format ---- */

#define TETRAHEDRON "\"vertices\": [[0,0,0],[1,0,0],[0,1,0],[0,0,1]], \"faces\": [[0,2,1],[0,1,3],[1,2,3],[0,3,2]]"

static void rigid_ipc_settings(void **state) {
  (void)state;
  Scene *s = good("{\"rigid_body_problem\": {}}");
  VECTOR(s->world.gravity, 0, 0, 0);
  assert_int_equal(scene_steps(s), 1000);
  VECTOR(((double[]){s->world.contact.range, s->world.contact.friction_speed, scene_dt(s)}), 1e-3, 1e-3, 0.01);
  assert_int_equal(s->world.contact.friction_iterations, 4);
  assert_int_equal(s->world.integrator, ABD_INTEGRATOR_RIGID);
  scene_destroy(s);
  s = good(
      "{\"timestep\": 0.1, \"max_time\": 0.25, \"#max_time\": 3, \"distance_barrier_constraint\": {\"barrier_type\": "
      "\"ipc\","
      "\"initial_barrier_activation_distance\": 0.5, \"minimum_separation_distance\": 0.125}, "
      "\"friction_constraints\": "
      "{\"iterations\": 0, \"static_friction_speed_bound\": 0.25}, \"ipc_solver\": {\"velocity_conv_tol\": 0.75,"
      "\"is_velocity_conv_tol_abs\": true}, \"rigid_body_problem\": {\"coefficient_friction\": 0.5, \"time_stepper\":"
      "\"implicit_euler\", \"gravity\": null, \"orthogonality_stiffness\": 1e6, \"rigid_bodies\": [{" TETRAHEDRON
      "}]}}");
  assert_int_equal(scene_steps(s), 3);
  const AbdContactDef *c = &s->world.contact;
  VECTOR(((double[]){c->range, c->separation, c->friction, c->friction_speed, s->world.solver.tolerance}), 0.5, 0.125,
         0.5, 0.25, 0.75);
  assert_int_equal(c->friction_iterations, 0);
  assert_int_equal(s->world.integrator, ABD_INTEGRATOR_EULER);
  assert_float_equal(s->body[0].def.stiffness, 1e6, 0);
  assert_int_equal(scene_note_count(s), 1);
  assert_string_equal(scene_note(s, 0), "distance_barrier_constraint.barrier_type has no effect");
  scene_destroy(s);
  s = good("{\"args\": {\"timestep\": 0.5, \"rigid_body_problem\": {}}, \"animation\": {}}");
  assert_float_equal(scene_dt(s), 0.5, 0);
  scene_destroy(s);
  bad("{\"timestp\": 1, \"rigid_body_problem\": {}}", "timestp: unknown key; did you mean \"timestep\"?");
  bad("{\"rigid_body_problem\": {\"rigid_bodies\": [{\"mesh\": \"x.obj\"}]}}",
      "rigid_body_problem.rigid_bodies[0].mesh: mesh \"x.obj\" not found");
  bad("{\"rigid_body_problem\": {\"rigid_bodies\": [{\"densitty\": 1}]}}", "did you mean \"density\"?");
  bad("{\"rigid_body_problem\": {\"linear_constraints\": [{}]}}", "expected a key \"type\"");
  bad("{\"timestep\": -1, \"rigid_body_problem\": {}}", "timestep: expected a number > 0, got -1");
}

static void rigid_ipc_bodies(void **state) {
  (void)state;
  Scene *s = good(
      "{\"rigid_body_problem\": {\"rigid_bodies\": ["
      "{" TETRAHEDRON ", \"rotation\": [90, 0, 90], \"position\": [1, 2, 3], \"angular_velocity\": [180, 0, 0], "
      "\"torque\": [0, 180, 0],"
      " \"is_dof_fixed\": [false, true, false, false, false, true], \"linear_velocity\": [1, 1, 1], \"density\": 5},"
      "{" TETRAHEDRON
      ", \"is_dof_fixed\": true, \"type\": \"kinematic\", \"group_id\": 5, \"linear_velocity\": [1, 0, 0]},"
      "{" TETRAHEDRON ", \"dimensions\": [4, 2, 3], \"scale\": 9, \"group_id\": 5},"
      "{" TETRAHEDRON ", \"enabled\": false},"
      "{" TETRAHEDRON ", \"type\": \"static\"},"
      "{\"vertices\": [[0,0,0],[1,0,0],[0,1,0],[5,0,0],[6,0,0],[5,1,0]], \"faces\": [[3,4,5],[0,1,2]], "
      "\"split_components\": true,"
      " \"group_id\": 0}]}}");
  assert_int_equal(s->body_count, 6);
  const AbdBodyDef *a = &s->body[0].def;
  VECTOR(a->rotation, 0.5, 0.5, 0.5, 0.5);
  VECTOR(a->angular_velocity, pi, 0, 0);
  VECTOR(a->torque, 0, pi, 0);
  VECTOR(a->velocity, 1, 0, 1); /* none along a fixed coordinate */
  assert_int_equal(a->fixed, ABD_FIX_Y | ABD_FIX_ROTATION_Z);
  assert_int_equal(a->group, -1);
  assert_int_equal(s->body[1].def.motion, ABD_MOTION_STATIC);
  VECTOR(s->body[1].def.velocity, 0, 0, 0);
  assert_int_equal(s->body[2].def.group, s->body[1].def.group); /* joined the static group */
  assert_int_equal(s->body[3].def.group, s->body[1].def.group); /* where all that do not move are */
  VECTOR(s->mesh[s->body[2].mesh].data.vertex + 3, 4, 0, 0, 0, 2, 0, 0, 0, 3);
  assert_int_equal(s->body[4].def.group, 0);
  assert_int_equal(s->mesh[s->body[4].mesh].data.vertex_count, 3);
  VECTOR(s->mesh[s->body[4].mesh].data.vertex, 5, 0, 0);
  VECTOR(s->mesh[s->body[5].mesh].data.vertex, 0, 0, 0);
  scene_destroy(s);
}

/* A box of 1 x 2 x 3 with a corner at its origin: moments ascend along z, y, x. Pose (centre c, no rotation) turns its
 * z to the world's x. Whatever the labels, the centre must land on c and the long side on x. */
static void rigid_ipc_poses(void **state) {
  (void)state;
  Scene *s =
      good("{\"timestep\": 0.5, \"rigid_body_problem\": {\"rigid_bodies\": [{\"type\": \"kinematic\", "
           "\"linear_velocity\": [0, 0, 2],"
           "\"kinematic_max_time\": 2, \"kinematic_poses\": [{\"position\": [5, 6, 7]}, {\"position\": [8, 6, 7]}],"
           "\"vertices\": [[0,0,0],[1,0,0],[0,2,0],[1,2,0],[0,0,3],[1,0,3],[0,2,3],[1,2,3]], \"faces\": "
           "[[0,2,3],[0,3,1],[4,5,7],[4,7,6],"
           "[0,1,5],[0,5,4],[2,6,7],[2,7,3],[0,4,6],[0,6,2],[1,3,7],[1,7,5]]}]}}");
  const SceneBody *body = &s->body[0];
  assert_int_equal(body->path_count, 2);
  VECTOR(((double[]){body->path[0].time, body->path[1].time, body->motion_end}), 0.5, 1, 2);
  SceneError error;
  AbdWorld *world = scene_build(s, 1, &error);
  if (!world) fail_msg("%s", error.text);
  AbdBodyId id = {1};
  double nodes[12];
  for (int step = 1; step <= 6; step++) {
    AbdStepReport report;
    if (!scene_apply(s, world, &error)) fail_msg("%s", error.text);
    if (abd_world_step(world, &report) != ABD_OK) fail_msg("%s", abd_world_error(world));
    assert_int_equal(abd_body_nodes(world, id, nodes), ABD_OK);
    double z = step < 3 ? 7 : step == 3 ? 8 : 9; /* velocity 2 m/s from the third step, still after 2 s */
    assert_vector(nodes, 3, (double[]){step == 1 ? 5 : 8, 6, z}, 1e-9);
    AbdMeshView view;
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    assert_int_equal(abd_mesh_view(world, (AbdMeshId){1}, &view), ABD_OK);
    for (size_t i = 0; i < 3 * view.vertex_count; i++) {
      const double *x = view.vertex + i / 3 * 3;
      size_t k = i % 3;
      double y = nodes[k] + x[0] * nodes[3 + k] + x[1] * nodes[6 + k] + x[2] * nodes[9 + k];
      low[k] = fmin(low[k], y), high[k] = fmax(high[k], y);
    }
    assert_vector((double[]){high[0] - low[0], high[1] - low[1], high[2] - low[2]}, 3, (double[]){3, 2, 1}, 1e-9);
  }
  abd_world_destroy(world);
  scene_destroy(s);
}

/* ---- scripts, text, worlds ---- */

static void paths_and_forces(void **state) {
  (void)state;
  Scene *s = good("{\"version\": 1, \"dt\": 0.25, \"gravity\": [0, 0, 0], \"bodies\": ["
                  "{\"shape\": \"box\", \"motion\": \"kinematic\", \"position\": [10, 0, 0], \"path\": [{\"time\": 1, "
                  "\"position\": [14, 0, 0],"
                  "\"euler_degrees\": [0, 0, 90]}]},"
                  "{\"shape\": \"box\", \"density\": 1, \"force\": [1, 0, 0], \"forces\": [{\"time\": 0.5}, {\"time\": "
                  "1.0, \"force\": [2, 0, 0]}]}]}");
  SceneError error;
  AbdWorld *world = scene_build(s, 1, &error);
  if (!world) fail_msg("%s", error.text);
  double speed = 0, linear[3], angular[3], nodes[12];
  for (int step = 0; step < 8; step++) {
    double time = 0.25 * step, force = 1 + 2 * fmin(1, fmax(0, (time - 0.5) / 0.5));
    if (!scene_apply(s, world, &error)) fail_msg("%s", error.text);
    if (abd_world_step(world, NULL) != ABD_OK) fail_msg("%s", abd_world_error(world));
    speed += 0.25 * force;
    abd_body_velocity(world, (AbdBodyId){2}, linear, angular);
    assert_vector(linear, 3, (double[]){speed, 0, 0}, 1e-6);
    double part = fmin(1, 0.25 * (step + 1));
    abd_body_nodes(world, (AbdBodyId){1}, nodes);
    assert_vector(nodes, 3, (double[]){10 + 4 * part, 0, 0}, 1e-9);
  }
  abd_world_destroy(world);
  scene_destroy(s);
}

static void text_builds_the_same_world(void **state) {
  (void)state;
  const char *const set[] = {"contact.friction=0.1"};
  Scene *s = good_with(
      "{\"version\": 1, \"name\": \"caf\xc3\xa9\", \"dt\": 0.01, \"bodies\": [{\"shape\": \"ground\"}, {\"shape\": "
      "\"sphere\", \"radius\": 0.3,"
      "\"position\": [0.1, 0.2, 0.301], \"euler_degrees\": [10, 20, 30], \"velocity\": [1, 0.1, -1], \"friction\": "
      "0.3},"
      "{\"shape\": \"box\", \"position\": [0, 0, 1.3], \"angular_velocity\": [1, 2, 3], \"fixed\": [\"x\"], \"group\": "
      "2, \"mass\": 3, \"center_of_mass\": [0.01, 0.02, 0.03], \"inertia\": [0.5, 0.6, 0.7, 0.01, 0.02, 0.03],"
      "\"forces\": [{\"time\": 0.01, \"force\": [0.1, 0, 0]}]}, {\"shape\": \"box\", \"motion\": \"kinematic\", "
      "\"motion_end\": 3,"
      "\"position\": [5, 0, 2], \"path\": [{\"time\": 0.1, \"rotation\": {\"axis\": [1, 2, 3], \"radians\": 0.7}}]}],"
      "\"exclude\": [[1, 3]], \"pair_friction\": [{\"bodies\": [0, 1], \"friction\": 0.7}]}",
      &(SceneOptions){.set = set, .set_count = 1});
  SceneError error = {""};
  size_t length, again_length;
  const char *text = scene_text(s, &length);
  Scene *again = scene_parse(text, length, "run", NULL, &error);
  if (!again) fail_msg("%s", error.text);
  assert_string_equal(scene_text(again, &again_length), text);
  Scene *scenes[2] = {s, again};
  uint64_t hash[2];
  for (int i = 0; i < 2; i++) {
    AbdWorld *world = scene_build(scenes[i], 1, &error);
    if (!world) fail_msg("%s", error.text);
    for (int step = 0; step < 20; step++) {
      if (!scene_apply(scenes[i], world, &error)) fail_msg("%s", error.text);
      if (abd_world_step(world, NULL) != ABD_OK) fail_msg("%s", abd_world_error(world));
    }
    hash[i] = abd_world_hash(world);
    abd_world_destroy(world);
  }
  assert_true(hash[0] == hash[1]);
  scene_destroy(s);
  scene_destroy(again);
}

static void packed_numbers(void **state) {
  (void)state;
  for (size_t n = 0; n < 8; n++) {
    double x[8] = {0.1, -0.0, 1e308, 5e-324, 3, -7, pi, 1}, *y;
    uint32_t i[8] = {0, 1, 0xffffffffu, 7, 8, 9, 10, 11}, *j;
    size_t count;
    char *text = packed_from_f64(x, n);
    assert_true(packed_to_f64(text, strlen(text), &y, &count));
    assert_int_equal(count, n);
    assert_memory_equal(x, y, n * sizeof *x);
    free(text), free(y);
    text = packed_from_u32(i, n);
    assert_true(packed_to_u32(text, strlen(text), &j, &count));
    assert_int_equal(count, n);
    assert_memory_equal(i, j, n * sizeof *i);
    free(text), free(j);
  }
  uint32_t *j;
  size_t count;
  assert_false(packed_to_u32("AAA", 3, &j, &count));
  assert_false(packed_to_u32("AA?A", 4, &j, &count));
  assert_false(packed_to_u32("AAAA", 4, &j, &count)); /* three bytes */
}

static int fixture_count, fixture_failed;

static int build_fixture(const char *path, const struct stat *info, int kind, struct FTW *walk) {
  (void)info, (void)walk;
  size_t length = strlen(path);
  SceneError error = {""};
  if (kind != FTW_F || length < 5 || strcmp(path + length - 5, ".json") != 0) return 0;
  fixture_count++;
  Scene *scene = scene_load(&path, 1, NULL, &error);
  AbdWorld *world = scene ? scene_build(scene, 1, &error) : NULL;
  size_t text_length;
  bool ok = world && scene_apply(scene, world, &error) && scene_text(scene, &text_length);
  if (ok && abd_world_body_count(world) != scene_body_count(scene)) ok = false;
  if (!ok) {
    fixture_failed++;
    printf("%s: %s\n", path, error.text);
  }
  abd_world_destroy(world);
  scene_destroy(scene);
  return 0;
}

static void every_fixture_builds(void **state) {
  (void)state;
  struct stat info;
  if (stat(ABD_SHARED "/fixtures/rigid-ipc/fixtures", &info) != 0) {
    printf("skipped: no shared fixtures\n");
    skip();
  }
  assert_int_equal(nftw(ABD_SHARED "/fixtures/rigid-ipc/fixtures", build_fixture, 16, FTW_PHYS), 0);
  printf("%d scenes, %d failed\n", fixture_count, fixture_failed);
  assert_int_equal(fixture_count, 85);
  assert_int_equal(fixture_failed, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(settings),
      cmocka_unit_test(set_options),
      cmocka_unit_test(set_options_of_bodies),
      cmocka_unit_test(bodies),
      cmocka_unit_test(every_shape_builds),
      cmocka_unit_test(errors_name_their_place),
      cmocka_unit_test(keys_without_effect_are_noted),
      cmocka_unit_test(coefficients_of_one_body_are_noted),
      cmocka_unit_test(scenes_in_millimetres_are_noted),
      cmocka_unit_test(long_turns_of_paths_are_noted),
      cmocka_unit_test(unused_vertices_are_left_out),
      cmocka_unit_test(deep_nesting),
      cmocka_unit_test(meshes_are_found),
      cmocka_unit_test(includes),
      cmocka_unit_test(mesh_files_alone),
      cmocka_unit_test(texts_and_endings),
      cmocka_unit_test(rigid_ipc_settings),
      cmocka_unit_test(rigid_ipc_bodies),
      cmocka_unit_test(rigid_ipc_poses),
      cmocka_unit_test(paths_and_forces),
      cmocka_unit_test(text_builds_the_same_world),
      cmocka_unit_test(packed_numbers),
      cmocka_unit_test(every_fixture_builds),
  };
  return cmocka_run_group_tests(tests, make_work, remove_work);
}
