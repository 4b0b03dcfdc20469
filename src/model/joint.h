/* Joints as compiled from their defs: anchors and axes in the rest frames of the two bodies, which of their equations are
 * linear in the poses, which are not, and the coordinate that limits and drives act on.
 *
 * A static body counts as the world: body = -1, and the anchor and the frame are then the world's own. Tested in
 * tests/test_joint.c. */
#ifndef ABD_MODEL_JOINT_H
#define ABD_MODEL_JOINT_H

#include "base/base.h"
#include "math/vec.h"

enum { JOINT_ROWS = 3 }; /* the most equations of one joint that are not linear */

typedef struct JointEnd {
  int body;    /* -1: the world */
  Vec3 anchor; /* rest coordinates */
  Mat3 frame;  /* rest directions: two normals, then the axis; orthonormal in the world at the start */
} JointEnd;

typedef struct Joint {
  char *name;
  AbdJointDef def;
  JointEnd end[2];
  int partner[2]; /* gear: the joints it couples, else -1 */
  AbdCoordinate coordinate;
  int row_count; /* equations that are not linear */
  bool has_angle, has_travel;
  double arm;    /* [m] what a radian counts as: a radius of its bodies */
  double mass;   /* [kg] the heavier of its dynamic bodies */
  double length; /* distance, rope [m] */
  double start;  /* the coordinate's raw value at the start: travel and distance are counted from there */
} Joint;

/* What a joint remembers from step to step. */
typedef struct JointState {
  double angle;             /* unwrapped */
  double force[JOINT_ROWS]; /* [N] that keeps the equations that are not linear */
  double stick;             /* how far behind the coordinate dry friction sticks */
  double hold;              /* [N m or N] what a speed drive gives where the speed is right */
  double stiffening;        /* of the stops' barriers, >= 1 */
  AbdDrive drive;
} JointState;

/* An equation linear in the poses: sum of weight[e][k] node_k(end e) = 0 in the world's three axes, or only along direction
 * when that is not zero (then of one end alone, and a constant stands on the right). */
typedef struct LinearRow {
  double weight[2][4];
  Vec3 direction;
} LinearRow;
enum { JOINT_LINEAR_ROWS = 6 };
int joint_linear_rows(const Joint *joint, LinearRow row[JOINT_LINEAR_ROWS]);

/* Whether the joint keeps anything or acts on its coordinate during the steps. */
bool joint_acts(const Joint *joint, const JointState *state);

#endif
