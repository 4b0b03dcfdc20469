/* Mesh readers: the same cube in every format, the variants of each format, and errors of damaged files. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scene/mesh_file.h"
#include "scene/shape.h"

static bool parse_text(const char *text, const char *extension, MeshData *m, SceneError *error) {
  return mesh_parse(text, strlen(text), extension, "m", m, error);
}

static MeshData good(const char *text, const char *extension) {
  MeshData m;
  SceneError error = {""};
  if (!parse_text(text, extension, &m, &error)) fail_msg("%s", error.text);
  return m;
}

/* The reader must refuse the text with a sentence that holds all of what. */
static void bad_bytes(const char *bytes, size_t length, const char *extension, const char *what) {
  MeshData m;
  SceneError error = {""};
  char *copy = malloc(length + 1); /* exact size, so that a sanitizer sees reads behind the end */
  char *exact = realloc(copy, length ? length : 1);
  memcpy(exact, bytes, length);
  bool ok = mesh_parse(exact, length, extension, "m", &m, &error);
  free(exact);
  if (ok) fail_msg("%s was accepted; expected an error with \"%s\"", extension, what);
  if (!strstr(error.text, what)) fail_msg("error \"%s\" does not say \"%s\"", error.text, what);
  assert_null(m.vertex);
}

static void bad(const char *text, const char *extension, const char *what) {
  bad_bytes(text, strlen(text), extension, what);
}

static void obj(void **state) {
  (void)state;
  MeshData m = good("# a square, a wire and a point\nv 0 0 0\nv 1 0 0 # corner\nv 1 1 0\r\nv 0 1 0\nv 5 5 5\nvt 0 0\n"
                    "usemtl x\nf 1/1 2/1/1 3//1 -2\nl 1 2 \\\n 3\np 5",
                    "OBJ");
  assert_int_equal(m.vertex_count, 5);
  assert_int_equal(m.triangle_count, 2);
  assert_int_equal(m.edge_count, 2);
  const uint32_t expected[6] = {0, 1, 2, 0, 2, 3};
  assert_memory_equal(m.triangle, expected, sizeof expected);
  mesh_data_free(&m);
  bad("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 99\n", "obj", "m:4: face 1: vertex index 99 is out of range 1..3");
  bad("v 0 0 0\nf 1 2 0\n", "obj", "m:2: face 1: vertex index 2 is out of range 1..1");
  bad("v 0 0 0\nv 1 0 0\nf 1 2\n", "obj", "face 1: expected at least 3 corners, found 2");
  bad("v 0 nan 0\n", "obj", "m:1: vertex 1: expected a finite number, got \"nan\"");
  bad("v 0 1e999 0\n", "obj", "expected a finite number");
  bad("v 0 1\n", "obj", "vertex 1: expected 3 coordinates, found 2");
  bad("v 0 0x10 0\n", "obj", "got \"0x10\"");
  bad("f a b c\n", "obj", "expected a vertex index, got \"a\"");
  bad("", "obj", "the mesh is empty");
  bad("v 0 0 0", "xyz", "unknown mesh format");
}

static void obj_drops_degenerate(void **state) {
  (void)state;
  MeshData m = good("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 2\nf 1 2 3\n", "obj");
  assert_int_equal(m.triangle_count, 1);
  assert_int_equal(m.dropped_count, 1);
  mesh_data_free(&m);
}

/* A tetrahedron whose triangles share no vertex closes by welding; two squares that touch at a corner stay apart. */
static void weld(void **state) {
  (void)state;
  MeshData m = good(
      "v 0 0 0\nv 0 1 0\nv 1 0 0\nv 0 0 0\nv 1 0 0\nv 0 0 1\nv 1 0 0\nv 0 1 0\nv 0 0 1\nv 0 0 0\nv 0 0 1\nv 0 1 0\n"
      "f 1 2 3\nf 4 5 6\nf 7 8 9\nf 10 11 12\n",
      "obj");
  assert_int_equal(m.vertex_count, 4);
  assert_int_equal(m.triangle_count, 4);
  assert_int_equal(m.welded_count, 8);
  mesh_data_free(&m);
  m = good("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 0\nv -1 0 0\nv 0 -1 0\nf 1 2 3\nf 4 5 6\n", "obj");
  assert_int_equal(m.vertex_count, 6);
  assert_int_equal(m.welded_count, 0);
  mesh_data_free(&m);
  m = good("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 0\nf 1 2 3\nf 1 4 2\n", "obj"); /* 1 and 4 are one place */
  assert_int_equal(m.vertex_count, 3);
  assert_int_equal(m.triangle_count, 1);
  assert_int_equal(m.dropped_count, 1);
  mesh_data_free(&m);
}

static void numbers_are_correctly_rounded(void **state) {
  (void)state;
  const char *list[] = {"0.1",
                        "-0.3",
                        "123456789.123456789",
                        "1e-5",
                        "2.2250738585072014e-308",
                        "0.30000000000000004",
                        "9007199254740993",
                        "-12.",
                        ".5",
                        "1E+3",
                        "3.14159265358979323846"};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    char text[200];
    snprintf(text, sizeof text, "v %s 0 0\n", list[i]);
    MeshData m = good(text, "obj");
    if (m.vertex[0] != strtod(list[i], NULL)) fail_msg("%s was read as %.17g", list[i], m.vertex[0]);
    mesh_data_free(&m);
  }
}

static void off(void **state) {
  (void)state;
  MeshData m = good("OFF\n# comment\n4 3 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n4 0 1 2 3 255 0 0\n2 0 2\n3 0 1 2\n", "off");
  assert_int_equal(m.vertex_count, 4);
  assert_int_equal(m.triangle_count, 3);
  assert_int_equal(m.edge_count, 1);
  mesh_data_free(&m);
  bad("OFF\n4 1 0\n0 0 0\n1 0 0\n", "off", "claims 4 vertices");
  bad("OFF\n1000000000000 1 0\n0 0 0\n", "off", "claims 1000000000000 vertices");
  bad("OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 3\n", "off", "m:6: face 0: vertex index 3 is out of range 0..2");
  bad("OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1\n", "off", "expected 3 corners, found 2");
  bad("OFF\n", "off", "expected the numbers");
  bad("OFF\n-3 1 0\n", "off", "claims -3");
}

static void ply_ascii(void **state) {
  (void)state;
  MeshData m = good(
      "ply\nformat ascii 1.0\ncomment x\nelement vertex 4\nproperty float x\nproperty double y\nproperty float z\n"
      "property uchar red\nelement face 1\nproperty list uchar int vertex_indices\nelement edge 1\n"
      "property int vertex1\nproperty int vertex2\nend_header\n0 0 0 1\n1 0 0 2\n1 1 0 3\n0 1 0 4\n4 0 1 2 3\n1 3\n",
      "ply");
  assert_int_equal(m.vertex_count, 4);
  assert_int_equal(m.triangle_count, 2);
  assert_int_equal(m.edge_count, 1);
  assert_float_equal(m.vertex[7], 1, 0);
  mesh_data_free(&m);
  bad("ply\nformat ascii 1.0\nelement vertex 1000000000000\nproperty float x\nend_header\n0\n", "ply",
      "claims 1000000000000 vertex");
  bad("ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nend_header\nq\n", "ply",
      "vertex 0: expected a number");
  bad("ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nend_header\ninf\n", "ply",
      "vertex 0: expected finite");
  bad("ply\nformat middle_endian 1.0\nend_header\n", "ply", "got \"middle_endian\"");
  bad("ply\nformat ascii 1.0\nelement vertex 1\n", "ply", "ends within its header");
  bad("ply\nelement vertex 1\nproperty quad x\n", "ply", "expected property TYPE NAME");
  bad("ply\nproperty float x\n", "ply", "a property before the first element");
}

/* A tetrahedron in binary PLY of either byte order. */
static size_t write_ply(bool big, char *out) {
  static const float x[4][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  static const int32_t f[4][3] = {{0, 2, 1}, {0, 1, 3}, {1, 2, 3}, {0, 3, 2}};
  int n = sprintf(
      out,
      "ply\nformat binary_%s_endian 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n"
      "element face 4\nproperty list uchar int vertex_index\nend_header\n",
      big ? "big" : "little");
  char *at = out + n;
  for (int i = 0; i < 12; i++, at += 4) {
    unsigned char b[4];
    memcpy(b, &x[i / 3][i % 3], 4);
    for (int k = 0; k < 4; k++) at[k] = (char)b[big ? 3 - k : k];
  }
  for (int i = 0; i < 4; i++) {
    *at++ = 3;
    for (int c = 0; c < 3; c++, at += 4) {
      for (int k = 0; k < 4; k++) at[k] = (char)(f[i][c] >> 8 * (big ? 3 - k : k));
    }
  }
  return (size_t)(at - out);
}

static void ply_binary(void **state) {
  (void)state;
  char bytes[1000];
  SceneError error = {""};
  for (int big = 0; big < 2; big++) {
    MeshData m;
    size_t length = write_ply(big, bytes);
    if (!mesh_parse(bytes, length, "ply", "m", &m, &error)) fail_msg("%s", error.text);
    assert_int_equal(m.triangle_count, 4);
    assert_float_equal(m.vertex[11], 1, 0);
    assert_int_equal(m.triangle[11], 2);
    mesh_data_free(&m);
    for (size_t cut = 0; cut < length; cut++) bad_bytes(bytes, cut, "ply", "m:");
    bytes[length - 1] = bytes[length - 4] = 0x70;
    bad_bytes(bytes, length, "ply", "face 3: vertex index");
  }
}

static void put_f32(char *at, float value) { memcpy(at, &value, 4); }

/* The tetrahedron's triangle soup in binary STL. */
static size_t write_stl(char *out) {
  static const float x[4][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  static const int f[4][3] = {{0, 2, 1}, {0, 1, 3}, {1, 2, 3}, {0, 3, 2}};
  memset(out, 0, 84 + 200);
  memcpy(out, "solid but binary", 16);
  out[80] = 4;
  for (int t = 0; t < 4; t++) {
    for (int c = 0; c < 9; c++) put_f32(out + 84 + 50 * t + 12 + 4 * c, x[f[t][c / 3]][c % 3]);
  }
  return 84 + 200;
}

static void stl(void **state) {
  (void)state;
  char bytes[400];
  MeshData m;
  SceneError error = {""};
  size_t length = write_stl(bytes);
  if (!mesh_parse(bytes, length, "stl", "m", &m, &error)) fail_msg("%s", error.text);
  assert_int_equal(m.vertex_count, 4);
  assert_int_equal(m.triangle_count, 4);
  mesh_data_free(&m);
  bad_bytes(bytes, length - 1, "stl", "m:");
  bytes[0] = 'x';
  bad_bytes(bytes, length - 1, "stl", "binary STL of 4 triangles needs 284 bytes, the file has 283");
  bad_bytes(bytes, 10, "stl", "cut off");
  put_f32(bytes + 84 + 50 + 12, INFINITY);
  bad_bytes(bytes, length, "stl", "triangle 2: expected finite coordinates, got inf");
  m = good(
      "solid a name\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\n"
      "facet normal 0 0 1\nouter loop\nvertex 1 0 0\nvertex 1 1 0\nvertex -0 1 0\nendloop\nendfacet\nendsolid a name\n",
      "stl");
  assert_int_equal(m.vertex_count, 4); /* -0 and 0 are one */
  assert_int_equal(m.triangle_count, 2);
  mesh_data_free(&m);
  bad("solid\nfacet\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nendloop\n", "stl",
      "triangle 1: expected 3 vertices, found 2");
  bad("solid\nfacet\nouter loop\nvertex 0 0 0\n", "stl", "triangle 1: the file ends within it");
  bad("solid\nfacet\nvertex 0 zero 0\n", "stl", "m:3: triangle 1: expected a finite number, got \"zero\"");
  bad("solid\nbanana\n", "stl", "got \"banana\"");
}

/* Any prefix and any single damaged byte of a good file is read or refused, never worse. */
static void damaged_files(void **state) {
  (void)state;
  char bytes[1000];
  for (int kind = 0; kind < 3; kind++) {
    size_t length = kind == 0 ? write_stl(bytes) : write_ply(kind == 2, bytes);
    for (size_t i = 0; i < length; i++) {
      for (int flip = 1; flip < 256; flip *= 4) {
        MeshData m;
        SceneError error;
        char *copy = malloc(length);
        memcpy(copy, bytes, length);
        copy[i] ^= (char)flip;
        if (mesh_parse(copy, length, kind ? "ply" : "stl", "m", &m, &error)) mesh_data_free(&m);
        free(copy);
      }
    }
  }
}

static void files(void **state) {
  (void)state;
  MeshData m;
  SceneError error = {""};
  assert_false(mesh_load("/nowhere/at/all.obj", &m, &error));
  assert_non_null(strstr(error.text, "/nowhere/at/all.obj: cannot read: No such file"));
  char folder[] = "/tmp/abd-test-XXXXXX.obj";
  int handle = mkstemps(folder, 4);
  assert_true(handle >= 0);
  close(handle);
  assert_false(mesh_load(folder, &m, &error));
  assert_non_null(strstr(error.text, "empty"));
  unlink(folder);
  assert_false(mesh_load("/dev", &m, &error));
  assert_false(mesh_load("/dev/zero", &m, &error));
  assert_true(mesh_extension_known("a/b.STL"));
  assert_false(mesh_extension_known("a.obj/b"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(obj),           cmocka_unit_test(obj_drops_degenerate),
      cmocka_unit_test(weld),          cmocka_unit_test(numbers_are_correctly_rounded),
      cmocka_unit_test(off),           cmocka_unit_test(ply_ascii),
      cmocka_unit_test(ply_binary),    cmocka_unit_test(stl),
      cmocka_unit_test(damaged_files), cmocka_unit_test(files),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
