/* Runs random worlds (random_world.h) or scene files and tests their physics: every step converges, no step gains
 * energy, momentum is constant if nothing is tied to the world, nothing crosses at the end.
 *
 *   random_worlds [OPTIONS] [SEED | SCENE.json ...]
 *     --seeds FIRST COUNT          the worlds to run if none are named, 1 20
 *     --replay SEED                one world, with the terms of energy after every step
 *     --scene SEED                 writes the world as a scene file to standard output
 *     --joints --soft --gravity --ground --friction  random|always|never (on|off)
 *     --integrator NAME --dt X --bodies N --steps N   instead of random ones; 60 steps
 *     --set NAME=VALUE             a setting, as of abd run: contact.friction_anchors=false
 *     --drives                     with drives on joints; such worlds may gain energy
 *     --wide                       with more keys (random_wide.h), drives in half of the worlds
 *     --verify                     tests every frame for crossings, not the last alone
 *     --threads N                  1
 *     --limit S                    a world is stopped after S seconds of processor time, 60
 *     --max-gain X                 fails if a step gains more than X of the kinetic energy before it
 *     --max-iterations N           fails if a step takes more
 *     --max-step S                 fails if a step takes more seconds of processor time; stopped after ten times that
 *     --max-open N                 fails if a world has more than N steps that did not converge
 *     --max-momentum X, --max-spin X  fails if momentum or angular momentum of a free world is off by more than X of the
 *                                  sum of the sizes of its parts
 *     --quiet                      prints only worlds that fail, and the summary
 * "iter": the most iterations of a step; "loose": steps whose loads of friction differ by more than 5 % from the normal
 * forces; "longest": processor seconds of the longest step.
 * "!" after the step of the worst gain: it did not converge. Classes count gains above 0.1 and 1 %; "conv." counts the
 * worlds above 1 % all of whose steps converged. "book" is the gain of mechanical energy plus all energy that the
 * report has in contacts and stops: it also jumps when a barrier's stiffness does. A gain is relative to the kinetic
 * energy before the step, or to 1/1000 of the largest up to its end, or to that at a speed of 1e-9 m/s, the largest of
 * them. What contacts, stops and springs return is no gain, see balance.h, nor what
 * flights take back in the next step. "(full)": the world ended early, as a body was to come where others are. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include "abd/abd.h"
#include "balance.h"
#include "random_world.h"
#include "scene/scene.h"

static const double LOOSE = 0.05;         /* of the normal forces */
static const double LEAST_KINETIC = 1e-3; /* of the largest kinetic energy so far; gains are relative to no less */
static const double LEAST_SPEED = 1e-9;   /* [m/s] nor to less than if all moved with this speed, which is rounding */

typedef struct Arguments {
  RandomOptions world;
  uint64_t first, count;
  int threads, max_open, max_iterations;
  double limit, max_step, max_gain, max_momentum, max_spin;
  bool replay, scene, quiet, verify;
  const char *set[16]; /* NAME=VALUE */
  int set_count;
  int named_count; /* seeds and files */
  char **named;
} Arguments;

typedef struct Gain {
  double relative, joule;
  int64_t step;
  bool open; /* the step did not converge */
} Gain;

typedef struct Result {
  char name[64], error[512];
  RandomFacts facts;
  AbdIntegrator integrator;
  double dt;
  int64_t steps;
  int open, most_iterations; /* open: steps that did not converge */
  int loose;                 /* steps whose loads of friction are off by more than LOOSE */
  AbdOutcome outcome;        /* of the first of them */
  Gain gain, book;       /* the worst; book: of mechanical energy and all that the report has in contacts and stops */
  double of_peak;        /* the worst gain relative to the largest kinetic energy so far */
  double momentum, spin; /* the worst relative errors */
  double kinetic_error;  /* the report's kinetic energy against that of the velocities, relative */
  int64_t infinite;      /* first step whose energy is not finite, 0 = none */
  size_t crossings;
  double seconds, longest; /* of all steps, of the longest */
  bool slow;
  bool full; /* it ended early: a body was to come where others are, and was refused */
} Result;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- One world ---- */

/* A gain of the last step that flights made, at most `flight` of it, and may take back in the next one: a pendulum has
 * no velocity at its turning point to be corrected. */
typedef struct Swing {
  double gain, flight, kinetic;
  AbdStepReport report;
} Swing;

typedef struct Run {
  const Arguments *arguments;
  Result *result;
  Scene *scene;
  AbdWorld *world;
  Balance first, last;
  double *position; /* of joints */
  double peak;      /* largest kinetic energy */
  Swing swing;
  double stored; /* balance_stored; infinite before the first step if contacts or stops may act then */
} Run;

static void put_head(void) {
  printf("%5s %4s %12s %12s %12s %12s %12s %13s | %12s %12s %12s %12s %12s | %12s %10s %9s %9s  %s\n", "step", "iter",
         "kinetic", "gravity", "elastic", "soft", "spring", "mechanical", "contact", "stop", "anchor", "stored",
         "(friction)", "gain", "gain/kin", "momentum", "spin", "outcome");
}

static double off(Vec3 now, Vec3 first, double size) { return size > 0 ? norm(sub(now, first)) / size : 0; }

static void put_step(const Run *run, const AbdStepReport *r, const Balance *b, double gain, double kinetic) {
  const Balance *first = &run->first;
  printf(
      "%5lld %4d %12.6g %12.6g %12.6g %12.6g %12.6g %13.9g | %12.6g %12.6g %12.6g %12.6g %12.6g | %12.4g %10.2e %9.2e "
      "%9.2e  %s\n",
      (long long)r->step, r->iterations, b->kinetic, b->gravity, b->elastic, b->soft, b->spring, b->mechanical,
      b->contact, b->stop, b->anchor, run->stored, b->friction, gain, gain / kinetic,
      off(b->momentum, first->momentum, first->momentum_size), off(b->spin, first->spin, first->spin_size),
      abd_outcome_name(r->outcome));
}

static void raise_gain(Gain *gain, double joule, double kinetic, const AbdStepReport *r) {
  if (joule > 0 && joule > gain->relative * kinetic)
    *gain = (Gain){joule / kinetic, joule, r->step, r->outcome != ABD_CONVERGED};
}

/* Gains that flights made are judged after the next step. */
static void judge_gain(Run *run, double gain, double kinetic, const AbdStepReport *report) {
  const Swing *last = &run->swing;
  double flight = report->work[ABD_WORK_RESIDUAL], back = fmin(last->flight, fmax(0, -flight));
  if (last->flight > 0) raise_gain(&run->result->gain, last->gain - back, last->kinetic, &last->report);
  run->swing = (Swing){gain, fmin(gain, flight), kinetic, *report};
  if (!(run->swing.flight > 0)) raise_gain(&run->result->gain, gain, kinetic, report);
}

static void compare_momenta(Run *run, const Balance *b) {
  Result *r = run->result;
  if (!r->facts.free) return;
  r->momentum = fmax(r->momentum, off(b->momentum, run->first.momentum, run->first.momentum_size));
  r->spin = fmax(r->spin, off(b->spin, run->first.spin, run->first.spin_size));
}

static void compare_energies(Run *run, const Balance *b, const AbdStepReport *report) {
  Result *r = run->result;
  const Balance *last = &run->last;
  run->peak = fmax(run->peak, b->kinetic);
  double least = fmax(LEAST_KINETIC * run->peak, 0.5 * b->mass * LEAST_SPEED * LEAST_SPEED);
  double kinetic = fmax(last->kinetic, least), change = b->mechanical - last->mechanical;
  double gain = change - run->stored - b->swing;
  bool known = isfinite(run->stored);
  run->stored = balance_stored(run->stored, last, b);
  if (!isfinite(b->mechanical) && !r->infinite) r->infinite = report->step;
  if (run->arguments->replay) put_step(run, report, b, fmax(0, gain), kinetic);
  r->kinetic_error = fmax(r->kinetic_error, fabs(b->kinetic - b->own_kinetic) / fmax(run->peak, 1e-300));
  if (!known) return;
  judge_gain(run, gain, kinetic, report);
  raise_gain(&r->book, change + b->contact + b->stop - last->contact - last->stop, kinetic, report);
  if (gain > 0) r->of_peak = fmax(r->of_peak, gain / fmax(run->peak, least));
}

static size_t count_crossings(const AbdWorld *world) {
  size_t size = 0;
  for (size_t k = 0; k < abd_world_body_count(world); k++) {
    AbdBodyId id = abd_world_body_at(world, k);
    AbdSoftView soft;
    bool is_soft = abd_body_is_soft(world, id) && abd_soft_view(world, id, &soft) == ABD_OK;
    size += is_soft ? 3 * soft.vertex_count : 12;
  }
  double *nodes = malloc((size + 1) * sizeof *nodes);
  if (!nodes) return SIZE_MAX;
  abd_world_poses(world, nodes, NULL);
  AbdCrossing crossing;
  size_t found = abd_world_find_crossings(world, nodes, &crossing, 1);
  free(nodes);
  return found;
}

static AbdWorld *stepped; /* the world that on_alarm interrupts */
static void on_alarm(int signal_number) {
  (void)signal_number;
  if (stepped) abd_world_interrupt(stepped);
}

/* The timer counts processor time. */
static AbdStatus step_in_time(const Run *run, AbdStepReport *report) {
  double most = fmin(run->arguments->limit, 10 * run->arguments->max_step);
  struct itimerval limit = {.it_value.tv_sec = (time_t)fmin(1e6, 1 + most)}, none = {{0, 0}, {0, 0}};
  stepped = run->world;
  setitimer(ITIMER_PROF, &limit, NULL);
  AbdStatus status = abd_world_step(run->world, report);
  setitimer(ITIMER_PROF, &none, NULL);
  stepped = NULL;
  return status;
}

static bool take_step(Run *run) {
  Result *r = run->result;
  AbdStepReport report;
  SceneError error;
  if (!scene_apply(run->scene, run->world, &error)) {
    r->full = strstr(error.text, "would touch or cross") != NULL;
    if (!r->full) snprintf(r->error, sizeof r->error, "%.500s", error.text);
    return false;
  }
  double start = now();
  AbdStatus status = step_in_time(run, &report);
  double took = now() - start;
  r->seconds += took;
  r->longest = fmax(r->longest, took);
  if (status == ABD_INTERRUPTED) return r->slow = true, false;
  if (status != ABD_OK) {
    snprintf(r->error, sizeof r->error, "%.500s", abd_world_error(run->world));
    return false;
  }
  r->steps++;
  if (report.iterations > r->most_iterations) r->most_iterations = report.iterations;
  r->loose += report.friction_error > LOOSE;
  bool ended = report.outcome == ABD_CONVERGED || report.outcome == ABD_KINEMATIC_BLOCKED; /* as scripts may ask */
  if (!ended && r->open++ == 0) r->outcome = report.outcome;
  Balance b = balance_of(run->world, &report, r->facts.dry, run->position);
  compare_energies(run, &b, &report);
  compare_momenta(run, &b);
  run->last = b;
  r->slow = r->seconds > run->arguments->limit;
  if (run->arguments->verify) r->crossings += count_crossings(run->world);
  return !r->slow && !r->crossings;
}

static void take_steps(Run *run, int64_t steps) {
  Result *r = run->result;
  run->position = calloc(abd_world_joint_count(run->world) + 1, sizeof *run->position); /* none comes later */
  AbdWorldDef def = abd_world_settings(run->world);
  r->integrator = def.integrator;
  r->dt = def.dt;
  if (!run->position || abd_world_start(run->world) != ABD_OK) {
    snprintf(r->error, sizeof r->error, "start: %.480s", abd_world_error(run->world));
    return;
  }
  run->first = run->last = balance_of(run->world, NULL, r->facts.dry, run->position);
  run->peak = run->first.kinetic;
  if (balance_has_stop(run->world)) run->stored = INFINITY;
  if (run->arguments->replay) {
    put_head();
    put_step(run, &(AbdStepReport){0}, &run->first, 0, 1);
  }
  for (int64_t k = 0; k < steps && take_step(run); k++) {}
  if (!r->crossings) r->crossings = count_crossings(run->world);
}

static void run_scene(const Arguments *a, Scene *scene, bool touches, SceneError *error, Result *r) {
  Run run = {.arguments = a, .result = r, .scene = scene, .stored = touches ? INFINITY : 0};
  if (scene) run.world = scene_build(scene, a->threads, error);
  if (run.world) take_steps(&run, scene_steps(scene));
  else snprintf(r->error, sizeof r->error, "%.500s", error->text);
  free(run.position);
  abd_world_destroy(run.world);
  scene_destroy(scene);
}

static Result run_seed(const Arguments *a, uint64_t seed) {
  Result r = {0};
  SceneOptions options = {.set = a->set, .set_count = a->set_count};
  SceneError error = {"out of memory"};
  char *text = random_world_text(seed, &a->world, &r.facts);
  snprintf(r.name, sizeof r.name, "%llu", (unsigned long long)seed);
  run_scene(a, text ? scene_parse(text, strlen(text), r.name, &options, &error) : NULL, r.facts.touches, &error, &r);
  free(text);
  return r;
}

static Result run_file(const Arguments *a, const char *path) {
  Result r = {.facts.dry = true}; /* stops are not told from other terms of joints in unknown scenes */
  SceneError error;
  const char *paths[] = {path}, *slash = strrchr(path, '/');
  SceneOptions options = {.set = a->set, .set_count = a->set_count};
  Scene *scene = scene_load(paths, 1, &options, &error);
  if (scene) r.facts.bodies = (int)scene_body_count(scene);
  snprintf(r.name, sizeof r.name, "%.60s", slash ? slash + 1 : path);
  run_scene(a, scene, true, &error, &r);
  return r;
}

static Result run_named(const Arguments *a, const char *name) {
  char *end;
  uint64_t seed = strtoull(name, &end, 10);
  return *end ? run_file(a, name) : run_seed(a, seed);
}

/* ---- Results ---- */

static const char *failure(const Arguments *a, const Result *r) {
  if (r->error[0]) return r->error;
  if (r->crossings) return "crossing";
  if (r->infinite) return "energy not finite";
  if (r->gain.relative > a->max_gain && !r->facts.driven) return "gain";
  if (r->open > a->max_open) return "not converged";
  if (r->most_iterations > a->max_iterations) return "iterations";
  if (r->longest > a->max_step) return "long step";
  if (r->momentum > a->max_momentum || r->spin > a->max_spin) return "momentum";
  return r->slow ? "slow" : NULL;
}

static void put_result_head(void) {
  printf("%8s %7s %6s %6s %6s %4s %5s %4s %5s %5s %5s %9s %9s %5s %9s %9s %9s %9s %8s %8s  %s\n", "world", "1/dt",
         "integ", "bodies", "joints", "soft", "frict", "free", "open", "iter", "loose", "gain/kin", "gain J", "step",
         "gain/peak", "book/kin", "momentum", "spin", "seconds", "longest", "failure");
}

static void put_result(const Arguments *a, const Result *r) {
  const char *what = failure(a, r);
  if (a->quiet && !what) return;
  printf("%8s %7.6g %6s %6d %6d %4d %5.2f %4s %5d %5d %5d %9.2e %9.2e %5lld%c%9.2e %9.2e %9.2e %9.2e %8.2f %8.3f  %s\n",
         r->name, 1 / r->dt, abd_integrator_name(r->integrator), r->facts.bodies, r->facts.joints, r->facts.soft,
         r->facts.friction, r->facts.free ? "yes" : "no", r->open, r->most_iterations, r->loose, r->gain.relative,
         r->gain.joule, (long long)r->gain.step, r->gain.open ? '!' : ' ', r->of_peak, r->book.relative, r->momentum,
         r->spin, r->seconds, r->longest,
         what      ? what
         : r->full ? "(full)"
                   : "");
  if (r->open) printf("%8s first open step: %s\n", "", abd_outcome_name(r->outcome));
  fflush(stdout);
}

/* ---- Summary: worlds by class ---- */

typedef struct Class {
  char name[32];
  int worlds, small, large, converged, book, open, slow; /* gains above 0.1 %, 1 %, ... */
  double gain, momentum, spin, seconds;
  int iterations;
  char worst[64];
} Class;

static void class_add(Class *c, const Result *r) {
  c->worlds++;
  c->small += r->gain.relative > 1e-3;
  c->large += r->gain.relative > 1e-2;
  c->converged += r->gain.relative > 1e-2 && r->open == 0;
  c->book += r->book.relative > 1e-2;
  c->open += r->open > 0;
  c->slow += r->slow;
  c->seconds += r->seconds;
  c->momentum = fmax(c->momentum, r->momentum);
  c->spin = fmax(c->spin, r->spin);
  if (r->most_iterations > c->iterations) c->iterations = r->most_iterations;
  if (r->gain.relative < c->gain) return;
  c->gain = r->gain.relative;
  memcpy(c->worst, r->name, sizeof c->worst);
}

static bool of_integrator(const Result *r, int k) { return (int)r->integrator == k; }
static bool of_joints(const Result *r, int k) { return (r->facts.joints > 0) == (k == 1); }
static bool of_soft(const Result *r, int k) { return (r->facts.soft > 0) == (k == 1); }
static bool of_friction(const Result *r, int k) { return (r->facts.friction > 0) == (k == 1); }
static bool of_free(const Result *r, int k) { return r->facts.free == (k == 1); }
static bool of_dt(const Result *r, int k) {
  static const double least[] = {0.03, 0.015, 0.007, 0.003, 0.0015, 0};
  return r->dt >= least[k] && (k == 0 || r->dt < least[k - 1]);
}
static bool of_all(const Result *r, int k) { return r && k == 0; }

static void put_class(const Class *c) {
  if (c->worlds == 0) return;
  printf("%-20s %6d %8d %6d %8d %8d %6d %5d %9.2e %8s %6d %9.2e %9.2e %8.1f\n", c->name, c->worlds, c->small, c->large,
         c->converged, c->book, c->open, c->slow, c->gain, c->worst, c->iterations, c->momentum, c->spin, c->seconds);
}

static void put_classes(const Result *result, size_t count) {
  static const struct {
    bool (*is)(const Result *, int);
    int count;
    const char *name[6];
  } table[] = {{of_integrator, 3, {"rigid", "euler", "bdf2"}},
               {of_dt, 6, {"dt 1/25", "dt 1/50", "dt 1/100", "dt 1/250", "dt 1/500", "dt 1/1000"}},
               {of_joints, 2, {"no joints", "joints"}},
               {of_soft, 2, {"no soft bodies", "soft bodies"}},
               {of_friction, 2, {"no friction", "friction"}},
               {of_free, 2, {"tied or gravity", "free"}},
               {of_all, 1, {"all"}}};
  printf("\n%-20s %6s %8s %6s %8s %8s %6s %5s %9s %8s %6s %9s %9s %8s\n", "class", "worlds", ">0.1 %", ">1 %",
         "conv.>1%", "book>1%", "open", "slow", "worst", "world", "iter", "momentum", "spin", "seconds");
  for (size_t t = 0; t < sizeof table / sizeof *table; t++)
    for (int k = 0; k < table[t].count; k++) {
      Class c = {0};
      snprintf(c.name, sizeof c.name, "%s", table[t].name[k]);
      for (size_t i = 0; i < count; i++)
        if (table[t].is(&result[i], k)) class_add(&c, &result[i]);
      put_class(&c);
    }
}

/* The rates of strain have kinetic energy too, so that the difference is small but not zero. */
static void put_kinetic_error(const Result *result, size_t count) {
  const Result *worst = result;
  for (size_t i = 1; i < count; i++)
    if (result[i].kinetic_error > worst->kinetic_error) worst = &result[i];
  printf("kinetic energy of reports and of velocities differ by at most %.2e of the largest (world %s)\n",
         worst->kinetic_error, worst->name);
}

/* ---- Command line ---- */

static void refuse(const char *what, const char *value) {
  fprintf(stderr, "random_worlds: %s: %s\n", what, value);
  exit(2);
}

static double number(const char *text) {
  char *end;
  double x = strtod(text, &end);
  if (end == text || *end) refuse("expected a number, got", text);
  return x;
}

static Choice choice(const char *text) {
  if (strcmp(text, "always") == 0 || strcmp(text, "on") == 0) return CHOICE_ALWAYS;
  if (strcmp(text, "never") == 0 || strcmp(text, "off") == 0) return CHOICE_NEVER;
  if (strcmp(text, "random") != 0) refuse("expected random, always or never, got", text);
  return CHOICE_RANDOM;
}

static int integrator(const char *text) {
  const char *const *name = abd_enum_names(ABD_ENUM_INTEGRATOR);
  for (int k = 0; name[k]; k++)
    if (strcmp(name[k], text) == 0) return k;
  refuse("unknown integrator", text);
  return -1;
}

static bool read_choice(const char *flag, const char *value, RandomOptions *o) {
  if (strcmp(flag, "--joints") == 0) o->joints = choice(value);
  else if (strcmp(flag, "--soft") == 0) o->soft = choice(value);
  else if (strcmp(flag, "--gravity") == 0) o->gravity = choice(value);
  else if (strcmp(flag, "--ground") == 0) o->ground = choice(value);
  else if (strcmp(flag, "--friction") == 0) o->friction = choice(value);
  else if (strcmp(flag, "--integrator") == 0) o->integrator = integrator(value);
  else return false;
  return true;
}

static bool read_number(const char *flag, double x, Arguments *a) {
  if (strcmp(flag, "--dt") == 0) a->world.dt = x;
  else if (strcmp(flag, "--bodies") == 0) a->world.bodies = (int)x;
  else if (strcmp(flag, "--steps") == 0) a->world.steps = (int)x;
  else if (strcmp(flag, "--threads") == 0) a->threads = (int)x;
  else if (strcmp(flag, "--limit") == 0) a->limit = x;
  else if (strcmp(flag, "--max-iterations") == 0) a->max_iterations = (int)x;
  else if (strcmp(flag, "--max-step") == 0) a->max_step = x;
  else if (strcmp(flag, "--max-gain") == 0) a->max_gain = x;
  else if (strcmp(flag, "--max-momentum") == 0) a->max_momentum = x;
  else if (strcmp(flag, "--max-spin") == 0) a->max_spin = x;
  else if (strcmp(flag, "--max-open") == 0) a->max_open = (int)x;
  else if (strcmp(flag, "--replay") == 0) a->replay = true, a->first = (uint64_t)x, a->count = 1;
  else if (strcmp(flag, "--scene") == 0) a->scene = true, a->first = (uint64_t)x, a->count = 1;
  else return false;
  return true;
}

static bool read_flag(const char *flag, Arguments *a) {
  if (strcmp(flag, "--drives") == 0) a->world.drives = true;
  else if (strcmp(flag, "--wide") == 0) a->world.wide = true;
  else if (strcmp(flag, "--verify") == 0) a->verify = true;
  else if (strcmp(flag, "--quiet") == 0) a->quiet = true;
  else return false;
  return true;
}

static Arguments read_arguments(int argc, char **argv) {
  Arguments a = {.world = random_default_options(), .first = 1, .count = 20, .threads = 1, .limit = 60};
  a.max_gain = a.max_momentum = a.max_spin = a.max_step = INFINITY;
  a.max_open = a.max_iterations = 1 << 30;
  int i = 1;
  for (; i < argc && argv[i][0] == '-'; i++) {
    const char *flag = argv[i];
    if (read_flag(flag, &a)) continue;
    if (strcmp(flag, "--set") == 0 && i + 1 < argc && a.set_count < 16) {
      a.set[a.set_count++] = argv[++i];
      continue;
    }
    if (i + 1 >= argc) refuse("unknown flag, or no value after", flag);
    if (strcmp(flag, "--seeds") == 0 && i + 2 < argc) {
      a.first = (uint64_t)number(argv[i + 1]);
      a.count = (uint64_t)number(argv[i + 2]);
      i += 2;
    } else if (read_choice(flag, argv[i + 1], &a.world) || read_number(flag, number(argv[i + 1]), &a)) i++;
    else refuse("unknown flag", flag);
  }
  a.named = argv + i;
  a.named_count = argc - i;
  if (a.named_count) a.count = (uint64_t)a.named_count;
  return a;
}

static int write_scene(const Arguments *a) {
  RandomFacts facts;
  char *text = random_world_text(a->first, &a->world, &facts);
  if (text) fputs(text, stdout);
  free(text);
  return text ? 0 : 1;
}

int main(int argc, char **argv) {
  Arguments a = read_arguments(argc, argv);
  if (a.scene) return write_scene(&a);
  signal(SIGPROF, on_alarm);
  Result *result = calloc(a.count, sizeof *result);
  if (!result) return 1;
  size_t failures = 0;
  put_result_head();
  for (uint64_t i = 0; i < a.count; i++) {
    result[i] = a.named_count ? run_named(&a, a.named[i]) : run_seed(&a, a.first + i);
    put_result(&a, &result[i]);
    failures += failure(&a, &result[i]) != NULL;
  }
  if (a.count > 1) put_classes(result, a.count);
  put_kinetic_error(result, a.count);
  printf("%llu worlds, %zu failed\n", (unsigned long long)a.count, failures);
  free(result);
  return failures ? 1 : 0;
}
