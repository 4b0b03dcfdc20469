/* --set name=value: settings by their names in abd's own format, laid over any scene; materials.NAME.KEY of scenes that
 * have materials; bodies.NAME.KEY of single bodies. Tests: tests/test_scene.c. */
#ifndef ABD_SCENE_SET_OPTION_H
#define ABD_SCENE_SET_OPTION_H

#include <jansson.h>

#include "scene/scene_def.h"

/* While a file is read: lays materials.NAME.KEY over those of its materials that have the name. options may be NULL. */
bool set_options_patch_materials(const SceneOptions *options, json_t *materials, SceneError *error);
/* When all is read: everything else, and complaints about names that the scene does not have. */
bool set_options_apply(Scene *scene, const SceneOptions *options, SceneError *error);

#endif
