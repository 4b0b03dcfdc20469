/* The camera of `abd export`: its options and its position. Tested by
 * tests/cli/export.sh. */
#include "export_job.h"
#include "facts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int export_read_view(ExportJob *job) {
  const ExportOptions *o = &job->options;
  char rest;
  job->view = picture_default_view();
  job->view.zoom = o->zoom, job->view.strain = o->strain, job->view.stress = o->stress;
  PictureView *v = &job->view;
  if (o->size && (sscanf(o->size, "%dx%d%c", &v->width, &v->height, &rest) != 2 || v->width < 16 || v->height < 16 ||
                  v->width > 8192 || v->height > 8192))
    return args_usage_error(job->command, "--size: expected WIDTHxHEIGHT of 16 to 8192 pixels, got '%s'", o->size);
  if (o->view && (sscanf(o->view, "%lf,%lf%c", &v->azimuth, &v->elevation, &rest) != 2 || !isfinite(v->azimuth) ||
                  !(fabs(v->elevation) <= 90)))
    return args_usage_error(job->command, "--view: expected AZIMUTH,ELEVATION in degrees, got '%s'", o->view);
  if (o->look_at) {
    double place[4];
    if (!args_place(o->look_at, place))
      return args_usage_error(job->command, "--look-at: expected X,Y,Z,RADIUS in metres, got '%s'", o->look_at);
    memcpy(v->center, place, sizeof v->center);
    v->radius = place[3];
  }
  return ARGS_GO_ON;
}

/* The bodies named with --body; NULL with EXIT_GOOD if there are none. */
static int choose_bodies(const ExportJob *job, bool **chosen) {
  const TextList *name = &job->options.body;
  const RunScene *scene = &job->scene;
  *chosen = NULL;
  if (!name->count) return EXIT_GOOD;
  *chosen = calloc(scene->body_count + 1, sizeof **chosen);
  int code = *chosen ? EXIT_GOOD : export_fail(EXIT_FAILED, "out of memory");
  for (int k = 0; code == EXIT_GOOD && k < name->count; k++) {
    bool found = false;
    for (size_t b = 0; b < scene->body_count; b++)
      if (!strcmp(scene->body[b].name, name->text[k])) (*chosen)[b] = found = true;
    if (found) continue;
    code = facts_no_body("export", run_path(job->run), scene, name->text[k]);
  }
  return code;
}

int export_aim(ExportJob *job) {
  enum { MOST_LOOKS = 9 };
  RunFrame frame[MOST_LOOKS] = {{0}};
  const double *nodes[MOST_LOOKS] = {NULL};
  bool *chosen;
  if (job->options.look_at) return EXIT_GOOD;
  int code = choose_bodies(job, &chosen);
  size_t count = job->step_count < MOST_LOOKS ? job->step_count : MOST_LOOKS;
  for (size_t k = 0; k < count && code == EXIT_GOOD; k++) {
    size_t at = count == 1 ? 0 : k * (job->step_count - 1) / (count - 1);
    if (!run_read_frame(job->run, &job->scene, job->step[at], &frame[k])) code = export_fail_run(job->run);
    nodes[k] = frame[k].nodes;
  }
  if (code == EXIT_GOOD && !picture_frame(&job->view, &job->scene, nodes, count, chosen))
    code = export_fail(EXIT_FAILED, "out of memory");
  for (size_t k = 0; k < count; k++) run_frame_destroy(&frame[k]);
  free(chosen);
  return code;
}
