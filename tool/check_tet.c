/* `abd check` of a mesh of tetrahedra: inverted, flat, repeated and overlapping ones, slivers, triangles that are no
 * faces, and the surface. Tested by tests/cli/soft.sh. */
#include "args.h"
#include "findings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double sliver_angle = 5; /* [degrees] */

/* The place of the first finding of a kind. */
static const char *place(const AbdTets *mesh, size_t tet, char text[96]) {
  double x[3] = {0};
  for (int k = 0; k < 4; k++)
    for (int i = 0; i < 3; i++) x[i] += mesh->mesh.vertex[3 * mesh->tet[4 * tet + (size_t)k] + (size_t)i] / 4;
  snprintf(text, 96, "(%.6g, %.6g, %.6g)", x[0], x[1], x[2]);
  return text;
}

/* Twice the area vectors of the four faces, outward. */
static void face_normals(const AbdTets *mesh, size_t tet, double n[4][3]) {
  static const int face[4][3] = {{0, 2, 1}, {0, 1, 3}, {1, 2, 3}, {0, 3, 2}};
  for (int f = 0; f < 4; f++) {
    const double *p[3];
    double u[3], v[3];
    for (int k = 0; k < 3; k++) p[k] = mesh->mesh.vertex + 3 * (size_t)mesh->tet[4 * tet + (size_t)face[f][k]];
    for (int i = 0; i < 3; i++) u[i] = p[1][i] - p[0][i], v[i] = p[2][i] - p[0][i];
    for (int i = 0; i < 3; i++) n[f][i] = u[(i + 1) % 3] * v[(i + 2) % 3] - u[(i + 2) % 3] * v[(i + 1) % 3];
  }
}

static double dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

/* The smallest angle between two faces [degrees]. */
static double least_dihedral(const AbdTets *mesh, size_t tet) {
  double n[4][3], least = 180;
  face_normals(mesh, tet, n);
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < i; j++) {
      double c = -dot(n[i], n[j]) / sqrt(dot(n[i], n[i]) * dot(n[j], n[j]));
      least = fmin(least, acos(fmax(-1, fmin(1, c))) * 180 / 3.14159265358979323846);
    }
  return least;
}

typedef struct Worst {
  size_t count, first;
  double value;
} Worst;

static void note(Worst *worst, size_t tet, double value) {
  if (worst->count++ == 0 || value < worst->value) worst->first = tet, worst->value = value;
}

/* Checks volumes and angles; returns the total volume. */
static double check_tets(Report *report, const AbdTets *mesh) {
  Worst inverted = {0}, flat = {0}, sliver = {0};
  double filled = 0;
  char at[96];
  for (size_t t = 0; t < mesh->tet_count; t++) {
    double volume = abd_tets_volume(mesh, t), angle = volume > 0 ? least_dihedral(mesh, t) : 0;
    filled += volume;
    if (volume < 0) note(&inverted, t, volume);
    else if (!(volume > 0)) note(&flat, t, 0);
    else if (angle < sliver_angle) note(&sliver, t, angle);
  }
  if (inverted.count)
    problem(report,
            "inverted: %zu tetrahedr%s inside out, the worst is %zu at %s with volume %.6g; the mesh folds over itself "
            "there",
            inverted.count, inverted.count == 1 ? "on is" : "a are", inverted.first, place(mesh, inverted.first, at),
            inverted.value);
  if (flat.count)
    problem(report, "flat: %zu tetrahedr%s without volume, the first is %zu at %s; remove or remesh", flat.count,
            flat.count == 1 ? "on" : "a", flat.first, place(mesh, flat.first, at));
  if (sliver.count)
    problem(report,
            "sliver: %zu tetrahedr%s with an angle between faces below %g degrees, the worst is %zu at %s with %.3g; "
            "remesh with a quality bound",
            sliver.count, sliver.count == 1 ? "on" : "a", sliver_angle, sliver.first, place(mesh, sliver.first, at),
            sliver.value);
  return filled;
}

static int check_solid(Report *report, const AbdTets *mesh) {
  AbdTetFindings found;
  double filled = check_tets(report, mesh);
  if (abd_tets_check(mesh, &found) != ABD_OK) return EXIT_FAILED;
  if (found.has_twins)
    problem(report, "repeated: tetrahedra %zu and %zu have the same corners; remove one", found.twin[0], found.twin[1]);
  if (found.shared)
    problem(report, "overlapping: %zu face%s of more than two tetrahedra, or of two on the same side", found.shared,
            plural(found.shared));
  if (found.stray)
    problem(report,
            "the surface does not match: %zu triangle%s of the file (the first is %zu) that are no faces of tetrahedra",
            found.stray, plural(found.stray), found.first_stray);
  remark(report, "%zu tetrahedr%s of volume %.6g on %zu vertices", mesh->tet_count, mesh->tet_count == 1 ? "on" : "a",
         filled, mesh->mesh.vertex_count);
  return EXIT_GOOD;
}

int check_tet_file(Report *report) {
  AbdTets mesh;
  AbdError error;
  AbdSurface skin = {0};
  if (abd_tets_load(report->file, &mesh, &error) != ABD_OK)
    return fprintf(stderr, "abd check: %s\n", error.text), EXIT_BAD_INPUT;
  if (mesh.turned) remark(report, "every tetrahedron is inside out: another convention, turned on reading");
  if (mesh.unused_count)
    remark(report, "left out: %zu %s without an element", mesh.unused_count, vertices(mesh.unused_count));
  int code = mesh.tet_count ? check_solid(report, &mesh) : EXIT_GOOD;
  if (code == EXIT_GOOD && abd_tets_skin(&mesh, &skin) != ABD_OK) code = EXIT_FAILED;
  if (code == EXIT_FAILED) fprintf(stderr, "abd check: out of memory\n");
  else code = check_skin(report, &skin, mesh.tet_count > 0);
  abd_surface_free(&skin);
  abd_tets_free(&mesh);
  return code;
}
