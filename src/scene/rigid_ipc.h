/* rigid-IPC's format between its readers: the top level (rigid_ipc.c), one body (rigid_ipc_body.c) and the joints of
 * its dialects (rigid_ipc_joint.c). */
#ifndef ABD_SCENE_RIGID_IPC_H
#define ABD_SCENE_RIGID_IPC_H

#include "scene/loader.h"

typedef struct RigidIpc {
  Loader *loader;
  double timestep;  /* of the file: kinematic_poses has one pose per step */
  double stiffness; /* of every body: orthogonality_stiffness; negative = abd's own */
} RigidIpc;

/* Adds the bodies of one entry of rigid_bodies (more than one with split_components). */
bool rigid_ipc_read_body(const RigidIpc *file, const Node *node);
/* Adds the joints of linear_constraints, after the bodies. */
bool rigid_ipc_read_joints(const RigidIpc *file, const Node *problem);
/* Adds a note for each key of the list that the object has: it has no effect. names ends with NULL. */
void rigid_ipc_note_dead(const RigidIpc *file, const Node *object, const char *where, const char *const *names);

#endif
