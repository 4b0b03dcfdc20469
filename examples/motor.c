/* A joint and a motor: a bar on a hinge is raised at a constant speed, then held by a servo. Compares the result with
 * the formulas and exits with 0 if they agree.
 *
 * The bar of mass m lies along x, its hinge at one end, its centre r away. At the angle q above the horizon gravity
 * exerts the torque m g r cos q. A motor that holds the bar has the same torque, and a servo of stiffness k with the
 * target q0 deflects by q0 - q = m g r cos q / k. The hinge carries the weight, m g.
 *
 *     cc motor.c $(pkg-config --cflags --libs abd) -lm -o motor
 *
 * It compiles as C and as C++. Built and run by tests/install/run.sh. */
#include <abd/abd.h>
#include <math.h>
#include <stdio.h>

#define LENGTH 1.0 /* [m] of the bar, which is a tenth as thick */

static AbdStatus add_bar(AbdWorld *world, AbdBodyId *bar) {
  const double l = LENGTH, t = LENGTH / 20;
  const double vertex[8][3] = {{0, -t, -t}, {l, -t, -t}, {l, t, -t}, {0, t, -t},
                               {0, -t, t},  {l, -t, t},  {l, t, t},  {0, t, t}};
  const uint32_t triangle[12][3] = {{0, 2, 1}, {0, 3, 2}, {4, 5, 6}, {4, 6, 7}, {0, 1, 5}, {0, 5, 4},
                                    {1, 2, 6}, {1, 6, 5}, {2, 3, 7}, {2, 7, 6}, {3, 0, 4}, {3, 4, 7}};
  AbdMeshDef mesh = abd_default_mesh_def();
  mesh.name = "bar";
  mesh.vertex = vertex[0];
  mesh.vertex_count = 8;
  mesh.triangle = triangle[0];
  mesh.triangle_count = 12;
  AbdBodyDef body = abd_default_body_def();
  body.name = "bar"; /* at its mesh's position: the hinge's end is at the origin */
  AbdStatus status = abd_world_add_mesh(world, &mesh, &body.mesh);
  return status == ABD_OK ? abd_world_add_body(world, &body, bar) : status;
}

static AbdStatus add_hinge(AbdWorld *world, AbdBodyId bar, AbdJointId *hinge) {
  AbdJointDef def = abd_default_joint_def();
  def.name = "hinge";
  def.kind = ABD_JOINT_HINGE;
  def.body_a = bar; /* body_b stays null: the world */
  def.axis[1] = -1; /* through the origin; positive angles raise the bar */
  def.drive.kind = ABD_DRIVE_SPEED;
  def.drive.target = 1;       /* rad/s */
  def.drive.max_effort = 200; /* N m */
  return abd_world_add_joint(world, &def, hinge);
}

/* Steps for the given time and reads the hinge; on a failure prints the error and returns false. */
static bool run_for(AbdWorld *world, double seconds, AbdJointId hinge, AbdJointReading *reading) {
  double end = abd_world_time(world) + seconds;
  while (abd_world_time(world) < end - 1e-9) {
    AbdStepReport report;
    AbdStatus status = abd_world_step(world, &report);
    if (status != ABD_OK || report.outcome != ABD_CONVERGED) {
      fprintf(stderr, "%s\n", status != ABD_OK ? abd_world_error(world) : abd_outcome_name(report.outcome));
      return false;
    }
  }
  return abd_joint_reading(world, hinge, reading) == ABD_OK;
}

static bool agrees(const char *what, double value, double pencil, double tolerance) {
  bool good = fabs(value - pencil) <= tolerance;
  printf("  %-28s %12.6f  by pencil %12.6f%s\n", what, value, pencil, good ? "" : "  THEY DO NOT AGREE");
  return good;
}

static bool raise_and_hold(AbdWorld *world, AbdBodyId bar, AbdJointId hinge) {
  AbdJointReading reading;
  AbdBodyView view;
  if (abd_body_view(world, bar, &view) != ABD_OK || !run_for(world, 1, hinge, &reading)) return false;
  double weight = view.mass * -abd_world_settings(world).gravity[2];
  bool good = agrees("raised for 1 s [rad]", reading.position, 1, 0.01);

  AbdDrive servo = abd_default_joint_def().drive;
  servo.kind = ABD_DRIVE_POSITION;
  servo.target = 1;
  servo.stiffness = 2000; /* N m/rad */
  servo.damping = 200;
  if (abd_joint_set_drive(world, hinge, &servo) != ABD_OK || !run_for(world, 3, hinge, &reading)) return false;
  double torque = weight * LENGTH / 2 * cos(reading.position);
  good &= agrees("the motor's torque [N m]", reading.effort, torque, 1e-3 * torque);
  good &= agrees("where it holds [rad]", reading.position, servo.target - torque / servo.stiffness, 1e-5);
  good &= agrees("force in the hinge, up [N]", reading.force[2], weight, 1e-3 * weight);
  return good;
}

int main(void) {
  AbdWorldDef def = abd_default_world_def();
  AbdError error;
  AbdWorld *world = abd_world_create(&def, &error);
  if (!world) {
    fprintf(stderr, "no world: %s\n", error.text);
    return 1;
  }
  AbdBodyId bar;
  AbdJointId hinge;
  bool good = false;
  if (add_bar(world, &bar) == ABD_OK && add_hinge(world, bar, &hinge) == ABD_OK && abd_world_start(world) == ABD_OK)
    good = raise_and_hold(world, bar, hinge);
  else fprintf(stderr, "no scene: %s\n", abd_world_error(world));
  abd_world_destroy(world);
  printf("%s\n", good ? "they agree" : "something is wrong");
  return good ? 0 : 1;
}
