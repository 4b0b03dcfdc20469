/* Stress of soft bodies: of a world's now, and of a def's at any positions, for readers of run files. */
#include "api/world.h"
#include "kernel/stress.h"

typedef struct Moduli {
  int model;
  double mu, lambda;
} Moduli;

static Moduli moduli_of(const AbdSoftDef *def) {
  return (Moduli){(int)def->model, lame_mu(def->young, def->poisson), lame_lambda(def->young, def->poisson)};
}

/* Axial stress of a rod segment. */
static double piece_stress(double young, double length, const Vec3 x[2]) {
  return young * fabs(norm(sub(x[1], x[0])) / length - 1);
}

static void world_corners(const AbdWorld *world, const Soft *s, const int *v, int count, Vec3 *x) {
  for (int k = 0; k < count; k++) x[k] = world->started ? world->state.q.vertex[s->vertex + v[k]] : soft_place(s, v[k]);
}

AbdStatus abd_soft_stress(const AbdWorld *world, AbdBodyId body, double *stress) {
  const Body *b = world_body(world, body);
  if (!b || !b->soft) return ABD_ERROR_ARGUMENT;
  const Soft *s = &world->model.soft[b->soft - 1];
  Moduli m = moduli_of(&s->def);
  Vec3 x[4];
  for (int e = 0; e < s->tet_count; e++) {
    world_corners(world, s, s->tet[e].vertex, 4, x);
    stress[e] = tet_von_mises(m.model, m.mu, m.lambda, &s->tet[e].rest, x);
  }
  for (int e = 0; e < s->triangle_count; e++) {
    world_corners(world, s, s->shell[e].vertex, 3, x);
    stress[e] = membrane_von_mises(m.mu, m.lambda, &s->shell[e].rest, x);
  }
  for (int e = 0; e < s->piece_count; e++) {
    world_corners(world, s, s->piece[e].vertex, 2, x);
    stress[e] = piece_stress(s->def.young, s->piece[e].length, x);
  }
  return ABD_OK;
}

static AbdStatus check_corners(const uint32_t *corner, size_t count, size_t vertex_count) {
  for (size_t i = 0; i < count; i++)
    if (corner[i] >= vertex_count) return ABD_ERROR_MESH;
  return ABD_OK;
}

AbdStatus abd_soft_def_stress(const AbdSoftDef *def, const double *vertex, double *stress) {
  size_t n = def->tet_count ? 4 : def->triangle_count ? 3 : 2;
  size_t count = n == 4 ? def->tet_count : n == 3 ? def->triangle_count : def->edge_count;
  const uint32_t *corner = n == 4 ? def->tet : n == 3 ? def->triangle : def->edge;
  if (check_corners(corner, n * count, def->vertex_count)) return ABD_ERROR_MESH;
  Moduli m = moduli_of(def);
  for (size_t e = 0; e < count; e++, corner += n) {
    Vec3 rest[4], x[4];
    TetRest tet;
    MembraneRest triangle;
    for (size_t k = 0; k < n; k++) {
      rest[k] = vec3_from(def->vertex + 3 * (size_t)corner[k]);
      x[k] = vec3_from(vertex + 3 * (size_t)corner[k]);
    }
    if (n == 2) {
      double length = norm(sub(rest[1], rest[0]));
      stress[e] = length > 0 ? piece_stress(def->young, length, x) : 0;
      continue;
    }
    if (n == 4 ? !tet_rest(rest, &tet) : !membrane_rest(rest, def->thickness, &triangle)) return ABD_ERROR_MESH;
    stress[e] =
        n == 4 ? tet_von_mises(m.model, m.mu, m.lambda, &tet, x) : membrane_von_mises(m.mu, m.lambda, &triangle, x);
  }
  return ABD_OK;
}
