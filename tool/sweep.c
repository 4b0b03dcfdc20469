/* `abd sweep`: the members of a study on this machine's cores, each in a process of its own, into one table of results
 * (docs/sweep.md). Tested by tests/cli/sweep.sh. */
#define _GNU_SOURCE
#include "args.h"
#include "facts.h"
#include "progress.h"
#include "stop.h"
#include "worker.h"

#include <abd/scene.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const Command command = {
    "sweep",
    "sweep STUDY.json [-o TABLE.db] [options]",
    "Runs a scene once for each member of a study: a grid, a list or random samples of settings, with seeds.\n"
    "Settings, progress and figures of all members are rows of one SQLite table, 'member'.",
    "The same command goes on after any end, kill -9 too: only members in progress are run again, and the figures\n"
    "have the same bits. A member that fails is tried again, then reported; the others go on.\n\n"
    "Exit codes: 0 all members are done; 1 some failed; 2 bad usage or input; 4 disk, memory or internal failure;\n"
    "130 interrupted or out of time (resumable).",
};

typedef struct SweepOptions {
  const char *output;
  int64_t jobs, threads, retries;
  double limit, time_limit; /* [s] 0: none */
  bool status, failed, force, quiet, json;
} SweepOptions;

typedef struct SweepJob {
  SweepOptions options;
  const char *source;
  char *path;
  AbdStudy *study;
  AbdSweep *sweep;
  Worker *worker;     /* [jobs] */
  int *failures;      /* [members] in this process */
  size_t done, total; /* done or failed; all */
  int running;
  Progress progress;
} SweepJob;

static int say(int code, const char *sentence) {
  fprintf(stderr, "abd sweep: %s\n", sentence);
  return code;
}

static int code_of(AbdStatus status) {
  return status == ABD_ERROR_DISK || status == ABD_ERROR_MEMORY ? EXIT_FAILED : EXIT_BAD_INPUT;
}

static int table_failed(SweepJob *job) {
  progress_end(&job->progress);
  return say(EXIT_FAILED, abd_sweep_error(job->sweep));
}

/* ---- Members ---- */

/* A bad input fails in the same way each time. */
static bool may_pass_next_time(AbdStatus status) {
  return status == ABD_ERROR_MEMORY || status == ABD_ERROR_DISK || status == ABD_ERROR_FILE;
}

static bool member_failed(SweepJob *job, size_t member, const char *sentence, bool transient) {
  bool again = transient && ++job->failures[member] <= job->options.retries;
  if (!again) job->done++;
  if (!job->options.quiet)
    progress_say(&job->progress, "member %zu: %s%s", member, sentence, again ? "; it is tried again" : "");
  return abd_sweep_fail(job->sweep, member, sentence, again) == ABD_OK;
}

/* Takes the answer of a worker whose pipe has ended. */
static bool member_ended(SweepJob *job, Worker *worker) {
  WorkerAnswer answer;
  const double *value;
  char sentence[256];
  job->running--;
  if (!worker_finish(worker, job->study, &answer, &value, sentence, sizeof sentence))
    return member_failed(job, worker->member, sentence, true);
  if (answer.status != ABD_OK)
    return member_failed(job, worker->member, answer.error.text, may_pass_next_time(answer.status));
  job->done++;
  return abd_sweep_store(job->sweep, worker->member, &answer.result, value) == ABD_OK;
}

/* Gives every idle worker a member that waits. */
static bool start_members(SweepJob *job) {
  for (int64_t k = 0; k < job->options.jobs; k++) {
    size_t member;
    if (job->worker[k].process) continue;
    if (abd_sweep_take(job->sweep, &member) != ABD_OK) return false;
    if (member == SIZE_MAX) return true;
    if (worker_start(&job->worker[k], job->study, member, (int)job->options.threads)) job->running++;
    else if (!member_failed(job, member, "no process, pipe or memory left to start it", true)) return false;
  }
  return true;
}

static void kill_late(SweepJob *job) {
  for (int64_t k = 0; job->options.limit > 0 && k < job->options.jobs; k++) {
    Worker *worker = &job->worker[k];
    if (!worker->process || worker->too_late || clock_seconds() - worker->begun < job->options.limit) continue;
    worker->too_late = true;
    worker_kill(worker);
  }
}

/* Waits a while for answers. */
static bool read_answers(SweepJob *job, struct pollfd *poll_set) {
  for (int64_t k = 0; k < job->options.jobs; k++)
    poll_set[k] = (struct pollfd){.fd = job->worker[k].process ? job->worker[k].pipe : -1, .events = POLLIN};
  poll(poll_set, (nfds_t)job->options.jobs, 100);
  for (int64_t k = 0; k < job->options.jobs; k++)
    if (poll_set[k].revents && worker_read(&job->worker[k], job->study) && !member_ended(job, &job->worker[k]))
      return false;
  return true;
}

static int run_members(SweepJob *job) {
  struct pollfd *poll_set = calloc((size_t)job->options.jobs, sizeof *poll_set);
  bool good = poll_set != NULL && start_members(job);
  while (good && job->running && !stop_cause()) {
    good = read_answers(job, poll_set) && start_members(job);
    kill_late(job);
    if ((int64_t)job->done > job->progress.first) progress_items(&job->progress, job->done, job->total, "members");
  }
  free(poll_set);
  progress_end(&job->progress);
  if (!good) return poll_set ? table_failed(job) : say(EXIT_FAILED, "out of memory");
  return stop_cause() ? EXIT_INTERRUPTED : EXIT_GOOD;
}

/* ---- The summary ---- */

typedef struct FailureList {
  json_t *json;
  int printed;
} FailureList;

static void visit_failed(void *user, size_t member, int attempts, const char *sentence, const char *settings) {
  enum { MOST_FAILURES = 20 };
  FailureList *list = user;
  if (list->json)
    json_array_append_new(list->json, json_pack("{s:I,s:i,s:s,s:o}", "member", (json_int_t)member, "attempts", attempts,
                                                "error", sentence, "settings", json_loads(settings, 0, NULL)));
  else if (list->printed++ < MOST_FAILURES)
    printf("failed: member %zu %s, %d attempt%s: %s\n", member, settings, attempts, attempts == 1 ? "" : "s", sentence);
}

static void print_next(const SweepJob *job, const int64_t *count) {
  char source[WORD_SIZE], path[WORD_SIZE];
  const char *abd = args_program(), *study = args_word(job->source, source, sizeof source);
  if (count[ABD_MEMBER_WAITING] + count[ABD_MEMBER_RUNNING])
    printf("Go on with: %s sweep %s%s%s\n", abd, study, job->options.output ? " -o " : "",
           job->options.output ? args_word(job->options.output, path, sizeof path) : "");
  else if (count[ABD_MEMBER_FAILED]) printf("Try the failed ones again with: %s sweep %s --failed\n", abd, study);
  if (count[ABD_MEMBER_DONE])
    printf("Results: sqlite3 -header -csv %s 'SELECT * FROM member'\n", args_word(job->path, path, sizeof path));
}

static int print_summary(SweepJob *job) {
  int64_t count[ABD_MEMBER_STATUS_COUNT], total = 0;
  FailureList list = {.json = job->options.json ? json_array() : NULL};
  if (abd_sweep_counts(job->sweep, count) != ABD_OK) return table_failed(job);
  for (int k = 0; k < ABD_MEMBER_STATUS_COUNT; k++) total += count[k];
  int code = count[ABD_MEMBER_FAILED] ? EXIT_FOUND : EXIT_GOOD;
  if (job->options.quiet && !job->options.json) return code;
  if (!job->options.json)
    printf("%s: %lld members: %lld done, %lld failed, %lld running, %lld waiting\n", job->path, (long long)total,
           (long long)count[ABD_MEMBER_DONE], (long long)count[ABD_MEMBER_FAILED], (long long)count[ABD_MEMBER_RUNNING],
           (long long)count[ABD_MEMBER_WAITING]);
  if (abd_sweep_failed(job->sweep, visit_failed, &list) != ABD_OK) return json_decref(list.json), table_failed(job);
  if (!job->options.json) return print_next(job, count), code;
  json_t *object = json_pack("{s:s,s:I,s:I,s:I,s:I,s:I,s:o}", "table", job->path, "members", (json_int_t)total, "done",
                             (json_int_t)count[ABD_MEMBER_DONE], "failed", (json_int_t)count[ABD_MEMBER_FAILED],
                             "running", (json_int_t)count[ABD_MEMBER_RUNNING], "waiting",
                             (json_int_t)count[ABD_MEMBER_WAITING], "failures", list.json);
  return json_print(object) ? code : EXIT_FAILED;
}

/* ---- Beginning and end ---- */

static int late(void *user) {
  SweepJob *job = user;
  char word[WORD_SIZE];
  dprintf(STDERR_FILENO, "\n%s. Go on with: %s sweep %s\n", stop_words(), args_program(),
          args_word(job->source, word, sizeof word));
  return EXIT_INTERRUPTED;
}

/* STUDY.db in this folder, unless -o names another. */
static char *table_path(const SweepJob *job) {
  char *path = NULL;
  if (job->options.output) return strdup(job->options.output);
  if (asprintf(&path, "%s.db", abd_study_name(job->study)) < 0) return NULL;
  for (char *c = path; *c; c++)
    if (*c == '/' || (unsigned char)*c < 32) *c = '_';
  return path;
}

/* The first and the last member have all settings of a grid at their first and last values. */
static int check_members(SweepJob *job) {
  AbdError error;
  size_t end[2] = {0, job->total - 1};
  for (int k = 0; k < 1 + (job->total > 1); k++)
    if (abd_study_check(job->study, end[k], &error) != ABD_OK) {
      fprintf(stderr, "abd sweep: %s: member %zu: %s\n", job->source, end[k], error.text);
      return EXIT_BAD_INPUT;
    }
  return EXIT_GOOD;
}

static int open_table(SweepJob *job) {
  AbdError error;
  job->sweep = abd_sweep_open(job->path, job->study, job->options.force, &error);
  if (!job->sweep) {
    say(code_of(error.status), error.text);
    if (error.status == ABD_ERROR_FILE) fprintf(stderr, "--force replaces it, -o names another file\n");
    return code_of(error.status);
  }
  if (job->options.failed && abd_sweep_retry_failed(job->sweep) != ABD_OK) return table_failed(job);
  return EXIT_GOOD;
}

static int prepare_members(SweepJob *job) {
  int64_t count[ABD_MEMBER_STATUS_COUNT];
  int64_t cores = sysconf(_SC_NPROCESSORS_ONLN);
  if (!job->options.jobs) job->options.jobs = cores > 0 ? cores : 1;
  if (job->options.jobs > (int64_t)job->total) job->options.jobs = (int64_t)job->total;
  job->worker = calloc((size_t)job->options.jobs, sizeof *job->worker);
  job->failures = calloc(job->total, sizeof *job->failures);
  if (!job->worker || !job->failures) return say(EXIT_FAILED, "out of memory");
  if (abd_sweep_counts(job->sweep, count) != ABD_OK) return table_failed(job);
  job->done = (size_t)(count[ABD_MEMBER_DONE] + count[ABD_MEMBER_FAILED]);
  if (job->done && !job->options.quiet)
    fprintf(stderr, "Going on with %s: %zu of %zu members are done\n", job->path, job->done, job->total);
  progress_start(&job->progress, (int64_t)job->done, (int64_t)job->total, 0, job->options.quiet);
  return EXIT_GOOD;
}

static int run_sweep(SweepJob *job) {
  job->total = abd_study_member_count(job->study);
  int code = check_members(job);
  if (code == EXIT_GOOD) code = open_table(job);
  if (code == EXIT_GOOD) code = prepare_members(job);
  if (code == EXIT_GOOD) code = run_members(job);
  for (int64_t k = 0; job->worker && k < job->options.jobs; k++) worker_destroy(&job->worker[k]);
  if (code == EXIT_INTERRUPTED) fprintf(stderr, "%s.\n", stop_words());
  if (code != EXIT_GOOD && code != EXIT_INTERRUPTED) return code;
  if (abd_sweep_release(job->sweep) != ABD_OK) return table_failed(job);
  int found = print_summary(job);
  return code == EXIT_GOOD ? found : code;
}

static int show_status(SweepJob *job) {
  AbdError error;
  job->sweep = abd_sweep_read(job->path, &error);
  return job->sweep ? print_summary(job) : say(code_of(error.status), error.text);
}

static int open_study(SweepJob *job, const TextList *operand) {
  AbdError error;
  if (operand->count != 1) return args_usage_error(&command, "expected one study (.json)");
  job->source = operand->text[0];
  job->study = abd_study_load(job->source, &error);
  if (!job->study) return say(code_of(error.status), error.text);
  job->path = table_path(job);
  return job->path ? EXIT_GOOD : say(EXIT_FAILED, "out of memory");
}

static void close_job(SweepJob *job) {
  abd_sweep_close(job->sweep);
  abd_study_destroy(job->study);
  free(job->worker), free(job->failures), free(job->path);
}

int command_sweep(int argc, char **argv) {
  SweepJob job = {.options = {.threads = 1, .retries = 2}};
  SweepOptions *o = &job.options;
  TextList operand;
  const Option option[] = {
      {"output", 'o', OPTION_TEXT, &o->output, "TABLE", "the table of results; NAME.db in this folder if left out"},
      {"jobs", 'j', OPTION_COUNT, &o->jobs, "N", "members at a time, 0 = as many as processors"},
      {"threads", 0, OPTION_COUNT, &o->threads, "N", "threads of a member, 1; the result has the same bits"},
      {"retries", 0, OPTION_COUNT, &o->retries, "N", "further attempts of a member whose process failed, 2"},
      {"limit", 0, OPTION_POSITIVE, &o->limit, "SECONDS", "a member that takes longer fails"},
      {"time-limit", 0, OPTION_POSITIVE, &o->time_limit, "SECONDS",
       "end after so much wall-clock time; the same command goes on"},
      {"status", 0, OPTION_FLAG, &o->status, NULL, "print the progress of a sweep, also while it runs"},
      {"failed", 0, OPTION_FLAG, &o->failed, NULL, "try failed members again"},
      {"force", 'f', OPTION_FLAG, &o->force, NULL, "replace an existing table"},
      {"quiet", 'q', OPTION_FLAG, &o->quiet, NULL, "print nothing but errors"},
      {"json", 0, OPTION_FLAG, &o->json, NULL, "print the summary as one JSON object"},
      {0},
  };
  int code = args_parse(&command, option, argc, argv, &operand);
  if (code == ARGS_GO_ON) code = open_study(&job, &operand);
  if (code == EXIT_GOOD && job.study) {
    if (!o->status) stop_catch(o->time_limit, late, &job);
    code = o->status ? show_status(&job) : run_sweep(&job);
  }
  close_job(&job);
  args_free(&operand);
  return code;
}
