/* The frame in which rigid-IPC writes kinematic poses: centre of mass and principal axes, ascending moments, right-
 * handed. If moments are equal or the sign of an axis is open, the frame nearest to the world's axes at the start is
 * used (rigid-IPC's depends on its eigenvalue routine). Tests: tests/test_scene.c. */
#ifndef ABD_SCENE_PRINCIPAL_FRAME_H
#define ABD_SCENE_PRINCIPAL_FRAME_H

#include "scene/scene_def.h"

typedef struct PrincipalFrame {
  double centre[3]; /* of mass, in the mesh's coordinates */
  double axes[4];   /* quaternion: principal to mesh coordinates */
} PrincipalFrame;

/* rotation: the body's pose at the start. */
bool principal_frame_of(const SceneMesh *mesh, const double rotation[4], PrincipalFrame *frame, SceneError *error);
/* From the pose of the frame to that of the mesh's origin. */
void principal_frame_to_origin(const PrincipalFrame *frame, const double centre[3], const double rotation[4],
                               double origin_position[3], double origin_rotation[4]);

#endif
