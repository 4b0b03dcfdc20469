/* See near.h. */
#include "contact/near.h"

#include "contact/broad.h"
#include "contact/store.h"

bool near_matters(const Model *m) {
  if (m->def.contact.separation > 0) return true;
  for (int i = 0; i < m->body_count; i++)
    if (m->body[i].thickness > 0) return true;
  return false;
}

Box near_box(const ContactScene *scene, int body, const Affine *q) {
  Side side = scene_side(scene, body);
  return box_inflate(posed_box(&side, q),
                     0.5 * (scene->separation + scene->model->body[body].thickness) + scene->range);
}

bool near_test(const ContactScene *scene, const Affine *q, int a, int b, NearPair *found) {
  const Model *m = scene->model;
  Pair p = {.a = a, .b = b, .stiffness = 1};
  pair_order(m, &p.a, &p.b);
  p.soft = m->body[p.a].soft || m->body[p.b].soft;
  pair_eval(&p, scene, &q[p.a], &q[p.b]);
  bool ok = !p.failed;
  if (p.min_gap <= 0) {
    bool edges = p.nearest_kind == STENCIL_EDGE_EDGE;
    *found = (NearPair){.a = p.a,
                        .b = p.b,
                        .distance = p.min_distance,
                        .least = p.min_distance - p.min_gap,
                        .kind = p.nearest_kind,
                        .prim_a = edges ? mesh_edge_seen(&m->mesh[m->body[p.a].mesh], p.nearest_a) : p.nearest_a,
                        .prim_b = edges ? mesh_edge_seen(&m->mesh[m->body[p.b].mesh], p.nearest_b) : p.nearest_b};
  }
  pair_destroy(&p, scene->store);
  return store_settle(scene->store) && ok;
}
