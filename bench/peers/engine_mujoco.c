/* MuJoCo through its C interface: the scene is written as MJCF, its model format. Tested by tests/cli/peers.sh.
 *
 * Its defaults (pyramidal cones, 100 iterations to 1e-8, solref 0.02 1), one Newton and one conjugate gradient solver;
 * contact begins at abd's range (margin), and hulls touch in several points (multiccd). It takes the larger friction of
 * a pair; the scenes have one coefficient for all. */
#define _GNU_SOURCE
#include "peer.h"

#include <mujoco/mujoco.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NEWTON, CONJUGATE };

typedef struct MujocoWorld {
  mjModel *model;
  mjData *data;
  int *body; /* [body_count] of the model; 0 if it does not move */
} MujocoWorld;

/* ---- The model as text ---- */

static void write_hulls(FILE *out, const PeerScene *scene) {
  fprintf(out, "<asset>\n");
  for (size_t m = 0; m < scene->mesh_count; m++)
    for (size_t p = 0; p < scene->mesh[m].part_count; p++) {
      const Part *part = &scene->mesh[m].part[p];
      if (part->kind == PART_BOX || part->kind == PART_BALL) continue;
      for (size_t h = 0; h < part->hull_count; h++) {
        fprintf(out, "<mesh name=\"m%zu.%zu.%zu\" vertex=\"", m, p, h);
        for (size_t v = 0; v < 3 * part->hull[h].vertex_count; v++) fprintf(out, "%.9g ", part->hull[h].vertex[v]);
        fprintf(out, "\"/>\n");
      }
    }
  fprintf(out, "</asset>\n");
}

static void write_geoms(FILE *out, const PeerScene *scene, const PeerBody *body) {
  const PeerMesh *mesh = &scene->mesh[body->mesh];
  for (size_t p = 0; p < mesh->part_count; p++) {
    const Part *part = &mesh->part[p];
    const double *c = part->center, *half = part->half;
    if (part->kind == PART_BOX)
      fprintf(out, "<geom type=\"box\" pos=\"%.9g %.9g %.9g\" size=\"%.9g %.9g %.9g\" ", c[0], c[1], c[2], half[0],
              half[1], half[2]);
    if (part->kind == PART_BALL)
      fprintf(out, "<geom type=\"sphere\" pos=\"%.9g %.9g %.9g\" size=\"%.9g\" ", c[0], c[1], c[2], half[0]);
    if (part->kind == PART_BOX || part->kind == PART_BALL) fprintf(out, "friction=\"%.9g 0 0\"/>\n", body->friction);
    else
      for (size_t h = 0; h < part->hull_count; h++)
        fprintf(out, "<geom type=\"mesh\" mesh=\"m%zu.%zu.%zu\" friction=\"%.9g 0 0\"/>\n", body->mesh, p, h,
                body->friction);
  }
}

static void write_body(FILE *out, const PeerScene *scene, size_t k) {
  const PeerBody *body = &scene->body[k];
  const double *p = body->node;
  if (scene->mesh[body->mesh].half_space) {
    double n[3], offset;
    peer_plane(scene, k, n, &offset);
    fprintf(
        out,
        "<geom type=\"plane\" size=\"0 0 1\" pos=\"%.9g %.9g %.9g\" zaxis=\"%.9g %.9g %.9g\" friction=\"%.9g 0 0\"/>\n",
        offset * n[0], offset * n[1], offset * n[2], n[0], n[1], n[2], body->friction);
    return;
  }
  double q[4];
  quaternion_of(body->node + 3, q);
  fprintf(out, "<body name=\"b%zu\" pos=\"%.17g %.17g %.17g\" quat=\"%.17g %.17g %.17g %.17g\">\n", k, p[0], p[1], p[2],
          q[0], q[1], q[2], q[3]);
  if (body->moves)
    fprintf(out, "<freejoint/><inertial pos=\"0 0 0\" mass=\"%.17g\" diaginertia=\"%.17g %.17g %.17g\"/>\n", body->mass,
            body->inertia[0], body->inertia[1], body->inertia[2]);
  write_geoms(out, scene, body);
  fprintf(out, "</body>\n");
}

/* Capacity for contacts, of four rows each: sixteen per body, limited by memory: version 2.2 holds all of its data,
 * with dense matrices of rows by rows (12 bytes an entry) and rows by unknowns (24), in 2^31 bytes. */
static size_t contact_room(const PeerScene *scene) {
  double unknowns = 0, bytes = 2.03e9;
  for (size_t k = 0; k < scene->body_count; k++) unknowns += scene->body[k].moves ? 6 : 0;
  double rows = (sqrt(24 * unknowns * 24 * unknowns + 48 * bytes) - 24 * unknowns) / 24;
  return (size_t)fmin(500 + 16 * (double)scene->body_count, rows / 4);
}

static char *model_text(const PeerScene *scene, int variant, size_t *size) {
  char *text = NULL;
  FILE *out = open_memstream(&text, size);
  if (!out) return NULL;
  size_t contacts = contact_room(scene);
  fprintf(out,
          "<mujoco><option timestep=\"%.17g\" gravity=\"%.17g %.17g %.17g\" solver=\"%s\" iterations=\"%d\">"
          "<flag multiccd=\"enable\"/></option>\n",
          scene->dt, scene->gravity[0], scene->gravity[1], scene->gravity[2], variant == NEWTON ? "Newton" : "CG",
          scene->iterations ? scene->iterations : 100);
  fprintf(out,
          "<default><geom margin=\"%.9g\"/></default>\n<size nconmax=\"%zu\" njmax=\"%zu\"/>"
          "<compiler boundmass=\"0\" balanceinertia=\"true\"/>\n",
          scene->range, contacts, 4 * contacts);
  write_hulls(out, scene);
  fprintf(out, "<worldbody>\n");
  for (size_t k = 0; k < scene->body_count; k++) write_body(out, scene, k);
  fprintf(out, "</worldbody></mujoco>\n");
  return fclose(out) == 0 ? text : NULL;
}

/* ---- Model and data ---- */

/* Its own handlers write a log file and end the program with 1. */
static void on_error(const char *sentence) {
  fprintf(stderr, "abd-peers: MuJoCo: %s\n", sentence);
  exit(4);
}
static void on_warning(const char *sentence) { (void)sentence; } /* counted in mjData, checked after each step */

static mjModel *compile(const char *text, size_t size, char error[PEER_ERROR_SIZE]) {
  mjVFS *files = peer_alloc(1, sizeof *files);
  mjModel *model = NULL;
  mj_defaultVFS(files);
  if (mj_makeEmptyFileVFS(files, "scene.xml", (int)size) == 0) {
    memcpy(files->filedata[0], text, size);
    model = mj_loadXML("scene.xml", files, error, PEER_ERROR_SIZE);
  }
  mj_deleteVFS(files);
  free(files);
  return model;
}

/* Free joints begin with the body's pose; their velocities are linear in the world, angular in the body. */
static void set_velocities(MujocoWorld *w, const PeerScene *scene) {
  for (size_t k = 0; k < scene->body_count; k++) {
    const PeerBody *body = &scene->body[k];
    if (!body->moves) continue;
    mjtNum *v = w->data->qvel + w->model->body_dofadr[w->body[k]];
    for (int i = 0; i < 3; i++) {
      const double *axis = body->node + 3 + 3 * i;
      v[i] = body->velocity[i];
      v[3 + i] = axis[0] * body->spin[0] + axis[1] * body->spin[1] + axis[2] * body->spin[2];
    }
  }
}

static void destroy(void *state) {
  MujocoWorld *w = state;
  if (!w) return;
  mj_deleteData(w->data), mj_deleteModel(w->model);
  free(w->body), free(w);
}

static void find_bodies(MujocoWorld *w, const PeerScene *scene) {
  w->body = peer_alloc(scene->body_count, sizeof *w->body);
  for (size_t k = 0; k < scene->body_count; k++) {
    char name[32];
    snprintf(name, sizeof name, "b%zu", k);
    w->body[k] = scene->body[k].moves ? mj_name2id(w->model, mjOBJ_BODY, name) : 0;
  }
}

static void *create(const PeerScene *scene, int variant, char error[PEER_ERROR_SIZE]) {
  size_t size;
  char *text = model_text(scene, variant, &size);
  MujocoWorld *w = peer_alloc(1, sizeof *w);
  mju_user_error = on_error, mju_user_warning = on_warning;
  snprintf(error, PEER_ERROR_SIZE, "out of memory for the model's text");
  w->model = text ? compile(text, size, error) : NULL;
  free(text);
  w->data = w->model ? mj_makeData(w->model) : NULL;
  if (!w->data) return destroy(w), NULL;
  find_bodies(w, scene);
  set_velocities(w, scene);
  return w;
}

/* ---- Stepping ---- */

/* MuJoCo replaces a bad state by the start and only counts it. */
static bool step(void *state, char error[PEER_ERROR_SIZE]) {
  static const struct {
    mjtWarning kind;
    const char *sentence;
  } trouble[] = {{mjWARN_BADQPOS, "bad positions"},
                 {mjWARN_BADQVEL, "bad velocities"},
                 {mjWARN_BADQACC, "bad accelerations"},
                 {mjWARN_CONTACTFULL, "no room for all contacts"},
                 {mjWARN_CNSTRFULL, "no room for all constraints"}};
  MujocoWorld *w = state;
  mj_step(w->model, w->data);
  for (size_t k = 0; k < sizeof trouble / sizeof *trouble; k++)
    if (w->data->warning[trouble[k].kind].number)
      return snprintf(error, PEER_ERROR_SIZE, "%s", trouble[k].sentence), false;
  return true;
}

static void pose(void *state, size_t k, double node[12], double rate[6]) {
  const MujocoWorld *w = state;
  int joint = w->model->body_jntadr[w->body[k]];
  const mjtNum *q = w->data->qpos + w->model->jnt_qposadr[joint], *v = w->data->qvel + w->model->jnt_dofadr[joint];
  node_of(q, q + 3, node);
  for (int i = 0; i < 3; i++) {
    rate[i] = v[i];
    rate[3 + i] = node[3 + i] * v[3] + node[6 + i] * v[4] + node[9 + i] * v[5];
  }
}

#define TEXT(x) #x
#define VERSION(x) TEXT(x)
const Engine engine_mujoco_newton = {
    "mujoco-newton",
    "MuJoCo Newton",
    "MuJoCo " VERSION(mjVERSION_HEADER) ": boxes, spheres, planes, convex hulls for the rest; Newton, pyramidal cones",
    NEWTON,
    false,
    create,
    step,
    pose,
    destroy};
const Engine engine_mujoco_cg = {
    "mujoco-cg", "MuJoCo CG", "the same with conjugate gradients", CONJUGATE, false, create, step, pose, destroy};
