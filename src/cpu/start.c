/* Which bodies are nearer than contact keeps them: the start of a world must have none. Tested in
 * tests/test_thickness.c. */
#include "cpu/cpu.h"

static bool keeps_distance(const Model *m) {
  if (m->def.contact.separation > 0) return true;
  for (int i = 0; i < m->body_count; i++)
    if (m->body[i].thickness > 0) return true;
  return false;
}

Outcome cpu_find_near(void *backend, Nodes q, NearPair *found) {
  Cpu *cpu = backend;
  const Model *m = cpu->model;
  PairStore store;
  ContactScene scene = {m, m->def.contact.range, m->def.contact.separation, 0, NULL, cpu->surface, &store};
  *found = (NearPair){.a = -1};
  if (!keeps_distance(m)) return stage_done();
  soft_load(cpu, q);
  for (int i = 0; i < m->body_count; i++) {
    Side side = scene_side(&scene, i);
    cpu->broad.box[i] =
        box_inflate(posed_box(&side, &q.body[i]), 0.5 * (scene.separation + m->body[i].thickness) + scene.range);
  }
  if (!broad_find(&cpu->broad, m) || !store_init(&store, 1)) return stage_from(false);
  bool ok = store_reserve(&store, 1);
  for (int k = 0; ok && k < cpu->broad.pair_count && found->a < 0; k++) {
    Pair p = {.a = (int)(cpu->broad.pair[k] >> 32), .b = (int)(cpu->broad.pair[k] & 0xffffffffu), .stiffness = 1};
    pair_order(m, &p.a, &p.b);
    p.soft = m->body[p.a].soft || m->body[p.b].soft;
    pair_eval(&p, &scene, &q.body[p.a], &q.body[p.b]);
    ok = !p.failed;
    if (p.min_gap <= 0)
      *found =
          (NearPair){p.a, p.b, p.min_distance, p.min_distance - p.min_gap, p.nearest_kind, p.nearest_a, p.nearest_b};
    pair_destroy(&p, &store);
    ok = ok && store_settle(&store);
  }
  store_destroy(&store);
  return stage_from(ok);
}
