/* The camera of a picture. Internal to src/export. */
#ifndef ABD_EXPORT_PICTURE_VIEW_H
#define ABD_EXPORT_PICTURE_VIEW_H

#include "export/picture.h"
#include "export/raster.h"

/* From the centre to the camera, unit. */
V3 view_direction(const PictureView *view, V3 up);
Camera view_camera(const PictureView *view, V3 up);

#endif
