/* abd-peers: steps abd's scenes with other engines and tests their poses. docs/peers.md describes its use.
 * Tested by tests/cli/peers.sh. */
#include "args.h"
#include "table.h"
#include "trial.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "Usage: abd-peers list\n"
    "       abd-peers run SCENE.json --engine NAME [--dt S] [--time T] [--every K] [--set KEY=VALUE] [-o RUN]\n"
    "       abd-peers table [--quick] [--only WORD] [--engine NAME] [--note TEXT] [-o NAME]\n"
    "\n"
    "list    the engines this build has\n"
    "run     steps a scene by an engine, tests every frame exactly, prints the result as JSON\n"
    "table   steps the comparison's scenes by all engines, prints the tables\n"
    "\n"
    "  -e, --engine NAME    which engine; table: only this one beside abd\n"
    "      --dt S           time step in seconds; by default that of the scene\n"
    "  -t, --time T         simulated seconds; by default those of the scene\n"
    "      --every K        test every K-th step, 1\n"
    "      --iterations N   of a peer's solver; by default its own\n"
    "  -s, --set KEY=VALUE  a setting of the scene: contact.friction=0.5\n"
    "  -o, --output FILE    run: a run file for abd view, verify, export; table: NAME.md and NAME.json\n"
    "      --quick          table: a part of the time, without balls at 1/1000 s\n"
    "      --note TEXT      table: a description of machine and version\n"
    "      --only WORD      table: scenes whose name begins so: ball-light, ball, net, arch, cards, screw\n";

typedef struct Options {
  const char *engine, *output, *only, *note;
  double dt, time;
  int64_t every, iterations;
  const char *set[16];
  int set_count;
  bool quick;
} Options;

static int wrong(const char *sentence, const char *value) {
  fprintf(stderr, "abd-peers: %s '%s'\nTry 'abd-peers --help'.\n", sentence, value);
  return EXIT_BAD_INPUT;
}

static int take_positive(const char *name, const char *text, double *value) {
  char *end;
  *value = strtod(text, &end);
  if (end != text && !*end && *value > 0) return ARGS_GO_ON;
  fprintf(stderr, "abd-peers: %s: expected a number > 0, got '%s'\n", name, text);
  return EXIT_BAD_INPUT;
}

static int take_count(const char *name, const char *text, int64_t *value) {
  char *end;
  *value = strtoll(text, &end, 10);
  if (end != text && !*end && *value >= 1 && *value <= INT32_MAX) return ARGS_GO_ON;
  fprintf(stderr, "abd-peers: %s: expected a whole number >= 1, got '%s'\n", name, text);
  return EXIT_BAD_INPUT;
}

/* ARGS_GO_ON or an exit code. */
static int take(Options *o, int letter, const char *text) {
  switch (letter) {
    case 'e': o->engine = text; break;
    case 'o': o->output = text; break;
    case 'w': o->only = text; break;
    case 'n': o->note = text; break;
    case 'q': o->quick = true; break;
    case 'd': return take_positive("--dt", text, &o->dt);
    case 't': return take_positive("--time", text, &o->time);
    case 'k': return take_count("--every", text, &o->every);
    case 'i': return take_count("--iterations", text, &o->iterations);
    case 's':
      if (o->set_count == (int)(sizeof o->set / sizeof *o->set)) return wrong("too many --set, the last is", text);
      o->set[o->set_count++] = text;
      break;
    case 'h': fputs(usage, stdout); return EXIT_GOOD;
    default: fprintf(stderr, "Try 'abd-peers --help'.\n"); return EXIT_BAD_INPUT;
  }
  return ARGS_GO_ON;
}

static int parse(Options *o, int argc, char **argv) {
  static const struct option option[] = {
      {"engine", required_argument, NULL, 'e'}, {"output", required_argument, NULL, 'o'},
      {"only", required_argument, NULL, 'w'},   {"iterations", required_argument, NULL, 'i'},
      {"note", required_argument, NULL, 'n'},   {"quick", no_argument, NULL, 'q'},
      {"dt", required_argument, NULL, 'd'},     {"time", required_argument, NULL, 't'},
      {"every", required_argument, NULL, 'k'},  {"set", required_argument, NULL, 's'},
      {"help", no_argument, NULL, 'h'},         {0}};
  *o = (Options){.every = 1};
  int letter, code = ARGS_GO_ON;
  while (code == ARGS_GO_ON && (letter = getopt_long(argc, argv, "e:o:t:s:h", option, NULL)) != -1)
    code = take(o, letter, optarg);
  return code;
}

static int list(void) {
  for (const Engine *const *engine = engine_list(); *engine; engine++)
    printf("%-16s %s\n", (*engine)->name, (*engine)->about);
  return EXIT_GOOD;
}

static int run(const Options *o, const char *scene) {
  TrialDef def = {.scene = scene,
                  .engine = engine_find(o->engine ? o->engine : "abd"),
                  .dt = o->dt,
                  .time = o->time,
                  .every = o->every,
                  .iterations = o->iterations,
                  .set = o->set,
                  .set_count = o->set_count,
                  .output = o->output};
  TrialResult result;
  if (!def.engine) return wrong("this build has no engine", o->engine);
  int code = trial_run(&def, &result);
  if (*result.trouble) fprintf(stderr, "abd-peers: %s, %s: %s\n", def.engine->name, scene, result.trouble);
  if (code != EXIT_GOOD) return code;
  json_t *object = trial_json(&def, &result);
  if (!object || json_dumpf(object, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) != 0) code = EXIT_FAILED;
  puts("");
  json_decref(object);
  return code;
}

int main(int argc, char **argv) {
  Options o;
  int code = parse(&o, argc, argv);
  if (code != ARGS_GO_ON) return code;
  if (optind >= argc) return fputs(usage, stderr), EXIT_BAD_INPUT;
  const char *what = argv[optind++], *operand = optind < argc ? argv[optind++] : NULL;
  if (optind < argc) return wrong("one operand too many:", argv[optind]);
  if (!strcmp(what, "list")) return list();
  if (!strcmp(what, "run")) return operand ? run(&o, operand) : wrong("expected a scene after", what);
  if (o.engine && !engine_find(o.engine)) return wrong("this build has no engine", o.engine);
  if (!strcmp(what, "table")) return table_make(&(TableDef){o.quick, o.only, o.engine, o.note, o.output});
  return wrong("no command", what);
}
