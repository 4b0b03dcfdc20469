/* Joints and drives of scenes: the effect of every key, errors with their places, names, keyed drives, the text in a
 * run, and rigid-IPC's linear constraints. The library's tests cover the behaviour of joints. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scene/scene_def.h"

/* Two links that hang from each other, a wheel, a static post and three copies of a bead. */
#define CAST                                                                                                           \
  "\"gravity\": [0, 0, 0], \"bodies\": ["                                                                              \
  "{\"name\": \"upper\", \"shape\": \"box\", \"size\": [0.1, 0.1, 1], \"position\": [0, 0, 1.5]},"                     \
  "{\"name\": \"lower\", \"shape\": \"box\", \"size\": [0.1, 0.1, 1], \"position\": [0, 0, 0.4],"                      \
  " \"rotation\": {\"axis\": [0, 0, 1], \"degrees\": 90}},"                                                            \
  "{\"name\": \"wheel\", \"shape\": \"cylinder\", \"position\": [3, 0, 0]},"                                           \
  "{\"name\": \"post\", \"shape\": \"box\", \"motion\": \"static\", \"position\": [0, 5, 0]},"                         \
  "{\"name\": \"bead\", \"shape\": \"box\", \"position\": [0, -9, 0], \"copies\": {\"count\": 3, \"offset\": [2, 0, "  \
  "0]}}]"

static char *scene_with(const char *joints) {
  size_t size = strlen(joints) + 2000;
  char *text = malloc(size);
  assert_non_null(text);
  snprintf(text, size, "{\"version\": 1, \"dt\": 0.025,\n%s,\n%s}", CAST, joints);
  return text;
}

static Scene *parse(const char *text) {
  SceneError error = {""};
  Scene *scene = scene_parse(text, strlen(text), "s.json", NULL, &error);
  if (!scene) fail_msg("%s\n%s", error.text, text);
  return scene;
}

static Scene *good(const char *joints) {
  char *text = scene_with(joints);
  Scene *scene = parse(text);
  free(text);
  return scene;
}

static void refuse(const char *text, const char *what) {
  SceneError error = {""};
  Scene *scene = scene_parse(text, strlen(text), "s.json", NULL, &error);
  if (scene) fail_msg("accepted: %s", text);
  if (!strstr(error.text, what)) fail_msg("error \"%s\" does not say \"%s\"", error.text, what);
}

static void bad(const char *joints, const char *what) {
  char *text = scene_with(joints);
  refuse(text, what);
  free(text);
}

/* One joint, or a list of them after a comma. */
static void bad_joint(const char *joint, const char *what) {
  char list[2000];
  snprintf(list, sizeof list, "\"joints\": [%s]", joint);
  bad(list, what);
}

static void bad_drive(const char *drive, const char *what) {
  char list[2000];
  snprintf(list, sizeof list,
           "\"joints\": [{\"name\": \"hub\", \"type\": \"hinge\", \"bodies\": [\"wheel\"], \"point\": [3, 0, 0],"
           "\"axis\": [0, 0, 1]}, {\"name\": \"glue\", \"type\": \"weld\", \"bodies\": [\"upper\", \"lower\"]}],\n"
           "\"drives\": [%s]",
           drive);
  bad(list, what);
}

static void assert_vector(const double *got, size_t count, const double *expected) {
  for (size_t i = 0; i < count; i++)
    if (!(fabs(got[i] - expected[i]) <= 1e-12))
      fail_msg("component %zu is %.17g, expected %.17g", i, got[i], expected[i]);
}
#define VECTOR(got, ...) assert_vector(got, sizeof(double[]){__VA_ARGS__} / sizeof(double), (double[]){__VA_ARGS__})

/* ---- What keys become ---- */

static void hinge_with_everything(void **state) {
  (void)state;
  Scene *s = good("\"joints\": [{\"name\": \"elbow\", \"type\": \"hinge\", \"bodies\": [\"upper\", \"lower\"], "
                  "\"point\": [0, 0, 1],"
                  "\"axis\": [0, 2, 0], \"limits\": [-1.5, null], \"stiffness\": 10, \"rest\": 0.25, \"damping\": 0.1,"
                  "\"friction\": 0.02, \"collide\": true, \"comment\": \"c\"}]");
  assert_int_equal(s->joint_count, 1);
  const AbdJointDef *d = &s->joint[0].def;
  assert_string_equal(s->joint[0].name, "elbow");
  assert_int_equal(d->kind, ABD_JOINT_HINGE);
  assert_int_equal(d->body_a.id, 1);
  assert_int_equal(d->body_b.id, 2);
  VECTOR(d->point, 0, 0, 1);
  VECTOR(d->axis, 0, 2, 0);
  assert_true(isnan(d->point_b[0]) && d->collide);
  VECTOR(((double[]){d->limit[0], d->stiffness, d->rest, d->damping, d->friction}), -1.5, 10, 0.25, 0.1, 0.02);
  assert_true(isinf(d->limit[1]));
  assert_int_equal(d->drive.kind, ABD_DRIVE_NONE);
  scene_destroy(s);
}

/* One joint of every kind in the order of AbdJointKind, each with the keys it needs, then a rack. */
#define EVERY_TYPE                                                                                                     \
  "\"joints\": ["                                                                                                      \
  "{\"type\": \"weld\", \"bodies\": [\"upper\", \"lower\"]},"                                                          \
  "{\"type\": \"ball\", \"bodies\": [\"upper\", \"lower\"], \"point\": [0, 0, 1]},"                                    \
  "{\"name\": \"shaft\", \"type\": \"hinge\", \"bodies\": [\"wheel\"], \"point\": [3, 0, 0], \"axis\": [0, 0, 1]},"    \
  "{\"type\": \"orientation\", \"bodies\": [\"upper\"]},"                                                              \
  "{\"type\": \"line\", \"bodies\": [\"upper\"], \"point\": [0, 0, 1], \"axis\": [1, 0, 0], \"limits\": [-1, 2]},"     \
  "{\"type\": \"plane\", \"bodies\": [\"upper\"], \"point\": [0, 0, 1], \"axis\": [1, 0, 0]},"                         \
  "{\"name\": \"rail\", \"type\": \"slider\", \"bodies\": [\"lower\", \"post\"], \"point\": [0, 0, 0], \"axis\": [1, " \
  "0, 0]},"                                                                                                            \
  "{\"type\": \"cylindrical\", \"bodies\": [\"lower\"], \"point\": [0, 0, 0], \"axis\": [1, 0, 0], \"angle_limits\": " \
  "[-1, 1]},"                                                                                                          \
  "{\"type\": \"planar\", \"bodies\": [\"bead-1\"], \"point\": [0, -9, 0], \"axis\": [0, 0, 1]},"                      \
  "{\"type\": \"universal\", \"bodies\": [\"upper\", \"lower\"], \"point\": [0, 0, 1], \"axis\": [1, 0, 0], "          \
  "\"axis_b\": [0, 3, 0]},"                                                                                            \
  "{\"type\": \"distance\", \"bodies\": [\"bead-1\", \"bead-2\"], \"point\": [0, -9, 0], \"point_b\": [2, -9, 0], "    \
  "\"length\": 2},"                                                                                                    \
  "{\"type\": \"rope\", \"bodies\": [\"bead-2\", \"bead-3\"], \"point\": [2, -9, 0], \"point_b\": [4, -9, 0], "        \
  "\"length\": 2.5},"                                                                                                  \
  "{\"type\": \"screw\", \"bodies\": [\"upper\", \"lower\"], \"point\": [0, 0, 1], \"axis\": [0, 0, 1], \"pitch\": "   \
  "0.002},"                                                                                                            \
  "{\"type\": \"angle\", \"bodies\": [\"upper\", \"lower\"], \"axis\": [0, 0, 1], \"free\": true, \"limits\": [-1, "   \
  "1]},"                                                                                                               \
  "{\"name\": \"tooth\", \"type\": \"gear\", \"joints\": [\"shaft\", \"rail\"], \"ratio\": -0.5},"                     \
  "{\"type\": \"sum\", \"joints\": [\"shaft\", \"rail\"], \"ratio\": 2, \"limits\": [-1, 1], \"damping\": 3},"         \
  "{\"type\": \"rack\", \"joints\": [\"shaft\", 6], \"radius\": 0.1}]"

static void every_type(void **state) {
  (void)state;
  enum { RACK = ABD_JOINT_KIND_COUNT };
  Scene *s = good(EVERY_TYPE);
  assert_int_equal(s->joint_count, RACK + 1);
  for (int k = 0; k < ABD_JOINT_KIND_COUNT; k++) assert_int_equal(s->joint[k].def.kind, k);
  assert_string_equal(s->joint[0].name, "weld 1");
  assert_int_equal(strncmp(s->joint[RACK].name, "rack ", 5), 0);
  VECTOR(s->joint[0].def.point, 0, 0, 1.5); /* the first body's place, where none is needed */
  assert_int_equal(s->joint[2].def.body_b.id, 0);
  assert_int_equal(s->joint[6].def.body_b.id, 4);
  VECTOR(s->joint[7].def.angle_limit, -1, 1);
  VECTOR(s->joint[9].def.axis_b, 0, 3, 0);
  VECTOR(s->joint[10].def.point_b, 2, -9, 0);
  VECTOR(&s->joint[11].def.length, 2.5);
  VECTOR(&s->joint[11].def.rest, 2); /* a spring would rest as it stands */
  VECTOR(&s->joint[12].def.pitch, 0.002);
  assert_true(s->joint[13].def.free);
  assert_int_equal(s->joint[14].def.joint_a.id, 3);
  assert_int_equal(s->joint[14].def.joint_b.id, 7);
  VECTOR(&s->joint[14].def.ratio, -0.5);
  VECTOR(&s->joint[15].def.ratio, 2);
  VECTOR(s->joint[15].def.limit, -1, 1);
  VECTOR(&s->joint[15].def.damping, 3);
  assert_int_equal(s->joint[RACK].def.kind, ABD_JOINT_GEAR);
  assert_int_equal(s->joint[RACK].def.joint_b.id, 7);
  VECTOR(&s->joint[RACK].def.ratio, 0.1);
  scene_destroy(s);
}

/* Points in the coordinates of a mesh file, which the scene scales, turns and moves. */
static void body_frame(void **state) {
  (void)state;
  Scene *s = good("\"joints\": [{\"type\": \"hinge\", \"frame\": \"body\", \"bodies\": [\"lower\", \"upper\"], "
                  "\"point_a\": [0.05, 0, 0.5],"
                  "\"point_b\": [0, 0.05, -0.6], \"axis\": [1, 0, 0]},"
                  "{\"type\": \"distance\", \"frame\": \"body\", \"bodies\": [\"lower\"], \"point_a\": [1, 0, 0], "
                  "\"point_b\": [0, 0, 7]}]");
  const AbdJointDef *d = &s->joint[0].def;
  VECTOR(d->point, 0, 0.05, 0.9); /* turned by 90 degrees about z */
  VECTOR(d->axis, 0, 1, 0);
  assert_true(isnan(d->point_b[0])); /* the same place */
  VECTOR(s->joint[1].def.point, 0, 1, 0.4);
  VECTOR(s->joint[1].def.point_b, 0, 0, 7); /* of the world, where there is no second body */
  scene_destroy(s);
  s = parse("{\"version\": 1, \"meshes\": {\"m\": {\"vertices\": [[0,0,0],[1,0,0],[0,1,0],[0,0,1]], \"triangles\": "
            "[[0,2,1],[0,1,3],[0,3,2],[1,2,3]]}},"
            "\"bodies\": [{\"mesh\": \"m\", \"position\": [1, 2, 3]}], \"joints\": [{\"type\": \"ball\", \"bodies\": "
            "[0], \"frame\": \"body\", \"point_a\": [1, 0, 0]}]}");
  VECTOR(s->joint[0].def.point, 2, 2, 3);
  s->mesh[0].scale[0] = 2;
  double x[3];
  scene_body_to_world(s, 0, 1, (double[]){1, 1, 0}, x);
  VECTOR(x, 3, 3, 3);
  scene_body_to_world(s, 0, 0, (double[]){1, 1, 0}, x);
  VECTOR(x, 2, 1, 0);
  scene_destroy(s);
}

static void coordinates(void **state) {
  (void)state;
  assert_int_equal(abd_joint_kind_view(ABD_JOINT_HINGE)->coordinate, ABD_COORDINATE_ANGLE);
  assert_int_equal(abd_joint_kind_view(ABD_JOINT_CYLINDRICAL)->coordinate, ABD_COORDINATE_TRAVEL);
  assert_int_equal(abd_joint_kind_view(ABD_JOINT_DISTANCE)->coordinate, ABD_COORDINATE_DISTANCE);
  assert_int_equal(abd_joint_kind_view(ABD_JOINT_BALL)->coordinate, ABD_COORDINATE_NONE);
  assert_false(joint_moves(&(AbdJointDef){.kind = ABD_JOINT_DISTANCE}));
  assert_true(joint_moves(&(AbdJointDef){.kind = ABD_JOINT_ROPE}));
  assert_false(joint_moves(&(AbdJointDef){.kind = ABD_JOINT_ANGLE}));
  assert_true(joint_moves(&(AbdJointDef){.kind = ABD_JOINT_ANGLE, .free = true}));
}

/* ---- Errors ---- */

static void errors_of_bodies(void **state) {
  (void)state;
  bad_joint("{\"type\": \"weld\", \"bodies\": [\"uper\", \"lower\"]}",
            "s.json:3:40: joints[0].bodies[0]: no body is called \"uper\"; did you mean \"upper\"?");
  bad_joint("{\"type\": \"weld\", \"bodies\": [\"xxxxxxxxxx\"]}", "no body is called \"xxxxxxxxxx\"");
  bad_joint("{\"type\": \"weld\", \"bodies\": [\"bead\"]}",
            "3 bodies are called \"bead\": name one of the copies, such as \"bead-1\", or give a number in this file "
            "from 0, such as 4");
  bad_joint("{\"type\": \"weld\", \"bodies\": [7]}", "joints[0].bodies[0]: expected a whole number from 0 to 6, got 7");
  bad_joint("{\"type\": \"weld\", \"bodies\": [1.5]}", "expected a body's name or number, got 1.5");
  bad_joint("{\"type\": \"weld\"}", "expected a key \"bodies\"");
  bad_joint("{\"type\": \"weld\", \"bodies\": []}",
            "expected a list of 2 bodies, or of one that is joined to the world, got a list of 0");
  bad_joint("{\"type\": \"weld\", \"bodies\": [0, 1, 2]}", "got [0, 1, 2]");
  bad_joint("{\"type\": \"weld\", \"bodies\": [\"upper\", 0]}", "a joint needs two different bodies");
  bad_joint("{\"type\": \"weld\", \"bodies\": [\"post\"]}", "needs at least one body with");
  bad_joint("3", "joints[0]: expected an object {...}, got 3");
  bad("\"joints\": {}", "joints: expected a list [...], got an object");
}

static void errors_of_shape(void **state) {
  (void)state;
#define UL "\"bodies\": [\"upper\", \"lower\"], "
  bad_joint("{" UL "\"point\": [0, 0, 1]}", "expected a key \"type\"");
  bad_joint("{\"type\": \"hing\"}", "joints[0].type: no joint is of type \"hing\"; did you mean \"hinge\"?");
  bad_joint("{\"type\": \"qqqqqqqqqqqqqqqqqq\"}", "expected one of \"weld\", \"ball\"");
  bad_joint("{\"type\": 3}", "expected one of \"weld\", \"ball\"");
  bad_joint("{\"type\": \"hinge\", \"axsi\": [0, 0, 1]}", "joints[0].axsi: unknown key; did you mean \"axis\"?");
  bad_joint("{\"type\": \"ball\", " UL "\"point\": [0, 0, 1], \"axis\": [0, 0, 1]}",
            "joints[0].axis: a ball has no such key");
  bad_joint("{\"type\": \"orientation\", " UL "\"length\": 1}", "an orientation has no such key");
  bad_joint("{\"type\": \"ball\", " UL "\"collide\": false}", "expected a key \"point\"");
  bad_joint("{\"type\": \"hinge\", " UL "\"point\": [0, 0, 1]}", "expected a key \"axis\"");
  bad_joint("{\"type\": \"hinge\", " UL "\"point\": [0, 0, 1], \"axis\": [0, 1, 0], \"rest\": 1}",
            "joints[0].rest: without a \"stiffness\" there is no spring that rests");
  bad_joint("{\"type\": \"hinge\", " UL "\"point\": [0, 0, 1], \"axis\": [0, 0, 0]}",
            "joints[0].axis: expected an axis that is not 0");
  bad_joint("{\"type\": \"hinge\", " UL "\"point\": [0, 0], \"axis\": [0, 0, 1]}",
            "expected a list of 3 numbers, got [0, 0]");
  bad_joint("{\"type\": \"hinge\", " UL "\"point\": [0, 0, 1], \"point_a\": [0, 0, 1], \"axis\": [0, 0, 1]}",
            "needs \"frame\": \"body\"");
  bad_joint("{\"type\": \"ball\", \"frame\": \"body\", " UL "\"point\": [0, 0, 1]}",
            "with \"frame\": \"body\" give \"point_a\"");
  bad_joint(
      "{\"type\": \"ball\", \"frame\": \"body\", " UL "\"point_a\": [0, 0, -0.5], \"point_b\": [0, 0, 0.5]}",
      "joints[0].point_b: the anchors are 0.1 m apart: (0, 0, 1) of the first body and (0, 0, 0.9) of the second");
  bad_joint("{\"type\": \"ball\", " UL "\"point\": [0, 0, 1], \"point_b\": [0, 0, 1.001]}",
            "the anchors are 0.001 m apart");
  bad_joint("{\"type\": \"ball\", " UL "\"point\": [1e999, 0, 0]}", "s.json:3:");
  bad_joint("{\"type\": \"universal\", " UL "\"point\": [0, 0, 1], \"axis\": [1, 0, 0]}", "expected a key \"axis_b\"");
  bad_joint("{\"type\": \"universal\", " UL "\"point\": [0, 0, 1], \"axis\": [1, 0, 0], \"axis_b\": [1, 1, 0]}",
            "joints[0].axis_b: expected an axis at right angles to \"axis\", got one at 45 degrees");
  bad_joint("{\"type\": \"screw\", " UL "\"point\": [0, 0, 1], \"axis\": [1, 0, 0]}", "expected a key \"pitch\"");
  bad_joint("{\"type\": \"screw\", " UL "\"point\": [0, 0, 1], \"axis\": [1, 0, 0], \"pitch\": 0}",
            "joints[0].pitch: expected a number that is not 0");
  bad_joint("{\"type\": \"rope\", " UL "\"point\": [0, 0, 1]}", "expected a key \"point_b\"");
  bad_joint("{\"type\": \"rope\", " UL "\"point\": [0, 0, 1], \"point_b\": [0, 0, 0.5], \"length\": 0.25}",
            "the rope is too short: its ends are 0.5 m apart at the start, it is 0.25 m long");
  bad_joint("{\"type\": \"rope\", " UL "\"point\": [0, 0, 1], \"point_b\": [0, 0, 1], \"length\": 1}",
            "the two points are at one place");
  bad_joint("{\"type\": \"distance\", " UL "\"point\": [0, 0, 1], \"point_b\": [0, 0, 0.5], \"length\": 1}",
            "the points are 0.5 m apart at the start, expected the length 1");
  bad_joint("{\"type\": \"distance\", " UL "\"point\": [0, 0, 1], \"point_b\": [0, 0, 1]}", "a \"ball\" keeps them");
}

static void errors_of_coordinates(void **state) {
  (void)state;
#define HINGE "{\"type\": \"hinge\", " UL "\"point\": [0, 0, 1], \"axis\": [0, 1, 0], "
  bad_joint(HINGE "\"limits\": [1, 1]}", "joints[0].limits: expected the lower limit below the upper, got 1 and 1");
  bad_joint(HINGE "\"limits\": [0.5, 1]}",
            "the limits 0.5 to 1 exclude the start, which is at 0; there must be room on both sides");
  bad_joint(HINGE "\"limits\": [0, 1]}", "the limits 0 to 1 exclude the start");
  bad_joint(HINGE "\"limits\": [null, -1]}", "the limits -inf to -1 exclude the start");
  bad_joint(HINGE "\"limits\": [\"a\", 1]}", "joints[0].limits[0]: expected a number, got \"a\"");
  bad_joint(HINGE "\"limits\": 3}", "expected a list of 2 numbers");
  bad_joint(HINGE "\"stiffness\": -1}", "expected a number >= 0, got -1");
  bad_joint(HINGE "\"angle_limits\": [-1, 1]}", "a hinge has no such key");
  bad_joint("{\"type\": \"rope\", " UL "\"point\": [0, 0, 1], \"point_b\": [0, 0, 0.5], \"limits\": [0.6, 1]}",
            "the limits 0.6 to 1 exclude the start, which is at 0.5");
  bad_joint("{\"type\": \"angle\", " UL "\"axis\": [0, 0, 1], \"limits\": [-1, 1]}", "only with \"free\": true");
}

static void errors_of_gears(void **state) {
  (void)state;
#define SHAFT                                                                                                          \
  "{\"name\": \"shaft\", \"type\": \"hinge\", \"bodies\": [\"wheel\"], \"point\": [3, 0, 0], \"axis\": [0, 0, 1]}, "
#define GLUE "{\"name\": \"glue\", \"type\": \"weld\", " UL "\"collide\": false}, "
#define BAR                                                                                                            \
  "{\"name\": \"bar\", \"type\": \"hinge\", \"bodies\": [\"upper\"], \"point\": [0, 0, 2], \"axis\": [0, 0, 1]}, "
  bad_joint(SHAFT "{\"type\": \"gear\", \"bodies\": [\"wheel\"], \"ratio\": 2}",
            "joints[1].bodies: a gear has no such key");
  bad_joint(SHAFT "{\"type\": \"gear\", \"ratio\": 2}", "expected a key \"joints\"");
  bad_joint(SHAFT "{\"type\": \"gear\", \"joints\": [\"shaft\"], \"ratio\": 2}",
            "joints[1].joints: expected a list of 2 joints, got a list of 1");
  bad_joint(SHAFT "{\"type\": \"gear\", \"joints\": [\"shaft\", \"shaft\"], \"ratio\": 2}",
            "a gear needs two different joints");
  bad_joint(SHAFT "{\"type\": \"gear\", \"joints\": [\"shaft\", \"shafd\"], \"ratio\": 2}",
            "no joint is called \"shafd\"; did you mean \"shaft\"?");
  bad_joint(SHAFT "{\"type\": \"gear\", \"joints\": [\"shaft\", 1], \"ratio\": 2}",
            "expected a whole number from 0 to 0, got 1");
  bad_joint(SHAFT GLUE "{\"type\": \"gear\", \"joints\": [\"shaft\", \"glue\"], \"ratio\": 2}",
            "joint \"glue\" neither turns nor travels");
  bad_joint(SHAFT BAR "{\"type\": \"gear\", \"joints\": [\"shaft\", \"bar\"]}", "expected a key \"ratio\"");
  bad_joint(SHAFT BAR "{\"type\": \"gear\", \"joints\": [\"shaft\", \"bar\"], \"ratio\": 0}",
            "expected a number that is not 0");
  bad_joint(SHAFT BAR "{\"type\": \"rack\", \"joints\": [\"shaft\", \"bar\"], \"radius\": 1}",
            "joints[2].joints[1]: expected a joint that travels second");
  bad_joint(SHAFT SHAFT BAR "{\"type\": \"gear\", \"joints\": [\"shaft\", \"bar\"], \"ratio\": 1}",
            "2 joints are called \"shaft\": give a number in this file from 0, such as 0");
}

static void errors_of_drives(void **state) {
  (void)state;
  bad_drive("{\"joint\": \"hab\", \"type\": \"torque\", \"value\": 1}",
            "s.json:4:22: drives[0].joint: no joint is called \"hab\"; did you mean \"hub\"?");
  bad_drive("{\"type\": \"torque\", \"value\": 1}", "expected a key \"joint\"");
  bad_drive("{\"joint\": \"glue\", \"type\": \"torque\", \"value\": 1}",
            "joint \"glue\" (weld) has no motion to drive");
  bad_drive("{\"joint\": \"hub\", \"value\": 1}", "expected a key \"type\"");
  bad_drive("{\"joint\": \"hub\", \"type\": \"sped\", \"value\": 1}",
            "expected one of \"torque\", \"force\", \"speed\", \"position\", got \"sped\"");
  bad_drive("{\"joint\": \"hub\", \"type\": \"speed\"}", "expected a key \"value\"");
  bad_drive("{\"joint\": \"hub\", \"type\": \"speed\", \"value\": \"fast\"}",
            "expected a number, or keys [[time, value], ...], got \"fast\"");
  bad_drive("{\"joint\": \"hub\", \"type\": \"speed\", \"value\": []}", "expected a number, or keys");
  bad_drive("{\"joint\": \"hub\", \"type\": \"speed\", \"value\": [[0, 1], [1]]}",
            "drives[0].value[1]: expected a list of 2 numbers");
  bad_drive("{\"joint\": \"hub\", \"type\": \"speed\", \"value\": [[0, 1], [2, 1], [1, 1]]}",
            "drives[0].value[2]: expected a time later than the key before (2 s), got 1");
  bad_drive("{\"joint\": \"hub\", \"type\": \"speed\", \"value\": [[-1, 1]]}", "expected a time >= 0, got -1");
  bad_drive("{\"joint\": \"hub\", \"type\": \"speed\", \"value\": 1, \"max\": 0}",
            "drives[0].max: expected a number > 0, got 0");
  bad_drive("{\"joint\": \"hub\", \"type\": \"speed\", \"value\": 1, \"stiffness\": 3}", "has no such key");
  bad_drive("{\"joint\": \"hub\", \"type\": \"torque\", \"value\": 1, \"max\": 3}", "has no such key");
  bad_drive("{\"joint\": \"hub\", \"type\": \"position\", \"value\": 1}", "expected a key \"stiffness\"");
  bad_drive(
      "{\"joint\": \"hub\", \"type\": \"speed\", \"value\": 1}, {\"joint\": 0, \"type\": \"torque\", \"value\": 1}",
      "drives[1].joint: joint \"hub\" has a drive already");
}

/* ---- Includes ---- */

static void write_file(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
}

/* An included file speaks of its own bodies, even where the includer has others of the same name. */
static void included_joints(void **state) {
  (void)state;
#define FOLDER ABD_BINARY "/tests/"
  const char *outer = FOLDER "joint_outer.json";
  SceneError error = {""};
  write_file(FOLDER "joint_inner.json", "{\"version\": 1, \"bodies\": [{\"name\": \"arm\", \"shape\": \"box\"}], "
                                        "\"joints\": [{\"name\": \"inner\", \"type\": \"hinge\","
                                        "\"bodies\": [\"arm\"], \"point\": [0, 0, 0], \"axis\": [0, 0, 1]}]}");
  write_file(outer,
             "{\"version\": 1, \"include\": [\"joint_inner.json\"], \"bodies\": [{\"name\": \"arm\", \"shape\": "
             "\"box\", \"position\": [9, 0, 0]}],"
             "\"joints\": [{\"type\": \"hinge\", \"bodies\": [\"arm\"], \"point\": [9, 0, 0], \"axis\": [0, 0, 1]},"
             "{\"type\": \"gear\", \"joints\": [\"inner\", 0], \"ratio\": 2}],"
             "\"drives\": [{\"joint\": \"inner\", \"type\": \"torque\", \"value\": 3}, {\"joint\": 0, \"type\": "
             "\"force\", \"value\": 4}]}");
  Scene *s = scene_load(&outer, 1, NULL, &error);
  if (!s) fail_msg("%s", error.text);
  assert_int_equal(s->joint[0].def.body_a.id, 2);
  assert_int_equal(s->joint[1].def.body_a.id, 1);
  scene_destroy(s);
  write_file(
      outer,
      "{\"version\": 1, \"include\": [\"joint_inner.json\"], \"bodies\": [{\"name\": \"leg\", \"shape\": \"box\", "
      "\"position\": [9, 0, 0]}],"
      "\"joints\": [{\"type\": \"hinge\", \"bodies\": [\"leg\", \"arm\"], \"point\": [9, 0, 0], \"axis\": [0, 0, 1]},"
      "{\"type\": \"gear\", \"joints\": [\"inner\", 0], \"ratio\": 2}],"
      "\"drives\": [{\"joint\": \"inner\", \"type\": \"torque\", \"value\": 3}, {\"joint\": 0, \"type\": \"force\", "
      "\"value\": 4}]}");
  s = scene_load(&outer, 1, NULL, &error);
  if (!s) fail_msg("%s", error.text);
  assert_int_equal(s->joint_count, 3);
  assert_string_equal(s->joint[0].name, "inner");
  assert_int_equal(s->joint[0].def.body_a.id, 2);
  assert_int_equal(s->joint[1].def.body_a.id, 1);
  assert_int_equal(s->joint[1].def.body_b.id, 2);
  assert_int_equal(s->joint[2].def.joint_a.id, 1);
  assert_int_equal(s->joint[2].def.joint_b.id, 2);
  VECTOR(((double[]){s->joint[0].def.drive.target, s->joint[1].def.drive.target}), 3, 4);
  scene_destroy(s);
  unlink(outer), unlink(FOLDER "joint_inner.json");
}

/* A drive on a joint of an included file changes what it names, or with a type replaces the file's drive. */
static void included_drives(void **state) {
  (void)state;
  const char *outer = FOLDER "drive_outer.json";
  SceneError error = {""};
  write_file(FOLDER "drive_inner.json",
             "{\"version\": 1, \"bodies\": [{\"shape\": \"box\"}], \"joints\": [{\"name\": \"j\", \"type\": \"hinge\","
             "\"bodies\": [0], \"point\": [0, 0, 0], \"axis\": [0, 0, 1]}], \"drives\": [{\"joint\": \"j\", \"type\":"
             "\"position\", \"value\": [[0, 1], [1, 2]], \"stiffness\": 9, \"damping\": 4, \"max\": 7}]}");
  static const struct {
    const char *keys;
    double expected[4]; /* target, stiffness, damping, max */
  } cases[] = {{"\"value\": 3", {3, 9, 4, 7}},
               {"\"value\": [[0, 5], [1, 6]], \"damping\": 2", {5, 9, 2, 7}},
               {"\"value\": 8, \"type\": \"torque\"", {8, 0, 0, 0}}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[300];
    snprintf(text, sizeof text,
             "{\"version\": 1, \"include\": \"drive_inner.json\", \"drives\": [{\"joint\": \"j\", %s}]}",
             cases[i].keys);
    write_file(outer, text);
    Scene *s = scene_load(&outer, 1, NULL, &error);
    if (!s) fail_msg("%s", error.text);
    const AbdDrive *d = &s->joint[0].def.drive;
    assert_int_equal(s->joint[0].drive_count, i == 1 ? 2 : 0);
    VECTOR(((double[]){d->target, d->stiffness, d->damping, d->max_effort}), cases[i].expected[0], cases[i].expected[1],
           cases[i].expected[2], cases[i].expected[3]);
    scene_destroy(s);
  }
  unlink(outer), unlink(FOLDER "drive_inner.json");
}

/* ---- Drives in a world, the text ---- */

#define DRIVES                                                                                                         \
  "\"joints\": [{\"name\": \"hub\", \"type\": \"hinge\", \"bodies\": [\"wheel\"], \"point\": [3, 0, 0], \"axis\": "    \
  "[0, 0, 1]},"                                                                                                        \
  "{\"name\": \"bar\", \"type\": \"hinge\", \"bodies\": [\"upper\"], \"point\": [0, 0, 2], \"axis\": [0, 1, 0], "      \
  "\"limits\": [-2, 1.5]}],"                                                                                           \
  "\"drives\": [{\"joint\": \"hub\", \"type\": \"torque\", \"value\": [[0.05, 1], [0.1, 3]]},"                         \
  "{\"joint\": \"bar\", \"type\": \"position\", \"value\": 0.5, \"stiffness\": 100, \"damping\": 5, \"max\": 20}]"

static void keyed_drives(void **state) {
  (void)state;
  Scene *s = good(DRIVES);
  const AbdDrive *servo = &s->joint[1].def.drive;
  assert_int_equal(servo->kind, ABD_DRIVE_POSITION);
  VECTOR(((double[]){servo->target, servo->stiffness, servo->damping, servo->max_effort}), 0.5, 100, 5, 20);
  SceneError error = {""};
  AbdWorld *world = scene_build(s, 1, &error);
  if (!world) fail_msg("%s", error.text);
  static const double expected[] = {1, 1, 2, 3, 3, 3}; /* at the ends of steps of 0.025 s */
  for (int step = 0; step < 6; step++) {
    AbdJointReading reading;
    if (!scene_apply(s, world, &error)) fail_msg("%s", error.text);
    if (abd_world_step(world, NULL) != ABD_OK) fail_msg("%s", abd_world_error(world));
    assert_int_equal(abd_joint_reading(world, (AbdJointId){1}, &reading), ABD_OK);
    if (!(fabs(reading.effort - expected[step]) < 1e-9))
      fail_msg("step %d: the motor gives %.17g N m, expected %g", step + 1, reading.effort, expected[step]);
  }
  abd_world_destroy(world);
  scene_destroy(s);
}

/* The text of a scene is read as the same scene, and a world built from it goes the same way. */
static void text_keeps_joints(void **state) {
  (void)state;
  const char *const list[] = {EVERY_TYPE, DRIVES};
  for (int i = 0; i < 2; i++) {
    Scene *s = good(list[i]);
    char *text = strdup(scene_text(s, NULL));
    Scene *again = parse(text);
    assert_string_equal(scene_text(again, NULL), text);
    assert_int_equal(again->joint_count, s->joint_count);
    for (size_t k = 0; k < s->joint_count; k++) {
      const AbdJointDef *a = &s->joint[k].def, *b = &again->joint[k].def;
      bool same = a->kind == b->kind && a->body_a.id == b->body_a.id && a->body_b.id == b->body_b.id &&
                  a->joint_a.id == b->joint_a.id && a->joint_b.id == b->joint_b.id && a->ratio == b->ratio &&
                  !memcmp(a->point, b->point, sizeof a->point) && isnan(a->point_b[0]) == isnan(b->point_b[0]) &&
                  !memcmp(a->axis, b->axis, sizeof a->axis) && !memcmp(a->axis_b, b->axis_b, sizeof a->axis_b) &&
                  !memcmp(a->limit, b->limit, sizeof a->limit) && a->length == b->length && a->pitch == b->pitch &&
                  !memcmp(a->angle_limit, b->angle_limit, sizeof a->limit) && a->rest == b->rest &&
                  a->free == b->free && a->drive.kind == b->drive.kind && a->drive.target == b->drive.target &&
                  a->drive.max_effort == b->drive.max_effort && s->joint[k].drive_count == again->joint[k].drive_count;
      if (!same) fail_msg("joint %zu (%s) differs after reading its text", k, s->joint[k].name);
    }
    scene_destroy(again);
    scene_destroy(s);
    free(text);
  }
  Scene *s = good(DRIVES), *again = parse(scene_text(s, NULL));
  Scene *both[2] = {s, again};
  uint64_t hash[2];
  for (int i = 0; i < 2; i++) {
    SceneError error = {""};
    AbdWorld *world = scene_build(both[i], 1, &error);
    if (!world) fail_msg("%s", error.text);
    for (int step = 0; step < 8; step++) {
      if (!scene_apply(both[i], world, &error)) fail_msg("%s", error.text);
      if (abd_world_step(world, NULL) != ABD_OK) fail_msg("%s", abd_world_error(world));
    }
    hash[i] = abd_world_hash(world);
    abd_world_destroy(world);
  }
  assert_true(hash[0] == hash[1]);
  scene_destroy(s);
  scene_destroy(again);
}

/* ---- rigid-IPC ---- */

static const char tetrahedron[] = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";

static char *rigid_ipc_with(const char *constraints) {
  char *text = malloc(4000);
  assert_non_null(text);
  snprintf(text, 4000,
           "{\"rigid_body_problem\": {\"orthogonality_stiffness\": 3e7, \"rigid_bodies\": ["
           "{\"mesh\": \"joint_meshes\\\\a.obj\", \"position\": [1, 0, 0], \"rotation\": [0, 0, 90]},"
           "{\"mesh\": \"joint_meshes/b.obj\", \"position\": [0, 5, 0], \"scale\": 2},"
           "{\"mesh\": \"joint_meshes/b.obj\", \"position\": [0, 9, 0]},"
           "{\"mesh\": \"joint_meshes/c.obj\", \"type\": \"static\", \"position\": [0, 0, 9]}],"
           "\"linear_constraints\": [%s]}}",
           constraints);
  return text;
}

static Scene *load_rigid_ipc(const char *constraints, SceneError *error) {
  char *text = rigid_ipc_with(constraints);
  Scene *s = scene_parse(text, strlen(text), ABD_BINARY "/tests/pinned.json", NULL, error);
  free(text);
  return s;
}

static void bad_constraint(const char *constraint, const char *what) {
  SceneError error = {""};
  Scene *s = load_rigid_ipc(constraint, &error);
  if (s) fail_msg("accepted: %s", constraint);
  if (!strstr(error.text, what)) fail_msg("error \"%s\" does not say \"%s\"", error.text, what);
}

static void rigid_ipc_constraints(void **state) {
  (void)state;
  static const char *const names[] = {"a", "b", "c"};
  char path[3][300];
  SceneError error = {""};
  mkdir(ABD_BINARY "/tests/joint_meshes", 0777);
  for (int i = 0; i < 3; i++) {
    snprintf(path[i], sizeof path[i], "%s/tests/joint_meshes/%s.obj", ABD_BINARY, names[i]);
    write_file(path[i], tetrahedron);
  }
  Scene *s = load_rigid_ipc(
      "{\"type\": \"pin_world\", \"body_name\": \"a\", \"body_point\": [1, 0, 0]},"
      "{\"type\": \"pin_joint\", \"bodyA_name\": \"b\", \"bodyA_point\": [1, 0, 1], \"bodyB_name\": \"a\"},"
      "{\"type\": \"pin_world\", \"body_name\": \"c\", \"body_point\": [0, 0, 0]}",
      &error);
  if (!s) fail_msg("%s", error.text);
  assert_int_equal(s->joint_count, 2); /* the static one is pinned anyway */
  assert_int_equal(s->joint[0].def.kind, ABD_JOINT_BALL);
  assert_int_equal(s->joint[0].def.body_a.id, 1);
  assert_int_equal(s->joint[0].def.body_b.id, 0);
  VECTOR(s->joint[0].def.point, 1, 1, 0);
  assert_int_equal(s->joint[1].def.body_a.id, 2); /* the first of the two */
  assert_int_equal(s->joint[1].def.body_b.id, 1);
  VECTOR(s->joint[1].def.point, 2, 5, 2); /* coordinates of the file, scaled as the mesh is */
  VECTOR(&s->body[0].def.stiffness, 3e7);
  assert_int_equal(scene_note_count(s), 2);
  if (!strstr(scene_note(s, 0), "2 bodies have the mesh \"b\"; the first, body 2, is used, not body 3"))
    fail_msg("%s", scene_note(s, 0));
  if (!strstr(scene_note(s, 1), "linear_constraints[2] has no effect")) fail_msg("%s", scene_note(s, 1));
  scene_destroy(s);
  bad_constraint("{\"type\": \"pin_world\", \"body_name\": \"aa\", \"body_point\": [1, 0, 0]}",
                 "linear_constraints[0].body_name: no body has the mesh \"aa\"; did you mean \"a\"?");
  bad_constraint("{\"type\": \"pin_world\", \"body_name\": \"a\"}", "expected a key \"body_point\"");
  bad_constraint("{\"type\": \"pin_world\", \"body_point\": [1, 0, 0]}", "expected a key \"body_name\"");
  bad_constraint("{\"type\": \"pin_worlds\", \"body_name\": \"a\"}", "expected one of \"pin_world\", \"pin_joint\"");
  bad_constraint("{\"body_name\": \"a\"}", "expected a key \"type\"");
  bad_constraint("{\"type\": \"pin_joint\", \"bodyA_name\": \"a\", \"bodyA_point\": [0, 0, 0], \"bodyB_name\": \"a\"}",
                 "two different bodies");
  bad_constraint("{\"type\": \"pin_joint\", \"bodyA_nmae\": \"a\"}", "did you mean \"bodyA_name\"?");
  bad_constraint("7", "expected an object");
  for (int i = 0; i < 3; i++) unlink(path[i]);
  rmdir(ABD_BINARY "/tests/joint_meshes");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(hinge_with_everything),
      cmocka_unit_test(every_type),
      cmocka_unit_test(body_frame),
      cmocka_unit_test(coordinates),
      cmocka_unit_test(errors_of_bodies),
      cmocka_unit_test(errors_of_shape),
      cmocka_unit_test(errors_of_coordinates),
      cmocka_unit_test(errors_of_gears),
      cmocka_unit_test(errors_of_drives),
      cmocka_unit_test(included_joints),
      cmocka_unit_test(included_drives),
      cmocka_unit_test(keyed_drives),
      cmocka_unit_test(text_keeps_joints),
      cmocka_unit_test(rigid_ipc_constraints),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
