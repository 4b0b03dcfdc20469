/* See worker.h. Tested by tests/cli/sweep.sh. */
#define _GNU_SOURCE
#include "worker.h"

#include "progress.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static size_t figures_offset(void) { return (sizeof(WorkerAnswer) + 15) / 16 * 16; }
static size_t answer_size(const AbdStudy *study) {
  return figures_offset() + abd_study_column_count(study) * sizeof(double);
}

/* ---- In the worker's process ---- */

static void write_all(int file, const char *bytes, size_t size) {
  while (size) {
    ssize_t n = write(file, bytes, size);
    if (n < 0 && errno != EINTR) _exit(1);
    if (n > 0) bytes += n, size -= (size_t)n;
  }
}

/* The process ends with its parent, also if that was killed. */
static void end_with(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
}

static void work(int file, pid_t parent, const AbdStudy *study, size_t member, int threads) {
  end_with(parent);
  signal(SIGINT, SIG_IGN); /* the parent decides */
  signal(SIGTERM, SIG_DFL);
  char *bytes = calloc(1, answer_size(study));
  if (!bytes) _exit(1);
  WorkerAnswer answer = {0};
  answer.status =
      abd_study_run(study, member, threads, &answer.result, (double *)(bytes + figures_offset()), &answer.error);
  memcpy(bytes, &answer, sizeof answer);
  write_all(file, bytes, answer_size(study));
  _exit(0);
}

/* ---- In the parent's ---- */

bool worker_start(Worker *worker, const AbdStudy *study, size_t member, int threads) {
  int ends[2];
  pid_t parent = getpid();
  if (!worker->bytes) worker->bytes = malloc(answer_size(study));
  if (!worker->bytes || pipe2(ends, O_CLOEXEC) != 0) return false;
  fflush(NULL);
  pid_t process = fork();
  if (process == 0) {
    close(ends[0]);
    work(ends[1], parent, study, member, threads);
  }
  close(ends[1]);
  if (process < 0) return close(ends[0]), false;
  worker->process = process, worker->pipe = ends[0], worker->member = member;
  worker->begun = clock_seconds(), worker->too_late = false, worker->used = 0;
  return true;
}

bool worker_read(Worker *worker, const AbdStudy *study) {
  size_t room = answer_size(study) - worker->used;
  char end[1];
  ssize_t n = room ? read(worker->pipe, worker->bytes + worker->used, room) : read(worker->pipe, end, 1);
  if (n > 0 && room) worker->used += (size_t)n;
  return n == 0 || (n < 0 && errno != EINTR);
}

/* Why a process ended without an answer. */
static void explain(const Worker *worker, int status, char *sentence, size_t size) {
  double seconds = clock_seconds() - worker->begun;
  if (worker->too_late) snprintf(sentence, size, "took longer than the limit: %.3g s", seconds);
  else if (WIFSIGNALED(status))
    snprintf(sentence, size, "its process was ended by signal %d (%s) after %.3g s", WTERMSIG(status),
             strsignal(WTERMSIG(status)), seconds);
  else snprintf(sentence, size, "its process ended with exit code %d after %.3g s", WEXITSTATUS(status), seconds);
}

bool worker_finish(Worker *worker, const AbdStudy *study, WorkerAnswer *answer, const double **value, char *sentence,
                   size_t size) {
  int status = 0;
  while (waitpid(worker->process, &status, 0) < 0 && errno == EINTR) {}
  close(worker->pipe);
  worker->process = 0;
  bool whole = worker->used == answer_size(study);
  if (whole) memcpy(answer, worker->bytes, sizeof *answer), *value = (const double *)(worker->bytes + figures_offset());
  else explain(worker, status, sentence, size);
  return whole;
}

void worker_kill(Worker *worker) {
  if (worker->process) kill(worker->process, SIGKILL);
}

void worker_destroy(Worker *worker) {
  if (worker->process) {
    worker_kill(worker);
    waitpid(worker->process, NULL, 0);
    close(worker->pipe);
  }
  free(worker->bytes);
}
