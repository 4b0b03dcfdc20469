/* MJCF between its readers: classes and poses (mjcf_class.c), bodies (mjcf_body.c), constraints (mjcf_equality.c),
 * tendons and actuators (mjcf_actuator.c), the file (mjcf.c). */
#ifndef ABD_ROBOT_MJCF_H
#define ABD_ROBOT_MJCF_H

#include "robot/tree.h"

typedef struct Site {
  Xml *xml;
  int link;
  Pose at; /* in the link */
} Site;

typedef struct Mjcf {
  Robot *robot;
  Xml *top;
  double angle; /* radians per unit of the file */
  char sequence[4];
  bool autolimits, from_geoms, never_from_geoms;
  char *mesh_folder;
  Site *site;
  size_t site_count;
  int actuators; /* elements of <actuator>, unsupported ones too */
  json_t *known; /* "kind attribute" of all that were looked up, for the defaults that others hide */
  int qpos;      /* numbers of qpos that the joints so far take */
} Mjcf;

/* The element that gives an attribute its value: the node itself, or the element of the same kind in its class or in
 * one that contains it; the node if nothing does. inherited: the class of the bodies around it, may be NULL. */
Xml *mjcf_owner(Mjcf *m, Xml *node, const char *inherited, const char *attribute);
/* Marks the attributes of defaults that were looked up somewhere as used. */
void mjcf_use_defaults(Mjcf *m, Xml *top);
const char *mjcf_text(Mjcf *m, Xml *node, const char *inherited, const char *attribute);
bool mjcf_numbers(Mjcf *m, Xml *node, const char *inherited, const char *attribute, size_t least, size_t most,
                  double *value, size_t *given);
bool mjcf_number(Mjcf *m, Xml *node, const char *inherited, const char *attribute, double *value);
/* limited = auto: whether there is a range. */
bool mjcf_limited(Mjcf *m, Xml *node, const char *inherited, const char *attribute, bool has_range, bool *limited);
/* pos and one of quat, axisangle, euler, xyaxes, zaxis. */
bool mjcf_pose(Mjcf *m, Xml *node, const char *inherited, Pose *pose);
/* Checks that the class of a node exists. */
bool mjcf_check_class(Mjcf *m, Xml *node, const char *attribute);

bool mjcf_read_world(Mjcf *m, Xml *world);
void mjcf_find_masses(Mjcf *m); /* of bodies without <inertial>, when all are read */
/* A body by the name in an attribute: its link, -1 for the world; false after an error. */
bool mjcf_find_body(Mjcf *m, Xml *node, const char *attribute, int *link);
/* A hinge or slide joint by the name in an attribute; false after an error. */
bool mjcf_find_joint(Mjcf *m, Xml *node, const char *attribute, int *joint);
bool mjcf_read_equality(Mjcf *m, Xml *list);
bool mjcf_read_contact(Mjcf *m, Xml *list);
bool mjcf_read_tendons(Mjcf *m, Xml *list);
bool mjcf_read_actuators(Mjcf *m, Xml *list);

#endif
