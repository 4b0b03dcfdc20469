/* The table of joint kinds: name, coordinate, the fields of AbdJointDef that a kind uses, the equations that it adds.
 *
 * A joint is a sum of elementary constraints. KEEPS_POINT, KEEPS_AXIS and KEEPS_ORIENTATION are linear in the poses
 * between any two bodies. KEEPS_LINE (2 equations) and KEEPS_PLANE (1 equation) are linear if the line or plane is
 * fixed in the world; between two moving bodies they are not. The last number counts further nonlinear equations,
 * which src/step/joint.c defines for the kind. Tested in tests/test_joint.c and tests/test_vocabulary.c. */
#ifndef ABD_MODEL_JOINT_KIND_H
#define ABD_MODEL_JOINT_KIND_H

#include "base/base.h"

enum {
  KEEPS_POINT = 1,       /* the anchors of a and b coincide */
  KEEPS_AXIS = 2,        /* the axes of a and b stay parallel */
  KEEPS_ORIENTATION = 4, /* all three directions stay parallel */
  KEEPS_LINE = 8,        /* the anchor of a stays on the line (anchor, axis) of b */
  KEEPS_PLANE = 16       /* the anchor of a stays in the plane (anchor, normal axis) of b */
};

enum {
  JOINT_AT_POINT = ABD_JOINT_TAKES_BODIES | ABD_JOINT_NEEDS_POINT,
  JOINT_ON_AXIS = JOINT_AT_POINT | ABD_JOINT_TAKES_AXIS,
  JOINT_MOVES = JOINT_ON_AXIS | ABD_JOINT_TAKES_COORDINATE,
  JOINT_TWO_POINTS = JOINT_AT_POINT | ABD_JOINT_NEEDS_POINT_B | ABD_JOINT_TAKES_LENGTH
};

/* X(KIND, name, COORDINATE, has angle, has travel, takes, keeps, further rows, sentence) */
#define JOINT_KINDS(X)                                                                                                 \
  X(WELD, "weld", NONE, 0, 0, ABD_JOINT_TAKES_BODIES, KEEPS_POINT | KEEPS_ORIENTATION, 0, "everything")                \
  X(BALL, "ball", NONE, 0, 0, JOINT_AT_POINT, KEEPS_POINT, 0, "a common point")                                        \
  X(HINGE, "hinge", ANGLE, 1, 0, JOINT_MOVES, KEEPS_POINT | KEEPS_AXIS, 0, "a common axis, no travel along it")        \
  X(ORIENTATION, "orientation", NONE, 0, 0, ABD_JOINT_TAKES_BODIES, KEEPS_ORIENTATION, 0, "the relative orientation")  \
  X(LINE, "line", TRAVEL, 0, 1, JOINT_MOVES, KEEPS_LINE, 0, "a's point on the line along `axis`, fixed in b")          \
  X(PLANE, "plane", NONE, 0, 0, JOINT_ON_AXIS, KEEPS_PLANE, 0,                                                         \
    "a's point in the plane at right angles to `axis`, fixed in b")                                                    \
  X(SLIDER, "slider", TRAVEL, 0, 1, JOINT_MOVES, KEEPS_ORIENTATION | KEEPS_LINE, 0,                                    \
    "everything but travel along `axis`")                                                                              \
  X(CYLINDRICAL, "cylindrical", TRAVEL, 1, 1, JOINT_MOVES | ABD_JOINT_TAKES_ANGLE_LIMIT, KEEPS_AXIS | KEEPS_LINE, 0,   \
    "everything but travel along and rotation about `axis`")                                                           \
  X(PLANAR, "planar", ANGLE, 1, 0, JOINT_MOVES, KEEPS_AXIS | KEEPS_PLANE, 0,                                           \
    "everything but motion in the plane at right angles to `axis` and rotation about it")                              \
  X(UNIVERSAL, "universal", NONE, 0, 0, JOINT_ON_AXIS | ABD_JOINT_TAKES_AXIS_B, KEEPS_POINT, 1,                        \
    "a common point, and `axis`, fixed in a, at right angles to `axis_b`, fixed in b")                                 \
  X(DISTANCE, "distance", DISTANCE, 0, 0, JOINT_TWO_POINTS, 0, 1, "the distance of `point` and `point_b`")             \
  X(ROPE, "rope", DISTANCE, 0, 0, JOINT_TWO_POINTS | ABD_JOINT_TAKES_COORDINATE, 0, 0,                                 \
    "the distance of `point` and `point_b` below `length`")                                                            \
  X(SCREW, "screw", ANGLE, 1, 1, JOINT_MOVES | ABD_JOINT_TAKES_PITCH, KEEPS_AXIS | KEEPS_LINE, 1,                      \
    "the same as cylindrical, and `pitch` metres of travel a turn")                                                    \
  X(ANGLE, "angle", ANGLE, 1, 0,                                                                                       \
    ABD_JOINT_TAKES_BODIES | ABD_JOINT_TAKES_AXIS | ABD_JOINT_TAKES_COORDINATE | ABD_JOINT_TAKES_FREE, 0, 1,           \
    "the angle about `axis`; nothing if `free` is true")                                                               \
  X(GEAR, "gear", NONE, 0, 0, ABD_JOINT_TAKES_JOINTS | ABD_JOINT_TAKES_RATIO, 0, 1,                                    \
    "the second joint's coordinate equal to `ratio` times the first's, from the start")                                \
  X(SUM, "sum", ANGLE, 0, 0, ABD_JOINT_TAKES_JOINTS | ABD_JOINT_TAKES_RATIO | ABD_JOINT_TAKES_COORDINATE, 0, 0,        \
    "nothing; its coordinate is the first joint's plus `ratio` times the second's")

typedef struct JointKind {
  AbdJointKindView view;
  int keeps; /* KEEPS_* bits */
  int rows;  /* further nonlinear equations */
} JointKind;

/* The row of a kind below ABD_JOINT_KIND_COUNT. */
const JointKind *joint_kind(AbdJointKind kind);

#endif
