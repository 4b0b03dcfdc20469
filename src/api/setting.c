/* The tables of settings: default, range, unit and meaning of the scalar fields of AbdWorldDef, AbdBodyDef and
 * AbdSoftDef. One row per field. The defaults of the defs, the checks of abd_world_create, the scene readers and
 * writers, the JSON Schema and docs/scene.md all come from these rows: see docs/adding-a-setting.md. Tested in
 * tests/test_vocabulary.c. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/setting.h"
#include "linear/cholmod_factor.h"

/* A row's name is the path of its field; a field of another type does not compile. */
#define FIELD(DEF, PATH, IS_TYPE) #PATH, .offset = offsetof(DEF, PATH) + 0 * sizeof(char[(IS_TYPE) ? 1 : -1])
#define MEMBER(DEF, PATH) (((DEF *)0)->PATH)
#define IS(DEF, PATH, TYPE) _Generic(&MEMBER(DEF, PATH), TYPE * : 1, default : 0)
#define NUMBER(DEF, PATH, RANGE, DEFAULT, UNIT, MEANING)                                                               \
  {                                                                                                                    \
    .name = FIELD(DEF, PATH, IS(DEF, PATH, double)), .type = ABD_SETTING_NUMBER, RANGE, .standard = {DEFAULT},         \
    .unit = UNIT, .meaning = MEANING                                                                                   \
  }
#define INTEGER(DEF, PATH, LEAST, DEFAULT, UNIT, MEANING)                                                              \
  {                                                                                                                    \
    .name = FIELD(DEF, PATH, IS(DEF, PATH, int)), .type = ABD_SETTING_INTEGER, .least = LEAST, .most = INT32_MAX,      \
    .standard = {DEFAULT}, .unit = UNIT, .meaning = MEANING                                                            \
  }
#define BOOLEAN(DEF, PATH, DEFAULT, MEANING)                                                                           \
  {                                                                                                                    \
    .name = FIELD(DEF, PATH, IS(DEF, PATH, bool)), .type = ABD_SETTING_BOOLEAN, .most = 1, .standard = {DEFAULT},      \
    .unit = "", .meaning = MEANING                                                                                     \
  }
#define VECTOR(DEF, PATH, X, Y, Z, UNIT, MEANING)                                                                      \
  {                                                                                                                    \
    .name = FIELD(DEF, PATH, sizeof MEMBER(DEF, PATH) == 3 * sizeof(double)), .type = ABD_SETTING_VECTOR, ANY,         \
    .standard = {X, Y, Z}, .unit = UNIT, .meaning = MEANING                                                            \
  }
#define CHOICE(DEF, PATH, NAMES, DEFAULT, MEANING)                                                                     \
  {                                                                                                                    \
    .name = FIELD(DEF, PATH, sizeof MEMBER(DEF, PATH) == sizeof(int)), .type = ABD_SETTING_CHOICE, .choice = NAMES,    \
    .standard = {DEFAULT}, .unit = "", .meaning = MEANING                                                              \
  }
#define ANY .least = -INFINITY, .most = INFINITY
#define POSITIVE .least = 0, .most = INFINITY, .open = true
#define FRACTION .least = 0, .most = 1
#define NOT_NEGATIVE .least = 0, .most = INFINITY
#define BETWEEN(LEAST, MOST) .least = LEAST, .most = MOST, .open = true

/* clang-format off */
static const AbdSetting world_settings[] = {
  NUMBER(AbdWorldDef, dt, POSITIVE, 0.01, "s", "time step"),
  VECTOR(AbdWorldDef, gravity, 0, 0, -9.81, "m/s^2", "acceleration of every body"),
  CHOICE(AbdWorldDef, integrator, ABD_ENUM_INTEGRATOR, ABD_INTEGRATOR_RIGID,
         "rigid keeps spin and energy in free motion; euler is implicit Euler; bdf2 is of second order"),
  NUMBER(AbdWorldDef, contact.range, NOT_NEGATIVE, 0, "m",
         "surfaces nearer than separation + range repel each other; 0 = from the bodies' size"),
  NUMBER(AbdWorldDef, contact.separation, NOT_NEGATIVE, 0, "m", "surfaces never come nearer than this"),
  NUMBER(AbdWorldDef, contact.stiffness, POSITIVE, 1, "", "factor on the automatic contact stiffness"),
  NUMBER(AbdWorldDef, contact.friction, NOT_NEGATIVE, 0, "",
         "Coulomb's coefficient if bodies and pairs name none"),
  NUMBER(AbdWorldDef, contact.friction_speed, POSITIVE, 1e-3, "m/s",
         "below this sliding speed friction is static"),
  INTEGER(AbdWorldDef, contact.friction_iterations, 0, 4, "",
          "the most solves until the loads of friction agree; 0 = no friction"),
  NUMBER(AbdWorldDef, contact.restitution, FRACTION, 0, "",
         "part of the speed that an impact gives back, if bodies and pairs name none"),
  NUMBER(AbdWorldDef, contact.restitution_speed, NOT_NEGATIVE, 0, "m/s",
         "slower impacts do not bounce; 0 = twice what gravity adds in a step, at least solver.tolerance / 100"),
  BOOLEAN(AbdWorldDef, contact.friction_anchors, true,
          "static friction stores the sticking point of each contact, so that nothing creeps"),
  INTEGER(AbdWorldDef, solver.max_iterations, 1, 1000, "",
          "Newton iterations after which a step is reported as not converged; with sub-steps each takes 150 at most"),
  NUMBER(AbdWorldDef, solver.tolerance, NOT_NEGATIVE, 0, "m/s",
         "a step ends when Newton's last correction moves every surface slower than this; 0 = automatic"),
  CHOICE(AbdWorldDef, solver.linear, ABD_ENUM_LINEAR, ABD_LINEAR_AUTO,
         "solver of the linear systems; auto is cholesky if its factor is predicted to fit in memory, else pcg "
         "(conjugate gradients with an incomplete Cholesky factor); cholmod needs a build with -DABD_CHOLMOD=ON"),
  NUMBER(AbdWorldDef, solver.memory, NOT_NEGATIVE, 8e9, "bytes",
         "largest Cholesky factor if linear is auto; 0 = any"),
  CHOICE(AbdWorldDef, solver.detection, ABD_ENUM_DETECTION, ABD_DETECTION_TREES,
         "how near triangles are found; all give the same bits, those after trees are for comparison"),
  CHOICE(AbdWorldDef, solver.substeps, ABD_ENUM_SUBSTEPS, ABD_SUBSTEPS_AUTO,
         "auto: a step that makes no progress, or in which bodies would move too far, is taken in halves, and a half "
         "likewise; off, or max_iterations up to 150: it goes on up to max_iterations"),
  CHOICE(AbdWorldDef, solver.device, ABD_ENUM_DEVICE, ABD_DEVICE_AUTO,
         "machine that steps the world; auto is cuda, an NVIDIA GPU, if there is one and it is expected to be faster, "
         "else cpu"),
  CHOICE(AbdWorldDef, solver.ranks, ABD_ENUM_RANKS, ABD_RANKS_AUTO,
         "what the ranks of an MPI job divide: pairs of bodies alone, with the bits of one process, or bodies; auto is "
         "bodies if the world has 100 for each rank and neither joints, soft bodies nor restitution"),
  CHOICE(AbdWorldDef, solver.ranks_linear, ABD_ENUM_RANKS_LINEAR, ABD_RANKS_LINEAR_OWN,
         "solver of the linear systems of bodies that several ranks share; petsc needs a build with -DABD_PETSC=ON and "
         "takes its options from ABD_PETSC_OPTIONS"),
};

static const AbdSetting body_settings[] = {
  NUMBER(AbdBodyDef, density, NOT_NEGATIVE, 1000, "kg/m^3",
         "mass per volume; for open meshes see thickness; 0 only for static bodies"),
  NUMBER(AbdBodyDef, mass, NOT_NEGATIVE, 0, "kg", "0 = density times volume"),
  NUMBER(AbdBodyDef, friction, NOT_NEGATIVE, -1, "", "coefficient, else the world's; a pair uses sqrt(mu_a mu_b)"),
  NUMBER(AbdBodyDef, restitution, FRACTION, -1, "",
         "part of the speed that an impact gives back, else the world's; a pair uses sqrt(e_a e_b)"),
  NUMBER(AbdBodyDef, stiffness, POSITIVE, 1e11, "Pa", "factor kappa of the elasticity"),
  CHOICE(AbdBodyDef, elasticity, ABD_ENUM_ELASTICITY, ABD_ELASTICITY_ORTHO,
         "energy that resists deformation; see method.md"),
  NUMBER(AbdBodyDef, rolling_friction, NOT_NEGATIVE, 0, "m",
         "torque against rolling over the normal force of a contact; a pair uses the sum"),
  NUMBER(AbdBodyDef, torsional_friction, NOT_NEGATIVE, 0, "m",
         "torque against spinning about the normal over the normal force of a contact; a pair uses the sum"),
  VECTOR(AbdBodyDef, surface_velocity, 0, 0, 0, "m/s",
         "velocity of the surface against the body, along the axes of its mesh: a conveyor belt"),
  VECTOR(AbdBodyDef, surface_angular_velocity, 0, 0, 0, "rad/s",
         "angular velocity of the surface against the body, about the origin of its mesh: a turntable"),
  NUMBER(AbdBodyDef, gravity_scale, ANY, 1, "", "factor on the world's gravity; 0 = the body floats"),
  BOOLEAN(AbdBodyDef, sensor, false, "the body collides with nothing; abd_body_overlaps finds what overlaps it"),
  NUMBER(AbdBodyDef, drag, NOT_NEGATIVE, 0, "1/s", "rate at which momentum decays; the terminal speed is g / drag"),
  NUMBER(AbdBodyDef, angular_drag, NOT_NEGATIVE, 0, "1/s", "rate at which angular momentum decays"),
};

static const AbdSetting soft_settings[] = {
  NUMBER(AbdSoftDef, young, POSITIVE, 1e5, "Pa", "Young's modulus"),
  NUMBER(AbdSoftDef, poisson, BETWEEN(-1, 0.5), 0.4, "", "Poisson's ratio"),
  CHOICE(AbdSoftDef, model, ABD_ENUM_SOFT_MODEL, ABD_SOFT_NEO_HOOKEAN,
         "neo_hookean resists inversion without end; stable_neo_hookean and corotated bear it"),
  NUMBER(AbdSoftDef, thickness, POSITIVE, 1e-3, "m", "thickness of a shell, diameter of a rod"),
  NUMBER(AbdSoftDef, bending, NOT_NEGATIVE, 1, "",
         "factor on the resistance of a shell or rod to bending; 0 = a cloth or cord that folds freely"),
  NUMBER(AbdSoftDef, damping, NOT_NEGATIVE, 0, "s",
         "viscous stress; a vibration of angular frequency w has the damping ratio damping w / 2"),
  BOOLEAN(AbdSoftDef, self_contact, true, "whether the body's surface collides with itself"),
};
/* clang-format on */

const AbdSetting *abd_settings(AbdDef def, size_t *count) {
  static const struct {
    const AbdSetting *row;
    size_t count;
  } table[ABD_DEF_COUNT] = {{world_settings, sizeof world_settings / sizeof *world_settings},
                            {body_settings, sizeof body_settings / sizeof *body_settings},
                            {soft_settings, sizeof soft_settings / sizeof *soft_settings}};
  *count = (unsigned)def < ABD_DEF_COUNT ? table[def].count : 0;
  return *count ? table[def].row : NULL;
}

void abd_setting_get(const AbdSetting *setting, const void *def, double value[3]) {
  const char *at = (const char *)def + setting->offset;
  bool flag;
  int whole;
  value[1] = value[2] = 0;
  switch (setting->type) {
    case ABD_SETTING_NUMBER: memcpy(value, at, sizeof *value); break;
    case ABD_SETTING_VECTOR: memcpy(value, at, 3 * sizeof *value); break;
    case ABD_SETTING_BOOLEAN: memcpy(&flag, at, sizeof flag), value[0] = flag; break;
    case ABD_SETTING_INTEGER:
    case ABD_SETTING_CHOICE: memcpy(&whole, at, sizeof whole), value[0] = whole; break;
  }
}

void abd_setting_set(const AbdSetting *setting, void *def, const double value[3]) {
  char *at = (char *)def + setting->offset;
  bool flag = value[0] != 0;
  int whole;
  switch (setting->type) {
    case ABD_SETTING_NUMBER: memcpy(at, value, sizeof *value); break;
    case ABD_SETTING_VECTOR: memcpy(at, value, 3 * sizeof *value); break;
    case ABD_SETTING_BOOLEAN: memcpy(at, &flag, sizeof flag); break;
    case ABD_SETTING_INTEGER:
    case ABD_SETTING_CHOICE: whole = (int)value[0], memcpy(at, &whole, sizeof whole); break;
  }
}

static int choice_count(const AbdSetting *setting) {
  int count = 0;
  while (abd_enum_names(setting->choice)[count]) count++;
  return count;
}

bool abd_setting_valid(const AbdSetting *setting, const double value[3]) {
  double x = value[0], most = setting->type == ABD_SETTING_CHOICE ? choice_count(setting) - 1 : setting->most;
  if (setting->type == ABD_SETTING_VECTOR) return isfinite(x) && isfinite(value[1]) && isfinite(value[2]);
  if (setting->type != ABD_SETTING_NUMBER && x != floor(x)) return false;
  return isfinite(x) && (setting->open ? x > setting->least && x < most : x >= setting->least && x <= most);
}

static void number_expected(const AbdSetting *s, const char *noun, char *text, size_t size) {
  bool below = s->type == ABD_SETTING_INTEGER ? s->most < INT32_MAX : isfinite(s->most), above = isfinite(s->least);
  if (above && below && s->open) snprintf(text, size, "%s above %g and below %g", noun, s->least, s->most);
  else if (above && below) snprintf(text, size, "%s from %g to %g", noun, s->least, s->most);
  else if (above) snprintf(text, size, "%s %s %g", noun, s->open ? ">" : ">=", s->least);
  else if (below) snprintf(text, size, "%s %s %g", noun, s->open ? "<" : "<=", s->most);
  else snprintf(text, size, "%s", noun);
}

const char *abd_setting_expected(const AbdSetting *setting, char *text, size_t size) {
  const char *const *names = abd_enum_names(setting->choice);
  size_t used;
  switch (setting->type) {
    case ABD_SETTING_NUMBER: number_expected(setting, "a number", text, size); break;
    case ABD_SETTING_INTEGER: number_expected(setting, "a whole number", text, size); break;
    case ABD_SETTING_BOOLEAN: snprintf(text, size, "true or false"); break;
    case ABD_SETTING_VECTOR: snprintf(text, size, "a list of 3 numbers"); break;
    case ABD_SETTING_CHOICE:
      snprintf(text, size, "one of");
      for (int k = 0; names[k] && (used = strlen(text)) + 1 < size; k++)
        snprintf(text + used, size - used, "%s \"%s\"", k ? "," : "", names[k]);
  }
  return text;
}

void settings_default(AbdDef which, void *def) {
  size_t count;
  const AbdSetting *row = abd_settings(which, &count);
  for (size_t i = 0; i < count; i++) abd_setting_set(&row[i], def, row[i].standard);
}

AbdWorldDef abd_default_world_def(void) {
  AbdWorldDef def = {0};
  settings_default(ABD_DEF_WORLD, &def);
  return def;
}

/* A vector's message names the number that is not finite. */
static AbdStatus refuse(const AbdSetting *s, const double value[3], AbdError *error) {
  char expected[200];
  int k = 0;
  abd_setting_expected(s, expected, sizeof expected);
  if (s->type != ABD_SETTING_VECTOR)
    return fault(error, ABD_ERROR_ARGUMENT, "%s is %g, expected %s", s->name, value[0], expected);
  while (k < 2 && isfinite(value[k])) k++;
  return fault(error, ABD_ERROR_ARGUMENT, "%s[%d] is %g, expected a finite number", s->name, k, value[k]);
}

AbdStatus settings_check_world(const AbdWorldDef *def, AbdError *error) {
  size_t count;
  const AbdSetting *row = abd_settings(ABD_DEF_WORLD, &count);
  for (size_t i = 0; i < count; i++) {
    double value[3];
    abd_setting_get(&row[i], def, value);
    if (!abd_setting_valid(&row[i], value)) return refuse(&row[i], value, error);
  }
  if (def->solver.linear == ABD_LINEAR_CHOLMOD && !cholmod_factor_built())
    return fault(error, ABD_ERROR_ARGUMENT,
                 "solver.linear is \"cholmod\", which this build does not have: "
                 "expected \"auto\", or a build configured with -DABD_CHOLMOD=ON");
#ifndef ABD_PETSC
  if (def->solver.ranks_linear == ABD_RANKS_LINEAR_PETSC)
    return fault(error, ABD_ERROR_ARGUMENT,
                 "solver.ranks_linear is \"petsc\", which this build does not have: "
                 "expected \"own\", or a build configured with -DABD_MPI=ON -DABD_PETSC=ON");
#endif
  return ABD_OK;
}
