/* The compiled scene (Model) and what changes from step to step (State).
 *
 * A Model is immutable after model_start: no function writes to it or casts its const away. Positions of soft vertices,
 * the surfaces through them and their tree boxes are values of the backend, see geom/surface.h and contact/soft_side.h.
 *
 * Bodies are affine: pose q = (p, c1, c2, c3), x = p + X c1 + Y c2 + Z c3, rest frame centred and principal, so the
 * mass matrix is diag(mass, second[0], second[1], second[2]) (x) I3. Bodies that move (dynamic, kinematic) have a
 * slot among the unknowns; static ones have none. A soft body has no slot; its vertices are blocks of one node each,
 * see model/node.h. Tested in tests/test_world.c. */
#ifndef ABD_MODEL_H
#define ABD_MODEL_H

#include "base/arena.h"
#include "base/base.h"
#include "geom/mesh.h"
#include "math/vec.h"
#include "model/anchor.h"
#include "model/joint.h"
#include "model/linkage.h"
#include "model/node.h"
#include "model/soft.h"

/* The directions a body may move in when some of its coordinates are held: d -> P d, P = P^T = P^2. */
typedef struct Freedom {
  Vec3 shift;     /* 1 where the centre of mass may move along a world axis, else 0 */
  int rotations;  /* how many of the three rotations are held */
  Vec3 axis;      /* rotations = 2: the free world axis; 1: the held one */
  Vec3 rest_axis; /* A0^T axis */
  Affine held;    /* rotations = 1: the unit direction removed from (c1, c2, c3) */
} Freedom;

/* Velocity of a body's surface against the body, in its rest frame: velocity + angular x (rest point - center). */
typedef struct Drift {
  bool moves;
  Vec3 velocity, angular, center;
} Drift;

typedef struct Body {
  uint32_t id; /* ascending, never reused */
  char *name;
  int mesh, slot; /* slot: index among the moving blocks, -1 for static and soft bodies */
  AbdMotion motion;
  AbdElasticity elasticity;
  double density, mass, volume, stiffness, friction, restitution;
  double thickness; /* [m] that contact gives its surface: others stay half of it away */
  Vec3 second;      /* density times the mesh's second moments */
  Vec3 weight;      /* kinematic bodies: what ties c1..c3 to their target; dynamic: second */
  double pull;      /* the same for p: mass of dynamic bodies */
  uint32_t fixed;
  Freedom freedom;
  bool jointed;   /* has a joint */
  bool light;     /* a light link: a body at another end of its joints is much heavier, see LIGHT_LINK */
  bool unchecked; /* may cross others, see model/change.h */
  int soft;       /* 1 + index of the soft body; 0 if the body is stiff */
  Drift drift;
  bool sensor; /* collides with nothing */
  double gravity_scale, drag, angular_drag;
  double rolling, torsion; /* [m] coefficients of friction against rolling and spinning */
  int group;
  bool passes; /* collides with nothing */
  Affine start;
  Vec3 velocity, angular_velocity, force, torque; /* at the start */
} Body;

typedef struct PairRule {
  uint64_t key;
  double friction, restitution; /* NaN: as the bodies say */
} PairRule;                     /* friction < 0: the pair does not collide */

typedef struct Model {
  AbdWorldDef def; /* automatic values filled in by model_start */
  Mesh *mesh;
  Body *body;
  PairRule *rule; /* sorted by key once started */
  int mesh_count, mesh_capacity, body_capacity, rule_count, rule_capacity;
  Joint *joint;
  int joint_count, joint_capacity;
  uint32_t last_body, last_joint;     /* ids given so far */
  uint32_t shared_body, shared_joint; /* of a branch: bodies and joints with ids up to these belong to its model */
  Soft *soft;
  Attachment *attachment;
  int soft_count, soft_capacity, attachment_count, attachment_capacity;
  int body_count;
  int block_count;              /* the bodies, and once started the soft vertices after them */
  int *vertex_soft;             /* per soft vertex: index of its soft body */
  unsigned char *vertex_motion; /* per soft vertex: its AbdMotion */
  Linkage linkage;              /* the unknowns that linear joints leave */
  int *moving;                  /* block of each slot, ascending */
  int *kinematic;               /* the kinematic blocks, ascending */
  int kinematic_count;
  int moving_count;
  double mass_max;        /* of the dynamic bodies */
  double joint_tolerance; /* [m] what a joint that is not linear may leave open */
  bool has_friction, has_restitution, started;
  Interrupt *interrupt; /* polled by long loops while the world starts or steps; NULL otherwise */
  Arena *arena;         /* that its arrays are in, see model/share.h; NULL: they are its own */
} Model;

/* Settings of a body that callers may change between steps, see model/handling.h. */
typedef struct Handling {
  double friction, gravity_scale, drag, angular_drag;
  Vec3 surface_velocity, surface_angular_velocity; /* rest frame */
} Handling;

/* What a pair of bodies remembers, sorted by pair_key: its anchors and how much stiffer its barrier had to become. */
typedef struct PairMemory {
  int a, b, first_anchor, anchor_count;
  Stiffening stiffening;
} PairMemory;

/* How the ranks of an MPI job divide the bodies, see mpi/part.h. */
typedef struct BodyShare {
  int rank; /* -1 if the body does not move */
  float load;
} BodyShare;
typedef struct Shares {
  int ranks;            /* 0 = bodies are not divided */
  int steps, divisions; /* steps since the last division; divisions so far */
  BodyShare *body;      /* per body; NULL until they are divided */
} Shares;

/* Velocity and angular momentum of a body, see step/flight.h. */
typedef struct Flight {
  Vec3 v, l;
} Flight;

typedef struct State {
  int64_t step;
  double duration; /* [s] of the step to take: dt, or of a sub-step */
  double before;   /* [s] from q_before to q */
  int level;       /* the next step begins with sub-steps of dt / 2^level, see step/substep.h */
  Nodes q, rate;
  Nodes q_before, rate_before; /* one step earlier, for BDF2 */
  Flight *taken;               /* per body: what contact took of the half kick that ends a flight, not in the rate; of
                                * a kinematic body how far it is off its course [m], [rad], see script_stray */
  unsigned char *restart;      /* per body: near contact in the last step, so BDF2 does not use its history */
  Vec3 *force, *torque;        /* per body: applied, world axes */
  Handling *handling;          /* per body; the Model has a copy */
  Vec3 *vertex_force;          /* per soft vertex: applied; NULL until one is set */
  Affine *target;              /* per kinematic block: pose after the next step */
  unsigned char *has_target;   /* per kinematic block */
  Anchor *anchor;
  PairMemory *memory;
  JointState *joint;
  uint64_t *touch; /* sorted pair_keys of the bodies that touched at the end of the last step */
  int anchor_count, anchor_capacity, memory_count, memory_capacity, touch_count, touch_capacity;
  Shares shares;
  /* If several processes share the arrays of bodies, see model/share.h: their memory, and the bodies first_body up to
   * end_body that this one copies. Anchors, memory and touches are each process's own. */
  Arena *arena;
  int first_body, end_body;
} State;

/* The index of an id among the bodies or joints there are; -1 if it was removed or never given. */
int model_body_index(const Model *model, uint32_t id);
int model_joint_index(const Model *model, uint32_t id);
uint64_t pair_key(int a, int b); /* the same for (a, b) and (b, a) */
const PairRule *model_rule(const Model *model, int a, int b);
/* Dynamic, or a soft body that is not still. */
bool model_gives_way(const Model *model, int body);
bool model_collides(const Model *model, int a, int b);
bool model_excludes(const Model *model, int a, int b); /* a rule or a group keeps them from colliding */
double model_friction(const Model *model, int a, int b);
bool model_has_friction(const Model *model); /* of any pair */
double model_restitution(const Model *model, int a, int b);
/* [m] The way of the first body's surface against the body in a time, less that of the second's, at two rest points, in
 * the world at poses q. A soft surface has none. */
Vec3 model_drift(const Model *model, const int body[2], const Affine q[2], const Vec3 rest[2], double time);
/* [rad/s] Angular velocity of the first body's surface against the body, less that of the second's. */
Vec3 model_drift_turn(const Model *model, const int body[2], const Affine q[2]);
bool model_drifts(const Model *model, int a, int b);
bool model_has_drift(const Model *model); /* of any body */

AbdStatus model_add_mesh(Model *model, const AbdMeshDef *def, AbdError *error);
AbdStatus model_add_body(Model *model, const AbdBodyDef *def, AbdError *error);
AbdStatus model_add_rule(Model *model, int a, int b, double friction, AbdError *error);
AbdStatus model_add_restitution(Model *model, int a, int b, double restitution, AbdError *error);
AbdStatus model_add_joint(Model *model, const AbdJointDef *def, AbdError *error);
void model_mark_joint(Model *model, const Joint *joint); /* sets `jointed` and `light` of its bodies */
AbdStatus model_check_drive(const Joint *joint, const AbdDrive *drive, AbdError *error);
AbdStatus model_start(Model *model, AbdError *error); /* slots, automatic settings */
void model_stop(Model *model);                        /* undoes model_start, also one that failed */
void model_destroy(Model *model);

/* The rest-frame pose of a body whose mesh file's frame is at position, rotation (quaternion w x y z). */
Affine model_pose_of(Vec3 position, const double rotation[4]); /* without a mesh: origin and axes of the world's */
Affine model_pose(const Mesh *mesh, Vec3 position, const double rotation[4]);
AbdStatus model_check_drag(const char *body, double gravity_scale, double drag, double angular_drag, AbdError *error);
AbdStatus model_check_thickness(const char *body, double thickness, AbdError *error);
AbdStatus model_check_rotation(const char *body, const double rotation[4], AbdError *error);
/* The least contact range for bodies in a box: distances of surfaces are as exact as their coordinates. */
double model_least_range(Box box);
AbdStatus model_check_vector(const double *v, int n, const char *body, const char *what, AbdError *error);
/* The body of a block: of a soft vertex its soft body. */
static inline int model_whole(const Model *model, int block) {
  return block < model->body_count ? block : model->soft[model->vertex_soft[block - model->body_count]].body;
}
static inline int model_vertex_count(const Model *model) { return model->block_count - model->body_count; }
/* Are all blocks bodies that share no unknowns? */
static inline bool model_is_free(const Model *model) { return !model->soft_count && !model->linkage.linked_count; }
static inline bool block_is_vertex(const Model *model, int block) { return block >= model->body_count; }
static inline AbdMotion block_motion(const Model *model, int block) {
  return block < model->body_count ? model->body[block].motion
                                   : (AbdMotion)model->vertex_motion[block - model->body_count];
}
/* Has the block unknowns? */
static inline bool block_moves(const Model *model, int block) {
  return block_motion(model, block) != ABD_MOTION_STATIC;
}
static inline const Mesh *block_mesh(const Model *model, int block) {
  return &model->mesh[model->body[model_whole(model, block)].mesh];
}
double block_mass(const Model *model, int block);
/* [m/s^2] Gravity on the block. */
static inline Vec3 block_gravity(const Model *model, int block) {
  return scale(model->body[model_whole(model, block)].gravity_scale, vec3_from(model->def.gravity));
}
/* [1/s] Drag of the block's node k: the first has the linear one, the columns the angular one. */
static inline double block_drag(const Model *model, int block, int k) {
  const Body *b = &model->body[model_whole(model, block)];
  return k == 0 ? b->drag : b->angular_drag;
}
/* Inertia of the first node: the mass of a dynamic block, a large weight of a kinematic one. */
double block_pull(const Model *model, int block);
/* [kg] The same of a kinematic block that pushes nothing heavier than a mass. */
double block_script_pull(const Model *model, int block, double mass);
/* Has the block a joint or an attachment? */
bool block_is_jointed(const Model *model, int block);
/* Its pose at the start. */
Affine block_start(const Model *model, int block);
/* Index of a kinematic block among the kinematic ones. */
int model_kinematic(const Model *model, int block);

/* A block's pose, or a vector (rate, gradient, direction). The columns of a vertex are the identity in a pose, zero
 * in a vector. */
static inline Affine node_pose(const Model *m, Nodes q, int block) {
  return block < m->body_count ? q.body[block] : affine(q.vertex[block - m->body_count], mat3_identity());
}
static inline Affine node_vector(const Model *m, Nodes v, int block) {
  if (block < m->body_count) return v.body[block];
  Affine out = {{v.vertex[block - m->body_count]}};
  return out;
}
/* The first of a block's nodes: four of a body, one of a vertex. */
static inline Vec3 *node_at(const Model *m, Nodes q, int block) {
  return block < m->body_count ? q.body[block].n : &q.vertex[block - m->body_count];
}
static inline double node_dot(const Model *m, Nodes a, Nodes b, int block) {
  int v = block - m->body_count;
  return v < 0 ? affine_dot(&a.body[block], &b.body[block]) : dot(a.vertex[v], b.vertex[v]);
}
static inline void node_put(const Model *m, Nodes q, int block, Affine value) {
  if (block < m->body_count) q.body[block] = value;
  else q.vertex[block - m->body_count] = value.n[0];
}
/* P d, with P the projector of the body's freedom. */
Affine freedom_project(const Body *body, Affine d);
/* The same for a block; a vertex has its first node alone. */
Affine block_project(const Model *model, int block, Affine d);
/* Does a pose have the rotations that are held? */
bool freedom_holds(const Body *body, const Affine *q);
/* The part of an angular velocity that the held rotations leave. */
Vec3 freedom_spin(const Body *body, Mat3 a, Vec3 angular_momentum);

AbdStatus state_init(State *state, const Model *model, AbdError *error);
/* Puts a stiff body at a pose with velocities, as if it began there: no history. */
void state_put(State *state, const Model *model, int body, Affine q, Vec3 velocity, Vec3 angular_velocity);
/* Drops what the pairs of a body remember. */
void state_forget(State *state, int body);
/* A state that a step writes: it has poses, rates and joints, and no arrays that a step leaves unchanged. */
AbdStatus state_next_init(State *next, const Model *model, AbdError *error);
void state_destroy(State *state);
/* Copies all of it. to: zero, or a state of the same model. False if memory is out. */
bool state_copy(State *to, const State *from, const Model *model);
/* Copies poses, rates and joints; a step then writes those of moving blocks. */
void state_next_copy(State *next, const State *state, const Model *model);
/* The next state becomes the state, the state becomes the one before. Clears the targets. */
void state_advance(State *state, State *next, const Model *model);
/* Room for forces on single vertices. False if memory is out. */
bool state_need_vertex_force(State *state, const Model *model);
/* Room for the shares of all bodies. False if memory is out. */
bool state_need_shares(State *state, const Model *model);
size_t state_size(const State *state, const Model *model);
void state_save(const State *state, const Model *model, unsigned char *bytes);
/* The bodies, joints and rules of pairs of a snapshot, and the settings that may be automatic. */
typedef struct Snapshot {
  int body_count, joint_count, rule_count;
  const unsigned char *body, *joint; /* ids, ascending */
  const unsigned char *rule;         /* PairRules, sorted, of the bodies in their order */
  double range, tolerance;
} Snapshot;
/* Fails if the bytes are damaged. */
AbdStatus snapshot_read(const unsigned char *bytes, size_t size, int threads, Snapshot *snapshot, AbdError *error);
uint32_t snapshot_id(const unsigned char *ids, int index);
bool snapshot_has(const unsigned char *ids, int count, uint32_t id);
/* A started model has all rules of the snapshot and no others. */
bool model_has_rules(const Model *model, const Snapshot *snapshot);
/* Replaces all rules by those of the snapshot, whose bodies the model has. */
AbdStatus model_take_rules(Model *model, const Snapshot *snapshot, AbdError *error);
/* Of bytes that snapshot_read has read. The model must have the bodies and joints of the snapshot. */
AbdStatus state_restore(State *state, const Model *model, const unsigned char *bytes, size_t size, AbdError *error);
uint64_t state_hash(const State *state, const Model *model);

#endif
