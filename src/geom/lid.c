/* See geom/lid.h. In a set of loops as many edges end at a vertex as start there. So a walk along unused edges always
 * returns to its start, and each time it meets a vertex again it has found a loop. */
#include "geom/lid.h"

#include <stdlib.h>
#include <string.h>

#include "kernel/constant.h"

typedef struct DirectedEdge {
  int from, to;
  bool open; /* of lids: the edge belongs to one triangle alone */
} DirectedEdge;

typedef struct LidWalk {
  const Mesh *mesh;
  const DirectedEdge *edge; /* of the lids, sorted by `from` */
  int *next, *last;         /* of each vertex: its next unused edge, the end of its edges */
  int *path, *place;        /* the vertices of the walk; of each vertex its place there, -1 if it has none */
  bool *open;               /* of each vertex of the walk: the edge that leaves it is open */
  int path_count;
  Corners *lid;     /* small loops from the front, large ones from the back */
  int small, large; /* triangles of either */
  int capacity;
} LidWalk;

static int compare_edges(const void *a, const void *b) {
  const DirectedEdge *x = a, *y = b;
  if (x->from != y->from) return x->from < y->from ? -1 : 1;
  return (x->to > y->to) - (x->to < y->to);
}

/* Of each edge of the mesh: how many triangles have it, and how many more traverse it upward than downward. */
typedef struct EdgeUse {
  int count, net;
} EdgeUse;

static void count_uses(const Mesh *mesh, const signed char *facing, EdgeUse *use) {
  for (int i = 0; i < mesh->element_count; i++) {
    const Element *e = &mesh->element[i];
    for (int k = 0; e->vertex_count == 3 && k < 3; k++) {
      use[e->edge[k]].count++;
      use[e->edge[k]].net += mesh->edge[e->edge[k]][0] == (uint32_t)e->vertex[k] ? facing[i] : -facing[i];
    }
  }
}

static int count_unpaired(const Mesh *mesh, const EdgeUse *use) {
  int count = 0;
  for (int e = 0; e < mesh->edge_count; e++) count += abs(use[e].net);
  return count;
}

/* The reverse of each edge that is used more often than its reverse, as often as it lacks one; sorted. */
static void list_unpaired(const Mesh *mesh, const EdgeUse *use, DirectedEdge *out) {
  int found = 0;
  for (int e = 0; e < mesh->edge_count; e++) {
    int low = (int)mesh->edge[e][0], high = (int)mesh->edge[e][1], net = use[e].net;
    DirectedEdge reverse = {net > 0 ? high : low, net > 0 ? low : high, use[e].count == 1};
    for (int lack = abs(net); lack > 0; lack--) out[found++] = reverse;
  }
  qsort(out, (size_t)found, sizeof *out, compare_edges);
}

static bool is_small(const LidWalk *w, int first) {
  Box box = box_empty(), all = w->mesh->box;
  bool open = false;
  for (int k = first; k < w->path_count; k++) {
    box = box_add(box, w->mesh->vertex[w->path[k]]);
    open |= w->open[k];
  }
  return !open || norm(sub(box.hi, box.lo)) < LID_SMALL * norm(sub(all.hi, all.lo));
}

static void add_lid(LidWalk *w, bool small, Vec3 a, Vec3 b, Vec3 c) {
  int at = small ? w->small++ : w->capacity - ++w->large;
  w->lid[at] = (Corners){{a, b, c}};
}

/* The fan of a loop, which is the walk from `first` on. */
static void add_fan(LidWalk *w, int first) {
  const Vec3 *x = w->mesh->vertex;
  const int *loop = w->path + first;
  int n = w->path_count - first;
  bool small = is_small(w, first);
  Vec3 mean = vec3(0, 0, 0);
  if (n == 3) add_lid(w, small, x[loop[0]], x[loop[1]], x[loop[2]]);
  if (n <= 3) return;
  for (int k = 0; k < n; k++) mean = add_scaled(mean, 1.0 / n, x[loop[k]]);
  for (int k = 0; k < n; k++) add_lid(w, small, x[loop[k]], x[loop[(k + 1) % n]], mean);
}

static void push(LidWalk *w, int vertex) {
  w->place[vertex] = w->path_count;
  w->path[w->path_count++] = vertex;
}

static void walk_from(LidWalk *w, int start) {
  push(w, start);
  while (w->path_count > 0) {
    int at = w->path[w->path_count - 1];
    if (w->next[at] == w->last[at]) { /* only at the start, after its last loop */
      w->place[at] = -1;
      w->path_count--;
      continue;
    }
    const DirectedEdge *edge = &w->edge[w->next[at]++];
    int to = edge->to;
    w->open[w->path_count - 1] = edge->open;
    if (w->place[to] < 0) {
      push(w, to);
      continue;
    }
    add_fan(w, w->place[to]);
    while (w->path_count > w->place[to] + 1) w->place[w->path[--w->path_count]] = -1;
  }
}

static void walk_loops(LidWalk *w, int count) {
  for (int v = 0; v < w->mesh->vertex_count; v++) w->next[v] = w->last[v] = 0, w->place[v] = -1;
  for (int i = count - 1; i >= 0; i--) w->next[w->edge[i].from] = i;
  for (int i = 0; i < count; i++) w->last[w->edge[i].from] = i + 1;
  for (int v = 0; v < w->mesh->vertex_count; v++)
    while (w->next[v] < w->last[v]) walk_from(w, v);
}

static bool cover_loops(Lids *lids, const Mesh *mesh, const DirectedEdge *edge, int count) {
  size_t vertices = (size_t)mesh->vertex_count;
  int *room = mem_alloc(4 * vertices + 1, sizeof *room);
  bool *marks = mem_alloc(vertices, sizeof *marks);
  Corners *lid = mem_alloc((size_t)count, sizeof *lid);
  bool ok = room && marks && lid;
  if (ok) {
    LidWalk w = {.mesh = mesh,
                 .edge = edge,
                 .next = room,
                 .last = room + vertices,
                 .path = room + 2 * vertices,
                 .place = room + 3 * vertices,
                 .open = marks,
                 .lid = lid,
                 .capacity = count};
    walk_loops(&w, count);
    memmove(lid + w.small, lid + count - w.large, (size_t)w.large * sizeof *lid);
    *lids = (Lids){lid, w.small + w.large, w.small};
  } else {
    mem_free(lid);
  }
  mem_free(room);
  mem_free(marks);
  return ok;
}

bool lids_find(Lids *lids, const Mesh *mesh, const signed char *facing) {
  EdgeUse *use = mem_zeroed((size_t)mesh->edge_count, sizeof *use);
  DirectedEdge *edge = NULL;
  bool ok = false;
  *lids = (Lids){.triangle = NULL};
  if (use) {
    count_uses(mesh, facing, use);
    int count = count_unpaired(mesh, use);
    edge = mem_alloc((size_t)count, sizeof *edge);
    if (edge) {
      list_unpaired(mesh, use, edge);
      ok = cover_loops(lids, mesh, edge, count);
    }
  }
  mem_free(use);
  mem_free(edge);
  return ok;
}

void lids_destroy(Lids *lids) {
  mem_free(lids->triangle);
  *lids = (Lids){.triangle = NULL};
}
