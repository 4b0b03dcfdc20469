/* --set name=value: settings by their names in abd's own format, laid over any scene. Tests: tests/test_scene.c. */
#ifndef ABD_SCENE_SET_OPTION_H
#define ABD_SCENE_SET_OPTION_H

#include "scene/scene_def.h"

bool set_options_apply(Scene *scene, const SceneOptions *options, SceneError *error);

#endif
