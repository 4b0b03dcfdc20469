/* Exports of run files, and the viewer: frames as geometry, animations, tables, pictures or films, by the ending of the
 * file's name; a server that shows a run in a browser. docs/command.md describes the formats. */
#ifndef ABD_PUBLIC_EXPORT_H
#define ABD_PUBLIC_EXPORT_H

#include <abd/record.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct AbdExportDef {
  int64_t frame;             /* the frame of this step; -1 = the last one, or all if the format holds many */
  int64_t first, last;       /* formats of many frames: the steps, 0 and INT64_MAX */
  int64_t every;             /* and every so many-th frame of them, 1 */
  double speed;              /* animations and films: 1 = real time */
  const char *table;         /* .csv: "poses", "vertices", "report", "contacts", "joints"; NULL = poses */
  int width, height;         /* pictures: [pixels] 1280, 720 */
  double azimuth, elevation; /* [degrees] around the up axis and above the horizon: 35, 18 */
  double zoom;               /* 1 shows all dynamic bodies */
  double center[3], radius;  /* [m] the ball that is shown; radius 0 = all dynamic bodies */
  double strain, stress;     /* soft bodies coloured by strain or stress [Pa] from 0 to this; 0 = their own colours */
  void (*progress)(void *user, size_t done, size_t total); /* called after each frame; may be NULL */
  void *user;
} AbdExportDef;

ABD_API AbdExportDef abd_default_export_def(void);
/* One frame: .obj .ply .vtp .vtk .png .ppm. Many: .glb .usda .pvd .csv .html .mp4 .gif (films need ffmpeg). The file is
 * complete or not there. def and error may be NULL. */
ABD_API AbdStatus abd_export(AbdRun *run, const char *path, const AbdExportDef *def, AbdError *error);

/* Serves the viewer for a run, also one that is still written, until it is stopped. */
typedef struct AbdViewer AbdViewer;
/* address: "127.0.0.1", which only this machine reaches, if NULL. port: 0 = any free one. */
ABD_API AbdViewer *abd_viewer_start(const char *run_path, const char *address, int port, AbdError *error);
ABD_API int abd_viewer_port(const AbdViewer *viewer);
ABD_API void abd_viewer_stop(AbdViewer *viewer); /* NULL is allowed */

#ifdef __cplusplus
}
#endif
#endif
