/* Default colours of bodies, for pictures only; a world stores no colours. See scene.h. */
#include "scene/scene_def.h"

const char *scene_body_color(const Scene *scene, size_t body) {
  return body < scene->body_count && scene->body[body].color[0] ? scene->body[body].color : NULL;
}
