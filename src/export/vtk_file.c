/* Frames and contacts for ParaView. See series.h. Surfaces have the velocity of each point and the body and colour of
 * each cell; contacts have the force on body a, which is opposite to that on body b. */
#define _GNU_SOURCE
#include "export/body_point.h"
#include "export/out_file.h"
#include "export/series.h"
#include "export/strain.h"
#include "export/vtk_data.h"
#include "export/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool no_memory(const char *path, ExportError *error) {
  snprintf(error->text, sizeof error->text, "%s: out of memory", path);
  return false;
}

/* ---- Surfaces ---- */

/* The first pass counts cells; the second one stores the body of each. */
typedef struct Walk {
  VtkData *data;
  int32_t *body;
  unsigned char *color;
  bool fill;
} Walk;

static void add_cell(Walk *walk, const RunScene *scene, int kind, const uint32_t *corner, int64_t base, size_t b,
                     size_t first) {
  VtkData *data = walk->data;
  size_t at = data->cell_count[kind]++;
  if (!walk->fill) return;
  for (int i = 0; i <= kind; i++) data->corner[kind][at * (size_t)(kind + 1) + (size_t)i] = base + corner[i];
  walk->body[first + at] = (int32_t)b + 1;
  memcpy(walk->color + 3 * (first + at), scene->body[b].color, 3);
}

/* first: index of the first cell of each kind. */
static bool walk_cells(Walk *walk, const RunScene *scene, int64_t step, const size_t first[VTK_CELL_KINDS]) {
  int64_t base = 0;
  for (int k = 0; k < VTK_CELL_KINDS; k++) walk->data->cell_count[k] = 0;
  for (size_t b = 0; b < scene->body_count; b++) {
    const RunMesh *mesh = &scene->mesh[scene->body[b].mesh];
    WireList wires;
    if (!run_body_alive(&scene->body[b], step)) continue;
    if (!wires_find(mesh, &wires)) return false;
    for (size_t k = 0; k < wires.count; k++) {
      int kind = wires.edge[k][0] == wires.edge[k][1] ? VTK_VERTS : VTK_LINES;
      add_cell(walk, scene, kind, wires.edge[k], base, b, first[kind]);
    }
    for (size_t t = 0; t < mesh->triangle_count; t++)
      add_cell(walk, scene, VTK_POLYS, mesh->triangle + 3 * t, base, b, first[VTK_POLYS]);
    base += (int64_t)mesh->vertex_count;
    wires_free(&wires);
  }
  return true;
}

static bool make_cells(VtkData *data, const RunScene *scene, int64_t step) {
  Walk walk = {.data = data};
  if (!walk_cells(&walk, scene, step, (size_t[VTK_CELL_KINDS]){0})) return false;
  size_t first[VTK_CELL_KINDS] = {0, data->cell_count[0], data->cell_count[0] + data->cell_count[1]};
  for (int k = 0; k < VTK_CELL_KINDS; k++) {
    data->corner[k] = malloc(data->cell_count[k] * (size_t)(k + 1) * sizeof(int64_t) + 1);
    if (!data->corner[k]) return false;
  }
  walk.body = vtk_add_array(data, "body", VTK_INT32, 1, true);
  walk.color = vtk_add_array(data, "color", VTK_UINT8, 3, true);
  walk.fill = true;
  return walk.body && walk.color && walk_cells(&walk, scene, step, first);
}

/* v + w x (x - p), of a rigid motion. */
static void point_velocity(const double *v, const double *p, const double *x, double out[3]) {
  double r[3] = {x[0] - p[0], x[1] - p[1], x[2] - p[2]};
  for (int i = 0; i < 3; i++) out[i] = v[i] + v[3 + (i + 1) % 3] * r[(i + 2) % 3] - v[3 + (i + 2) % 3] * r[(i + 1) % 3];
}

static bool make_points(VtkData *data, const RunScene *scene, const RunFrame *frame) {
  size_t count = 0;
  for (size_t b = 0; b < scene->body_count; b++)
    if (run_body_alive(&scene->body[b], frame->step)) data->point_count += body_mesh(scene, b)->vertex_count;
  data->point = malloc(24 * data->point_count + 1);
  double *velocity = frame->velocity ? vtk_add_array(data, "velocity", VTK_FLOAT64, 3, false) : NULL;
  if (!data->point || (frame->velocity && !velocity)) return false;
  for (size_t b = 0; b < scene->body_count; b++) {
    const RunMesh *mesh = &scene->mesh[scene->body[b].mesh];
    const RunBody *body = &scene->body[b];
    for (size_t k = 0; k < mesh->vertex_count && run_body_alive(body, frame->step); k++, count++) {
      body_point(scene, frame->nodes, b, k, data->point + 3 * count);
      if (!velocity) continue;
      const double *rate = frame->velocity + body->rate;
      if (body->soft) memcpy(velocity + 3 * count, rate + 3 * k, 3 * sizeof *velocity);
      else point_velocity(rate, frame->nodes + body->node, data->point + 3 * count, velocity + 3 * count);
    }
  }
  return true;
}

/* If there are soft bodies: strain and stress of every point, the mean of the elements around it. */
static bool make_strain(VtkData *data, const RunScene *scene, const RunFrame *frame) {
  bool soft = false;
  for (size_t b = 0; b < scene->body_count; b++) soft |= scene->body[b].soft != NULL;
  if (!soft) return true;
  double *strain = vtk_add_array(data, "strain", VTK_FLOAT64, 1, false),
         *stress = vtk_add_array(data, "von_mises", VTK_FLOAT64, 1, false);
  bool good = strain && stress;
  uint32_t *count = malloc((data->point_count + 1) * sizeof *count);
  for (size_t b = 0; good && count && b < scene->body_count; b++) {
    const RunMesh *mesh = body_mesh(scene, b);
    const double *nodes = frame->nodes + scene->body[b].node;
    if (!run_body_alive(&scene->body[b], frame->step)) continue;
    if (scene->body[b].soft)
      soft_strain(mesh, nodes, strain, count), good = soft_stress(mesh, scene->body[b].soft, nodes, stress);
    for (size_t k = 0; !scene->body[b].soft && k < mesh->vertex_count; k++) strain[k] = pose_strain(nodes);
    strain += mesh->vertex_count, stress += mesh->vertex_count;
  }
  good = good && count;
  free(count);
  return good;
}

bool export_vtk(const RunScene *scene, const RunFrame *frame, const char *path, ExportError *error) {
  VtkData data = {.time = frame->time};
  bool good =
      make_points(&data, scene, frame) && make_strain(&data, scene, frame) && make_cells(&data, scene, frame->step);
  good = good ? vtk_write(&data, path, error) : no_memory(path, error);
  vtk_free(&data);
  return good;
}

/* ---- Contacts ---- */

static bool make_contacts(VtkData *data, const AbdContact *contact, size_t count) {
  data->point_count = data->cell_count[VTK_VERTS] = count;
  data->point = malloc(24 * count + 1);
  data->corner[VTK_VERTS] = malloc(count * sizeof(int64_t) + 1);
  double *force = vtk_add_array(data, "force", VTK_FLOAT64, 3, false),
         *normal = vtk_add_array(data, "normal", VTK_FLOAT64, 3, false);
  double *friction = vtk_add_array(data, "friction_force", VTK_FLOAT64, 3, false);
  double *size = vtk_add_array(data, "normal_force", VTK_FLOAT64, 1, false),
         *gap = vtk_add_array(data, "distance", VTK_FLOAT64, 1, false);
  int32_t *body_a = vtk_add_array(data, "body_a", VTK_INT32, 1, false),
          *body_b = vtk_add_array(data, "body_b", VTK_INT32, 1, false);
  if (!data->point || !data->corner[VTK_VERTS] || !force || !normal || !friction || !size || !gap || !body_a || !body_b)
    return false;
  for (size_t k = 0; k < count; k++) {
    const AbdContact *c = &contact[k];
    data->corner[VTK_VERTS][k] = (int64_t)k;
    for (size_t i = 0; i < 3; i++) {
      data->point[3 * k + i] = c->point[i], normal[3 * k + i] = c->normal[i],
                          friction[3 * k + i] = c->friction_force[i];
      force[3 * k + i] = c->normal_force * c->normal[i] + c->friction_force[i];
    }
    size[k] = c->normal_force, gap[k] = c->distance;
    body_a[k] = (int32_t)c->body_a.id, body_b[k] = (int32_t)c->body_b.id;
  }
  return true;
}

bool export_vtk_contacts(Run *run, int64_t step, const char *path, size_t *count, ExportError *error) {
  AbdContact *contact;
  if (!run_read_contacts(run, step, &contact, count)) {
    snprintf(error->text, sizeof error->text, "%s", run_error(run));
    return false;
  }
  VtkData data = {0};
  bool good = true;
  if (*count) good = make_contacts(&data, contact, *count) ? vtk_write(&data, path, error) : no_memory(path, error);
  vtk_free(&data);
  free(contact);
  return good;
}

/* ---- A series ---- */

/* Paths beside the .pvd: STEM_00010.vtp and STEM_contacts_00010.vtp. */
static char *part_path(const char *path, const char *part, int64_t step) {
  const char *dot = strrchr(path, '.');
  char *name = NULL;
  return asprintf(&name, "%.*s%s_%05lld.vtp", (int)(dot - path), path, part, (long long)step) < 0 ? NULL : name;
}

static void list_part(FILE *file, double time, int part, const char *path) {
  const char *slash = strrchr(path, '/');
  fprintf(file, "    <DataSet timestep=\"%.12g\" part=\"%d\" name=\"%s\" file=\"", time, part,
          part ? "contacts" : "bodies");
  for (const char *c = slash ? slash + 1 : path; *c; c++) {
    if (*c == '&' || *c == '<' || *c == '"') fprintf(file, "&#%d;", *c);
    else fputc(*c, file);
  }
  fprintf(file, "\"/>\n");
}

static bool write_parts(const ExportSeries *series, size_t k, const char *path, FILE *list, ExportError *error) {
  RunFrame frame;
  size_t contacts = 0;
  if (!series_read(series, k, &frame, error)) return false;
  char *bodies = part_path(path, "", frame.step), *points = part_path(path, "_contacts", frame.step);
  bool good = bodies && points ? true : no_memory(path, error);
  good = good && export_vtk(series->scene, &frame, bodies, error) &&
         export_vtk_contacts(series->run, frame.step, points, &contacts, error);
  if (good) list_part(list, frame.time, 0, bodies);
  if (good && contacts) list_part(list, frame.time, 1, points);
  free(bodies), free(points);
  run_frame_destroy(&frame);
  return good;
}

bool export_pvd(const ExportSeries *series, const char *path, ExportError *error) {
  OutFile out;
  if (!out_open(&out, path, error)) return false;
  fprintf(out.file,
          "<?xml version=\"1.0\"?>\n<VTKFile type=\"Collection\" version=\"1.0\" byte_order=\"LittleEndian\">\n  "
          "<Collection>\n");
  bool good = true;
  for (size_t k = 0; good && k < series->step_count; k++) {
    good = write_parts(series, k, path, out.file, error);
    series_tell(series, k + 1);
  }
  fprintf(out.file, "  </Collection>\n</VTKFile>\n");
  if (good) return out_close(&out, true, error);
  ExportError reason = *error;
  out_close(&out, false, error);
  *error = reason;
  return false;
}
