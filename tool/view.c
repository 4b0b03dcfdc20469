/* `abd view`: serves the viewer for a run (also one that is still being written) or for a scene that is simulated live.
 * Tested in tests/view. */
#define _GNU_SOURCE
#include "args.h"
#include "facts.h"
#include "live.h"
#include "stop.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const Command command = {
    "view",
    "view RUN.abd | SCENE.json | MESH... [options]",
    "Serves the viewer and prints its address; open it in a browser. A run may still be written: the viewer\n"
    "follows it. A scene is simulated live: pause, step, reset, pull bodies with the mouse. Ctrl-C ends it.",
    "It listens at 127.0.0.1, which only this machine reaches; --bind 0.0.0.0 gives access to everyone who can reach\n"
    "this machine. Exit codes: 0 good (also after Ctrl-C); 2 bad usage or input; 4 disk or memory failure.",
};

enum { USUAL_PORT = 8520, LINK_SIZE = 200 };

typedef struct ViewOptions {
  const char *address, *body, *look_at;
  int64_t frame; /* -1: not given */
  int64_t port;  /* -1: not given */
  bool paused;
} ViewOptions;

static int fail(int code, const char *sentence) {
  fprintf(stderr, "abd view: %s\n", sentence);
  return code;
}

/* ---- A temporary folder for a live run without -o ---- */

typedef struct Scratch {
  char *folder, *run; /* NULL: none */
} Scratch;

static bool scratch_make(Scratch *scratch) {
  const char *base = getenv("TMPDIR");
  char *folder = NULL;
  if (asprintf(&folder, "%s/abd-view-XXXXXX", base && *base ? base : "/tmp") < 0) return false;
  if (!mkdtemp(folder) || asprintf(&scratch->run, "%s/live.abd", folder) < 0) return free(folder), false;
  scratch->folder = folder;
  return true;
}

static void remove_run(const char *path) {
  static const char *const ending[] = {"", "-wal", "-shm"};
  for (int k = 0; k < 3; k++) {
    char *name = NULL;
    if (asprintf(&name, "%s%s", path, ending[k]) < 0) continue;
    unlink(name);
    free(name);
  }
}

static void scratch_remove(const Scratch *scratch) {
  if (!scratch->folder) return;
  remove_run(scratch->run), abd_run_discard(scratch->run);
  rmdir(scratch->folder);
}

static int end_late(void *user) {
  scratch_remove(user);
  return EXIT_GOOD;
}

/* ---- Serving ---- */

static AbdViewer *start_viewer(const ViewOptions *o, const char *path, const AbdViewerControl *control,
                               AbdError *error) {
  int port = o->port >= 0 ? (int)o->port : USUAL_PORT;
  AbdViewer *viewer = abd_viewer_start_live(path, o->address, port, control, error);
  if (viewer || o->port >= 0) return viewer;
  return abd_viewer_start_live(path, o->address, 0, control, error); /* the usual port is taken: any other */
}

/* The fragment of the link: "#step=K&body=ID&at=X,Y,Z,R". */
static int link_text(const ViewOptions *o, AbdRun *run, char text[LINK_SIZE]) {
  size_t used = 0;
  double at[4];
  AbdBodyId body = o->body ? facts_find_body(run, o->body) : (AbdBodyId){0};
  if (o->body && !body.id) return facts_no_body("view", run, o->body);
  text[0] = 0;
  if (o->frame >= 0) used = (size_t)snprintf(text, LINK_SIZE, "#step=%lld", (long long)o->frame);
  if (o->body) used += (size_t)snprintf(text + used, LINK_SIZE - used, "%cbody=%u", used ? '&' : '#', body.id);
  if (o->look_at && args_place(o->look_at, at))
    snprintf(text + used, LINK_SIZE - used, "%cat=%.6g,%.6g,%.6g,%.4g", used ? '&' : '#', at[0], at[1], at[2], at[3]);
  return EXIT_GOOD;
}

static void print_address(const ViewOptions *o, const AbdViewer *viewer, const char *link) {
  bool six = strchr(o->address, ':') != NULL;
  const char *name = !strcmp(o->address, "0.0.0.0") || !strcmp(o->address, "::") ? NULL : o->address;
  char own[256] = "localhost";
  if (!name) gethostname(own, sizeof own - 1);
  printf("http://%s%s%s:%d/%s\n", six && name ? "[" : "", name ? name : own, six && name ? "]" : "",
         abd_viewer_port(viewer), link);
  fflush(stdout);
  if (isatty(STDOUT_FILENO)) fprintf(stderr, "Open this address in a browser; Ctrl-C ends it.\n");
}

static int fail_status(const AbdError *error) {
  bool failed = error->status == ABD_ERROR_DISK || error->status == ABD_ERROR_MEMORY;
  return fail(failed ? EXIT_FAILED : EXIT_BAD_INPUT, error->text);
}

static int serve(const ViewOptions *o, const char *path, const AbdViewerControl *control) {
  char link[LINK_SIZE];
  AbdError error;
  AbdRun *run = abd_run_open(path, &error);
  if (!run) return fail_status(&error);
  int code = link_text(o, run, link);
  abd_run_close(run);
  if (code != EXIT_GOOD) return code;
  AbdViewer *viewer = start_viewer(o, path, control, &error);
  if (!viewer) return fail_status(&error);
  print_address(o, viewer, link);
  while (!stop_cause()) usleep(200000);
  abd_viewer_stop(viewer);
  return EXIT_GOOD;
}

/* ---- A scene ---- */

/* Surfaces cross at the start: shows it without simulating. */
static int show_start(const ViewOptions *o, const Session *session, int code) {
  ViewOptions there = *o;
  if (!o->look_at) there.look_at = session->start_look;
  fprintf(stderr, "It cannot be simulated; the viewer shows its start:\n");
  int served = serve(&there, session->start_path, NULL);
  remove_run(session->start_path);
  return served == EXIT_GOOD ? code : served;
}

static int simulate(const ViewOptions *o, Session *session, const TextList *operand) {
  int code = session_open(session, operand);
  if (code != EXIT_GOOD && session->start_path) return show_start(o, session, code);
  if (code != EXIT_GOOD) return code;
  Live *live = live_start(session, o->paused);
  if (!live) return fail(EXIT_FAILED, "out of memory");
  AbdViewerControl control = live_control(live);
  code = serve(o, session->path, &control);
  live_stop(live);
  if (!session_finish(session)) code = fail(EXIT_FAILED, abd_run_error(session->run));
  return code;
}

static int view_scene(const ViewOptions *o, Session *session, Scratch *scratch, const TextList *operand) {
  session->options.contacts = session->shown = true;
  if (!session->options.output) {
    if (!scratch_make(scratch)) return fail(EXIT_FAILED, "cannot make a temporary folder");
    session->options.output = scratch->run;
  }
  int code = simulate(o, session, operand);
  session_close(session);
  *session = (Session){0};
  scratch_remove(scratch);
  return code == EXIT_INTERRUPTED ? EXIT_GOOD : code;
}

static int check_options(const ViewOptions *o, const Session *session, const TextList *operand) {
  if (operand->count == 0) return args_usage_error(&command, "expected a run (.abd), a scene (.json) or meshes");
  if (o->port > 65535) return args_usage_error(&command, "--port: expected 0 to 65535, got %lld", (long long)o->port);
  double place[4];
  if (o->look_at && !args_place(o->look_at, place))
    return args_usage_error(&command, "--look-at: expected X,Y,Z,RADIUS in metres, got '%s'", o->look_at);
  bool a_run = session_is_run_path(operand->text[0]);
  if (a_run && operand->count > 1) return args_usage_error(&command, "expected one run, got %d files", operand->count);
  if (a_run && (session->options.output || session->options.set.count))
    return args_usage_error(&command, "-o and --set are for scenes; %s is a run", operand->text[0]);
  if (abd_viewer_missing()) return fail(EXIT_BAD_INPUT, abd_viewer_missing());
  return ARGS_GO_ON;
}

int command_view(int argc, char **argv) {
  ViewOptions options = {.address = "127.0.0.1", .port = -1, .frame = -1};
  Session session = {.options = {.steps = -1, .argc = argc, .argv = argv}};
  RunOptions *o = &session.options;
  static Scratch scratch; /* the thread of stop_catch may use it until the process ends */
  TextList operand, set = {0};
  const Option option[] = {
      {"port", 'p', OPTION_COUNT, &options.port, "N", "port, 8520 or another free one; 0 = any free one"},
      {"bind", 0, OPTION_TEXT, &options.address, "ADDRESS", "address to listen at, 127.0.0.1"},
      {"frame", 0, OPTION_COUNT, &options.frame, "K", "the address shows the frame of step K"},
      {"body", 0, OPTION_TEXT, &options.body, "NAME", "the address selects this body"},
      {"look-at", 0, OPTION_TEXT, &options.look_at, "X,Y,Z,R", "the address shows the ball of radius R at X,Y,Z"},
      {"paused", 0, OPTION_FLAG, &options.paused, NULL, "a scene: begin paused"},
      {"output", 'o', OPTION_TEXT, &o->output, "RUN", "a scene: record the simulation in this run file"},
      {"force", 'f', OPTION_FLAG, &o->force, NULL, "a scene: replace an existing run file"},
      {"threads", 'j', OPTION_COUNT, &o->threads, "N", "a scene: threads, 0 = all processors"},
      {"set", 's', OPTION_LIST, &o->set, "KEY=VALUE", "a scene: a setting by its name in a scene"},
      {"scale", 0, OPTION_POSITIVE, &o->mesh_scale, "S", "meshes: factor on all coordinates; 0.001 for millimetres"},
      {"mesh-dir", 0, OPTION_TEXT, &o->mesh_dir, "DIR", "a scene: folder in which meshes are searched last"},
      ROBOT_OPTIONS(&o->robot),
      {0},
  };
  int code = args_parse(&command, option, argc, argv, &operand);
  if (code == ARGS_GO_ON) code = check_options(&options, &session, &operand);
  set = o->set; /* session_close clears it */
  if (code == ARGS_GO_ON) {
    signal(SIGPIPE, SIG_IGN);
    stop_catch(0, end_late, &scratch);
    code = session_is_run_path(operand.text[0]) ? serve(&options, operand.text[0], NULL)
                                                : view_scene(&options, &session, &scratch, &operand);
  }
  args_free(&operand);
  args_free(&set);
  return code;
}
