/* Makes joints from their defs: checks them and converts anchors and axes to the bodies' rest frames. */
#include "model/joint.h"

#include <stdio.h>
#include <string.h>

#include "kernel/constant.h"
#include "model/joint_kind.h"
#include "model/model.h"

static void set_weight(double weight[4], double constant, Vec3 rest) {
  weight[0] = constant;
  weight[1] = rest.x;
  weight[2] = rest.y;
  weight[3] = rest.z;
}

/* a's minus b's anchor (constant = 1) or direction (constant = 0). */
static LinearRow difference(const Joint *j, double constant, Vec3 a, Vec3 b) {
  LinearRow row;
  memset(&row, 0, sizeof row);
  if (j->end[0].body >= 0) set_weight(row.weight[0], constant, a);
  if (j->end[1].body >= 0) set_weight(row.weight[1], -constant, neg(b));
  return row;
}

/* Does a point stay on a line or plane of the world? True if b is the world, or if a is and the joint keeps b's axis
 * from turning. */
static bool guided_by_world(const Joint *j) {
  bool keeps_axis = joint_kind(j->def.kind)->keeps & (KEEPS_AXIS | KEEPS_ORIENTATION);
  return j->end[1].body < 0 || (j->end[0].body < 0 && keeps_axis);
}

int joint_linear_rows(const Joint *j, LinearRow row[JOINT_LINEAR_ROWS]) {
  const JointEnd *a = &j->end[0], *b = &j->end[1];
  int keeps = joint_kind(j->def.kind)->keeps, count = 0;
  if (keeps & KEEPS_POINT) row[count++] = difference(j, 1, a->anchor, b->anchor);
  if (keeps & KEEPS_AXIS) row[count++] = difference(j, 0, a->frame.c[2], b->frame.c[2]);
  if (keeps & KEEPS_ORIENTATION)
    for (int k = 0; k < 3; k++) row[count++] = difference(j, 0, a->frame.c[k], b->frame.c[k]);
  if (!guided_by_world(j)) return count;
  for (int k = 0; k < 3; k++) {
    if (!(keeps & (k < 2 ? KEEPS_LINE : KEEPS_PLANE))) continue;
    row[count] = difference(j, 1, a->anchor, b->anchor);
    row[count++].direction = b->body < 0 ? b->frame.c[k] : a->frame.c[k]; /* of the world's end */
  }
  return count;
}

bool joint_limits_angle(const Joint *j) { return isfinite(j->def.angle_limit[0]) || isfinite(j->def.angle_limit[1]); }

bool joint_minds_position(const Joint *j, const JointState *s) {
  const AbdJointDef *d = &j->def;
  return isfinite(d->limit[0]) || isfinite(d->limit[1]) || d->stiffness > 0 || d->damping > 0 || d->friction > 0 ||
         s->drive.kind == ABD_DRIVE_SPEED || s->drive.kind == ABD_DRIVE_POSITION;
}

bool joint_acts(const Joint *j, const JointState *s) {
  return j->row_count > 0 || j->def.kind == ABD_JOINT_ROPE || joint_limits_angle(j) || joint_minds_position(j, s) ||
         s->drive.kind != ABD_DRIVE_NONE;
}

AbdStatus model_check_drive(const Joint *j, const AbdDrive *d, AbdError *error) {
  const char *name = j->name;
  if ((unsigned)d->kind > ABD_DRIVE_POSITION)
    return fault(error, ABD_ERROR_ARGUMENT, "joint \"%s\": drive kind %d is unknown", name, (int)d->kind);
  if (d->kind == ABD_DRIVE_NONE) return ABD_OK;
  if (j->coordinate == ABD_COORDINATE_NONE)
    return fault(error, ABD_ERROR_ARGUMENT, "joint \"%s\": a %s has no coordinate that a drive could move", name,
                 abd_joint_kind_name(j->def.kind));
  if (!isfinite(d->target))
    return fault(error, ABD_ERROR_ARGUMENT, "joint \"%s\": the drive's target is %g, expected a finite number", name,
                 d->target);
  if (!(d->max_effort >= 0))
    return fault(error, ABD_ERROR_ARGUMENT, "joint \"%s\": the drive's max effort is %g, expected a number >= 0", name,
                 d->max_effort);
  bool spring = isfinite(d->stiffness) && d->stiffness >= 0 && isfinite(d->damping) && d->damping >= 0;
  if (d->kind == ABD_DRIVE_POSITION && !(spring && d->stiffness + d->damping > 0))
    return fault(error, ABD_ERROR_ARGUMENT,
                 "joint \"%s\": a position drive needs stiffness and damping >= 0, one of them above, got %g and %g",
                 name, d->stiffness, d->damping);
  return ABD_OK;
}

static bool couples_joints(AbdJointKind kind) { return joint_kind(kind)->view.takes & ABD_JOINT_TAKES_JOINTS; }

static AbdStatus check_numbers(const AbdJointDef *d, const char *name, AbdError *error) {
  bool given_b = !isnan(d->point_b[0]);
  const struct {
    const char *what;
    double value;
    bool negative;
  } number[] = {{"stiffness", d->stiffness, false}, {"damping", d->damping, false},
                {"friction", d->friction, false},   {"rest", d->rest, true},
                {"pitch", d->pitch, true},          {"ratio", d->ratio, true},
                {"length", d->length, true}};
  for (int i = 0; i < ARRAY_COUNT(number); i++)
    if (!isfinite(number[i].value) || (number[i].value < 0 && !number[i].negative))
      return fault(error, ABD_ERROR_ARGUMENT, "joint \"%s\": %s is %g, expected a %s", name, number[i].what,
                   number[i].value, number[i].negative ? "finite number" : "number >= 0");
  if (!(d->break_force > 0) || !(d->break_torque > 0))
    return fault(error, ABD_ERROR_ARGUMENT, "joint \"%s\": break %s is %g, expected a number > 0", name,
                 d->break_force > 0 ? "torque" : "force", d->break_force > 0 ? d->break_torque : d->break_force);
  if (d->kind == ABD_JOINT_GEAR && (isfinite(d->break_force) || isfinite(d->break_torque)))
    return fault(error, ABD_ERROR_ARGUMENT, "joint \"%s\": a gear does not break; the joints that it couples can",
                 name);
  for (int k = 0; k < 3; k++) {
    if (!(fabs(d->point[k]) < 1e30))
      return fault(error, ABD_ERROR_ARGUMENT, "joint \"%s\": point[%d] is %g, expected a finite number below 1e30",
                   name, k, d->point[k]);
    if (!(given_b ? fabs(d->point_b[k]) < 1e30 : isnan(d->point_b[k])))
      return fault(error, ABD_ERROR_ARGUMENT,
                   "joint \"%s\": point_b[%d] is %g, expected three finite numbers below 1e30 or none", name, k,
                   d->point_b[k]);
    if (!isfinite(d->axis[k]) || !isfinite(d->axis_b[k]))
      return fault(error, ABD_ERROR_ARGUMENT, "joint \"%s\": axis[%d] is not finite", name, k);
  }
  if ((d->kind == ABD_JOINT_SCREW && d->pitch == 0) || (couples_joints(d->kind) && d->ratio == 0))
    return fault(error, ABD_ERROR_JOINT, "joint \"%s\": its %s is 0, expected another number", name,
                 d->kind == ABD_JOINT_SCREW ? "pitch" : "ratio");
  return ABD_OK;
}

static AbdStatus check_bodies(const Model *m, const AbdJointDef *d, const char *name, AbdError *error) {
  int body[2] = {model_body_index(m, d->body_a.id), model_body_index(m, d->body_b.id)};
  if (!d->body_a.id) return fault(error, ABD_ERROR_ARGUMENT, "joint \"%s\": expected a body as its first", name);
  if (body[0] < 0 || (d->body_b.id && body[1] < 0))
    return fault(error, ABD_ERROR_ARGUMENT, "joint \"%s\": bodies %u and %u, but there are %d", name, d->body_a.id,
                 d->body_b.id, m->body_count);
  if (body[0] == body[1])
    return fault(error, ABD_ERROR_JOINT, "joint \"%s\": joins body \"%s\" to itself", name, m->body[body[0]].name);
  for (int side = 0; side < 2; side++)
    if (body[side] >= 0 && m->body[body[side]].soft)
      return fault(error, ABD_ERROR_JOINT,
                   "joint \"%s\": body \"%s\" is soft: joints are between stiff bodies; attach it", name,
                   m->body[body[side]].name);
  bool a = m->body[body[0]].motion == ABD_MOTION_DYNAMIC,
       b = body[1] >= 0 && m->body[body[1]].motion == ABD_MOTION_DYNAMIC;
  if (!a && !b)
    return fault(error, ABD_ERROR_JOINT, "joint \"%s\": neither of its bodies moves freely: one must be dynamic", name);
  return ABD_OK;
}

static AbdStatus check_gear(const Model *m, const AbdJointDef *d, const char *name, AbdError *error) {
  AbdJointId partner[2] = {d->joint_a, d->joint_b};
  for (int k = 0; k < 2; k++) {
    int at = model_joint_index(m, partner[k].id);
    if (at < 0)
      return fault(error, ABD_ERROR_ARGUMENT, "joint \"%s\": couples joint %u, but there are %d before it", name,
                   partner[k].id, m->joint_count);
    if (m->joint[at].def.kind == ABD_JOINT_SUM)
      return fault(error, ABD_ERROR_JOINT, "joint \"%s\": couples the sum \"%s\", expected joints between bodies", name,
                   m->joint[at].name);
    if (m->joint[at].coordinate == ABD_COORDINATE_NONE)
      return fault(error, ABD_ERROR_JOINT, "joint \"%s\": joint \"%s\" has no coordinate to couple", name,
                   m->joint[at].name);
  }
  if (partner[0].id == partner[1].id)
    return fault(error, ABD_ERROR_JOINT, "joint \"%s\": couples a joint to itself", name);
  return ABD_OK;
}

/* Two normals of an axis, arbitrary but a function of the axis. */
static Mat3 axis_frame(Vec3 axis) {
  Vec3 e = unit(axis), far = fabs(e.x) < 0.6 ? vec3(1, 0, 0) : vec3(0, 1, 0);
  Vec3 n = unit(add_scaled(far, -dot(far, e), e));
  return mat3(n, cross(e, n), e);
}

static JointEnd attach(const Model *m, AbdBodyId id, Vec3 point, Mat3 frame) {
  JointEnd end = {-1, point, frame};
  int at = model_body_index(m, id.id);
  const Body *b = &m->body[at];
  if (at < 0 || b->motion == ABD_MOTION_STATIC) return end;
  Mat3 inverse = mat3_inverse(affine_linear(&b->start));
  end.body = at;
  end.anchor = mat3_mul_vec(inverse, sub(point, b->start.n[0]));
  end.frame = mat3_mul(inverse, frame);
  return end;
}

static void set_scales(const Model *m, Joint *j) {
  for (int e = 0; e < 2; e++) {
    if (j->end[e].body < 0) continue;
    const Body *b = &m->body[j->end[e].body];
    j->arm = most(j->arm, m->mesh[b->mesh].radius);
    if (b->motion == ABD_MOTION_DYNAMIC) j->mass = most(j->mass, b->mass);
  }
}

static AbdStatus set_ends(const Model *m, Joint *j, AbdError *error) {
  AbdJointDef *d = &j->def;
  Vec3 a = vec3_from(d->point), b = isfinite(d->point_b[0]) ? vec3_from(d->point_b) : a, axis = vec3_from(d->axis),
       axis_b = axis;
  uint32_t takes = joint_kind(d->kind)->view.takes;
  bool apart = takes & ABD_JOINT_NEEDS_POINT_B, needs_axis = takes & ABD_JOINT_TAKES_AXIS;
  if (needs_axis && !(norm(axis) > 0))
    return fault(error, ABD_ERROR_JOINT, "joint \"%s\": a %s needs an axis, got (0, 0, 0)", j->name,
                 abd_joint_kind_name(d->kind));
  if (!needs_axis) axis = axis_b = vec3(0, 0, 1);
  if (takes & ABD_JOINT_TAKES_AXIS_B) {
    axis_b = vec3_from(d->axis_b);
    if (!(norm(axis_b) > 0))
      return fault(error, ABD_ERROR_JOINT, "joint \"%s\": a universal needs axis_b, got (0, 0, 0)", j->name);
    double c = dot(unit(axis), unit(axis_b));
    if (fabs(c) > 1e-6)
      return fault(error, ABD_ERROR_JOINT, "joint \"%s\": axis and axis_b make an angle of %g degrees, expected 90",
                   j->name, acos(c) * 57.29577951308232);
    axis_b = add_scaled(unit(axis_b), -c, unit(axis));
  }
  j->end[0] = attach(m, d->body_a, a, axis_frame(axis));
  j->end[1] = attach(m, d->body_b, apart ? b : a, axis_frame(axis_b));
  set_scales(m, j);
  double gap = norm(sub(a, b));
  if (!apart && gap > 1e-6 * j->arm)
    return fault(
        error, ABD_ERROR_JOINT,
        "joint \"%s\": its anchors are %g m apart at the start: (%g, %g, %g) and (%g, %g, %g); they must coincide",
        j->name, gap, a.x, a.y, a.z, b.x, b.y, b.z);
  if (apart && !(gap > 1e-9 * j->arm))
    return fault(error, ABD_ERROR_JOINT, "joint \"%s\": its two points coincide: it has no direction to pull in",
                 j->name);
  j->start = apart ? gap : 0;
  j->length = apart ? (d->length < 0 ? gap * (d->kind == ABD_JOINT_ROPE ? 1 + 1e-4 : 1) : d->length) : 0;
  return ABD_OK;
}

static AbdStatus check_limits(const Joint *j, AbdError *error) {
  const AbdJointDef *d = &j->def;
  const double *limit[2] = {d->limit, d->angle_limit};
  for (int k = 0; k < 2; k++) {
    double lo = limit[k][0], hi = limit[k][1], at = k == 0 ? j->start : 0;
    if (!(lo < hi))
      return fault(error, ABD_ERROR_JOINT, "joint \"%s\": its limits are %g and %g, expected the lower one first",
                   j->name, lo, hi);
    if (!(lo < at && at < hi))
      return fault(
          error, ABD_ERROR_JOINT,
          "joint \"%s\": its limits %g and %g exclude the start, which is at %g; there must be room on both sides",
          j->name, lo, hi, at);
    if ((isfinite(lo) || isfinite(hi)) && !(k == 0 ? j->coordinate != ABD_COORDINATE_NONE : j->has_angle))
      return fault(error, ABD_ERROR_JOINT, "joint \"%s\": a %s has no %s to limit", j->name,
                   abd_joint_kind_name(d->kind), k == 0 ? "coordinate" : "angle");
  }
  if (j->def.kind == ABD_JOINT_ROPE && !(j->start < j->length))
    return fault(error, ABD_ERROR_JOINT, "joint \"%s\": its points are %g m apart at the start, the rope is %g m long",
                 j->name, j->start, j->length);
  if (j->def.kind == ABD_JOINT_DISTANCE && !(fabs(j->start - j->length) <= 1e-6 * j->arm))
    return fault(error, ABD_ERROR_JOINT, "joint \"%s\": its points are %g m apart at the start, expected the length %g",
                 j->name, j->start, j->length);
  bool passive = d->stiffness > 0 || d->damping > 0 || d->friction > 0;
  if (passive && j->coordinate == ABD_COORDINATE_NONE)
    return fault(error, ABD_ERROR_JOINT, "joint \"%s\": a %s has no coordinate for a spring, a damper or friction",
                 j->name, abd_joint_kind_name(d->kind));
  return model_check_drive(j, &d->drive, error);
}

static AbdStatus compile(const Model *m, Joint *j, AbdError *error) {
  const AbdJointDef *d = &j->def;
  const JointKind *kind = joint_kind(d->kind);
  j->coordinate = kind->view.coordinate;
  j->has_angle = kind->view.has_angle;
  j->has_travel = kind->view.has_travel;
  j->partner[0] = j->partner[1] = -1;
  if (couples_joints(d->kind)) {
    if (check_gear(m, d, j->name, error)) return error->status;
    j->end[0].body = j->end[1].body = -1;
    j->row_count = kind->rows;
    for (int k = 0; k < 2; k++) {
      const Joint *p = &m->joint[j->partner[k] = model_joint_index(m, k ? d->joint_b.id : d->joint_a.id)];
      j->arm = most(j->arm, p->arm);
      j->mass = most(j->mass, p->mass);
    }
    if (d->kind == ABD_JOINT_SUM) j->coordinate = m->joint[j->partner[0]].coordinate;
  } else {
    if (check_bodies(m, d, j->name, error) || set_ends(m, j, error)) return error->status;
    j->row_count = d->free && kind->view.takes & ABD_JOINT_TAKES_FREE ? 0 : kind->rows;
    if (!guided_by_world(j)) j->row_count += kind->keeps & KEEPS_LINE ? 2 : kind->keeps & KEEPS_PLANE ? 1 : 0;
  }
  return check_limits(j, error);
}

void model_mark_joint(Model *m, const Joint *j) {
  for (int e = 0; e < 2; e++) {
    if (j->end[e].body < 0) continue;
    Body *b = &m->body[j->end[e].body];
    b->jointed = true;
    b->light |= b->mass < LIGHT_LINK * j->mass;
  }
}

AbdStatus model_add_joint(Model *m, const AbdJointDef *def, AbdError *error) {
  char number[32];
  snprintf(number, sizeof number, "joint %u", m->last_joint + 1);
  const char *name = def->name && def->name[0] ? def->name : number;
  if ((unsigned)def->kind >= ABD_JOINT_KIND_COUNT)
    return fault(error, ABD_ERROR_ARGUMENT, "joint \"%s\": kind %d is unknown", name, (int)def->kind);
  if (check_numbers(def, name, error)) return error->status;
  if (!mem_reserve((void **)&m->joint, &m->joint_capacity, m->joint_count + 1, sizeof(Joint)))
    return fault(error, ABD_ERROR_MEMORY, "out of memory while adding joint \"%s\"", name);
  Joint *j = &m->joint[m->joint_count];
  memset(j, 0, sizeof *j);
  j->def = *def;
  if (!(j->name = mem_string(name)))
    return fault(error, ABD_ERROR_MEMORY, "out of memory while adding joint \"%s\"", name);
  j->def.name = j->name;
  AbdStatus status = compile(m, j, error);
  bool pair = status == ABD_OK && def->body_b.id && !couples_joints(def->kind);
  if (pair && !def->collide)
    status = model_add_rule(m, model_body_index(m, def->body_a.id), model_body_index(m, def->body_b.id), -1, error);
  if (status != ABD_OK) {
    mem_free(j->name);
    return status;
  }
  model_mark_joint(m, j);
  j->id = ++m->last_joint;
  m->joint_count++;
  return status;
}
