/* See model/body_mass.h. A tensor of inertia I and the second moments J of the same mass satisfy I = tr(J) - J, so
 * J = tr(I) / 2 - I. No mass has a J with a negative eigenvalue. */
#include "model/body_mass.h"

#include "math/eigen.h"

/* A thinner body would make the mass matrix singular. Files with six digits may have moments slightly negative. */
static const double thinnest = 1e-6;

static bool is_still(const AbdBodyDef *def) {
  const uint32_t all = 63;
  return def->motion == ABD_MOTION_STATIC || (def->motion == ABD_MOTION_DYNAMIC && (def->fixed & all) == all);
}

static bool gives_inertia(const AbdBodyDef *def) {
  for (int k = 0; k < 6; k++)
    if (def->inertia[k] != 0) return true;
  return false;
}

static Mat3 second_of(const double i[6]) {
  double half = (i[0] + i[1] + i[2]) / 2;
  return mat3(vec3(half - i[0], -i[3], -i[4]), vec3(-i[3], half - i[1], -i[5]), vec3(-i[4], -i[5], half - i[2]));
}

static AbdStatus check_inertia(const AbdBodyDef *def, const char *name, AbdError *error) {
  double value[3], least = INFINITY, most = 0;
  Mat3 axes;
  for (int k = 0; k < 6; k++)
    if (!(fabs(def->inertia[k]) < 1e30))
      return fault(error, ABD_ERROR_ARGUMENT, "body \"%s\": inertia[%d] is %g, expected a finite number below 1e30",
                   name, k, def->inertia[k]);
  eigen3(second_of(def->inertia), value, &axes);
  for (int k = 0; k < 3; k++) least = fmin(least, value[k]), most = fmax(most, value[k]);
  if (most > 0 && least >= -thinnest * most) return ABD_OK;
  return fault(
      error, ABD_ERROR_ARGUMENT,
      "body \"%s\": no mass has the inertia xx %g, yy %g, zz %g, xy %g, xz %g, yz %g: each principal moment must "
      "be at most the sum of the other two",
      name, def->inertia[0], def->inertia[1], def->inertia[2], def->inertia[3], def->inertia[4], def->inertia[5]);
}

AbdStatus body_mass_check(const AbdBodyDef *def, const Mesh *mesh, const char *name, AbdError *error) {
  bool still = is_still(def), inertia = gives_inertia(def);
  if (!(def->density >= 0) || !isfinite(def->density) || (def->density == 0 && !still))
    return fault(error, ABD_ERROR_ARGUMENT, "body \"%s\": density is %g, expected a number > 0%s", name, def->density,
                 still ? " or 0" : "");
  if (!(def->mass >= 0) || !isfinite(def->mass))
    return fault(error, ABD_ERROR_ARGUMENT, "body \"%s\": mass is %g, expected a number >= 0", name, def->mass);
  for (int k = 0; def->has_center_of_mass && k < 3; k++)
    if (!(fabs(def->center_of_mass[k]) < 1e30))
      return fault(error, ABD_ERROR_ARGUMENT,
                   "body \"%s\": center_of_mass[%d] is %g, expected a finite number below 1e30", name, k,
                   def->center_of_mass[k]);
  if (inertia && check_inertia(def, name, error)) return error->status;
  if (def->motion == ABD_MOTION_DYNAMIC && !still && !(mesh->volume > 0) && !(def->mass > 0 && inertia))
    return fault(error, ABD_ERROR_MESH,
                 "body \"%s\": mesh '%s' has no volume, area or length, so the body has no mass; give it mass and "
                 "inertia, or make it static or kinematic",
                 name, mesh->name);
  return ABD_OK;
}

static void use_inertia(const AbdBodyDef *def, BodyMass *m) {
  Mat3 second = second_of(def->inertia);
  m->axes = mesh_principal_axes(second);
  Mat3 turned = mat3_mul(mat3_transpose(m->axes), mat3_mul(second, m->axes));
  m->second = vec3(turned.c[0].x, turned.c[1].y, turned.c[2].z);
  double least = thinnest * max_component(m->second);
  m->second = vec3_max(m->second, vec3(least, least, least));
}

BodyMass body_mass(const AbdBodyDef *def, const Mesh *mesh) {
  BodyMass m = {.mass = mesh->half_space ? 0 : def->density * mesh->volume,
                .volume = mesh->volume,
                .second = scale(def->density, vec3_from(mesh->second)),
                .origin = mesh->origin,
                .axes = mesh->axes};
  if (mesh->half_space || is_still(def)) return m;
  if (def->mass > 0) {
    m.mass = def->mass;
    if (mesh->volume > 0) m.second = scale(def->mass / mesh->volume, vec3_from(mesh->second));
    else m.volume = def->mass / def->density;
  }
  if (def->has_center_of_mass) m.origin = vec3_from(def->center_of_mass);
  if (gives_inertia(def)) use_inertia(def, &m);
  m.own_frame = def->has_center_of_mass || gives_inertia(def);
  return m;
}
