/* See facts.h. */
#include "facts.h"

#include "args.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t read_count(AbdRun *run, const char *key, int64_t fallback) {
  const char *text = abd_run_meta(run, key);
  return text ? strtoll(text, NULL, 10) : fallback;
}

static char *copy_of(const char *text) { return text ? strdup(text) : NULL; }

static bool count_geometry(AbdRun *run, const AbdRunView *view, RunFacts *facts) {
  AbdRunBody body;
  AbdRunMesh mesh;
  facts->bodies = view->body_count, facts->meshes = view->mesh_count, facts->dt = view->dt;
  for (AbdBodyId id = {1}; id.id <= view->body_count; id.id++) {
    if (abd_run_body(run, id, &body) != ABD_OK || abd_run_mesh(run, body.mesh, &mesh) != ABD_OK) return false;
    facts->triangles += mesh.triangle_count, facts->edges += mesh.edge_count;
    if (body.soft) facts->soft_bodies++, facts->soft_vertices += mesh.vertex_count, facts->tets += mesh.tet_count;
    facts->dynamic_bodies += body.motion == ABD_MOTION_DYNAMIC;
  }
  for (int k = 0; k < 2; k++) {
    if (abd_run_body(run, (AbdBodyId){facts->summary.nearest[k]}, &body) == ABD_OK)
      facts->nearest_name[k] = copy_of(body.name);
    if (abd_run_body(run, (AbdBodyId){facts->summary.split_culprit[k]}, &body) == ABD_OK)
      facts->split_name[k] = copy_of(body.name);
  }
  if (abd_run_body(run, (AbdBodyId){facts->summary.held_back_body}, &body) == ABD_OK)
    facts->held_back_name = copy_of(body.name);
  if (abd_run_body(run, (AbdBodyId){facts->summary.most_strained}, &body) == ABD_OK)
    facts->most_strained = copy_of(body.name);
  return true;
}

/* Reports have the gaps of nonlinear joints; those of linear joints, which are rounding errors, are in the readings. */
static bool count_joints(AbdRun *run, const AbdRunView *view, RunFacts *facts) {
  AbdRunSummary *s = &facts->summary;
  AbdRunJoint joint;
  facts->joints = view->joint_count;
  if (view->joint_count && !s->worst_joint) {
    AbdJointId worst;
    if (abd_run_worst_reading(run, &s->joint_residual, &s->joint_residual_step, &worst) != ABD_OK) return false;
    s->worst_joint = worst.id;
  }
  if (abd_run_joint(run, (AbdJointId){s->worst_joint}, &joint) == ABD_OK) facts->worst_joint = copy_of(joint.name);
  return true;
}

bool facts_read(AbdRun *run, RunFacts *facts) {
  AbdRunView view;
  *facts = (RunFacts){.path = abd_run_path(run)};
  if (abd_run_summary(run, &facts->summary) != ABD_OK || abd_run_view(run, &view) != ABD_OK ||
      !count_geometry(run, &view, facts) || !count_joints(run, &view, facts))
    return false;
  facts->scene_name = copy_of(abd_run_meta(run, "scene_name"));
  facts->device = copy_of(abd_run_meta(run, "device"));
  facts->ranks = copy_of(abd_run_meta(run, "ranks"));
  facts->planned_steps = read_count(run, "steps", facts->summary.steps);
  facts->verified_frames = read_count(run, "verified_frames", -1);
  facts->crossings = read_count(run, "verified_crossings", -1);
  const char *output = abd_run_meta(run, "output_seconds");
  facts->output_seconds = output ? strtod(output, NULL) : -1;
  return true;
}

void facts_destroy(RunFacts *facts) {
  free(facts->scene_name), free(facts->worst_joint), free(facts->device), free(facts->ranks);
  free(facts->held_back_name), free(facts->most_strained);
  for (int k = 0; k < 2; k++) free(facts->nearest_name[k]), free(facts->split_name[k]);
}

/* ---- Text ---- */

static double per_step(const RunFacts *facts, double seconds) {
  return facts->summary.steps ? 1e3 * seconds / (double)facts->summary.steps : 0;
}

static void print_stages(const RunFacts *facts) {
  double total = facts->summary.seconds_total > 0 ? facts->summary.seconds_total : 1;
  printf("  stage             ms/step      %%\n");
  for (int k = 0; k < ABD_STAGE_COUNT; k++)
    printf("  %-14s %10.4g  %5.1f\n", abd_stage_name((AbdStage)k), per_step(facts, facts->summary.seconds[k]),
           100 * facts->summary.seconds[k] / total);
  printf("  %-14s %10.4g  %5.1f\n", "total", per_step(facts, facts->summary.seconds_total), 100.0);
}

static double number_of(const json_t *object, const char *key) {
  return json_number_value(json_object_get(object, key));
}

/* How the ranks of an MPI job shared the last steps whose bodies were divided. */
static void print_ranks(const RunFacts *facts) {
  json_t *o = facts->ranks ? json_loads(facts->ranks, 0, NULL) : NULL, *seconds = json_object_get(o, "seconds"), *times;
  const char *stage;
  if (!o) return;
  printf("  ranks             %.0f, last %.0f steps: busiest %.2f times the mean; a rank sends %.4g kB to all and %.4g "
         "kB to "
         "its neighbours a step, waits %.4g ms\n",
         number_of(o, "ranks"), number_of(o, "steps"), number_of(o, "imbalance"), 1e-3 * number_of(o, "bytes"),
         1e-3 * number_of(o, "halo_bytes"), 1e3 * number_of(o, "wait_seconds"));
  printf("  stage           mean rank, slowest rank: ms/step without waits\n");
  json_object_foreach(seconds, stage, times)
      printf("  %-14s %10.4g %10.4g\n", stage, 1e3 * json_number_value(json_array_get(times, 0)),
             1e3 * json_number_value(json_array_get(times, 1)));
  json_decref(o);
}

static void print_held_back(const RunFacts *facts) {
  const AbdRunSummary *s = &facts->summary;
  if (!s->kinematic_blocked) return;
  printf("  held back         a kinematic body in %" PRId64 " step%s, at most %.3g m, step %" PRId64,
         s->kinematic_blocked, s->kinematic_blocked == 1 ? "" : "s", s->held_back, s->held_back_step);
  if (facts->held_back_name) printf(": '%s'", facts->held_back_name);
  printf("\n");
}

static void print_nearness(const RunFacts *facts) {
  const AbdRunSummary *s = &facts->summary;
  if (!isfinite(s->min_distance)) printf("  smallest distance no two bodies came near each other\n");
  else
    printf("  smallest distance %.4g m, step %" PRId64 ": '%s' and '%s'\n", s->min_distance, s->min_distance_step,
           facts->nearest_name[0] ? facts->nearest_name[0] : "?",
           facts->nearest_name[1] ? facts->nearest_name[1] : "?");
}

static void print_strain(const RunFacts *facts) {
  const AbdRunSummary *s = &facts->summary;
  printf("  largest strain    %.3g", s->max_strain);
  if (facts->most_strained) printf(", step %" PRId64 ": '%s'", s->max_strain_step, facts->most_strained);
  printf("\n");
  if (s->max_soft_strain > 0) printf("  of soft bodies    %.3g\n", s->max_soft_strain);
}

static void print_joints(const RunFacts *facts) {
  const AbdRunSummary *s = &facts->summary;
  if (!facts->joints) return;
  printf("  joints            %zu", facts->joints);
  if (s->worst_joint)
    printf(", largest gap %.3g m, step %" PRId64 ": '%s'", s->joint_residual, s->joint_residual_step,
           facts->worst_joint ? facts->worst_joint : "?");
  printf("\n");
}

static void print_substeps(const RunFacts *facts) {
  const AbdRunSummary *s = &facts->summary;
  if (s->split_steps == 0) return;
  printf("  sub-steps         %" PRId64 " steps took %" PRId64 ", at most %" PRId64
         " in one; the first is step %" PRId64,
         s->split_steps, s->substeps, s->substeps_max, s->first_split);
  if (s->worst_split) printf("; step %" PRId64 ": %s", s->worst_split, s->split_by);
  if (s->worst_split && facts->split_name[0])
    printf(", '%s'%s%s%s", facts->split_name[0], facts->split_name[1] ? " and '" : "",
           facts->split_name[1] ? facts->split_name[1] : "", facts->split_name[1] ? "'" : "");
  printf("\n");
}

static void print_linear(const RunFacts *facts) {
  const AbdRunSummary *s = &facts->summary;
  if (s->factor_memory == 0 && s->linear_iterations == 0) return;
  printf("  linear systems    ");
  if (s->linear_iterations == 0) printf("Cholesky");
  else printf("PCG, %.1f iterations in a step", (double)s->linear_iterations / (double)s->steps);
  if (s->factor_memory > 0)
    printf("; largest factor predicted %.3g MB, %.3g Gflop", 1e-6 * s->factor_memory, 1e-9 * s->factor_flops);
  printf("\n");
}

void facts_print(const RunFacts *facts) {
  const AbdRunSummary *s = &facts->summary;
  printf("%s: %s\n", facts->path, facts->scene_name ? facts->scene_name : "");
  if (facts->device && strcmp(facts->device, "cpu")) printf("  device            %s\n", facts->device);
  printf("  bodies            %zu (%zu dynamic), %zu meshes\n", facts->bodies, facts->dynamic_bodies, facts->meshes);
  printf("  triangles, edges  %zu, %zu\n", facts->triangles, facts->edges);
  if (facts->soft_bodies)
    printf("  soft bodies       %zu, %zu vertices, %zu tets\n", facts->soft_bodies, facts->soft_vertices, facts->tets);
  print_joints(facts);
  printf("  steps             %" PRId64 " of %" PRId64 ", dt %.6g s, %.6g s of time, %" PRId64 " frames\n", s->steps,
         facts->planned_steps, facts->dt, s->time, s->frames);
  if (s->not_converged == 0) printf("  converged         all steps\n");
  else
    printf("  converged         %" PRId64 " steps; NOT converged: %" PRId64 ", the first is step %" PRId64 "\n",
           s->steps - s->not_converged, s->not_converged, s->first_not_converged);
  print_held_back(facts);
  printf("  iterations/step   %.2f mean, %" PRId64 " most\n", s->iterations_mean, s->iterations_max);
  print_substeps(facts);
  print_linear(facts);
  printf("  contacts          %.1f mean, %" PRId64 " most\n", s->contacts_mean, s->contacts_max);
  if (s->friction_error_max > 0)
    printf("  friction loads    off by %.2g %% mean, %.2g %% most, step %" PRId64 "\n", 100 * s->friction_error_mean,
           100 * s->friction_error_max, s->friction_error_step);
  print_nearness(facts);
  print_strain(facts);
  if (facts->crossings < 0) printf("  intersections     not verified yet (abd verify)\n");
  else printf("  intersections     %" PRId64 " in %" PRId64 " frames\n", facts->crossings, facts->verified_frames);
  if (s->seconds_total > 0)
    printf("  speed             %.4g ms/step, %.3g times real time\n", per_step(facts, s->seconds_total),
           s->time / s->seconds_total);
  if (facts->output_seconds >= 0 && s->seconds_total > 0)
    printf("  output            %.3g ms/step, %.1f %% of the time\n", per_step(facts, facts->output_seconds),
           100 * facts->output_seconds / (s->seconds_total + facts->output_seconds));
  printf("  file              %.2f MB\n", 1e-6 * (double)facts->summary.bytes);
  print_stages(facts);
  print_ranks(facts);
}

/* ---- JSON ---- */

static json_t *real(double value) { return isfinite(value) ? json_real(value) : json_null(); }

static json_t *name_json(const char *name) { return name ? json_string(name) : json_null(); }

static json_t *stages_json(const RunFacts *facts) {
  json_t *object = json_object();
  for (int k = 0; k < ABD_STAGE_COUNT; k++) {
    char key[64];
    snprintf(key, sizeof key, "%s", abd_stage_name((AbdStage)k));
    for (char *c = key; *c; c++)
      if (*c == ' ' || *c == '-') *c = '_';
    json_object_set_new(object, key, real(per_step(facts, facts->summary.seconds[k])));
  }
  json_object_set_new(object, "total", real(per_step(facts, facts->summary.seconds_total)));
  return object;
}

json_t *facts_json(const RunFacts *facts) {
  const AbdRunSummary *s = &facts->summary;
  char hash[20];
  snprintf(hash, sizeof hash, "%016" PRIx64, s->last_hash);
  json_t *o = json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I}", "file", facts->path, "scene",
                        facts->scene_name ? facts->scene_name : "", "bodies", (json_int_t)facts->bodies,
                        "dynamic_bodies", (json_int_t)facts->dynamic_bodies, "meshes", (json_int_t)facts->meshes,
                        "triangles", (json_int_t)facts->triangles, "edges", (json_int_t)facts->edges);
  json_object_set_new(o, "soft_bodies", json_integer((json_int_t)facts->soft_bodies));
  json_object_set_new(o, "soft_vertices", json_integer((json_int_t)facts->soft_vertices));
  json_object_set_new(o, "tets", json_integer((json_int_t)facts->tets));
  json_object_set_new(o, "dt", real(facts->dt));
  json_object_set_new(o, "steps", json_integer(s->steps));
  json_object_set_new(o, "planned_steps", json_integer(facts->planned_steps));
  json_object_set_new(o, "time", real(s->time));
  json_object_set_new(o, "frames", json_integer(s->frames));
  json_object_set_new(o, "not_converged_steps", json_integer(s->not_converged));
  json_object_set_new(o, "first_not_converged", s->not_converged ? json_integer(s->first_not_converged) : json_null());
  json_object_set_new(o, "kinematic_blocked_steps", json_integer(s->kinematic_blocked));
  json_object_set_new(o, "held_back", real(s->held_back));
  json_object_set_new(o, "held_back_step", s->kinematic_blocked ? json_integer(s->held_back_step) : json_null());
  json_object_set_new(o, "held_back_body", name_json(facts->held_back_name));
  json_object_set_new(o, "iterations_mean", real(s->iterations_mean));
  json_object_set_new(o, "iterations_max", json_integer(s->iterations_max));
  json_object_set_new(o, "split_steps", json_integer(s->split_steps));
  json_object_set_new(o, "substeps", json_integer(s->substeps));
  json_object_set_new(o, "substeps_max", json_integer(s->substeps_max));
  json_object_set_new(o, "given_up", json_integer(s->given_up));
  json_object_set_new(o, "linear_iterations", json_integer(s->linear_iterations));
  json_object_set_new(o, "factor_memory", real(s->factor_memory));
  json_object_set_new(o, "factor_flops", real(s->factor_flops));
  json_object_set_new(o, "contacts_mean", real(s->contacts_mean));
  json_object_set_new(o, "contacts_max", json_integer(s->contacts_max));
  json_object_set_new(o, "friction_error_mean", real(s->friction_error_mean));
  json_object_set_new(o, "friction_error_max", real(s->friction_error_max));
  json_object_set_new(o, "min_distance", real(s->min_distance));
  json_object_set_new(o, "min_distance_step",
                      isfinite(s->min_distance) ? json_integer(s->min_distance_step) : json_null());
  json_object_set_new(o, "max_strain", real(s->max_strain));
  json_object_set_new(o, "max_strain_step", s->most_strained ? json_integer(s->max_strain_step) : json_null());
  json_object_set_new(o, "most_strained", name_json(facts->most_strained));
  json_object_set_new(o, "max_soft_strain", real(s->max_soft_strain));
  json_object_set_new(o, "residual_max", real(s->residual_max));
  json_object_set_new(o, "joints", json_integer((json_int_t)facts->joints));
  json_object_set_new(o, "joint_residual_max", facts->joints ? real(s->joint_residual) : json_null());
  json_object_set_new(o, "worst_joint", name_json(facts->worst_joint));
  json_object_set_new(o, "seconds", real(s->seconds_total));
  json_object_set_new(o, "output_seconds", facts->output_seconds < 0 ? json_null() : real(facts->output_seconds));
  json_object_set_new(o, "ms_per_step", stages_json(facts));
  json_object_set_new(o, "intersections", facts->crossings < 0 ? json_null() : json_integer(facts->crossings));
  json_object_set_new(o, "verified_frames", facts->crossings < 0 ? json_null() : json_integer(facts->verified_frames));
  json_object_set_new(o, "bytes", json_integer(facts->summary.bytes));
  if (facts->ranks) json_object_set_new(o, "ranks", json_loads(facts->ranks, 0, NULL));
  json_object_set_new(o, "hash", json_string(hash));
  return o;
}

AbdBodyId facts_find_body(AbdRun *run, const char *name) {
  AbdRunBody body;
  AbdBodyId id = {1};
  for (; abd_run_body(run, id, &body) == ABD_OK; id.id++)
    if (!strcmp(body.name, name)) return id;
  return (AbdBodyId){0};
}

int facts_no_body(const char *command, AbdRun *run, const char *name) {
  AbdRunView view = {0};
  AbdRunBody body;
  abd_run_view(run, &view);
  const char **known = calloc(view.body_count + 1, sizeof *known);
  for (uint32_t b = 0; known && b < view.body_count && abd_run_body(run, (AbdBodyId){b + 1}, &body) == ABD_OK; b++)
    known[b] = body.name;
  const char *nearest = known ? args_nearest(name, known) : NULL;
  fprintf(stderr, "abd %s: --body: %s has no body '%s'", command, abd_run_path(run), name);
  fprintf(stderr, nearest ? "; did you mean '%s'?\n" : "\n", nearest);
  free(known);
  return EXIT_BAD_INPUT;
}

bool json_print(json_t *object) {
  char *text = object ? json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(12)) : NULL;
  if (text) puts(text);
  free(text);
  json_decref(object);
  return text != NULL;
}
