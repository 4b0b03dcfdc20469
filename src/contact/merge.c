/* Memory and order of merged contacts, see contact/merge.h. */
#include "contact/merge.h"

#include <string.h>

#include "contact/pair.h"

/* A few stencils, as of most pairs, need no memory from the heap. */
enum { FEW = 64 };

static Merge merge_of(const Pair *p, const ContactScene *scene, const Affine *qa, const Affine *qb) {
  Side a = scene_side(scene, p->a), b = scene_side(scene, p->b);
  return (Merge){.shape = {side_shape(&a), side_shape(&b)},
                 .q = {qa, qb},
                 .separation = pair_separation(p, scene),
                 .range = scene->range,
                 .self = p->a == p->b,
                 .contact = pair_contacts(p, scene),
                 .count = p->contact.count,
                 .slots = (uint32_t)(MERGE_SLOTS * p->contact.count)};
}

static int count_extras(const Merge *m) {
  int extra = 0;
  for (int i = 0; i < *m->feature_count; i++) extra += merge_extra(m, i);
  return extra;
}

static bool append_extras(Merge *m, Pair *p, const ContactScene *scene, int extra) {
  Contact *to = pool_extend(&scene->store->contact, &p->contact, extra);
  if (!to) return false;
  m->contact = pair_contacts(p, scene);
  for (int i = 0; i < *m->feature_count; i++)
    if (merge_extra(m, i)) *to++ = merge_extra_contact(m, i);
  return true;
}

/* Moves contacts that do not act to the end; both parts keep their order. rest: room for all of them. */
static int acting_first(Contact *c, int count, Contact *rest) {
  int acting = 0, idle = 0;
  for (int i = 0; i < count; i++)
    if (!contact_acts(&c[i])) rest[idle++] = c[i];
    else if (acting++ < i) c[acting - 1] = c[i];
  memcpy(c + acting, rest, (size_t)idle * sizeof *c);
  return acting;
}

static bool order(Pair *p, const ContactScene *scene) {
  Contact few[FEW], *rest = p->contact.count <= FEW ? few : mem_alloc((size_t)p->contact.count, sizeof *rest);
  if (rest) p->acting = acting_first(pair_contacts(p, scene), p->contact.count, rest);
  if (rest != few) mem_free(rest);
  return rest;
}

/* As merge_open for all stencils. Only triangles have features, which need the table. */
static void open_stencils(Merge *m) {
  bool cleared = false;
  for (int i = 0; i < m->count; i++) {
    int kind = m->contact[i].kind;
    if (!cleared && (kind == STENCIL_VERTEX_TRIANGLE || kind == STENCIL_TRIANGLE_VERTEX)) {
      memset(m->table, 0, m->slots * sizeof *m->table);
      cleared = true;
    }
    merge_open(m, i);
  }
}

/* Opens an edge-edge stencil for the second part. Returns false if it is done, because its edges do not count or it has
 * no features. */
static bool open_crossing(Merge *m, int i) {
  Contact *c = &m->contact[i];
  if (edges_flat(m, c)) {
    c->mollifier_d1 = 0;
    return false;
  }
  bool found = *m->feature_count > 0;
  if (found) {
    Crossing at = crossing_find(m, c);
    if (m->crossing) m->crossing[i] = at;
    found = m->self || crossing_has_features(&at);
  }
  if (found) count_crossings(m, i, c);
  else crossing_put_alone(m, c);
  return found;
}

/* As merge_close; the first sums are made while stencils are opened. Those with features are listed after the table. */
static void close_stencils(Merge *m) {
  int count = 0, *crossing = m->table + m->slots;
  merge_share(m, 0);
  for (int i = 0; i < m->count; i++)
    if (m->contact[i].kind == STENCIL_EDGE_EDGE && open_crossing(m, i)) crossing[count++] = i;
  for (int k = 0; k < count; k++) merge_crossing(m, crossing[k], &m->contact[crossing[k]]);
  merge_put(m, 0);
}

static bool weigh(Merge *m, Pair *p, const ContactScene *scene) {
  open_stencils(m);
  close_stencils(m);
  int extra = count_extras(m);
  return (extra == 0 || append_extras(m, p, scene, extra)) && order(p, scene);
}

/* Parts of one soft body with a thickness have separations of their own, so that nothing coincides. */
static void keep_all(Pair *p, const ContactScene *scene) {
  Contact *c = pair_contacts(p, scene);
  for (int i = 0; i < p->contact.count; i++) {
    c[i].weight = c[i].mollifier;
    c[i].extra = 0;
  }
  p->acting = p->contact.count;
}

void pair_merge(Pair *p, const ContactScene *scene, const Affine *qa, const Affine *qb) {
  p->acting = 0;
  if (p->contact.count == 0 || p->failed || p->barrier == INFINITY) return;
  if (p->a == p->b && scene->model->body[p->a].thickness > 0) {
    keep_all(p, scene);
    return;
  }
  Merge m = merge_of(p, scene, qa, qb);
  Feature few[MERGE_FEATURES * FEW];
  Crossing few_crossings[FEW];
  int few_slots[(MERGE_SLOTS + 1) * FEW];
  bool small = m.count <= FEW;
  int features = 0;
  m.feature_count = &features;
  m.crossing = small ? few_crossings : mem_alloc((size_t)m.count, sizeof(Crossing)); /* not needed if memory is out */
  m.feature = small ? few : mem_alloc((size_t)m.count, MERGE_FEATURES * sizeof(Feature));
  m.table = small ? few_slots : mem_alloc((size_t)m.count, (MERGE_SLOTS + 1) * sizeof(int));
  if (!m.feature || !m.table || !weigh(&m, p, scene)) p->failed = true;
  if (!small) mem_free(m.feature);
  if (!small) mem_free(m.table);
  if (!small) mem_free(m.crossing);
}
