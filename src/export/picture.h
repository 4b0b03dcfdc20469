/* Pictures of a frame without a display: a small software rasteriser, and PNG files through libpng where it is present.
 *
 * Triangles are cut at the near plane, filled into a depth buffer with 2x2 samples per pixel, and shaded once per visible
 * sample: one sun with a shadow map, light from the sky, a checker on the ground, a gradient behind.
 * Tested in tests/test_record.c. */
#ifndef ABD_EXPORT_PICTURE_H
#define ABD_EXPORT_PICTURE_H

#include "record/run.h"

typedef struct PictureView {
  int width, height;       /* pixels */
  double azimuth, elevation; /* degrees: where the camera stands, around the up axis and above the horizon */
  double zoom;             /* 1 shows all dynamic bodies; 2 is twice as near */
  double center[3], radius; /* the ball that is shown; see picture_frame_all */
} PictureView;

typedef struct Picture {
  int width, height;
  unsigned char *rgb;      /* [3 width height], rows from the top */
} Picture;

PictureView picture_default_view(void);
/* Sets center and radius to show the dynamic bodies of all given poses (12 numbers per body each), without those few
 * that flew far away; all bodies where none is dynamic. */
bool picture_frame_all(PictureView *view, const RunScene *scene, const double *const *nodes, size_t frame_count);
/* False when out of memory. */
bool picture_draw(Picture *picture, const PictureView *view, const RunScene *scene, const double *nodes);
void picture_destroy(Picture *picture);
/* Whether this build can write PNG; PPM it always can. */
bool picture_has_png(void);
/* By the ending: .png or .ppm. On failure writes a sentence into error. */
bool picture_save(const Picture *picture, const char *path, char *error, size_t error_size);

#endif
