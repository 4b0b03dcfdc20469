/* Any bytes as a robot: read or refused with a sentence. What was read is a scene that the scene's reader takes or
 * refuses with a sentence; meshes are not looked for outside of the corpus. */
#ifndef FUZZ_ROBOT_H
#define FUZZ_ROBOT_H

#include <stdlib.h>
#include <string.h>

#include "robot/robot.h"
#include "scene/scene.h"

static int fuzz_robot(const uint8_t *data, size_t size, RobotFormat format, const char *path) {
  RobotOptions options = robot_default_options();
  RobotError error = {""};
  SceneError scene_error = {""};
  options.hold = size % 2;
  options.geometry = size % 3 ? ROBOT_COLLISION : ROBOT_VISUAL;
  options.base = size % 5 ? ROBOT_BASE_AUTO : ROBOT_BASE_FREE;
  options.keyframe = size % 7 ? NULL : "bent";
  json_t *notes = json_array();
  json_t *json = robot_parse((const char *)data, size, path, format, &options, notes, &error);
  if (!json && !error.text[0]) abort();
  char *text = json ? json_dumps(json, JSON_REAL_PRECISION(17)) : NULL;
  if (json && !text) abort();
  Scene *scene = text ? scene_parse(text, strlen(text), path, NULL, &scene_error) : NULL;
  if (text && !scene && !scene_error.text[0]) abort();
  scene_destroy(scene);
  free(text);
  json_decref(json);
  json_decref(notes);
  return 0;
}

#endif
