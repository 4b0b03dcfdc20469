/* Pairs that loops pick, see pick.h. Each thread writes to a list of its own. */
#include "cpu/pick.h"

#include <string.h>

#include "base/base.h"

typedef struct Pick {
  Picked *item;
  int count, capacity;
  bool starved;    /* memory is out */
  char apart[104]; /* no two threads write to one cache line or its neighbour */
} Pick;

bool picks_open(Picks *p, int threads) {
  p->threads = threads > parallel_max_threads() ? threads : parallel_max_threads();
  p->own = mem_zeroed((size_t)p->threads, sizeof(Pick));
  p->share = mem_zeroed((size_t)p->threads + 1, sizeof(int));
  return p->own && p->share;
}

void picks_close(Picks *p) {
  for (int t = 0; p->own && t < p->threads; t++) mem_free(p->own[t].item);
  mem_free(p->own);
  mem_free(p->share);
  mem_free(p->list);
  mem_free(p->scratch);
}

void picks_clear(Picks *p) {
  for (int t = 0; t < p->threads; t++) {
    p->own[t].count = 0;
    p->own[t].starved = false;
  }
  p->count = 0;
}

void picks_add(Picks *p, int pair, int items) {
  Pick *own = &p->own[parallel_thread()];
  if (mem_reserve((void **)&own->item, &own->capacity, own->count + 1, sizeof(Picked)))
    own->item[own->count++] = (Picked){pair, items};
  else own->starved = true;
}

/* Sorts by one byte of the pairs; equal ones stay in their order. */
static void sort_by_byte(const Picked *from, Picked *to, int count, int shift) {
  int place[256] = {0}, sum = 0;
  for (int k = 0; k < count; k++) place[from[k].pair >> shift & 255]++;
  for (int v = 0; v < 256; v++) {
    int own = place[v];
    place[v] = sum;
    sum += own;
  }
  for (int k = 0; k < count; k++) to[place[from[k].pair >> shift & 255]++] = from[k];
}

static bool is_sorted(const Picked *list, int count) {
  for (int k = 1; k < count; k++)
    if (list[k].pair < list[k - 1].pair) return false;
  return true;
}

bool picks_join(Picks *p) {
  int count = 0;
  bool starved = false;
  p->count = 0;
  for (int t = 0; t < p->threads; t++) {
    count += p->own[t].count;
    starved |= p->own[t].starved;
  }
  if (starved || !mem_reserve((void **)&p->list, &p->capacity, count, sizeof(Picked)) ||
      !mem_reserve((void **)&p->scratch, &p->scratch_capacity, count, sizeof(Picked)))
    return false;
  for (int t = 0; t < p->threads; t++) {
    const Pick *own = &p->own[t];
    if (own->count) memcpy(p->list + p->count, own->item, (size_t)own->count * sizeof(Picked));
    p->count += own->count;
    p->share[t + 1] = p->count;
  }
  return true;
}

bool picks_list(Picks *p, int pairs) {
  if (!picks_join(p)) return false;
  int count = p->count;
  for (int shift = 0; !is_sorted(p->list, count) && shift < 31 && (pairs - 1) >> shift > 0; shift += 8) {
    sort_by_byte(p->list, p->scratch, count, shift);
    Picked *sorted = p->scratch;
    int capacity = p->scratch_capacity;
    p->scratch = p->list;
    p->scratch_capacity = p->capacity;
    p->list = sorted;
    p->capacity = capacity;
  }
  return true;
}

bool picks_shared(const Picks *p, int threads) { return threads <= p->threads && p->share[threads] == p->count; }

void picks_for(const Picks *p, int threads, int grain, ParallelBody *body, void *context) {
  if (picks_shared(p, threads)) parallel_shares(threads, p->share, grain, body, context);
  else parallel_for(threads, p->count, grain, body, context);
}
