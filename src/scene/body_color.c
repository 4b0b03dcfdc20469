/* Colours are for pictures only: the world knows nothing of them. See scene.h. */
#include "scene/scene_def.h"

const char *scene_body_color(const Scene *scene, size_t body) {
  return body < scene->body_count && scene->body[body].color[0] ? scene->body[body].color : NULL;
}
