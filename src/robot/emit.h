/* A robot's scene while it is written: bodies (emit_body.c), joints (emit_joint.c), drives (emit_drive.c), the rest
 * (emit.c).
 *
 * Links that no joint moves against each other form a group. A group that the world carries is static. In any other
 * group one link with mass is the host: joints act on it, links of the group with mass are welded to it, and geometry
 * of links without mass is added to it. */
#ifndef ABD_ROBOT_EMIT_H
#define ABD_ROBOT_EMIT_H

#include "robot/tree.h"

enum { NO_BODY = -1 };

typedef struct Emit {
  Robot *robot;
  int *group;                /* the top link of the group of a link */
  int *host;                 /* of a group's top: its link with mass; NO_BODY for the world's groups */
  int *body;                 /* the link whose body has the geometry of this link; NO_BODY = none */
  bool *still;               /* of a group's top: the world carries it */
  bool *collides;            /* of a body's link */
  unsigned *type, *affinity; /* of a body's link: contact bits */
  double *damping;           /* of a joint: that of its velocity servos */
  char *driven, *pulled;     /* of a joint, of a tendon: 1 = has a drive */
  bool friction_noted;
  json_t *bodies, *joints, *drives, *exclude;
} Emit;

/* JSON values; names have the robot's prefix. */
json_t *emit_numbers(const double *value, size_t count);
void emit_put(json_t *object, const char *key, json_t *value); /* takes over value */
void emit_put_number(json_t *object, const char *key, double value);
void emit_put_pose(json_t *object, const Pose *pose);
json_t *emit_name(const Robot *robot, const char *name);
json_t *emit_link_name(const Robot *robot, int link);

/* Whether geometry for contact, or pictures, is among that of the links of a body. */
bool emit_body_has(const Emit *e, int body, bool visual);
bool emit_has_coordinate(const RobotJoint *j);

bool emit_bodies(Emit *e);
bool emit_joints(Emit *e);
void emit_add_damping(Emit *e); /* before the joints: velocity servos are their dampers */
void emit_tendons(Emit *e);
void emit_drives(Emit *e);

#endif
