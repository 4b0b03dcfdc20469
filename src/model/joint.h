/* Joints as compiled from their defs: anchors and axes in the rest frames of the two bodies, the linear and the other
 * equations, and the coordinate that limits and drives act on.
 *
 * A static body is treated as the world: body = -1, with anchor and frame in world coordinates. Tested in
 * tests/test_joint.c. */
#ifndef ABD_MODEL_JOINT_H
#define ABD_MODEL_JOINT_H

#include "base/base.h"
#include "math/vec.h"

enum { JOINT_ROWS = 3 }; /* most equations of one joint that are not linear */

typedef struct JointEnd {
  int body;    /* -1 = the world */
  Vec3 anchor; /* rest coordinates */
  Mat3 frame;  /* rest directions: two normals, then the axis; orthonormal in the world at the start */
} JointEnd;

typedef struct Joint {
  uint32_t id; /* ascending, never reused */
  char *name;
  AbdJointDef def; /* with ids as given */
  JointEnd end[2];
  int partner[2]; /* gear, sum: the joints it couples, else -1 */
  AbdCoordinate coordinate;
  int row_count; /* equations that are not linear */
  bool has_angle, has_travel;
  double arm;    /* [m] length of one radian: a radius of its bodies */
  double mass;   /* [kg] the heavier of its dynamic bodies */
  double length; /* distance, rope [m] */
  double start;  /* the coordinate's raw value at the start; travel and distance are relative to it */
} Joint;

/* How much stiffer a barrier had to become, see contact/law.h. */
typedef struct Stiffening {
  double factor; /* >= 1 */
  double last;   /* the factor with which the last step ended */
  double gap;    /* [range] at which the factor last grew, while it is tight; else 1 */
} Stiffening;

/* The state of a joint from step to step. */
typedef struct JointState {
  double angle;             /* unwrapped */
  double force[JOINT_ROWS]; /* [N] of the equations that are not linear */
  double stick;             /* offset of the sticking point of dry friction from the coordinate */
  double hold;              /* [N m or N] effort of a speed drive at its target speed */
  Stiffening stiffening;    /* of the stops' barriers */
  double owed;              /* [J] its share of what later steps correct, see step/cluster.h */
  AbdDrive drive;
} JointState;

/* A linear equation in the poses: sum of weight[e][k] node_k(end e) = 0 in the world's three axes. If direction is not
 * zero, it applies only along direction, to one end, with a constant right-hand side. */
typedef struct LinearRow {
  double weight[2][4];
  Vec3 direction;
} LinearRow;
enum { JOINT_LINEAR_ROWS = 6 };
int joint_linear_rows(const Joint *joint, LinearRow row[JOINT_LINEAR_ROWS]);

bool joint_limits_angle(const Joint *joint);
/* Does something act on its coordinate that depends on where it is? A given effort does not. */
bool joint_minds_position(const Joint *joint, const JointState *state);
/* Does the joint have a limit, a force, a drive or an equation that is not linear? */
bool joint_acts(const Joint *joint, const JointState *state);

#endif
