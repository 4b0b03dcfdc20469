/* Pieces of an arena, and a world that one process moves to it and another takes (base/arena.h, model/share.h). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "api/world.h"
#include "model/share.h"
#include "shape.h"

static void test_pieces(void **state) {
  _Alignas(64) static char room[256];
  Arena count = {0}, arena = {room, sizeof room, 0};
  (void)state;
  assert_null(arena_take(&count, 3, 8));
  assert_int_equal(count.used, 64);
  char *first = arena_take(&arena, 3, 8), *none = arena_take(&arena, 0, 8), *second = arena_take(&arena, 65, 1);
  assert_ptr_equal(first, room);
  assert_non_null(none);
  assert_ptr_equal(second, room + 64);
  assert_null(arena_take(&arena, 65, 1));
  assert_null(arena_take(&arena, SIZE_MAX, 2));
  int *heap = mem_alloc(2, sizeof(int));
  heap[1] = 7;
  assert_true(arena_move(&arena, (void **)&heap, 2, sizeof(int)));
  assert_ptr_equal(heap, room + 192);
  assert_int_equal(heap[1], 7);
}

static AbdWorld *make_world(void) {
  AbdWorld *world = abd_world_create(NULL, NULL);
  static Shape box;
  box.vertex_count = box.triangle_count = 0;
  shape_box(&box, 1, 1, 1);
  AbdMeshDef mesh_def = abd_default_mesh_def();
  mesh_def.vertex = box.vertex, mesh_def.vertex_count = box.vertex_count;
  mesh_def.triangle = box.triangle, mesh_def.triangle_count = box.triangle_count;
  AbdMeshId mesh;
  assert_int_equal(abd_world_add_mesh(world, &mesh_def, &mesh), ABD_OK);
  for (int k = 0; k < 5; k++) {
    AbdBodyDef def = abd_default_body_def();
    def.mesh = mesh;
    def.position[0] = 2 * k;
    assert_int_equal(abd_world_add_body(world, &def, NULL), ABD_OK);
  }
  assert_int_equal(abd_world_start(world), ABD_OK);
  return world;
}

/* The world steps on as it would have, by what was taken. Half of the bodies are copied by each of two processes. */
static void test_world(void **state) {
  AbdWorld *plain = make_world(), *world = make_world(), *other = mem_zeroed(1, sizeof *other);
  (void)state;
  assert_null(share_obstacle(&world->model));
  size_t size = share_size(&world->model, &world->state, &world->next, 2048);
  char *room = aligned_alloc(64, (size + 63) / 64 * 64);
  memset(room, 0, size);
  world->arena = (Arena){room, size, 0};
  world_drop_backend(world);
  assert_true(share_publish(&world->arena, &world->model, &world->state, &world->next));
  assert_true(world->arena.used <= size);
  other->arena = (Arena){room, size, 0};
  assert_true(share_take(&other->arena, &other->model, &other->state, &other->next));
  assert_int_equal(other->arena.used, world->arena.used);
  assert_ptr_equal(other->model.body, world->model.body);
  assert_string_equal(other->model.body[3].name, plain->model.body[3].name);
  share_divide(&world->state, &world->next, &world->model, 0, 2);
  share_divide(&other->state, &other->next, &other->model, 1, 2);
  assert_int_equal(world->state.end_body, other->state.first_body);
  assert_int_equal(other->state.end_body, 5);
  for (int k = 0; k < 3; k++) {
    state_next_copy(&other->next, &other->state, &other->model);
    assert_int_equal(abd_world_step(world, NULL), ABD_OK);
    assert_int_equal(abd_world_step(plain, NULL), ABD_OK);
    state_advance(&other->state, &other->next, &other->model);
  }
  assert_memory_equal(other->state.q.body, plain->state.q.body, 5 * sizeof(Affine));
  assert_memory_equal(other->state.rate_before.body, plain->state.rate_before.body, 5 * sizeof(Affine));
  assert_int_not_equal(abd_world_begin_change(world), ABD_OK);
  world->arena.base = NULL; /* not mapped memory */
  other->arena.base = NULL;
  abd_world_destroy(world);
  abd_world_destroy(other);
  abd_world_destroy(plain);
  free(room);
}

int main(void) {
  const struct CMUnitTest test[] = {cmocka_unit_test(test_pieces), cmocka_unit_test(test_world)};
  return cmocka_run_group_tests(test, NULL, NULL);
}
