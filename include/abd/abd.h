/* abd: affine body dynamics. Stiff bodies simulated directly on their triangle meshes; no two surfaces ever cross.
 *
 * The public interface of worlds; abd/scene.h reads scenes and abd/record.h writes and reads runs. Units are SI:
 * metres, kilograms, seconds, radians, newtons, pascals.
 *
 * A body is affine: a material point X of its mesh is at x = p + X c1 + Y c2 + Z c3 in the world. Its twelve unknowns
 * are stored and passed as the 12 numbers p, c1, c2, c3 (the column-major 3x4 matrix [p | A]). The mesh's rest
 * coordinates are centred: origin at the centre of mass, axes along the principal axes of inertia (see abd_mesh_view).
 *
 * Life of a world:
 *     AbdWorldDef def = abd_default_world_def();
 *     AbdWorld *world = abd_world_create(&def, &error);
 *     AbdMeshId mesh; abd_world_add_mesh(world, &mesh_def, &mesh);
 *     AbdBodyId body; abd_world_add_body(world, &body_def, &body);
 *     while (...) {
 *       AbdStepReport report;
 *       if (abd_world_step(world, &report) != ABD_OK) ... abd_world_error(world) ...
 *     }
 *     abd_world_destroy(world);
 *
 * Errors: a function that can fail returns an AbdStatus; abd_world_error(world) returns a sentence that names body,
 * triangle and value. A numerical outcome (a step that did not converge) is not an error: it is a field of the step's
 * report. The library never exits, aborts or prints. Only one thread at a time may use a world; abd_world_interrupt
 * alone may be called at any time. docs/glossary.md
 * explains the terms. */
#ifndef ABD_H
#define ABD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define ABD_API __attribute__((visibility("default")))
#else
#define ABD_API
#endif

#define ABD_VERSION_MAJOR 0
#define ABD_VERSION_MINOR 1
#define ABD_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

typedef struct AbdWorld AbdWorld;

/* Ids are 1-based in the order of creation and never reused; zero is null. */
typedef struct AbdMeshId {
  uint32_t id;
} AbdMeshId;
typedef struct AbdBodyId {
  uint32_t id;
} AbdBodyId;
typedef struct AbdJointId {
  uint32_t id;
} AbdJointId;

typedef enum AbdStatus {
  ABD_OK = 0,
  ABD_ERROR_ARGUMENT, /* an invalid value: negative density, unknown id, NaN */
  ABD_ERROR_MESH,     /* a mesh that cannot be simulated: index out of range, no volume and no thickness */
  ABD_ERROR_CROSSING, /* two surfaces touch or cross at the start or after a change, or are nearer than contact keeps */
  ABD_ERROR_MEMORY,   /* out of memory; the world is as it was before the call */
  ABD_ERROR_NUMERIC,  /* a NaN or an infinity appeared; the world is as it was before the step */
  ABD_ERROR_STATE,    /* not possible in this state: a step while a change is open, a foreign snapshot */
  ABD_ERROR_JOINT,    /* an impossible joint: anchors apart, no axis, limits that exclude the start */
  ABD_INTERRUPTED,    /* abd_world_interrupt stopped the call; the world is as it was before */
  ABD_ERROR_SCENE,    /* a scene or mesh file that is missing or malformed, a key with a wrong value */
  ABD_ERROR_FILE,     /* a run file that is missing, damaged, of another version, or in use by another run */
  ABD_ERROR_DISK,     /* a file that cannot be written: full disk, no permission */
} AbdStatus;

typedef struct AbdError {
  AbdStatus status;
  char text[1024];
} AbdError;

ABD_API const char *abd_version(void);
ABD_API const char *abd_status_name(AbdStatus status);

/* ---- World ------------------------------------------------------------------------------------------------------ */

typedef enum AbdIntegrator {
  ABD_INTEGRATOR_RIGID = 0, /* implicit Euler around a free rigid flight: keeps spin and energy in free motion */
  ABD_INTEGRATOR_EULER,     /* implicit Euler, the paper's: spin decays as 1/w^2 = 1/w0^2 + 2 dt t */
  ABD_INTEGRATOR_BDF2,      /* second order backward differences */
} AbdIntegrator;

typedef struct AbdContactDef {
  double
      range; /* dhat [m]: surfaces nearer than separation + range repel; 0 = 1/1000 of the dynamic bodies' mean size, at
                most 1/10 of the smallest one's */
  double separation;       /* [m] surfaces never come nearer than this, 0 */
  double stiffness;        /* factor on the automatic contact stiffness, 1 */
  double friction;         /* Coulomb coefficient of bodies and pairs without their own, 0 */
  double friction_speed;   /* [m/s] friction sticks below this sliding speed, 1e-3 */
  int friction_iterations; /* the most solves of a step until the loads of friction agree, 4; 0 = frictionless */
  /* Of bodies and pairs without their own, 0 to 1: the part of the speed that an impact gives back, 0. */
  double restitution;
  /* [m/s] Slower impacts do not bounce; 0 = twice what gravity adds in a step, at least solver.tolerance / 100. */
  double restitution_speed;
  bool friction_anchors; /* sticking contacts keep their slip from step to step, so that nothing creeps; true */
} AbdContactDef;

/* The solver of Newton's linear systems. */
typedef enum AbdLinear {
  ABD_LINEAR_AUTO = 0, /* Cholesky while the factor is predicted to fit in AbdSolverDef.memory, else PCG */
  ABD_LINEAR_CHOLMOD,  /* SuiteSparse's, if the library was built with it (GPL): for comparison */
  ABD_LINEAR_CHOLESKY, /* abd's block Cholesky for any size */
  ABD_LINEAR_PCG       /* conjugate gradients, preconditioned by an incomplete factor */
} AbdLinear;

/* How candidates of two bodies are found. All ways give the same bits; those after the first are for comparison. */
typedef enum AbdDetection {
  ABD_DETECTION_TREES = 0, /* both bodies' trees of boxes descended together, within the intersection of their boxes */
  ABD_DETECTION_TREES_PLAIN, /* the same without the intersection */
  ABD_DETECTION_TREE,        /* every triangle of one body descends the tree of the other */
  ABD_DETECTION_IAABB_1,     /* all pairs of triangles in the intersection of the bodies' boxes, the paper's i-AABB */
  ABD_DETECTION_IAABB_3      /* ... cut into a tree of three levels */
} AbdDetection;

/* What happens to a step that takes too many iterations, docs/method.md. */
typedef enum AbdSubsteps {
  ABD_SUBSTEPS_AUTO = 0, /* it is given up and taken in halves, which are halved likewise */
  ABD_SUBSTEPS_OFF,      /* it goes on up to max_iterations */
} AbdSubsteps;

/* The machine that steps a world. */
typedef enum AbdDevice {
  ABD_DEVICE_AUTO = 0, /* the GPU if there is one and the world is large enough for it to be faster, else the CPU */
  ABD_DEVICE_CPU,
  ABD_DEVICE_CUDA /* an NVIDIA GPU; without one the world does not start */
} AbdDevice;

/* What the ranks of an MPI job divide among them (docs/scale.md). */
typedef enum AbdRanks {
  ABD_RANKS_AUTO = 0, /* bodies if the world is large enough and has neither joints, soft bodies nor restitution, else
                         pairs */
  ABD_RANKS_PAIRS,    /* the work on pairs of bodies; the bits of one process for any number of ranks */
  ABD_RANKS_BODIES    /* the bodies, with all work on them; the bits depend on the number of ranks */
} AbdRanks;

/* The solver of the linear systems of islands that several ranks share (docs/scale.md). */
typedef enum AbdRanksLinear {
  ABD_RANKS_LINEAR_OWN = 0, /* conjugate gradients over the bodies at borders, with the factor of each rank */
  ABD_RANKS_LINEAR_PETSC    /* PETSc's, if the library was built with it; options in ABD_PETSC_OPTIONS */
} AbdRanksLinear;

typedef struct AbdSolverDef {
  int max_iterations; /* Newton iterations after which a step is reported as not converged, 1000; with sub-steps, which
                         need more than 150 here, each takes 150 at most */
  double tolerance;   /* [m/s] converged when the Newton step's surface speed is below this; 0 = automatic */
  int threads;        /* 0 = all processors; the result does not depend on it */
  AbdLinear linear;
  double memory; /* [bytes] the largest factor with ABD_LINEAR_AUTO, 8e9; 0 = any */
  AbdDetection detection;
  AbdSubsteps substeps;
  AbdDevice device;
  AbdRanks ranks;
  AbdRanksLinear ranks_linear;
} AbdSolverDef;

typedef struct AbdWorldDef {
  double dt;         /* [s] 0.01 */
  double gravity[3]; /* [m/s^2] 0 0 -9.81 */
  AbdIntegrator integrator;
  AbdContactDef contact;
  AbdSolverDef solver;
} AbdWorldDef;

ABD_API AbdWorldDef abd_default_world_def(void);
/* Returns NULL on failure and fills error (which may be NULL). */
ABD_API AbdWorld *abd_world_create(const AbdWorldDef *def, AbdError *error);
ABD_API void abd_world_destroy(AbdWorld *world); /* NULL is allowed */
/* The sentence of the last failure, never NULL. */
ABD_API const char *abd_world_error(const AbdWorld *world);

/* ---- Meshes ----------------------------------------------------------------------------------------------------- */

typedef struct AbdMeshDef {
  const char *name;     /* for messages; may be NULL */
  const double *vertex; /* [3 vertex_count] m */
  size_t vertex_count;
  const uint32_t *triangle; /* [3 triangle_count] */
  size_t triangle_count;
  const uint32_t *edge; /* [2 edge_count] edges without a triangle: wires; edges of triangles may be repeated here */
  size_t edge_count;    /* vertices without a triangle or an edge are points, which collide too */
  double thickness;     /* [m] of an open surface, diameter of wires and points, for their mass; 0 = 1 m^2, 1 m:
                                density then counts as kg/m^2, kg/m, kg for surfaces, wires, points */
  bool half_space;      /* everything behind the plane of the first triangle is solid; not for dynamic bodies */
  bool keep_frame;      /* the vertices are rest coordinates of an AbdMeshView and are used bit for bit */
} AbdMeshDef;

ABD_API AbdMeshDef abd_default_mesh_def(void);
/* Copies the mesh, centres it and builds its tree. Bodies that use one mesh share it. */
ABD_API AbdStatus abd_world_add_mesh(AbdWorld *world, const AbdMeshDef *def, AbdMeshId *mesh);

/* What the volume of a mesh, and so mass, centre and inertia, is computed from. */
typedef enum AbdVolumeSource {
  ABD_VOLUME_SHEET = 0, /* no inside: the area, length or number of an open surface, wires, points */
  ABD_VOLUME_ENCLOSED,  /* a clean closed surface: the integral over it */
  ABD_VOLUME_COVERED,   /* a surface with holes, flipped or repeated triangles: the integral with those corrected */
  ABD_VOLUME_SAMPLED,   /* shells that overlap: points with a winding number above 1/2 */
} AbdVolumeSource;

/* A view of the solver's mesh. file coordinates = origin + axes * rest, axes column-major. Valid until the world is
 * destroyed; that of a soft body until the body is removed. */
typedef struct AbdMeshView {
  const char *name;
  const double *vertex; /* [3 vertex_count] centred rest coordinates */
  size_t vertex_count;
  const uint32_t *triangle;
  size_t triangle_count;
  const uint32_t *edge; /* every edge once, also those of triangles */
  size_t edge_count;
  double origin[3], axes[9];
  bool closed; /* a closed, consistently oriented surface */
  bool half_space;
  AbdVolumeSource source;
  double volume;       /* [m^3] times density gives the mass */
  double plain_volume; /* [m^3] the integral over the triangles as given, about the centre of the mesh's box */
  double thickness;    /* [m] as given */
} AbdMeshView;
ABD_API AbdStatus abd_mesh_view(const AbdWorld *world, AbdMeshId mesh, AbdMeshView *view);

/* ---- Bodies ----------------------------------------------------------------------------------------------------- */

typedef enum AbdMotion { ABD_MOTION_DYNAMIC = 0, ABD_MOTION_STATIC, ABD_MOTION_KINEMATIC } AbdMotion;

typedef enum AbdElasticity {
  ABD_ELASTICITY_ORTHO = 0,   /* kappa vol |A^T A - I|^2, the paper's */
  ABD_ELASTICITY_ARAP,        /* 4 kappa vol |A - R|^2: as stiff as ortho for small strains */
  ABD_ELASTICITY_NEO_HOOKEAN, /* Young's modulus 8 kappa, Poisson's ratio 0.3 */
} AbdElasticity;

/* Coordinates held fixed: world axes; the rotations are about the world axes through the centre of mass. */
enum {
  ABD_FIX_X = 1,
  ABD_FIX_Y = 2,
  ABD_FIX_Z = 4,
  ABD_FIX_ROTATION_X = 8,
  ABD_FIX_ROTATION_Y = 16,
  ABD_FIX_ROTATION_Z = 32
};

typedef struct AbdBodyDef {
  const char *name; /* for messages and files; may be NULL */
  AbdMeshId mesh;
  AbdMotion motion;
  double density;   /* [kg/m^3] 1000; may be 0 for a static body */
  double mass;      /* [kg] 0 = density times the mesh's volume */
  double stiffness; /* kappa [Pa] of the elasticity, 1e11 */
  AbdElasticity elasticity;
  double position[3];         /* of the mesh's own origin, as in its file */
  double rotation[4];         /* quaternion w x y z about that origin, 1 0 0 0 */
  double velocity[3];         /* [m/s] of the centre of mass */
  double angular_velocity[3]; /* [rad/s] world axes, about the centre of mass */
  double force[3];            /* [N] constant, at the centre of mass */
  double torque[3];           /* [N m] constant, world axes */
  uint32_t fixed;             /* ABD_FIX_* bits */
  double friction;            /* coefficient of this body, negative = the world's; a pair uses sqrt(mu_a mu_b) */
  double restitution;         /* 0 to 1, negative = the world's; a pair uses sqrt(e_a e_b); soft bodies have none */
  double contact_thickness;   /* [m] two bodies stay apart by half the sum of theirs; 0 */
  int32_t group;              /* bodies of one group >= 0 do not collide with each other; -1 = none */
  bool no_contact;            /* the body collides with nothing; false */
  bool has_center_of_mass;    /* center_of_mass replaces that of the mesh; false */
  double center_of_mass[3];   /* [m] in the coordinates of the mesh's file */
  double inertia[6];          /* [kg m^2] xx, yy, zz, xy, xz, yz about the centre of mass, along the axes of the mesh's
                                 file; all 0 = that of the mesh, in proportion to the mass */
  double rolling_friction;    /* [m] torque against rolling over the normal force of a point of contact; of a pair the
                                 sum of its bodies'; not between soft bodies; 0 */
  double torsional_friction;  /* [m] the same against spinning about the normal, 0 */
  double surface_velocity[3]; /* [m/s] of its surface against the body, along the axes of the mesh's file: a conveyor
                                 belt; only friction feels it; 0 */
  double surface_angular_velocity[3]; /* [rad/s] the same about the mesh's origin: a turntable; both are added; 0 */
  double gravity_scale;               /* factor on the world's gravity, 1; 0 = none acts on the body */
  bool sensor; /* it collides with nothing and exerts no contact forces; abd_body_overlaps and events find what
                  overlaps it; false */
  double drag, angular_drag; /* [1/s] rates at which momentum and angular momentum decay, 0 */
} AbdBodyDef;

ABD_API AbdBodyDef abd_default_body_def(void);
/* Before the start and between steps, see abd_world_begin_change. */
ABD_API AbdStatus abd_world_add_body(AbdWorld *world, const AbdBodyDef *def, AbdBodyId *body);
/* Excludes a pair from collision; sets the friction coefficient, the restitution of a pair. */
ABD_API AbdStatus abd_world_exclude_pair(AbdWorld *world, AbdBodyId a, AbdBodyId b);
ABD_API AbdStatus abd_world_set_pair_friction(AbdWorld *world, AbdBodyId a, AbdBodyId b, double friction);
ABD_API AbdStatus abd_world_set_pair_restitution(AbdWorld *world, AbdBodyId a, AbdBodyId b, double restitution);

/* How many bodies there are, and the id of each, ascending: k + 1 while none was removed. The id is null beyond the
 * last. */
ABD_API size_t abd_world_body_count(const AbdWorld *world);
ABD_API AbdBodyId abd_world_body_at(const AbdWorld *world, size_t k);
ABD_API size_t abd_world_mesh_count(const AbdWorld *world); /* ids of meshes given so far */

typedef struct AbdBodyView {
  const char *name;
  AbdMeshId mesh;
  AbdMotion motion;
  double density, mass; /* [kg/m^3] [kg] */
  double inertia[3];    /* [kg m^2] principal moments, about the rest axes */
  double stiffness, friction;
  AbdElasticity elasticity;
  uint32_t fixed;
  int32_t group;
  double contact_thickness;
  bool sensor;
} AbdBodyView;
ABD_API AbdStatus abd_body_view(const AbdWorld *world, AbdBodyId body, AbdBodyView *view);
/* Whether two bodies may collide: false for excluded pairs, equal groups, and two bodies that are not dynamic. */
ABD_API bool abd_world_pair_collides(const AbdWorld *world, AbdBodyId a, AbdBodyId b);
/* All pairs that would collide without an excluded pair, a joint, or a body with no_contact, in no order. Pairs of
 * equal groups are not listed: they are quadratic in the bodies, and AbdBodyView has the group. Writes at most capacity
 * pairs and returns how many there are. */
ABD_API size_t abd_world_excluded_pairs(const AbdWorld *world, AbdBodyId (*pair)[2], size_t capacity);
/* A number that every change and every restore increases. While it stays, bodies, joints and excluded pairs stay. */
ABD_API uint64_t abd_world_changes(const AbdWorld *world);

/* Pose: the 12 numbers p, c1, c2, c3; velocity of the centre of mass and angular velocity. */
ABD_API AbdStatus abd_body_nodes(const AbdWorld *world, AbdBodyId body, double nodes[12]);
ABD_API AbdStatus abd_body_velocity(const AbdWorld *world, AbdBodyId body, double linear[3], double angular[3]);
/* Force and torque [N, N m] until set again: at the centre of mass, world axes. A soft body has no torque; its force is
 * distributed over the vertices by mass. */
ABD_API AbdStatus abd_body_set_force(AbdWorld *world, AbdBodyId body, const double force[3], const double torque[3]);
/* Settings of the def from the next step on; snapshots have them. Friction below 0 is the world's.
 * Automatic settings stay as the start made them. A soft body has no angular drag, and its surface
 * no velocity against it. */
ABD_API AbdStatus abd_body_set_friction(AbdWorld *world, AbdBodyId body, double friction);
ABD_API AbdStatus abd_body_set_gravity_scale(AbdWorld *world, AbdBodyId body, double scale);
ABD_API AbdStatus abd_body_set_drag(AbdWorld *world, AbdBodyId body, double drag, double angular_drag);
ABD_API AbdStatus abd_body_set_surface_velocity(AbdWorld *world, AbdBodyId body, const double linear[3],
                                                const double angular[3]);
/* Kinematic bodies: the target of the next step (position of the mesh's origin and quaternion, as in the def), or the
 * velocities from now on. Without a target a body keeps its velocities, and returns to its course if contact drives it
 * off; along the course and about its axis it lags. */
ABD_API AbdStatus abd_body_set_target(AbdWorld *world, AbdBodyId body, const double position[3],
                                      const double rotation[4]);
ABD_API AbdStatus abd_body_set_velocity(AbdWorld *world, AbdBodyId body, const double linear[3],
                                        const double angular[3]);

/* ---- Soft bodies ------------------------------------------------------------------------------------------------- */

/* A soft body has the id of a body; its unknowns are its vertices. abd_body_nodes does not apply to it. */
typedef enum AbdSoftModel {
  ABD_SOFT_NEO_HOOKEAN = 0,    /* the paper's: infinite energy at inversion */
  ABD_SOFT_STABLE_NEO_HOOKEAN, /* finite energy at inversion */
  ABD_SOFT_COROTATED,          /* fixed corotated; finite energy at inversion */
} AbdSoftModel;

typedef struct AbdSoftDef {
  const char *name;     /* for messages and files; may be NULL */
  const double *vertex; /* [3 vertex_count] m, at rest */
  size_t vertex_count;
  const uint32_t *tet; /* [4 tet_count] a solid; its surface collides */
  size_t tet_count;
  const uint32_t *triangle; /* [3 triangle_count] a shell, if there are no tets */
  size_t triangle_count;
  const uint32_t
      *edge; /* [2 edge_count] rods, if there are neither: straight at rest; vertices of exactly two edges bend */
  size_t edge_count;
  AbdSoftModel model;
  double density;        /* [kg/m^3] 1000 */
  double young, poisson; /* [Pa] 1e5, 0.4 */
  double thickness;      /* [m] of a shell, diameter of a rod, 1e-3 */
  double bending;        /* factor on a shell's or a rod's resistance to bending, 1 */
  double damping; /* [s] time constant of viscous stress: damping ratio damping w / 2 of a mode of frequency w; 0 */
  double position[3], rotation[4]; /* of the vertices' origin, as for bodies */
  double velocity[3];              /* [m/s] */
  double angular_velocity[3];      /* [rad/s] about the centre of mass */
  double force[3];                 /* [N] constant, distributed over the vertices by mass */
  double friction;                 /* negative = the world's */
  double
      contact_thickness; /* [m] as of bodies; parts of it stay so far apart, neighbours half their rest distance; 0 */
  int32_t group;
  bool self_contact;    /* true */
  double gravity_scale; /* as of bodies, 1 */
  double drag;          /* [1/s] rate at which the momentum of every vertex decays, 0 */
} AbdSoftDef;

ABD_API AbdSoftDef abd_default_soft_def(void);
ABD_API AbdStatus abd_world_add_soft(AbdWorld *world, const AbdSoftDef *def, AbdBodyId *body);
/* Attaches a vertex, at its place at the start, to a body or to the world (body null). It does not collide with that
 * body. Before the first step. */
ABD_API AbdStatus abd_soft_attach(AbdWorld *world, AbdBodyId soft, size_t vertex, AbdBodyId body);
/* The body to which a vertex is attached: its id, 0 for the world, -1 for none. */
ABD_API int64_t abd_soft_attached(const AbdWorld *world, AbdBodyId soft, size_t vertex);
/* Makes a vertex scripted: targets or velocities move it as kinematic bodies, and it crosses nothing. Before the first
 * step. */
ABD_API AbdStatus abd_soft_script(AbdWorld *world, AbdBodyId soft, size_t vertex);
ABD_API bool abd_soft_scripted(const AbdWorld *world, AbdBodyId soft, size_t vertex);
ABD_API bool abd_body_is_soft(const AbdWorld *world, AbdBodyId body);
typedef struct AbdSoftView {
  const char *name;
  size_t vertex_count, tet_count, triangle_count, edge_count; /* triangles of the surface or shell, edges of a rod */
  const double *rest;                                         /* [3 vertex_count] as given */
  const uint32_t *tet, *triangle, *edge;
  const int32_t *surface_vertex; /* vertex index of each vertex of the collision mesh (abd_mesh_view) */
  double mass, density, young, poisson, thickness, damping;
  AbdSoftModel model;
  bool self_contact;
} AbdSoftView;
ABD_API AbdStatus abd_soft_view(const AbdWorld *world, AbdBodyId soft, AbdSoftView *view);
ABD_API AbdStatus abd_soft_vertices(const AbdWorld *world, AbdBodyId soft,
                                    double *vertex); /* [3 vertex_count] present positions */
ABD_API AbdStatus abd_soft_velocities(const AbdWorld *world, AbdBodyId soft, double *velocity);
/* The numbers of all bodies, one body after the other in id order, copied by the threads of the world. Of a stiff
 * body 12 of pose and 6 of velocity (linear, angular), of a soft one 3 of each for every vertex. velocity may be
 * NULL. */
ABD_API void abd_world_poses(const AbdWorld *world, double *nodes, double *velocity);
/* Von Mises' stress [Pa] of each tet, each triangle of a shell (in its plane) or each edge of a rod (along it), without
 * damping: at present in a world, or of a def with its vertices at `vertex`. Of a def only material, thickness,
 * vertices and elements are used. */
ABD_API AbdStatus abd_soft_stress(const AbdWorld *world, AbdBodyId soft, double *stress);
ABD_API AbdStatus abd_soft_def_stress(const AbdSoftDef *def, const double *vertex, double *stress);
/* [N] on one vertex until set again, in addition to that of abd_body_set_force. */
ABD_API AbdStatus abd_soft_set_force(AbdWorld *world, AbdBodyId soft, size_t vertex, const double force[3]);
/* Scripted vertices: the target of the next step, or the velocity from now on [m/s]. Without a target a vertex keeps
 * its velocity. */
ABD_API AbdStatus abd_soft_set_target(AbdWorld *world, AbdBodyId soft, size_t vertex, const double position[3]);
ABD_API AbdStatus abd_soft_set_velocity(AbdWorld *world, AbdBodyId soft, size_t vertex, const double velocity[3]);

/* ---- Joints ----------------------------------------------------------------------------------------------------- */

/* The constraint of a joint between body a and body b or the world. Points and axes are world coordinates at the start.
 * "linear" ones hold to rounding (they are eliminated from the unknowns), the others to contact.range / 1000 or better,
 * see AbdStepReport.joint_residual. To the world all but universal, distance, rope, screw and angle are linear. */
typedef enum AbdJointKind {
  ABD_JOINT_WELD = 0,    /* no relative motion; linear */
  ABD_JOINT_BALL,        /* a common point; linear */
  ABD_JOINT_HINGE,       /* a common axis, no travel along it; linear. Coordinate: angle */
  ABD_JOINT_ORIENTATION, /* the relative orientation; linear */
  ABD_JOINT_LINE,        /* point of a on the line (point, axis) of b. Coordinate: travel */
  ABD_JOINT_PLANE,       /* point of a on the plane (point, normal axis) of b */
  ABD_JOINT_SLIDER,      /* only travel along the axis. Coordinate: travel */
  ABD_JOINT_CYLINDRICAL, /* travel along and rotation about the axis. Coordinate: travel; its angle is limited too */
  ABD_JOINT_PLANAR,      /* motion in the plane at right angles to axis, rotation about it. Coordinate: angle */
  ABD_JOINT_UNIVERSAL,   /* a common point, axis (in a) stays at right angles to axis_b (in b) */
  ABD_JOINT_DISTANCE,    /* point of a and point_b of b stay length apart. Coordinate: the distance */
  ABD_JOINT_ROPE,        /* ... never farther than length. Coordinate: the distance */
  ABD_JOINT_SCREW,       /* as cylindrical, with pitch metres of travel a turn. Coordinate: angle */
  ABD_JOINT_ANGLE,       /* the angle about axis (of b) is constant; with free it is only measured, limited, driven */
  ABD_JOINT_GEAR,        /* coordinate of joint_b = ratio * coordinate of joint_a, both counted from the start */
  ABD_JOINT_SUM,         /* keeps nothing. Coordinate: that of joint_a + ratio * that of joint_b, from the start */
  ABD_JOINT_KIND_COUNT
} AbdJointKind;

/* The coordinate of a joint: its position is read, limited, sprung and driven. */
typedef enum AbdCoordinate {
  ABD_COORDINATE_NONE = 0,
  ABD_COORDINATE_ANGLE,   /* [rad] about the axis, unwrapped, 0 at the start */
  ABD_COORDINATE_TRAVEL,  /* [m] along the axis, 0 at the start */
  ABD_COORDINATE_DISTANCE /* [m] between the two points */
} AbdCoordinate;

/* The fields of AbdJointDef that a kind of joint uses. */
enum {
  ABD_JOINT_TAKES_BODIES = 1, /* body_a, body_b, point, collide */
  ABD_JOINT_TAKES_AXIS = 2,
  ABD_JOINT_TAKES_AXIS_B = 4,
  ABD_JOINT_TAKES_COORDINATE = 8, /* limit, stiffness, rest, damping, friction, drive */
  ABD_JOINT_TAKES_ANGLE_LIMIT = 16,
  ABD_JOINT_TAKES_LENGTH = 32,
  ABD_JOINT_TAKES_PITCH = 64,
  ABD_JOINT_TAKES_FREE = 128, /* the coordinate can change only if free is true */
  ABD_JOINT_TAKES_JOINTS = 256,
  ABD_JOINT_TAKES_RATIO = 512,
  ABD_JOINT_NEEDS_POINT = 1024,  /* point matters; for the other kinds every point gives the same joint */
  ABD_JOINT_NEEDS_POINT_B = 2048 /* point_b is a second point, apart from point */
};

/* One row of the table of joint kinds. */
typedef struct AbdJointKindView {
  const char *name; /* "hinge" */
  AbdCoordinate coordinate;
  bool has_angle, has_travel; /* AbdJointReading.angle and travel are filled in */
  uint32_t takes;             /* ABD_JOINT_TAKES_* and ABD_JOINT_NEEDS_* bits */
  const char *keeps;          /* one sentence: what the joint keeps */
} AbdJointKindView;
/* The row of a kind; NULL for an unknown kind. */
ABD_API const AbdJointKindView *abd_joint_kind_view(AbdJointKind kind);

typedef enum AbdDriveKind {
  ABD_DRIVE_NONE = 0,
  ABD_DRIVE_EFFORT,   /* target [N m or N] */
  ABD_DRIVE_SPEED,    /* target [rad/s or m/s], with at most max_effort */
  ABD_DRIVE_POSITION, /* target [rad or m]: stiffness (target - position) - damping rate, at most max_effort */
} AbdDriveKind;

/* A motor on a joint's coordinate, which pushes a against b. */
typedef struct AbdDrive {
  AbdDriveKind kind;
  double target;
  double max_effort;         /* [N m or N] infinity */
  double stiffness, damping; /* of ABD_DRIVE_POSITION */
} AbdDrive;

typedef struct AbdJointDef {
  const char *name; /* for messages and files; may be NULL */
  AbdJointKind kind;
  AbdBodyId body_a, body_b;    /* body_b null: the world. Either may be static or kinematic, not both */
  double point[3];             /* [m] anchor of a */
  double point_b[3];           /* [m] anchor of b; NaN = the same. Apart only for distance and rope */
  double axis[3], axis_b[3];   /* need not be of unit length; axis_b only for universal */
  double pitch;                /* screw: [m] of travel a turn */
  double length;               /* distance, rope: [m]; negative = as at the start */
  AbdJointId joint_a, joint_b; /* gear, sum: joints whose coordinates are coupled; not sums */
  double ratio;                /* gear, sum: [1, or m/rad between an angle and a travel: rack and pinion] */
  bool free;                   /* angle: only a coordinate */
  double limit[2];             /* of the coordinate, from the start = 0 (of the distance itself); -infinity, infinity */
  double angle_limit[2];       /* cylindrical: of its angle */
  double stiffness, rest;      /* spring on the coordinate: stiffness (rest - position) */
  double damping, friction;    /* [N m s or N s/m], dry friction [N m or N] on the coordinate */
  AbdDrive drive;
  bool collide;                     /* the two bodies collide with each other; false */
  double break_force, break_torque; /* [N, N m] the joint breaks when a step needs more of AbdJointReading's force or
                                       torque to keep it, or of a rope's tension; infinity; not for gears */
} AbdJointDef;

ABD_API AbdJointDef abd_default_joint_def(void);
/* After its bodies and joints; points and axes are those of the world now. */
ABD_API AbdStatus abd_world_add_joint(AbdWorld *world, const AbdJointDef *def, AbdJointId *joint);
ABD_API size_t abd_world_joint_count(const AbdWorld *world);
ABD_API AbdJointId abd_world_joint_at(const AbdWorld *world, size_t k); /* as abd_world_body_at */
ABD_API AbdStatus abd_joint_def(const AbdWorld *world, AbdJointId joint,
                                AbdJointDef *def);          /* as given; the world owns the name */
ABD_API const char *abd_joint_kind_name(AbdJointKind kind); /* "hinge" */
/* From the next step on. */
ABD_API AbdStatus abd_joint_set_drive(AbdWorld *world, AbdJointId joint, const AbdDrive *drive);
/* The drive as it is now: the one set last, or that of the def. */
ABD_API AbdStatus abd_joint_drive(const AbdWorld *world, AbdJointId joint, AbdDrive *drive);

typedef struct AbdJointReading {
  double position, rate;      /* of the coordinate, angles unwrapped [rad or m, per s]; 0 if the kind has none */
  double angle, travel;       /* both if the kind has them */
  double force[3], torque[3]; /* [N, N m] that keep the joint, on a, about its anchor; the opposite on b */
  double effort;              /* [N m or N] of the drive on the coordinate in the last step */
  double passive;             /* [N m or N] of spring, damper, dry friction and limits; a rope's tension is negative */
  double residual;            /* [m] largest gap left: of anchors, and of directions at one body radius from them */
  double point[3], axis[3];   /* present anchor of a and axis */
} AbdJointReading;
/* At the end of the last step; forces are zero before the first step and after a restore. */
ABD_API AbdStatus abd_joint_reading(const AbdWorld *world, AbdJointId joint, AbdJointReading *reading);

/* A joint that broke in the last step. It is removed as abd_world_remove_joint removes it; the pair stays excluded. */
typedef struct AbdBrokenJoint {
  AbdJointId joint;
  AbdBodyId body_a, body_b;
  double force, torque; /* [N, N m] that it carried in that step */
} AbdBrokenJoint;
/* Writes at most capacity of them and returns their number; none before the first step and after a restore. Each is an
 * event too, ABD_EVENT_JOINT_BROKE. */
ABD_API size_t abd_world_broken_joints(const AbdWorld *world, AbdBrokenJoint *joint, size_t capacity);

/* Result of eliminating the linear joints, valid after abd_world_start. */
typedef struct AbdJointSummary {
  size_t joint_count;
  int linear_rows, redundant_rows; /* scalar equations, and how many of them are redundant */
  int unknowns;                    /* left of 12 per moving body */
} AbdJointSummary;
ABD_API AbdJointSummary abd_world_joint_summary(const AbdWorld *world);
/* Number of a joint's linear equations that follow from those of earlier joints; valid after abd_world_start. */
ABD_API int abd_joint_redundant_rows(const AbdWorld *world, AbdJointId joint);

/* ---- Stepping --------------------------------------------------------------------------------------------------- */

typedef enum AbdStage {
  ABD_STAGE_CANDIDATES = 0,
  ABD_STAGE_DISTANCES,
  ABD_STAGE_ASSEMBLY,
  ABD_STAGE_SOLVE,
  ABD_STAGE_CCD,
  ABD_STAGE_LINE_SEARCH,
  ABD_STAGE_REST,
  ABD_STAGE_COUNT
} AbdStage;

typedef enum AbdTerm {
  ABD_TERM_KINETIC = 0,
  ABD_TERM_GRAVITY,
  ABD_TERM_ELASTIC,
  ABD_TERM_CONTACT,
  ABD_TERM_FRICTION,
  ABD_TERM_JOINT,
  ABD_TERM_SOFT,
  ABD_TERM_COUNT
} AbdTerm;

/* The balance of a step [J]: what raised the kinetic, elastic, soft and spring energy. Their sum is its change. */
typedef enum AbdWork {
  ABD_WORK_GRAVITY = 0,
  ABD_WORK_FORCES,   /* given forces and torques */
  ABD_WORK_DRIVES,   /* of joints */
  ABD_WORK_SCRIPTS,  /* kinematic bodies and vertices, surfaces that move against their bodies */
  ABD_WORK_DAMPING,  /* dampers and dry friction of joints, drag of bodies */
  ABD_WORK_FRICTION, /* of contacts */
  ABD_WORK_IMPACTS,  /* the rest, of bodies that contacts, stops, drives or soft elements acted on */
  ABD_WORK_RESIDUAL, /* the rest, of all others: the integrator's error */
  ABD_WORK_COUNT
} AbdWork;

typedef enum AbdOutcome {
  ABD_CONVERGED = 0,
  ABD_STOPPED_AT_MAX_ITERATIONS,
  ABD_STOPPED_BY_LINE_SEARCH,   /* no step lowers the energy beyond rounding */
  ABD_STOPPED_BY_FACTORIZATION, /* the matrix was not positive definite even after regularisation */
  ABD_KINEMATIC_BLOCKED,        /* converged, but a kinematic body was held back from its target by contact */
  ABD_JOINT_OPEN,               /* converged, but a nonlinear joint has a gap above its tolerance */
  ABD_MOVED_TOO_FAR, /* why a step is taken in sub-steps: a body near others moves or turns too far; no step ends so */
  ABD_NO_PROGRESS,   /* the same: Newton's steps got no smaller, or the loads of friction did not agree */
} AbdOutcome;

typedef struct AbdStepReport {
  int64_t step; /* 1 for the first */
  double time;  /* [s] at its end */
  AbdOutcome outcome;
  AbdBodyId culprit[2];          /* the bodies to blame when outcome is not ABD_CONVERGED, or the step failed with
                                ABD_ERROR_NUMERIC; null if there is one or none */
  int iterations;                /* Newton iterations: the largest over islands, of all sub-steps and tries together */
  int substeps;                  /* in which the step was taken; 1 if as a whole */
  int given_up;                  /* tries of a step or sub-step that were given up; their iterations count */
  AbdOutcome given_up_by;        /* how the first of them ended */
  AbdBodyId given_up_culprit[2]; /* and the bodies to blame */
  int line_search_steps;         /* energy evaluations beyond the first, all iterations */
  int friction_iterations;       /* the most solves of any island until the loads of friction agreed */
  double friction_error;         /* by how much the loads of friction differ from mu times the normal forces at the end
                                of the step, over the sum of the latter */
  double residual;               /* [m/s] the last Newton step's largest surface speed */
  double step_length;            /* the smallest accepted step length in [0, 1] */
  AbdBodyId limit[2];            /* the pair that limited it most */
  int islands;
  int linear_iterations;              /* of conjugate gradients in all Newton iterations; 0 if Cholesky solved all */
  double factor_memory, factor_flops; /* [bytes], [flops] predicted for the largest Cholesky factor of the step */
  int64_t body_pairs, box_tests, candidates, distances;
  int64_t contacts; /* of the sub-step with the most */
  int64_t ccd_calls;
  double min_distance; /* [m] smallest distance of two surfaces in contact at the end of a sub-step, thickness not
                          subtracted; infinity if none */
  AbdBodyId nearest[2];
  double max_strain; /* largest |A^T A - I| of any dynamic body, at the end of a sub-step */
  AbdBodyId most_strained;
  double max_soft_strain; /* largest |F^T F - I| of any tet or triangle of a soft body */
  AbdBodyId most_strained_soft;
  double target_error;   /* [m] largest distance of a kinematic body or scripted vertex from its target */
  double joint_residual; /* [m] the largest gap in a joint */
  AbdJointId worst_joint;
  double energy[ABD_TERM_COUNT];           /* [J] at the poses and velocities after the step */
  double work[ABD_WORK_COUNT];             /* [J] in this step */
  double momentum[3], angular_momentum[3]; /* of the dynamic bodies, about the world's origin */
  double seconds[ABD_STAGE_COUNT];         /* wall clock */
  int events;                              /* number of events, see abd_world_events */
  int broken_joints;                       /* that broke in this step, see abd_world_broken_joints */
} AbdStepReport;

ABD_API const char *abd_linear_name(AbdLinear linear);
ABD_API const char *abd_substeps_name(AbdSubsteps substeps);
ABD_API const char *abd_stage_name(AbdStage stage);
ABD_API const char *abd_term_name(AbdTerm term);
ABD_API const char *abd_work_name(AbdWork work);
ABD_API const char *abd_outcome_name(AbdOutcome outcome);

/* Checks that nothing crosses and prepares the world; the first step calls it too. The sentence of ABD_ERROR_CROSSING
 * names bodies and triangles. */
ABD_API AbdStatus abd_world_start(AbdWorld *world);
/* One time step. On an error the world is as it was before. report may be NULL. */
ABD_API AbdStatus abd_world_step(AbdWorld *world, AbdStepReport *report);
/* Stops the start or the step in progress: it returns ABD_INTERRUPTED soon, and the world is as it was before. If there
 * is none, the next one returns so at once. Each request stops one call. A signal handler or another thread may call
 * this while the world exists. */
ABD_API void abd_world_interrupt(AbdWorld *world);
/* Several worlds at the same time: calls task(context, item) for items 0 to count - 1 on the library's threads, in any
 * order, and returns when all are done. A task may use worlds that no other task uses; its steps run on its thread
 * alone, with the same bits as elsewhere. threads: 0 = all processors. */
typedef void AbdTask(void *context, int item);
ABD_API void abd_parallel(int count, int threads, AbdTask *task, void *context);
ABD_API double abd_world_time(const AbdWorld *world);
ABD_API int64_t abd_world_step_count(const AbdWorld *world);
/* The settings with automatic values filled in (valid after abd_world_start). */
ABD_API AbdWorldDef abd_world_settings(const AbdWorld *world);
/* What steps a started world: "cpu", or "cuda" and the GPU's name, as "cuda: NVIDIA H200". "" before the start. */
ABD_API const char *abd_world_device(const AbdWorld *world);
/* Steps go on on another device, with the contacts of the last step unknown until the next. */
ABD_API AbdStatus abd_world_set_device(AbdWorld *world, AbdDevice device);
/* NULL if ABD_DEVICE_CUDA can be used on this machine, else a sentence that says why not. */
ABD_API const char *abd_cuda_missing(void);

/* ---- Changes ----------------------------------------------------------------------------------------------------- */

/* Between steps, bodies, soft bodies, joints and exclusions are added and removed by the same calls as before the
 * start, and by those below. A change fails with ABD_ERROR_CROSSING and the names of two bodies if they would touch,
 * cross or be nearer than contact allows; the world then is as before the call. Automatic settings stay as the bodies
 * of the first step made them. A change takes time in proportion to the world.
 *
 * abd_world_begin_change and abd_world_end_change make one change of several calls: it is checked at its end. So bodies
 * that overlap can be added together with the joint or the exclusion that keeps them from colliding. Before the start
 * nothing is checked but by the start itself. If abd_world_end_change fails, nothing of the change remains. Meanwhile
 * all functions that read return what the world was before the change, and no step can be taken. */
ABD_API AbdStatus abd_world_begin_change(AbdWorld *world);
ABD_API AbdStatus abd_world_end_change(AbdWorld *world);
ABD_API void abd_world_cancel_change(AbdWorld *world); /* nothing of the open change remains */
/* Removes a body, its joints and the gears on them. Its id and theirs are not given again. A body that a soft body is
 * attached to stays: remove the soft body first. */
ABD_API AbdStatus abd_world_remove_body(AbdWorld *world, AbdBodyId body);
/* Removes a joint and the gears on it. A pair that it excluded from collision stays excluded. */
ABD_API AbdStatus abd_world_remove_joint(AbdWorld *world, AbdJointId joint);
/* Lets an excluded pair collide again. */
ABD_API AbdStatus abd_world_include_pair(AbdWorld *world, AbdBodyId a, AbdBodyId b);

/* The pose and velocities of a stiff body, as in its def. */
typedef struct AbdBodyState {
  double position[3];         /* of the mesh's own origin */
  double rotation[4];         /* quaternion w x y z about that origin */
  double velocity[3];         /* [m/s] of the centre of mass */
  double angular_velocity[3]; /* [rad/s] world axes */
} AbdBodyState;
ABD_API AbdStatus abd_body_state(const AbdWorld *world, AbdBodyId body, AbdBodyState *state);
/* Moves a dynamic or kinematic body there at once, as if it began there; its contacts forget what they remember. Fails
 * if it would cross another, if joints or soft bodies hold it, or if the rotation changes a held one. */
ABD_API AbdStatus abd_body_set_state(AbdWorld *world, AbdBodyId body, const AbdBodyState *state);

/* ---- Events ------------------------------------------------------------------------------------------------------ */

typedef enum AbdEventKind {
  ABD_EVENT_TOUCH_BEGAN = 0, /* two bodies came within the contact range of each other */
  ABD_EVENT_TOUCH_ENDED,     /* two bodies left it; not raised for a body that was removed */
  ABD_EVENT_BODY_ADDED,      /* after the start; bodies that are there at the start have no event */
  ABD_EVENT_BODY_REMOVED,
  ABD_EVENT_JOINT_ADDED,
  ABD_EVENT_JOINT_REMOVED,
  ABD_EVENT_JOINT_BROKE,
  ABD_EVENT_PAIR_EXCLUDED, /* between steps, by a call or a new joint: two bodies that were there do not collide now */
  ABD_EVENT_PAIR_INCLUDED, /* they collide again */
  ABD_EVENT_KIND_COUNT
} AbdEventKind;
ABD_API const char *abd_event_kind_name(AbdEventKind kind); /* "touch began" */

typedef struct AbdEvent {
  int64_t step; /* in which it happened; of a change, the first step that has it */
  AbdEventKind kind;
  AbdBodyId body_a, body_b; /* the bodies, those of a joint; null if there is one or none */
  AbdJointId joint;         /* null if it is not of a joint */
} AbdEvent;

/* Events of the last step: changes before it in their order, then touches by bodies. Writes at most capacity of them
 * and returns their number; none before the first step and after a restore. A snapshot has none. */
ABD_API size_t abd_world_events(const AbdWorld *world, AbdEvent *event, size_t capacity);

/* ---- Contacts --------------------------------------------------------------------------------------------------- */

typedef struct AbdContact {
  AbdBodyId body_a, body_b;
  double point[3];          /* [m] midway between the two surfaces */
  double normal[3];         /* unit, from b to a */
  double distance;          /* [m] */
  double normal_force;      /* [N] on a along normal, on b against it; small negative ones near concave parts */
  double friction_force[3]; /* [N] on a; the opposite on b */
  double torque[3];         /* [N m] of rolling and torsional friction, on a; the opposite on b */
  int32_t kind;             /* 0 vertex of a on triangle of b, 1 triangle of a on vertex of b, 2 edge on edge */
  uint32_t primitive_a,
      primitive_b; /* vertex, triangle or edge of the body's mesh; of a soft body its own vertex, a triangle of its
                                        view, an edge of its collision mesh (abd_mesh_view) */
} AbdContact;

/* Contacts at the end of the last step, sorted by bodies. The forces on a stiff body without joints, times the step,
 * are the momentum that contacts gave it, up to a percent (docs/method.md, "Contact forces"). Writes at most capacity
 * of them and returns their number; none before the first step, after a restore, or after a step that failed. A change
 * keeps them. Of a step in sub-steps those at the end of each; forces are means over the step, places those of the last
 * sub-step that has the contact. */
ABD_API size_t abd_world_contacts(const AbdWorld *world, AbdContact *contact, size_t capacity);

/* ---- Crossing --------------------------------------------------------------------------------------------------- */

typedef struct AbdCrossing {
  AbdBodyId body_a, body_b;
  uint32_t triangle_a, triangle_b; /* in each body's mesh; UINT32_MAX for an edge without a triangle */
  double point[3];
} AbdCrossing;

/* Tests exactly whether the surfaces of two bodies at given poses (12 numbers, or 3 for each vertex of a soft body)
 * share a point. If a and b are the same soft body, triangles with a common corner are ignored. Returns true with
 * body_a.id = 0 if memory runs out. */
ABD_API bool abd_world_find_crossing(const AbdWorld *world, AbdBodyId a, const double *nodes_a, AbdBodyId b,
                                     const double *nodes_b, AbdCrossing *crossing);
/* Tests all pairs that may collide, with poses in id order, NaN for a body that is left out; writes at most capacity
 * crossings (one per pair) and returns their number; SIZE_MAX if memory runs out. */
ABD_API size_t abd_world_find_crossings(const AbdWorld *world, const double *nodes, AbdCrossing *crossing,
                                        size_t capacity);
/* Pairs of triangles of one mesh that cross without a common corner; UINT32_MAX for an edge without a triangle. Writes
 * at most capacity pairs and returns their number; SIZE_MAX if memory runs out. Triangles that touch at a triangle
 * without area are left out. Steps never test a stiff body against itself. */
ABD_API size_t abd_mesh_self_crossings(const AbdWorld *world, AbdMeshId mesh, uint32_t (*pair)[2], size_t capacity);

/* ---- Snapshots -------------------------------------------------------------------------------------------------- */

/* Everything that changes from step to step, as bytes. A world made from the same defs that restores them continues
 * with the same bits as the world that saved them. Exclusions, friction and restitution of pairs are those of the
 * snapshot. Bodies and joints that the snapshot does not have are removed by abd_world_restore; it fails if the
 * snapshot has one that the world does not have. A world that has not started is not checked at the poses of its
 * defs. */
ABD_API size_t abd_world_snapshot_size(const AbdWorld *world);
ABD_API AbdStatus abd_world_save(const AbdWorld *world, void *bytes, size_t size);
ABD_API AbdStatus abd_world_restore(AbdWorld *world, const void *bytes, size_t size);
/* Hash of the poses and velocities: equal for equal states. */
ABD_API uint64_t abd_world_hash(const AbdWorld *world);

/* ---- Names ------------------------------------------------------------------------------------------------------- */

/* The name of an enumeration's value in scene files, run files and messages; "unknown" for a number without a name.
 * Further names: abd_status_name, abd_joint_kind_name, abd_linear_name, abd_stage_name, abd_term_name,
 * abd_outcome_name, abd_event_kind_name. */
ABD_API const char *abd_integrator_name(AbdIntegrator integrator);
ABD_API const char *abd_detection_name(AbdDetection detection);
ABD_API const char *abd_device_name(AbdDevice device);
ABD_API const char *abd_ranks_name(AbdRanks ranks);
ABD_API const char *abd_ranks_linear_name(AbdRanksLinear solver);
ABD_API const char *abd_motion_name(AbdMotion motion);
ABD_API const char *abd_elasticity_name(AbdElasticity elasticity);
ABD_API const char *abd_soft_model_name(AbdSoftModel model);
ABD_API const char *abd_coordinate_name(AbdCoordinate coordinate);
ABD_API const char *abd_drive_kind_name(AbdDriveKind kind);

/* The enumerations that have names. */
typedef enum AbdEnum {
  ABD_ENUM_STATUS = 0,
  ABD_ENUM_INTEGRATOR,
  ABD_ENUM_LINEAR,
  ABD_ENUM_DETECTION,
  ABD_ENUM_SUBSTEPS,
  ABD_ENUM_MOTION,
  ABD_ENUM_ELASTICITY,
  ABD_ENUM_FIX, /* bit k of ABD_FIX_* has the name k */
  ABD_ENUM_SOFT_MODEL,
  ABD_ENUM_JOINT_KIND,
  ABD_ENUM_COORDINATE,
  ABD_ENUM_DRIVE_KIND,
  ABD_ENUM_STAGE,
  ABD_ENUM_TERM,
  ABD_ENUM_OUTCOME,
  ABD_ENUM_EVENT_KIND,
  ABD_ENUM_DEVICE,
  ABD_ENUM_RANKS,
  ABD_ENUM_RANKS_LINEAR,
  ABD_ENUM_COUNT
} AbdEnum;
/* All names of an enumeration in the order of its values; NULL follows the last. */
ABD_API const char *const *abd_enum_names(AbdEnum which);

/* ---- Settings ---------------------------------------------------------------------------------------------------- */

/* The scalar fields of three defs as tables: scene readers, writers, the JSON Schema, the docs and the checks of
 * abd_world_create all read them. A value is passed as up to three doubles: a boolean is 0 or 1, a choice is the
 * number of the enumeration's value. */
typedef enum AbdDef { ABD_DEF_WORLD = 0, ABD_DEF_BODY, ABD_DEF_SOFT, ABD_DEF_COUNT } AbdDef;

typedef enum AbdSettingType {
  ABD_SETTING_NUMBER = 0, /* double */
  ABD_SETTING_INTEGER,    /* int */
  ABD_SETTING_BOOLEAN,    /* bool */
  ABD_SETTING_VECTOR,     /* double[3] */
  ABD_SETTING_CHOICE      /* an enumeration */
} AbdSettingType;

typedef struct AbdSetting {
  const char *name; /* "contact.range": the field in the def, the key in scenes and of --set */
  AbdSettingType type;
  size_t offset;      /* [bytes] of the field in its def */
  double standard[3]; /* the default; a default outside the range means "not given" */
  double least, most; /* the range; -infinity, infinity = any finite number */
  bool open;          /* least and most do not belong to the range */
  AbdEnum choice;     /* names of the values of a choice */
  const char *unit;   /* "m/s"; "" = none */
  const char *meaning;
} AbdSetting;

/* The table of a def. AbdSolverDef.threads is in no table: results do not depend on it. */
ABD_API const AbdSetting *abd_settings(AbdDef def, size_t *count);
/* The value in a def (AbdWorldDef, AbdBodyDef or AbdSoftDef), and storing one; storing does not check the range. */
ABD_API void abd_setting_get(const AbdSetting *setting, const void *def, double value[3]);
ABD_API void abd_setting_set(const AbdSetting *setting, void *def, const double value[3]);
/* Whether the value lies in the setting's range. */
ABD_API bool abd_setting_valid(const AbdSetting *setting, const double value[3]);
/* Writes the range in words: "a number > 0", "one of \"auto\", \"pcg\"". Returns text. */
ABD_API const char *abd_setting_expected(const AbdSetting *setting, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
