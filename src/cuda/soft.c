/* Elements of soft bodies on the GPU: gradients and Hessians, summed there by vertex and by coupling, so that one block
 * for each comes back instead of ten for each tet. Elements and the places of their blocks are sent once; positions go
 * there for every evaluation. Sums run in the order of the elements. Tested in tests/test_cuda_soft.c. */
#include <string.h>

#include "cuda/accelerator.h"
#include "cuda/soft_item.h"
#include "step/soft.h"

/* The elements of one kind, of all soft bodies. */
typedef struct ElementArray {
  DeviceArray there;
  int count;
} ElementArray;

/* Parts of the sums by vertex or by coupling. */
typedef struct SoftParts {
  DeviceArray part, first, sum, here; /* here: the sums on this machine */
  int count;                          /* of sums */
} SoftParts;

typedef struct SoftCuda {
  SoftMachine table;
  const Model *model;
  ElementArray element[SOFT_KINDS];
  int (*before)[SOFT_KINDS]; /* by soft body: elements of the bodies before it */
  int *edge_first;           /* by soft body: its first coupling among all */
  int elements, vertices;
  DeviceArray owner, term, q, start, old;
  SoftParts vertex, edge;
  DeviceArray chunk, energy, chunk_sum, chunk_here; /* chunk_here: the sums on this machine */
  int *chunk_first;                                 /* by soft body: its first chunk; [soft_count + 1] */
  Packet task;
} SoftCuda;

enum { ENERGY_CHUNK = 64 }; /* elements whose energies one thread adds */

static const size_t kind_size[SOFT_KINDS] = {sizeof(SoftTet), sizeof(SoftTriangle), sizeof(SoftHinge),
                                             sizeof(SoftPiece), sizeof(SoftBend)};

/* ---- what is sent once ---- */

static const void *elements_of(const Soft *s, int kind) {
  const void *array[SOFT_KINDS] = {s->tet, s->shell, s->hinge, s->piece, s->bend};
  return array[kind];
}

static int first_element(const SoftCuda *c, int soft) {
  int sum = 0;
  for (int kind = 0; kind < SOFT_KINDS; kind++) sum += c->before[soft][kind];
  return sum;
}

static void count_elements(SoftCuda *c, const Cpu *cpu) {
  int edges = 0;
  for (int k = 0; k < c->model->soft_count; k++) {
    SoftElements s = soft_elements(&c->model->soft[k]);
    c->edge_first[k] = edges;
    edges += cpu->coupling[k].count;
    for (int kind = 0; kind < SOFT_KINDS; kind++) {
      c->before[k][kind] = c->element[kind].count;
      c->element[kind].count += s.count[kind];
      c->elements += s.count[kind];
    }
  }
  c->edge.count = edges;
}

static bool send_kind(SoftCuda *c, int kind) {
  ElementArray *a = &c->element[kind];
  if (!device_reserve(&a->there, (size_t)a->count * kind_size[kind] + 1)) return false;
  for (int k = 0; k < c->model->soft_count; k++) {
    const Soft *s = &c->model->soft[k];
    char *to = (char *)a->there.at + (size_t)c->before[k][kind] * kind_size[kind];
    if (!device_upload(to, elements_of(s, kind), (size_t)soft_elements(s).count[kind] * kind_size[kind])) return false;
  }
  return true;
}

static bool send_ints(DeviceArray *to, const int *from, int count) {
  return device_reserve(to, (size_t)count * sizeof(int) + 1) &&
         device_upload(to->at, from, (size_t)count * sizeof(int));
}

static bool send_owners(SoftCuda *c) {
  int *owner = mem_alloc((size_t)c->elements, sizeof(int));
  for (int k = 0, e = 0; owner && k < c->model->soft_count; k++)
    for (int n = soft_element_count(&c->model->soft[k]); n > 0; n--) owner[e++] = k;
  bool ok = owner && send_ints(&c->owner, owner, c->elements) && device_wait();
  mem_free(owner);
  return ok;
}

static bool send_chunks(SoftCuda *c) {
  int softs = c->model->soft_count, count = 0;
  int *first = mem_alloc((size_t)(c->elements / ENERGY_CHUNK + softs + 1), sizeof(int));
  if (!first) return false;
  for (int k = 0; k < softs; k++) {
    int begin = first_element(c, k), end = begin + soft_element_count(&c->model->soft[k]);
    c->chunk_first[k] = count;
    for (int e = begin; e < end; e += ENERGY_CHUNK) first[count++] = e;
  }
  c->chunk_first[softs] = count;
  first[count] = c->elements;
  size_t bytes = ((size_t)count + 1) * sizeof(double);
  bool ok = send_ints(&c->chunk, first, count + 1) &&
            device_reserve(&c->energy, ((size_t)c->elements + 1) * sizeof(double)) &&
            device_reserve(&c->chunk_sum, bytes) && host_reserve(&c->chunk_here, bytes) && device_wait();
  mem_free(first);
  return ok;
}

/* ---- places of the blocks ---- */

/* A part of a sum: which sum, and the part. */
typedef struct PartOf {
  int sum;
  int64_t part;
} PartOf;

/* The parts of the couplings of an element; returns their number. */
static int edge_parts(const SoftCuda *c, const Cpu *cpu, int soft, int element, PartOf out[6]) {
  const int *place = cpu->coupling[soft].place[element];
  int64_t term = (int64_t)TERM_NUMBERS * (first_element(c, soft) + element);
  int count = 0;
  for (int j = 0; j < 4; j++)
    for (int i = 0; i < j; i++, place++)
      if (*place >= 0)
        out[count++] = (PartOf){c->edge_first[soft] + *place / 2, 2 * (term + term_block(i, j)) + *place % 2};
  return count;
}

static int vertex_parts(const SoftCuda *c, const Cpu *cpu, int soft, int element, PartOf out[6]) {
  const Soft *s = &c->model->soft[soft];
  int v[4], corners;
  (void)cpu;
  soft_element_vertices(s, element, v, &corners);
  int64_t term = (int64_t)TERM_NUMBERS * (first_element(c, soft) + element);
  for (int i = 0; i < corners; i++) out[i] = (PartOf){v[i] - s->first + s->vertex, 4 * term + i};
  return corners;
}

typedef int FindParts(const SoftCuda *c, const Cpu *cpu, int soft, int element, PartOf out[6]);

/* Calls find for all elements. part NULL: counts the parts of sum i in first[i + 1]; else writes them at first[i]++. */
static void visit_parts(const SoftCuda *c, const Cpu *cpu, FindParts *find, int *first, int64_t *part) {
  for (int k = 0; k < c->model->soft_count; k++)
    for (int e = 0, n = soft_element_count(&c->model->soft[k]); e < n; e++) {
      PartOf found[6];
      for (int p = find(c, cpu, k, e, found) - 1; p >= 0; p--) {
        if (part) part[first[found[p].sum]++] = found[p].part;
        else first[found[p].sum + 1]++;
      }
    }
}

static bool send_parts(SoftCuda *c, const Cpu *cpu, FindParts *find, SoftParts *to, int numbers) {
  size_t sums = (size_t)to->count, bytes = (sums * (size_t)numbers + 1) * sizeof(double);
  int *first = mem_zeroed(sums + 2, sizeof(int));
  if (!first) return false;
  visit_parts(c, cpu, find, first + 1, NULL);
  for (size_t i = 0; i < sums; i++) first[i + 2] += first[i + 1];
  int all = first[sums + 1];
  int64_t *part = mem_alloc((size_t)all, sizeof *part);
  if (part) visit_parts(c, cpu, find, first + 1, part);
  bool ok = part && send_ints(&to->first, first, to->count + 1) &&
            device_reserve(&to->part, (size_t)all * sizeof *part + 1) &&
            device_upload(to->part.at, part, (size_t)all * sizeof *part) && device_reserve(&to->sum, bytes) &&
            host_reserve(&to->here, bytes) && device_wait();
  mem_free(first);
  mem_free(part);
  return ok;
}

/* ---- an evaluation ---- */

/* all: selected or not. */
static SoftTask task_of(const SoftCuda *c, const Cpu *cpu, int k, bool all) {
  const Soft *s = &c->model->soft[k];
  SoftTask t = {soft_elements_in(&cpu->work, s), first_element(c, k), s->vertex, SOFT_NOTHING};
  t.elements.tet = (const SoftTet *)c->element[SOFT_TET].there.at + c->before[k][SOFT_TET];
  t.elements.shell = (const SoftTriangle *)c->element[SOFT_TRIANGLE].there.at + c->before[k][SOFT_TRIANGLE];
  t.elements.hinge = (const SoftHinge *)c->element[SOFT_HINGE].there.at + c->before[k][SOFT_HINGE];
  t.elements.piece = (const SoftPiece *)c->element[SOFT_PIECE].there.at + c->before[k][SOFT_PIECE];
  t.elements.bend = (const SoftBend *)c->element[SOFT_BEND].there.at + c->before[k][SOFT_BEND];
  t.elements.start = (const Vec3 *)c->start.at + s->vertex;
  t.elements.before = (const Vec3 *)c->old.at + s->vertex;
  if (all) t.order = SOFT_EXACT;
  else if (soft_selected(cpu, k)) t.order = island_of_soft(cpu->islands, k)->convex > 0 ? SOFT_CONVEX : SOFT_EXACT;
  return t;
}

static bool send_positions(DeviceArray *to, const Vec3 *from, int count) {
  size_t bytes = (size_t)count * sizeof(Vec3);
  return device_reserve(to, bytes + 1) && device_upload(to->at, from, bytes);
}

/* Tasks, and the positions that they need. */
static bool send_tasks(SoftCuda *c, const Cpu *cpu, Nodes q, bool all) {
  const Work *w = &cpu->work;
  bool damped = false, two_steps = false;
  size_t bytes = (size_t)c->vertices * sizeof(Vec3) + 1;
  packet_begin(&c->task);
  packet_add(&c->task, (size_t)c->model->soft_count * sizeof(SoftTask));
  if (!packet_open(&c->task) || !device_reserve(&c->start, bytes) || !device_reserve(&c->old, bytes)) return false;
  SoftTask *task = c->task.here.at;
  for (int k = 0; k < c->model->soft_count; k++) {
    task[k] = task_of(c, cpu, k, all);
    damped |= task[k].elements.rate > 0;
    two_steps |= task[k].elements.two_steps;
  }
  return packet_send(&c->task) && send_positions(&c->q, q.vertex, c->vertices) &&
         (!damped || send_positions(&c->start, w->state->q.vertex, c->vertices)) &&
         (!two_steps || send_positions(&c->old, w->state->q_before.vertex, c->vertices));
}

static SoftSumArrays sums_of(const SoftCuda *c, const SoftParts *parts) {
  return (SoftSumArrays){parts->part.at, parts->first.at, c->term.at, parts->sum.at};
}

static bool receive(const SoftParts *parts, int numbers) {
  return device_download(parts->here.at, parts->sum.at, (size_t)parts->count * (size_t)numbers * sizeof(double));
}

static bool terms(void *self, Cpu *cpu, SoftSum *sum) {
  SoftCuda *c = self;
  if (!device_reserve(&c->term, ((size_t)c->elements * TERM_NUMBERS + 1) * sizeof(double)) ||
      !send_tasks(c, cpu, cpu->work.q, false))
    return false;
  SoftTermArrays arrays = {c->task.there.at, c->owner.at, c->q.at, c->term.at};
  SoftSumArrays vertex = sums_of(c, &c->vertex), edge = sums_of(c, &c->edge);
  if (!soft_term_launch(c->elements, &arrays) || !soft_vertex_launch(12 * c->vertices, &vertex) ||
      !soft_edge_launch(9 * c->edge.count, &edge) || !receive(&c->vertex, 12) || !receive(&c->edge, 9) ||
      !device_wait())
    return false;
  for (int k = 0; k < c->model->soft_count; k++)
    sum[k] = (SoftSum){(const double(*)[12])c->vertex.here.at + c->model->soft[k].vertex,
                       (const double(*)[9])c->edge.here.at + c->edge_first[k]};
  return true;
}

static bool energies(void *self, Cpu *cpu, Nodes q, bool all, double *energy) {
  SoftCuda *c = self;
  const double *sum = c->chunk_here.at;
  int chunks = c->chunk_first[c->model->soft_count];
  if (!send_tasks(c, cpu, q, all)) return false;
  SoftEnergyArrays arrays = {c->task.there.at, c->owner.at, c->q.at, c->chunk.at, c->energy.at, c->chunk_sum.at};
  if (!soft_energy_launch(c->elements, &arrays) || !soft_chunk_launch(chunks, &arrays) ||
      !device_download(c->chunk_here.at, c->chunk_sum.at, (size_t)chunks * sizeof(double)) || !device_wait())
    return false;
  for (int k = 0; k < c->model->soft_count; k++) {
    if (!all && !soft_selected(cpu, k)) continue;
    energy[k] = 0;
    for (int e = c->chunk_first[k]; e < c->chunk_first[k + 1]; e++) energy[k] += sum[e];
  }
  return true;
}

/* ---- its life ---- */

static void parts_free(SoftParts *p) {
  device_free(&p->part);
  device_free(&p->first);
  device_free(&p->sum);
  host_free(&p->here);
}

static void close_soft(void *self) {
  SoftCuda *c = self;
  if (!c) return;
  DeviceArray *array[] = {&c->owner, &c->term, &c->q, &c->start, &c->old, &c->chunk, &c->energy, &c->chunk_sum};
  for (int k = 0; k < ARRAY_COUNT(array); k++) device_free(array[k]);
  for (int kind = 0; kind < SOFT_KINDS; kind++) device_free(&c->element[kind].there);
  parts_free(&c->vertex);
  parts_free(&c->edge);
  packet_free(&c->task);
  host_free(&c->chunk_here);
  mem_free(c->chunk_first);
  mem_free(c->before);
  mem_free(c->edge_first);
  mem_free(c);
}

bool cuda_soft_open(Cpu *cpu) {
  const Model *m = cpu->model;
  SoftCuda *c = mem_zeroed(1, sizeof *c);
  if (!c) return false;
  c->table = (SoftMachine){.destroy = close_soft, .terms = terms, .energies = energies};
  c->model = m;
  c->vertices = c->vertex.count = model_vertex_count(m);
  c->before = mem_alloc((size_t)m->soft_count, sizeof *c->before);
  c->edge_first = mem_alloc((size_t)m->soft_count, sizeof(int));
  c->chunk_first = mem_alloc((size_t)m->soft_count + 1, sizeof(int));
  bool ok = c->before && c->edge_first && c->chunk_first;
  if (ok) count_elements(c, cpu);
  for (int kind = 0; ok && kind < SOFT_KINDS; kind++) ok = send_kind(c, kind);
  ok = ok && send_owners(c) && send_chunks(c) && send_parts(c, cpu, vertex_parts, &c->vertex, 12) &&
       send_parts(c, cpu, edge_parts, &c->edge, 9);
  if (!ok) {
    close_soft(c);
    return false;
  }
  cpu->soft_machine = &c->table;
  cpu->soft_machine_self = c;
  return true;
}
