/* The rows of joint_kind.h as an array. Tested in tests/test_vocabulary.c. */
#include "model/joint_kind.h"

#define ROW(KIND, NAME, COORDINATE, ANGLE, TRAVEL, TAKES, KEEPS, ROWS, SENTENCE)                                       \
  [ABD_JOINT_##KIND] = {{NAME, ABD_COORDINATE_##COORDINATE, ANGLE, TRAVEL, TAKES, SENTENCE}, KEEPS, ROWS},
static const JointKind kinds[ABD_JOINT_KIND_COUNT] = {JOINT_KINDS(ROW)};
#undef ROW

#define ONE(...) +1
_Static_assert(JOINT_KINDS(ONE) == ABD_JOINT_KIND_COUNT, "every joint kind has one row");
#undef ONE

const JointKind *joint_kind(AbdJointKind kind) { return &kinds[kind]; }
