/* The resolved scene: readers fill it, scene_build turns it into a world. Internal to src/scene and its tests. */
#ifndef ABD_SCENE_DEF_H
#define ABD_SCENE_DEF_H

#include "scene/mesh_file.h"
#include "scene/scene.h"

typedef struct SceneMesh {
  char *name;    /* for messages: the file or the shape */
  char *key;     /* identifies file or shape, and scale: bodies with equal keys share the mesh */
  MeshData data; /* scaled */
  uint32_t *tet; /* [4 tet_count] of a soft solid, scaled; else NULL */
  size_t tet_count;
  double thickness;
  double scale[3]; /* data = scale times the coordinates of the mesh's file */
  bool half_space;
} SceneMesh;

/* Scripted pose of the mesh's origin at a time; linear and slerp in between. */
typedef struct PathKey {
  double time, position[3], rotation[4];
} PathKey;
typedef struct ForceKey {
  double time, force[3], torque[3];
} ForceKey;

/* A vertex fixed to the body of this index, or to the world: SCENE_WORLD. */
typedef struct SceneAttachment {
  uint32_t vertex, body;
} SceneAttachment;
#define SCENE_WORLD UINT32_MAX

typedef struct VertexList {
  uint32_t *vertex;
  size_t count;
} VertexList;

/* Vertices that move as one: translated from their start by the path's position, rotated about the centre by its
 * rotation. After the last key, or from the start if there is none, they move with the velocities. */
typedef struct SceneScript {
  VertexList list;
  double center[3], velocity[3], angular_velocity[3];
  double motion_end; /* [s] they are at rest from then on; infinity = never */
  PathKey *path;
  size_t path_count;
} SceneScript;

/* A force distributed equally over vertices; keys as in SceneBody. */
typedef struct SceneLoad {
  VertexList list;
  double force[3];
  ForceKey *forces;
  size_t forces_count;
} SceneLoad;

typedef struct SceneSoft {
  AbdSoftDef def; /* material, thickness, self_contact; the rest is filled in by scene_build */
  SceneAttachment *attach;
  size_t attach_count;
  SceneScript *script;
  size_t script_count;
  SceneLoad *load;
  size_t load_count;
} SceneSoft;

typedef struct SceneBody {
  char *name;
  SceneSoft *soft; /* NULL: a stiff body */
  int mesh;        /* index into Scene.mesh */
  AbdBodyDef def;  /* name and mesh are filled in by scene_build */
  PathKey *path;   /* kinematic: after the last key the body moves with def's velocities */
  size_t path_count;
  ForceKey *forces; /* held before the first and after the last key; added to def's force and torque */
  size_t forces_count;
  double motion_end;  /* [s] kinematic: at rest from then on; infinity = never */
  double from, until; /* [s] it is in the world between these times; 0, infinity = always */
  int64_t born, died; /* steps after which it is added and removed, see schedule.h; 0, INT64_MAX = always */
  bool copy;          /* one of several made by "copies": its name ends in -1, -2, ... */
  char color[8];      /* "#rrggbb" for pictures, or empty */
} SceneBody;

typedef struct ScenePair {
  size_t a, b;
  double friction, restitution; /* of pair_friction; negative = not given */
} ScenePair;

typedef struct DriveKey {
  double time, value;
} DriveKey;

typedef struct SceneJoint {
  char *name;
  AbdJointDef def;    /* points and axes of the world at the start; name is filled in by scene_build */
  DriveKey *drive;    /* keys of def.drive.target, linear in between, held before the first and after the last */
  size_t drive_count; /* 0: the target stays */
  int64_t born;       /* the step after which both of its bodies are there */
} SceneJoint;

struct Scene {
  char *name;
  AbdWorldDef world;
  double duration; /* [s] used while steps < 0 */
  int64_t steps;
  SceneMesh *mesh;
  size_t mesh_count;
  SceneBody *body;
  size_t body_count;
  ScenePair *exclude;
  size_t exclude_count;
  ScenePair *pair_friction;
  size_t pair_friction_count;
  SceneJoint *joint;
  size_t joint_count;
  char **material; /* names of the file's materials */
  size_t material_count;
  char **note;
  size_t note_count;
  char *text; /* of scene_text, made on its first call */
  size_t text_length;
};

Scene *scene_create(void); /* abd's defaults, no bodies; NULL when out of memory */

/* Appends one zeroed element to an array kept in powers of two; NULL when out of memory. */
void *array_add(void *array_pointer, size_t *count, size_t element_size);

/* Index of the mesh with this key, or -1. */
int scene_find_mesh(const Scene *scene, const char *key);
/* Takes over data, on failure too; -1 if memory is out. */
int scene_add_mesh(Scene *scene, const char *key, const char *name, MeshData *data);
typedef struct AbdTets AbdTets;
int scene_add_tets(Scene *scene, const char *key, const char *name, AbdTets *mesh);
SceneBody *scene_add_body(Scene *scene, const char *name, int mesh);
SceneJoint *scene_add_joint(Scene *scene, const char *name, AbdJointKind kind);
/* The position at the start of a point (offset = 1), or of a direction (offset = 0), in the coordinates of the body's
 * mesh file. */
void scene_body_to_world(const Scene *scene, size_t body, double offset, const double from[3], double to[3]);
bool scene_add_note(Scene *scene, const char *format, ...) __attribute__((format(printf, 2, 3))); /* each text once */
/* Soft bodies of scene_build: scene_build_soft adds one, scene_build_attachments attaches its vertices after all
 * bodies. */
AbdStatus scene_build_soft(const Scene *scene, size_t body, AbdWorld *world);
void scene_soft_free(SceneSoft *soft); /* NULL is fine */
/* Targets of scripted vertices and forces on vertices for the next step. */
bool scene_apply_soft(const Scene *scene, AbdWorld *world, SceneError *error);
/* Interpolates keys at a time. path_pose starts from a pose at time 0; a key within slack of the time counts as
 * reached, because sums of time steps are rounded. */
void path_pose(const PathKey *start, const PathKey *path, size_t count, double time, double slack, double position[3],
               double rotation[4]);
void force_at(const ForceKey *forces, size_t count, double time, double force[3], double torque[3]);
bool scene_build_attachments(const Scene *scene, size_t body, AbdWorld *world, SceneError *error);
/* Whether the joint's coordinate can change: not that of a distance, nor an angle that is held. */
bool joint_moves(const AbdJointDef *def);
/* The joints of scene_build and scene_apply. */
bool scene_build_joint(const Scene *scene, size_t joint, AbdWorld *world, SceneError *error);
bool scene_apply_drives(const Scene *scene, AbdWorld *world, SceneError *error);
void scene_note_mesh(Scene *scene, const char *name, const MeshData *mesh); /* what reading changed */

#endif
