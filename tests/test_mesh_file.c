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
  assert_int_equal(m.vertex_count, 4);
  assert_int_equal(m.unused_count, 1); /* points beside faces are left out too */
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

/* Vertices that no element uses are left out if the file has triangles; otherwise they are points. */
static void unused_vertices(void **state) {
  (void)state;
  MeshData m = good("v 9 0 0\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 -3\nv 5 5 5\nv 6 5 5\nf 2 3 4\nl 6 7\nf 5 5 5\n", "obj");
  print_message("%zu left out, the first at (%g, %g, %g)\n", m.unused_count, m.unused[0], m.unused[1], m.unused[2]);
  assert_int_equal(m.vertex_count, 5);
  assert_int_equal(m.unused_count, 2);
  assert_memory_equal(m.unused, ((double[]){9, 0, 0}), sizeof m.unused);
  assert_memory_equal(m.triangle, ((uint32_t[]){0, 1, 2}), 3 * sizeof *m.triangle);
  assert_memory_equal(m.edge, ((uint32_t[]){3, 4}), 2 * sizeof *m.edge);
  assert_float_equal(m.vertex[3 * 4], 6, 0);
  mesh_data_free(&m);
  m = good("v 9 0 0\nv 0 0 0\nv 1 0 0\nl 2 3\n", "obj");
  assert_int_equal(m.vertex_count, 3);
  assert_int_equal(m.unused_count, 0);
  mesh_data_free(&m);
  m = good("solid a\nfacet\nouter loop\nvertex 0 0 -1\nvertex 0 0 -1\nvertex 0 0 -1\nendloop\nendfacet\n"
           "facet\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\nendsolid\n",
           "stl");
  assert_int_equal(m.vertex_count, 3);
  assert_int_equal(m.dropped_count, 1);
  assert_int_equal(m.unused_count, 1);
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

/* Triangles of a polygon in the plane z = x / 4: all face its side, and their areas in x and y add up to the polygon's,
 * so they cover it and nothing else. The polygon is given with each corner as its first, in both directions. */
static void check_polygon(const double (*x)[2], int n, double area) {
  for (int first = 0; first < n; first++) {
    for (int way = -1; way <= 1; way += 2) {
      char text[4000], *at = text;
      double sum = 0, least = INFINITY;
      for (int k = 0; k < n; k++) at += sprintf(at, "v %.17g %.17g %.17g\n", x[k][0], x[k][1], x[k][0] / 4);
      at += sprintf(at, "f");
      for (int k = 0; k < n; k++) at += sprintf(at, " %d", 1 + (first + way * k + n) % n);
      MeshData m = good(text, "obj");
      for (size_t t = 0; t < m.triangle_count; t++) {
        const double *a = m.vertex + 3 * m.triangle[3 * t], *b = m.vertex + 3 * m.triangle[3 * t + 1],
                     *c = m.vertex + 3 * m.triangle[3 * t + 2];
        double size = way * ((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])) / 2;
        sum += size, least = fmin(least, size);
      }
      if ((int)m.triangle_count != n - 2 || !(least > 0) || !(fabs(sum - area) < 1e-12 * area))
        fail_msg("%d corners from %d, way %d: %zu triangles, smallest area %g, sum %.15g of %g", n, first, way,
                 m.triangle_count, least, sum, area);
      mesh_data_free(&m);
    }
  }
}

static double shoelace(const double (*x)[2], int n) {
  double sum = 0;
  for (int k = 0; k < n; k++) sum += x[k][0] * x[(k + 1) % n][1] - x[k][1] * x[(k + 1) % n][0];
  return sum / 2;
}

static void polygons(void **state) {
  (void)state;
  const double arrow[][2] = {{0, 0}, {2, 1}, {0, 2}, {0.5, 1}};
  const double ell[][2] = {{0, 0}, {2, 0}, {2, 1}, {1, 1}, {1, 2}, {0, 2}};
  const double comb[][2] = {{0, 0}, {6, 0}, {6, 3}, {5, 3}, {5, 1}, {4, 1}, {4, 3},
                            {3, 3}, {3, 1}, {2, 1}, {2, 3}, {1, 3}, {1, 1}, {0, 1}};
  const double side[][2] = {{0, 0}, {1, 0}, {2, 0}, {2, 1}, {2, 2}, {1, 2}, {0, 2}, {0, 1}}; /* corners on edges */
  const double hole[][2] = {{0, 0}, {4, 0}, {4, 4}, {0, 4}, {0, 0}, {1, 1}, {1, 3}, {3, 3}, {3, 1}, {1, 1}};
  double star[40][2];
  for (int k = 0; k < 40; k++) {
    double angle = k * 2 * 3.14159265358979 / 40, radius = k % 2 ? 1 : 0.3 + 0.01 * k;
    star[k][0] = radius * cos(angle), star[k][1] = radius * sin(angle);
  }
  check_polygon(arrow, 4, shoelace(arrow, 4));
  check_polygon(ell, 6, 3);
  check_polygon(comb, 14, 12);
  check_polygon(side, 8, 4);
  check_polygon(hole, 10, 12);
  check_polygon(star, 40, shoelace(star, 40));
}

/* The concave quadrangle in the other formats: the diagonal is that of its inner corner, not that of its first. */
static void polygons_of_all_formats(void **state) {
  (void)state;
  const char *text[] = {
      "OFF\n4 1 0\n0 0 0\n2 1 0\n0 2 0\n0.5 1 0\n4 0 1 2 3\n",
      "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n"
      "element face 1\nproperty list uchar int vertex_index\nend_header\n"
      "0 0 0\n2 1 0\n0 2 0\n0.5 1 0\n4 0 1 2 3\n"};
  for (int k = 0; k < 2; k++) {
    MeshData m = good(text[k], k ? "ply" : "off");
    assert_int_equal(m.triangle_count, 2);
    for (int t = 0; t < 2; t++) {
      bool inner = false, opposite = false;
      for (int c = 0; c < 3; c++) inner |= m.triangle[3 * t + c] == 3, opposite |= m.triangle[3 * t + c] == 1;
      if (!inner || !opposite) fail_msg("format %d: triangle %d does not have the corners 1 and 3", k, t);
    }
    mesh_data_free(&m);
  }
  enum { COUNT = 10001 };
  char *long_text = malloc(40 * COUNT + 100), *at = long_text;
  for (int k = 0; k < COUNT; k++) at += sprintf(at, "v %d %d 0\n", k, k % 2);
  at += sprintf(at, "v 0 9 0\nf");
  for (int k = 0; k <= COUNT; k++) at += sprintf(at, " %d", k + 1);
  bad(long_text, "obj", "face 1: a polygon of 10002 corners that is not convex, expected at most 10000");
  free(long_text);
}

/* Texts of other editors and programs: a byte order mark, lines that end in a carriage return alone, capitals. */
static void text_variants(void **state) {
  (void)state;
  const char *text[][2] = {
      {"\xef\xbb\xbfv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "obj"},
      {"# old\rv 0 0 0\rv 1 0 0 # corner\rv 0 1 0\rf 1 \\\r2 3\r", "obj"},
      {"OFF\r3 1 0\r0 0 0\r1 0 0\r0 1 0\r3 0 1 2", "off"},
      {"SOLID PART\nFACET NORMAL 0 0 1\nOUTER LOOP\nVERTEX 0 0 0\nVERTEX 1 0 0\nVERTEX 0 1 0\nENDLOOP\nENDFACET\n"
       "ENDSOLID PART\n",
       "stl"},
      {"\xef\xbb\xbf\n  solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\n"
       "endfacet\nendsolid a\n",
       "stl"},
  };
  const double expected[9] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
  for (size_t k = 0; k < sizeof text / sizeof *text; k++) {
    MeshData m = good(text[k][0], text[k][1]);
    assert_int_equal(m.vertex_count, 3);
    assert_int_equal(m.triangle_count, 1);
    assert_memory_equal(m.vertex, expected, sizeof expected);
    mesh_data_free(&m);
  }
}

/* Headers without what is needed would give vertices at the origin, or no faces. */
static void ply_without_properties(void **state) {
  (void)state;
  bad("ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nend_header\n0 0\n", "ply",
      "m:6: element vertex: expected the properties x, y and z");
  bad("ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\nelement face 1\n"
      "property list uchar int corners\nend_header\n0 0 0\n3 0 0 0\n",
      "ply", "element face: expected a property list vertex_indices or vertex_index");
  bad("ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\nelement edge 1\n"
      "property int a\nend_header\n0 0 0\n0\n",
      "ply", "element edge: expected the properties vertex1 and vertex2");
  bad("ply\nformat ascii 1.0\nelement tristrips 1\n", "ply", "m:3: triangle strips are not read");
  bad("ply\nformat ascii 1.0\nelement face 1\nproperty list uchar int vertex_indices\nelement vertex 3\nproperty float "
      "x\n"
      "property float y\nproperty float z\nend_header\n3 0 1 2\n0 0 0\n1 0 0\n0 1 0\n",
      "ply", "element face comes before element vertex; write the vertices first");
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
  bad("ply\nformat ascii 1.0\nelement vertex 1000000000000\nproperty float x\nproperty float y\nproperty float z\n"
      "end_header\n0\n",
      "ply", "claims 1000000000000 vertex");
  bad("ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\nend_header\nq 0 "
      "0\n",
      "ply", "vertex 0: expected a number");
  bad("ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\nend_header\ninf "
      "0 0\n",
      "ply", "vertex 0: expected finite");
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
    bad_bytes(bytes, length - 1, "ply", "m: face 3: the file ends within it");
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
  bytes[80] = 2; /* the count */
  bad_bytes(bytes, length, "stl", "m: binary STL of 2 triangles by its header, but its size is that of 4");
  bytes[80] = 4;
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
      cmocka_unit_test(obj),
      cmocka_unit_test(obj_drops_degenerate),
      cmocka_unit_test(unused_vertices),
      cmocka_unit_test(weld),
      cmocka_unit_test(numbers_are_correctly_rounded),
      cmocka_unit_test(off),
      cmocka_unit_test(ply_ascii),
      cmocka_unit_test(ply_binary),
      cmocka_unit_test(stl),
      cmocka_unit_test(damaged_files),
      cmocka_unit_test(files),
      cmocka_unit_test(polygons),
      cmocka_unit_test(polygons_of_all_formats),
      cmocka_unit_test(text_variants),
      cmocka_unit_test(ply_without_properties),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
