/* Pictures of a frame without a display: a small software renderer, and PNG files if libpng is present.
 *
 * Triangles are clipped at the near plane, filled into a depth buffer with eight samples per pixel, and shaded once per
 * pixel and visible triangle: one sun with a shadow map, a sky with shadow maps from many directions, normals smooth up
 * to creases, a checker on the ground. The bits are the same for any number of threads. Tested in tests/test_record.c
 * and tests/test_export.c. */
#ifndef ABD_EXPORT_PICTURE_H
#define ABD_EXPORT_PICTURE_H

#include "record/run.h"

typedef struct PictureView {
  int width, height;         /* pixels */
  double azimuth, elevation; /* degrees: the camera's position around the up axis and above the horizon */
  double zoom;               /* 1 shows all dynamic bodies; 2 is twice as near */
  double center[3], radius;  /* the ball that is shown; see picture_frame */
  double distance;           /* [m] of the camera from the centre; 0: such that the ball is visible */
  double strain,
      stress; /* soft bodies are coloured by strain.h's strain, or stress [Pa], up to this; 0: in their own colours */
} PictureView;

typedef struct Picture {
  int width, height;
  unsigned char *rgb; /* [3 width height], rows from the top */
} Picture;

/* Data that all pictures of one scene share. It keeps the scene's pointers. */
typedef struct PictureModel PictureModel;
PictureModel *picture_model_create(const RunScene *scene); /* NULL if memory runs out */
void picture_model_destroy(PictureModel *model);           /* NULL is allowed */

PictureView picture_default_view(void);
/* Marks the bodies that move: dynamic ones, and kinematic ones that have a velocity in this frame or another pose than
 * in the first. moving: [body_count]. A half-space has no size to show. */
void picture_add_moving(const RunScene *scene, const RunFrame *first, const RunFrame *frame, bool *moving);
/* Sets center, radius and distance to show bodies in all given poses (RunFrame.nodes), seen from azimuth and elevation:
 * the chosen ones ([body_count], NULL if none), else the moving ones ([body_count], NULL: dynamic ones) except a few
 * that are far away, else all. False if memory runs out. */
bool picture_frame(PictureView *view, const RunScene *scene, const double *const *nodes, size_t frame_count,
                   const bool *chosen, const bool *moving);
/* False if memory runs out. The struct starts zeroed and may be used for several pictures. */
bool picture_draw(Picture *picture, const PictureView *view, PictureModel *model, const double *nodes);
void picture_destroy(Picture *picture);
/* Whether this build can write PNG; every build can write PPM. */
bool picture_has_png(void);
/* By the ending: .png or .ppm. On failure writes a sentence into error. */
bool picture_save(const Picture *picture, const char *path, char *error, size_t error_size);

#endif
