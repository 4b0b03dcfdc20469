/* A sequence of frames of a run, for formats that hold several. Each writer makes complete files or none: on failure it
 * removes its files and error holds a sentence. Tested in tests/test_export.c and tests/cli/export.sh. */
#ifndef ABD_EXPORT_SERIES_H
#define ABD_EXPORT_SERIES_H

#include "export/picture.h"
#include "export/shape_file.h"

typedef struct ExportSeries {
  Run *run;
  const RunScene *scene;
  const int64_t *step; /* of the frames, ascending; a film may repeat some */
  size_t step_count;
  double frame_seconds;                                    /* [s] usual time between two frames; > 0 */
  double speed;                                            /* 1: real time; 0.5: half as fast */
  void (*progress)(void *user, size_t done, size_t total); /* called after each frame; may be NULL */
  void *user;
} ExportSeries;

/* Frame k of the series; free it with run_frame_destroy. */
bool series_read(const ExportSeries *series, size_t k, RunFrame *frame, ExportError *error);
void series_tell(const ExportSeries *series, size_t done);
/* Nodes of all bodies in several frames: one that is not in a frame gets the pose of the last frame that has it, or of
 * the first. Formats without gaps in a motion then hide it. */
void series_hold(const RunScene *scene, double *nodes, size_t frame_count);

/* glTF 2.0, binary: every mesh once, a node for each body, translations and rotations as one animation. Affine poses
 * become the nearest rotations (pose.h), numbers single precision. */
bool export_glb(const ExportSeries *series, const char *path, ExportError *error);
/* USD as text: every mesh once, referenced by bodies whose matrices are time samples. */
bool export_usda(const ExportSeries *series, const char *path, ExportError *error);
/* ParaView: PATH.pvd lists times and files STEM_00010.vtp beside it, and STEM_contacts_00010.vtp if the run has
 * contacts. */
bool export_pvd(const ExportSeries *series, const char *path, ExportError *error);
/* One frame's surfaces, .vtp (XML) or .vtk (legacy) by the ending. */
bool export_vtk(const RunScene *scene, const RunFrame *frame, const char *path, ExportError *error);
/* One frame's contacts as points with forces; *count = 0 and no file if there are none. */
bool export_vtk_contacts(Run *run, int64_t step, const char *path, size_t *count, ExportError *error);
/* A film: pictures piped to ffmpeg, which has to be installed. fps: pictures a second. */
bool export_film(const ExportSeries *series, const PictureView *view, double fps, const char *path, ExportError *error);

#endif
