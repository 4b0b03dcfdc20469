/* Mesh files read through assimp: a tetrahedron in several formats has the same corners in metres, z up, whatever the
 * unit and the up axis of the file. */
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

#include "scene/mesh_assimp.h"
#include "scene/mesh_file.h"

#ifdef ABD_HAVE_ASSIMP

#include <assimp/cexport.h>
#include <assimp/cimport.h>
#include <assimp/scene.h>
#include <zlib.h>

/* assimp loses memory when an archive is cut off. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) { return "leak:libassimp\n"; }

static char folder[] = "/tmp/abd-assimp-XXXXXX";

static const char *in_folder(const char *name) {
  static char path[256];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static void write_file(const char *name, const void *bytes, size_t length) {
  FILE *f = fopen(in_folder(name), "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(bytes, 1, length, f), length);
  fclose(f);
}

static char *read_text(const char *name) {
  FILE *f = fopen(in_folder(name), "rb");
  char *text = calloc(1, 1 << 20);
  assert_true(f && text);
  assert_true(fread(text, 1, (1 << 20) - 1, f) > 0);
  fclose(f);
  return text;
}

static void replace(const char *name, const char *old, const char *new) {
  char *text = read_text(name), *at = strstr(text, old);
  if (!at) fail_msg("%s has no %s", name, old);
  size_t head = (size_t)(at - text), tail = strlen(at + strlen(old));
  char *out = calloc(1, head + strlen(new) + tail + 1);
  assert_non_null(out);
  memcpy(out, text, head);
  strcpy(out + head, new);
  strcat(out, at + strlen(old));
  write_file(name, out, strlen(out));
  free(out);
  free(text);
}

/* The corners of the tetrahedron: (0, 0, 0), (1, 0, 0), (0, 2, 0), (0, 0, 3) in its own axes. */
static void export_as(const char *format, const char *name) {
  static const char obj[] = "v 0 0 0\nv 1 0 0\nv 0 2 0\nv 0 0 3\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";
  write_file("tet.obj", obj, sizeof obj - 1);
  const struct aiScene *scene = aiImportFile(in_folder("tet.obj"), 0);
  assert_non_null(scene);
  assert_int_equal(aiExportScene(scene, format, in_folder(name), 0), AI_SUCCESS);
  aiReleaseImport(scene);
}

/* Whether the mesh has a vertex there. */
static bool has_vertex(const MeshData *m, double x, double y, double z) {
  double size = fabs(x) + fabs(y) + fabs(z);
  for (size_t i = 0; i < m->vertex_count; i++) {
    const double *v = m->vertex + 3 * i;
    if (fabs(v[0] - x) + fabs(v[1] - y) + fabs(v[2] - z) <= 1e-6 * size) return true;
  }
  return false;
}

static double volume(const MeshData *m) {
  double sum = 0;
  for (size_t t = 0; t < m->triangle_count; t++) {
    const double *a = m->vertex + 3 * m->triangle[3 * t], *b = m->vertex + 3 * m->triangle[3 * t + 1],
                 *c = m->vertex + 3 * m->triangle[3 * t + 2];
    for (int k = 0; k < 3; k++) {
      int i = (k + 1) % 3, j = (k + 2) % 3;
      sum += a[k] * (b[i] * c[j] - b[j] * c[i]) / 6;
    }
  }
  return sum;
}

/* The mesh has four corners, is closed, and its edges from the origin are the three vectors. */
static void expect(const char *name, const double edge[3][3]) {
  MeshData m;
  SceneError error;
  assert_true(mesh_extension_known(name));
  if (!mesh_load(in_folder(name), &m, &error)) fail_msg("%s", error.text);
  const double *e = edge[0], *f = edge[1], *g = edge[2];
  double wanted =
      (e[0] * (f[1] * g[2] - f[2] * g[1]) + e[1] * (f[2] * g[0] - f[0] * g[2]) + e[2] * (f[0] * g[1] - f[1] * g[0])) /
      6;
  if (m.vertex_count != 4 || m.triangle_count != 4)
    fail_msg("%s: %zu vertices, %zu triangles", name, m.vertex_count, m.triangle_count);
  for (int k = 0; k < 3; k++)
    if (!has_vertex(&m, edge[k][0], edge[k][1], edge[k][2]))
      fail_msg("%s: no vertex (%g, %g, %g); the first is (%g, %g, %g)", name, edge[k][0], edge[k][1], edge[k][2],
               m.vertex[0], m.vertex[1], m.vertex[2]);
  if (!(fabs(volume(&m) - wanted) <= 1e-5 * fabs(wanted))) fail_msg("%s: volume %g", name, volume(&m));
  mesh_data_free(&m);
}

static const double y_up[3][3] = {{1, 0, 0}, {0, 0, 2}, {0, -3, 0}}, z_up[3][3] = {{1, 0, 0}, {0, 2, 0}, {0, 0, 3}};

static void test_gltf(void **state) {
  (void)state;
  export_as("gltf2", "tet.gltf");
  expect("tet.gltf", y_up);
  export_as("glb2", "tet.glb");
  expect("tet.glb", y_up);
}

static void test_dae(void **state) {
  (void)state;
  const double small[3][3] = {{0.001, 0, 0}, {0, 0.002, 0}, {0, 0, 0.003}};
  export_as("collada", "tet.dae");
  expect("tet.dae", y_up);
  replace("tet.dae", "Y_UP", "Z_UP");
  expect("tet.dae", z_up);
  replace("tet.dae", "meter=\"1\"", "meter=\"0.001\"");
  expect("tet.dae", small);
}

static void test_fbx(void **state) {
  (void)state;
  double small[3][3];
  for (int i = 0; i < 9; i++) small[i / 3][i % 3] = 0.01 * y_up[i / 3][i % 3]; /* its unit is the centimetre */
  export_as("fbxa", "tet.fbx");
  expect("tet.fbx", (const double(*)[3])small);
  replace("tet.fbx", "P: \"UnitScaleFactor\", \"double\", \"Number\", \"\", 1",
          "P: \"UnitScaleFactor\", \"double\", \"Number\", \"\", 100");
  expect("tet.fbx", y_up);
  replace("tet.fbx", "P: \"UpAxis\", \"int\", \"Integer\", \"\", 1", "P: \"UpAxis\", \"int\", \"Integer\", \"\", 2");
  expect("tet.fbx", z_up);
}

/* ---- 3MF: a zip archive, written here so that the unit can be chosen ---- */

typedef struct Zip {
  unsigned char bytes[8192], directory[1024];
  size_t length, directory_length;
  int count;
} Zip;

static void put(unsigned char *bytes, size_t *length, uint32_t value, int size) {
  for (int i = 0; i < size; i++) bytes[(*length)++] = (unsigned char)(value >> 8 * i);
}

static void put_sizes(unsigned char *b, size_t *n, const char *name, const char *text) {
  put(b, n, 0, 4); /* time, date */
  put(b, n, (uint32_t)crc32(0, (const Bytef *)text, (uInt)strlen(text)), 4);
  put(b, n, (uint32_t)strlen(text), 4);
  put(b, n, (uint32_t)strlen(text), 4);
  put(b, n, (uint32_t)strlen(name), 2);
  put(b, n, 0, 2);
}

static void zip_add(Zip *z, const char *name, const char *text) {
  uint32_t offset = (uint32_t)z->length;
  put(z->bytes, &z->length, 0x04034b50, 4);
  put(z->bytes, &z->length, 20, 2), put(z->bytes, &z->length, 0, 4); /* version, flags, stored */
  put_sizes(z->bytes, &z->length, name, text);
  memcpy(z->bytes + z->length, name, strlen(name)), z->length += strlen(name);
  memcpy(z->bytes + z->length, text, strlen(text)), z->length += strlen(text);
  put(z->directory, &z->directory_length, 0x02014b50, 4);
  put(z->directory, &z->directory_length, 20, 2), put(z->directory, &z->directory_length, 20, 2);
  put(z->directory, &z->directory_length, 0, 4);
  put_sizes(z->directory, &z->directory_length, name, text);
  for (int i = 0; i < 10; i++) put(z->directory, &z->directory_length, 0, 1);
  put(z->directory, &z->directory_length, offset, 4);
  memcpy(z->directory + z->directory_length, name, strlen(name)), z->directory_length += strlen(name);
  z->count++;
}

static void zip_write(Zip *z, const char *name) {
  uint32_t start = (uint32_t)z->length;
  memcpy(z->bytes + z->length, z->directory, z->directory_length), z->length += z->directory_length;
  put(z->bytes, &z->length, 0x06054b50, 4), put(z->bytes, &z->length, 0, 4);
  put(z->bytes, &z->length, (uint32_t)z->count, 2), put(z->bytes, &z->length, (uint32_t)z->count, 2);
  put(z->bytes, &z->length, (uint32_t)z->directory_length, 4), put(z->bytes, &z->length, start, 4);
  put(z->bytes, &z->length, 0, 2);
  write_file(name, z->bytes, z->length);
}

static void write_3mf(const char *unit) {
  static Zip z;
  char model[2048];
  z = (Zip){.count = 0};
  snprintf(model, sizeof model,
           "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<model%s xml:lang=\"en-US\" "
           "xmlns=\"http://schemas.microsoft.com/3dmanufacturing/core/2015/02\"><resources><object id=\"1\" "
           "type=\"model\"><mesh><vertices><vertex x=\"0\" y=\"0\" z=\"0\"/><vertex x=\"1\" y=\"0\" z=\"0\"/>"
           "<vertex x=\"0\" y=\"2\" z=\"0\"/><vertex x=\"0\" y=\"0\" z=\"3\"/></vertices><triangles>"
           "<triangle v1=\"0\" v2=\"2\" v3=\"1\"/><triangle v1=\"0\" v2=\"1\" v3=\"3\"/>"
           "<triangle v1=\"0\" v2=\"3\" v3=\"2\"/><triangle v1=\"1\" v2=\"2\" v3=\"3\"/></triangles></mesh></object>"
           "</resources><build><item objectid=\"1\"/></build></model>",
           unit);
  zip_add(
      &z, "[Content_Types].xml",
      "<?xml version=\"1.0\"?><Types xmlns=\"http://schemas.openxmlformats.org/package/2006/content-types\">"
      "<Default Extension=\"rels\" ContentType=\"application/vnd.openxmlformats-package.relationships+xml\"/>"
      "<Default Extension=\"model\" ContentType=\"application/vnd.ms-package.3dmanufacturing-3dmodel+xml\"/></Types>");
  zip_add(&z, "_rels/.rels",
          "<?xml version=\"1.0\"?><Relationships "
          "xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\"><Relationship "
          "Target=\"/3D/3dmodel.model\" Id=\"rel0\" "
          "Type=\"http://schemas.microsoft.com/3dmanufacturing/2013/01/3dmodel\"/></Relationships>");
  zip_add(&z, "3D/3dmodel.model", model);
  zip_write(&z, "tet.3mf");
}

static void test_3mf(void **state) {
  (void)state;
  const struct {
    const char *unit;
    double metres;
  } unit[] = {{"", 1e-3},
              {" unit=\"millimeter\"", 1e-3},
              {" unit=\"inch\"", 0.0254},
              {" unit=\"meter\"", 1},
              {" unit=\"ell\"", 1e-3}};
  for (int k = 0; k < 5; k++) {
    double edge[3][3];
    for (int i = 0; i < 9; i++) edge[i / 3][i % 3] = unit[k].metres * z_up[i / 3][i % 3];
    write_3mf(unit[k].unit);
    expect("tet.3mf", (const double(*)[3])edge);
  }
  double small[3][3];
  for (int i = 0; i < 9; i++) small[i / 3][i % 3] = 1e-3 * z_up[i / 3][i % 3];
  export_as("3mf", "deflated.3mf");
  expect("deflated.3mf", (const double(*)[3])small);
}

static void test_bad_files(void **state) {
  (void)state;
  MeshData m;
  SceneError error;
  write_file("bad.glb", "glTF and no more", 16);
  assert_false(mesh_load(in_folder("bad.glb"), &m, &error));
  assert_non_null(strstr(error.text, "bad.glb: assimp cannot read it"));
  assert_false(mesh_load("/nowhere/at/all.dae", &m, &error));
  assert_non_null(strstr(error.text, "No such file"));
  assert_false(mesh_extension_known("scene.json"));
  assert_false(mesh_extension_known("tets.mesh"));
  assert_false(mesh_extension_known("run.abd"));
  /* cut off anywhere, an archive is refused or read; its unit never makes trouble */
  write_3mf(" unit=\"inch\"");
  FILE *f = fopen(in_folder("tet.3mf"), "rb");
  static char bytes[8192];
  assert_non_null(f);
  size_t length = fread(bytes, 1, sizeof bytes, f);
  fclose(f);
  for (size_t n = 0; n < length; n += 37) {
    write_file("cut.3mf", bytes, n);
    if (mesh_load(in_folder("cut.3mf"), &m, &error)) mesh_data_free(&m);
  }
}

static int make_folder(void **state) {
  (void)state;
  return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
  (void)state;
  static const char *const name[] = {"tet.obj", "tet.mtl", "tet.gltf",     "tet.bin", "tet.glb", "tet.dae",
                                     "tet.fbx", "tet.3mf", "deflated.3mf", "bad.glb", "cut.3mf"};
  for (size_t i = 0; i < sizeof name / sizeof *name; i++) remove(in_folder(name[i]));
  return rmdir(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_gltf), cmocka_unit_test(test_dae),
                                     cmocka_unit_test(test_fbx), cmocka_unit_test(test_3mf),
                                     cmocka_unit_test(test_bad_files)};
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

#else

static void test_unknown(void **state) {
  (void)state;
  MeshData m;
  SceneError error;
  assert_false(mesh_extension_known("tet.dae"));
  assert_false(mesh_load("tet.dae", &m, &error));
  assert_non_null(strstr(error.text, "builds with assimp"));
  printf("skipped: no assimp\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_unknown)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
