/* Exports of run files, and the viewer: frames as geometry, animations, tables, pictures or films, by the ending of the
 * file's name; a server that shows a run in a browser. docs/command.md describes the formats. */
#ifndef ABD_PUBLIC_EXPORT_H
#define ABD_PUBLIC_EXPORT_H

#include <abd/record.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What an ending stands for. */
typedef enum AbdExportKind {
  ABD_EXPORT_UNKNOWN = 0,
  ABD_EXPORT_FRAME,   /* .obj .ply .vtp .vtk: the geometry of one frame */
  ABD_EXPORT_PICTURE, /* .png .ppm: of one frame */
  ABD_EXPORT_SERIES,  /* .glb .usda .pvd .html: many frames */
  ABD_EXPORT_FILM,    /* .mp4 .gif */
  ABD_EXPORT_TABLE    /* .csv */
} AbdExportKind;
ABD_API AbdExportKind abd_export_kind(const char *path);
/* Names of the tables of .csv: "poses", "vertices", "report", "contacts", "joints", "events"; NULL follows the last. */
ABD_API const char *const *abd_export_tables(void);

/* What was written. */
typedef struct AbdExportResult {
  size_t frames; /* of a film its pictures */
  double fps;    /* of a film, pictures per second */
} AbdExportResult;

typedef struct AbdExportDef {
  int64_t frame;             /* the frame of this step; -1 = the last one, or all if the format holds many */
  int64_t first, last;       /* many frames: the steps, 0 and INT64_MAX */
  int64_t every;             /* and every so many-th frame of them, 1 */
  bool all;                  /* one frame a file: a numbered file for each frame, as with %d in the name */
  double speed;              /* animations and films: 1 = real time */
  double fps;                /* films: pictures per second; 0 = those of the frames, at most 60 */
  const char *table;         /* .csv: a name of abd_export_tables; NULL = poses */
  int width, height;         /* pictures: [pixels] 1280, 720 */
  double azimuth, elevation; /* [degrees] around the up axis and above the horizon: 35, 18 */
  double zoom;               /* 1 shows all dynamic bodies */
  double center[3], radius;  /* [m] the ball that is shown; radius 0 = all dynamic bodies, or those of body */
  const AbdBodyId *body;     /* [body_count] pictures: show these */
  size_t body_count;
  double strain, stress; /* soft bodies coloured by strain or stress [Pa] from 0 to this; 0 = their own colours */
  void (*progress)(void *user, size_t done, size_t total); /* called after each frame; may be NULL */
  void *user;
  AbdExportResult *result; /* filled in; may be NULL */
} AbdExportDef;

ABD_API AbdExportDef abd_default_export_def(void);
/* Whether name and def fit together; abd_export checks that first. */
ABD_API AbdStatus abd_export_check(const char *path, const AbdExportDef *def, AbdError *error);
/* The ending chooses the format, see AbdExportKind; films need ffmpeg. A name with %d or %05d becomes one file for each
 * frame, with its step. A file is complete or not there. def and error may be NULL. */
ABD_API AbdStatus abd_export(AbdRun *run, const char *path, const AbdExportDef *def, AbdError *error);

/* The place at which two bodies of a world have a problem. */
typedef struct AbdPlace {
  AbdBodyId body[2];    /* the second may be null */
  uint32_t triangle[2]; /* of each body's mesh; UINT32_MAX for a wire, a point or if unknown */
  double point[3];      /* [m] */
  double distance;      /* [m]; negative: they cross; NaN: unknown */
  double force;         /* [N] sum over the two bodies' contacts; NaN: unknown */
  double radius;        /* [m] of a ball that contains it */
} AbdPlace;
/* The contact of the last step at which two bodies (b null: a and any other) are nearest; without contacts the centre
 * of a. False if a is null. */
ABD_API bool abd_place_of_pair(const AbdWorld *world, AbdBodyId a, AbdBodyId b, AbdPlace *place);
ABD_API void abd_place_of_crossing(const AbdWorld *world, const AbdCrossing *crossing, AbdPlace *place);
/* An OBJ with the triangles of the two bodies nearest to the place, in world coordinates, one object for each body.
 * about: its first line. */
ABD_API AbdStatus abd_place_write(const AbdWorld *world, const AbdPlace *place, const char *about, const char *path,
                                  AbdError *error);

/* ---- The viewer ---- */

/* NULL if this build has the viewer, else a sentence that says why not. */
ABD_API const char *abd_viewer_missing(void);
/* Serves the viewer for a run, also one that is still written, until it is stopped. */
typedef struct AbdViewer AbdViewer;
/* address: "127.0.0.1", which only this machine reaches, if NULL. port: 0 = any free one. */
ABD_API AbdViewer *abd_viewer_start(const char *run_path, const char *address, int port, AbdError *error);
/* Control of a simulation whose run is shown while it is written. */
typedef struct AbdViewerControl {
  void *user;
  /* Executes a JSON object such as {"do": "pause"}; false with a sentence in error for an unknown one. Called by a
   * thread of the server. */
  bool (*command)(void *user, const char *text, size_t length, char *error, size_t error_size);
  /* Members added to the status that the page requests, as text without the braces: "\"paused\": true". */
  void (*status)(void *user, char *text, size_t size);
} AbdViewerControl;
ABD_API AbdViewer *abd_viewer_start_live(const char *run_path, const char *address, int port,
                                         const AbdViewerControl *control, AbdError *error);
ABD_API int abd_viewer_port(const AbdViewer *viewer);
ABD_API void abd_viewer_stop(AbdViewer *viewer); /* NULL is allowed */

#ifdef __cplusplus
}
#endif
#endif
