/* Ships and helicopters: stiff meshes of parts with small gaps, and their soft parts. x is forward, z up. Tests:
 * tests/test_gallery.c. */
#ifndef ABD_SCENE_GALLERY_VESSEL_H
#define ABD_SCENE_GALLERY_VESSEL_H

#include "scene/gallery_part.h"
#include "scene/tet_mesh.h"

/* Counts of cells grow with the resolution. */
int cells_of(double resolution, double base, int least);

/* A tube along a line, with round ends. */
typedef struct Tube {
  void (*path)(const void *form, double share, double x[3]);
  const void *form;
  double radius[2]; /* at its ends */
  double side[3];   /* a direction at right angles to the line */
  int rings, segments;
} Tube;
bool part_tube(const Tube *tube, MeshData *out);
/* A straight one. */
bool part_rod(const double from[3], const double to[3], double radius_from, double radius_to, double resolution,
              double rings, MeshData *out);
/* Adds a part, turned by the quaternion, then moved, and frees it. made: whether it could be made. */
bool part_join(MeshData *whole, bool made, MeshData *part, const double quat[4], const double at[3]);

/* A longship: hull with a deck, stems, shields, two masts with yard and boom. Its keel is at z = 0. */
bool part_ship(double resolution, MeshData *out);
extern const double ship_mast[2]; /* x of the masts */
/* A sail before a mast at x = 0: its upper edge at the height of the yard, its lower one at that of the boom. */
bool part_sail(double resolution, MeshData *out);
extern const double ship_yard, ship_boom; /* heights */

/* Cabin, tail boom, fin, shafts, struts and axles. The origin is in the cabin. */
bool part_helicopter(double resolution, MeshData *out);
/* Four blades, crossing at the origin, about z. */
typedef struct RotorShape {
  double radius, chord, thickness, pitch;
  int along, across, layers;
} RotorShape;
RotorShape helicopter_rotor(double resolution);
RotorShape helicopter_tail_rotor(double resolution);
bool part_rotor(const RotorShape *rotor, TetMesh *out);
extern const double helicopter_rotor_at[3], helicopter_tail_at[3]; /* centres of rotation: about z, about y */
/* Four tyres on the axles of the helicopter, in its coordinates; their inner faces are helicopter_tyre_gap off the
 * hubs. / */
bool part_tyres(double resolution, TetMesh *out);
extern const double helicopter_tyre_gap;

#endif
