/* Worker processes of `abd sweep`: each runs one member of a study and sends its figures through a pipe. A process of
 * its own bounds what a member can break: a crash or a lack of memory ends that member alone. */
#ifndef ABD_TOOL_WORKER_H
#define ABD_TOOL_WORKER_H

#include <abd/sweep.h>
#include <sys/types.h>

/* The first bytes in the pipe; the figures follow. */
typedef struct WorkerAnswer {
  AbdStatus status;
  AbdMemberResult result;
  AbdError error;
} WorkerAnswer;

typedef struct Worker {
  pid_t process; /* 0 = idle */
  int pipe;
  size_t member;
  double begun;  /* [s] clock */
  bool too_late; /* it was killed because it took too long */
  char *bytes;   /* the answer as far as it has come */
  size_t used;
} Worker;

/* Starts a process for a member. False if there are no processes, pipes or memory left. */
bool worker_start(Worker *worker, const AbdStudy *study, size_t member, int threads);
/* Reads what has come. Returns true at the end of the answer. */
bool worker_read(Worker *worker, const AbdStudy *study);
/* After the end of the answer: waits for the process. Returns true and the answer if it is complete, otherwise false
 * and a sentence. The figures, aligned for doubles, are valid until worker_start. */
bool worker_finish(Worker *worker, const AbdStudy *study, WorkerAnswer *answer, const double **value, char *sentence,
                   size_t size);
void worker_kill(Worker *worker);    /* its end comes by worker_read */
void worker_destroy(Worker *worker); /* kills it if it runs */

#endif
