/* Sweep and prune: bodies sorted by the lower ends of their boxes along one axis. Tested in tests/test_contact.c. */
#include "contact/broad.h"

#include <stdlib.h>
#include <string.h>

bool broad_init(Broad *broad, const Model *model) {
  memset(broad, 0, sizeof *broad);
  broad->axis = -1;
  broad->box = mem_zeroed((size_t)model->given_count, sizeof(Box));
  broad->order = mem_alloc((size_t)model->given_count, sizeof(int));
  for (int i = 0; broad->order && i < model->given_count; i++) broad->order[i] = i;
  return broad->box && broad->order;
}

void broad_destroy(Broad *broad) {
  mem_free(broad->box);
  mem_free(broad->order);
  mem_free(broad->pair);
  memset(broad, 0, sizeof *broad);
}

Box body_box(const Model *model, int body, const Affine *q) {
  const Mesh *mesh = &model->mesh[model->body[body].mesh];
  const double far = 1e150;
  if (mesh->half_space) return (Box){vec3(-far, -far, -far), vec3(far, far, far)};
  return box_transform(q, mesh->box);
}

Box swept_box(const Model *model, int body, const Affine *from, const Affine *to) {
  return box_union(body_box(model, body, from), body_box(model, body, to));
}

static int spread_axis(const Broad *broad, const Model *model) {
  Vec3 sum = vec3(0, 0, 0), sum_sq = vec3(0, 0, 0);
  double n = 0;
  for (int i = 0; i < model->given_count; i++) {
    if (model->body[i].motion == ABD_MOTION_STATIC && !model->body[i].soft) continue;
    Vec3 c = box_center(broad->box[i]);
    n++;
    sum = add(sum, c);
    sum_sq = add(sum_sq, vec3(c.x * c.x, c.y * c.y, c.z * c.z));
  }
  Vec3 var = sub(sum_sq, scale(n > 0 ? 1 / n : 0, vec3(sum.x * sum.x, sum.y * sum.y, sum.z * sum.z)));
  return var.x >= var.y && var.x >= var.z ? 0 : var.y >= var.z ? 1 : 2;
}

static bool comes_before(const Broad *broad, int axis, int a, int b) {
  double x = component(broad->box[a].lo, axis), y = component(broad->box[b].lo, axis);
  return x < y || (x == y && a < b);
}

/* Shell's sort with gaps of Ciura. Its last round is the insertion sort that is enough by itself where the order of the last call
 * along the same axis is nearly right. */
static void sort_order(Broad *broad, int count, int axis) {
  static const int gap[] = {2305843, 1048101, 476409, 216549, 98431, 44741, 20336, 9243, 4201,
                            1750,    701,     301,    132,    57,    23,    10,    4,    1};
  for (int k = broad->axis == axis ? ARRAY_COUNT(gap) - 1 : 0; k < ARRAY_COUNT(gap); k++)
    for (int i = gap[k]; i < count; i++) {
      int body = broad->order[i], j = i;
      for (; j >= gap[k] && comes_before(broad, axis, body, broad->order[j - gap[k]]); j -= gap[k])
        broad->order[j] = broad->order[j - gap[k]];
      broad->order[j] = body;
    }
  broad->axis = axis;
}

static int compare_keys(const void *x, const void *y) {
  uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
  return (a > b) - (a < b);
}

/* Soft bodies may meet themselves. */
static bool add_pair(Broad *broad, const Model *model, int a, int b) {
  if (!model_collides(model, a, b)) return true;
  if (!mem_reserve((void **)&broad->pair, &broad->pair_capacity, broad->pair_count + 1, sizeof(uint64_t))) return false;
  broad->pair[broad->pair_count++] = pair_key(a, b);
  return true;
}

bool broad_find(Broad *broad, const Model *model) {
  int n = model->given_count, axis = spread_axis(broad, model);
  sort_order(broad, n, axis);
  broad->pair_count = 0;
  for (int i = 0; i < n; i++) {
    int a = broad->order[i];
    double end = component(broad->box[a].hi, axis);
    if (!add_pair(broad, model, a, a)) return false;
    for (int j = i + 1; j < n && component(broad->box[broad->order[j]].lo, axis) <= end; j++) {
      int b = broad->order[j];
      if (box_overlap(broad->box[a], broad->box[b]) && !add_pair(broad, model, a, b)) return false;
    }
  }
  if (broad->pair_count > 1) qsort(broad->pair, (size_t)broad->pair_count, sizeof(uint64_t), compare_keys);
  return true;
}
