/* Nodes: four per body, one per soft vertex. Accessors, the bytes of a soft vertex, snapshots of soft worlds. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <malloc.h>
#include <string.h>

#include "api/world.h"
#include "softlab.h"

static AbdBodyId put_box(Lab *lab, Vec3 position, AbdMotion motion) {
  AbdBodyDef def = abd_default_body_def();
  def.mesh = lab_box(lab, 0.2, 0.2, 0.2);
  def.motion = motion;
  vec3_to(def.position, position);
  AbdBodyId body;
  lab_expect_ok(lab, abd_world_add_body(lab->world, &def, &body));
  return body;
}

static bool is_identity(const Affine *q) {
  Mat3 a = affine_linear(q), one = mat3_identity();
  return memcmp(&a, &one, sizeof a) == 0;
}

/* A soft block of 2 x 2 x 2 cells: vertex 0 is pinned, vertex 1 scripted, vertex 2 attached to a box. */
static Lab prepare_block(AbdBodyId *soft) {
  Lab lab = lab_open(abd_default_world_def());
  AbdBodyId box = put_box(&lab, vec3(0, 0, 2), ABD_MOTION_DYNAMIC);
  put_box(&lab, vec3(2, 0, 0), ABD_MOTION_KINEMATIC);
  SoftMesh mesh = soft_block(2, 2, 2, vec3(0.4, 0.4, 0.4));
  AbdSoftDef def = soft_def(&mesh, vec3(0, 0, 0));
  *soft = lab_soft(&lab, &def);
  lab_expect_ok(&lab, abd_soft_attach(lab.world, *soft, 0, (AbdBodyId){0}));
  lab_expect_ok(&lab, abd_soft_script(lab.world, *soft, 1));
  lab_expect_ok(&lab, abd_soft_attach(lab.world, *soft, 2, box));
  soft_mesh_free(&mesh);
  return lab;
}

static Lab open_block(AbdBodyId *soft) {
  Lab lab = prepare_block(soft);
  lab_expect_ok(&lab, abd_world_start(lab.world));
  return lab;
}

static void test_blocks(void **state) {
  (void)state;
  AbdBodyId body;
  Lab lab = open_block(&body);
  const Model *m = &lab.world->model;
  const Soft *soft = &m->soft[0];
  Nodes q = lab.world->state.q;
  assert_int_equal(m->body_count, 3);
  assert_int_equal(model_vertex_count(m), 27);
  assert_int_equal(m->moving_count, 2 + 26);
  assert_int_equal(m->kinematic_count, 2);
  const AbdMotion expected[3] = {ABD_MOTION_STATIC, ABD_MOTION_KINEMATIC, ABD_MOTION_DYNAMIC};
  for (int v = 0; v < soft->vertex_count; v++) {
    int block = soft->first + v;
    Affine pose = node_pose(m, q, block), vector = node_vector(m, q, block), start = block_start(m, block);
    assert_true(block_is_vertex(m, block) && model_whole(m, block) == (int)body.id - 1);
    assert_int_equal(block_motion(m, block), expected[v < 3 ? v : 2]);
    assert_memory_equal(&pose, &start, sizeof pose);
    assert_true(is_identity(&pose) && norm_sq(vector.n[1]) == 0 && norm_sq(vector.n[3]) == 0);
    assert_ptr_equal(node_at(m, q, block), &q.vertex[v]);
    assert_true(block_mass(m, block) == soft->mass[v]);
  }
  assert_true(block_pull(m, soft->first + 1) > 1e3 * m->mass_max);
  for (int k = 0; k < m->kinematic_count; k++) assert_int_equal(model_kinematic(m, m->kinematic[k]), k);
  lab_close(&lab);
}

static size_t heap_bytes(void) {
  struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

/* All arrays by vertex but those of its elements and of the surface that collides. docs/performance.md lists them. */
static void test_bytes_of_a_vertex(void **state) {
  (void)state;
  enum { LIMIT = 400, SIDE = 24 };
  Lab lab = lab_open(abd_default_world_def());
  SoftMesh mesh = soft_block(SIDE, SIDE, SIDE, vec3(1, 1, 1));
  AbdSoftDef def = soft_def(&mesh, vec3(0, 0, 0));
  lab_soft(&lab, &def);
  Model *m = &lab.world->model;
  State now, next;
  Work work;
  Islands islands;
  System system, closing;
  AbdError error = {ABD_OK, ""};
  size_t before = heap_bytes();
  assert_int_equal(model_start(m, &error), ABD_OK);
  assert_int_equal(state_init(&now, m, &error), ABD_OK);
  assert_int_equal(state_next_init(&next, m, &error), ABD_OK);
  assert_true(work_init(&work, m) && islands_init(&islands, m) && islands_build(&islands, 1, 0, NULL, false));
  assert_true(system_init(&system, m, false) && system_init(&closing, m, true));
  const Soft *s = &m->soft[0];
  size_t own = sizeof *s->rest + sizeof *s->mass + sizeof *s->attached, list = sizeof(int); /* the backend's active */
  double bytes = (double)(heap_bytes() - before) / s->vertex_count + (double)(own + list);
  printf("  %d vertices, %.1f bytes each\n", s->vertex_count, bytes);
  if (before > 0) assert_true(bytes > 300 && bytes < LIMIT); /* sanitizers count nothing */
  system_destroy(&system);
  system_destroy(&closing);
  islands_destroy(&islands);
  work_destroy(&work);
  state_destroy(&now);
  state_destroy(&next);
  soft_mesh_free(&mesh);
  lab_close(&lab);
}

static void push(Lab *lab, AbdBodyId soft, double x) {
  lab_expect_ok(lab, abd_soft_set_force(lab->world, soft, 20, (double[3]){x, 0, 1}));
}

static void *save(AbdWorld *world, size_t *size) {
  *size = abd_world_snapshot_size(world);
  void *bytes = malloc(*size);
  assert_true(bytes && abd_world_save(world, bytes, *size) == ABD_OK);
  return bytes;
}

static uint64_t hash_after(Lab *lab, int steps) {
  lab_steps(lab, steps);
  return abd_world_hash(lab->world);
}

/* Snapshots with and without forces on vertices, with a target that waits: the restored world takes the same steps. */
static void test_soft_snapshots(void **state) {
  (void)state;
  AbdBodyId soft, other_soft;
  Lab lab = open_block(&soft), other = open_block(&other_soft);
  size_t plain_size, pushed_size;
  lab_steps(&lab, 3);
  void *plain = save(lab.world, &plain_size);
  push(&lab, soft, 5);
  Vec3 at = lab_vertex(&lab, soft, 1);
  lab_expect_ok(&lab, abd_soft_set_target(lab.world, soft, 1, (double[3]){at.x + 1e-3, at.y, at.z}));
  void *pushed = save(lab.world, &pushed_size);
  assert_int_equal(pushed_size, plain_size + 27 * sizeof(Vec3));
  uint64_t expected = hash_after(&lab, 4);
  lab_expect_ok(&other, abd_world_restore(other.world, pushed, pushed_size));
  assert_true(hash_after(&other, 4) == expected);
  lab_expect_ok(&lab, abd_world_restore(lab.world, plain, plain_size)); /* drops the force and the target */
  lab_expect_ok(&other, abd_world_restore(other.world, plain, plain_size));
  uint64_t free_fall = hash_after(&lab, 4);
  assert_true(hash_after(&other, 4) == free_fall && free_fall != expected);
  assert_int_equal(abd_world_snapshot_size(lab.world), plain_size);
  free(plain);
  free(pushed);
  lab_close(&lab);
  lab_close(&other);
}

/* A snapshot of as many bodies with other vertices is refused by name. */
static void test_other_vertices_are_refused(void **state) {
  (void)state;
  AbdBodyId soft;
  Lab lab = open_block(&soft), other = lab_open(abd_default_world_def());
  SoftMesh mesh = soft_block(1, 1, 1, vec3(0.4, 0.4, 0.4));
  AbdSoftDef def = soft_def(&mesh, vec3(0, 0, 0));
  put_box(&other, vec3(0, 0, 2), ABD_MOTION_DYNAMIC);
  put_box(&other, vec3(2, 0, 0), ABD_MOTION_KINEMATIC);
  lab_soft(&other, &def);
  size_t size;
  void *bytes = save(lab.world, &size);
  assert_int_equal(abd_world_restore(other.world, bytes, size), ABD_ERROR_STATE);
  assert_non_null(strstr(abd_world_error(other.world), "27 soft vertices, this world has 8"));
  free(bytes);
  soft_mesh_free(&mesh);
  lab_close(&lab);
  lab_close(&other);
}

/* Start, a force on a vertex, a step. A call that fails for lack of memory is made again. */
static uint64_t hash_of_calls(Lab *lab, AbdBodyId soft, int *failures) {
  const double force[3] = {5, 0, 1};
  for (int call = 0; call < 3;) {
    AbdStatus status = call == 0   ? abd_world_start(lab->world)
                       : call == 1 ? abd_soft_set_force(lab->world, soft, 20, force)
                                   : abd_world_step(lab->world, NULL);
    if (status == ABD_OK) call++;
    else assert_int_equal(status, ABD_ERROR_MEMORY);
    *failures += status != ABD_OK;
    if (status != ABD_OK) mem_fail_after(0);
  }
  return abd_world_hash(lab->world);
}

static void test_every_allocation_may_fail(void **state) {
  (void)state;
  uint64_t expected = 0;
  int failures = 1;
  long n = 0;
  for (; failures; n++) {
    AbdBodyId soft;
    Lab lab = prepare_block(&soft);
    failures = 0;
    mem_fail_after(n);
    uint64_t hash = hash_of_calls(&lab, soft, &failures);
    mem_fail_after(0);
    if (n == 0) expected = hash, failures = 1;
    assert_true(hash == expected);
    lab_close(&lab);
  }
  printf("  %ld allocations\n", n - 2);
  assert_true(n > 50);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_blocks), cmocka_unit_test(test_bytes_of_a_vertex), cmocka_unit_test(test_soft_snapshots),
      cmocka_unit_test(test_other_vertices_are_refused), cmocka_unit_test(test_every_allocation_may_fail)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
