/* Step bounds of joints: no step crosses a stop. Tested in tests/test_joint.c. */
#include "step/joint_part.h"

#include "kernel/constant.h"

/* Three poses on the straight path of a joint's ends. */
typedef struct Path {
  Affine a[3], b[3];
} Path;

static Path path_of(const Work *work, const Joint *j) {
  Path p;
  for (int k = 0; k < 3; k++) {
    int a = j->end[0].body, b = j->end[1].body;
    p.a[k] = joint_pose(work->q.body, a);
    p.b[k] = joint_pose(work->q.body, b);
    if (a >= 0) p.a[k] = affine_add_scaled(p.a[k], 0.5 * k, work->direction.body[a]);
    if (b >= 0) p.b[k] = affine_add_scaled(p.b[k], 0.5 * k, work->direction.body[b]);
  }
  return p;
}

/* sin(hi - angle) times a positive factor is quadratic along the path. Below a quarter turn it decreases with the gap.
 * A step turns by at most a quarter, so it cannot reach farther stops. */
static double bound_angle(const Work *work, int joint, const double limit[2]) {
  const Joint *j = &work->model->joint[joint];
  Path p = path_of(work, j);
  double c[3], s[3], now = work->joint[joint].angle, bound;
  for (int k = 0; k < 3; k++) measure_phase(&p.a[k], &p.b[k], &j->end[0].frame, &j->end[1].frame, &c[k], &s[k]);
  double f[3];
  for (int k = 0; k < 3; k++) f[k] = cos(now) * c[k] + sin(now) * s[k];
  bound = first_fall(f[0], f[1], f[2], TURN_LEFT);
  for (int side = 0; side < 2; side++) {
    double gap = side ? limit[1] - now : now - limit[0], sense = side ? 1 : -1;
    if (!(gap < STOP_NEAR)) continue;
    for (int k = 0; k < 3; k++) f[k] = sense * (sin(limit[side]) * c[k] - cos(limit[side]) * s[k]);
    bound = least(bound, first_fall(f[0], f[1], f[2], GAP_LEFT));
  }
  return bound;
}

/* Travel and the square of a distance are quadratic along the path. */
static double bound_length(const Work *work, const Joint *j, const double limit[2]) {
  Path p = path_of(work, j);
  bool squared = j->coordinate == ABD_COORDINATE_DISTANCE;
  double s[3], bound = 1;
  for (int k = 0; k < 3; k++) {
    Vec3 gap = sub(affine_point(&p.a[k], j->end[0].anchor), affine_point(&p.b[k], j->end[1].anchor));
    s[k] = squared ? norm_sq(gap) : dot(gap, affine_vector(&p.b[k], j->end[1].frame.c[2]));
  }
  for (int side = 0; side < 2; side++) {
    double at = squared ? limit[side] * fabs(limit[side]) : limit[side], sense = side ? 1 : -1;
    if (!isfinite(at)) continue;
    bound = least(bound, first_fall(sense * (at - s[0]), sense * (at - s[1]), sense * (at - s[2]), GAP_LEFT));
  }
  return bound;
}

/* A sum of travels is quadratic along the path, a sum with angles nearly so. If the quadratic misses the stop, the
 * energy at the end of the step is infinite, and the line search shortens the step. */
static double bound_sum(const Work *work, int joint, const double limit[2]) {
  const Joint *j = &work->model->joint[joint];
  double s[3], bound = 1;
  Path p[2] = {path_of(work, &work->model->joint[j->partner[0]]), path_of(work, &work->model->joint[j->partner[1]])};
  for (int k = 0; k < 3; k++) {
    s[k] = 0;
    for (int e = 0; e < 2; e++) {
      const Joint *part = &work->model->joint[j->partner[e]];
      double value =
          joint_coordinate_between(part, &p[e].a[k], &p[e].b[k], work->joint[j->partner[e]].angle) - part->start;
      s[k] += (e ? j->def.ratio : 1) * value;
    }
  }
  for (int side = 0; side < 2; side++) {
    double sense = side ? 1 : -1;
    if (isfinite(limit[side]))
      bound = least(bound, first_fall(sense * (limit[side] - s[0]), sense * (limit[side] - s[1]),
                                      sense * (limit[side] - s[2]), GAP_LEFT));
  }
  return bound;
}

double joint_bound(const Work *work, int joint) {
  const Joint *j = &work->model->joint[joint];
  double limit[2], bound = 1;
  if (!work->joint[joint].active || j->def.kind == ABD_JOINT_GEAR) return 1;
  joint_limits(j, limit);
  bool limited = isfinite(limit[0]) || isfinite(limit[1]);
  if (j->def.kind == ABD_JOINT_SUM) return limited ? bound_sum(work, joint, limit) : 1;
  if (limited && j->coordinate == ABD_COORDINATE_ANGLE) bound = bound_angle(work, joint, limit);
  else if (limited) bound = bound_length(work, j, limit);
  if (joint_limits_angle(j)) bound = least(bound, bound_angle(work, joint, j->def.angle_limit));
  return bound;
}
