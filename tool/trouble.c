/* See trouble.h. Tested by tests/cli/trouble.sh. */
#define _GNU_SOURCE
#include "trouble.h"

#include <abd/export.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* [strain] A stiff body above it is warned of. At the usual stiffness bodies are strained by 1e-5 and less. */
#define STRAIN_WARNED 0.01

const char *trouble_body_name(const AbdWorld *world, AbdBodyId body) {
  AbdBodyView view;
  return abd_body_view(world, body, &view) == ABD_OK && view.name ? view.name : "?";
}

/* ---- The place ---- */

/* "triangle 12 of 'cup'" */
static const char *side_text(const AbdWorld *world, const AbdPlace *place, int side, char text[160]) {
  const char *name = trouble_body_name(world, place->body[side]);
  if (place->triangle[side] == UINT32_MAX) snprintf(text, 160, "'%.100s' (body %u)", name, place->body[side].id);
  else snprintf(text, 160, "triangle %u of '%.100s' (body %u)", place->triangle[side], name, place->body[side].id);
  return text;
}

static void place_text(const AbdWorld *world, const AbdPlace *place, char *text, size_t size) {
  char a[160], b[160] = "", gap[64] = "", force[64] = "";
  side_text(world, place, 0, a);
  if (place->body[1].id) side_text(world, place, 1, b);
  if (place->distance >= 0) snprintf(gap, sizeof gap, ", %.3g m apart", place->distance);
  if (place->distance < 0) snprintf(gap, sizeof gap, ", which touch or cross");
  if (place->force >= 0) snprintf(force, sizeof force, ", pressed with %.3g N", place->force);
  snprintf(text, size, "%s%s%s%s%s near (%.6g, %.6g, %.6g)", a, *b ? " and " : "", b, gap, force, place->point[0],
           place->point[1], place->point[2]);
}

/* RUN without its ending and -WHAT, malloc'ed. */
static char *beside(const Session *session, const char *what) {
  char *path = NULL;
  const char *dot = strrchr(session->path, '.'), *slash = strrchr(session->path, '/');
  int length = dot && (!slash || dot > slash) ? (int)(dot - session->path) : (int)strlen(session->path);
  return asprintf(&path, "%.*s-%s", length, session->path, what) < 0 ? NULL : path;
}

static void write_mesh(Session *session, const AbdPlace *place, const char *what, const char *about) {
  AbdError error;
  char *path = beside(session, what);
  if (path && abd_place_write(session->world, place, about, path, &error) == ABD_OK)
    progress_say(&session->progress, "  its mesh:  %s", path);
  else progress_say(&session->progress, "  its mesh could not be written: %s", path ? error.text : "out of memory");
  free(path);
}

static void look_text(const AbdPlace *place, char text[128]) {
  snprintf(text, 128, "%.6g,%.6g,%.6g,%.3g", place->point[0], place->point[1], place->point[2], place->radius);
}

/* The commands that show the place in a frame of a run. */
static void say_look(Session *session, const AbdPlace *place, const char *path, int64_t frame) {
  char at[128], file[WORD_SIZE], name[WORD_SIZE];
  const char *abd = args_program(), *word = args_word(path, file, sizeof file);
  look_text(place, at);
  progress_say(&session->progress, "  look:      %s export %s -o place.png --frame %lld --look-at %s", abd, word,
               (long long)frame, at);
  if (!abd_viewer_missing())
    progress_say(&session->progress, "  or:        %s view %s --frame %lld --body %s --look-at %s", abd, word,
                 (long long)frame, args_word(trouble_body_name(session->world, place->body[0]), name, sizeof name), at);
}

/* Prints place, reason, mesh and commands that show it. */
static void say_place(Session *session, const AbdPlace *place, const char *why, int64_t step) {
  char text[640], what[32];
  place_text(session->world, place, text, sizeof text);
  progress_say(&session->progress, "  where:     %s", text);
  if (why) progress_say(&session->progress, "  why:       %s", why);
  snprintf(what, sizeof what, "step%lld.obj", (long long)step);
  write_mesh(session, place, what, text);
  say_look(session, place, session->path,
           session->every > 0 && step != session->target ? step - step % session->every : step);
}

/* ---- Reasons ---- */

static const char *reason(const AbdStepReport *report) {
  bool short_steps = report->step_length < 0.01 && report->limit[0].id;
  switch (report->outcome) {
    case ABD_STOPPED_AT_MAX_ITERATIONS:
      if (short_steps)
        return "contact permits only tiny Newton steps; a smaller --dt, a larger contact.range or more distance "
               "between "
               "the bodies helps";
      return "Newton's iteration had not converged; a smaller --dt helps, or --set solver.max_iterations";
    case ABD_STOPPED_BY_LINE_SEARCH:
      return "the energy cannot be lowered beyond rounding; the cause may be very unequal masses or very stiff or "
             "large "
             "bodies; a larger --set solver.tolerance accepts the step";
    case ABD_STOPPED_BY_FACTORIZATION:
      return "the matrix has no correct digits left because masses or stiffnesses are very unequal; choose more "
             "similar "
             "ones";
    case ABD_JOINT_OPEN: return "a joint is pulled apart, or joints contradict each other";
    default: return NULL;
  }
}

static bool place_of_report(const AbdWorld *world, const AbdStepReport *report, AbdPlace *place) {
  return abd_place_of_pair(world, report->culprit[0], report->culprit[1], place) ||
         abd_place_of_pair(world, report->limit[0], report->limit[1], place) ||
         abd_place_of_pair(world, report->nearest[0], report->nearest[1], place);
}

/* ---- Events ---- */

void trouble_in_step(Session *session, const AbdStepReport *report) {
  enum { MOST_LINES = 20 };
  bool blocked = report->outcome == ABD_KINEMATIC_BLOCKED;
  int64_t *count = blocked ? &session->blocked : &session->not_converged;
  ++*count;
  if (session->options.quiet || *count > (blocked ? 1 : MOST_LINES)) return;
  char bodies[160] = "";
  if (report->culprit[0].id && report->culprit[1].id)
    snprintf(bodies, sizeof bodies, "; bodies '%.60s' and '%.60s'",
             trouble_body_name(session->world, report->culprit[0]),
             trouble_body_name(session->world, report->culprit[1]));
  else if (report->culprit[0].id)
    snprintf(bodies, sizeof bodies, "; body '%.60s'", trouble_body_name(session->world, report->culprit[0]));
  AbdJointDef joint;
  if (report->outcome == ABD_JOINT_OPEN && abd_joint_def(session->world, report->worst_joint, &joint) == ABD_OK)
    progress_say(&session->progress, "step %lld: joint '%.60s' (%s) kept a gap of %.3g m", (long long)report->step,
                 joint.name ? joint.name : "?", abd_joint_kind_name(joint.kind), report->joint_residual);
  else if (blocked)
    progress_say(&session->progress,
                 "step %lld: contact holds a kinematic body %.3g m back from its target%s"
                 " (reported once; the summary has the farthest)",
                 (long long)report->step, report->target_error, bodies);
  else
    progress_say(&session->progress, "step %lld did not converge: %s after %d iterations%s; residual %.3g m/s%s",
                 (long long)report->step, abd_outcome_name(report->outcome), report->iterations, bodies,
                 report->residual, *count == MOST_LINES ? "; further ones are not printed, see abd info" : "");
  AbdPlace place;
  if (!blocked && *count == 1 && place_of_report(session->world, report, &place))
    say_place(session, &place, reason(report), report->step);
}

void trouble_broken_joints(Session *session, const AbdStepReport *report) {
  enum { MOST_LINES = 5 };
  AbdBrokenJoint broken[MOST_LINES];
  if (session->options.quiet || !report->broken_joints) return;
  size_t count = abd_world_broken_joints(session->world, broken, MOST_LINES);
  for (size_t k = 0; k < count && k < MOST_LINES; k++) {
    const AbdBrokenJoint *b = &broken[k];
    const char *other = b->body_b.id ? trouble_body_name(session->world, b->body_b) : "the world";
    progress_say(&session->progress, "step %lld: joint %u of '%.60s' and '%.60s' broke at %.4g N, %.4g N m",
                 (long long)report->step, b->joint.id, trouble_body_name(session->world, b->body_a), other, b->force,
                 b->torque);
  }
  if (count > MOST_LINES)
    progress_say(&session->progress, "step %lld: %zu more joints broke", (long long)report->step, count - MOST_LINES);
}

void trouble_if_strained(Session *session, const AbdStepReport *report) {
  if (!(report->max_strain > STRAIN_WARNED) || session->options.quiet || session->strain_said) return;
  session->strain_said = true;
  progress_say(&session->progress,
               "warning: step %lld: stiff body '%.60s' is strained by %.3g; a script may crush it, or a wrong unit of "
               "length makes it heavy or fast (reported once; the summary has the largest strain)",
               (long long)report->step, trouble_body_name(session->world, report->most_strained), report->max_strain);
}

void trouble_if_crawling(Session *session, const AbdStepReport *report) {
  enum { SLOW_ITERATIONS = 150, SLOW_STEPS = 10 };
  session->slow_steps = report->iterations >= SLOW_ITERATIONS ? session->slow_steps + 1 : 0;
  if (session->slow_steps != SLOW_STEPS || session->options.quiet || session->crawl_said) return;
  session->crawl_said = true;
  progress_say(&session->progress, "the run crawls: %d steps in a row took %d iterations and more (reported once)",
               SLOW_STEPS, SLOW_ITERATIONS);
  AbdPlace place;
  if (abd_place_of_pair(session->world, report->limit[0], report->limit[1], &place) ||
      place_of_report(session->world, report, &place))
    say_place(session, &place,
              report->step_length < 0.05
                  ? "this pair permits only short steps; a smaller --dt or a larger contact.range usually helps"
                  : "full steps do not converge; a smaller --dt usually helps, or a larger "
                    "--set solver.tolerance",
              report->step);
}

/* After a failed step the world has no contacts. It makes the last good step again, to the same bits, from the newest
 * saved state before that step. False if the world is not at the end of that step any more. */
static bool make_last_step_again(Session *session, AbdStepReport *report) {
  int64_t step = abd_world_step_count(session->world);
  AbdStatus status = abd_run_restore_before(session->run, session->world, step);
  if (status == ABD_ERROR_STATE) return true;
  while (status == ABD_OK && abd_world_step_count(session->world) < step) {
    if (session->scene) status = abd_scene_apply(session->scene, session->world, NULL);
    if (status == ABD_OK) status = abd_world_step(session->world, report);
  }
  return status == ABD_OK;
}

void trouble_failed_step(Session *session, AbdBodyId body) {
  int64_t step = abd_world_step_count(session->world);
  AbdStepReport report = {0};
  AbdPlace place;
  if (session->options.quiet) return;
  if (make_last_step_again(session, &report) &&
      (abd_place_of_pair(session->world, body, (AbdBodyId){0}, &place) ||
       abd_place_of_pair(session->world, report.nearest[0], report.nearest[1], &place)))
    say_place(
        session, &place,
        "numbers overflowed; look for a huge force, speed, density or motion of this body or one that it touches; "
        "the place is that of the step before",
        step);
  progress_say(&session->progress, "Steps to %lld are in %s.", (long long)step, session->path);
}

/* Writes a run of the start, to look at it. */
static void write_start(Session *session, const AbdPlace *place) {
  session->start_path = beside(session, "start.abd");
  if (session->start_path && abd_run_write_start(session->start_path, session->scene, session->world, NULL) == ABD_OK) {
    look_text(place, session->start_look);
    if (!session->shown) say_look(session, place, session->start_path, 0);
    return;
  }
  free(session->start_path);
  session->start_path = NULL;
}

void trouble_at_start(Session *session) {
  enum { MOST_PAIRS = 10 };
  AbdCrossing crossing[MOST_PAIRS];
  char word[WORD_SIZE];
  const AbdWorld *world = session->world;
  double *nodes = abd_world_nodes_new(world);
  if (session->options.quiet || !nodes) {
    free(nodes);
    return;
  }
  size_t count = abd_world_find_crossings(world, nodes, crossing, MOST_PAIRS);
  free(nodes);
  if (count == SIZE_MAX) return;
  for (size_t k = 0; k < count && k < MOST_PAIRS; k++) {
    AbdPlace place;
    char text[640];
    abd_place_of_crossing(world, &crossing[k], &place);
    place_text(world, &place, text, sizeof text);
    progress_say(&session->progress, "  where:     %s", text);
    if (k > 0) continue;
    if (!session->shown) write_mesh(session, &place, "start.obj", text);
    write_start(session, &place);
  }
  if (count > MOST_PAIRS) progress_say(&session->progress, "  and %zu more pairs", count - MOST_PAIRS);
  bool alone = count == 1 && crossing[0].body_a.id == crossing[0].body_b.id;
  progress_say(&session->progress, "  %s; all of them: %s check %s",
               alone ? "repair its mesh, or let it pass through itself with \"self_contact\": false"
                     : "move one of each pair away, exclude the pair or join it (joined bodies do not collide)",
               args_program(), args_word(session->source, word, sizeof word));
}
