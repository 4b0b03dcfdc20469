/* Which bodies are nearer than contact keeps them: the start of a world must have none. Tested in
 * tests/test_thickness.c. */
#include "cpu/cpu.h"

Outcome cpu_find_near(void *backend, Nodes q, NearPair *found) {
  Cpu *cpu = backend;
  const Model *m = cpu->model;
  PairStore store;
  ContactScene scene = {m, m->def.contact.range, m->def.contact.separation, 0, NULL, cpu->surface, &store, 0, 0};
  *found = (NearPair){.a = -1};
  if (!near_matters(m)) return stage_done();
  soft_load(cpu, q);
  cpu->broad.own = NULL;
  for (int i = 0; i < m->body_count; i++) cpu->broad.box[i] = near_box(&scene, i, &q.body[i]);
  if (!broad_find(&cpu->broad, m) || !store_init(&store, 1)) return stage_from(false);
  bool ok = store_reserve(&store, 1);
  for (int k = 0; ok && k < cpu->broad.pair_count && found->a < 0; k++)
    ok = near_test(&scene, q.body, (int)(cpu->broad.pair[k] >> 32), (int)(cpu->broad.pair[k] & 0xffffffffu), found) &&
         !interrupted(m->interrupt);
  store_destroy(&store);
  return stage_from(ok);
}
