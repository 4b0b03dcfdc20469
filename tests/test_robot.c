/* Robots: URDF and MJCF files become scenes (src/robot, src/scene/own_robot.c). Poses, masses, joints, limits,
 * couplings, drives and exclusions of small robots; errors with file and line; notes on what has no effect; the robots
 * of the fixtures, if there are any, stand or hang without a crossing. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "robot/robot.h"
#include "scene/scene_def.h"

#define ROBOTS ABD_SOURCE "/tests/robots/"

static void near(double a, double b, double tolerance, const char *what) {
  if (!(fabs(a - b) <= tolerance)) fail_msg("%s is %.17g, expected %.17g", what, a, b);
}

static Scene *load(const char *path, const SceneOptions *options) {
  SceneError error = {""};
  Scene *scene = scene_load(&path, 1, options, &error);
  if (!scene) fail_msg("%s", error.text);
  return scene;
}

static const SceneBody *body(const Scene *scene, const char *name) {
  for (size_t i = 0; i < scene->body_count; i++)
    if (strcmp(scene->body[i].name, name) == 0) return &scene->body[i];
  fail_msg("no body %s", name);
  return NULL;
}

static const AbdJointDef *joint(const Scene *scene, const char *name) {
  for (size_t i = 0; i < scene->joint_count; i++)
    if (strcmp(scene->joint[i].name, name) == 0) return &scene->joint[i].def;
  fail_msg("no joint %s", name);
  return NULL;
}

static void has_note(const Scene *scene, const char *what) {
  for (int k = 0; k < scene_note_count(scene); k++)
    if (strstr(scene_note(scene, k), what)) return;
  for (int k = 0; k < scene_note_count(scene); k++) print_message("note: %s\n", scene_note(scene, k));
  fail_msg("no note says \"%s\"", what);
}

static bool excluded(const Scene *scene, const char *a, const char *b) {
  for (size_t k = 0; k < scene->exclude_count; k++) {
    const char *x = scene->body[scene->exclude[k].a].name, *y = scene->body[scene->exclude[k].b].name;
    if ((!strcmp(x, a) && !strcmp(y, b)) || (!strcmp(x, b) && !strcmp(y, a))) return true;
  }
  return false;
}

/* Writes a robot's text to a file of this process and loads it; the error, or "" if it was accepted. */
static const char *refusal(const char *ending, const char *text) {
  static SceneError error;
  char path[200];
  snprintf(path, sizeof path, "%s/robot-%d.%s", ABD_BINARY, (int)getpid(), ending);
  FILE *out = fopen(path, "wb");
  assert_non_null(out);
  fputs(text, out);
  fclose(out);
  const char *name = path;
  error.text[0] = 0;
  Scene *scene = scene_load(&name, 1, NULL, &error);
  unlink(path);
  if (scene) error.text[0] = 0;
  scene_destroy(scene);
  return error.text;
}

static void refuse(const char *ending, const char *text, const char *place, const char *what) {
  const char *error = refusal(ending, text);
  if (!strstr(error, what) || !strstr(error, place))
    fail_msg("error \"%s\" does not say \"%s\" at \"%s\"", error, what, place);
}

/* ---- URDF ---- */

static void test_urdf_arm(void **state) {
  (void)state;
  Scene *s = load(ROBOTS "arm.urdf", NULL);
  assert_int_equal(s->body_count, 5); /* the flange has neither mass nor geometry */
  assert_int_equal(body(s, "base")->def.motion, ABD_MOTION_STATIC);
  assert_string_equal(body(s, "base")->color, "#ff0000");
  assert_string_equal(body(s, "upper")->color, "#0080ff");
  const AbdBodyDef *tool = &body(s, "tool")->def;
  near(tool->position[2], 0.65, 1e-15, "height of the tool");
  near(tool->mass, 0.5, 0, "mass");
  near(tool->center_of_mass[2], 0.1, 1e-15, "centre");
  near(tool->inertia[1], 0.0025, 1e-15, "iyy, turned by a quarter about x");
  near(tool->inertia[2], 0.002, 1e-15, "izz, turned by a quarter about x");
  assert_true(body(s, "twin")->def.no_contact);
  const AbdJointDef *shoulder = joint(s, "shoulder");
  assert_int_equal(shoulder->kind, ABD_JOINT_HINGE);
  near(shoulder->point[2], 0.15, 1e-15, "shoulder");
  near(shoulder->axis[1], 1, 1e-15, "axis");
  near(shoulder->limit[1], 1, 1e-15, "limit");
  near(shoulder->damping, 0.2, 0, "damping");
  near(shoulder->friction, 0.1, 0, "friction");
  scene_destroy(s);
}

static void test_urdf_start(void **state) {
  (void)state;
  Scene *s = load(ROBOTS "arm.urdf", NULL);
  /* 0 lies outside of 0.01 to 0.05 by more than 1 % of the range: the joint starts 1 % inside. The mimic follows. */
  double start = 0.0104, twin = 0.1 + 2 * start;
  near(joint(s, "grip")->limit[0], 0.01 - start, 1e-12, "lower limit from the start");
  near(joint(s, "twin grip")->limit[1], 1 - twin, 1e-9, "upper limit of the mimic from its start");
  near(joint(s, "coupling 1")->ratio, 2, 0, "ratio");
  has_note(s, "joint \"grip\" starts at 0.0104");
  has_note(s, "<transmission> (arm.urdf:");
  has_note(s, "velocity of <limit> (arm.urdf:");
  has_note(s, "links without geometry");
  assert_true(excluded(s, "base", "upper") == false); /* the joint itself excludes them */
  assert_true(excluded(s, "upper", "tool"));          /* parent and child */
  scene_destroy(s);
}

/* With visual geometry, a body without collision geometry has the friction of its visual geometry. */
static void test_mjcf_visual_friction(void **state) {
  (void)state;
  char path[200];
  snprintf(path, sizeof path, "%s/visual-%d.xml", ABD_BINARY, (int)getpid());
  FILE *out = fopen(path, "wb");
  assert_non_null(out);
  fputs(
      "<mujoco><worldbody><body name='a'><freejoint/><geom size='.1' contype='0' conaffinity='0' friction='.3'/></body>"
      "<body name='b' pos='1 0 0'><freejoint/><geom size='.1' friction='.6'/>"
      "<geom size='.1' contype='0' conaffinity='0'/></body></worldbody></mujoco>",
      out);
  fclose(out);
  Scene *s = load(path, &(SceneOptions){.geometry = "visual"});
  unlink(path);
  near(body(s, "a")->def.friction, 0.3, 0, "friction of visual geometry");
  near(body(s, "b")->def.friction, 0.6, 0, "friction of collision geometry");
  scene_destroy(s);
}

static void test_urdf_geometry(void **state) {
  (void)state;
  Scene *s = load(ROBOTS "arm.urdf", NULL), *v = load(ROBOTS "arm.urdf", &(SceneOptions){.geometry = "visual"});
  const MeshData *tool = &s->mesh[body(s, "tool")->mesh].data;
  double high = -1;
  for (size_t i = 0; i < tool->vertex_count; i++) high = fmax(high, tool->vertex[3 * i + 2]);
  near(high, 0.31, 1e-12, "top of the tool: a plate and a ball in one mesh");
  const MeshData *box = &v->mesh[body(v, "upper")->mesh].data;
  near(fabs(box->vertex[0]), 0.035, 1e-12, "half the edge of the visual box");
  scene_destroy(s);
  scene_destroy(v);
}

static void test_urdf_hold_and_base(void **state) {
  (void)state;
  Scene *s = load(ROBOTS "arm.urdf", &(SceneOptions){.hold = true, .base = "free"});
  const AbdDrive *drive = &joint(s, "shoulder")->drive;
  assert_int_equal(drive->kind, ABD_DRIVE_POSITION);
  near(drive->max_effort, 50, 0, "effort");
  assert_int_equal(body(s, "ground")->def.motion, ABD_MOTION_STATIC);
  assert_int_equal(body(s, "base")->def.motion, ABD_MOTION_DYNAMIC);
  scene_destroy(s);
}

static void test_urdf_errors(void **state) {
  (void)state;
  refuse("urdf", "<robot><link name=\"a\">\n</robot>", ".urdf:2:", "mismatched tag");
  refuse("urdf", "<robots/>", ".urdf:1:", "this is no URDF file");
  refuse("urdf", "<robot/>", ".urdf:1:", "no links");
  refuse("urdf", "<robot>\n<link/></robot>", ".urdf:2:", "\"name\"");
  refuse("urdf", "<robot><link name='a'/>\n<link name='a'/></robot>", ".urdf:2:", "another link");
  refuse("urdf",
         "<robot><link name='a'/><link name='b'/>\n"
         "<joint name='x' type='revolute'><parent link='a'/><child link='b'/></joint>\n"
         "<joint name='y' type='revolute'><parent link='b'/><child link='a'/></joint></robot>",
         ".urdf:1:", "form a loop");
  refuse("urdf",
         "<robot><link name='a'/><link name='b'/>\n"
         "<joint name='x' type='fixed'><parent link='a'/><child link='b'/></joint>\n"
         "<joint name='y' type='fixed'><parent link='a'/><child link='b'/></joint></robot>",
         ".urdf:3:", "child of two joints");
  refuse("urdf", "<robot><link name='a'/>\n<link name='b'/></robot>", ".urdf:2:", "one root");
  refuse(
      "urdf",
      "<robot><link name='a'/><link name='b'/>\n<joint name='x' type='revolute'><parent link='a'/><child link='b'/>\n"
      "<limit lower='1' upper='-1'/></joint></robot>",
      ".urdf:3:", "expected lower <= upper, got 1 and -1");
  refuse("urdf",
         "<robot><link name='a'/><link name='b'/>\n"
         "<joint name='x' type='revolute'><parent link='a'/><child link='b'/></joint></robot>",
         ".urdf:1:", "has a mass");
  refuse("urdf",
         "<robot><link name='a'>\n<collision><geometry><mesh filename='no.stl'/></geometry></collision></link></robot>",
         ".urdf:2:", "mesh \"no.stl\" not found");
  refuse("urdf",
         "<robot><link name='a'>\n<collision><geometry><sphere radius='nan'/></geometry></collision></link></robot>",
         ".urdf:2:", "radius: expected 1 finite number, got \"nan\"");
  refuse("urdf", "<robot><link name='a'>\n<collision><geometry><ball/></geometry></collision></link></robot>",
         ".urdf:2:", "expected box, cylinder, capsule, sphere or mesh");
  refuse("urdf", "<robot><link name='a'>\n<inertial><mass value='-1'/></inertial></link></robot>",
         ".urdf:2:", "a mass >= 0");
  refuse("urdf", "<!DOCTYPE r [<!ENTITY x 'y'>]>\n<robot/>", ".urdf:1:", "entities");
}

/* ---- MJCF ---- */

static const double degree = 0.017453292519943295769;

static void test_mjcf_bodies(void **state) {
  (void)state;
  Scene *s = load(ROBOTS "walker.xml", NULL);
  near(s->world.dt, 0.004, 0, "time step");
  near(s->world.gravity[2], -9.8, 0, "gravity");
  assert_int_equal(body(s, "floor")->def.motion, ABD_MOTION_STATIC);
  const AbdBodyDef *trunk = &body(s, "trunk")->def, *thigh = &body(s, "thigh")->def, *rod = &body(s, "rod")->def;
  near(trunk->mass, 1000 * 0.2 * 0.1 * 0.05, 1e-12, "mass of the box; the mesh has density 0");
  near(trunk->inertia[0], trunk->mass / 12 * (0.1 * 0.1 + 0.05 * 0.05), 1e-12, "its inertia");
  near(trunk->friction, 0.8, 0, "friction by default");
  assert_string_equal(body(s, "trunk")->color, "#0000ff");
  assert_string_equal(body(s, "rod")->color, "#ffff00");
  near(thigh->position[1], 0.1, 1e-12, "0.1 along x in a frame that is turned by 90 degrees about z");
  near(thigh->position[2], 0.9, 1e-12, "height of the thigh");
  near(thigh->inertia[5], 0.0001, 1e-15, "yz");
  near(rod->mass, 1000 * 3.141592653589793 * 1e-4 * 0.2, 1e-9, "mass of a cylinder from end to end");
  near(body(s, "shin")->def.mass, 0.5, 0, "mass of a geometry");
  has_note(s, "armature: 1 rotors");
  has_note(s, "walker.xml:31: limits, stiffness, damping, friction and armature of ball");
  scene_destroy(s);
}

static void test_mjcf_joints(void **state) {
  (void)state;
  Scene *s = load(ROBOTS "walker.xml", NULL);
  const AbdJointDef *hip = joint(s, "hip"), *knee = joint(s, "knee");
  near(hip->limit[0], -40 * degree, 1e-12, "lower limit from the reference of 10 degrees");
  near(hip->limit[1], 50 * degree, 1e-12, "upper limit");
  near(hip->damping, 0.1, 0, "damping by default");
  near(hip->axis[0], -1, 1e-12, "y in a frame that is turned by 90 degrees about z");
  near(knee->stiffness, 7, 0, "stiffness by class");
  near(knee->rest, 20 * degree, 1e-12, "rest");
  assert_true(isinf(knee->limit[1]));
  assert_int_equal(joint(s, "free end")->kind, ABD_JOINT_BALL);
  assert_int_equal(joint(s, "lift")->kind, ABD_JOINT_SLIDER);
  near(body(s, "crank carrier 6")->def.mass, 1e-3 * body(s, "crank")->def.mass, 1e-15, "a link between two joints");
  near(joint(s, "constraint 1")->point[0], 0.4, 1e-12, "the loop");
  near(joint(s, "coupling 2")->ratio, -1, 0, "equality of joints");
  near(body(s, "knee rotor")->def.inertia[0], 0.01, 0, "armature");
  assert_true(body(s, "knee rotor")->def.no_contact);
  near(joint(s, "knee armature")->ratio, 1, 0, "the rotor turns with the knee");
  assert_true(excluded(s, "thigh", "link"));
  assert_true(excluded(s, "link", "crank")); /* their contact bits do not meet */
  assert_false(excluded(s, "thigh", "crank"));
  scene_destroy(s);
}

static void test_mjcf_drives(void **state) {
  (void)state;
  Scene *s = load(ROBOTS "walker.xml", NULL);
  const AbdDrive *hip = &joint(s, "hip")->drive, *lift = &joint(s, "lift")->drive;
  const AbdBodyDef *thigh = &body(s, "thigh")->def, *shin = &body(s, "shin")->def;
  near(hip->stiffness, 30, 0, "kp");
  near(hip->max_effort, 5, 0, "forcerange");
  near(hip->target, 0, 0, "at rest at the start");
  double capsule[3] = {0.5, 0.02, 0.2}; /* mass, radius, height */
  double tube = 3.141592653589793 * capsule[1] * capsule[1] * capsule[2];
  double ball = 4 * 3.141592653589793 / 3 * pow(capsule[1], 3), density = capsule[0] / (tube + ball);
  double shin_inertia = density * (tube * (3 * pow(capsule[1], 2) + pow(capsule[2], 2)) / 12 +
                                   ball * (0.4 * pow(capsule[1], 2) + 0.25 * pow(capsule[2], 2) + 0.375 * 0.2 * 0.02));
  double inertia = thigh->inertia[1] + thigh->mass * 0.01 + shin_inertia + shin->mass * 0.45 * 0.45;
  near(hip->damping, 2 * sqrt(30 * inertia), 1e-9, "critical damping");
  assert_int_equal(joint(s, "swing")->drive.kind, ABD_DRIVE_EFFORT);
  near(joint(s, "turn")->damping, 0.1 + 0.5, 1e-15, "a velocity servo at rest is a damper");
  near(lift->stiffness, 10, 0, "general");
  scene_destroy(s);
}

static void test_mjcf_keyframe(void **state) {
  (void)state;
  Scene *s = load(ROBOTS "walker.xml", &(SceneOptions){.keyframe = "bent"});
  near(body(s, "trunk")->def.position[2], 2, 0, "the free base");
  near(joint(s, "hip")->limit[1], 60 * degree - 0.5, 1e-12, "limit from the keyframe");
  near(joint(s, "hip")->drive.target, 0.4 - 0.5, 1e-12, "target of the keyframe, from the start");
  near(joint(s, "swing")->drive.target, 3, 0, "effort: gear times control");
  near(joint(s, "lift")->drive.target - joint(s, "lift")->limit[1], 0.01 - 0.1, 1e-9, "target of the servo");
  AbdWorld *world;
  SceneError error = {""};
  world = scene_build(s, 1, &error);
  if (!world) fail_msg("%s", error.text);
  assert_int_equal(abd_world_start(world), ABD_OK); /* the loop is closed */
  AbdStepReport report;
  for (int k = 0; k < 3; k++) { /* rows of gears, after a static body */
    assert_int_equal(abd_world_step(world, &report), ABD_OK);
    assert_int_equal(report.outcome, ABD_CONVERGED);
  }
  abd_world_destroy(world);
  scene_destroy(s);
  static const char *const path = ROBOTS "walker.xml";
  assert_null(scene_load(&path, 1, &(SceneOptions){.keyframe = "no"}, &error));
  assert_non_null(strstr(error.text, "no keyframe \"no\"; there are: bent"));
}

#define WORLD(text) "<mujoco><worldbody>\n" text "</worldbody></mujoco>"
static void test_mjcf_errors(void **state) {
  (void)state;
  refuse("xml", "<mujoco>", ".xml:1:", "no element found");
  refuse("xml", "<scene/>", ".xml:1:", "no MJCF file");
  refuse("xml", "<mujoco/>", ".xml:1:", "no bodies");
  refuse("xml", WORLD("<geom size='x'/>"), ".xml:2:", "size: expected 1 to 3 finite numbers, got \"x\"");
  refuse("xml", WORLD("<geom size='inf'/>"), ".xml:2:", "finite");
  refuse("xml", WORLD("<geom type='mesh' mesh='m'/>"), ".xml:2:", "no <mesh> \"m\"");
  refuse("xml", WORLD("<geom type='blob'/>"), ".xml:2:", "got \"blob\"");
  refuse("xml", WORLD("<geom class='c'/>"), ".xml:2:", "no <default class=\"c\">");
  refuse("xml", WORLD("<body><joint/></body>"), ".xml:2:", "has a mass");
  refuse("xml", WORLD("<body quat='0 0 0 0'/>"), ".xml:2:", "quat: expected axes that are not 0");
  refuse("xml", WORLD("<body><joint axis='0 0 0'/><geom size='1'/></body>"), ".xml:2:", "an axis that is not 0");
  refuse("xml", WORLD("<body><joint range='1 0'/><geom size='1'/></body>"), ".xml:2:", "range:");
  refuse("xml", WORLD("<body name='a'/><body name='a'/>"), ".xml:2:", "another body");
  refuse("xml", "<mujoco>\n<include file='no.xml'/></mujoco>", ".xml:2:", "No such file");
  refuse("xml", "<mujoco><compiler angle='turn'/></mujoco>", ".xml:1:", "radian or degree");
  refuse("xml",
         "<mujoco><asset><mesh name='m' file='m.stl'/></asset>\n<worldbody><geom type='mesh' "
         "mesh='m'/></worldbody></mujoco>",
         ".xml:1:", "mesh \"m.stl\" not found");
  refuse("xml",
         "<mujoco><worldbody><body name='a'><joint name='j'/><geom size='1'/></body></worldbody>\n"
         "<equality><joint joint1='j' joint2='k'/></equality></mujoco>",
         ".xml:2:", "no hinge or slide joint \"k\"");
  refuse("xml",
         "<mujoco><worldbody><body name='a'><joint name='j'/><geom size='1'/></body></worldbody>\n"
         "<actuator><position joint='j' kp='-1'/></actuator></mujoco>",
         ".xml:2:", "kp > 0");
  refuse("xml",
         "<mujoco><worldbody><body name='a'><joint axis='0 0 1' name='j'/><geom size='.1' pos='1 0 0'/></body>"
         "<body name='b' pos='3 0 0'><joint name='k'/><geom size='.1'/></body></worldbody>\n"
         "<equality><weld body1='a' body2='b' relpose='0 0 5 1 0 0 0'/></equality></mujoco>",
         ".xml:2:", "cannot be met at the start");
}

static Scene *load_text(const char *text, const char *keyframe) {
  char path[200];
  const char *name = path;
  SceneError error = {""};
  snprintf(path, sizeof path, "%s/robot-%d.xml", ABD_BINARY, (int)getpid());
  FILE *out = fopen(path, "wb");
  assert_non_null(out);
  fputs(text, out);
  fclose(out);
  Scene *s = scene_load(&name, 1, &(SceneOptions){.keyframe = keyframe}, &error);
  unlink(path);
  if (!s) fail_msg("%s", error.text);
  return s;
}

/* Controls are clamped to their range, those of a keyframe and those of the start. */
static void test_mjcf_control_range(void **state) {
  (void)state;
#define LINK(name, y)                                                                                                  \
  "<body pos='0 " #y " 0'><joint name='" #name "' axis='0 0 1' range='-90 90'/><geom size='.1' pos='.5 0 0'/></body>"
#define ROBOT(compiler)                                                                                                \
  "<mujoco>" compiler "<worldbody>" LINK(a, 0) LINK(b, 1) LINK(c, 2) LINK(d, 3)                                        \
      LINK(e, 4) "</worldbody>"                                                                                        \
                 "<actuator><position joint='a' kp='20' ctrlrange='-.2 .3'/>"                                          \
                 "<position joint='b' kp='20' ctrlrange='-.2 .3' ctrllimited='false'/>"                                \
                 "<motor joint='c' gear='2' ctrlrange='.5 1' ctrllimited='true'/><position joint='d' kp='20' "         \
                 "inheritrange='.5'/>"                                                                                 \
                 "<position joint='e' kp='20' ctrlrange='.1 .3' ctrllimited='true'/></actuator>"                       \
                 "<keyframe><key name='x' ctrl='1 1 3 -1 .2'/></keyframe></mujoco>"
  Scene *s = load_text(ROBOT(""), "x");
  near(joint(s, "a")->drive.target, 0.3, 1e-12, "clamped to the upper end");
  near(joint(s, "b")->drive.target, 1, 1e-12, "not limited");
  near(joint(s, "c")->drive.target, 2, 1e-12, "gear times the upper end");
  near(joint(s, "d")->drive.target, -45 * degree, 1e-12, "clamped to half the joint's range");
  near(joint(s, "e")->drive.target, 0.2, 1e-12, "within the range");
  has_note(s, ".xml:1: the control 1 is outside of ctrlrange; 0.3 is used");
  scene_destroy(s);
  s = load_text(ROBOT(""), NULL);
  near(joint(s, "a")->drive.target, 0, 0, "at rest at the start");
  near(joint(s, "c")->drive.target, 1, 1e-12, "gear times the lower end");
  near(joint(s, "e")->drive.target, 0.1, 1e-12, "the control at rest is outside");
  scene_destroy(s);
  s = load_text(ROBOT("<compiler autolimits='false'/>"), "x");
  near(joint(s, "a")->drive.target, 1, 1e-12, "no range without autolimits");
  near(joint(s, "c")->drive.target, 2, 1e-12, "ctrllimited");
  scene_destroy(s);
}

/* What is not supported is left out with a note that has its line; what two sites connect is a ball. */
static void test_mjcf_unsupported(void **state) {
  (void)state;
  static const char *const text =
      "<mujoco><worldbody><geom type='hfield'/>\n<body name='a'><joint name='i'/><geom size='.1'/>"
      "<site name='s' pos='1 0 0'/></body>\n<body name='b' pos='1 0 0'><joint name='j'/><geom size='.1'/>"
      "<site name='t'/></body>\n<body name='c' pos='0 2 0'><joint name='k'/><geom size='.1'/></body></worldbody>\n"
      "<equality><joint joint1='i' joint2='k' polycoef='0 1 2'/>\n<connect site1='s' site2='t'/></equality>\n"
      "<tendon><fixed name='T'><joint joint='i' coef='1'/><joint joint='j' coef='1'/><joint joint='k' "
      "coef='1'/></fixed>"
      "<spatial name='S'/></tendon>\n<actuator><muscle joint='i'/>\n<position tendon='T'/>\n"
      "<general joint='i' dyntype='integrator'/>\n<position joint='k' kp='2'/></actuator>"
      "<keyframe><key name='x' ctrl='1 2 3 4'/></keyframe></mujoco>";
  Scene *s = load_text(text, "x");
  has_note(s, ".xml:1: geometry of type hfield");
  has_note(s, ".xml:5: this equality is not supported");
  has_note(s, ".xml:7: a fixed tendon of more than two joints");
  has_note(s, ".xml:9: this actuator is not supported");
  has_note(s, ".xml:10: this actuator is not supported");
  has_note(s, "<spatial>");
  has_note(s, "<muscle>");
  near(joint(s, "k")->drive.target, 4, 1e-12, "the fourth control");
  assert_int_equal(joint(s, "constraint 1")->kind, ABD_JOINT_BALL);
  near(joint(s, "constraint 1")->point[0], 1, 1e-12, "where the sites are");
  scene_destroy(s);
}

/* ---- scenes ---- */

static void test_include(void **state) {
  (void)state;
  static const char *const text =
      "{\"version\": 1, \"bodies\": [{\"name\": \"box\", \"shape\": \"box\", \"position\": [5, 0, 0]}],"
      " \"include\": [{\"urdf\": \"arm.urdf\", \"prefix\": \"l/\", \"position\": [0, 1, 0]},"
      " {\"urdf\": \"arm.urdf\", \"position\": [0, -1, 0], \"euler_degrees\": [0, 0, 90], \"hold\": true}]}";
  SceneError error = {""};
  Scene *s = scene_parse(text, strlen(text), ROBOTS "s.json", NULL, &error);
  if (!s) fail_msg("%s", error.text);
  assert_int_equal(s->body_count, 11);
  near(body(s, "l/tool")->def.position[1], 1, 1e-15, "place of the first");
  near(body(s, "tool")->def.position[1], -1, 1e-15, "place of the second");
  near(joint(s, "l/shoulder")->axis[1], 1, 1e-15, "axis of the first");
  near(joint(s, "shoulder")->axis[0], -1, 1e-15, "axis of the second, turned");
  assert_int_equal(joint(s, "l/shoulder")->drive.kind, ABD_DRIVE_NONE);
  scene_destroy(s);
  static const char *const wrong[][2] = {{"{\"urdf\": \"no.urdf\"}", "no file \"no.urdf\""},
                                         {"{\"urdf\": 1}", "a file name"},
                                         {"{\"base\": \"free\"}", "expected \"urdf\" or \"mjcf\""},
                                         {"{\"urdf\": \"arm.urdf\", \"bass\": \"free\"}", "did you mean \"base\""}};
  for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
    char scene[300];
    snprintf(scene, sizeof scene, "{\"version\": 1, \"include\": %s}", wrong[k][0]);
    s = scene_parse(scene, strlen(scene), ROBOTS "s.json", NULL, &error);
    assert_null(s);
    if (!strstr(error.text, wrong[k][1])) fail_msg("\"%s\" does not say \"%s\"", error.text, wrong[k][1]);
  }
}

static void count_note(const char *text, void *user) {
  assert_true(text[0] != 0);
  ++*(int *)user;
}

/* The scene written from a robot builds the same world as the robot. */
static void test_from(void **state) {
  (void)state;
  SceneError error = {""};
  int notes = 0;
  char *text = scene_from_robot(ROBOTS "arm.urdf", ROBOTS, NULL, count_note, &notes, &error);
  if (!text) fail_msg("%s", error.text);
  assert_true(notes > 2);
  assert_non_null(strstr(text, "\"mesh\": \"meshes/plate.obj\""));
  Scene *a = scene_parse(text, strlen(text), ROBOTS "s.json", NULL, &error), *b = load(ROBOTS "arm.urdf", NULL);
  if (!a) fail_msg("%s", error.text);
  size_t a_length, b_length;
  const char *x = scene_text(a, &a_length), *y = scene_text(b, &b_length);
  assert_int_equal(a_length, b_length);
  assert_memory_equal(x, y, a_length);
  scene_destroy(a);
  scene_destroy(b);
  free(text);
}

/* ---- what scenes gained for robots ---- */

/* A torque on q + r p of two free wheels turns both: T / I and r T / J. Turns are counted beyond half a turn. */
static void test_sum(void **state) {
  (void)state;
  static const char *const text =
      "{\"version\": 1, \"dt\": 0.01, \"gravity\": [0, 0, 0], \"bodies\": [{\"name\": \"a\", \"shape\": \"cylinder\","
      " \"mass\": 2, \"inertia\": [1, 1, 1.5]}, {\"name\": \"b\", \"shape\": \"cylinder\", \"position\": [3, 0, 0],"
      " \"mass\": 2, \"inertia\": [1, 1, 0.5]}], \"joints\": [{\"name\": \"q\", \"type\": \"hinge\", \"bodies\": "
      "[\"a\"],"
      " \"point\": [0, 0, 0], \"axis\": [0, 0, 1]}, {\"name\": \"p\", \"type\": \"hinge\", \"bodies\": [\"b\"],"
      " \"point\": [3, 0, 0], \"axis\": [0, 0, 1]}, {\"name\": \"s\", \"type\": \"sum\", \"joints\": [\"q\", \"p\"],"
      " \"ratio\": -2}], \"drives\": [{\"joint\": \"s\", \"type\": \"torque\", \"value\": 1.5}]}";
  SceneError error = {""};
  Scene *s = scene_parse(text, strlen(text), "s.json", NULL, &error);
  if (!s) fail_msg("%s", error.text);
  AbdWorld *world = scene_build(s, 1, &error);
  assert_non_null(world);
  AbdStepReport report;
  for (int k = 0; k < 200; k++) assert_int_equal(abd_world_step(world, &report), ABD_OK);
  AbdJointReading q, p, sum;
  abd_joint_reading(world, (AbdJointId){1}, &q);
  abd_joint_reading(world, (AbdJointId){2}, &p);
  abd_joint_reading(world, (AbdJointId){3}, &sum);
  near(q.rate, 2 * 1.5 / 1.5, 1e-3, "rate of the first");
  near(p.rate, -2 * 2 * 1.5 / 0.5, 1e-3, "rate of the second");
  near(sum.position, q.position - 2 * p.position, 1e-9, "sum; the second has turned three times");
  near(sum.rate, q.rate - 2 * p.rate, 1e-9, "its rate");
  near(sum.effort, 1.5, 1e-12, "effort");
  abd_world_destroy(world);
  scene_destroy(s);
}

/* A servo on a sum with a limit: the sum stays below it, and the joints share the way. */
static void test_sum_servo(void **state) {
  (void)state;
  static const char *const text =
      "{\"version\": 1, \"dt\": 0.01, \"gravity\": [0, 0, 0], \"bodies\": [{\"name\": \"a\", \"shape\": \"box\"},"
      " {\"name\": \"b\", \"shape\": \"box\", \"position\": [3, 0, 0]}], \"joints\": [{\"name\": \"q\", \"type\": "
      "\"slider\","
      " \"bodies\": [\"a\"], \"point\": [0, 0, 0], \"axis\": [0, 0, 1]}, {\"name\": \"p\", \"type\": \"slider\","
      " \"bodies\": [\"b\"], \"point\": [3, 0, 0], \"axis\": [0, 0, 1]}, {\"name\": \"s\", \"type\": \"sum\","
      " \"joints\": [\"q\", \"p\"], \"ratio\": 1, \"limits\": [-0.1, 0.2], \"damping\": 100}], \"drives\": "
      "[{\"joint\": \"s\","
      " \"type\": \"position\", \"value\": 5, \"stiffness\": 1e4, \"damping\": 1e3, \"max\": 2000}]}";
  SceneError error = {""};
  Scene *s = scene_parse(text, strlen(text), "s.json", NULL, &error);
  if (!s) fail_msg("%s", error.text);
  AbdWorld *world = scene_build(s, 1, &error);
  AbdStepReport report;
  AbdJointReading q, p, sum;
  for (int k = 0; k < 200; k++) {
    assert_int_equal(abd_world_step(world, &report), ABD_OK);
    assert_int_equal(report.outcome, ABD_CONVERGED);
    abd_joint_reading(world, (AbdJointId){3}, &sum);
    assert_true(sum.position < 0.2);
  }
  abd_joint_reading(world, (AbdJointId){1}, &q);
  abd_joint_reading(world, (AbdJointId){2}, &p);
  assert_true(sum.position > 0.19);
  near(q.position, p.position, 1e-6, "equal masses");
  near(sum.effort, 2000, 1e-9, "the servo pushes with its maximum");
  near(sum.passive, -2000, 1, "the stop bears it");
  abd_world_destroy(world);
  scene_destroy(s);
  static const char *const nested = "{\"version\": 1, \"bodies\": [{\"name\": \"a\", \"shape\": \"box\"}], \"joints\": "
                                    "[{\"name\": \"q\", \"type\": \"hinge\","
                                    " \"bodies\": [\"a\"], \"point\": [0, 0, 0], \"axis\": [0, 0, 1]}, {\"name\": "
                                    "\"p\", \"type\": \"angle\", \"free\": true,"
                                    " \"bodies\": [\"a\"], \"axis\": [0, 0, 1]}, {\"name\": \"s\", \"type\": \"sum\", "
                                    "\"joints\": [\"q\", \"p\"], \"ratio\": 1},"
                                    " {\"type\": \"sum\", \"joints\": [\"q\", \"s\"], \"ratio\": 1}]}";
  assert_null(scene_parse(nested, strlen(nested), "s.json", NULL, &error));
  assert_non_null(strstr(error.text, "\"s\" is a sum"));
}

static void test_parts_and_collide(void **state) {
  (void)state;
  static const char *const text =
      "{\"version\": 1, \"bodies\": [{\"name\": \"a\", \"parts\": [{\"shape\": \"box\"},"
      " {\"shape\": \"ellipsoid\", \"size\": [2, 4, 6], \"position\": [10, 0, 0], \"euler_degrees\": [0, 0, 90]}]},"
      " {\"name\": \"b\", \"shape\": \"box\", \"collide\": false}, {\"name\": \"c\", \"shape\": \"box\", \"position\": "
      "[3, 0, 0]}]}";
  SceneError error = {""};
  Scene *s = scene_parse(text, strlen(text), "s.json", NULL, &error);
  if (!s) fail_msg("%s", error.text);
  const MeshData *mesh = &s->mesh[s->body[0].mesh].data;
  double low[3] = {9, 9, 9}, high[3] = {-9, -9, -9};
  for (size_t i = 0; i < 3 * mesh->vertex_count; i++) {
    low[i % 3] = fmin(low[i % 3], mesh->vertex[i]), high[i % 3] = fmax(high[i % 3], mesh->vertex[i]);
  }
  near(high[0], 12, 1e-9, "the ellipsoid, turned: its second axis along x");
  near(low[0], -0.5, 1e-12, "the box");
  AbdWorld *world = scene_build(s, 1, &error);
  assert_non_null(world);
  AbdBodyId a = {1}, b = {2}, c = {3}, pair[3][2];
  assert_false(abd_world_pair_collides(world, a, b));
  assert_false(abd_world_pair_collides(world, b, c));
  assert_true(abd_world_pair_collides(world, a, c));
  assert_int_equal(abd_world_excluded_pairs(world, pair, 3), 2);
  assert_int_equal(abd_world_start(world), ABD_OK); /* a and b overlap */
  size_t length;
  const char *again = scene_text(s, &length);
  assert_non_null(strstr(again, "\"collide\": false"));
  abd_world_destroy(world);
  scene_destroy(s);
}

int main(void) {
#ifndef ABD_HAVE_EXPAT
  print_message("skipped: this build has no expat\n");
  return 0;
#endif
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_urdf_arm),
      cmocka_unit_test(test_urdf_start),
      cmocka_unit_test(test_urdf_geometry),
      cmocka_unit_test(test_mjcf_visual_friction),
      cmocka_unit_test(test_urdf_hold_and_base),
      cmocka_unit_test(test_urdf_errors),
      cmocka_unit_test(test_include),
      cmocka_unit_test(test_mjcf_bodies),
      cmocka_unit_test(test_mjcf_joints),
      cmocka_unit_test(test_mjcf_drives),
      cmocka_unit_test(test_mjcf_keyframe),
      cmocka_unit_test(test_mjcf_errors),
      cmocka_unit_test(test_mjcf_control_range),
      cmocka_unit_test(test_mjcf_unsupported),
      cmocka_unit_test(test_from),
      cmocka_unit_test(test_parts_and_collide),
      cmocka_unit_test(test_sum),
      cmocka_unit_test(test_sum_servo),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
