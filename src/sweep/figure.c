/* See figure.h. */
#define _GNU_SOURCE
#include "sweep/figure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/run.h"

static const char *const body_field[] = {"position", "velocity", "angular_velocity", "rotation", NULL};
static const char *const joint_field[] = {"position", "rate", "effort", "residual", NULL};
static const char *const over_name[] = {"last", "min", "max", "mean", "sum", NULL};
static const char *const touch_column[] = {"first", "count"};

/* ---- Reading ---- */

static int index_of(const char *word, const char *const *names) {
  for (int k = 0; names[k]; k++)
    if (!strcmp(word, names[k])) return k;
  return -1;
}

/* "PART.NAME.FIELD"; a name may contain dots. */
static bool read_named(const Node *node, const char *rest, const char *const *fields, Figure *figure) {
  const char *dot = strrchr(rest, '.');
  figure->field = dot ? index_of(dot + 1, fields) : -1;
  if (!dot || dot == rest || figure->field < 0)
    return node_fail(node, "expected %sNAME.%s, .%s, .%s or .%s, got \"%.200s\"",
                     figure->kind == FIGURE_BODY ? "bodies." : "joints.", fields[0], fields[1], fields[2], fields[3],
                     json_string_value(node->value));
  figure->column_count = figure->kind == FIGURE_JOINT ? 1 : figure->field == 3 ? 4 : 3;
  figure->name = strndup(rest, (size_t)(dot - rest));
  return figure->name || scene_fail(node->file->error, "out of memory for a figure");
}

static bool read_event(const Node *node, const char *kind, Figure *figure) {
  const char *const *names = abd_enum_names(ABD_ENUM_EVENT_KIND);
  figure->field = index_of(kind, names), figure->column_count = 1;
  if (figure->field >= 0) return true;
  const char *nearest = nearest_name(kind, names);
  return node_fail(node, "no kind of event '%.100s'; did you mean '%s'?", kind, nearest ? nearest : names[0]);
}

static int report_column(const char *name, size_t length) {
  const char *column;
  for (int k = 0; (column = run_report_column((size_t)k)); k++)
    if (strlen(column) == length && !strncmp(column, name, length)) return k;
  return -1;
}

static bool unknown_column(const Node *node, const char *name) {
  const char *names[128] = {NULL};
  for (size_t k = 0; k + 1 < 128 && run_report_column(k); k++) names[k] = run_report_column(k);
  const char *nearest = nearest_name(name, names);
  return node_fail(node, "the report has no column '%.100s'%s%s%s", name, nearest ? "; did you mean '" : "",
                   nearest ? nearest : "", nearest ? "'?" : "");
}

static bool read_report(const Node *node, const char *name, Figure *figure) {
  const char *dot = strchr(name, '.');
  AbdStepReport none = {0};
  double value;
  figure->column_count = 1;
  int over = dot ? index_of(dot + 1, over_name) : OVER_LAST;
  if (over < 0) return node_fail(node, "expected .min, .max, .mean, .sum or .last after the column, got '%.100s'", dot);
  figure->field = report_column(name, dot ? (size_t)(dot - name) : strlen(name)), figure->over = (FigureOver)over;
  if (figure->field < 0) return unknown_column(node, name);
  return run_report_number(&none, (size_t)figure->field, &value) ||
         node_fail(node, "the column '%.100s' of the report is no number", name);
}

static bool read_touch(const Node *node, Figure *figure) {
  static const char *const known[] = {"touch", NULL};
  Node pair;
  if (!node_check_keys(node, known)) return false;
  bool good = node_get(node, "touch", &pair) && node_size(&pair) == 2;
  for (size_t k = 0; good && k < 2; k++) good = json_is_string(json_array_get(pair.value, k));
  if (!good) return node_fail(node, "expected {\"touch\": [NAME, NAME]} with two bodies");
  *figure = (Figure){.kind = FIGURE_TOUCH, .column = figure->column, .column_count = 2};
  figure->name = strdup(json_string_value(json_array_get(pair.value, 0)));
  figure->other = strdup(json_string_value(json_array_get(pair.value, 1)));
  return (figure->name && figure->other) || scene_fail(node->file->error, "out of memory for a figure");
}

bool figure_read(const Node *node, size_t column, Figure *figure) {
  static const char *const part[] = {"bodies.", "joints.", "events.", "report."};
  static const FigureKind kind[] = {FIGURE_BODY, FIGURE_JOINT, FIGURE_EVENT, FIGURE_REPORT};
  const char *text = json_string_value(node->value);
  *figure = (Figure){.column = column};
  if (json_is_object(node->value)) return read_touch(node, figure);
  for (int k = 0; text && k < 4; k++) {
    if (strncmp(text, part[k], strlen(part[k]))) continue;
    const char *rest = text + strlen(part[k]);
    figure->kind = kind[k];
    if (k == 2) return read_event(node, rest, figure);
    return k == 3 ? read_report(node, rest, figure) : read_named(node, rest, k ? joint_field : body_field, figure);
  }
  return node_expected(node, "a figure: bodies.NAME.position, joints.NAME.position, events.KIND, report.COLUMN.max, "
                             "or {\"touch\": [NAME, NAME]}");
}

void figure_destroy(Figure *figure) {
  free(figure->name), free(figure->other);
  figure->name = figure->other = NULL;
}

char *figure_column(const Figure *figure, size_t k) {
  static const char *const axis[] = {"x", "y", "z"}, *const quaternion[] = {"w", "x", "y", "z"};
  char *text = NULL;
  int length = -1;
  switch (figure->kind) {
    case FIGURE_BODY:
      length = asprintf(&text, "bodies.%s.%s.%s", figure->name, body_field[figure->field],
                        figure->column_count == 4 ? quaternion[k] : axis[k]);
      break;
    case FIGURE_JOINT: length = asprintf(&text, "joints.%s.%s", figure->name, joint_field[figure->field]); break;
    case FIGURE_TOUCH: length = asprintf(&text, "touch.%s.%s.%s", figure->name, figure->other, touch_column[k]); break;
    case FIGURE_EVENT: length = asprintf(&text, "events.%s", abd_event_kind_name((AbdEventKind)figure->field)); break;
    case FIGURE_REPORT:
      length = asprintf(&text, "report.%s%s%s", run_report_column((size_t)figure->field), figure->over ? "." : "",
                        figure->over ? over_name[figure->over] : "");
      break;
  }
  return length < 0 ? NULL : text;
}

/* ---- Finding ---- */

static AbdBodyId find_body(const AbdWorld *world, const char *name) {
  for (size_t k = 0; k < abd_world_body_count(world); k++) {
    AbdBodyView view;
    AbdBodyId id = abd_world_body_at(world, k);
    if (abd_body_view(world, id, &view) == ABD_OK && view.name && !strcmp(view.name, name)) return id;
  }
  return (AbdBodyId){0};
}

static AbdJointId find_joint(const AbdWorld *world, const char *name) {
  for (size_t k = 0; k < abd_world_joint_count(world); k++) {
    AbdJointDef def;
    AbdJointId id = abd_world_joint_at(world, k);
    if (abd_joint_def(world, id, &def) == ABD_OK && def.name && !strcmp(def.name, name)) return id;
  }
  return (AbdJointId){0};
}

static bool no_such(const char *what, const char *name, AbdError *error) {
  if (error) {
    error->status = ABD_ERROR_SCENE;
    snprintf(error->text, sizeof error->text, "record: the scene has no %s '%.200s'", what, name);
  }
  return false;
}

static bool body_has_figure(const Figure *figure, const AbdWorld *world, AbdError *error) {
  AbdBodyState state;
  AbdBodyId id = find_body(world, figure->name);
  if (!id.id) return no_such("body", figure->name, error);
  if (abd_body_state(world, id, &state) == ABD_OK) return true;
  return no_such("stiff body", figure->name, error);
}

bool figure_find(const Figure *figure, const AbdWorld *world, AbdError *error) {
  switch (figure->kind) {
    case FIGURE_BODY: return body_has_figure(figure, world, error);
    case FIGURE_JOINT: return find_joint(world, figure->name).id || no_such("joint", figure->name, error);
    case FIGURE_TOUCH:
      if (!find_body(world, figure->name).id) return no_such("body", figure->name, error);
      return find_body(world, figure->other).id || no_such("body", figure->other, error);
    default: return true;
  }
}

/* ---- Measuring ---- */

void figure_begin(const Figure *figure, double *value) {
  bool counts = figure->kind == FIGURE_EVENT || figure->over == OVER_SUM || figure->over == OVER_MEAN;
  for (size_t k = 0; k < figure->column_count; k++) value[figure->column + k] = counts ? 0 : NAN;
  if (figure->kind == FIGURE_TOUCH) value[figure->column + 1] = 0;
}

static void step_report(const Figure *figure, const AbdStepReport *report, double *value) {
  double now, *sum = &value[figure->column];
  if (!run_report_number(report, (size_t)figure->field, &now)) return;
  switch (figure->over) {
    case OVER_MIN: *sum = fmin(*sum, now); break; /* fmin and fmax ignore a NaN */
    case OVER_MAX: *sum = fmax(*sum, now); break;
    case OVER_LAST: *sum = now; break;
    default: *sum += now;
  }
}

static bool is_pair(const AbdEvent *event, AbdBodyId a, AbdBodyId b) {
  return (event->body_a.id == a.id && event->body_b.id == b.id) ||
         (event->body_a.id == b.id && event->body_b.id == a.id);
}

static void step_events(const Figure *figure, const AbdWorld *world, double time, double *value) {
  size_t count = abd_world_events(world, NULL, 0);
  AbdEvent *event = count ? malloc(count * sizeof *event) : NULL;
  AbdBodyId a = {0}, b = {0};
  double *column = &value[figure->column];
  if (!event) return;
  abd_world_events(world, event, count);
  if (figure->kind == FIGURE_TOUCH) a = find_body(world, figure->name), b = find_body(world, figure->other);
  for (size_t k = 0; k < count; k++) {
    if (figure->kind == FIGURE_EVENT) column[0] += (int)event[k].kind == figure->field;
    else if (event[k].kind == ABD_EVENT_TOUCH_BEGAN && is_pair(&event[k], a, b)) {
      if (isnan(column[0])) column[0] = time;
      column[1]++;
    }
  }
  free(event);
}

void figure_step(const Figure *figure, const AbdWorld *world, const AbdStepReport *report, double *value) {
  if (figure->kind == FIGURE_REPORT) step_report(figure, report, value);
  if ((figure->kind == FIGURE_EVENT || figure->kind == FIGURE_TOUCH) && report->events)
    step_events(figure, world, report->time, value);
}

static void end_body(const Figure *figure, const AbdWorld *world, double *value) {
  AbdBodyState state;
  if (abd_body_state(world, find_body(world, figure->name), &state) != ABD_OK) return;
  const double *field[] = {state.position, state.velocity, state.angular_velocity, state.rotation};
  memcpy(&value[figure->column], field[figure->field], figure->column_count * sizeof *value);
}

static void end_joint(const Figure *figure, const AbdWorld *world, double *value) {
  AbdJointReading reading;
  if (abd_joint_reading(world, find_joint(world, figure->name), &reading) != ABD_OK) return;
  const double field[] = {reading.position, reading.rate, reading.effort, reading.residual};
  value[figure->column] = field[figure->field];
}

void figure_end(const Figure *figure, const AbdWorld *world, int64_t steps, double *value) {
  if (figure->kind == FIGURE_BODY) end_body(figure, world, value);
  if (figure->kind == FIGURE_JOINT) end_joint(figure, world, value);
  if (figure->over == OVER_MEAN) value[figure->column] = steps ? value[figure->column] / (double)steps : NAN;
}
