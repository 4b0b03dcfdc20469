/* "attach" of soft bodies in abd's own format: which vertices are fixed to which body, or to the world (own.h). Tests:
 * tests/test_scene_soft.c. */
#include <stdlib.h>

#include "scene/own.h"

/* A vertex that an earlier entry attached keeps its attachment. */
static bool attach_entry(OwnFile *file, const Node *entry, size_t index, const double shift[3], bool *taken) {
  static const char *const known[] = {CHOICE_KEYS, NULL};
  SceneSoft *soft = file->loader->scene->body[index].soft;
  VertexList list = {0};
  uint32_t to;
  bool ok = node_check_keys(entry, known) && own_choose_vertices(file, entry, index, shift, &list, &to);
  for (size_t i = 0; ok && i < list.count; i++) {
    if (taken[list.vertex[i]]) continue;
    SceneAttachment *slot = array_add(&soft->attach, &soft->attach_count, sizeof *slot);
    ok = slot || loader_out_of_memory(file->loader);
    if (ok) *slot = (SceneAttachment){list.vertex[i], to}, taken[list.vertex[i]] = true;
  }
  free(list.vertex);
  return ok;
}

static bool attach_body(OwnFile *file, const Node *list, size_t index, const double shift[3]) {
  const Scene *scene = file->loader->scene;
  bool *taken = calloc(scene->mesh[scene->body[index].mesh].data.vertex_count + 1, sizeof *taken);
  bool ok = taken || loader_out_of_memory(file->loader);
  for (size_t i = 0; ok && i < node_size(list); i++) {
    Node entry = node_item(list, i);
    ok = attach_entry(file, &entry, index, shift, taken);
  }
  free(taken);
  return ok;
}

bool own_read_attachments(OwnFile *file) { return own_each_list(file, "attach", attach_body); }
