/* See slow.h. */
#include "slow.h"

#include "trouble.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Warner {
  const AbdWorld *world;
  void (*say)(void *user, const char *sentence);
  void *user;
  double range; /* contact.range in force [m] */
} Warner;

/* ---- Range and edges ---- */

static int compare_double(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* NaN if memory runs out, infinity if there are no edges. */
static double median_edge(const AbdMeshView *mesh) {
  if (!mesh->edge_count) return INFINITY;
  double *length = malloc(mesh->edge_count * sizeof *length);
  size_t count = 0;
  if (!length) return NAN;
  for (size_t e = 0; e < mesh->edge_count; e++) {
    const double *a = mesh->vertex + 3 * mesh->edge[2 * e], *b = mesh->vertex + 3 * mesh->edge[2 * e + 1];
    double squared = pow(a[0] - b[0], 2) + pow(a[1] - b[1], 2) + pow(a[2] - b[2], 2);
    if (squared > 0) length[count++] = sqrt(squared); /* a point is an edge without length */
  }
  qsort(length, count, sizeof *length, compare_double);
  double median = count ? length[count / 2] : INFINITY;
  free(length);
  return median;
}

static bool warn_of_range(const Warner *w) {
  double least = INFINITY;
  char name[120] = "", text[480];
  for (uint32_t m = 1; m <= abd_world_mesh_count(w->world); m++) {
    AbdMeshView mesh;
    if (abd_mesh_view(w->world, (AbdMeshId){m}, &mesh) != ABD_OK || mesh.half_space) continue;
    double median = median_edge(&mesh);
    if (isnan(median)) return false;
    if (median < least) least = median, snprintf(name, sizeof name, "%s", mesh.name ? mesh.name : "?");
  }
  if (!(w->range > least)) return true;
  snprintf(text, sizeof text,
           "contact.range, %.3g m, is larger than the edges of mesh '%s' (half of them are shorter than %.3g m): each "
           "triangle repels many others and steps will be slow; try --set contact.range=%.1g, or a coarser mesh",
           w->range, name, least, 0.25 * least);
  w->say(w->user, text);
  return true;
}

/* ---- Masses ---- */

static void warn_of_masses(const Warner *w) {
  double least = INFINITY, most = 0;
  AbdBodyId light = {0}, heavy = {0};
  for (uint32_t b = 1; b <= abd_world_body_count(w->world); b++) {
    AbdBodyView body;
    if (abd_body_view(w->world, (AbdBodyId){b}, &body) != ABD_OK || body.motion != ABD_MOTION_DYNAMIC) continue;
    if (body.mass < least) least = body.mass, light.id = b;
    if (body.mass > most) most = body.mass, heavy.id = b;
  }
  if (!(most > 1e5 * least)) return;
  char text[480];
  snprintf(text, sizeof text,
           "'%.80s' weighs %.3g kg, '%.80s' %.3g kg, %.1g times less: if such bodies touch, steps take many "
           "iterations; check the units of the meshes, or bring the densities nearer to each other",
           trouble_body_name(w->world, heavy), most, trouble_body_name(w->world, light), least, most / least);
  w->say(w->user, text);
}

/* ---- Touching starts ---- */

typedef struct Box {
  double lo[3], hi[3];
  uint32_t body;
  bool moves;
} Box;

static int compare_boxes(const void *a, const void *b) {
  const Box *x = a, *y = b;
  if (x->lo[0] != y->lo[0]) return x->lo[0] < y->lo[0] ? -1 : 1;
  return (x->body > y->body) - (x->body < y->body);
}

static void fill_box(const AbdWorld *world, uint32_t id, double margin, Box *box) {
  AbdBodyView body;
  AbdMeshView mesh;
  double n[12];
  *box = (Box){{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}, id, false};
  if (abd_body_view(world, (AbdBodyId){id}, &body) != ABD_OK || abd_mesh_view(world, body.mesh, &mesh) != ABD_OK ||
      abd_body_nodes(world, (AbdBodyId){id}, n) != ABD_OK)
    return;
  box->moves = body.motion == ABD_MOTION_DYNAMIC;
  for (size_t v = 0; v < mesh.vertex_count; v++)
    for (int i = 0; i < 3; i++) {
      const double *X = mesh.vertex + 3 * v;
      double x = n[i] + n[3 + i] * X[0] + n[6 + i] * X[1] + n[9 + i] * X[2];
      box->lo[i] = fmin(box->lo[i], x - margin), box->hi[i] = fmax(box->hi[i], x + margin);
    }
  for (int i = 0; i < 3 && mesh.half_space; i++) box->lo[i] = -INFINITY, box->hi[i] = INFINITY;
}

/* Whether they share a point after a is moved by the gap along some axis, as coinciding surfaces do. */
static bool touches(const AbdWorld *world, AbdBodyId a, AbdBodyId b, double gap) {
  double at[12], nodes_b[12];
  AbdCrossing crossing;
  if (!abd_world_pair_collides(world, a, b) || abd_body_nodes(world, a, at) != ABD_OK ||
      abd_body_nodes(world, b, nodes_b) != ABD_OK)
    return false;
  for (int k = 0; k < 6; k++) {
    double moved[12];
    memcpy(moved, at, sizeof moved);
    moved[k / 2] += k % 2 ? gap : -gap;
    if (abd_world_find_crossing(world, a, moved, b, nodes_b, &crossing)) return true;
  }
  return false;
}

static bool overlap(const Box *a, const Box *b) {
  for (int i = 0; i < 3; i++)
    if (a->lo[i] > b->hi[i] || b->lo[i] > a->hi[i]) return false;
  return true;
}

static bool warn_of_touching(const Warner *w) {
  enum { MOST_TESTS = 2000, MOST_FOUND = 50 }; /* limits the time that the warning takes */
  size_t count = abd_world_body_count(w->world), tests = 0, found = 0;
  double gap = 0.02 * w->range;
  AbdBodyId first[2] = {{0}, {0}};
  Box *box = malloc((count + 1) * sizeof *box);
  if (!box) return false;
  for (size_t k = 0; k < count; k++) fill_box(w->world, (uint32_t)k + 1, 0.5 * gap, &box[k]);
  qsort(box, count, sizeof *box, compare_boxes);
  for (size_t i = 0; i < count; i++)
    for (size_t j = i + 1; j < count && box[j].lo[0] <= box[i].hi[0] && tests < MOST_TESTS && found < MOST_FOUND; j++) {
      if (!(box[i].moves || box[j].moves) || !overlap(&box[i], &box[j])) continue;
      tests++;
      AbdBodyId a = {box[box[i].moves ? i : j].body}, b = {box[box[i].moves ? j : i].body};
      if (touches(w->world, a, b, gap) && found++ == 0) first[0] = a, first[1] = b;
    }
  free(box);
  if (!found) return true;
  char text[480], more[64] = "";
  if (found > 1)
    snprintf(more, sizeof more, ", as do%s %zu more pair%s%s", found == 2 ? "es" : "", found - 1, found == 2 ? "" : "s",
             tests == MOST_TESTS || found == MOST_FOUND ? " at least" : "");
  snprintf(text, sizeof text,
           "'%.80s' and '%.80s' start nearer than %.1g m%s: they are pushed apart in the first steps, which will be "
           "slow; leave a gap of about contact.range, %.3g m",
           trouble_body_name(w->world, first[0]), trouble_body_name(w->world, first[1]), gap, more, w->range);
  w->say(w->user, text);
  return true;
}

bool slow_warn(const AbdWorld *world, void (*say)(void *user, const char *sentence), void *user) {
  Warner warner = {world, say, user, abd_world_settings(world).contact.range};
  warn_of_masses(&warner);
  return warn_of_range(&warner) && warn_of_touching(&warner);
}
