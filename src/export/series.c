/* See series.h. */
#include "export/series.h"

#include "export/body_point.h"

#include <math.h>

#include <stdio.h>

bool series_read(const ExportSeries *series, size_t k, RunFrame *frame, ExportError *error) {
  if (run_read_frame(series->run, series->scene, series->step[k], frame)) return true;
  snprintf(error->text, sizeof error->text, "%s", run_error(series->run));
  return false;
}

void series_tell(const ExportSeries *series, size_t done) {
  if (series->progress) series->progress(series->user, done, series->step_count);
}

void series_hold(const RunScene *scene, double *nodes, size_t frame_count) {
  static const double identity[12] = {[3] = 1, [7] = 1, [11] = 1};
  for (size_t b = 0; b < scene->body_count; b++) {
    const RunBody *body = &scene->body[b];
    size_t numbers = body->soft ? 3 * body_mesh(scene, b)->vertex_count : 12, stride = scene->node_count, first = 0;
    double *own = nodes + body->node;
    while (first < frame_count && numbers && isnan(own[stride * first])) first++;
    const double *last = first < frame_count ? own + stride * first : NULL;
    for (size_t f = 0; f < frame_count && numbers; f++) {
      double *now = own + stride * f;
      if (!isnan(now[0])) last = now;
      else if (last) memcpy(now, last, numbers * sizeof *now);
      else
        for (size_t k = 0; k < numbers; k++) now[k] = body->soft ? 0 : identity[k];
    }
  }
}
