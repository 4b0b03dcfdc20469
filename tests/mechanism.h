/* Mechanisms for tests: joints by kind, bars in the x-z plane, readings and the largest gap. */
#ifndef TESTS_MECHANISM_H
#define TESTS_MECHANISM_H

#include "lab.h"

static const double pi = 3.14159265358979323846;
static const double gravity = 9.81;

static inline AbdWorldDef world_def(double dt) {
  AbdWorldDef def = abd_default_world_def();
  def.dt = dt;
  return def;
}

static inline AbdJointDef joint_def(AbdJointKind kind, AbdBodyId a, AbdBodyId b, Vec3 point, Vec3 axis) {
  AbdJointDef def = abd_default_joint_def();
  def.kind = kind;
  def.body_a = a;
  def.body_b = b;
  vec3_to(def.point, point);
  vec3_to(def.axis, axis);
  return def;
}

static inline AbdJointId lab_joint(Lab *lab, const AbdJointDef *def) {
  AbdJointId id;
  lab_expect_ok(lab, abd_world_add_joint(lab->world, def, &id));
  return id;
}

static inline AbdJointId lab_join(Lab *lab, AbdJointKind kind, AbdBodyId a, AbdBodyId b, Vec3 point, Vec3 axis) {
  AbdJointDef def = joint_def(kind, a, b, point, axis);
  return lab_joint(lab, &def);
}

static inline AbdJointReading lab_read(const Lab *lab, AbdJointId joint) {
  AbdJointReading reading;
  lab_expect_ok(lab, abd_joint_reading(lab->world, joint, &reading));
  return reading;
}

static const AbdBodyId world_body = {0};
static const Vec3 y_axis = {0, 1, 0};

/* A bar of length l in the x-z plane whose first end is at start, at an angle to the downward vertical. */
static inline AbdBodyId add_bar(Lab *lab, AbdMeshId mesh, double l, Vec3 start, double angle) {
  Vec3 along = vec3(sin(angle), 0, -cos(angle));
  AbdBodyDef def = lab_at(mesh, add_scaled(start, 0.5 * l, along));
  lab_turn(&def, y_axis, -angle); /* the mesh's long side is z */
  return lab_body_def(lab, &def);
}

/* Largest residual of any joint. */
static inline double worst_gap(const Lab *lab) {
  double worst = 0;
  for (uint32_t j = 1; j <= abd_world_joint_count(lab->world); j++)
    worst = fmax(worst, lab_read(lab, (AbdJointId){j}).residual);
  return worst;
}

#endif
