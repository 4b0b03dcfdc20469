/* The tasks of a stage, see cuda/task.h. Tested in tests/test_cuda_serial.c. */
#include "cuda/task.h"

static int chunks_of(int items) { return (items + CHUNK_ITEMS - 1) / CHUNK_ITEMS; }

bool tasks_cut(Cuda *c, const Cpu *cpu, Tasks *tasks) {
  *tasks = (Tasks){.count = c->task_of.count};
  for (int t = 0; t < tasks->count; t++) {
    Picked *own = &c->task_of.list[t];
    if (own->items < 0) {
      const Pair *p = pairs_at(&cpu->pairs, own->pair);
      if (!cuda_queue_list(c, cpu, p)) return false;
      own->items = c->record[p->slot].count;
    }
    c->task_chunk[t] = tasks->chunks;
    tasks->chunks += chunks_of(own->items);
  }
  return true;
}

bool tasks_open(Cuda *c, Tasks *tasks, size_t size, const Cpu *cpu, bool directions) {
  size_t bytes = (size_t)cpu->model->body_count * sizeof(Affine);
  cuda_packet_begin(c);
  tasks->task = packet_add(&c->packet, (size_t)tasks->count * size);
  tasks->chunk = packet_add(&c->packet, (size_t)tasks->chunks * sizeof(TaskChunk));
  tasks->pose = packet_add(&c->packet, bytes);
  tasks->direction = packet_add(&c->packet, directions ? bytes : 0);
  tasks->advance = packet_add(&c->packet, directions ? 0 : (size_t)tasks->count * sizeof(AdvanceTask));
  return packet_open(&c->packet);
}

void tasks_write_chunks(const Cuda *c, const Tasks *tasks, int t, int items) {
  TaskChunk *chunk = (TaskChunk *)packet_here(&c->packet, tasks->chunk) + c->task_chunk[t];
  for (int first = 0; first < items; first += CHUNK_ITEMS)
    *chunk++ = (TaskChunk){t, first, items - first < CHUNK_ITEMS ? items - first : CHUNK_ITEMS};
}

static void fill_body(void *context, int i) {
  const TaskFill *f = context;
  const Packet *packet = &cuda_of(f->cpu)->packet;
  ((Affine *)packet_here(packet, f->tasks->pose))[i] = f->pose[i];
  if (f->direction) ((Affine *)packet_here(packet, f->tasks->direction))[i] = f->direction[i];
}

void tasks_moving(Cuda *c, const Tasks *tasks) {
  c->moving = true;
  c->moving_pose = tasks->pose;
  c->moving_direction = tasks->direction;
}

bool tasks_send_motion(Cuda *c, const Cpu *cpu) {
  Tasks none = {0};
  TaskFill fill = {cpu, &none, cpu->work.q.body, cpu->work.direction.body};
  if (c->moving) return true;
  if (!tasks_open(c, &none, 0, cpu, true)) return false;
  parallel_for(cpu->threads, cpu->model->body_count, 64, fill_body, &fill);
  tasks_moving(c, &none);
  return packet_send(&c->packet);
}

typedef struct Filling {
  const TaskFill *fill;
  ParallelBody *task;
  int bound[PARALLEL_MAX + 1]; /* of each thread's items: its share of the bodies, then the tasks that it picked */
  int threads, bodies;
} Filling;

static void fill_item(void *context, int item) {
  const Filling *f = context;
  int t = 0;
  while (f->bound[t + 1] <= item) t++;
  if (item > f->bound[t]) {
    f->task((void *)f->fill, item - t - 1);
    return;
  }
  int end = (int)((int64_t)f->bodies * (t + 1) / f->threads);
  for (int i = (int)((int64_t)f->bodies * t / f->threads); i < end; i++) fill_body((void *)f->fill, i);
}

void tasks_fill(const TaskFill *f, ParallelBody *task) {
  const Picks *picks = &cuda_of(f->cpu)->task_of;
  Filling filling = {.fill = f, .task = task, .threads = f->cpu->threads, .bodies = f->cpu->model->body_count};
  if (picks_shared(picks, filling.threads)) {
    for (int t = 0; t <= filling.threads; t++) filling.bound[t] = picks->share[t] + t;
    parallel_shares(filling.threads, filling.bound, 16, fill_item, &filling);
  } else {
    parallel_both(filling.threads, f->tasks->count, filling.bodies, 64, task, fill_body, (void *)f);
  }
}
