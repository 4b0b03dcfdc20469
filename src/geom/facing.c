/* See geom/facing.h. */
#include "geom/facing.h"

typedef struct Facing {
  const Mesh *mesh;
  int (*user)[2];    /* of each edge: the two triangles that have it, -1 if it has fewer */
  int *use;          /* of each edge: how many triangles have it */
  int *queue;        /* the triangles of a patch */
  signed char *sign; /* 0: not reached */
} Facing;

static void list_users(Facing *f) {
  const Mesh *mesh = f->mesh;
  for (int e = 0; e < mesh->edge_count; e++) f->use[e] = 0, f->user[e][0] = f->user[e][1] = -1;
  for (int i = 0; i < mesh->element_count; i++)
    for (int k = 0; mesh->element[i].vertex_count == 3 && k < 3; k++) {
      int e = mesh->element[i].edge[k], n = f->use[e]++;
      if (n < 2) f->user[e][n] = i;
    }
}

/* Whether the triangle traverses the edge upward. */
static bool goes_up(const Mesh *mesh, const Element *t, int edge) {
  for (int k = 0; k < 3; k++)
    if (t->edge[k] == edge) return mesh->edge[edge][0] == (uint32_t)t->vertex[k];
  return false;
}

/* Adds the neighbours of a triangle to the patch. False if one was reached with the other sign. */
static bool reach_neighbours(Facing *f, int at, int *count) {
  const Element *t = &f->mesh->element[at];
  bool good = true;
  for (int k = 0; k < 3; k++) {
    int e = t->edge[k];
    if (f->use[e] != 2 || f->user[e][0] == f->user[e][1]) continue;
    int other = f->user[e][f->user[e][0] == at];
    bool same = goes_up(f->mesh, t, e) != goes_up(f->mesh, &f->mesh->element[other], e);
    signed char sign = (signed char)(same ? f->sign[at] : -f->sign[at]);
    good &= !f->sign[other] || f->sign[other] == sign;
    if (f->sign[other]) continue;
    f->sign[other] = sign;
    f->queue[(*count)++] = other;
  }
  return good;
}

static double triangle_area(const Mesh *mesh, const Element *t) {
  Vec3 a = mesh->vertex[t->vertex[0]];
  return 0.5 * norm(cross(sub(mesh->vertex[t->vertex[1]], a), sub(mesh->vertex[t->vertex[2]], a)));
}

static void mark_patch(Facing *f, int first) {
  int count = 1;
  bool good = true;
  double area = 0;
  f->sign[first] = 1;
  f->queue[0] = first;
  for (int k = 0; k < count; k++) good &= reach_neighbours(f, f->queue[k], &count);
  for (int k = 0; k < count; k++) area += f->sign[f->queue[k]] * triangle_area(f->mesh, &f->mesh->element[f->queue[k]]);
  for (int k = 0; k < count; k++) {
    signed char *sign = &f->sign[f->queue[k]];
    *sign = (signed char)(!good ? 1 : area < 0 ? -*sign : *sign);
  }
}

signed char *facing_find(const Mesh *mesh) {
  size_t edges = (size_t)mesh->edge_count, elements = (size_t)mesh->element_count;
  Facing f = {.mesh = mesh,
              .user = mem_alloc(edges, sizeof *f.user),
              .use = mem_alloc(edges, sizeof *f.use),
              .queue = mem_alloc(elements, sizeof *f.queue),
              .sign = mem_zeroed(elements, sizeof *f.sign)};
  bool ok = f.user && f.use && f.queue && f.sign;
  if (ok) {
    list_users(&f);
    for (int i = 0; i < mesh->element_count; i++)
      if (mesh->element[i].vertex_count == 3 && !f.sign[i]) mark_patch(&f, i);
  } else {
    mem_free(f.sign);
    f.sign = NULL;
  }
  mem_free(f.user);
  mem_free(f.use);
  mem_free(f.queue);
  return f.sign;
}
