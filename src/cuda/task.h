/* The tasks that loops send to the GPU in one packet with the poses, each cut into chunks. Their order does not matter:
 * each has results of its own. */
#ifndef ABD_CUDA_TASK_H
#define ABD_CUDA_TASK_H

#include "cuda/accelerator.h"

typedef struct Tasks {
  int count, chunks;
  size_t task, chunk, pose, direction, advance; /* places in the packet */
} Tasks;

typedef struct TaskFill {
  const Cpu *cpu;
  const Tasks *tasks;
  const Affine *pose, *direction; /* by body; NULL = no directions */
} TaskFill;

/* Makes chunks of the tasks, which are those of c->task_of, and queues the lists that are not there; then items are
 * numbers of candidates. False if memory is out. */
bool tasks_cut(Cuda *cuda, const Cpu *cpu, Tasks *tasks);
/* Room for tasks of `size` bytes. directions: of a sweep; else tasks of friction's advance follow, one for each
 * task. */
bool tasks_open(Cuda *cuda, Tasks *tasks, size_t size, const Cpu *cpu, bool directions);
/* Writes tasks and poses. */
void tasks_fill(const TaskFill *fill, ParallelBody *task);
/* Poses and directions of the step that is bounded go to the GPU once: tasks_moving notes that the packet has them,
 * tasks_send_motion sends them if no packet had them yet. */
void tasks_moving(Cuda *cuda, const Tasks *tasks);
bool tasks_send_motion(Cuda *cuda, const Cpu *cpu);
void tasks_write_chunks(const Cuda *cuda, const Tasks *tasks, int task, int items); /* of one task */

#endif
