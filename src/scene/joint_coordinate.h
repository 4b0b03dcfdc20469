/* Which number a joint has as its coordinate: what is read, limited, sprung and driven. Tests: tests/test_scene_joint.c. */
#ifndef ABD_SCENE_JOINT_COORDINATE_H
#define ABD_SCENE_JOINT_COORDINATE_H

#include "abd/abd.h"

typedef enum JointCoordinate { COORDINATE_NONE, COORDINATE_ANGLE, COORDINATE_TRAVEL, COORDINATE_DISTANCE } JointCoordinate;

JointCoordinate joint_coordinate(AbdJointKind kind);
const char *joint_coordinate_name(JointCoordinate coordinate); /* "angle"; NULL where there is none */
/* Whether the coordinate can change: not that of a distance, nor an angle that is held. */
bool joint_moves(const AbdJointDef *def);

#endif
