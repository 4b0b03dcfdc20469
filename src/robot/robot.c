/* See robot.h. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "robot/tree.h"

RobotOptions robot_default_options(void) { return (RobotOptions){.rotation = {1, 0, 0, 0}}; }

static bool has_ending(const char *path, const char *ending) {
  const char *dot = strrchr(path, '.');
  return dot && strcasecmp(dot + 1, ending) == 0;
}

bool robot_knows(const char *path) {
  return has_ending(path, "urdf") || has_ending(path, "xml") || has_ending(path, "mjcf");
}

RobotFormat robot_format(const char *path) { return has_ending(path, "urdf") ? ROBOT_URDF : ROBOT_MJCF; }

/* The folder of a path, "." when it names none. */
static char *folder_of(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? strndup(path, slash > path ? (size_t)(slash - path) : 1) : strdup(".");
}

static json_t *read_tree(Robot *robot, Xml *top, RobotFormat format) {
  robot->path = strdup(top->file);
  robot->folder = folder_of(top->file);
  if (!robot->path || !robot->folder) return robot_fail(robot->error, "out of memory"), NULL;
  bool ok = (format == ROBOT_URDF ? urdf_read : mjcf_read)(robot, top) && start_find(robot);
  json_t *scene = ok ? emit_scene(robot) : NULL;
  if (scene) robot_note_unused(robot, top);
  return scene;
}

static json_t *read_and_free(Xml *top, RobotFormat format, const RobotOptions *options, json_t *notes,
                             RobotError *error) {
  Robot robot = {.options = options, .notes = notes, .error = error};
  json_t *scene = top ? read_tree(&robot, top, format) : NULL;
  robot_free(&robot);
  xml_free(top);
  return scene;
}

/* A file with <robot> at its top is URDF, whatever its name ends in. */
static RobotFormat true_format(const Xml *top, RobotFormat format) {
  if (top && xml_is(top, "robot")) return ROBOT_URDF;
  return top && xml_is(top, "mujoco") ? ROBOT_MJCF : format;
}

json_t *robot_read(const char *path, RobotFormat format, const RobotOptions *options, json_t *notes,
                   RobotError *error) {
  Xml *top = xml_load(path, error);
  return read_and_free(top, true_format(top, format), options, notes, error);
}

json_t *robot_parse(const char *bytes, size_t length, const char *path, RobotFormat format, const RobotOptions *options,
                    json_t *notes, RobotError *error) {
  Xml *top = xml_parse(bytes, length, path, error);
  return read_and_free(top, true_format(top, format), options, notes, error);
}
