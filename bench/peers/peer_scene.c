/* See peer_scene.h. */
#include "peer_scene.h"

#include "part.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *peer_alloc(size_t count, size_t size) {
  void *bytes = calloc(count ? count : 1, size ? size : 1);
  if (bytes) return bytes;
  fprintf(stderr, "abd-peers: out of memory for %zu x %zu bytes\n", count, size);
  exit(4);
}

/* ---- Rotations ---- */

/* Computes the largest of the four first, to avoid division by a small number. */
void quaternion_of(const double c[9], double q[4]) {
  double xx = c[0], yy = c[4], zz = c[8];
  double square[4] = {1 + xx + yy + zz, 1 + xx - yy - zz, 1 - xx + yy - zz, 1 - xx - yy + zz}; /* 4 w^2, 4 x^2, ... */
  double product[4][4] = {{square[0], c[5] - c[7], c[6] - c[2], c[1] - c[3]},
                          {c[5] - c[7], square[1], c[1] + c[3], c[6] + c[2]},
                          {c[6] - c[2], c[1] + c[3], square[2], c[5] + c[7]},
                          {c[1] - c[3], c[6] + c[2], c[5] + c[7], square[3]}};
  int most = 0;
  for (int k = 1; k < 4; k++)
    if (square[k] > square[most]) most = k;
  double length = 0;
  for (int k = 0; k < 4; k++) length += product[most][k] * product[most][k];
  for (int k = 0; k < 4; k++) q[k] = product[most][k] / sqrt(length);
}

void node_of(const double position[3], const double given[4], double node[12]) {
  double length = sqrt(given[0] * given[0] + given[1] * given[1] + given[2] * given[2] + given[3] * given[3]);
  double w = given[0] / length, x = given[1] / length, y = given[2] / length, z = given[3] / length;
  double c[9] = {1 - 2 * (y * y + z * z), 2 * (x * y + w * z),     2 * (x * z - w * y),
                 2 * (x * y - w * z),     1 - 2 * (x * x + z * z), 2 * (y * z + w * x),
                 2 * (x * z + w * y),     2 * (y * z - w * x),     1 - 2 * (x * x + y * y)};
  memcpy(node, position, 3 * sizeof(double));
  memcpy(node + 3, c, sizeof c);
}

static void world_point(const double node[12], const double x[3], double out[3]) {
  for (int k = 0; k < 3; k++) out[k] = node[k] + x[0] * node[3 + k] + x[1] * node[6 + k] + x[2] * node[9 + k];
}

void peer_plane(const PeerScene *scene, size_t body, double n[3], double *offset) {
  const PeerMesh *mesh = &scene->mesh[scene->body[body].mesh];
  double corner[3][3], u[3], v[3];
  for (int k = 0; k < 3; k++)
    world_point(scene->body[body].node, mesh->vertex + 3 * (size_t)mesh->triangle[k], corner[k]);
  for (int k = 0; k < 3; k++) u[k] = corner[1][k] - corner[0][k], v[k] = corner[2][k] - corner[0][k];
  for (int k = 0; k < 3; k++) n[k] = u[(k + 1) % 3] * v[(k + 2) % 3] - u[(k + 2) % 3] * v[(k + 1) % 3];
  double length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
  for (int k = 0; k < 3; k++) n[k] /= length;
  *offset = n[0] * corner[0][0] + n[1] * corner[0][1] + n[2] * corner[0][2];
}

/* ---- Reading ---- */

static bool refuse(char error[PEER_ERROR_SIZE], const char *name, const char *what) {
  snprintf(error, PEER_ERROR_SIZE, "body '%s' %s; the peers are given rigid bodies in contact only", name, what);
  return false;
}

static bool read_body(const PeerScene *scene, uint32_t id, PeerBody *body, char error[PEER_ERROR_SIZE]) {
  AbdBodyView view;
  abd_body_view(scene->world, (AbdBodyId){id}, &view);
  const char *name = view.name ? view.name : "";
  double force[3], torque[3];
  scene_force(scene->scene, id - 1, 0, force, torque);
  if (abd_body_is_soft(scene->world, (AbdBodyId){id})) return refuse(error, name, "is soft");
  if (view.motion == ABD_MOTION_KINEMATIC) return refuse(error, name, "is kinematic");
  if (view.fixed) return refuse(error, name, "has fixed coordinates");
  for (int k = 0; k < 3; k++)
    if (force[k] != 0 || torque[k] != 0) return refuse(error, name, "is pushed by a force");
  *body = (PeerBody){.name = name,
                     .mesh = view.mesh.id - 1,
                     .moves = view.motion == ABD_MOTION_DYNAMIC,
                     .mass = view.mass,
                     .friction = view.friction};
  memcpy(body->inertia, view.inertia, sizeof body->inertia);
  if (body->friction < 0) body->friction = abd_world_settings(scene->world).contact.friction;
  abd_body_nodes(scene->world, (AbdBodyId){id}, body->node);
  abd_body_velocity(scene->world, (AbdBodyId){id}, body->velocity, body->spin);
  return true;
}

static bool pairs_collide(const PeerScene *scene, char error[PEER_ERROR_SIZE]) {
  for (uint32_t a = 1; a <= scene->body_count; a++)
    for (uint32_t b = a + 1; b <= scene->body_count; b++) {
      const PeerBody *one = &scene->body[a - 1], *other = &scene->body[b - 1];
      if ((!one->moves && !other->moves) || abd_world_pair_collides(scene->world, (AbdBodyId){a}, (AbdBodyId){b}))
        continue;
      return refuse(error, one->name, "is excluded from touching another");
    }
  return true;
}

static void read_mesh(const PeerScene *scene, uint32_t id, PeerMesh *mesh) {
  AbdMeshView view;
  abd_mesh_view(scene->world, (AbdMeshId){id}, &view);
  *mesh = (PeerMesh){.name = view.name ? view.name : "",
                     .vertex = view.vertex,
                     .triangle = view.triangle,
                     .vertex_count = view.vertex_count,
                     .triangle_count = view.triangle_count,
                     .closed = view.closed,
                     .half_space = view.half_space};
  if (!mesh->half_space) parts_find(mesh);
}

bool peer_scene_read(AbdWorld *world, const Scene *scene, PeerScene *out, char error[PEER_ERROR_SIZE]) {
  AbdWorldDef def = abd_world_settings(world);
  *out = (PeerScene){.world = world,
                     .scene = scene,
                     .dt = def.dt,
                     .range = def.contact.range,
                     .mesh_count = abd_world_mesh_count(world),
                     .body_count = abd_world_body_count(world)};
  memcpy(out->gravity, def.gravity, sizeof out->gravity);
  out->mesh = peer_alloc(out->mesh_count, sizeof *out->mesh);
  out->body = peer_alloc(out->body_count, sizeof *out->body);
  if (abd_world_joint_count(world)) {
    snprintf(error, PEER_ERROR_SIZE, "the scene has %zu joints; the peers are given rigid bodies in contact only",
             abd_world_joint_count(world));
    return false;
  }
  for (uint32_t id = 1; id <= out->body_count; id++)
    if (!read_body(out, id, &out->body[id - 1], error)) return false;
  for (uint32_t id = 1; id <= out->mesh_count; id++) read_mesh(out, id, &out->mesh[id - 1]);
  return pairs_collide(out, error);
}

void peer_scene_free(PeerScene *scene) {
  for (size_t k = 0; scene->mesh && k < scene->mesh_count; k++) parts_free(&scene->mesh[k]);
  free(scene->mesh), free(scene->body);
}

const PeerMesh *peer_scene_concave(const PeerScene *scene) {
  for (size_t m = 0; m < scene->mesh_count; m++)
    for (size_t p = 0; p < scene->mesh[m].part_count; p++)
      if (scene->mesh[m].part[p].kind == PART_CONCAVE) return &scene->mesh[m];
  return NULL;
}
