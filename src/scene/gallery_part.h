/* Parts that gallery scenes are built of. Flat parts (bars, gears) lie in their mesh's x-y plane, thick along z, and
 * are placed upright in a plane y = const of the world: turn is the angle from x towards z. Tests:
 * tests/test_gallery.c. */
#ifndef ABD_SCENE_GALLERY_PART_H
#define ABD_SCENE_GALLERY_PART_H

#include "scene/gallery_writer.h"

/* In formats of writer_item: a vector of three. */
#define VEC "[%.12g, %.12g, %.12g]"
/* A flat part upright: writer_item(w, "{ ... " UPRIGHT " }", x, y, z, -turn in degrees). */
#define UPRIGHT "\"position\": [%.12g, %.12g, %.12g], \"euler_degrees\": [90, %.12g, 0]"

/* A bar with round ends from (0, 0) to (length, 0), wide 2 radius, with bevelled edges. */
bool part_bar(double length, double radius, double thickness, MeshData *out);
/* A rod along z from the pivot at the origin down to a ball with its centre at -length: one body of revolution. */
bool part_bob(double length, double rod, double ball, MeshData *out);

/* A thick bowl that stands on z = 0 and leans out, its wall 0.06 m. */
bool part_bowl(double radius, double height, MeshData *out);

typedef struct GearShape {
  int teeth;
  double module;         /* [m] pitch diameter / teeth */
  double pressure_angle; /* [rad] */
  double backlash;       /* [m] play of the pair on the pitch circle; each gear's teeth are thinner by half of it */
  double mate_teeth;     /* of the gear with the fewest teeth it runs with: its base circle limits the tips */
  double thickness;
  int resolution; /* points on a flank; the faces use the same division */
} GearShape;
double gear_pitch_radius(const GearShape *gear);
double gear_base_radius(const GearShape *gear);
double gear_tip_radius(const GearShape *gear);
double gear_root_radius(const GearShape *gear);
/* Half the angle a tooth spans at a radius on its flank. */
double gear_half_angle(const GearShape *gear, double radius);
/* Tooth 0 points along x. The surface is closed: hub, web, rim. */
bool part_gear(const GearShape *gear, MeshData *out);

#endif
