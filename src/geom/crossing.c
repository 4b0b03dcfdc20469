/* Finds crossings of meshes: both trees are descended together, boxes are posed when they are visited, and the elements
 * of overlapping leaves are tested exactly, with the doubles that affine_point returns for their vertices. Only the
 * search of a mesh with flat triangles against itself allocates. Tested in tests/test_crossing.c. */
#include "geom/crossing.h"

#include <limits.h>

/* Trees are balanced, so a descent has at most about 31 levels in each, and each level adds at most 2 pairs to the
 * stack. */
enum { STACK_SIZE = 256 };

typedef struct PosedMesh {
  Side side;
  const Affine *pose;
  double slack; /* [m] far above the rounding error of a posed vertex, so that boxes miss no crossing */
} PosedMesh;

typedef struct PosedElement {
  int count;
  Vec3 vertex[3];
  Box box;
} PosedElement;

/* Returns true to end the descent. */
typedef bool VisitPair(void *context, int element_a, int element_b);

static PosedMesh pose_side(Side side, const Affine *pose) {
  Vec3 size = add(vec3_abs(pose->n[0]), vec3(DBL_MIN, DBL_MIN, DBL_MIN));
  for (int k = 1; k < 4; k++) size = add_scaled(size, side_radius(&side), vec3_abs(pose->n[k]));
  PosedMesh m = {side, pose, 1e-12 * max_component(size)};
  return m;
}

static Box posed_node_box(const PosedMesh *m, int node) {
  const float *b = side_node_box(&m->side, node);
  Box box = {vec3(b[0], b[1], b[2]), vec3(b[3], b[4], b[5])};
  return box_inflate(box_transform(m->pose, box), m->slack);
}

static PosedElement posed_element(const PosedMesh *m, int element) {
  const Element *e = &m->side.mesh->element[element];
  PosedElement p = {.count = e->vertex_count, .box = box_empty()};
  for (int k = 0; k < p.count; k++) {
    p.vertex[k] = affine_point(m->pose, m->side.x[e->vertex[k]]);
    p.box = box_add(p.box, p.vertex[k]);
  }
  return p;
}

static bool elements_cross(const PosedElement *a, const PosedElement *b) {
  const Vec3 *u = a->vertex, *v = b->vertex;
  if (!box_overlap(a->box, b->box)) return false;
  if (a->count == 3 && b->count == 3) return triangle_crosses_triangle(u, v);
  if (a->count == 3) return segment_crosses_triangle(v[0], v[b->count - 1], u[0], u[1], u[2]);
  if (b->count == 3) return segment_crosses_triangle(u[0], u[a->count - 1], v[0], v[1], v[2]);
  return segment_crosses_segment(u[0], u[a->count - 1], v[0], v[b->count - 1]);
}

static double node_size(const PosedMesh *m, int node) {
  const float *b = side_node_box(&m->side, node);
  return (double)b[3] - b[0] + b[4] - b[1] + b[5] - b[2];
}

static bool visit_leaves(const TreeNode *na, const TreeNode *nb, bool self, VisitPair *visit, void *context) {
  for (int i = na->first; i < na->first + na->element_count; i++)
    for (int j = self ? i + 1 : nb->first; j < nb->first + nb->element_count; j++)
      if (visit(context, i, j)) return true;
  return false;
}

/* Calls visit for every pair of elements in leaves whose boxes overlap, until it returns true. If a and b are the same
 * mesh at the same pose, each pair is visited once. */
static bool visit_pairs(const PosedMesh *a, const PosedMesh *b, VisitPair *visit, void *context) {
  int stack[STACK_SIZE][2] = {{0, 0}}, count = 1;
  while (count > 0) {
    int ia = stack[--count][0], ib = stack[count][1];
    const TreeNode *na = &a->side.mesh->node[ia], *nb = &b->side.mesh->node[ib];
    bool leaf_a = na->element_count > 0, leaf_b = nb->element_count > 0, self = a == b && ia == ib;
    if (!self && !box_overlap(posed_node_box(a, ia), posed_node_box(b, ib))) continue;
    if (leaf_a && leaf_b) {
      if (visit_leaves(na, nb, self, visit, context)) return true;
    } else if (self) {
      for (int k = 2; k >= 0; k--, count++) { /* (l, l), (l, r), (r, r) */
        stack[count][0] = na->left + (k == 2);
        stack[count][1] = na->left + (k >= 1);
      }
    } else {
      bool split_a = leaf_b || (!leaf_a && node_size(a, ia) >= node_size(b, ib));
      for (int k = 1; k >= 0; k--, count++) {
        stack[count][0] = split_a ? na->left + k : ia;
        stack[count][1] = split_a ? ib : nb->left + k;
      }
    }
  }
  return false;
}

/* The point in which the segment meets the plane of the triangle, to rounding. */
static Vec3 meeting_point(Vec3 p, Vec3 q, const Vec3 v[3]) {
  Vec3 n = cross(sub(v[1], v[0]), sub(v[2], v[0]));
  double hp = dot(n, sub(p, v[0])), hq = dot(n, sub(q, v[0])), t = hp == hq ? 0.5 : hp / (hp - hq);
  return add_scaled(p, fmin(1, fmax(0, t)), sub(q, p));
}

static bool edge_meets_triangle(const PosedElement *a, const PosedElement *b, Vec3 *point) {
  const Vec3 *v = b->vertex;
  if (b->count < 3) return false;
  for (int k = 0; k < a->count; k++) {
    Vec3 p = a->vertex[k], q = a->vertex[(k + 1) % a->count];
    if (!segment_crosses_triangle(p, q, v[0], v[1], v[2])) continue;
    *point = meeting_point(p, q, v);
    return true;
  }
  return false;
}

static Vec3 crossing_point(const PosedElement *a, const PosedElement *b) {
  Box shared = {vec3_max(a->box.lo, b->box.lo), vec3_min(a->box.hi, b->box.hi)};
  Vec3 point = box_center(shared);
  if (!edge_meets_triangle(a, b, &point)) edge_meets_triangle(b, a, &point);
  return vec3_min(vec3_max(point, shared.lo), shared.hi);
}

typedef struct FirstCrossing {
  PosedMesh a, b;
  int body_a, body_b;
  Crossing crossing;
} FirstCrossing;

/* Is a vertex of the element attached to the body? */
static bool lies_on(const PosedMesh *m, int element, int body) {
  for (int k = 0; k < 3; k++)
    if (side_fixed(&m->side, m->side.mesh->element[element].vertex[k], body)) return true;
  return false;
}

static bool visit_first(void *context, int element_a, int element_b) {
  FirstCrossing *f = context;
  if (lies_on(&f->a, element_a, f->body_b) || lies_on(&f->b, element_b, f->body_a)) return false;
  PosedElement a = posed_element(&f->a, element_a), b = posed_element(&f->b, element_b);
  if (!elements_cross(&a, &b)) return false;
  f->crossing = (Crossing){element_a, element_b, crossing_point(&a, &b)};
  return true;
}

/* The first element of the body with a vertex on or behind the plane; half is the half-space's element. */
static bool crosses_half_space(const PosedMesh *plane, int number, const PosedMesh *body, int *half, int *element,
                               Vec3 *point) {
  *half = 0;
  while (plane->side.mesh->element[*half].triangle != 0) ++*half;
  PosedElement h = posed_element(plane, *half);
  for (int i = 0; i < body->side.mesh->element_count; i++) {
    PosedElement e = posed_element(body, i);
    for (int k = 0; k < e.count; k++) {
      if (!(body->side.mesh->element[i].owned_vertices >> k & 1) || lies_on(body, i, number)) continue;
      if (orient3d_sign(h.vertex[0], h.vertex[1], h.vertex[2], e.vertex[k]) < 0) continue;
      *element = i;
      *point = e.vertex[k];
      return true;
    }
  }
  return false;
}

bool mesh_find_crossing(const Mesh *a, const Affine *pose_a, const Mesh *b, const Affine *pose_b, Crossing *crossing) {
  return body_find_crossing(side_stiff(a), pose_a, INT_MAX, side_stiff(b), pose_b, INT_MAX, crossing);
}

bool body_find_crossing(Side a, const Affine *pose_a, int body_a, Side b, const Affine *pose_b, int body_b,
                        Crossing *crossing) {
  FirstCrossing f = {pose_side(a, pose_a), pose_side(b, pose_b), body_a, body_b, {0, 0, {0, 0, 0}}};
  Crossing *c = &f.crossing;
  bool found;
  if (a.mesh->half_space) found = crosses_half_space(&f.a, body_a, &f.b, &c->element_a, &c->element_b, &c->point);
  else if (b.mesh->half_space) found = crosses_half_space(&f.b, body_b, &f.a, &c->element_b, &c->element_a, &c->point);
  else found = visit_pairs(&f.a, &f.b, visit_first, &f);
  if (found && crossing) *crossing = f.crossing;
  return found;
}

typedef struct SelfCrossings {
  PosedMesh mesh;
  const int
      *joined; /* of each vertex: the one that represents all those joined to it by flat triangles; NULL: itself */
  int (*pair)[2];
  int count, capacity;
} SelfCrossings;

static bool share_vertex(const int *joined, const Element *a, const Element *b) {
  for (int i = 0; i < a->vertex_count; i++)
    for (int j = 0; j < b->vertex_count; j++) {
      int u = a->vertex[i], v = b->vertex[j];
      if (u == v || (joined && joined[u] == joined[v])) return true;
    }
  return false;
}

/* Whether the triangle's corners are on a line within rounding. */
static bool is_flat(const Side *side, const Element *e) {
  if (e->vertex_count < 3) return false;
  Vec3 u = sub(side->x[e->vertex[1]], side->x[e->vertex[0]]), v = sub(side->x[e->vertex[2]], side->x[e->vertex[0]]);
  double longer = fmax(norm_sq(u), norm_sq(v));
  return norm_sq(cross(u, v)) <= 1e-28 * longer * longer;
}

static int joined_root(int *joined, int v) {
  while (joined[v] != v) v = joined[v] = joined[joined[v]];
  return v;
}

/* The corner of a flat triangle lies on the opposite side, which belongs to a neighbour. The triangles at that corner
 * touch this neighbour without sharing a vertex with it. *joined is NULL if no triangle is flat, and for soft bodies,
 * whose rest triangles have areas. False if memory runs out. */
static bool join_flat_corners(const Side *side, int **joined) {
  const Mesh *m = side->mesh;
  *joined = NULL;
  for (int i = 0; !side->surface && i < m->element_count; i++) {
    const Element *e = &m->element[i];
    if (!is_flat(side, e)) continue;
    if (!*joined) {
      if (!(*joined = mem_alloc((size_t)m->vertex_count, sizeof **joined))) return false;
      for (int v = 0; v < m->vertex_count; v++) (*joined)[v] = v;
    }
    for (int k = 1; k < 3; k++) (*joined)[joined_root(*joined, e->vertex[k])] = joined_root(*joined, e->vertex[0]);
  }
  for (int v = 0; *joined && v < m->vertex_count; v++) (*joined)[v] = joined_root(*joined, v);
  return true;
}

static bool visit_self(void *context, int i, int j) {
  SelfCrossings *s = context;
  PosedElement a = posed_element(&s->mesh, i), b = posed_element(&s->mesh, j);
  const Element *e = s->mesh.side.mesh->element;
  if (share_vertex(s->joined, &e[i], &e[j]) || !elements_cross(&a, &b)) return false;
  if (s->count < s->capacity) {
    s->pair[s->count][0] = i;
    s->pair[s->count][1] = j;
  }
  s->count++;
  return false;
}

int side_find_self_crossings(Side side, int (*pair)[2], int capacity) {
  Affine identity = affine(vec3(0, 0, 0), mat3_identity());
  int *joined;
  if (!join_flat_corners(&side, &joined)) return -1;
  SelfCrossings s = {pose_side(side, &identity), joined, pair, 0, capacity};
  visit_pairs(&s.mesh, &s.mesh, visit_self, &s);
  mem_free(joined);
  return s.count;
}

Vec3 side_crossing_point(Side side, const int pair[2]) {
  Affine identity = affine(vec3(0, 0, 0), mat3_identity());
  PosedMesh m = pose_side(side, &identity);
  PosedElement a = posed_element(&m, pair[0]), b = posed_element(&m, pair[1]);
  return crossing_point(&a, &b);
}
