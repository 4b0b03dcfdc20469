/* Pictures of a frame without a display: a small software renderer, and PNG files through libpng where it is present.
 *
 * Triangles are cut at the near plane, filled into a depth buffer with eight samples per pixel, and shaded once per
 * triangle seen in a pixel: one sun with a shadow map, a sky whose light bodies keep from each other (the same maps from
 * many directions), smooth normals up to creases, a checker on the ground. The same bits for any number of threads.
 * Tested in tests/test_record.c and tests/test_export.c. */
#ifndef ABD_EXPORT_PICTURE_H
#define ABD_EXPORT_PICTURE_H

#include "record/run.h"

typedef struct PictureView {
  int width, height;         /* pixels */
  double azimuth, elevation; /* degrees: where the camera stands, around the up axis and above the horizon */
  double zoom;               /* 1 shows all dynamic bodies; 2 is twice as near */
  double center[3], radius;  /* the ball that is shown; see picture_frame */
  double distance;           /* [m] of the camera from the centre; 0: as far as shows the ball */
  double strain,
      stress; /* soft bodies are coloured by strain.h's strain, or stress [Pa], up to this; 0: in their own colours */
} PictureView;

typedef struct Picture {
  int width, height;
  unsigned char *rgb; /* [3 width height], rows from the top */
} Picture;

/* What pictures of one scene share. It keeps the scene's pointers. */
typedef struct PictureModel PictureModel;
PictureModel *picture_model_create(const RunScene *scene); /* NULL when out of memory */
void picture_model_destroy(PictureModel *model);           /* NULL is fine */

PictureView picture_default_view(void);
/* Sets center, radius and distance to show bodies in all given poses (RunFrame.nodes), seen from azimuth and
 * elevation: the chosen ones ([body_count], NULL for none named), else the dynamic ones without those few that flew far
 * away, else all. False when out of memory. */
bool picture_frame(PictureView *view, const RunScene *scene, const double *const *nodes, size_t frame_count,
                   const bool *chosen);
/* False when out of memory. The picture may be drawn again into the same struct; it starts zeroed. */
bool picture_draw(Picture *picture, const PictureView *view, PictureModel *model, const double *nodes);
void picture_destroy(Picture *picture);
/* Whether this build can write PNG; PPM it always can. */
bool picture_has_png(void);
/* By the ending: .png or .ppm. On failure writes a sentence into error. */
bool picture_save(const Picture *picture, const char *path, char *error, size_t error_size);

#endif
