/* Pulling a body by the mouse while it is simulated: a spring and a damper between a point of it and the pointer. Tested in
 * tests/view and by tests/cli/view.sh. */
#ifndef ABD_TOOL_DRAG_H
#define ABD_TOOL_DRAG_H

#include "scene/scene.h"

typedef struct Drag {
  uint32_t body;      /* 0: none */
  double point[3];    /* in rest coordinates of its mesh; of a soft body from its vertices' mean, as it is when it is taken */
  double target[3];   /* in the world */
} Drag;

/* What is held; begins as zeros. */
typedef struct Hold { uint32_t body; size_t *vertex, vertex_count; } Hold;

/* Sets the forces for the next step: the scene's, and the pull on top; lets go of what was held and is not any more. */
void drag_pull(Hold *hold, const Scene *scene, AbdWorld *world, const Drag *drag);
void drag_free(Hold *hold);

#endif
