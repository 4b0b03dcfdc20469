/* See series.h. */
#include "export/series.h"

#include <stdio.h>

bool series_read(const ExportSeries *series, size_t k, RunFrame *frame, ExportError *error) {
  if (run_read_frame(series->run, series->scene, series->step[k], frame)) return true;
  snprintf(error->text, sizeof error->text, "%s", run_error(series->run));
  return false;
}

void series_tell(const ExportSeries *series, size_t done) {
  if (series->progress) series->progress(series->user, done, series->step_count);
}
