/* abd: questions to a started world between steps: distances, casts, overlaps, loads of contacts.
 *
 * Surfaces are those of the meshes at the present poses; collision thicknesses are not added. What a closed surface or
 * a half-space encloses counts as part of the body in overlaps, and a half-space is solid in all questions. Functions
 * return ABD_ERROR_STATE before the start and ABD_ERROR_MEMORY if memory for the surfaces of soft bodies runs out.
 * Sensors (AbdBodyDef.sensor) are found only if the filter asks for them. */
#ifndef ABD_QUERY_H
#define ABD_QUERY_H

#include "abd/abd.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which bodies a question is put to; NULL = all but sensors. */
typedef struct AbdQueryFilter {
  AbdBodyId ignore; /* null = none */
  bool sensors;     /* sensors too */
} AbdQueryFilter;

/* ---- Distances --------------------------------------------------------------------------------------------------- */

typedef struct AbdNearest {
  double distance;                 /* [m] 0 if the surfaces cross; infinity if nothing was found */
  AbdBodyId body_a, body_b;        /* of a point: its body_a is the body found, body_b is null */
  double point_a[3], point_b[3];   /* [m] nearest points; point_b of a point is the point itself */
  uint32_t triangle_a, triangle_b; /* of the bodies' meshes; UINT32_MAX for an edge or a point without a triangle */
} AbdNearest;

/* Nearest points of two different bodies. */
ABD_API AbdStatus abd_world_distance(const AbdWorld *world, AbdBodyId a, AbdBodyId b, AbdNearest *nearest);
/* The nearest point of any surface to a point, within max_distance [m] (infinity = any). */
ABD_API AbdStatus abd_world_nearest(const AbdWorld *world, const double point[3], double max_distance,
                                    const AbdQueryFilter *filter, AbdNearest *nearest);

/* ---- Casts ------------------------------------------------------------------------------------------------------- */

typedef struct AbdCast {
  double origin[3], direction[3]; /* [m], of any length but 0 */
  double radius;                  /* [m] of a ball that moves; 0 = a ray, which hits triangles alone */
  double max_distance;            /* [m] the longest way; infinity = any */
} AbdCast;

typedef struct AbdHit {
  AbdBodyId body;    /* null if nothing is hit */
  double distance;   /* [m] way along the direction; 0 if the ball touches at the start; infinity if nothing is hit */
  double point[3];   /* [m] on the body's surface */
  double normal[3];  /* unit, of the surface, towards the origin; of a ball from the point to its centre */
  uint32_t triangle; /* as in AbdNearest */
} AbdHit;

/* The first body that the ray or the ball hits. */
ABD_API AbdStatus abd_world_cast(const AbdWorld *world, const AbdCast *cast, const AbdQueryFilter *filter, AbdHit *hit);

/* ---- Overlaps ---------------------------------------------------------------------------------------------------- */

typedef struct AbdBoxQuery {
  double center[3], half[3]; /* [m] */
  double rotation[4];        /* quaternion w x y z; all 0 = none */
} AbdBoxQuery;

/* The bodies that a box meets or is inside of, by ascending ids. Writes at most capacity of them; *count is how many
 * there are. */
ABD_API AbdStatus abd_world_overlap_box(const AbdWorld *world, const AbdBoxQuery *box, const AbdQueryFilter *filter,
                                        AbdBodyId *body, size_t capacity, size_t *count);
/* The bodies that overlap a body, a sensor as a rule: their surfaces cross or touch, or one encloses the other. */
ABD_API AbdStatus abd_body_overlaps(const AbdWorld *world, AbdBodyId body, const AbdQueryFilter *filter,
                                    AbdBodyId *other, size_t capacity, size_t *count);

/* ---- Loads of contacts ------------------------------------------------------------------------------------------- */

/* What contacts did to a body in the last step, as abd_world_contacts has them. In sub-steps torques are about the
 * centre of mass at the end of each. */
typedef struct AbdContactLoad {
  size_t contacts;
  double normal[3], friction[3]; /* [N] */
  double torque[3];              /* [N m] of both, and of rolling and torsional friction, about the centre of mass */
} AbdContactLoad;

ABD_API AbdStatus abd_body_contact_load(const AbdWorld *world, AbdBodyId body, AbdContactLoad *load);
/* By one other body alone. */
ABD_API AbdStatus abd_pair_contact_load(const AbdWorld *world, AbdBodyId body, AbdBodyId other, AbdContactLoad *load);

#ifdef __cplusplus
}
#endif
#endif
