/* Makes solids of bodies: meshes with their normals, wires as strips, infinite grounds. See picture_parts.h. */
#include "export/crease.h"
#include "export/picture_parts.h"
#include "export/strain.h"

#include <stdlib.h>

/* ---- From bodies to solids ---- */

/* A ground is a half-space, or a static flat mesh at right angles to the up axis. */
static bool is_ground(const Draw *draw, const RunScene *scene, size_t body, const double *nodes) {
  const RunMesh *mesh = &scene->mesh[scene->body[body].mesh];
  if (scene->body[body].motion != ABD_MOTION_STATIC || mesh->triangle_count == 0) return false;
  double lo = INFINITY, hi = -INFINITY, wide = 0;
  for (size_t k = 0; k < mesh->vertex_count; k++) {
    V3 X = v3(mesh->vertex + 3 * k);
    double h = dot(draw->up, world_point(nodes + scene->body[body].node, mesh->vertex + 3 * k));
    lo = least(lo, h), hi = most(hi, h), wide = most(wide, sqrt(dot(X, X)));
  }
  return hi - lo < 0.15 * wide && wide > 0.5 * draw->radius;
}

static void add_quad(Solid *solid, V3 corner, V3 along, V3 across) {
  size_t quad = solid->triangle_count / 2;
  V3 p[4] = {corner, add(corner, along), add(add(corner, along), across), add(corner, across)};
  double *vertex = (double *)solid->vertex + 12 * quad;
  uint32_t *index = (uint32_t *)solid->triangle + 6 * quad, pick[6] = {0, 1, 2, 0, 2, 3};
  for (int k = 0; k < 4; k++) vertex[3 * k] = p[k].x, vertex[3 * k + 1] = p[k].y, vertex[3 * k + 2] = p[k].z;
  for (int k = 0; k < 6; k++) index[k] = (uint32_t)(4 * quad) + pick[k];
  solid->vertex_count += 4, solid->triangle_count += 2;
}

/* Wires are strips that face the camera, points small squares. */
static void add_wires(const Draw *draw, PictureModel *m, Solid *solid, const WireList *wires, const RunMesh *mesh,
                      const double *nodes, V3 color) {
  double width = 0.004 * draw->radius;
  for (size_t k = 0; k < wires->count; k++) {
    V3 a = world_point(nodes, mesh->vertex + 3 * wires->edge[k][0]);
    V3 b = world_point(nodes, mesh->vertex + 3 * wires->edge[k][1]);
    V3 sight = unit(sub(draw->camera.eye, a)), along = sub(b, a);
    if (dot(along, along) == 0) along = mul(draw->camera.right, 4 * width), a = sub(a, mul(along, 0.5));
    V3 side = mul(unit(cross(along, sight)), width * (wires->edge[k][0] == wires->edge[k][1] ? 2 : 1));
    m->loose_color[solid->triangle_count / 2] = color;
    add_quad(solid, sub(a, side), along, mul(side, 2));
  }
}

/* An infinite ground is drawn as a square around the view, wider than the haze is transparent. */
static void add_endless(const Draw *draw, Solid *solid, const RunMesh *mesh, const double *nodes) {
  V3 p[3], a, b;
  for (size_t k = 0; k < 3; k++) p[k] = world_point(nodes, mesh->vertex + 3 * mesh->triangle[k]);
  V3 normal = unit(cross(sub(p[1], p[0]), sub(p[2], p[0])));
  ground_axes(normal, &a, &b);
  V3 foot = sub(draw->center, mul(normal, dot(normal, sub(draw->center, p[0]))));
  double half = 60 * draw->radius;
  add_quad(solid, sub(foot, add(mul(a, half), mul(b, half))), mul(a, 2 * half), mul(b, 2 * half));
}

/* Strain or stress of every triangle, the mean of its corners relative to the maximum; NULL if memory runs out. */
static float *strain_parts(const Draw *draw, const RunMesh *mesh, const RunSoft *soft, const double *vertex) {
  double most = draw->stress > 0 ? draw->stress : draw->strain,
         *strain = malloc((mesh->vertex_count + 1) * sizeof *strain);
  uint32_t *count = malloc((mesh->vertex_count + 1) * sizeof *count);
  float *part = malloc((mesh->triangle_count + 1) * sizeof *part);
  bool good = strain && count && part;
  if (good && draw->stress > 0) good = soft_stress(mesh, soft, vertex, strain);
  else if (good) soft_strain(mesh, vertex, strain, count);
  if (good) {
    for (size_t t = 0; t < mesh->triangle_count; t++) {
      const uint32_t *c = mesh->triangle + 3 * t;
      part[t] = (float)least((strain[c[0]] + strain[c[1]] + strain[c[2]]) / (3 * most), 1);
    }
  } else {
    free(part), part = NULL;
  }
  free(strain), free(count);
  return part;
}

/* A soft body's vertices are world coordinates; its normals turn with its triangles. If memory runs out they stay
 * unchanged. */
static void place_soft(const Draw *draw, PictureModel *m, size_t b, const RunMesh *mesh, const double *vertex) {
  static const double identity[12] = {[3] = 1, [7] = 1, [11] = 1};
  RunMesh now = *mesh;
  now.vertex = (double *)vertex;
  float *normal = crease_normals(&now);
  if (normal) {
    free(m->soft_normal[b]);
    m->look[b].normal = m->soft_normal[b] = normal;
  }
  free(m->soft_strain[b]);
  m->look[b].strain = m->soft_strain[b] =
      draw->strain > 0 || draw->stress > 0 ? strain_parts(draw, mesh, m->scene->body[b].soft, vertex) : NULL;
  m->solid[b].vertex = vertex, m->solid[b].nodes = identity, m->solid[b].shades = true;
}

/* A body that is not in the frame has no triangles in its picture. */
static bool show_solid(Solid *solid, const RunMesh *mesh, bool shown) {
  solid->triangle_count = shown && !mesh->half_space ? mesh->triangle_count : 0;
  solid->vertex_count = solid->triangle_count ? mesh->vertex_count : 0;
  return shown;
}

void model_place(Draw *draw, PictureModel *m, const double *nodes) {
  const RunScene *scene = m->scene;
  Solid *wires = &m->solid[scene->body_count], *endless = wires + 1;
  wires->vertex_count = wires->triangle_count = endless->vertex_count = endless->triangle_count = 0;
  for (size_t b = 0; b < scene->body_count; b++) {
    const RunMesh *mesh = &scene->mesh[scene->body[b].mesh];
    const double *own = nodes + scene->body[b].node;
    if (!show_solid(&m->solid[b], mesh, !isnan(own[0]))) continue;
    if (scene->body[b].soft) {
      place_soft(draw, m, b, mesh, own);
      RunMesh now = *mesh;
      now.vertex = (double *)own;
      add_wires(draw, m, wires, &m->wires[scene->body[b].mesh], &now, m->solid[b].nodes, m->look[b].color);
      continue;
    }
    m->solid[b].nodes = own;
    m->look[b].ground = !mesh->half_space && is_ground(draw, scene, b, nodes);
    m->solid[b].shades = !m->look[b].ground && !mesh->half_space;
    add_wires(draw, m, wires, &m->wires[scene->body[b].mesh], mesh, own, m->look[b].color);
  }
  endless->vertex = m->loose + 3 * wires->vertex_count;
  endless->triangle = m->loose_index + 3 * wires->triangle_count;
  for (size_t b = 0; b < scene->body_count; b++) {
    const RunMesh *mesh = &scene->mesh[scene->body[b].mesh];
    const double *own = nodes + scene->body[b].node;
    if (mesh->half_space && mesh->triangle_count && !isnan(own[0])) add_endless(draw, endless, mesh, own);
  }
  endless->first_face = wires->first_face + (uint32_t)wires->triangle_count;
  endless->first_point = wires->first_point + wires->vertex_count;
  draw->raster = (Raster){m->solid, m->solid_count, m->world, m->point, m->rows};
}

/* ---- The model ---- */

static void model_solids(PictureModel *m) {
  const RunScene *scene = m->scene;
  size_t face = 0, point = 0;
  for (size_t b = 0; b < scene->body_count; b++) {
    const RunMesh *mesh = &scene->mesh[scene->body[b].mesh];
    const unsigned char *rgb = scene->body[b].color;
    size_t triangles = mesh->half_space ? 0 : mesh->triangle_count;
    m->solid[b] = (Solid){.vertex = mesh->vertex,
                          .triangle = mesh->triangle,
                          .vertex_count = triangles ? mesh->vertex_count : 0,
                          .triangle_count = triangles,
                          .closed = mesh->closed,
                          .first_face = (uint32_t)face,
                          .first_point = point};
    m->look[b] = (Look){.color = linear_color(rgb[0] / 255.0, rgb[1] / 255.0, rgb[2] / 255.0),
                        .normal = m->normal[scene->body[b].mesh]};
    face += triangles, point += m->solid[b].vertex_count;
  }
  m->solid[scene->body_count] = (Solid){.vertex = m->loose,
                                        .triangle = m->loose_index,
                                        .shades = true,
                                        .first_face = (uint32_t)face,
                                        .first_point = point};
  m->solid[scene->body_count + 1] = (Solid){0};
  m->look[scene->body_count + 1] = (Look){.ground = true};
}

static bool model_meshes(PictureModel *m) {
  const RunScene *scene = m->scene;
  m->normal = calloc(scene->mesh_count + 1, sizeof *m->normal);
  m->wires = calloc(scene->mesh_count + 1, sizeof *m->wires);
  for (size_t k = 0; m->normal && m->wires && k < scene->mesh_count; k++) {
    m->normal[k] = crease_normals(&scene->mesh[k]);
    if (!m->normal[k] || !wires_find(&scene->mesh[k], &m->wires[k])) return false;
  }
  return m->normal && m->wires;
}

static bool model_room(PictureModel *m) {
  const RunScene *scene = m->scene;
  size_t quads = 0, points = 0;
  for (size_t b = 0; b < scene->body_count; b++) {
    quads += m->wires[scene->body[b].mesh].count + 1;
    points += scene->mesh[scene->body[b].mesh].vertex_count;
  }
  m->solid_count = scene->body_count + 2;
  m->solid = calloc(m->solid_count, sizeof *m->solid);
  m->look = calloc(m->solid_count, sizeof *m->look);
  m->loose = malloc((12 * quads + 1) * sizeof *m->loose);
  m->loose_index = malloc((6 * quads + 1) * sizeof *m->loose_index);
  m->loose_color = malloc((quads + 1) * sizeof *m->loose_color);
  m->point = malloc((points + 4 * quads + 1) * sizeof *m->point);
  m->world = malloc((points + 4 * quads + 1) * sizeof *m->world);
  m->rows = malloc(m->solid_count * sizeof *m->rows);
  m->soft_normal = calloc(scene->body_count + 1, sizeof *m->soft_normal);
  m->soft_strain = calloc(scene->body_count + 1, sizeof *m->soft_strain);
  return m->soft_normal && m->soft_strain && m->solid && m->look && m->loose && m->loose_index && m->loose_color &&
         m->world && m->point && m->rows;
}

PictureModel *picture_model_create(const RunScene *scene) {
  PictureModel *m = calloc(1, sizeof *m);
  if (!m) return NULL;
  m->scene = scene;
  bool good = model_meshes(m) && model_room(m) && buffer_create(&m->sun_map, SUN_SIZE, SUN_SIZE, 1, false);
  for (int k = 0; good && k < SKY_COUNT; k++) good = buffer_create(&m->sky_map[k], SKY_SIZE, SKY_SIZE, 1, false);
  if (good) model_solids(m);
  if (good) return m;
  picture_model_destroy(m);
  return NULL;
}

void picture_model_destroy(PictureModel *m) {
  if (!m) return;
  for (size_t k = 0; m->normal && k < m->scene->mesh_count; k++) free(m->normal[k]);
  for (size_t k = 0; m->wires && k < m->scene->mesh_count; k++) wires_free(&m->wires[k]);
  for (size_t b = 0; m->soft_normal && b < m->scene->body_count; b++) free(m->soft_normal[b]);
  for (size_t b = 0; m->soft_strain && b < m->scene->body_count; b++) free(m->soft_strain[b]);
  free(m->soft_normal), free(m->soft_strain), free(m->normal), free(m->wires), free(m->solid), free(m->look),
      free(m->loose), free(m->loose_index);
  free(m->loose_color), free(m->world), free(m->point), free(m->rows), free(m->block);
  buffer_destroy(&m->image), buffer_destroy(&m->sun_map);
  for (int k = 0; k < SKY_COUNT; k++) buffer_destroy(&m->sky_map[k]);
  free(m);
}
