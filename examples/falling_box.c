/* The smallest whole program: a box of one metre falls from two metres onto the ground. Compares the result with the
 * formula and exits with 0 if they agree.
 *
 * Free flight is exact: after the time t the box has fallen g t^2 / 2. At rest the box hovers inside the contact range,
 * never at zero.
 *
 *     cc falling_box.c $(pkg-config --cflags --libs abd) -o falling_box
 *
 * It compiles as C and as C++. Built and run by tests/install/run.sh. */
#include <abd/abd.h>
#include <math.h>
#include <stdio.h>

static const double box_vertex[8][3] = {{-.5, -.5, -.5}, {.5, -.5, -.5}, {.5, .5, -.5}, {-.5, .5, -.5},
                                        {-.5, -.5, .5},  {.5, -.5, .5},  {.5, .5, .5},  {-.5, .5, .5}};
static const uint32_t box_triangle[12][3] = {{0, 2, 1}, {0, 3, 2}, {4, 5, 6}, {4, 6, 7}, {0, 1, 5}, {0, 5, 4},
                                             {1, 2, 6}, {1, 6, 5}, {2, 3, 7}, {2, 7, 6}, {3, 0, 4}, {3, 4, 7}};
static const double ground_vertex[3][3] = {{-5, -5, 0}, {5, -5, 0}, {0, 5, 0}};
static const uint32_t ground_triangle[1][3] = {{0, 1, 2}};

static AbdStatus add_ground(AbdWorld *world) {
  AbdMeshDef mesh = abd_default_mesh_def();
  mesh.name = "ground";
  mesh.vertex = ground_vertex[0];
  mesh.vertex_count = 3;
  mesh.triangle = ground_triangle[0];
  mesh.triangle_count = 1;
  mesh.half_space = true; /* everything below the triangle's plane is solid */
  AbdBodyDef body = abd_default_body_def();
  body.name = "ground";
  body.motion = ABD_MOTION_STATIC;
  AbdBodyId ground;
  AbdStatus status = abd_world_add_mesh(world, &mesh, &body.mesh);
  return status == ABD_OK ? abd_world_add_body(world, &body, &ground) : status;
}

static AbdStatus add_box(AbdWorld *world, double height, AbdBodyId *box) {
  AbdMeshDef mesh = abd_default_mesh_def();
  mesh.name = "box";
  mesh.vertex = box_vertex[0];
  mesh.vertex_count = 8;
  mesh.triangle = box_triangle[0];
  mesh.triangle_count = 12;
  AbdBodyDef body = abd_default_body_def();
  body.name = "box";
  body.position[2] = height;
  AbdStatus status = abd_world_add_mesh(world, &mesh, &body.mesh);
  return status == ABD_OK ? abd_world_add_body(world, &body, box) : status;
}

/* Steps until the given time; returns the height of the box's centre, NAN after a failure. */
static double fall_until(AbdWorld *world, AbdBodyId box, double time) {
  double nodes[12];
  while (abd_world_time(world) < time - 1e-9) {
    AbdStepReport report;
    if (abd_world_step(world, &report) != ABD_OK) {
      fprintf(stderr, "step %lld: %s\n", (long long)abd_world_step_count(world), abd_world_error(world));
      return NAN;
    }
    if (report.outcome != ABD_CONVERGED) {
      fprintf(stderr, "step %lld: %s\n", (long long)report.step, abd_outcome_name(report.outcome));
      return NAN;
    }
  }
  return abd_body_nodes(world, box, nodes) == ABD_OK ? nodes[2] : NAN;
}

static int compare(AbdWorld *world, AbdBodyId box, double start) {
  AbdWorldDef set = abd_world_settings(world);
  double g = -set.gravity[2], worst = 0;
  printf("  time [s]  height [m]  by pencil [m]\n");
  for (int n = 10; n <= 50; n += 10) {
    double time = n * set.dt, height = fall_until(world, box, time);
    double pencil = start - 0.5 * g * time * time;
    printf("  %8.2f  %10.6f  %13.6f\n", time, height, pencil);
    worst = fmax(worst, isnan(height) ? INFINITY : fabs(height - pencil));
  }
  double gap = fall_until(world, box, 2.0) - 0.5;
  printf("at rest the gap is %.3g m; the contact range is %.3g m\n", gap, set.contact.range);
  int agree = worst < 1e-9 && gap > 0 && gap < set.contact.range;
  printf("%s\n", agree ? "they agree" : "THEY DO NOT AGREE");
  return agree ? 0 : 1;
}

int main(void) {
  const double start = 2.0;
  AbdWorldDef def = abd_default_world_def();
  AbdError error;
  AbdWorld *world = abd_world_create(&def, &error);
  if (!world) {
    fprintf(stderr, "no world: %s\n", error.text);
    return 1;
  }
  AbdBodyId box;
  int code = 1;
  if (add_ground(world) == ABD_OK && add_box(world, start, &box) == ABD_OK && abd_world_start(world) == ABD_OK)
    code = compare(world, box, start);
  else fprintf(stderr, "no scene: %s\n", abd_world_error(world));
  abd_world_destroy(world);
  return code;
}
