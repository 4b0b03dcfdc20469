/* Bodies that come and go: "from" and "until" of a scene's bodies as steps.
 *
 * A body with "from" is added after the step that ends at that time and takes part in the next one; "until" removes it
 * likewise. Bodies, and joints with them, are sorted by the step after which they come. So body k of the scene has the
 * id k + 1, as if all were there from the start. Tests: tests/test_schedule.c. */
#ifndef ABD_SCENE_SCHEDULE_H
#define ABD_SCENE_SCHEDULE_H

#include "scene/scene_def.h"

/* Sets the steps, checks joints and attachments, sorts bodies and joints. After the settings are final. */
bool scene_schedule(Scene *scene, SceneError *error);
/* Adds and removes the bodies whose time has come, in one change. */
bool scene_change(const Scene *scene, AbdWorld *world, SceneError *error);
/* Removes the bodies that went before a step. */
bool scene_remove_gone(const Scene *scene, AbdWorld *world, int64_t step, SceneError *error);
/* Is the body in the world in the next step? */
bool scene_present(const SceneBody *body, const AbdWorld *world);
int64_t scene_pair_born(const Scene *scene, const ScenePair *pair);

/* Whether something that comes after step `born` is to be added: to a world restored to a step; now. */
typedef bool SceneWhen(int64_t born, int64_t step);
bool scene_had_come(int64_t born, int64_t step);

/* Parts of scene_build. */
bool scene_build_body(const Scene *scene, size_t body, AbdWorld *world, AbdMeshId mesh, SceneError *error);
/* Attachments, pairs and joints. */
bool scene_build_ties(const Scene *scene, AbdWorld *world, SceneWhen *when, int64_t step, SceneError *error);

#endif
