/* Random worlds as scene text, see random_world.h. */
#include "random_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abd/abd.h"
#include "draw.h"
#include "random_wide.h"

enum { MOST_PARTS = 24, MOST_LINKS = 48, UNIT_PARTS = 6, PLACE_TRIES = 30, WIRE_POINTS = 6, STONE_POINTS = 12 };

/* The forms of stiff bodies, then those of soft ones. */
typedef enum Form {
  FORM_BOX = 0,
  FORM_BALL,
  FORM_CYLINDER,
  FORM_CONE,
  FORM_CAPSULE,
  FORM_TORUS,
  FORM_SHEET,
  FORM_WIRE,
  FORM_STONE, /* an icosahedron with its corners moved in */
  FORM_STIFF_COUNT,
  FORM_SOFT_BOX = FORM_STIFF_COUNT,
  FORM_SOFT_BEAM,
  FORM_SOFT_BALL,
  FORM_SOFT_CYLINDER,
  FORM_SHELL,
  FORM_ROD,
  FORM_COUNT
} Form;

typedef struct Part {
  Form form;
  double size[3];
  Vec3 point[STONE_POINTS];         /* of a wire or a stone */
  double radius, density, friction; /* of the bounding sphere; negative = the world's */
  Vec3 at, velocity, spin;
  double quaternion[4];
  double young, poisson, damping;
  int model, elasticity;
  int parent;                      /* the part it is jointed to, -1 = none */
  int twist;                       /* the link to its parent or to the world, -1 = none */
  bool attach;                     /* soft: vertices are attached to the parent */
  bool still, kinematic, scripted; /* still: static */
  Vec3 force;
} Part;

/* A joint between part a and part b (-1 = the world). a moves against b with the twist (spin, slide) at point. */
typedef struct Link {
  AbdJointKind kind;
  int a, b;
  Vec3 point, point_b, axis, axis_b, spin, slide;
  double pitch, length, rate; /* rate of the coordinate */
  int joint[2];               /* gear */
  double ratio, limit[2], stiffness, damping, friction;
  bool collide, driven, loop;
  double drive[3]; /* kind, target, most effort */
} Link;

typedef struct Plan {
  RandomOptions options;
  Wide wide;
  RandomFacts facts;
  Draw setting, body, joint, motion, drive;
  Part part[MOST_PARTS];
  Link link[MOST_LINKS];
  int part_count, link_count, ground; /* 0 none, 1 plane, 2 funnel of four planes */
  bool gravity, jointed, softened;
  double dt, friction, speed, spin;
  int integrator;
} Plan;

RandomOptions random_default_options(void) { return (RandomOptions){.integrator = -1, .steps = 60}; }

/* ---- Settings ---- */

static bool choose(Draw *d, Choice choice, double chance) {
  bool random = draw(d, 0, 1) < chance;
  return choice == CHOICE_RANDOM ? random : choice == CHOICE_ALWAYS;
}

static void plan_settings(Plan *p) {
  static const double steps_a_second[] = {1000, 500, 250, 100, 50, 25};
  const RandomOptions *o = &p->options;
  Draw *d = &p->setting;
  double dt = 1 / steps_a_second[draw_int(d, 6)];
  int integrator = draw_int(d, 3);
  p->dt = o->dt > 0 ? o->dt : dt;
  p->integrator = o->integrator >= 0 ? o->integrator : integrator;
  p->gravity = choose(d, o->gravity, 0.6);
  p->ground = choose(d, o->ground, 0.6) ? 1 + draw_int(d, 2) : 0;
  double friction = draw(d, 0, 0.9);
  p->friction = choose(d, o->friction, 0.75) ? friction : 0;
  p->jointed = choose(d, o->joints, 0.6);
  p->softened = choose(d, o->soft, 0.4);
  p->speed = draw_decades(d, -1, 1) * (dt < 0.005 ? 3 : 1); /* short steps see some impacts too */
  p->spin = draw_decades(d, -1, 1.5);
  p->facts.dry = draw(d, 0, 1) < 0.3;
  p->facts.friction = p->friction;
  p->facts.free = !p->gravity && !p->ground;
}

/* ---- Parts ---- */

static bool is_soft(const Part *p) { return p->form >= FORM_SOFT_BOX; }

static Vec3 draw_unit(Draw *d) {
  for (;;) {
    Vec3 v = draw_vec3(d, 1);
    double n = norm(v);
    if (n > 0.1 && n < 1) return scale(1 / n, v);
  }
}

static void draw_quaternion(Draw *d, double q[4]) {
  Vec3 axis = draw_unit(d);
  double half = draw(d, -1.5, 1.5);
  q[0] = cos(half);
  vec3_to(q + 1, scale(sin(half), axis));
}

/* Moves the points so that the origin is at centre; returns the largest distance from it. */
static double centre_points(Part *p, int count, Vec3 centre) {
  double radius = 0;
  for (int i = 0; i < count; i++) {
    p->point[i] = sub(p->point[i], centre);
    radius = fmax(radius, norm(p->point[i]));
  }
  return radius;
}

static double centre_wire(Part *p) {
  Vec3 sum = vec3(0, 0, 0);
  double length = 0;
  for (int i = 0; i + 1 < WIRE_POINTS; i++) {
    double l = norm(sub(p->point[i + 1], p->point[i]));
    sum = add_scaled(sum, 0.5 * l, add(p->point[i], p->point[i + 1]));
    length += l;
  }
  return centre_points(p, WIRE_POINTS, scale(1 / length, sum));
}

static const int stone_triangle[20][3] = {{0, 11, 5}, {0, 5, 1},  {0, 1, 7},   {0, 7, 10}, {0, 10, 11},
                                          {1, 5, 9},  {5, 11, 4}, {11, 10, 2}, {10, 7, 6}, {7, 1, 8},
                                          {3, 9, 4},  {3, 4, 2},  {3, 2, 6},   {3, 6, 8},  {3, 8, 9},
                                          {4, 9, 5},  {2, 4, 11}, {6, 2, 10},  {8, 6, 7},  {9, 8, 1}};

static double centre_stone(Part *p) {
  Vec3 sum = vec3(0, 0, 0);
  double volume = 0;
  for (int t = 0; t < 20; t++) {
    const int *c = stone_triangle[t];
    Vec3 x = p->point[c[0]], y = p->point[c[1]], z = p->point[c[2]];
    double v = dot(x, cross(y, z));
    sum = add_scaled(sum, 0.25 * v, add(x, add(y, z)));
    volume += v;
  }
  return centre_points(p, STONE_POINTS, scale(1 / volume, sum));
}

/* The corners of an icosahedron, each moved in by up to two fifths. */
static void draw_stone(Draw *d, Part *p) {
  static const double g = 1.618033988749895;
  const Vec3 corner[STONE_POINTS] = {{-1, g, 0},  {1, g, 0},  {-1, -g, 0}, {1, -g, 0}, {0, -1, g},  {0, 1, g},
                                     {0, -1, -g}, {0, 1, -g}, {g, 0, -1},  {g, 0, 1},  {-g, 0, -1}, {-g, 0, 1}};
  for (int k = 0; k < STONE_POINTS; k++) p->point[k] = scale(draw(d, 0.3, 0.5) * p->size[0] / 1.9, corner[k]);
}

static double part_radius(Part *p) {
  const double *s = p->size;
  switch (p->form) {
    case FORM_BALL:
    case FORM_SOFT_BALL: return s[0];
    case FORM_CYLINDER:
    case FORM_SOFT_CYLINDER: return hypot(s[0], 0.5 * s[1]);
    case FORM_CONE: return fmax(0.75 * s[1], hypot(s[0], 0.25 * s[1]));
    case FORM_CAPSULE: return s[0] + 0.5 * s[1];
    case FORM_TORUS: return s[0] + s[1];
    case FORM_SHEET:
    case FORM_SHELL: return 0.5 * hypot(s[0], s[1]) + 0.5 * s[2];
    case FORM_ROD: return 0.5 * s[0] + 0.5 * s[2];
    case FORM_WIRE: return centre_wire(p) + 0.5 * s[2];
    case FORM_STONE: return centre_stone(p);
    default: return 0.5 * norm(vec3(s[0], s[1], s[2]));
  }
}

static void draw_size(Draw *d, Part *p) {
  double length = draw_decades(d, -1.2, -0.2), ratio[2];
  for (int k = 0; k < 2; k++) ratio[k] = draw(d, 0.3, 1);
  for (int k = 0; k < WIRE_POINTS; k++) p->point[k] = draw_vec3(d, 0.5 * length);
  p->size[0] = length;
  p->size[1] = ratio[0] * length;
  p->size[2] = ratio[1] * length;
  if (p->form == FORM_BALL || p->form == FORM_SOFT_BALL || p->form == FORM_CYLINDER || p->form == FORM_CONE ||
      p->form == FORM_CAPSULE || p->form == FORM_TORUS || p->form == FORM_SOFT_CYLINDER)
    p->size[0] *= 0.5;
  if (p->form == FORM_TORUS) p->size[1] = p->size[0] * draw(d, 0.15, 0.45);
  if (p->form == FORM_SHEET || p->form == FORM_WIRE || p->form == FORM_SHELL || p->form == FORM_ROD)
    p->size[2] = 0.02 * length; /* thickness */
  if (p->form == FORM_STONE) draw_stone(d, p);
}

/* Static bodies, forces and scripts. */
static void draw_drive(Plan *plan, Part *p) {
  Draw *d = &plan->drive;
  double chance = draw(d, 0, 1), still = draw(d, 0, 1), mass = 4 * p->density * p->radius * p->radius * p->radius;
  Vec3 force = draw_vec3(d, 20 * mass);
  p->still = still < 0.08 && !is_soft(p) && (plan->gravity || plan->ground);
  if (!plan->options.drives) return;
  p->scripted = chance < 0.5 && is_soft(p);
  p->kinematic = chance < 0.1 && !is_soft(p) && !p->still;
  if (chance > 0.8 && !p->still) p->force = force;
}

static void draw_part(Plan *plan, Part *p) {
  Draw *d = &plan->body;
  int stiff = draw_int(d, FORM_STIFF_COUNT), soft = FORM_SOFT_BOX + draw_int(d, FORM_COUNT - FORM_SOFT_BOX);
  bool softened = draw(d, 0, 1) < 0.2 && plan->softened;
  *p = (Part){.form = (Form)(softened ? soft : stiff), .parent = -1, .twist = -1};
  draw_size(d, p);
  p->radius = part_radius(p);
  p->density = draw_decades(d, 1, 5);
  p->friction = draw(d, 0, 0.9);
  if (draw(d, 0, 1) < 0.5 || plan->friction == 0) p->friction = -1;
  draw_quaternion(d, p->quaternion);
  p->young = p->density * draw_decades(d, 1, 4);
  p->poisson = draw(d, 0.1, 0.45);
  p->damping = draw(d, 0, 1) < 0.5 ? 0 : draw_decades(d, -3, -1);
  p->model = draw_int(d, 3);
  p->elasticity = draw_int(d, 3);
  draw_drive(plan, p);
}

/* Does the sphere overlap none of the parts from first to end, but `except`? */
static bool is_free(const Plan *plan, int first, int end, int except, Vec3 at, double radius) {
  for (int i = first; i < end; i++) {
    const Part *o = &plan->part[i];
    if (i != except && norm(sub(at, o->at)) < radius + o->radius + 0.02 * fmin(radius, o->radius)) return false;
  }
  return true;
}

/* ---- Joints ---- */

static Vec3 across(Draw *d, Vec3 axis) { return unit(cross(axis, draw_unit(d))); }

static void link_twist(Plan *plan, Link *l) {
  Draw *d = &plan->motion;
  double w = draw(d, -plan->spin, plan->spin), v = draw(d, -plan->speed, plan->speed) * 0.3;
  Vec3 any_w = scale(w, draw_unit(d)), any_v = scale(v, draw_unit(d)), side = across(d, l->axis);
  switch (l->kind) {
    case ABD_JOINT_WELD: break;
    case ABD_JOINT_BALL:
    case ABD_JOINT_DISTANCE:
    case ABD_JOINT_ROPE: l->spin = any_w; break;
    case ABD_JOINT_HINGE: l->spin = scale(w, l->axis), l->rate = w; break;
    case ABD_JOINT_ORIENTATION: l->slide = any_v; break;
    case ABD_JOINT_LINE: l->slide = scale(v, l->axis), l->spin = any_w, l->rate = v; break;
    case ABD_JOINT_PLANE: l->slide = scale(v, side), l->spin = any_w; break;
    case ABD_JOINT_SLIDER: l->slide = scale(v, l->axis), l->rate = v; break;
    case ABD_JOINT_CYLINDRICAL: l->slide = scale(v, l->axis), l->spin = scale(w, l->axis), l->rate = v; break;
    case ABD_JOINT_PLANAR: l->slide = scale(v, side), l->spin = scale(w, l->axis), l->rate = w; break;
    case ABD_JOINT_UNIVERSAL: l->spin = add_scaled(scale(w, l->axis), 0.5 * w, l->axis_b); break;
    case ABD_JOINT_SCREW:
      l->spin = scale(w, l->axis), l->slide = scale(w * l->pitch / 6.283185307179586, l->axis), l->rate = w;
      break;
    case ABD_JOINT_ANGLE: l->spin = scale(w, side), l->slide = any_v; break;
    default: break;
  }
}

static bool takes(AbdJointKind kind, uint32_t bit) { return (abd_joint_kind_view(kind)->takes & bit) != 0; }

/* Limits, springs, dampers and dry friction on the coordinate, sized by the mass and the radius of the part. */
static void link_forces(Plan *plan, Link *l, const Part *p) {
  Draw *d = &plan->joint;
  double mass = 4 * p->density * p->radius * p->radius * p->radius, w = draw_decades(d, -0.5, 1.5);
  bool angle = abd_joint_kind_view(l->kind)->coordinate == ABD_COORDINATE_ANGLE;
  double unit_length = angle ? 1 : p->radius, inertia = angle ? mass * p->radius * p->radius : mass;
  double low = draw_decades(d, -2, 0.3), high = draw_decades(d, -2, 0.3), what = draw(d, 0, 1);
  l->limit[0] = -INFINITY, l->limit[1] = INFINITY;
  if (!takes(l->kind, ABD_JOINT_TAKES_COORDINATE) || l->kind == ABD_JOINT_ROPE || l->kind == ABD_JOINT_ANGLE) return;
  if (what < 0.25 && !plan->facts.dry) l->limit[0] = -low * unit_length, l->limit[1] = high * unit_length;
  if (what > 0.2 && what < 0.45) l->stiffness = inertia * w * w;
  if (what > 0.4 && what < 0.55) l->damping = inertia * w;
  if (what > 0.5 && what < 0.7 && plan->facts.dry) l->friction = inertia * w * (angle ? 1 : 0.3);
  l->driven = plan->options.drives && draw(d, 0, 1) < 0.5;
  l->drive[0] = 1 + draw_int(d, 3);
  l->drive[1] = draw(d, -1, 1) * (l->drive[0] == 1 ? inertia * w : l->drive[0] == 2 ? w * unit_length : unit_length);
  l->drive[2] = inertia * w * w * unit_length;
}

static AbdJointKind draw_kind(Plan *plan) {
  /* rope and limits are stops: worlds with dry friction in joints have none, see RandomFacts.dry */
  AbdJointKind kind = (AbdJointKind)draw_int(&plan->joint, ABD_JOINT_GEAR);
  return kind == ABD_JOINT_ROPE && plan->facts.dry ? ABD_JOINT_BALL : kind;
}

/* Joins part a to part b, or to the world if b is negative, at a point. */
static void add_link(Plan *plan, int a, int b, Vec3 point) {
  Draw *d = &plan->joint;
  AbdJointKind kind = draw_kind(plan);
  Link *l = &plan->link[plan->link_count];
  Part *p = &plan->part[a];
  *l = (Link){.kind = kind, .a = a, .b = b, .point = point, .joint = {-1, -1}};
  l->axis = draw_unit(d);
  l->axis_b = across(d, l->axis);
  l->pitch = p->radius * draw(d, 0.2, 2);
  if (draw(d, 0, 1) < 0.25) l->point = p->at; /* a wheel */
  l->point_b = b < 0 ? add_scaled(p->at, 2 * p->radius, draw_unit(d)) : plan->part[b].at;
  l->length = norm(sub(l->point, l->point_b)) * (1 + draw_decades(d, -4, -0.5));
  l->collide = draw(d, 0, 1) < 0.15;
  link_twist(plan, l);
  link_forces(plan, l, p);
  p->twist = plan->link_count++;
}

/* Couples two coordinates of one unit whose rates are not zero. */
static void add_gear(Plan *plan, int first_link) {
  int found[2], count = 0;
  for (int i = first_link; i < plan->link_count && count < 2; i++) {
    const Link *l = &plan->link[i];
    if (l->rate != 0 && l->friction == 0 && !isfinite(l->limit[0])) found[count++] = i;
  }
  if (count < 2 || plan->link_count == MOST_LINKS) return;
  Link *l = &plan->link[plan->link_count++];
  *l = (Link){.kind = ABD_JOINT_GEAR, .a = -1, .b = -1, .joint = {found[0], found[1]}};
  l->ratio = plan->link[found[1]].rate / plan->link[found[0]].rate;
}

/* A slack rope between the first and the last part of a unit, which closes a loop. */
static void add_rope(Plan *plan, int first) {
  int last = plan->part_count - 1;
  double slack = 1 + draw_decades(&plan->joint, -3, -0.5);
  if (last < first + 2 || is_soft(&plan->part[last]) || plan->facts.dry || plan->link_count == MOST_LINKS) return;
  Link *l = &plan->link[plan->link_count++];
  *l = (Link){.kind = ABD_JOINT_ROPE, .a = last, .b = first, .joint = {-1, -1}, .loop = true, .collide = true};
  l->point = plan->part[last].at;
  l->point_b = plan->part[first].at;
  l->limit[0] = -INFINITY, l->limit[1] = INFINITY;
  l->length = slack * norm(sub(l->point, l->point_b));
}

/* ---- Units ---- */

/* Places part i beside its parent in the unit that begins at first. */
static bool place_child(Plan *plan, int first, int i, Vec3 *point) {
  Part *p = &plan->part[i];
  const Part *o = &plan->part[p->parent];
  for (int k = 0; k < PLACE_TRIES; k++) {
    Vec3 along = draw_unit(&plan->joint);
    double gap = fmin(p->radius, o->radius) * draw_decades(&plan->joint, -1.5, -0.3);
    p->at = add_scaled(o->at, p->radius + o->radius + gap, along);
    *point = add_scaled(o->at, o->radius + 0.5 * gap, along);
    if (is_free(plan, first, i, -1, p->at, p->radius)) return true;
  }
  return false;
}

static bool is_below(const Plan *plan, int i, int top) {
  while (i >= 0 && i != top) i = plan->part[i].parent;
  return i == top;
}

/* Adds the motion of a link to its part and to all parts below it. */
static void move_below(Plan *plan, int first, const Link *l) {
  for (int i = first; i < plan->part_count; i++) {
    Part *p = &plan->part[i];
    if (!is_below(plan, i, l->a)) continue;
    p->spin = add(p->spin, l->spin);
    p->velocity = add(p->velocity, add(l->slide, cross(l->spin, sub(p->at, l->point))));
  }
}

static void shift_unit(Plan *plan, int first, int first_link, Vec3 by) {
  for (int i = first; i < plan->part_count; i++) plan->part[i].at = add(plan->part[i].at, by);
  for (int i = first_link; i < plan->link_count; i++) {
    plan->link[i].point = add(plan->link[i].point, by);
    plan->link[i].point_b = add(plan->link[i].point_b, by);
  }
}

static bool unit_is_free(const Plan *plan, int first) {
  for (int i = first; i < plan->part_count; i++)
    if (!is_free(plan, 0, first, -1, plan->part[i].at, plan->part[i].radius)) return false;
  return true;
}

/* Moves a unit out from the origin until it overlaps nothing. Returns the direction. */
static Vec3 place_unit(Plan *plan, int first, int first_link) {
  Vec3 out = draw_unit(&plan->body);
  double pace = 0.05 * plan->part[first].radius;
  while (!unit_is_free(plan, first)) shift_unit(plan, first, first_link, scale(pace, out));
  return out;
}

/* A rigid motion of the unit towards the origin, and the motions that its joints allow. A unit tied to the world has
 * only the latter. */
static void move_unit(Plan *plan, int first, int first_link, Vec3 out, bool tied) {
  Draw *d = &plan->motion;
  Vec3 any = draw_vec3(d, 0.5 * plan->speed), v = add_scaled(any, -draw(d, 0, 1) * plan->speed, out);
  Vec3 w = draw_vec3(d, plan->spin);
  for (int i = first; i < plan->part_count && !tied; i++) {
    Part *p = &plan->part[i];
    p->spin = w;
    p->velocity = add(v, cross(w, sub(p->at, plan->part[first].at)));
  }
  for (int i = first_link; i < plan->link_count; i++)
    if (plan->link[i].kind != ABD_JOINT_GEAR && !plan->link[i].loop) move_below(plan, first, &plan->link[i]);
}

/* The next part of a unit: jointed to, or if soft attached to, one of its stiff parts. */
static bool add_child(Plan *plan, int first) {
  Draw *d = &plan->joint;
  int i = plan->part_count, parent = draw(d, 0, 1) < 0.7 ? i - 1 : first + draw_int(d, i - first);
  Vec3 point;
  Part *p = &plan->part[i];
  while (is_soft(&plan->part[parent]) && parent > first) parent--;
  draw_part(plan, p);
  p->parent = parent;
  if (is_soft(&plan->part[parent]) || !place_child(plan, first, i, &point)) return false;
  p->attach = is_soft(p);
  p->scripted = p->kinematic = p->still = false;
  plan->part_count++;
  if (!p->attach) add_link(plan, i, parent, point);
  return true;
}

/* Turns a unit of one part into a chain of linked rings: each is turned by a quarter against the one before. */
static void add_rings(Plan *plan, int first, int count) {
  double radius = draw_decades(&plan->body, -1.2, -0.5), tube = radius * draw(&plan->body, 0.08, 0.22);
  int rings = 2 + draw_int(&plan->body, 3);
  for (int k = 0; k < rings && first + k < count; k++) {
    Part *p = &plan->part[first + k];
    if (k > 0) draw_part(plan, p);
    p->form = FORM_TORUS;
    p->kinematic = p->scripted = p->still = false;
    p->size[0] = radius, p->size[1] = tube;
    p->radius = part_radius(p);
    p->at = vec3(k * (2 * radius - 2.5 * tube), 0, 0);
    memcpy(p->quaternion, (double[4]){sqrt(0.5), k % 2 ? sqrt(0.5) : 0, 0, k % 2 ? 0 : sqrt(0.5)},
           sizeof p->quaternion);
    plan->part_count = first + k + 1;
  }
}

static void add_unit(Plan *plan, int count) {
  Draw *d = &plan->joint;
  int first = plan->part_count, first_link = plan->link_count, size = 1 + draw_int(d, UNIT_PARTS);
  bool joined = draw(d, 0, 1) < 0.6 && plan->jointed, tie = draw(d, 0, 1) < 0.4, ring = draw(d, 0, 1) < 0.1;
  draw_part(plan, &plan->part[plan->part_count++]);
  const Part *root = &plan->part[first];
  bool moves = !root->kinematic && !root->still;
  bool tied = joined && tie && !is_soft(root) && moves && (plan->gravity || plan->ground);
  if (tied) add_link(plan, first, -1, add_scaled(root->at, 1.1 * root->radius, draw_unit(d)));
  while (joined && plan->part_count < first + size && plan->part_count < count)
    if (!add_child(plan, first)) break;
  if (draw(d, 0, 1) < 0.3) add_gear(plan, first_link);
  if (draw(d, 0, 1) < 0.3) add_rope(plan, first);
  if (ring && !joined && moves) add_rings(plan, first, count);
  Vec3 out = place_unit(plan, first, first_link);
  move_unit(plan, first, first_link, out, tied || root->still);
  if (tied) plan->facts.free = false;
}

/* Normal k of the funnel, or of the plane. */
static Vec3 ground_normal(const Plan *plan, int k) {
  static const Vec3 side[4] = {{1, 0, 0.8}, {-1, 0, 0.8}, {0, 1, 0.8}, {0, -1, 0.8}};
  return plan->ground == 2 ? unit(side[k]) : vec3(0, 0, 1);
}

/* Puts the ground close below the bodies. */
static double ground_height(const Plan *plan) {
  double z = INFINITY;
  for (int i = 0; i < plan->part_count; i++)
    for (int k = 0; k < 4; k++) {
      const Part *p = &plan->part[i];
      Vec3 n = ground_normal(plan, k);
      z = fmin(z, (dot(n, p->at) - 1.02 * p->radius) / n.z);
    }
  return z;
}

static void plan_bodies(Plan *plan) {
  int random = 2 + draw_int(&plan->setting, MOST_PARTS - 1), count = plan->options.bodies;
  if (count <= 0) count = random;
  if (count > MOST_PARTS) count = MOST_PARTS;
  while (plan->part_count < count) add_unit(plan, count);
  plan->facts.joints = plan->link_count;
  for (int i = 0; i < plan->part_count; i++) {
    const Part *p = &plan->part[i];
    plan->facts.bodies += !p->still && !p->kinematic;
    plan->facts.soft += is_soft(p);
    if (p->kinematic || p->scripted || norm(p->force) > 0) plan->facts.driven = true, plan->facts.free = false;
  }
}

/* ---- Text ---- */

static void put_vec(FILE *out, const char *key, Vec3 v) {
  fprintf(out, ", \"%s\": [%.17g, %.17g, %.17g]", key, v.x, v.y, v.z);
}

static void put_points(FILE *out, const Part *p, int count) {
  fputs("\"vertices\": [", out);
  for (int i = 0; i < count; i++)
    fprintf(out, "%s[%.17g, %.17g, %.17g]", i ? ", " : "", p->point[i].x, p->point[i].y, p->point[i].z);
}

static void put_wire(FILE *out, const Part *p) {
  put_points(out, p, WIRE_POINTS);
  fputs("], \"edges\": [", out);
  for (int i = 0; i + 1 < WIRE_POINTS; i++) fprintf(out, "%s[%d, %d]", i ? ", " : "", i, i + 1);
  fprintf(out, "], \"thickness\": %.17g", p->size[2]);
}

static void put_stone(FILE *out, const Part *p) {
  put_points(out, p, STONE_POINTS);
  fputs("], \"triangles\": [", out);
  for (int t = 0; t < 20; t++) {
    const int *c = stone_triangle[t];
    fprintf(out, "%s[%d, %d, %d]", t ? ", " : "", c[0], c[1], c[2]);
  }
  fputs("]", out);
}

/* Two boxes across each other, in the bounding sphere of one. */
static void put_cross(FILE *out, const Part *p) {
  const double *s = p->size;
  fputs("\"parts\": [", out);
  for (int k = 0; k < 2; k++)
    fprintf(out, "%s{ \"shape\": \"box\", \"size\": [%.17g, %.17g, %.17g] }", k ? ", " : "", s[k], s[1 - k], s[2]);
  fputs("]", out);
}

static void put_form(FILE *out, const Part *p) {
  static const char *const name[FORM_COUNT] = {"box", "sphere", "cylinder", "cone",   "capsule",  "torus", "grid", "",
                                               "",    "box",    "beam",     "sphere", "cylinder", "sheet", "rod"};
  const double *s = p->size;
  if (p->form == FORM_WIRE || p->form == FORM_STONE) {
    if (p->form == FORM_WIRE) put_wire(out, p);
    else put_stone(out, p);
    return;
  }
  fprintf(out, "\"shape\": \"%s\"", name[p->form]);
  switch (p->form) {
    case FORM_BALL: fprintf(out, ", \"radius\": %.17g, \"subdivisions\": 2", s[0]); break;
    case FORM_SOFT_BALL: fprintf(out, ", \"radius\": %.17g, \"cells\": 2", s[0]); break;
    case FORM_SOFT_CYLINDER:
      fprintf(out, ", \"radius\": %.17g, \"height\": %.17g, \"cells\": [1, 3]", s[0], s[1]);
      break;
    case FORM_TORUS:
      fprintf(out, ", \"radius\": %.17g, \"tube\": %.17g, \"segments\": 16, \"sides\": 8", s[0], s[1]);
      break;
    case FORM_SHEET:
      fprintf(out, ", \"size\": [%.17g, %.17g], \"cells\": [4, 4], \"thickness\": %.17g", s[0], s[1], s[2]);
      break;
    case FORM_SHELL: fprintf(out, ", \"size\": [%.17g, %.17g], \"cells\": [4, 3]", s[0], s[1]); break;
    case FORM_ROD: fprintf(out, ", \"height\": %.17g, \"cells\": 8", s[0]); break;
    case FORM_BOX: fprintf(out, ", \"size\": [%.17g, %.17g, %.17g]", s[0], s[1], s[2]); break;
    case FORM_SOFT_BOX: fprintf(out, ", \"size\": [%.17g, %.17g, %.17g], \"cells\": 2", s[0], s[1], s[2]); break;
    case FORM_SOFT_BEAM: fprintf(out, ", \"size\": [%.17g, %.17g, %.17g], \"cells\": 1", s[0], s[1], s[2]); break;
    default: fprintf(out, ", \"radius\": %.17g, \"height\": %.17g, \"segments\": 16", s[0], s[1]); break;
  }
}

static void put_soft(FILE *out, const Part *p) {
  fprintf(out, ", \"soft\": { \"young\": %.17g, \"poisson\": %.17g, \"damping\": %.17g, \"model\": \"%s\"", p->young,
          p->poisson, p->damping, abd_soft_model_name((AbdSoftModel)p->model));
  if (p->form == FORM_SHELL || p->form == FORM_ROD) fprintf(out, ", \"thickness\": %.17g", p->size[2]);
  fputs(" }", out);
  if (p->scripted) {
    fputs(", \"scripted\": [ { \"vertices\": [0, 1]", out);
    put_vec(out, "velocity", scale(0.5, p->velocity));
    fputs(" } ]", out);
  }
  if (p->attach) fprintf(out, ", \"attach\": [ { \"body\": \"part-%d\", \"vertices\": [0, 1, 2] } ]", p->parent);
}

static bool is_tied(const Plan *plan, int i) {
  bool tied = plan->part[i].parent >= 0;
  for (int k = 0; k < plan->part_count; k++) tied |= plan->part[k].parent == i;
  for (int k = 0; k < plan->link_count; k++) tied |= plan->link[k].a == i || plan->link[k].b == i;
  return tied;
}

static double part_mass(const Part *p) { return 4 * p->density * p->radius * p->radius * p->radius; }

static WideBody wide_facts(const Plan *plan, int i) {
  const Part *p = &plan->part[i];
  return (WideBody){is_soft(p), p->still, p->kinematic, is_tied(plan, i), p->radius, part_mass(p)};
}

/* A body that comes later falls from above all others. */
static void raise_part(const Plan *plan, int i, Part *p) {
  double top = p->at.z;
  for (int k = 0; k < plan->part_count; k++) top = fmax(top, plan->part[k].at.z + plan->part[k].radius);
  p->at.z = top + 2 + 2 * p->radius + 0.7 * i;
  p->velocity = vec3(0, 0, -fmin(20, 3 / (plan->dt * plan->options.steps)));
}

static void put_part(FILE *out, Plan *plan, int i) {
  Part moved = plan->part[i];
  const Part *p = &moved;
  WideBody facts = wide_facts(plan, i);
  double arrival = wide_arrival(&plan->wide, &facts, &plan->facts);
  if (arrival > 0) raise_part(plan, i, &moved);
  const double *q = p->quaternion;
  bool thin = p->form == FORM_SHEET || p->form == FORM_WIRE || p->form == FORM_SHELL || p->form == FORM_ROD;
  fprintf(out, "%s\n    { \"name\": \"part-%d\", ", i ? "," : "", i);
  if (p->form == FORM_BOX && wide_is_cross(&plan->wide)) put_cross(out, p);
  else put_form(out, p);
  if (arrival > 0) fprintf(out, ", \"from\": %.17g", arrival);
  put_vec(out, "position", p->at);
  fprintf(out, ", \"quaternion\": [%.17g, %.17g, %.17g, %.17g]", q[0], q[1], q[2], q[3]);
  put_vec(out, "velocity", p->velocity);
  put_vec(out, "angular_velocity", p->spin);
  fprintf(out, ", \"density\": %.17g", p->density);
  if (thin) fprintf(out, ", \"contact_thickness\": %.17g", p->size[2]);
  if (p->friction >= 0) fprintf(out, ", \"friction\": %.17g", p->friction);
  if (p->kinematic || p->still) fprintf(out, ", \"motion\": \"%s\"", p->still ? "static" : "kinematic");
  else if (norm(p->force) > 0) put_vec(out, "force", p->force);
  if (is_soft(p)) put_soft(out, p);
  else fprintf(out, ", \"elasticity\": \"%s\"", abd_elasticity_name((AbdElasticity)p->elasticity));
  wide_body(&plan->wide, out, &facts, arrival > 0, &plan->facts);
  fputs(" }", out);
}

static void put_ground(FILE *out, const Plan *plan) {
  for (int k = 0; k < plan->ground * plan->ground; k++) {
    fprintf(out, ",\n    { \"name\": \"ground-%d\", \"shape\": \"half_space\"", k);
    put_vec(out, "normal", ground_normal(plan, k));
    put_vec(out, "position", vec3(0, 0, ground_height(plan)));
    fputs(" }", out);
  }
}

/* In some worlds two pairs do not collide. */
static void put_exclusions(FILE *out, Plan *plan) {
  int count = plan->part_count, pair[2][2];
  bool some = draw(&plan->setting, 0, 1) < 0.2;
  for (int k = 0; k < 4; k++) pair[k / 2][k % 2] = draw_int(&plan->setting, count);
  fputs("\n  ],\n  \"exclude\": [", out);
  for (int k = 0, written = 0; k < 2; k++)
    if (some && pair[k][0] != pair[k][1]) fprintf(out, "%s[%d, %d]", written++ ? ", " : "", pair[k][0], pair[k][1]);
  wide_pairs(&plan->wide, out, count);
}

static void put_limit(FILE *out, const Link *l) {
  if (isfinite(l->limit[0])) fprintf(out, ", \"limits\": [%.17g, %.17g]", l->limit[0], l->limit[1]);
  if (l->stiffness > 0) fprintf(out, ", \"stiffness\": %.17g", l->stiffness);
  if (l->damping > 0) fprintf(out, ", \"damping\": %.17g", l->damping);
  if (l->friction > 0) fprintf(out, ", \"friction\": %.17g", l->friction);
}

static void put_bodies(FILE *out, const Link *l) {
  fprintf(out, ", \"bodies\": [\"part-%d\"", l->a);
  if (l->b >= 0) fprintf(out, ", \"part-%d\"", l->b);
  fputs("]", out);
  if (takes(l->kind, ABD_JOINT_NEEDS_POINT)) put_vec(out, "point", l->point);
  if (takes(l->kind, ABD_JOINT_NEEDS_POINT_B)) put_vec(out, "point_b", l->point_b);
  if (takes(l->kind, ABD_JOINT_TAKES_AXIS)) put_vec(out, "axis", l->axis);
  if (takes(l->kind, ABD_JOINT_TAKES_AXIS_B)) put_vec(out, "axis_b", l->axis_b);
  if (takes(l->kind, ABD_JOINT_TAKES_PITCH)) fprintf(out, ", \"pitch\": %.17g", l->pitch);
  if (l->kind == ABD_JOINT_ROPE) fprintf(out, ", \"length\": %.17g", l->length);
  put_limit(out, l);
  if (l->collide) fputs(", \"collide\": true", out);
}

static void put_link(FILE *out, Plan *plan, int i) {
  const Link *l = &plan->link[i];
  fprintf(out, "%s\n    { \"name\": \"joint-%d\", \"type\": \"%s\"", i ? "," : "", i, abd_joint_kind_name(l->kind));
  if (l->kind != ABD_JOINT_GEAR) put_bodies(out, l);
  else fprintf(out, ", \"joints\": [\"joint-%d\", \"joint-%d\"], \"ratio\": %.17g", l->joint[0], l->joint[1], l->ratio);
  if (l->kind != ABD_JOINT_GEAR) {
    const Part *p = &plan->part[l->a];
    wide_joint(&plan->wide, out, part_mass(p), p->radius, &plan->facts);
  }
  fputs(" }", out);
}

static void put_drives(FILE *out, Plan *plan) {
  static const char *const name[] = {"", "torque", "speed", "position"};
  int count = 0;
  fputs("\n  ],\n  \"drives\": [", out);
  for (int i = 0; i < plan->link_count; i++) {
    const Link *l = &plan->link[i];
    int kind = (int)l->drive[0];
    if (!l->driven) continue;
    fprintf(out, "%s\n    { \"joint\": \"joint-%d\", \"type\": \"%s\", \"value\": %.17g", count++ ? "," : "", i,
            name[kind], l->drive[1]);
    if (kind > 1) fprintf(out, ", \"max\": %.17g", l->drive[2]);
    if (kind > 2) fprintf(out, ", \"stiffness\": %.17g", l->drive[2]);
    fputs(" }", out);
    plan->facts.driven = true;
  }
}

static void put_world(FILE *out, Plan *plan, uint64_t seed) {
  fprintf(out, "{\n  \"version\": 1,\n  \"name\": \"random-%llu\",\n  \"dt\": %.17g,\n  \"steps\": %d,\n",
          (unsigned long long)seed, plan->dt, plan->options.steps);
  fprintf(out, "  \"integrator\": \"%s\",\n  \"gravity\": [0, 0, %g],\n  \"contact\": { \"friction\": %.17g",
          abd_integrator_name((AbdIntegrator)plan->integrator), plan->gravity ? -9.81 : 0, plan->friction);
  wide_contact(&plan->wide, out, &plan->facts);
  fputs(" },\n  \"bodies\": [", out);
  for (int i = 0; i < plan->part_count; i++) put_part(out, plan, i);
  put_ground(out, plan);
  put_exclusions(out, plan);
  fputs("\n  ],\n  \"joints\": [", out);
  for (int i = 0; i < plan->link_count; i++) put_link(out, plan, i);
  put_drives(out, plan);
  fputs("\n  ]\n}\n", out);
}

static Draw stream(uint64_t seed, uint64_t number) {
  Draw d = {seed * 8 + number};
  d.state = draw_bits(&d);
  return d;
}

char *random_world_text(uint64_t seed, const RandomOptions *options, RandomFacts *facts) {
  Plan *plan = calloc(1, sizeof *plan);
  char *text = NULL;
  size_t size;
  FILE *out = plan ? open_memstream(&text, &size) : NULL;
  if (out) {
    *plan = (Plan){.options = *options, .setting = stream(seed, 0), .body = stream(seed, 1), .joint = stream(seed, 2)};
    plan->motion = stream(seed, 3);
    plan->drive = stream(seed, 4);
    plan->wide = (Wide){.draw = stream(seed, 5), .on = options->wide, .steps = options->steps};
    wide_settings(&plan->wide);
    plan->options.drives |= plan->wide.powered;
    plan_settings(plan);
    plan->wide.dt = plan->dt;
    plan->wide.bounces = plan->integrator == ABD_INTEGRATOR_RIGID;
    plan_bodies(plan);
    put_world(out, plan, seed);
    fclose(out);
    *facts = plan->facts;
  }
  free(plan);
  return text;
}
