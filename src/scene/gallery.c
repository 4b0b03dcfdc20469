/* The list of gallery scenes, their keys and values (gallery.h). Tests: tests/test_gallery.c, tests/cli/gallery.sh. */
#include "scene/gallery.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scene/gallery_writer.h"
#include "scene/json_node.h"

static const GalleryScene *const scenes[] = {
    &gallery_pendulum,
    &gallery_double_pendulum,
    &gallery_triple_pendulum,
    &gallery_four_bar,
    &gallery_slider_crank,
    &gallery_robot_arm,
    &gallery_chain,
    &gallery_gears,
    &gallery_gear_train,
    &gallery_octopus,
    &gallery_wrecking_ball,
    &gallery_ball,
    &gallery_brick_wall,
    &gallery_net,
    &gallery_cards,
    &gallery_screw,
    &gallery_arch,
    &gallery_spikes,
    &gallery_pile,
    &gallery_belt,
    &gallery_soft_beam,
    &gallery_soft_twist,
    &gallery_soft_ball,
    &gallery_soft_hand,
    &gallery_soft_press,
    &gallery_cloth_gears,
    &gallery_hybrid,
    NULL,
};

const GalleryScene *const *gallery_list(void) { return scenes; }

const GalleryScene *gallery_find(const char *name) {
  for (const GalleryScene *const *scene = scenes; *scene; scene++) {
    if (strcmp((*scene)->name, name) == 0) return *scene;
  }
  return NULL;
}

int gallery_key_count(const GalleryScene *scene) {
  int count = 0;
  while (scene->key[count].name) count++;
  return count;
}

void gallery_defaults(const GalleryScene *scene, double value[GALLERY_KEY_LIMIT]) {
  for (int k = 0; scene->key[k].name; k++) value[k] = scene->key[k].value;
}

static bool read_word(const GalleryKey *key, const char *text, double *value, SceneError *error) {
  char words[200] = "";
  for (int k = 0; key->choice[k]; k++) {
    if (strcmp(key->choice[k], text) == 0) return *value = k, true;
    size_t used = strlen(words);
    snprintf(words + used, sizeof words - used, "%s%s", used ? ", " : "", key->choice[k]);
  }
  return scene_fail(error, "--%s: expected one of %s, got '%.100s'", key->name, words, text);
}

bool gallery_read(const GalleryKey *key, const char *text, double *value, SceneError *error) {
  if (key->choice) return read_word(key, text, value, error);
  char *end;
  double number = strtod(text, &end);
  if (end == text || *end || !(number >= key->least && number <= key->most) || (key->whole && number != floor(number)))
    return scene_fail(error, "--%s: expected a %snumber from %g to %.10g, got '%.100s'", key->name,
                      key->whole ? "whole " : "", key->least, key->most, text);
  *value = number;
  return true;
}

void gallery_write_value(const GalleryKey *key, double value, char text[32]) {
  if (key->choice) snprintf(text, 32, "%s", key->choice[(int)value]);
  else snprintf(text, 32, "%.10g", value);
}

char *gallery_text(const GalleryScene *scene, const double *value, size_t *length, SceneError *error) {
  char *text = NULL;
  error->text[0] = 0;
  GalleryWriter writer = {.out = open_memstream(&text, length), .scene = scene, .value = value, .error = error};
  if (writer.out) {
    writer_begin(&writer);
    scene->make(&writer, value);
    writer_end(&writer);
    if (ferror(writer.out)) writer.out_of_memory = true;
    if (fclose(writer.out) != 0) writer.out_of_memory = true;
  }
  if (text && !writer.out_of_memory && !error->text[0]) return text;
  if (!error->text[0]) scene_fail(error, "%s: out of memory", scene->name);
  free(text);
  return NULL;
}
