/* abd's own format between its readers: the file (own.c), bodies (own_body.c), geometry (own_geometry.c), pairs
 * (own_pair.c), soft bodies (own_soft.c, own_choice.c, own_attach.c, own_script.c), turns of paths (own_turn.c), joints
 * (own_joint.c), drives (own_drive.c), names (own_name.c). See docs/scene.md. */
#ifndef ABD_SCENE_OWN_H
#define ABD_SCENE_OWN_H

#include "scene/loader.h"

typedef struct NamedMesh {
  const char *name;
  int mesh;
} NamedMesh;

typedef struct OwnFile {
  Loader *loader;
  const Node *top;
  NamedMesh *named; /* the file's "meshes" */
  size_t named_count;
  size_t first_body, body_end; /* this file's range in the scene; bodies of included files follow */
  size_t first_joint;
  json_t *body_index, *joint_index; /* names of this file's bodies and joints, see own_name.c; NULL until needed */
} OwnFile;

/* Far above any use; they keep a few bytes of a scene from allocating all memory. Bodies by "copies" are a few
 * bytes. */
enum { SCENE_BODY_LIMIT = 20000000, SCENE_COPY_LIMIT = 2000000 };
enum { SCENE_PAIR_LIMIT = 4000000, SCENE_SHAPE_VERTEX_LIMIT = 4000000 };

/* The keys that describe geometry; they are keys of bodies too. */
#define GEOMETRY_KEYS                                                                                                  \
  "shape", "mesh", "file", "scale", "thickness", "vertices", "triangles", "tets", "edges", "packed", "size", "radius", \
      "height", "tube", "stretch", "segments", "sides", "subdivisions", "cells", "normal", "weld", "parts"

/* Reads the geometry of an object: a shape, a file, lists or packed numbers. file_key is "mesh" in a body, and "file"
 * in "meshes"; a body's "mesh" may also be a name from "meshes". Returns the scene's mesh, or -1 after an error. */
int own_read_geometry(OwnFile *file, const Node *object, const char *file_key);
/* The geometry of a soft body: its own shapes, else as above. */
int own_read_soft_geometry(OwnFile *file, const Node *object);
/* Reads a positive number of cells for each of the count directions; a plain number is used for all. */
bool own_read_cells(const Node *object, int *cells, size_t count);
/* Vectors of sizes, all positive. */
bool own_read_sizes(const Node *object, const char *key, size_t count, double *value);
/* Checks that the object has only the allowed ones of the geometry keys. */
bool own_check_geometry_keys(const Node *object, const char *what, const char *const *allowed);
bool own_check_shape_room(Loader *loader);
bool own_read_bodies(OwnFile *file);
/* own_read_soft reads "soft" of a body after its mesh. own_read_attachments reads "attach" after all bodies. */
bool own_read_soft(OwnFile *file, const Node *object, SceneBody *body);
bool own_read_attachments(OwnFile *file);
/* Reads "scripted" and "vertex_forces", after the attachments. */
bool own_read_scripts(OwnFile *file);
/* The vertices of a soft body that an entry chooses, moved by shift; to, if given, the body it names. */
#define CHOICE_KEYS "body", "box", "sphere", "nearest", "vertices", "frame"
bool own_choose_vertices(OwnFile *file, const Node *entry, size_t body, const double shift[3], VertexList *list,
                         uint32_t *to);
/* Calls read for the list under a key of every body and every copy. */
bool own_each_list(OwnFile *file, const char *key,
                   bool (*read)(OwnFile *, const Node *list, size_t body, const double shift[3]));
/* Keys in time of bodies and of vertices: the time, later than the one before; a rotation; forces. */
bool own_read_time(const Node *item, double previous, double *time);
bool own_read_rotation(const Node *object, double quaternion[4]);
/* A rotation as angles: "euler_degrees", or degrees times the unit "axis". A quaternion has none. */
typedef struct GivenTurn {
  enum { TURN_NONE, TURN_EULER, TURN_AXIS, TURN_UNKNOWN } kind;
  double degrees[3];
} GivenTurn;
/* Of an object that own_read_rotation has accepted; without a rotation the turn stays. */
void own_read_turn(const Node *object, GivenTurn *turn);
/* Notes a turn by 180 degrees or more to a key of a path, from the key before or the start: 0 to 360 degrees does not
 * turn, 0 to 270 turns back. */
void own_note_long_turn(Scene *scene, const char *body, size_t key, const GivenTurn *from, const GivenTurn *to);
bool own_read_forces(OwnFile *file, const Node *object, bool torques, ForceKey **forces, size_t *count);
/* The keys of a material, which a body may have too. */
bool own_read_material(const Node *object, AbdBodyDef *def, char color[8]);
void own_add_material_keys(KeyList *list);
bool own_read_pairs(OwnFile *file);
void own_note_coefficients(Scene *scene); /* notes friction and restitution of bodies if no pair has any */
/* A copy, NAME-3, of the body called name in the file. */
bool own_is_copy(const SceneBody *body, const char *name);

/* Finds the body, or the joint among the scene's joints below `before`, by the node's name or number. */
bool own_find_body(OwnFile *file, const Node *node, size_t *index);
bool own_find_joint(OwnFile *file, const Node *node, size_t before, size_t *index);
bool own_index_joint(OwnFile *file, size_t joint); /* from now on it is found by its name */

/* A robot that the scene includes: an object with "urdf" or "mjcf" (own_robot.c). */
bool own_include_robot(Loader *loader, const Node *at);
/* Reads a file of this format without its settings. */
bool own_read_included(Loader *loader, const Node *top);

bool own_read_joints(OwnFile *file);
bool own_read_drives(OwnFile *file);
const char *own_drive_type(AbdDriveKind kind); /* the type of the drive in a scene: "torque" */

#endif
