/* Turning terms of contacts, see contact/turning.h.
 *
 * The distance is d = |r|, r = x_a(y_a) - x_b(y_b), at its minimum over the points of two features: vertices, edges,
 * faces. Let t_i be the derivatives of r by the coordinates of these points, which are edge vectors of the features,
 * and M the inverse of the matrix t_i . t_j. A change of the poses changes r by dr and t_i by dt_i. The closest points
 * follow, and
 *
 *   d'' = (|dr|^2 - (n . dr)^2) / d - sum_ij g_i M_ij g_j / d,    g_i = t_i . dr + d n . dt_i
 *       = R / d - 2 sum_ij (t_i . dr) M_ij (n . dt_j) - d sum_ij (n . dt_i) M_ij (n . dt_j)
 *
 * with R the square of the part of dr across the normal and the features. The Hessian of the barrier b(d) is
 * b'' n n^T, which contact_term has, and b' d''. b' R / d is negative and left out; that of a negative weight is
 * positive, and contact_term has it. */
#include "contact/turning.h"

#define TURNING_FLAT 1e-8 /* sin^2 of the angle of two edge vectors below which they span no plane */

/* Edge vectors of a contact's features, and how their ends weigh the nodes. */
typedef struct Tangents {
  int count;
  Vec3 t[4];
  double weight[4][TURNING_NODES];
} Tangents;

/* Weights of the point y of a side, a weighted sum w of vertices if the side is soft. */
static void weigh(const Side *side, bool b, double first, Vec3 y, const double w[3], double weight[TURNING_NODES]) {
  double sign = b ? -1 : 1, *to = weight + (b ? 4 : 0);
  const double stiff[4] = {first, y.x, y.y, y.z};
  for (int n = 0; n < (side->surface ? 3 : 4); n++) to[n] += sign * (side->surface ? w[n] : stiff[n]);
}

/* Corners whose weight is zero are not part of the feature. */
static void add_tangents(Tangents *s, const Side *side, bool b, const int v[3], const double w[3], const Affine *q) {
  int first = -1;
  for (int k = 0; k < 3; k++) {
    if (w[k] == 0) continue;
    if (first >= 0) {
      Vec3 y = sub(side->x[v[k]], side->x[v[first]]);
      double ends[3] = {0};
      ends[k] = 1;
      ends[first] = -1;
      weigh(side, b, 0, y, ends, s->weight[s->count]);
      s->t[s->count++] = scale(b ? -1 : 1, side->surface ? y : affine_vector(q, y));
    } else first = k;
  }
}

/* M of one or two vectors; false if they are parallel or too many. */
static bool invert_products(const Tangents *s, double m[2][2]) {
  if (s->count < 1 || s->count > 2) return false;
  double aa = norm_sq(s->t[0]), bb = norm_sq(s->t[1]), ab = dot(s->t[0], s->t[1]);
  double det = norm_sq(cross(s->t[0], s->t[1]));
  m[0][0] = s->count == 1 ? 1 / aa : bb / det;
  m[1][1] = s->count == 1 ? 0 : aa / det;
  m[0][1] = m[1][0] = s->count == 1 ? 0 : -ab / det;
  return s->count == 1 ? aa > 0 : det > TURNING_FLAT * aa * bb;
}

Turning contact_turning(const Pair *p, const ContactScene *scene, const Contact *c, const Affine *qa,
                        const Affine *qb) {
  const Side a = scene_side(scene, p->a), b = scene_side(scene, p->b);
  double m[2][2], apart[TURNING_NODES] = {0};
  int va[3], vb[3];
  Tangents s = {0};
  Turning out = {0};
  if (c->kind == STENCIL_VERTEX_PLANE) return out; /* its normal does not turn */
  pair_corners(p, scene, c, va, vb);
  add_tangents(&s, &a, false, va, c->wa, qa);
  add_tangents(&s, &b, true, vb, c->wb, qb);
  if (!invert_products(&s, m)) return out;
  weigh(&a, false, 1, c->ya, c->wa, apart);
  weigh(&b, true, 1, c->yb, c->wb, apart);
  double slope = p->stiffness * c->weight * c->slope / scene->range;
  double half = 0.5 * (c->gap + stencil_separation(p, scene, c->kind, c->prim_a, c->prim_b));
  out.count = s.count;
  for (int i = 0; i < s.count; i++)
    for (int n = 0; n < TURNING_NODES; n++) {
      out.slide[i][n] = add_scaled(scale(apart[n], s.t[i]), half * s.weight[i][n], c->normal);
      out.turn[i][n] = scale(-slope * (m[i][0] * s.weight[0][n] + m[i][1] * s.weight[1][n]), c->normal);
    }
  return out;
}

void turning_add(const Turning *t, int row_node, int column_node, double *out, int rows) {
  for (int i = 0; i < t->count; i++) {
    double slide[2][3], turn[2][3];
    vec3_to(slide[0], t->slide[i][row_node]);
    vec3_to(turn[0], t->turn[i][row_node]);
    vec3_to(slide[1], t->slide[i][column_node]);
    vec3_to(turn[1], t->turn[i][column_node]);
    for (int c = 0; c < 3; c++)
      for (int r = 0; r < 3; r++) out[rows * c + r] += slide[0][r] * turn[1][c] + turn[0][r] * slide[1][c];
  }
}
