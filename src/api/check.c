/* Tests bodies that were added or moved between steps against all others. Tested in tests/test_change.c. */
#include "api/world.h"
#include "geom/crossing.h"

typedef struct Check {
  const Model *model;
  Nodes q;
  const bool *suspect;
  Surface *surface; /* per soft body */
  PairStore store;
  ContactScene scene;
  Broad broad;
  AbdError *error;
} Check;

static AbdStatus no_memory(AbdError *error) {
  return fault(error, ABD_ERROR_MEMORY, "out of memory while checking the change");
}

static bool check_init(Check *c) {
  const Model *m = c->model;
  c->surface = mem_zeroed((size_t)m->soft_count, sizeof(Surface));
  c->scene = (ContactScene){m, m->def.contact.range, m->def.contact.separation, 0, NULL, c->surface, &c->store, 0, 0};
  bool ok = broad_init(&c->broad, m) && c->surface && store_init(&c->store, 1) && store_reserve(&c->store, 1);
  for (int k = 0; ok && k < m->soft_count; k++) {
    ok = soft_side_init(&c->surface[k], m, k);
    if (ok) soft_side_move(&c->surface[k], &m->soft[k], c->q);
  }
  for (int i = 0; ok && i < m->body_count; i++) {
    Box box = near_box(&c->scene, i, &c->q.body[i]);
    c->broad.box[i] = box_inflate(box, 1e-9 * norm(sub(box.hi, box.lo)));
  }
  return ok && broad_find(&c->broad, m);
}

static void check_destroy(Check *c) {
  for (int k = 0; c->surface && k < c->model->soft_count; k++) surface_destroy(&c->surface[k]);
  mem_free(c->surface);
  store_destroy(&c->store);
  broad_destroy(&c->broad);
}

static const char *part_text(Side side, int element, char text[24]) {
  int triangle = element >= 0 ? side.mesh->element[element].triangle : -1;
  return world_part_text(triangle >= 0 ? (uint32_t)triangle : UINT32_MAX, text);
}

static AbdStatus check_crossing(Check *c, int a, int b) {
  const Body *body = c->model->body;
  Side side[2] = {scene_side(&c->scene, a), scene_side(&c->scene, b)};
  char part[2][24];
  Crossing x;
  if (a == b) {
    int element[1][2];
    if (side_find_self_crossings(side[0], element, 1) == 0) return ABD_OK;
    Vec3 p = side_crossing_point(side[0], element[0]);
    return fault(c->error, ABD_ERROR_CROSSING, "body \"%s\" would touch or cross itself: %s and %s, near (%g, %g, %g)",
                 body[a].name, part_text(side[0], element[0][0], part[0]), part_text(side[0], element[0][1], part[1]),
                 p.x, p.y, p.z);
  }
  if (!body_find_crossing(side[0], &c->q.body[a], a, side[1], &c->q.body[b], b, &x)) return ABD_OK;
  return fault(c->error, ABD_ERROR_CROSSING,
               "bodies \"%s\" and \"%s\" would touch or cross: %s of the one and %s of the other, near (%g, %g, %g)",
               body[a].name, body[b].name, part_text(side[0], x.element_a, part[0]),
               part_text(side[1], x.element_b, part[1]), x.point.x, x.point.y, x.point.z);
}

static AbdStatus check_near(Check *c, int a, int b) {
  NearPair p = {.a = -1};
  if (!near_test(&c->scene, c->q.body, a, b, &p)) return no_memory(c->error);
  if (p.a < 0) return ABD_OK;
  return fault(c->error, ABD_ERROR_CROSSING,
               "bodies \"%s\" and \"%s\" would be %g m apart, but contact keeps them %g m apart",
               c->model->body[p.a].name, c->model->body[p.b].name, p.distance, p.least);
}

static AbdStatus check_pairs(Check *c) {
  bool near = near_matters(c->model);
  for (int k = 0; k < c->broad.pair_count; k++) {
    int a = (int)(c->broad.pair[k] >> 32), b = (int)(c->broad.pair[k] & 0xffffffffu);
    if (!c->suspect[a] && !c->suspect[b]) continue;
    if (check_crossing(c, a, b) || (near && check_near(c, a, b))) return c->error->status;
  }
  return ABD_OK;
}

AbdStatus world_check(const Model *model, Nodes q, const bool *suspect, AbdError *error) {
  Check c = {.model = model, .q = q, .suspect = suspect, .error = error};
  AbdStatus status = check_init(&c) ? check_pairs(&c) : no_memory(error);
  check_destroy(&c);
  return status;
}
