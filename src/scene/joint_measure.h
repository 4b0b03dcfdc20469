/* Which number a joint has as its coordinate: what is read, limited, sprung and driven. Tests: tests/test_scene_joint.c. */
#ifndef ABD_SCENE_JOINT_MEASURE_H
#define ABD_SCENE_JOINT_MEASURE_H

#include "abd/abd.h"

typedef enum JointMeasure { MEASURE_NONE, MEASURE_ANGLE, MEASURE_TRAVEL, MEASURE_DISTANCE } JointMeasure;

JointMeasure joint_measure(AbdJointKind kind);
const char *joint_measure_name(JointMeasure measure); /* "angle"; NULL where there is none */
/* Whether the coordinate can change: not that of a distance, nor an angle that is held. */
bool joint_moves(const AbdJointDef *def);

#endif
