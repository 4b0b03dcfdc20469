/* Stress of soft bodies: of a world's as they are now, and of a def's with its vertices anywhere, for what reads run files. */
#include "api/world.h"
#include "kernel/stress.h"

typedef struct Moduli { int model; double mu, lambda; } Moduli;

static Moduli moduli_of(const AbdSoftDef *def) {
  return (Moduli){(int)def->model, lame_mu(def->young, def->poisson), lame_lambda(def->young, def->poisson)};
}

AbdStatus abd_soft_stress(const AbdWorld *world, AbdBodyId body, double *stress) {
  const Body *b = world_body(world, body);
  if (!b || !b->soft) return ABD_ERROR_ARGUMENT;
  const Soft *s = &world->model.soft[b->soft - 1];
  Moduli m = moduli_of(&s->def);
  Vec3 x[4];
  for (int e = 0; e < s->tet_count + s->triangle_count; e++) {
    const int *v = e < s->tet_count ? s->tet[e].vertex : s->shell[e - s->tet_count].vertex;
    for (int k = 0; k < (s->tet_count ? 4 : 3); k++) x[k] = world->started ? world->state.q[s->first + v[k]].n[0] : s->place[v[k]];
    stress[e] = s->tet_count ? tet_von_mises(m.model, m.mu, m.lambda, &s->tet[e].rest, x) : membrane_von_mises(m.mu, m.lambda, &s->shell[e].rest, x);
  }
  return ABD_OK;
}

static AbdStatus check_corners(const uint32_t *corner, size_t count, size_t vertex_count) {
  for (size_t i = 0; i < count; i++)
    if (corner[i] >= vertex_count) return ABD_ERROR_MESH;
  return ABD_OK;
}

AbdStatus abd_soft_def_stress(const AbdSoftDef *def, const double *vertex, double *stress) {
  size_t n = def->tet_count ? 4 : 3, count = def->tet_count ? def->tet_count : def->triangle_count;
  const uint32_t *corner = def->tet_count ? def->tet : def->triangle;
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
    if (n == 4 ? !tet_rest(rest, &tet) : !membrane_rest(rest, def->thickness, &triangle)) return ABD_ERROR_MESH;
    stress[e] = n == 4 ? tet_von_mises(m.model, m.mu, m.lambda, &tet, x) : membrane_von_mises(m.mu, m.lambda, &triangle, x);
  }
  return ABD_OK;
}
