/* The interface of peer engines: a scene of abd as rigid bodies with a mass, a frame along the principal axes, and
 * shapes in that frame. Everything is in abd's rest coordinates, so that a body's pose in any engine is a pose of abd's
 * mesh. Tested by tests/cli/peers.sh. */
#ifndef ABD_PEERS_PEER_H
#define ABD_PEERS_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A connected part of a mesh, and its description for engines without meshes. */
typedef enum PartKind {
  PART_BOX,     /* along the rest axes: center, half */
  PART_BALL,    /* center, radius half[0] */
  PART_CONVEX,  /* one hull */
  PART_RING,    /* a closed tube: one hull for each of its segments */
  PART_CONCAVE, /* or open: no hulls */
} PartKind;

typedef struct Hull {
  double *vertex; /* [3 vertex_count] */
  size_t vertex_count;
} Hull;

typedef struct Part {
  PartKind kind;
  double center[3], half[3];
  double *vertex;
  uint32_t *triangle; /* into vertex */
  size_t vertex_count, triangle_count;
  Hull *hull;
  size_t hull_count;
} Part;

typedef struct PeerMesh {
  const char *name;
  const double *vertex; /* the world's */
  const uint32_t *triangle;
  size_t vertex_count, triangle_count;
  bool closed, half_space;
  Part *part; /* none of a half-space */
  size_t part_count;
} PeerMesh;

typedef struct PeerBody {
  const char *name;
  size_t mesh;
  bool moves;
  double mass, inertia[3], friction;
  double node[12]; /* p, c1, c2, c3 at the start; c is a rotation */
  double velocity[3], spin[3];
} PeerBody;

typedef struct PeerScene {
  struct AbdWorld *world; /* started */
  const struct Scene *scene;
  PeerMesh *mesh;
  PeerBody *body;
  size_t mesh_count, body_count;
  double gravity[3], dt;
  int iterations; /* of the engine's solver; 0: its own default */
  double range;   /* [m] abd's contact begins at this distance; the peers' shapes get a skin of half of it */
} PeerScene;

/* The plane of a half-space's body: points x with normal . x = offset, the solid is below. */
void peer_plane(const PeerScene *scene, size_t body, double normal[3], double *offset);

enum { PEER_ERROR_SIZE = 512 };

typedef struct Engine {
  const char *name, *title; /* as an option, as a column's head */
  const char *about;        /* settings, one line */
  int variant;
  bool meshes; /* takes any mesh; others need hulls */
  /* NULL and a sentence if it cannot represent the scene. */
  void *(*create)(const PeerScene *scene, int variant, char error[PEER_ERROR_SIZE]);
  /* One step of scene->dt; false and a sentence if the engine failed. */
  bool (*step)(void *state, char error[PEER_ERROR_SIZE]);
  /* The pose of a body that moves as p, c1, c2, c3 and its velocities, linear and angular, world axes. */
  void (*pose)(void *state, size_t body, double node[12], double rate[6]);
  void (*destroy)(void *state); /* NULL is allowed */
} Engine;

/* The engines of this build, ended by NULL; abd itself is the first. */
const Engine *const *engine_list(void);
const Engine *engine_find(const char *name); /* NULL if there is none */

extern const Engine engine_abd;
extern const Engine engine_ghost; /* not listed: for tests */
extern const Engine engine_bullet_box, engine_bullet_hull, engine_bullet_gimpact;
extern const Engine engine_mujoco_newton, engine_mujoco_cg;
extern const Engine engine_ode;

/* Rotation matrix (columns) to unit quaternion w x y z, and a pose from position and quaternion. */
void quaternion_of(const double column[9], double q[4]);
void node_of(const double position[3], const double q[4], double node[12]);

/* Zeroed; ends the program with a sentence if memory runs out. */
void *peer_alloc(size_t count, size_t size);

#ifdef __cplusplus
}
#endif
#endif
