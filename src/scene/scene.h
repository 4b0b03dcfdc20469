/* Scenes: a JSON file (abd's own format or rigid-IPC's, see docs/scene.md) or plain mesh files become a world.
 *
 * A Scene is the file read, checked and resolved: meshes are loaded and scaled, every setting has its value. It does
 * not change after loading, so one scene can build many worlds. Includes only abd/abd.h of the library. Tests:
 * tests/test_scene.c. */
#ifndef ABD_SCENE_H
#define ABD_SCENE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abd/abd.h"

typedef struct Scene Scene;

/* One sentence: "FILE:LINE:COL: bodies[3].density: expected a number >= 0, got -2.5". */
typedef struct SceneError {
  char text[1024];
} SceneError;

typedef struct SceneOptions {
  const char *mesh_dir;   /* the last folder in which meshes are searched; may be NULL */
  const char *const *set; /* "contact.friction=0.5": settings by their names in abd's own format, on any scene */
  int set_count;
  const char *geometry; /* of robots: "collision" or "visual"; NULL = collision */
  const char *base;     /* of robots: "fixed" or "free"; NULL = as the file says, URDF fixed */
  const char *keyframe; /* of robots: where they start; NULL = the file's pose */
  bool hold;            /* of robots: servos hold the joints that have no drive */
  double mesh_scale;    /* factor on mesh files given without a scene file; 0 = not given; an error with a scene file */
} SceneOptions;

/* Loads one scene file (.json), one robot (.urdf .xml), or one or more mesh files (.obj .stl .ply .off) into a scene of
 * their own with a ground. options may be NULL. Returns NULL and fills error on failure. */
Scene *scene_load(const char *const *path, int path_count, const SceneOptions *options, SceneError *error);
/* The same from the text of a scene file; name is used in messages and its folder for relative mesh paths. */
Scene *scene_parse(const char *text, size_t length, const char *name, const SceneOptions *options, SceneError *error);
bool scene_is_robot(const char *path); /* .urdf, .xml, .mjcf */
/* A robot as text in abd's own format, with the paths of its meshes relative to folder (NULL: absolute). notes: called
 * for each remark; may be NULL. malloc'ed; NULL after an error. */
char *scene_from_robot(const char *path, const char *folder, const SceneOptions *options,
                       void (*note)(const char *text, void *user), void *user, SceneError *error);
void scene_destroy(Scene *scene); /* NULL is fine */

/* Creates the world with meshes (shared by instances) and bodies, ids in the file's order; threads as in AbdSolverDef.
 * The world does not need the scene afterwards, except for scene_apply. */
AbdWorld *scene_build(const Scene *scene, int threads, SceneError *error);
/* The world with the bodies that it has after a step, to restore that step's state to: a body keeps its id. */
AbdWorld *scene_build_at(const Scene *scene, int threads, int64_t step, SceneError *error);
/* Call before each step: adds and removes bodies whose time has come, sets targets, velocities and forces that the
 * scene scripts for the step that starts at the world's time. They depend only on the world's time, so a resumed world
 * repeats the same steps. */
bool scene_apply(const Scene *scene, AbdWorld *world, SceneError *error);
bool scene_acts(const Scene *scene); /* whether scene_apply may do something */
/* The force and torque that the scene gives a body (0-based) at a time. */
void scene_force(const Scene *scene, size_t body, double time, double force[3], double torque[3]);

double scene_dt(const Scene *scene);
int64_t scene_steps(const Scene *scene);                     /* the file's number of steps */
int64_t scene_steps_for(const Scene *scene, double seconds); /* the steps that cover a time */
const char *scene_name(const Scene *scene);  /* of the scene: its "name" or the file's name without folder and ending */
size_t scene_body_count(const Scene *scene); /* of all bodies, also those that come later */
bool scene_changes(const Scene *scene);      /* do bodies come or go? */
/* "#rrggbb" of a body (0-based) for pictures; NULL if the scene has none. */
const char *scene_body_color(const Scene *scene, size_t body);

/* Remarks that are no errors: keys that have no effect, degenerate triangles dropped. */
int scene_note_count(const Scene *scene);
const char *scene_note(const Scene *scene, int index);

/* The scene as self-contained text in abd's own format: every setting resolved (--set too), geometry packed into it.
 * scene_parse of this text builds the same world bit for bit, without any other file. Owned by the scene; NULL if out
 * of memory. */
const char *scene_text(Scene *scene, size_t *length);

#endif
