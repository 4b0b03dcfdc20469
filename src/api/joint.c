/* Joints: adds, drives and reads them. */
#include <string.h>

#include "api/world.h"
#include "model/change.h"
#include "step/joint.h"

AbdJointDef abd_default_joint_def(void) {
  return (AbdJointDef){.point_b = {NAN, NAN, NAN},
                       .length = -1,
                       .ratio = 1,
                       .limit = {-INFINITY, INFINITY},
                       .angle_limit = {-INFINITY, INFINITY},
                       .drive = {.max_effort = INFINITY},
                       .break_force = INFINITY,
                       .break_torque = INFINITY};
}

/* Points and axes are those of the present poses: they become the start of the joined bodies. */
static AbdStatus rebase(const AbdWorld *world, Model *m, const AbdJointDef *def, AbdError *error) {
  const AbdBodyId id[2] = {def->body_a, def->body_b};
  Affine *q = world->started && def->kind != ABD_JOINT_GEAR ? world_poses(world, m) : NULL;
  AbdStatus status = ABD_OK;
  for (int e = 0; q && e < 2 && status == ABD_OK; e++) {
    int body = model_body_index(m, id[e].id);
    if (body >= 0 && m->body[body].motion != ABD_MOTION_STATIC && !model_rebase(m, q, body))
      status = fault(error, ABD_ERROR_STATE,
                     "joint \"%s\": body \"%s\" has moved and soft bodies are attached to it or to what it is joined "
                     "to: it takes no further joint",
                     def->name ? def->name : "", m->body[body].name);
  }
  mem_free(q);
  return status;
}

AbdStatus abd_world_add_joint(AbdWorld *world, const AbdJointDef *def, AbdJointId *joint) {
  AbdError *error = world_fresh_error(world);
  Model *m = world_edit(world, error);
  if (!m) return error->status;
  AbdStatus status = rebase(world, m, def, error);
  if (status == ABD_OK) status = model_add_joint(m, def, error);
  uint32_t id = m->last_joint;
  status = world_edited(world, status, error);
  if (status == ABD_OK && joint) joint->id = id;
  return status;
}

size_t abd_world_joint_count(const AbdWorld *world) { return (size_t)world->model.joint_count; }

AbdStatus abd_joint_def(const AbdWorld *world, AbdJointId joint, AbdJointDef *def) {
  const Joint *j = world_joint(world, joint);
  if (!j) return ABD_ERROR_ARGUMENT;
  *def = j->def;
  return ABD_OK;
}

AbdStatus abd_joint_drive(const AbdWorld *world, AbdJointId joint, AbdDrive *drive) {
  const Joint *j = world_joint(world, joint);
  if (!j) return ABD_ERROR_ARGUMENT;
  *drive = world->started ? world->state.joint[j - world->model.joint].drive : j->def.drive;
  return ABD_OK;
}

AbdStatus abd_joint_set_drive(AbdWorld *world, AbdJointId joint, const AbdDrive *drive) {
  AbdError *error = world_fresh_error(world);
  const Joint *j = world_joint(world, joint);
  if (!j)
    return fault(error, ABD_ERROR_ARGUMENT, "joint %u does not exist (there are %d joints)", joint.id,
                 world->model.joint_count);
  if (model_check_drive(j, drive, error)) return error->status;
  if (!world->started && abd_world_start(world) != ABD_OK) return world->error.status;
  JointState *s = &world->state.joint[world_joint(world, joint) - world->model.joint];
  if (s->drive.kind != drive->kind) s->hold = 0;
  s->drive.kind = drive->kind;
  s->drive.target = drive->target;
  s->drive.max_effort = drive->max_effort;
  s->drive.stiffness = drive->stiffness;
  s->drive.damping = drive->damping;
  return ABD_OK;
}

AbdJointSummary abd_world_joint_summary(const AbdWorld *world) {
  const Linkage *l = &world->model.linkage;
  AbdJointSummary summary = {(size_t)world->model.joint_count, l->rows, l->redundant, 0};
  for (int s = 0; s < world->model.moving_count; s++) {
    const LinkedBody *linked = linkage_of(l, world->model.moving[s]);
    summary.unknowns += linked ? linked->size : 12;
  }
  return summary;
}

int abd_joint_redundant_rows(const AbdWorld *world, AbdJointId joint) {
  const Joint *j = world_joint(world, joint);
  const int *redundant = world->model.linkage.redundant_of;
  return j && redundant ? redundant[j - world->model.joint] : 0;
}

/* A generalised force on the nodes of a body as a force and a torque about a point. */
static void to_wrench(const Affine *q, const Affine *f, Vec3 about, Vec3 *force, Vec3 *torque) {
  *force = f->n[0];
  *torque = cross(sub(q->n[0], about), f->n[0]);
  for (int k = 1; k < 4; k++) *torque = add(*torque, cross(q->n[k], f->n[k]));
}

/* Rows that are not eliminated have their forces in the state. -force times the gradient acts on the moving end. In a
 * step in which a body bounced, only what the joint did in flight and in impacts did act on it. */
static Affine bent_rows(const AbdWorld *world, int joint) {
  const Model *m = &world->model;
  const Joint *j = &m->joint[joint];
  JointForce force[JOINT_FORCES];
  Affine sum = affine(vec3(0, 0, 0), mat3_zero());
  const Work *w = world_view(world);
  int body = j->end[joint_moving_end(j)].body;
  bool bounced = false;
  for (int e = 0; e < 2; e++) bounced |= j->end[e].body >= 0 && w->bounced[j->end[e].body];
  int count = j->partner[0] < 0 ? joint_forces(w, joint, world->state.q.body, force) : 0;
  for (int k = 0; k < j->row_count && k < count; k++)
    for (int x = 0; x < force[k].jet.count; x++)
      if (force[k].jet.body[x] == body)
        sum = affine_add_scaled(sum, (bounced ? 0 : -force[k].slope / w->h2) - w->joint[joint].flight[k],
                                force[k].jet.gradient[x]);
  return sum;
}

/* Computes the forces of all joints when one is read; they are cached in the world. */
static bool make_reactions(AbdWorld *world) {
  if (world->reactions_known) return true;
  if (!world->contacts_known) return false;
  if (!world->reaction) world->reaction = mem_zeroed((size_t)world->model.joint_count, sizeof(Affine));
  world->reactions_known =
      world->reaction && !stage_failed(world->backend.stages->reactions(world->backend.self, world->reaction));
  return world->reactions_known;
}

static double linear_gap(const AbdWorld *world, const Joint *j) {
  LinearRow row[JOINT_LINEAR_ROWS];
  Affine a = joint_pose(world->state.q.body, j->end[0].body), b = joint_pose(world->state.q.body, j->end[1].body);
  int count = joint_linear_rows(j, row);
  double worst = 0;
  for (int r = 0; r < count; r++) {
    bool point = row[r].weight[0][0] != 0 || row[r].weight[1][0] != 0;
    Vec3 gap;
    if (point) gap = sub(affine_point(&a, j->end[0].anchor), affine_point(&b, j->end[1].anchor));
    else {
      int column = 0; /* the direction of the frame that the row constrains */
      double most_equal = -1;
      for (int k = 0; k < 3; k++) {
        const double *w = j->end[0].body >= 0 ? row[r].weight[0] : row[r].weight[1];
        Vec3 d = j->end[j->end[0].body >= 0 ? 0 : 1].frame.c[k];
        double equal = fabs(w[1] * d.x + w[2] * d.y + w[3] * d.z);
        if (equal > most_equal) most_equal = equal, column = k;
      }
      gap = scale(j->arm,
                  sub(affine_vector(&a, j->end[0].frame.c[column]), affine_vector(&b, j->end[1].frame.c[column])));
    }
    double size = norm_sq(row[r].direction) > 0 ? fabs(dot(gap, row[r].direction)) : norm(gap);
    worst = most(worst, size);
  }
  return worst;
}

/* Forces of the last step, which a change followed. */
static void read_kept(const Kept *kept, uint32_t joint, AbdJointReading *r) {
  int k = 0;
  while (k < kept->joint_count && kept->joint[k] != joint) k++;
  if (k == kept->joint_count) return;
  const AbdJointReading *old = &kept->reading[k];
  memcpy(r->force, old->force, sizeof r->force);
  memcpy(r->torque, old->torque, sizeof r->torque);
  r->effort = old->effort;
  r->passive = old->passive;
  r->residual = old->residual;
}

static void read_forces(AbdWorld *world, int joint, AbdJointReading *r) {
  const Joint *j = &world->model.joint[joint];
  if (!make_reactions(world)) {
    read_kept(&world->kept, j->id, r);
    return;
  }
  int end = joint_moving_end(j);
  Affine first = joint_pose(world->state.q.body, j->end[0].body), q = joint_pose(world->state.q.body, j->end[end].body),
         nodes = affine_add_scaled(world->reaction[joint], 1, bent_rows(world, joint));
  Vec3 force, torque;
  to_wrench(&q, &nodes, affine_point(&first, j->end[0].anchor), &force, &torque);
  vec3_to(r->force, end ? neg(force) : force);
  vec3_to(r->torque, end ? neg(torque) : torque);
  if (j->coordinate != ABD_COORDINATE_NONE) {
    r->effort = joint_effort(world_view(world), joint, r->position);
    r->passive = joint_passive(world_view(world), joint, r->position);
  }
  if (world->mean.split) mean_add_joint(world, joint, r);
}

AbdStatus abd_joint_reading(const AbdWorld *world, AbdJointId joint, AbdJointReading *reading) {
  const Joint *j = world_joint(world, joint);
  if (!j) return ABD_ERROR_ARGUMENT;
  int at = (int)(j - world->model.joint);
  if (!world->started) return ABD_ERROR_STATE;
  const State *s = &world->state;
  memset(reading, 0, sizeof *reading);
  if (j->partner[0] < 0) {
    Affine q = joint_pose(world->state.q.body, j->end[0].body);
    vec3_to(reading->point, affine_point(&q, j->end[0].anchor));
    vec3_to(reading->axis, affine_vector(&q, j->end[0].frame.c[2]));
    reading->residual = linear_gap(world, j);
  }
  if (j->has_angle) reading->angle = joint_angle(&world->model, at, s->q.body, s->joint[at].angle).value;
  if (j->coordinate != ABD_COORDINATE_NONE) {
    Jet jet = joint_coordinate_in(&world->model, s, at, s->q.body);
    reading->position = jet.value;
    reading->rate = joint_rate(&jet, s->rate.body);
  }
  if (j->has_travel) reading->travel = joint_travel(&world->model, at, s->q.body);
  if (world->contacts_known) reading->residual = most(reading->residual, joint_gap(world_view(world), at, s->q.body));
  read_forces((AbdWorld *)world, at, reading);
  return ABD_OK;
}
