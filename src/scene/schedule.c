/* See schedule.h. */
#include "scene/schedule.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scene/json_node.h"

/* ---- Steps ---- */

/* The step that ends at a time or next after it. */
static int64_t step_at(const Scene *scene, double time) {
  double step = ceil(time / scene->world.dt - 1e-6);
  return step < 9e15 ? (int64_t)fmax(step, 0) : INT64_MAX;
}

static bool set_steps(Scene *scene, SceneError *error) {
  for (size_t i = 0; i < scene->body_count; i++) {
    SceneBody *body = &scene->body[i];
    body->born = step_at(scene, body->from);
    body->died = step_at(scene, body->until);
    if (body->died <= body->born)
      return scene_fail(error, "body %zu (%.200s): it comes at %g s and goes at %g s: it would take no step of %g s",
                        i + 1, body->name, body->from, body->until, scene->world.dt);
  }
  return true;
}

static int64_t later(int64_t a, int64_t b) { return a > b ? a : b; }

int64_t scene_pair_born(const Scene *scene, const ScenePair *pair) {
  return later(scene->body[pair->a].born, scene->body[pair->b].born);
}

bool scene_changes(const Scene *scene) {
  for (size_t i = 0; i < scene->body_count; i++)
    if (scene->body[i].born > 0 || scene->body[i].died < INT64_MAX) return true;
  return false;
}

/* ---- Checks ---- */

/* A joint or an attachment is given by the poses of the scene: both bodies have them when they come together. */
static bool fits(const SceneBody *a, const SceneBody *b) {
  return a->born == b->born || (a->born > b->born && b->def.motion == ABD_MOTION_STATIC) ||
         (b->born > a->born && a->def.motion == ABD_MOTION_STATIC);
}

static bool check_joint(const Scene *scene, const SceneJoint *joint, SceneError *error) {
  const AbdJointDef *d = &joint->def;
  if (!d->body_a.id || !d->body_b.id) return true;
  const SceneBody *a = &scene->body[d->body_a.id - 1], *b = &scene->body[d->body_b.id - 1];
  return fits(a, b) || scene_fail(error,
                                  "joint %.200s: bodies %.150s and %.150s come at %g s and %g s; a joint needs bodies "
                                  "that come together, or a static one that comes first",
                                  joint->name, a->name, b->name, a->from, b->from);
}

static bool check_attachments(const Scene *scene, const SceneBody *body, SceneError *error) {
  for (size_t k = 0; body->soft && k < body->soft->attach_count; k++) {
    if (body->soft->attach[k].body == SCENE_WORLD) continue;
    const SceneBody *to = &scene->body[body->soft->attach[k].body];
    if (!(to->born == body->born || (to->born < body->born && to->def.motion == ABD_MOTION_STATIC)))
      return scene_fail(
          error,
          "body %.200s is attached to %.200s: they come at %g s and %g s; a soft body needs one that comes "
          "with it, or a static one that comes first",
          body->name, to->name, body->from, to->from);
    if (to->died < body->died)
      return scene_fail(error, "body %.200s is attached to %.200s, which goes before it, at %g s", body->name, to->name,
                        to->until);
  }
  return true;
}

static void set_joint_steps(Scene *scene) {
  for (size_t i = 0; i < scene->joint_count; i++) {
    SceneJoint *joint = &scene->joint[i];
    const AbdJointDef *d = &joint->def;
    joint->born = 0;
    if (d->body_a.id) joint->born = scene->body[d->body_a.id - 1].born;
    if (d->body_b.id) joint->born = later(joint->born, scene->body[d->body_b.id - 1].born);
    if (d->joint_a.id) joint->born = later(joint->born, scene->joint[d->joint_a.id - 1].born);
    if (d->joint_b.id) joint->born = later(joint->born, scene->joint[d->joint_b.id - 1].born);
  }
}

/* ---- Order ---- */

typedef struct Turn {
  int64_t born;
  size_t index;
} Turn;

static int compare_turns(const void *x, const void *y) {
  const Turn *a = x, *b = y;
  if (a->born != b->born) return a->born < b->born ? -1 : 1;
  return (a->index > b->index) - (a->index < b->index);
}

/* Sorts items by the step after which they come; to[old index] = new index. */
static bool sort_items(void *items, size_t count, size_t size, const int64_t *first_born, size_t *to) {
  Turn *turn = malloc((count + 1) * sizeof *turn);
  char *copy = malloc(count * size + 1), *item = items;
  if (turn && copy) {
    for (size_t i = 0; i < count; i++) {
      turn[i].index = i;
      if (count) memcpy(&turn[i].born, (const char *)first_born + i * size, sizeof(int64_t));
    }
    if (count) qsort(turn, count, sizeof *turn, compare_turns), memcpy(copy, items, count * size);
    for (size_t i = 0; i < count; i++) {
      memcpy(item + i * size, copy + turn[i].index * size, size);
      to[turn[i].index] = i;
    }
  }
  bool ok = turn && copy;
  free(turn);
  free(copy);
  return ok;
}

static void rename_bodies(Scene *scene, const size_t *to) {
  for (size_t i = 0; i < scene->exclude_count; i++)
    scene->exclude[i].a = to[scene->exclude[i].a], scene->exclude[i].b = to[scene->exclude[i].b];
  for (size_t i = 0; i < scene->pair_friction_count; i++) {
    ScenePair *pair = &scene->pair_friction[i];
    pair->a = to[pair->a], pair->b = to[pair->b];
  }
  for (size_t i = 0; i < scene->body_count; i++) {
    SceneSoft *soft = scene->body[i].soft;
    for (size_t k = 0; soft && k < soft->attach_count; k++)
      if (soft->attach[k].body != SCENE_WORLD) soft->attach[k].body = (uint32_t)to[soft->attach[k].body];
  }
  for (size_t i = 0; i < scene->joint_count; i++) {
    AbdJointDef *d = &scene->joint[i].def;
    if (d->body_a.id) d->body_a.id = (uint32_t)to[d->body_a.id - 1] + 1;
    if (d->body_b.id) d->body_b.id = (uint32_t)to[d->body_b.id - 1] + 1;
  }
}

static void rename_joints(Scene *scene, const size_t *to) {
  for (size_t i = 0; i < scene->joint_count; i++) {
    AbdJointDef *d = &scene->joint[i].def;
    if (d->joint_a.id) d->joint_a.id = (uint32_t)to[d->joint_a.id - 1] + 1;
    if (d->joint_b.id) d->joint_b.id = (uint32_t)to[d->joint_b.id - 1] + 1;
  }
}

static bool sort_scene(Scene *scene, SceneError *error) {
  size_t most = scene->body_count > scene->joint_count ? scene->body_count : scene->joint_count;
  size_t *to = malloc((most + 1) * sizeof *to);
  bool ok = to && sort_items(scene->body, scene->body_count, sizeof *scene->body, &scene->body->born, to);
  if (ok) rename_bodies(scene, to);
  if (ok && scene->joint_count) {
    ok = sort_items(scene->joint, scene->joint_count, sizeof *scene->joint, &scene->joint->born, to);
    if (ok) rename_joints(scene, to);
  }
  free(to);
  return ok || scene_fail(error, "out of memory while reading the scene");
}

bool scene_schedule(Scene *scene, SceneError *error) {
  if (!set_steps(scene, error)) return false;
  if (!scene_changes(scene)) return true;
  for (size_t i = 0; i < scene->body_count; i++)
    if (!check_attachments(scene, &scene->body[i], error)) return false;
  for (size_t i = 0; i < scene->joint_count; i++)
    if (!check_joint(scene, &scene->joint[i], error)) return false;
  set_joint_steps(scene);
  return sort_scene(scene, error);
}

/* ---- The world ---- */

/* A state after a step is that before the changes which follow it. */
bool scene_had_come(int64_t born, int64_t step) { return born == 0 || born < step; }

static bool comes_now(int64_t born, int64_t step) { return born > 0 && born == step; }

bool scene_present(const SceneBody *body, const AbdWorld *world) {
  int64_t step = abd_world_step_count(world);
  return body->born <= step && step < body->died;
}

/* Soft bodies first: they may be attached to others. */
static bool remove_bodies(const Scene *scene, AbdWorld *world, bool (*goes)(int64_t died, int64_t step), int64_t step,
                          SceneError *error) {
  for (int stiff = 0; stiff < 2; stiff++)
    for (size_t i = 0; i < scene->body_count; i++) {
      const SceneBody *body = &scene->body[i];
      if ((body->soft == NULL) != (stiff == 1) || !goes(body->died, step)) continue;
      if (abd_world_remove_body(world, (AbdBodyId){(uint32_t)i + 1}) != ABD_OK)
        return scene_fail(error, "body %zu (%.200s): %s", i + 1, body->name, abd_world_error(world));
    }
  return true;
}

static bool had_gone(int64_t died, int64_t step) { return died < step; }
static bool goes_now(int64_t died, int64_t step) { return died == step; }

bool scene_remove_gone(const Scene *scene, AbdWorld *world, int64_t step, SceneError *error) {
  return remove_bodies(scene, world, had_gone, step, error);
}

/* The id of a later body's mesh: scene_build adds these meshes first, in the order of the bodies. */
static AbdMeshId later_mesh(const Scene *scene, int mesh) {
  uint32_t id = 0;
  for (size_t i = 0; i < scene->body_count; i++) {
    bool first = scene->body[i].born > 0 && !scene->body[i].soft;
    for (size_t k = i; first && k-- > 0 && scene->body[k].born > 0;)
      first = scene->body[k].soft || scene->body[k].mesh != scene->body[i].mesh;
    id += first;
    if (first && scene->body[i].mesh == mesh) return (AbdMeshId){id};
  }
  return (AbdMeshId){0};
}

static bool add_bodies(const Scene *scene, AbdWorld *world, int64_t step, SceneError *error) {
  bool ok = true;
  for (size_t i = 0; ok && i < scene->body_count; i++) {
    const SceneBody *body = &scene->body[i];
    if (comes_now(body->born, step))
      ok = scene_build_body(scene, i, world, body->soft ? (AbdMeshId){0} : later_mesh(scene, body->mesh), error);
  }
  return ok;
}

bool scene_change(const Scene *scene, AbdWorld *world, SceneError *error) {
  int64_t step = abd_world_step_count(world);
  bool any = false;
  for (size_t i = 0; !any && i < scene->body_count; i++)
    any = comes_now(scene->body[i].born, step) || goes_now(scene->body[i].died, step);
  if (!any) return true;
  if (abd_world_begin_change(world) != ABD_OK) return scene_fail(error, "%.500s", abd_world_error(world));
  bool ok = remove_bodies(scene, world, goes_now, step, error) && add_bodies(scene, world, step, error) &&
            scene_build_ties(scene, world, comes_now, step, error);
  if (!ok) {
    abd_world_cancel_change(world);
    return false;
  }
  AbdStatus status = abd_world_end_change(world);
  const char *remedy = "; let the body come later or at another place, or what is there go earlier";
  if (status == ABD_OK) return true;
  return scene_fail(error, "at %g s: %.700s%s", abd_world_time(world), abd_world_error(world),
                    status == ABD_ERROR_CROSSING ? remedy : "");
}
