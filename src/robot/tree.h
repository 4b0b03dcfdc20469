/* What URDF and MJCF have in common: links with geometry and mass, joints, couplings of joints, drives. Lengths are
 * metres, angles radians. Positions of joints (q) are those of the file: 0, or MJCF's ref, is the pose in which the
 * file writes the links. */
#ifndef ABD_ROBOT_TREE_H
#define ABD_ROBOT_TREE_H

#include "robot/pose.h"
#include "robot/robot.h"

typedef enum GeomKind {
  GEOM_BOX,       /* size: full edges */
  GEOM_SPHERE,    /* size: radius */
  GEOM_CYLINDER,  /* size: radius, height, along z */
  GEOM_CAPSULE,   /* size: radius, height without the caps, along z */
  GEOM_ELLIPSOID, /* size: full axes */
  GEOM_MESH,      /* size: scale */
  GEOM_PLANE      /* z is the normal */
} GeomKind;

typedef struct Geom {
  GeomKind kind;
  Pose at; /* in the link */
  double size[3];
  char *file; /* of a mesh: the path that was found */
  char color[8];
  bool visual;             /* not for contact */
  unsigned type, affinity; /* MJCF's contact bits */
  double friction;         /* negative = not given */
  double density, mass;    /* mass: negative = density times volume */
  Xml *xml;
} Geom;

typedef enum JointKind { JOINT_FIXED, JOINT_HINGE, JOINT_SLIDE, JOINT_BALL, JOINT_PLANAR, JOINT_FREE } RobotJointKind;

/* How a link moves against its parent. */
typedef struct RobotJoint {
  char *name;
  RobotJointKind kind;
  int link;
  double point[3], axis[3]; /* in the link */
  bool limited;
  double range[2];
  double stiffness, rest, damping, friction, armature, effort; /* effort: 0 = not given */
  double reference;                                            /* q of the file's pose */
  double q;                                                    /* q at the start */
  double turn[9];                                              /* ball: rotation at the start */
  Pose base;                                                   /* free: the pose at the start, if has_base */
  bool has_base;
  int qpos; /* MJCF: its place in qpos */
  Xml *xml;
} RobotJoint;

typedef struct Link {
  char *name;
  int parent; /* -1: the world */
  Pose at;    /* in the parent, at the reference */
  int joint;  /* -1: fixed to the parent */
  Geom *geom;
  size_t geom_count;
  bool carries; /* a light link between two joints of one body */
  bool has_mass, has_inertia;
  double mass, center[3], inertia[6]; /* about the centre, along the link's axes */
  double density;                     /* positive: the scene computes the mass from the geometry */
  Pose reference, start;              /* in the world; the reference: at all joints' references */
  Xml *xml;
} Link;

typedef enum CouplingKind { COUPLE_CONNECT, COUPLE_WELD, COUPLE_JOINTS } CouplingKind;

typedef struct Coupling {
  char *name;
  CouplingKind kind;
  int link[2]; /* -1: the world */
  double anchor[2][3];
  Pose pose;    /* weld: of the second link in the first */
  int joint[2]; /* q0 = offset + ratio q1 */
  double offset, ratio;
  Xml *xml;
} Coupling;

/* length = sum of coefficient q */
typedef struct Tendon {
  char *name;
  int joint[2], count;
  double coefficient[2];
  bool limited;
  double range[2], stiffness, rest, damping, friction;
  Xml *xml;
} Tendon;

/* force = clamp(gain clamp(control) + bias[0] + bias[1] length + bias[2] rate) gear, length and rate those of gear q */
typedef struct Actuator {
  char *name;
  int joint, tendon;                /* one is -1 */
  int place;                        /* in MJCF's ctrl */
  double gear, gain, bias[3], most; /* most: of the force, infinite */
  double control;                   /* NAN: at rest at the start, as far as the range allows */
  double control_range[2];          /* -infinite and infinite without a limit */
  double damping_ratio;             /* 0: bias[2] is given */
  Xml *xml;
} Actuator;

typedef struct LinkPair {
  int a, b;
} LinkPair;

typedef struct Robot {
  char *name;
  Link *link;
  size_t link_count;
  RobotJoint *joint;
  size_t joint_count;
  Coupling *coupling;
  size_t coupling_count;
  Tendon *tendon;
  size_t tendon_count;
  Actuator *actuator;
  size_t actuator_count;
  LinkPair *exclude;
  size_t exclude_count;
  double dt, gravity[3]; /* dt 0: not given */
  bool has_gravity;
  const RobotOptions *options;
  json_t *notes;
  RobotError *error;
  char *path, *folder;
} Robot;

void robot_free(Robot *robot);
/* Appends one zeroed element; false and a sentence if memory is out. */
void *robot_add(Robot *robot, void *array_pointer, size_t *count, size_t size);
char *robot_copy(Robot *robot, const char *text); /* NULL and a sentence if memory is out */
void robot_note(Robot *robot, const char *format, ...) __attribute__((format(printf, 2, 3))); /* each text once */
int robot_find_link(const Robot *robot, const char *name);
int robot_find_joint(const Robot *robot, const char *name);
/* Names once per kind every element and attribute below top that nothing read. */
void robot_note_unused(Robot *robot, Xml *top);
/* Reads "R G B A" from 0 to 1 as "#rrggbb". */
bool robot_color(Robot *robot, Xml *node, const char *attribute, char color[8]);
/* Finds a mesh file: an absolute path, or relative to the folders; NULL after an error at the node. */
char *robot_mesh_file(Robot *robot, Xml *node, const char *name, const char *folder);
/* The pose of a rotation by roll, pitch, yaw about fixed axes. */
void mat_from_rpy(const double rpy[3], double r[9]);
/* Mass, centre and inertia of a link from those of its geometry that has a known volume. False if it has none, or a
 * mesh. */
bool robot_mass_of_geoms(const Link *link, double *mass, double center[3], double inertia[6]);

/* Changes an inertia that no mass has to the nearest possible one; true if it was changed. */
bool robot_mend_inertia(double inertia[6]);

/* The readers. */
bool urdf_read(Robot *robot, Xml *top);
bool mjcf_read(Robot *robot, Xml *top);
/* Finds the start from the joints' q: inside all limits, with all couplings closed. Places the links. */
bool start_find(Robot *robot);
/* The pose of a link in the world at the joints' q, or at their references; -1: the world. */
Pose start_pose(const Robot *robot, int link, bool reference);
/* The inertia that joint j moves at the references, with its armature. */
double start_inertia(const Robot *robot, int joint);
/* The scene, NULL after an error. */
json_t *emit_scene(Robot *robot);

#endif
