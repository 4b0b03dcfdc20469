/* Data of `abd export`: the run, the selected frames, the camera. Internal to tool/export*.c. */
#ifndef ABD_TOOL_EXPORT_JOB_H
#define ABD_TOOL_EXPORT_JOB_H

#include "args.h"
#include "export/series.h"
#include "progress.h"

typedef struct ExportOptions {
  const char *output, *frames, *size, *view, *look_at, *table;
  TextList body;
  int64_t frame, every;
  double zoom, fps, speed; /* fps 0: from the times of the frames */
  double strain, stress;   /* 0: bodies have their own colours */
  bool all, reports, quiet;
} ExportOptions;

typedef struct ExportJob {
  ExportOptions options;
  const Command *command; /* for usage errors */
  Run *run;
  RunScene scene;
  int64_t *step; /* of the frames to write, ascending */
  size_t step_count;
  double frame_seconds; /* [s] between two of them */
  double fps;           /* of a film */
  PictureView view;
  PictureModel *model; /* of pictures, made for the first one */
  const char *ending;  /* with the dot */
  Progress progress;
} ExportJob;

/* Print "abd export: sentence" and return the code. */
int export_fail(int code, const char *sentence);
int export_fail_run(const Run *run);

/* Fills step, step_count and frame_seconds: the last frame, or many. */
int export_choose_frames(ExportJob *job, bool many);
/* Drops or repeats frames so that the film runs at its speed; sets fps. */
int export_pace_film(ExportJob *job);

/* Reads size, view and zoom; returns ARGS_GO_ON or the exit code. */
int export_read_view(ExportJob *job);
/* One camera for all pictures of a sequence. */
int export_aim(ExportJob *job);

#endif
