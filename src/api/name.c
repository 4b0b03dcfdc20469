/* Names of enumerations: one list per enumeration gives the name of a value and the list of all names.
 * Tested in tests/test_vocabulary.c. */
#include "base/base.h"
#include "model/joint_kind.h"

#define STATUSES(X)                                                                                                    \
  X(ABD_OK, "ok")                                                                                                      \
  X(ABD_ERROR_ARGUMENT, "argument")                                                                                    \
  X(ABD_ERROR_MESH, "mesh")                                                                                            \
  X(ABD_ERROR_CROSSING, "crossing")                                                                                    \
  X(ABD_ERROR_MEMORY, "memory")                                                                                        \
  X(ABD_ERROR_NUMERIC, "numeric")                                                                                      \
  X(ABD_ERROR_STATE, "state")                                                                                          \
  X(ABD_ERROR_JOINT, "joint")                                                                                          \
  X(ABD_INTERRUPTED, "interrupted")                                                                                    \
  X(ABD_ERROR_SCENE, "scene")                                                                                          \
  X(ABD_ERROR_FILE, "file")                                                                                            \
  X(ABD_ERROR_DISK, "disk")

#define INTEGRATORS(X)                                                                                                 \
  X(ABD_INTEGRATOR_RIGID, "rigid")                                                                                     \
  X(ABD_INTEGRATOR_EULER, "euler")                                                                                     \
  X(ABD_INTEGRATOR_BDF2, "bdf2")

#define LINEARS(X)                                                                                                     \
  X(ABD_LINEAR_AUTO, "auto")                                                                                           \
  X(ABD_LINEAR_CHOLMOD, "cholmod")                                                                                     \
  X(ABD_LINEAR_CHOLESKY, "cholesky")                                                                                   \
  X(ABD_LINEAR_PCG, "pcg")

#define DETECTIONS(X)                                                                                                  \
  X(ABD_DETECTION_TREES, "trees")                                                                                      \
  X(ABD_DETECTION_TREES_PLAIN, "trees-plain")                                                                          \
  X(ABD_DETECTION_TREE, "tree")                                                                                        \
  X(ABD_DETECTION_IAABB_1, "i-aabb-1")                                                                                 \
  X(ABD_DETECTION_IAABB_3, "i-aabb-3")

#define SUBSTEPS(X)                                                                                                    \
  X(ABD_SUBSTEPS_AUTO, "auto")                                                                                         \
  X(ABD_SUBSTEPS_OFF, "off")

#define DEVICES(X)                                                                                                     \
  X(ABD_DEVICE_AUTO, "auto")                                                                                           \
  X(ABD_DEVICE_CPU, "cpu")                                                                                             \
  X(ABD_DEVICE_CUDA, "cuda")

#define RANKS(X)                                                                                                       \
  X(ABD_RANKS_AUTO, "auto")                                                                                            \
  X(ABD_RANKS_PAIRS, "pairs")                                                                                          \
  X(ABD_RANKS_BODIES, "bodies")
#define RANKS_LINEARS(X)                                                                                               \
  X(ABD_RANKS_LINEAR_OWN, "own")                                                                                       \
  X(ABD_RANKS_LINEAR_PETSC, "petsc")

#define MOTIONS(X)                                                                                                     \
  X(ABD_MOTION_DYNAMIC, "dynamic")                                                                                     \
  X(ABD_MOTION_STATIC, "static")                                                                                       \
  X(ABD_MOTION_KINEMATIC, "kinematic")

#define ELASTICITIES(X)                                                                                                \
  X(ABD_ELASTICITY_ORTHO, "ortho")                                                                                     \
  X(ABD_ELASTICITY_ARAP, "arap")                                                                                       \
  X(ABD_ELASTICITY_NEO_HOOKEAN, "neo_hookean")

#define SOFT_MODELS(X)                                                                                                 \
  X(ABD_SOFT_NEO_HOOKEAN, "neo_hookean")                                                                               \
  X(ABD_SOFT_STABLE_NEO_HOOKEAN, "stable_neo_hookean")                                                                 \
  X(ABD_SOFT_COROTATED, "corotated")

#define COORDINATES(X)                                                                                                 \
  X(ABD_COORDINATE_NONE, "none")                                                                                       \
  X(ABD_COORDINATE_ANGLE, "angle")                                                                                     \
  X(ABD_COORDINATE_TRAVEL, "travel")                                                                                   \
  X(ABD_COORDINATE_DISTANCE, "distance")

#define DRIVE_KINDS(X)                                                                                                 \
  X(ABD_DRIVE_NONE, "none")                                                                                            \
  X(ABD_DRIVE_EFFORT, "effort")                                                                                        \
  X(ABD_DRIVE_SPEED, "speed")                                                                                          \
  X(ABD_DRIVE_POSITION, "position")

#define STAGES(X)                                                                                                      \
  X(ABD_STAGE_CANDIDATES, "candidates")                                                                                \
  X(ABD_STAGE_DISTANCES, "distances")                                                                                  \
  X(ABD_STAGE_ASSEMBLY, "assembly")                                                                                    \
  X(ABD_STAGE_SOLVE, "solve")                                                                                          \
  X(ABD_STAGE_CCD, "ccd")                                                                                              \
  X(ABD_STAGE_LINE_SEARCH, "line_search")                                                                              \
  X(ABD_STAGE_REST, "rest")

#define TERMS(X)                                                                                                       \
  X(ABD_TERM_KINETIC, "kinetic")                                                                                       \
  X(ABD_TERM_GRAVITY, "gravity")                                                                                       \
  X(ABD_TERM_ELASTIC, "elastic")                                                                                       \
  X(ABD_TERM_CONTACT, "contact")                                                                                       \
  X(ABD_TERM_FRICTION, "friction")                                                                                     \
  X(ABD_TERM_JOINT, "joint")                                                                                           \
  X(ABD_TERM_SOFT, "soft")

#define WORKS(X)                                                                                                       \
  X(ABD_WORK_GRAVITY, "gravity")                                                                                       \
  X(ABD_WORK_FORCES, "forces")                                                                                         \
  X(ABD_WORK_DRIVES, "drives")                                                                                         \
  X(ABD_WORK_SCRIPTS, "scripts")                                                                                       \
  X(ABD_WORK_DAMPING, "damping")                                                                                       \
  X(ABD_WORK_FRICTION, "friction")                                                                                     \
  X(ABD_WORK_IMPACTS, "impacts")                                                                                       \
  X(ABD_WORK_RESIDUAL, "residual")

#define OUTCOMES(X)                                                                                                    \
  X(ABD_CONVERGED, "converged")                                                                                        \
  X(ABD_STOPPED_AT_MAX_ITERATIONS, "stopped at max iterations")                                                        \
  X(ABD_STOPPED_BY_LINE_SEARCH, "stopped by line search")                                                              \
  X(ABD_STOPPED_BY_FACTORIZATION, "stopped by factorization")                                                          \
  X(ABD_KINEMATIC_BLOCKED, "kinematic body blocked")                                                                   \
  X(ABD_JOINT_OPEN, "joint open")                                                                                      \
  X(ABD_MOVED_TOO_FAR, "moved too far")                                                                                \
  X(ABD_NO_PROGRESS, "no progress")

#define EVENT_KINDS(X)                                                                                                 \
  X(ABD_EVENT_TOUCH_BEGAN, "touch began")                                                                              \
  X(ABD_EVENT_TOUCH_ENDED, "touch ended")                                                                              \
  X(ABD_EVENT_BODY_ADDED, "body added")                                                                                \
  X(ABD_EVENT_BODY_REMOVED, "body removed")                                                                            \
  X(ABD_EVENT_JOINT_ADDED, "joint added")                                                                              \
  X(ABD_EVENT_JOINT_REMOVED, "joint removed")                                                                          \
  X(ABD_EVENT_JOINT_BROKE, "joint broke")                                                                              \
  X(ABD_EVENT_PAIR_EXCLUDED, "pair excluded")                                                                          \
  X(ABD_EVENT_PAIR_INCLUDED, "pair included")

#define ENTRY(VALUE, WORD) [VALUE] = WORD,
#define CASE(VALUE, WORD) case VALUE:

/* abd_KEY_name and its list. The compiler warns about a value without a name (-Wswitch). The arguments after LIST are
 * cases of values that need none. */
#define NAMED(TYPE, KEY, LIST, ...)                                                                                    \
  static const char *const KEY##_names[] = {LIST(ENTRY) NULL};                                                         \
  const char *abd_##KEY##_name(TYPE value) {                                                                           \
    switch (value) {                                                                                                   \
      LIST(CASE) return KEY##_names[value];                                                                            \
      __VA_ARGS__ break;                                                                                               \
    }                                                                                                                  \
    return "unknown";                                                                                                  \
  }

NAMED(AbdStatus, status, STATUSES)
NAMED(AbdIntegrator, integrator, INTEGRATORS)
NAMED(AbdLinear, linear, LINEARS)
NAMED(AbdDetection, detection, DETECTIONS)
NAMED(AbdSubsteps, substeps, SUBSTEPS)
NAMED(AbdDevice, device, DEVICES)
NAMED(AbdRanks, ranks, RANKS)
NAMED(AbdRanksLinear, ranks_linear, RANKS_LINEARS)
NAMED(AbdMotion, motion, MOTIONS)
NAMED(AbdElasticity, elasticity, ELASTICITIES)
NAMED(AbdSoftModel, soft_model, SOFT_MODELS)
NAMED(AbdCoordinate, coordinate, COORDINATES)
NAMED(AbdDriveKind, drive_kind, DRIVE_KINDS)
NAMED(AbdStage, stage, STAGES, case ABD_STAGE_COUNT:)
NAMED(AbdTerm, term, TERMS, case ABD_TERM_COUNT:)
NAMED(AbdWork, work, WORKS, case ABD_WORK_COUNT:)
NAMED(AbdOutcome, outcome, OUTCOMES)
NAMED(AbdEventKind, event_kind, EVENT_KINDS, case ABD_EVENT_KIND_COUNT:)

static const char *const fix_names[] = {"x", "y", "z", "rotation_x", "rotation_y", "rotation_z", NULL};

#define KIND_ENTRY(KIND, NAME, ...) [ABD_JOINT_##KIND] = NAME,
static const char *const joint_kind_names[] = {JOINT_KINDS(KIND_ENTRY) NULL};

const char *abd_joint_kind_name(AbdJointKind kind) {
  return (unsigned)kind < ABD_JOINT_KIND_COUNT ? joint_kind_names[kind] : "unknown";
}

const AbdJointKindView *abd_joint_kind_view(AbdJointKind kind) {
  return (unsigned)kind < ABD_JOINT_KIND_COUNT ? &joint_kind(kind)->view : NULL;
}

const char *const *abd_enum_names(AbdEnum which) {
  static const char *const *const list[ABD_ENUM_COUNT] = {
      [ABD_ENUM_STATUS] = status_names,
      [ABD_ENUM_INTEGRATOR] = integrator_names,
      [ABD_ENUM_LINEAR] = linear_names,
      [ABD_ENUM_DETECTION] = detection_names,
      [ABD_ENUM_SUBSTEPS] = substeps_names,
      [ABD_ENUM_MOTION] = motion_names,
      [ABD_ENUM_ELASTICITY] = elasticity_names,
      [ABD_ENUM_FIX] = fix_names,
      [ABD_ENUM_SOFT_MODEL] = soft_model_names,
      [ABD_ENUM_JOINT_KIND] = joint_kind_names,
      [ABD_ENUM_COORDINATE] = coordinate_names,
      [ABD_ENUM_DRIVE_KIND] = drive_kind_names,
      [ABD_ENUM_STAGE] = stage_names,
      [ABD_ENUM_TERM] = term_names,
      [ABD_ENUM_OUTCOME] = outcome_names,
      [ABD_ENUM_EVENT_KIND] = event_kind_names,
      [ABD_ENUM_DEVICE] = device_names,
      [ABD_ENUM_RANKS] = ranks_names,
      [ABD_ENUM_RANKS_LINEAR] = ranks_linear_names,
  };
  static const char *const none[] = {NULL};
  return (unsigned)which < ABD_ENUM_COUNT ? list[which] : none;
}
