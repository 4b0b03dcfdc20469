/* `abd run`: a scene becomes a run file. Reads the options, prepares scene, world and file, steps, sums up.
 * A state to resume from is committed together with a step, so any end, even kill -9, leaves a file to go on with.
 * Tested by tests/cli/run.sh. */
#include "args.h"
#include "facts.h"
#include "fit.h"
#include "progress.h"
#include "mpirun.h"
#include "session.h"
#include "stop.h"
#include "trouble.h"

#include <abd/export.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const Command command = {
    "run",
    "run SCENE.json|ROBOT.urdf|ROBOT.xml|MESH... [-o RUN] [options]\n       abd run RUN.abd --resume [options]",
    "Simulates a scene, or meshes dropped on a ground, and writes a run file: every step's report, poses\n"
    "and the state to resume from.",
    "Steps that did not converge are printed as they happen and counted at the end; the run continues.\n"
    "Ctrl-C and --time-limit end the run within a second, in the middle of a step too; the file can be resumed,\n"
    "and the result has the same bits.\n\n"
    "Exit codes: 0 good; 2 bad usage or input; 3 with --strict, a step did not converge;\n"
    "4 disk, memory or internal failure; 130 interrupted or out of time (resumable).",
};

/* ---- Stepping ---- */

/* Ranks above 0 do not know the run's path. */
static const char *run_name(const Session *session) { return session->path ? session->path : "RUN"; }

static int disk_failure(Session *session) {
  char word[WORD_SIZE];
  int64_t missing;
  progress_say(&session->progress, "abd run: %s", session_failure(session, &missing));
  progress_say(&session->progress,
               "Step %lld and all after it could not be written; what was written before is safe.\n"
               "Make room, then: %s run %s --resume",
               (long long)missing, args_program(), args_word(run_name(session), word, sizeof word));
  return EXIT_FAILED;
}

static bool runs_on_gpu(const Session *session) {
  const char *device = abd_world_device(session->world);
  return !strncmp(device, "cuda", 4);
}

/* The state is that of the last step, and is written. */
static int gpu_failure(Session *session) {
  char word[WORD_SIZE];
  progress_say(&session->progress, "Go on with: %s run %s --resume --device cpu", args_program(),
               args_word(session->path, word, sizeof word));
  return EXIT_BAD_INPUT;
}

/* Parts that contact squeezes before anything pressed them. */
static void print_fits(Session *session) {
  char text[FIT_TEXT];
  size_t count = session->options.quiet ? 0 : fit_text(session->world, text);
  if (count == 1) progress_say(&session->progress, "note: %s", text);
  else if (count) progress_say(&session->progress, "note: %s (the tightest of %zu such pairs)", text, count);
}

/* After a change of the scene that is not possible. */
static void say_kept(Session *session) {
  if (!session->run || session->options.quiet) return;
  progress_say(&session->progress, "Steps to %lld are in %s; --resume would end at the same one, with the scene in it",
               (long long)abd_world_step_count(session->world), session->path);
}

static int step_once(Session *session) {
  AbdError error;
  AbdStepReport report;
  if (session->scene && abd_scene_apply(session->scene, session->world, &error) != ABD_OK) {
    progress_say(&session->progress, "abd run: %s: %s", session->source, error.text);
    say_kept(session);
    return EXIT_BAD_INPUT;
  }
  bool on_gpu = runs_on_gpu(session);
  AbdStatus status = abd_world_step(session->world, &report);
  if (status == ABD_INTERRUPTED) return EXIT_INTERRUPTED;
  if (status != ABD_OK) {
    progress_say(&session->progress, "abd run: %s: %s", session->source, abd_world_error(session->world));
    if (session->run) trouble_failed_step(session, report.culprit[0]);
    return on_gpu && status == ABD_ERROR_MEMORY ? gpu_failure(session) : EXIT_FAILED;
  }
  if (on_gpu && !runs_on_gpu(session))
    progress_say(&session->progress, "note: the GPU's memory ran out in step %lld; the CPU goes on",
                 (long long)report.step);
  if (!session_record(session, &report)) return disk_failure(session);
  if (!session->run) return EXIT_GOOD; /* rank 0 prints */
  progress_step(&session->progress, &report);
  if (report.step == 1) print_fits(session);
  if (report.outcome != ABD_CONVERGED) trouble_in_step(session, &report);
  trouble_broken_joints(session, &report);
  trouble_if_strained(session, &report);
  trouble_if_crawling(session, &report);
  return EXIT_GOOD;
}

static int step_all(Session *session) {
  int code = EXIT_GOOD;
  int64_t first = abd_world_step_count(session->world);
  progress_start(&session->progress, first, session->target, abd_world_settings(session->world).dt,
                 session->options.quiet);
  session->progress.world = session->world;
  while (code == EXIT_GOOD && !mpirun_stop_cause() && abd_world_step_count(session->world) < session->target)
    if ((code = mpirun_worst_code(step_once(session))) == EXIT_GOOD) session_settle(session);
  int end = mpirun_worst_code(session_finish(session) ? EXIT_GOOD : disk_failure(session));
  if (end != EXIT_GOOD) code = end;
  progress_end(&session->progress);
  mpirun_print(abd_world_step_count(session->world) - first, session->options.quiet || session->options.json);
  return code;
}

/* ---- The end ---- */

static void print_next(const Session *session, const RunFacts *facts) {
  char word[WORD_SIZE];
  const char *abd = args_program(), *path = args_word(session->path, word, sizeof word);
  if (facts->summary.not_converged)
    printf("WARNING: %lld steps did not converge; see the report table, or: %s export %s --reports -o reports.csv\n",
           (long long)facts->summary.not_converged, abd, path);
  printf("Next:\n  %s verify %s\n  %s export %s -o picture.png\n", abd, path, abd, path);
  if (!abd_viewer_missing()) printf("  %s view %s\n", abd, path);
}

static int sum_up(Session *session, int code) {
  char word[WORD_SIZE];
  RunFacts facts;
  if (!facts_read(session->run, &facts)) {
    fprintf(stderr, "abd run: %s\n", abd_run_error(session->run));
    facts_destroy(&facts);
    return code ? code : EXIT_FAILED;
  }
  int64_t steps = abd_world_step_count(session->world);
  bool stopped = code == EXIT_INTERRUPTED || (code == EXIT_GOOD && stop_cause());
  if (stopped && steps < session->target) {
    fprintf(stderr, "%s after step %lld of %lld. Go on with: %s run %s --resume\n", stop_words(), (long long)steps,
            (long long)session->target, args_program(), args_word(session->path, word, sizeof word));
    code = EXIT_INTERRUPTED;
  }
  if (session->options.json && !json_print(facts_json(&facts))) code = EXIT_FAILED;
  if (!session->options.json && !session->options.quiet && code == EXIT_GOOD) {
    facts_print(&facts);
    print_next(session, &facts);
  }
  if (code == EXIT_GOOD && session->options.strict && facts.summary.not_converged) code = EXIT_NOT_CONVERGED;
  facts_destroy(&facts);
  return code;
}

static int check_options(const RunOptions *o, const TextList *operand) {
  bool a_run = operand->count == 1 && session_is_run_path(operand->text[0]);
  if (operand->count == 0 && !(o->resume && o->output))
    return args_usage_error(&command, "expected a scene (.json), a robot (.urdf .xml) or meshes (.obj .stl .ply .off)");
  if (a_run && o->output) return args_usage_error(&command, "a run is resumed in its own file; leave out -o");
  if (a_run && !o->resume)
    return args_usage_error(&command, "%s has the name of a run file; --resume continues one", operand->text[0]);
  if (o->steps >= 0 && o->time > 0) return args_usage_error(&command, "--steps and --time exclude each other");
  if (o->resume && o->force) return args_usage_error(&command, "--resume and --force exclude each other");
  if (o->resume && (a_run || operand->count == 0) && (o->set.count || o->dt > 0))
    return args_usage_error(&command, "a run is resumed with its own settings; leave out --set and --dt");
  return ARGS_GO_ON;
}

int command_run(int argc, char **argv) {
  Session session = {.options = {.steps = -1, .argc = argc, .argv = argv}};
  RunOptions *o = &session.options;
  TextList operand = {0};
  int started = mpirun_start();
  if (started != EXIT_GOOD) return started;
  const Option option[] = {
      {"output", 'o', OPTION_TEXT, &o->output, "RUN", "the run file; NAME.abd in this folder if left out"},
      {"steps", 'n', OPTION_COUNT, &o->steps, "N", "total steps, also when resumed; by default those of the scene"},
      {"time", 't', OPTION_POSITIVE, &o->time, "T", "total simulated seconds"},
      {"time-limit", 0, OPTION_POSITIVE, &o->time_limit, "SECONDS",
       "end after so much wall-clock time, loading included; --resume goes on"},
      {"dt", 0, OPTION_POSITIVE, &o->dt, "S", "time step in seconds, such as 0.01 or 1/240; the same as --set dt"},
      {"threads", 'j', OPTION_COUNT, &o->threads, "N", "threads, 0 = all processors; the result has the same bits"},
      {"device", 0, OPTION_TEXT, &o->device, "NAME",
       "cpu, cuda (an NVIDIA GPU) or auto, instead of the scene's solver.device; a run can be resumed on another"},
      {"resume", 'r', OPTION_FLAG, &o->resume, NULL,
       "continue a run that ended or was killed; begins it if there is none"},
      {"force", 'f', OPTION_FLAG, &o->force, NULL, "replace an existing run file"},
      {"every", 0, OPTION_ATLEAST1, &o->every, "K", "write a frame every K steps, 1; reports are written every step"},
      {"contacts", 0, OPTION_FLAG, &o->contacts, NULL,
       "write every contact's point, normal and forces with each frame"},
      {"shards", 0, OPTION_FLAG, &o->shards, NULL,
       "on several ranks, each writes the poses of its bodies to a file of its own, RUN.0, RUN.1, ...; 'abd merge' "
       "joins them"},
      {"set", 's', OPTION_LIST, &o->set, "KEY=VALUE", "a setting by its name in a scene: --set contact.friction=0.5"},
      {"scale", 0, OPTION_POSITIVE, &o->mesh_scale, "S",
       "meshes given alone: factor on all coordinates; 0.001 for millimetres"},
      {"mesh-dir", 0, OPTION_TEXT, &o->mesh_dir, "DIR", "folder in which meshes are searched last"},
      ROBOT_OPTIONS(&o->robot),
      {"strict", 0, OPTION_FLAG, &o->strict, NULL, "exit code 3 if a step did not converge"},
      {"quiet", 'q', OPTION_FLAG, &o->quiet, NULL, "print nothing but errors"},
      {"json", 0, OPTION_FLAG, &o->json, NULL, "print the summary as one JSON object"},
      {0},
  };
  int code = args_parse(&command, option, argc, argv, &operand);
  if (code == ARGS_GO_ON) code = check_options(o, &operand);
  if (code == ARGS_GO_ON) {
    stop_catch(o->time_limit, session_late, &session);
    code = session_open(&session, &operand);
    if (code == EXIT_GOOD) code = step_all(&session);
    if (session.run && session.world) code = sum_up(&session, code);
  }
  session_close(&session);
  args_free(&operand);
  args_free(&o->set);
  mpirun_end();
  return code;
}
