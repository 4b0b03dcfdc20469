/* Any bytes as a scene file: read or refused with a sentence; what was read writes itself as text that reads the
 * same. */
#include <stdlib.h>
#include <string.h>

#include "scene/scene_def.h"

/* A text written by scene_text must be read again, to the same text. */
static void check_round_trip(Scene *scene) {
  SceneError error;
  size_t length, again_length;
  const char *text = scene_text(scene, &length);
  if (!text) abort();
  Scene *again = scene_parse(text, length, "text", NULL, &error);
  if (!again) abort();
  const char *again_text = scene_text(again, &again_length);
  if (!again_text || again_length != length || memcmp(text, again_text, length) != 0) abort();
  scene_destroy(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *const set[] = {"contact.friction=0.25", "dt=0.002"};
  const SceneOptions options = {.set = set, .set_count = (int)(size % 3)};
  SceneError error = {""};
  Scene *scene = scene_parse((const char *)data, size, "corpus/scene.json", &options, &error);
  if (!scene && !error.text[0]) abort();
  if (scene && scene->body_count < 200) check_round_trip(scene);
  scene_destroy(scene);
  return 0;
}
