/* Robots: URDF and MJCF files become a scene in abd's own format, as JSON in memory (docs/robots.md).
 *
 * A file is read into one description for both formats (tree.h), the start pose is found (start.h), and the scene is
 * written from it (emit.c). Needs expat. Includes nothing of the library. Tested in tests/test_robot.c. */
#ifndef ABD_ROBOT_H
#define ABD_ROBOT_H

#include <jansson.h>

#include "robot/xml.h"

typedef enum RobotFormat { ROBOT_URDF, ROBOT_MJCF } RobotFormat;
typedef enum RobotGeometry { ROBOT_COLLISION, ROBOT_VISUAL } RobotGeometry;
typedef enum RobotBase { ROBOT_BASE_AUTO, ROBOT_BASE_FIXED, ROBOT_BASE_FREE } RobotBase;

typedef struct RobotOptions {
  RobotGeometry geometry;
  RobotBase base;                  /* AUTO: URDF fixed, MJCF as the file says */
  const char *keyframe;            /* MJCF: the start; NULL = the reference pose */
  const char *prefix;              /* of all names; NULL = none */
  const char *mesh_dir;            /* the last folder in which meshes are searched; NULL = none */
  bool hold;                       /* joints without an actuator have a servo that holds the start */
  double position[3], rotation[4]; /* of the whole robot; quaternion w x y z */
} RobotOptions;

RobotOptions robot_default_options(void);
bool robot_knows(const char *path); /* .urdf, .xml, .mjcf */
RobotFormat robot_format(const char *path);
/* The scene, or NULL after an error. notes: a JSON array to which remarks are appended as strings. Mesh files have
 * absolute paths. The scene's settings ("dt", "gravity") are those of the file. */
json_t *robot_read(const char *path, RobotFormat format, const RobotOptions *options, json_t *notes, RobotError *error);
/* The same of bytes in memory; path is used in messages and for relative files. */
json_t *robot_parse(const char *bytes, size_t length, const char *path, RobotFormat format, const RobotOptions *options,
                    json_t *notes, RobotError *error);

#endif
