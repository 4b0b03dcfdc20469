/* The Open Dynamics Engine: boxes, spheres and planes, the triangles of everything else. Tested by tests/cli/peers.sh.
 *
 * Its defaults: QuickStep with 20 iterations, ERP 0.2; friction as a pyramid scaled by the normal force
 * (ContactApprox1); at most sixteen contacts of a pair of shapes. Boxes and balls have a skin of half abd's range of
 * contact; triangles cannot. */
#include "peer.h"

#include <ode/ode.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CONTACTS = 16 };

typedef struct OdeWorld {
  const PeerScene *scene;
  dWorldID world;
  dSpaceID space;
  dJointGroupID contacts;
  dBodyID *body; /* NULL for bodies that do not move */
  dTriMeshDataID *data;
  size_t data_count;
} OdeWorld;

static size_t body_index(dGeomID geom) { return (size_t)(uintptr_t)dGeomGetData(geom); }

/* Contacts of two shapes become joints for one step. */
static void on_near(void *user, dGeomID a, dGeomID b) {
  OdeWorld *w = user;
  size_t i = body_index(a), j = body_index(b);
  const PeerBody *one = &w->scene->body[i], *other = &w->scene->body[j];
  if (i == j || (!one->moves && !other->moves)) return;
  dContactGeom found[MOST_CONTACTS];
  int count = dCollide(a, b, MOST_CONTACTS, found, sizeof *found);
  for (int k = 0; k < count; k++) {
    dContact contact = {.geom = found[k]};
    contact.surface.mode = dContactApprox1;
    contact.surface.mu = sqrt(one->friction * other->friction);
    dJointAttach(dJointCreateContact(w->world, w->contacts, &contact), w->body[i], w->body[j]);
  }
}

static dGeomID part_geom(OdeWorld *w, const Part *part) {
  const double *half = part->half, range = w->scene->range;
  if (part->kind == PART_BOX)
    return dCreateBox(w->space, 2 * half[0] + range, 2 * half[1] + range, 2 * half[2] + range);
  if (part->kind == PART_BALL) return dCreateSphere(w->space, half[0] + range / 2);
  dTriMeshDataID data = w->data[w->data_count++] = dGeomTriMeshDataCreate();
  dGeomTriMeshDataBuildDouble(data, part->vertex, 3 * sizeof(double), (int)part->vertex_count, part->triangle,
                              (int)(3 * part->triangle_count), 3 * sizeof(uint32_t));
  return dCreateTriMesh(w->space, data, NULL, NULL, NULL);
}

/* The centre of a box or ball may differ from the body's; triangles are in body coordinates. */
static void add_part(OdeWorld *w, size_t k, const Part *part) {
  const PeerBody *body = &w->scene->body[k];
  bool primitive = part->kind == PART_BOX || part->kind == PART_BALL;
  double zero[3] = {0}, q[4];
  const double *c = primitive ? part->center : zero;
  dGeomID geom = part_geom(w, part);
  dGeomSetData(geom, (void *)(uintptr_t)k);
  if (body->moves) {
    dGeomSetBody(geom, w->body[k]);
    if (primitive) dGeomSetOffsetPosition(geom, c[0], c[1], c[2]);
    return;
  }
  double at[3];
  for (int i = 0; i < 3; i++)
    at[i] = body->node[i] + c[0] * body->node[3 + i] + c[1] * body->node[6 + i] + c[2] * body->node[9 + i];
  quaternion_of(body->node + 3, q);
  dGeomSetPosition(geom, at[0], at[1], at[2]);
  dGeomSetQuaternion(geom, q);
}

static void add_body(OdeWorld *w, size_t k) {
  const PeerBody *body = &w->scene->body[k];
  const PeerMesh *mesh = &w->scene->mesh[body->mesh];
  if (mesh->half_space) {
    double n[3], offset;
    peer_plane(w->scene, k, n, &offset);
    dGeomSetData(dCreatePlane(w->space, n[0], n[1], n[2], offset), (void *)(uintptr_t)k);
    return;
  }
  if (body->moves) {
    double q[4];
    dMass mass;
    quaternion_of(body->node + 3, q);
    dMassSetParameters(&mass, body->mass, 0, 0, 0, body->inertia[0], body->inertia[1], body->inertia[2], 0, 0, 0);
    dBodyID made = w->body[k] = dBodyCreate(w->world);
    dBodySetMass(made, &mass);
    dBodySetPosition(made, body->node[0], body->node[1], body->node[2]);
    dBodySetQuaternion(made, q);
    dBodySetLinearVel(made, body->velocity[0], body->velocity[1], body->velocity[2]);
    dBodySetAngularVel(made, body->spin[0], body->spin[1], body->spin[2]);
  }
  for (size_t p = 0; p < mesh->part_count; p++) add_part(w, k, &mesh->part[p]);
}

static void ignore_message(int number, const char *format, va_list list) { (void)number, (void)format, (void)list; }

static void *create(const PeerScene *scene, int variant, char error[PEER_ERROR_SIZE]) {
  (void)variant, (void)error;
  OdeWorld *w = peer_alloc(1, sizeof *w);
  size_t parts = 0;
  for (size_t k = 0; k < scene->body_count; k++) parts += scene->mesh[scene->body[k].mesh].part_count;
  dInitODE2(0);
  dSetMessageHandler(ignore_message); /* it prints a line for each ill-conditioned matrix */
  w->scene = scene;
  w->world = dWorldCreate();
  w->space = dHashSpaceCreate(NULL);
  w->contacts = dJointGroupCreate(0);
  w->body = peer_alloc(scene->body_count, sizeof *w->body);
  w->data = peer_alloc(parts, sizeof *w->data);
  dWorldSetGravity(w->world, scene->gravity[0], scene->gravity[1], scene->gravity[2]);
  if (scene->iterations) dWorldSetQuickStepNumIterations(w->world, scene->iterations);
  for (size_t k = 0; k < scene->body_count; k++) add_body(w, k);
  return w;
}

static bool step(void *state, char error[PEER_ERROR_SIZE]) {
  OdeWorld *w = state;
  dSpaceCollide(w->space, w, on_near);
  bool good = dWorldQuickStep(w->world, w->scene->dt) != 0;
  dJointGroupEmpty(w->contacts);
  if (!good) snprintf(error, PEER_ERROR_SIZE, "no memory for the step");
  return good;
}

static void pose(void *state, size_t k, double node[12], double rate[6]) {
  const OdeWorld *w = state;
  node_of(dBodyGetPosition(w->body[k]), dBodyGetQuaternion(w->body[k]), node);
  memcpy(rate, dBodyGetLinearVel(w->body[k]), 3 * sizeof(double));
  memcpy(rate + 3, dBodyGetAngularVel(w->body[k]), 3 * sizeof(double));
}

static void destroy(void *state) {
  OdeWorld *w = state;
  if (!w) return;
  dJointGroupDestroy(w->contacts);
  dSpaceDestroy(w->space);
  dWorldDestroy(w->world);
  for (size_t k = 0; k < w->data_count; k++) dGeomTriMeshDataDestroy(w->data[k]);
  free(w->data), free(w->body), free(w);
  dCloseODE();
}

const Engine engine_ode = {
    "ode", "ODE", "ODE " PEERS_ODE ": boxes, spheres, planes, triangles for the rest; QuickStep, 20 iterations",
    0,     true,  create,
    step,  pose,  destroy};
