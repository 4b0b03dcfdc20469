/* Mass, centre of mass and inertia of a body: those of its mesh, or those that its def gives instead. Tested in
 * tests/test_body_mass.c. */
#ifndef ABD_MODEL_BODY_MASS_H
#define ABD_MODEL_BODY_MASS_H

#include "geom/mesh.h"

typedef struct BodyMass {
  double mass, volume; /* volume [m^3] of the elasticity */
  Vec3 second;         /* integrals of rho X_k^2 along the principal axes */
  bool own_frame;      /* origin and axes of the rest frame differ from the mesh's */
  Vec3 origin;
  Mat3 axes;
} BodyMass;

/* Checks the fields of the def; the sentence names the body and the value. */
AbdStatus body_mass_check(const AbdBodyDef *def, const Mesh *mesh, const char *name, AbdError *error);
BodyMass body_mass(const AbdBodyDef *def, const Mesh *mesh);

#endif
