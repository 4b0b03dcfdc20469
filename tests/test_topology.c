/* Defects that `abd check` finds in a mesh: each is made by hand in a box. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "scene/topology.h"

#include <math.h>
#include <string.h>

typedef struct Box {
  double vertex[27];
  uint32_t triangle[39];
  MeshShape shape;
} Box;

static void make_box(Box *box) {
  static const uint32_t triangle[36] = {0, 2, 1, 1, 2, 3, 4, 5, 6, 5, 7, 6, 0, 1, 4, 1, 5, 4,
                                        2, 6, 3, 3, 6, 7, 0, 4, 2, 2, 4, 6, 1, 3, 5, 3, 7, 5};
  memset(box, 0, sizeof *box);
  for (int k = 0; k < 8; k++)
    for (int i = 0; i < 3; i++) box->vertex[3 * k + i] = 5 + (k >> i & 1);
  memcpy(box->triangle, triangle, sizeof triangle);
  box->shape = (MeshShape){box->vertex, 8, box->triangle, 12};
}

static Topology analyse(const Box *box) {
  Topology t;
  assert_true(topology_analyse(&box->shape, &t));
  return t;
}

static void test_clean(void **state) {
  (void)state;
  Box box;
  make_box(&box);
  Topology t = analyse(&box);
  assert_true(t.closed);
  assert_int_equal(t.piece_count, 1);
  if (fabs(t.volume - 1) > 1e-12) fail_msg("volume %.17g", t.volume);
  assert_int_equal(t.degenerate.count + t.repeated.count + t.twin_vertex.count + t.unused_vertex.count, 0);
}

static void test_open(void **state) {
  (void)state;
  Box box;
  make_box(&box);
  box.shape.triangle_count = 11; /* without 3 7 5 */
  Topology t = analyse(&box);
  assert_false(t.closed);
  assert_int_equal(t.open_edge.count, 3);
}

static void test_flipped(void **state) {
  (void)state;
  Box box;
  make_box(&box);
  uint32_t keep = box.triangle[0];
  box.triangle[0] = box.triangle[1], box.triangle[1] = keep;
  Topology t = analyse(&box);
  assert_false(t.closed);
  assert_int_equal(t.against_edge.count, 3);
  make_box(&box);
  for (int k = 0; k < 36; k += 3) { /* all of them: closed, but inside out */
    keep = box.triangle[k];
    box.triangle[k] = box.triangle[k + 1], box.triangle[k + 1] = keep;
  }
  t = analyse(&box);
  assert_true(t.closed);
  if (fabs(t.volume + 1) > 1e-12) fail_msg("volume %.17g", t.volume);
}

static void test_many_and_repeated(void **state) {
  (void)state;
  Box box;
  make_box(&box);
  memcpy(box.triangle + 36, box.triangle, 3 * sizeof(uint32_t));
  box.shape.triangle_count = 13;
  Topology t = analyse(&box);
  assert_int_equal(t.many_edge.count, 3);
  assert_int_equal(t.repeated.count, 1);
  assert_int_equal(t.repeated.triangle, 12);
}

static void test_vertices(void **state) {
  (void)state;
  Box box;
  make_box(&box);
  memcpy(box.vertex + 24, box.vertex + 9, 3 * sizeof(double)); /* vertex 8 at the place of 3, used by nobody */
  box.shape.vertex_count = 9;
  Topology t = analyse(&box);
  assert_int_equal(t.twin_vertex.count, 1);
  assert_int_equal(t.twin_vertex.vertex[0], 3);
  assert_int_equal(t.twin_vertex.vertex[1], 8);
  assert_int_equal(t.unused_vertex.count, 1);
}

static void test_degenerate(void **state) {
  (void)state;
  Box box;
  make_box(&box);
  memcpy(box.vertex, box.vertex + 3, 3 * sizeof(double)); /* corner 0 moved onto corner 1 */
  Topology t = analyse(&box);
  assert_int_equal(t.degenerate.count, 2); /* those along the edge 0 1 */
}

static void test_pieces(void **state) {
  (void)state;
  Box box;
  make_box(&box);
  static const uint32_t two[6] = {0, 1, 2, 4, 5, 6};
  memcpy(box.triangle, two, sizeof two);
  box.shape.triangle_count = 2;
  Topology t = analyse(&box);
  assert_int_equal(t.piece_count, 2);
  assert_int_equal(t.unused_vertex.count, 2);
  box.shape = (MeshShape){box.vertex, 0, box.triangle, 0};
  t = analyse(&box);
  assert_false(t.closed);
}

int main(void) {
  const struct CMUnitTest test[] = {
      cmocka_unit_test(test_clean),    cmocka_unit_test(test_open),
      cmocka_unit_test(test_flipped),  cmocka_unit_test(test_many_and_repeated),
      cmocka_unit_test(test_vertices), cmocka_unit_test(test_degenerate),
      cmocka_unit_test(test_pieces),
  };
  return cmocka_run_group_tests(test, NULL, NULL);
}
