/* A world for tests of physics, made with the public header alone. Every step must converge with a positive gap, and
 * frames are tested exactly for crossings. */
#ifndef TESTS_LAB_H
#define TESTS_LAB_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abd/abd.h"
#include "math/vec.h"
#include "scene/shape.h"

typedef struct Lab {
  AbdWorldDef def;
  AbdWorld *world;
  AbdStepReport report; /* of the last step */
  double least_gap, most_strain;
  int most_iterations;
  int64_t iterations;
} Lab;

/* Fewer seconds under a sanitizer, which makes every step slow. */
static inline double lab_seconds(double seconds, double short_seconds) {
  return getenv("ABD_TEST_SHORT") ? short_seconds : seconds;
}

static inline Lab lab_open(AbdWorldDef def) {
  AbdError error;
  Lab lab = {.def = def, .least_gap = INFINITY, .world = abd_world_create(&def, &error)};
  if (!lab.world) fail_msg("%s", error.text);
  return lab;
}

static inline void lab_close(Lab *lab) {
  abd_world_destroy(lab->world);
  lab->world = NULL;
}

static inline void lab_expect_ok(const Lab *lab, AbdStatus status) {
  if (status != ABD_OK) fail_msg("%s: %s", abd_status_name(status), abd_world_error(lab->world));
}

static inline AbdMeshId lab_mesh_def(Lab *lab, const AbdMeshDef *def) {
  AbdMeshId id;
  lab_expect_ok(lab, abd_world_add_mesh(lab->world, def, &id));
  return id;
}

/* Adds the mesh and frees it. */
static inline AbdMeshId lab_mesh(Lab *lab, MeshData *mesh, double thickness, bool half_space) {
  AbdMeshDef def = abd_default_mesh_def();
  def.vertex = mesh->vertex;
  def.vertex_count = mesh->vertex_count;
  def.triangle = mesh->triangle;
  def.triangle_count = mesh->triangle_count;
  def.edge = mesh->edge;
  def.edge_count = mesh->edge_count;
  def.thickness = thickness;
  def.half_space = half_space;
  AbdMeshId id = lab_mesh_def(lab, &def);
  mesh_data_free(mesh);
  return id;
}

static inline AbdMeshId lab_box(Lab *lab, double x, double y, double z) {
  MeshData mesh = {0};
  assert_true(shape_box((double[3]){x, y, z}, &mesh));
  return lab_mesh(lab, &mesh, 0, false);
}

/* A ball with its surface pushed in and out: closed, not convex, no symmetry. */
static inline AbdMeshId lab_potato(Lab *lab, double radius, double phase) {
  MeshData mesh = {0};
  assert_true(shape_sphere(radius, 2, &mesh));
  for (size_t i = 0; i < mesh.vertex_count; i++) {
    double *v = mesh.vertex + 3 * i,
           f = 1 + 0.25 * sin(9 * v[0] / radius + phase) * cos(5 * v[1] / radius - 2 * phase) + 0.1 * v[2] / radius;
    for (int k = 0; k < 3; k++) v[k] *= f * (1 + 0.3 * k);
  }
  return lab_mesh(lab, &mesh, 0, false);
}

static inline AbdBodyId lab_body_def(Lab *lab, const AbdBodyDef *def) {
  AbdBodyId id;
  lab_expect_ok(lab, abd_world_add_body(lab->world, def, &id));
  return id;
}

static inline AbdBodyDef lab_at(AbdMeshId mesh, Vec3 position) {
  AbdBodyDef def = abd_default_body_def();
  def.mesh = mesh;
  vec3_to(def.position, position);
  return def;
}

static inline AbdBodyId lab_body(Lab *lab, AbdMeshId mesh, Vec3 position, Vec3 velocity) {
  AbdBodyDef def = lab_at(mesh, position);
  vec3_to(def.velocity, velocity);
  return lab_body_def(lab, &def);
}

static inline AbdBodyId lab_static(Lab *lab, AbdMeshId mesh, Vec3 position) {
  AbdBodyDef def = lab_at(mesh, position);
  def.motion = ABD_MOTION_STATIC;
  return lab_body_def(lab, &def);
}

/* Everything below the plane through the origin. */
static inline AbdBodyId lab_ground(Lab *lab, Vec3 normal) {
  MeshData mesh = {0};
  double n[3];
  vec3_to(n, normal);
  assert_true(shape_half_space(n, 10, &mesh));
  return lab_static(lab, lab_mesh(lab, &mesh, 0, true), vec3(0, 0, 0));
}

static inline void lab_turn(AbdBodyDef *def, Vec3 axis, double angle) {
  def->rotation[0] = cos(0.5 * angle);
  vec3_to(def->rotation + 1, scale(sin(0.5 * angle), unit(axis)));
}

static inline Affine lab_pose(const Lab *lab, AbdBodyId body) {
  double n[12];
  lab_expect_ok(lab, abd_body_nodes(lab->world, body, n));
  return (Affine){{vec3_from(n), vec3_from(n + 3), vec3_from(n + 6), vec3_from(n + 9)}};
}

static inline Vec3 lab_position(const Lab *lab, AbdBodyId body) { return lab_pose(lab, body).n[0]; }

static inline Vec3 lab_velocity(const Lab *lab, AbdBodyId body) {
  double v[3], w[3];
  lab_expect_ok(lab, abd_body_velocity(lab->world, body, v, w));
  return vec3_from(v);
}

static inline Vec3 lab_spin(const Lab *lab, AbdBodyId body) {
  double v[3], w[3];
  lab_expect_ok(lab, abd_body_velocity(lab->world, body, v, w));
  return vec3_from(w);
}

static inline AbdBodyView lab_view(const Lab *lab, AbdBodyId body) {
  AbdBodyView view;
  lab_expect_ok(lab, abd_body_view(lab->world, body, &view));
  return view;
}

/* The numbers of all bodies in sequence, to be freed: 12 of a stiff body, 3 for each vertex of a soft one. */
static inline double *lab_nodes(const Lab *lab) {
  size_t count = abd_world_body_count(lab->world), size = 0;
  double *nodes = NULL;
  for (uint32_t i = 1; i <= count; i++) {
    AbdSoftView soft;
    bool is_soft = abd_body_is_soft(lab->world, (AbdBodyId){i});
    if (is_soft) lab_expect_ok(lab, abd_soft_view(lab->world, (AbdBodyId){i}, &soft));
    size_t more = is_soft ? 3 * soft.vertex_count : 12;
    nodes = realloc(nodes, (size + more) * sizeof(double));
    assert_non_null(nodes);
    lab_expect_ok(lab, is_soft ? abd_soft_vertices(lab->world, (AbdBodyId){i}, nodes + size)
                               : abd_body_nodes(lab->world, (AbdBodyId){i}, nodes + size));
    size += more;
  }
  return nodes;
}

static inline void lab_expect_no_crossing(const Lab *lab) {
  double *nodes = lab_nodes(lab);
  AbdCrossing crossing;
  size_t found = abd_world_find_crossings(lab->world, nodes, &crossing, 1);
  free(nodes);
  if (found)
    fail_msg("step %lld: %zu pairs cross, first bodies %u and %u at %g %g %g",
             (long long)abd_world_step_count(lab->world), found, crossing.body_a.id, crossing.body_b.id,
             crossing.point[0], crossing.point[1], crossing.point[2]);
}

static inline void lab_step(Lab *lab) {
  lab_expect_ok(lab, abd_world_step(lab->world, &lab->report));
  const AbdStepReport *r = &lab->report;
  if (r->min_distance < lab->least_gap) lab->least_gap = r->min_distance;
  if (r->max_strain > lab->most_strain) lab->most_strain = r->max_strain;
  if (r->iterations > lab->most_iterations) lab->most_iterations = r->iterations;
  lab->iterations += r->iterations;
  if (r->outcome != ABD_CONVERGED)
    fail_msg("step %lld: %s, body %u, %d iterations, residual %g m/s", (long long)r->step, abd_outcome_name(r->outcome),
             r->culprit[0].id, r->iterations, r->residual);
  if (!(r->min_distance > 0))
    fail_msg("step %lld: smallest distance %g between bodies %u and %u", (long long)r->step, r->min_distance,
             r->nearest[0].id, r->nearest[1].id);
}

/* Takes count steps; tests the last frame for crossings. */
static inline void lab_steps(Lab *lab, int count) {
  for (int i = 0; i < count; i++) lab_step(lab);
  lab_expect_no_crossing(lab);
}

/* Steps for the given time; tests every tenth frame for crossings. */
static inline void lab_run(Lab *lab, double seconds) {
  int count = (int)(seconds / lab->def.dt + 0.5);
  for (int i = 1; i <= count; i++) {
    lab_step(lab);
    if (i % 10 == 0 || i == count) lab_expect_no_crossing(lab);
  }
}

static inline double lab_energy(const Lab *lab) {
  const double *e = lab->report.energy;
  return e[ABD_TERM_KINETIC] + e[ABD_TERM_GRAVITY] + e[ABD_TERM_ELASTIC] + e[ABD_TERM_CONTACT] + e[ABD_TERM_SOFT];
}

/* Sum of contact forces on a body. */
static inline Vec3 lab_contact_force(const Lab *lab, AbdBodyId body, Vec3 *friction) {
  size_t count = abd_world_contacts(lab->world, NULL, 0);
  AbdContact *contact = calloc(count + 1, sizeof *contact);
  Vec3 normal = vec3(0, 0, 0);
  *friction = vec3(0, 0, 0);
  assert_non_null(contact);
  abd_world_contacts(lab->world, contact, count);
  for (size_t i = 0; i < count; i++) {
    double sign = contact[i].body_a.id == body.id ? 1 : contact[i].body_b.id == body.id ? -1 : 0;
    normal = add_scaled(normal, sign * contact[i].normal_force, vec3_from(contact[i].normal));
    *friction = add_scaled(*friction, sign, vec3_from(contact[i].friction_force));
  }
  free(contact);
  return normal;
}

/* Always prints the value, so that a passing test shows its margin. */
static inline void lab_expect_near(const char *what, double value, double expected, double tolerance) {
  printf("  %s: %.10g, expected %.10g, off by %.2e of %.1e allowed\n", what, value, expected, value - expected,
         tolerance);
  if (!(fabs(value - expected) <= tolerance))
    fail_msg("%s: %.10g, expected %.10g +- %.2e", what, value, expected, tolerance);
}

static inline void lab_expect_below(const char *what, double value, double limit) {
  printf("  %s: %.3e, below %.1e\n", what, value, limit);
  if (!(value < limit)) fail_msg("%s: %.6g, expected below %g", what, value, limit);
}

/* Gives a world the state of another one of the same scene. */
static inline void lab_copy_state(Lab *to, const Lab *from) {
  size_t size = abd_world_snapshot_size(from->world);
  void *bytes = malloc(size);
  assert_non_null(bytes);
  lab_expect_ok(from, abd_world_save(from->world, bytes, size));
  lab_expect_ok(to, abd_world_restore(to->world, bytes, size));
  free(bytes);
}

/* The same steps with 1, 2, 3 and 8 threads must give the same bits, with more contacts than threads at the end. */
static inline void lab_same_bits(Lab (*open)(int threads), int steps, int64_t contacts) {
  const int threads[] = {1, 2, 3, 8};
  uint64_t first = 0;
  for (int k = 0; k < 4; k++) {
    Lab lab = open(threads[k]);
    lab_steps(&lab, steps);
    uint64_t hash = abd_world_hash(lab.world);
    printf("  %d threads: hash %016llx, %lld contacts, %lld iterations, at most %d in a step, smallest gap %.2e m\n",
           threads[k], (unsigned long long)hash, (long long)lab.report.contacts, (long long)lab.iterations,
           lab.most_iterations, lab.least_gap);
    assert_true(lab.report.contacts > contacts);
    lab_close(&lab);
    if (k == 0) first = hash;
    if (hash != first)
      fail_msg("%d threads give %016llx, one gives %016llx", threads[k], (unsigned long long)hash,
               (unsigned long long)first);
  }
}

#endif
