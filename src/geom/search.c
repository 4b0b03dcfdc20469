/* Searches on posed surfaces, see geom/search.h. */
#include "geom/search.h"

#include "geom/crossing.h"
#include "kernel/distance.h"

/* ---- boxes and elements in the world ---- */

/* Wider than the rounding of the pose's products. */
static Box placed_box(const Affine *q, Box local) {
  Box box = box_transform(q, local);
  return box_inflate(box, 1e-12 * (norm(box_center(box)) + norm(box_half(box))));
}

static Box local_box(const Placed *p, int node) {
  const float *b = side_node_box(&p->side, node);
  return (Box){vec3(b[0], b[1], b[2]), vec3(b[3], b[4], b[5])};
}

static Box node_box(const Placed *p, int node) { return placed_box(&p->q, local_box(p, node)); }

static int element_points(const Placed *p, int element, Vec3 x[3]) {
  const Element *e = &p->side.mesh->element[element];
  for (int k = 0; k < 3; k++) x[k] = affine_point(&p->q, p->side.x[e->vertex[k]]);
  return e->vertex_count;
}

static double below_zero(double x) { return x < 0 ? -x : 0; }

static double gap_of(double lo, double hi) { return most(below_zero(hi), below_zero(-lo)); }

/* The squared distance of two boxes; a point is a box without extent. */
static double box_gap_sq(Box a, Box b) {
  Vec3 lo = sub(a.lo, b.hi), hi = sub(a.hi, b.lo);
  return norm_sq(vec3(gap_of(lo.x, hi.x), gap_of(lo.y, hi.y), gap_of(lo.z, hi.z)));
}

double search_plane(const Placed *p, Vec3 *normal) {
  const uint32_t *t = p->side.mesh->triangle[0];
  Vec3 x[3];
  for (int k = 0; k < 3; k++) x[k] = affine_point(&p->q, p->side.x[t[k]]);
  *normal = unit(cross(sub(x[1], x[0]), sub(x[2], x[0])));
  return dot(*normal, x[0]);
}

/* ---- nearest points ---- */

static double point_to_element(const Vec3 x[3], int count, Vec3 p, Vec3 *on) {
  Vec3 diff;
  double bary[3], t, sq;
  if (count == 3) sq = closest_point_triangle(p, x[0], x[1], x[2], bary, &diff);
  else if (count == 2) sq = closest_point_edge(p, x[0], x[1], &t, &diff);
  else sq = norm_sq(diff = sub(p, x[0]));
  *on = sub(p, diff);
  return sq;
}

static bool keep(Nearest *found, double sq, int a, int b, Vec3 pa, Vec3 pb) {
  if (!(sq < found->distance_sq)) return false;
  *found = (Nearest){sq, {a, b}, {pa, pb}};
  return true;
}

static bool point_node(const Placed *p, int n, Vec3 x, Nearest *found) {
  const TreeNode *node = &p->side.mesh->node[n];
  bool any = false;
  for (int i = 0; i < node->element_count; i++) {
    Vec3 corner[3], on;
    int count = element_points(p, node->first + i, corner);
    double sq = point_to_element(corner, count, x, &on);
    any |= keep(found, sq, node->first + i, -1, on, x);
  }
  if (node->element_count) return any;
  Box point = {x, x};
  double gap[2] = {box_gap_sq(node_box(p, node->left), point), box_gap_sq(node_box(p, node->left + 1), point)};
  int first = gap[1] < gap[0];
  if (gap[first] < found->distance_sq) any |= point_node(p, node->left + first, x, found);
  if (gap[!first] < found->distance_sq) any |= point_node(p, node->left + !first, x, found);
  return any;
}

bool search_point(const Placed *p, Vec3 x, Nearest *found) {
  if (p->side.mesh->half_space) {
    Vec3 n;
    double off = search_plane(p, &n);
    off = dot(n, x) - off;
    return keep(found, off * off, 0, -1, add_scaled(x, -off, n), x);
  }
  return point_node(p, 0, x, found);
}

static bool elements_cross(const Vec3 *a, int na, const Vec3 *b, int nb) {
  if (na == 3 && nb == 3) return triangle_crosses_triangle(a, b);
  if (na == 3 && nb == 2) return segment_crosses_triangle(b[0], b[1], a[0], a[1], a[2]);
  return na == 2 && nb == 3 && segment_crosses_triangle(a[0], a[1], b[0], b[1], b[2]);
}

static int edge_count(int vertices) { return vertices == 3 ? 3 : vertices - 1; }

static bool element_pair(const Placed *a, int ea, const Placed *b, int eb, Nearest *found) {
  Vec3 x[3], y[3], on, diff;
  int nx = element_points(a, ea, x), ny = element_points(b, eb, y);
  bool any = false;
  double s, t;
  for (int i = 0; i < nx; i++) {
    double sq = point_to_element(y, ny, x[i], &on);
    any |= keep(found, sq, ea, eb, x[i], on);
  }
  for (int i = 0; i < ny; i++) {
    double sq = point_to_element(x, nx, y[i], &on);
    any |= keep(found, sq, ea, eb, on, y[i]);
  }
  for (int i = 0; i < edge_count(nx); i++)
    for (int j = 0; j < edge_count(ny); j++) {
      Vec3 a0 = x[i], a1 = x[(i + 1) % 3], b0 = y[j], b1 = y[(j + 1) % 3];
      double sq = closest_edge_edge(a0, a1, b0, b1, &s, &t, &diff);
      Vec3 at = add_scaled(a0, s, sub(a1, a0));
      any |= keep(found, sq, ea, eb, at, sub(at, diff));
    }
  if (found->distance_sq > 0 && elements_cross(x, nx, y, ny)) any |= keep(found, 0, ea, eb, x[0], x[0]);
  return any;
}

static bool leaf_pair(const Placed *a, const TreeNode *na, const Placed *b, const TreeNode *nb, Nearest *found) {
  bool any = false;
  for (int i = 0; i < na->element_count; i++)
    for (int j = 0; j < nb->element_count; j++) any |= element_pair(a, na->first + i, b, nb->first + j, found);
  return any;
}

/* The larger node is split; a leaf is not. */
static bool node_pair(const Placed *a, int i, Box box_a, const Placed *b, int j, Box box_b, Nearest *found) {
  const TreeNode *na = &a->side.mesh->node[i], *nb = &b->side.mesh->node[j];
  if (na->element_count && nb->element_count) return leaf_pair(a, na, b, nb, found);
  bool of_a = nb->element_count || (!na->element_count && norm_sq(box_half(box_a)) >= norm_sq(box_half(box_b)));
  int left = of_a ? na->left : nb->left;
  const Placed *p = of_a ? a : b;
  Box child[2] = {node_box(p, left), node_box(p, left + 1)}, other = of_a ? box_b : box_a;
  double gap[2] = {box_gap_sq(child[0], other), box_gap_sq(child[1], other)};
  bool any = false;
  for (int k = 0; k < 2; k++) {
    int c = (gap[1] < gap[0]) != (k == 1);
    if (!(gap[c] < found->distance_sq)) continue;
    any |= of_a ? node_pair(a, left + c, child[c], b, j, box_b, found)
                : node_pair(a, i, box_a, b, left + c, child[c], found);
  }
  return any;
}

/* An element with the vertex, for its triangle. */
static int element_of_vertex(const Mesh *mesh, int vertex) {
  for (int e = 0; e < mesh->element_count; e++)
    for (int k = 0; k < mesh->element[e].vertex_count; k++)
      if (mesh->element[e].vertex[k] == vertex) return e;
  return -1;
}

static bool plane_pair(const Placed *a, const Placed *plane, Nearest *found) {
  Vec3 n, at = vec3(0, 0, 0);
  double offset = search_plane(plane, &n), nearest = INFINITY;
  int vertex = -1;
  for (int v = 0; v < a->side.mesh->vertex_count; v++) {
    Vec3 x = affine_point(&a->q, a->side.x[v]);
    double off = dot(n, x) - offset;
    if (off < nearest) nearest = off, vertex = v, at = x;
  }
  if (vertex < 0) return false;
  double d = most(0, nearest);
  return keep(found, d * d, element_of_vertex(a->side.mesh, vertex), 0, at, add_scaled(at, -d, n));
}

bool search_pair(const Placed *a, const Placed *b, Nearest *found) {
  if (b->side.mesh->half_space) return plane_pair(a, b, found);
  if (a->side.mesh->half_space) {
    Nearest turned = *found;
    if (!plane_pair(b, a, &turned)) return false;
    return keep(found, turned.distance_sq, turned.element[1], turned.element[0], turned.point[1], turned.point[0]);
  }
  Box box_a = node_box(a, 0), box_b = node_box(b, 0);
  return box_gap_sq(box_a, box_b) < found->distance_sq && node_pair(a, 0, box_a, b, 0, box_b, found);
}

/* ---- casts ---- */

/* Along one axis: the part of the way on which the ray is between lo and hi. */
static void clip(double origin, double direction, double lo, double hi, double *from, double *to) {
  if (direction == 0) {
    if (origin < lo || origin > hi) *to = -1;
    return;
  }
  double a = (lo - origin) / direction, b = (hi - origin) / direction;
  *from = most(*from, least(a, b));
  *to = least(*to, most(a, b));
}

/* The way to a box, infinity if the ray misses it. */
static double way_to_box(const Cast *c, Box box) {
  double from = 0, to = INFINITY;
  clip(c->origin.x, c->direction.x, box.lo.x, box.hi.x, &from, &to);
  clip(c->origin.y, c->direction.y, box.lo.y, box.hi.y, &from, &to);
  clip(c->origin.z, c->direction.z, box.lo.z, box.hi.z, &from, &to);
  return from <= to ? from : INFINITY;
}

/* The way to a ball of the cast's radius around a point. */
static double way_to_point(const Cast *c, Vec3 x) {
  Vec3 m = sub(c->origin, x);
  double b = dot(m, c->direction), q = b * b - (norm_sq(m) - c->radius * c->radius);
  return b < 0 && q >= 0 ? -b - sqrt(q) : INFINITY;
}

/* To a cylinder around an edge, without its ends. */
static double way_to_edge(const Cast *c, Vec3 e0, Vec3 e1) {
  Vec3 u = sub(e1, e0), m = sub(c->origin, e0);
  double length = norm(u);
  if (!(length > 0)) return INFINITY;
  u = scale(1 / length, u);
  Vec3 across = add_scaled(m, -dot(m, u), u), d = add_scaled(c->direction, -dot(c->direction, u), u);
  double a = norm_sq(d), b = dot(across, d), q = b * b - a * (norm_sq(across) - c->radius * c->radius);
  if (!(a > 0) || !(b < 0) || !(q >= 0)) return INFINITY;
  double way = (-b - sqrt(q)) / a, s = dot(u, add_scaled(m, way, c->direction));
  return s >= 0 && s <= length ? way : INFINITY;
}

/* To the plane of a triangle, shifted by the radius; the touched point must be in the triangle up to rounding, so that
 * no ray passes between two triangles. */
static double way_to_face(const Cast *c, const Vec3 x[3]) {
  Vec3 n = cross(sub(x[1], x[0]), sub(x[2], x[0]));
  double size = norm(n);
  if (!(size > 0)) return INFINITY;
  n = scale(1 / size, n);
  double off = dot(n, sub(c->origin, x[0]));
  if (off < 0) n = neg(n), off = -off;
  double speed = -dot(n, c->direction);
  if (!(speed > 0) || off < c->radius) return INFINITY;
  double way = (off - c->radius) / speed;
  Vec3 at = add_scaled(add_scaled(c->origin, way, c->direction), -c->radius, n);
  for (int k = 0; k < 3; k++) {
    Vec3 edge = sub(x[(k + 1) % 3], x[k]), m = cross(edge, sub(at, x[k]));
    double sense = dot(m, cross(sub(x[1], x[0]), sub(x[2], x[0])));
    if (sense < -1e-12 * size * size) return INFINITY;
  }
  return way;
}

static void cast_element(const Placed *p, int element, const Cast *c, CastHit *hit) {
  Vec3 x[3], on;
  int count = element_points(p, element, x);
  double way = INFINITY;
  if (c->radius > 0) {
    if (point_to_element(x, count, c->origin, &on) <= c->radius * c->radius) way = 0;
    for (int k = 0; k < count; k++) way = least(way, way_to_point(c, x[k]));
    for (int k = 0; k < edge_count(count); k++) way = least(way, way_to_edge(c, x[k], x[(k + 1) % 3]));
  }
  if (count == 3) way = least(way, way_to_face(c, x));
  if (!(way < hit->way)) return;
  Vec3 center = add_scaled(c->origin, way, c->direction), n = neg(c->direction);
  point_to_element(x, count, center, &on);
  if (norm_sq(sub(center, on)) > 0 && c->radius > 0) n = unit(sub(center, on));
  if (c->radius == 0) {
    n = unit(cross(sub(x[1], x[0]), sub(x[2], x[0])));
    if (dot(n, c->direction) > 0) n = neg(n);
  }
  *hit = (CastHit){way, element, on, n};
}

static void cast_node(const Placed *p, int n, const Cast *c, CastHit *hit) {
  const TreeNode *node = &p->side.mesh->node[n];
  for (int i = 0; i < node->element_count; i++) cast_element(p, node->first + i, c, hit);
  if (node->element_count) return;
  double way[2];
  for (int k = 0; k < 2; k++) way[k] = way_to_box(c, box_inflate(node_box(p, node->left + k), c->radius));
  int first = way[1] < way[0];
  if (way[first] < hit->way) cast_node(p, node->left + first, c, hit);
  if (way[!first] < hit->way) cast_node(p, node->left + !first, c, hit);
}

static void cast_plane(const Placed *p, const Cast *c, CastHit *hit) {
  Vec3 n;
  double off = search_plane(p, &n), speed;
  off = dot(n, c->origin) - off;
  speed = -dot(n, c->direction);
  double way = off <= c->radius ? 0 : speed > 0 ? (off - c->radius) / speed : INFINITY;
  if (!(way < hit->way)) return;
  Vec3 center = add_scaled(c->origin, way, c->direction);
  *hit = (CastHit){way, 0, add_scaled(center, -(off - speed * way), n), n};
}

bool search_cast(const Placed *p, const Cast *c, CastHit *hit) {
  double before = hit->way;
  if (p->side.mesh->half_space) cast_plane(p, c, hit);
  else if (way_to_box(c, box_inflate(node_box(p, 0), c->radius)) < hit->way) cast_node(p, 0, c, hit);
  return hit->way < before;
}

/* ---- boxes ---- */

static bool separated(Vec3 axis, const Vec3 x[3], Vec3 half) {
  double a = dot(axis, x[0]), b = dot(axis, x[1]), c = dot(axis, x[2]);
  double reach = dot(vec3_abs(axis), half);
  return least(a, least(b, c)) > reach || most(a, most(b, c)) < -reach;
}

/* A triangle, wire or point against the box |x| <= half: the axes of the box, the normal, the products of edges.
 * Corners that repeat the first give axes of length zero, which separate nothing. */
static bool meets_box(const Vec3 x[3], Vec3 half) {
  static const Vec3 e[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  for (int k = 0; k < 3; k++)
    if (separated(e[k], x, half)) return false;
  if (separated(cross(sub(x[1], x[0]), sub(x[2], x[0])), x, half)) return false;
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 3; k++)
      if (separated(cross(e[k], sub(x[(i + 1) % 3], x[i])), x, half)) return false;
  return true;
}

static bool box_node(const Placed *p, int n, Vec3 half) {
  const TreeNode *node = &p->side.mesh->node[n];
  if (!box_overlap(node_box(p, n), (Box){neg(half), half})) return false;
  for (int i = 0; i < node->element_count; i++) {
    Vec3 x[3];
    element_points(p, node->first + i, x);
    if (meets_box(x, half)) return true;
  }
  return !node->element_count && (box_node(p, node->left, half) || box_node(p, node->left + 1, half));
}

/* In the box's frame, which is a rotation and a shift. */
static Placed in_frame(const Placed *p, const Affine *frame) {
  Mat3 r = affine_linear(frame);
  Placed out = *p;
  out.q = affine(mat3_tmul_vec(r, sub(p->q.n[0], frame->n[0])), mat3_tmul(r, affine_linear(&p->q)));
  return out;
}

bool search_box(const Placed *p, const Affine *frame, Vec3 half) {
  Placed own = in_frame(p, frame);
  if (p->side.mesh->half_space) {
    Vec3 n;
    double offset = search_plane(&own, &n);
    return -dot(vec3_abs(n), half) <= offset;
  }
  return box_node(&own, 0, half) || search_contains(p, frame->n[0]);
}

/* ---- containment ---- */

/* Solid angle of a triangle as seen from the origin (Van Oosterom and Strackee). */
static double solid_angle(Vec3 a, Vec3 b, Vec3 c) {
  double la = norm(a), lb = norm(b), lc = norm(c);
  double below = la * lb * lc + dot(a, b) * lc + dot(b, c) * la + dot(c, a) * lb;
  return 2 * atan2(dot(a, cross(b, c)), below);
}

bool search_contains(const Placed *p, Vec3 x) {
  const Mesh *m = p->side.mesh;
  const double turn = 6.283185307179586476925;
  if (m->half_space) {
    Vec3 n;
    double offset = search_plane(p, &n);
    return dot(n, x) <= offset;
  }
  if (!m->closed || !box_has(node_box(p, 0), x)) return false;
  double sum = 0;
  for (int i = 0; i < m->element_count; i++) {
    Vec3 c[3];
    if (element_points(p, i, c) == 3) sum += solid_angle(sub(c[0], x), sub(c[1], x), sub(c[2], x));
  }
  return fabs(sum) > turn;
}
