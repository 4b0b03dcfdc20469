/* Scenes: a scene file (docs/scene.md), mesh files or a scene of the gallery become a world.
 *
 *     AbdError error;
 *     const char *path = "pile.json";
 *     AbdScene *scene = abd_scene_load(&path, 1, NULL, &error);
 *     AbdWorld *world = scene ? abd_scene_build(scene, 0, &error) : NULL;
 *     while (...) { abd_scene_apply(scene, world, &error); abd_world_step(world, &report); }
 *
 * A scene is the file read, checked and resolved: meshes are loaded and scaled, every setting has its value. It does
 * not change, so one scene can build many worlds. On failure a function returns NULL or a status, and error has a
 * sentence: "FILE:LINE:COL: bodies[3].density: expected a number >= 0, got -2.5". error may be NULL. Different threads
 * may use different scenes. */
#ifndef ABD_PUBLIC_SCENE_H
#define ABD_PUBLIC_SCENE_H

#include <abd/abd.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct AbdScene AbdScene;

typedef struct AbdSceneDef {
  const char *mesh_dir;   /* the last folder in which meshes are searched; may be NULL */
  const char *const *set; /* [set_count] "contact.friction=0.5": settings by their names in scene files, on any scene */
  size_t set_count;
  double mesh_scale;    /* factor on mesh files given without a scene file; 0 = not given; an error with a scene file */
  const char *geometry; /* of robots: "collision" or "visual"; NULL = collision */
  const char *base;     /* of robots: "fixed" or "free"; NULL = as the file says, URDF fixed */
  const char *keyframe; /* of robots: where they start; NULL = the file's pose */
  bool hold;            /* of robots: servos hold the joints that have no drive */
} AbdSceneDef;

ABD_API AbdSceneDef abd_default_scene_def(void);
/* One scene file (.json, abd's or rigid-IPC's), one robot (.urdf, .xml of MJCF), or one or more mesh files dropped onto
 * a ground. def may be NULL. */
ABD_API AbdScene *abd_scene_load(const char *const *path, size_t path_count, const AbdSceneDef *def, AbdError *error);
/* The text of a scene file. name is used in messages, and its folder for relative paths of meshes. */
ABD_API AbdScene *abd_scene_parse(const char *text, size_t length, const char *name, const AbdSceneDef *def,
                                  AbdError *error);
ABD_API void abd_scene_destroy(AbdScene *scene); /* NULL is allowed */

/* A new world with the scene's meshes, bodies and joints, ids in the file's order. threads as in AbdSolverDef. The
 * world does not need the scene afterwards, except for abd_scene_apply. */
ABD_API AbdWorld *abd_scene_build(const AbdScene *scene, int threads, AbdError *error);
/* The same with the bodies that the scene has after a step: for abd_world_restore of a snapshot that was saved then. */
ABD_API AbdWorld *abd_scene_build_at(const AbdScene *scene, int threads, int64_t step, AbdError *error);
/* Call before each step: sets what the scene scripts for the step that starts at the world's time: targets, velocities,
 * forces, drives. They depend on the world's time alone, so a restored world repeats the same steps. */
ABD_API AbdStatus abd_scene_apply(const AbdScene *scene, AbdWorld *world, AbdError *error);
/* The force and torque that the scene gives a body at a time; zero for a body that the scene does not have. */
ABD_API void abd_scene_force(const AbdScene *scene, AbdBodyId body, double time, double force[3], double torque[3]);

ABD_API const char *abd_scene_name(const AbdScene *scene); /* its "name", or the file's without folder and ending */
ABD_API double abd_scene_dt(const AbdScene *scene);        /* [s] */
ABD_API int64_t abd_scene_steps(const AbdScene *scene);    /* as the file says */
ABD_API int64_t abd_scene_steps_for(const AbdScene *scene, double seconds); /* that cover this time */
ABD_API size_t abd_scene_body_count(const AbdScene *scene);
/* Whether abd_scene_apply may do something: bodies that come, go or are scripted, forces, drives. */
ABD_API bool abd_scene_acts(const AbdScene *scene);
/* "#rrggbb" for pictures; NULL if the scene gives none. */
ABD_API const char *abd_scene_body_color(const AbdScene *scene, AbdBodyId body);
/* Remarks that are no errors: keys that have no effect, degenerate triangles dropped. */
ABD_API size_t abd_scene_note_count(const AbdScene *scene);
ABD_API const char *abd_scene_note(const AbdScene *scene, size_t index);
/* The scene as self-contained text: every setting resolved, geometry packed into it. abd_scene_parse of this text
 * builds the same world bit for bit, without any other file. The scene owns it; NULL if memory is out. */
ABD_API const char *abd_scene_text(AbdScene *scene, size_t *length);

/* ---- Robots ---- */

ABD_API bool abd_scene_is_robot(const char *path); /* by its ending: .urdf .xml .mjcf */
/* A robot as the text of a scene file, with the paths of its meshes relative to folder (NULL = absolute). note: called
 * for each remark; may be NULL. Free it with abd_text_free. */
ABD_API char *abd_robot_text(const char *path, const char *folder, const AbdSceneDef *def,
                             void (*note)(const char *text, void *user), void *user, AbdError *error);

/* ---- The gallery: scenes made by code ---- */

typedef struct AbdGalleryKey {
  const char *name, *help;
  double value;       /* the default; of a choice the index of its word */
  double least, most; /* both allowed */
  bool whole;
  const char *const *choice; /* words, ends with NULL; NULL: a number */
} AbdGalleryKey;

/* Names of all of them; NULL follows the last. */
ABD_API const char *const *abd_gallery_names(void);
/* One line about a scene; its keys, which end with a NULL name. NULL if there is no such scene. */
ABD_API const char *abd_gallery_about(const char *name);
ABD_API const AbdGalleryKey *abd_gallery_keys(const char *name);
/* How a value is written: the word of a choice, or the number. */
ABD_API void abd_gallery_value_text(const AbdGalleryKey *key, double value, char text[32]);
/* A scene of the gallery as text, zero-terminated. key: [key_count] "levels=5". Free it with abd_text_free. */
ABD_API char *abd_gallery_text(const char *name, const char *const *key, size_t key_count, size_t *length,
                               AbdError *error);
ABD_API void abd_text_free(char *text); /* NULL is allowed */

#ifdef __cplusplus
}
#endif
#endif
