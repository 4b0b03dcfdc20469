/* --set name=value: overrides settings of any scene by their names in abd's own format. Also materials.NAME.KEY, if the
 * scene has materials, and bodies.NAME.KEY of single bodies. Tests: tests/test_scene.c. */
#ifndef ABD_SCENE_SET_OPTION_H
#define ABD_SCENE_SET_OPTION_H

#include <jansson.h>

#include "scene/scene_def.h"

/* Call while a file is read: applies materials.NAME.KEY to the file's materials of that name. options may be NULL. */
bool set_options_patch_materials(const SceneOptions *options, json_t *materials, SceneError *error);
/* Call after reading: applies all other options, and refuses names that the scene does not have. */
bool set_options_apply(Scene *scene, const SceneOptions *options, SceneError *error);

#endif
