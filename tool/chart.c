/* See chart.h. */
#include "chart.h"

#include <math.h>
#include <stdio.h>

enum { WIDTH = 460, HEIGHT = 360, LEFT = 64, RIGHT = 16, TOP = 40, BOTTOM = 72, KEY = 122 /* width of a name below */ };

/* The range of the points with a small margin. */
typedef struct Axis {
  double lo, hi;
} Axis; /* log10 */

static Axis axis_of(const Chart *chart, bool vertical) {
  Axis a = {INFINITY, -INFINITY};
  for (int c = 0; c < chart->count; c++)
    for (int k = 0; k < chart->curve[c].count; k++) {
      double v = log10(vertical ? chart->curve[c].y[k] : chart->curve[c].x[k]);
      if (isfinite(v)) a = (Axis){fmin(a.lo, v), fmax(a.hi, v)};
    }
  if (!(a.lo <= a.hi)) return (Axis){0, 1};
  double room = fmax(0.06 * (a.hi - a.lo), 0.06);
  return (Axis){a.lo - room, a.hi + room};
}

static double place_x(Axis a, double x) { return LEFT + (WIDTH - LEFT - RIGHT) * (log10(x) - a.lo) / (a.hi - a.lo); }
static double place_y(Axis a, double y) {
  return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (log10(y) - a.lo) / (a.hi - a.lo);
}

static void number_text(double v, char text[32]) {
  if (v >= 1e6) snprintf(text, 32, "%gM", 1e-6 * v);
  else if (v >= 1e4) snprintf(text, 32, "%gK", 1e-3 * v);
  else snprintf(text, 32, "%.4g", v);
}

/* Marks at 1, 2 and 5 of each decade, or at 1 alone if there are many decades. */
static void draw_marks(FILE *out, Axis a, bool vertical) {
  static const double step[] = {1, 2, 5};
  bool fine = a.hi - a.lo < 2.2;
  for (int decade = (int)floor(a.lo); decade <= (int)ceil(a.hi); decade++)
    for (int k = 0; k < (fine ? 3 : 1); k++) {
      double v = step[k] * pow(10, decade), at = log10(v);
      char text[32];
      if (at < a.lo || at > a.hi) continue;
      number_text(v, text);
      if (vertical)
        fprintf(out,
                "<line class='grid' x1='%d' x2='%d' y1='%.1f' y2='%.1f'/><text x='%d' y='%.1f' "
                "text-anchor='end'>%s</text>\n",
                LEFT, WIDTH - RIGHT, place_y(a, v), place_y(a, v), LEFT - 6, place_y(a, v) + 4, text);
      else
        fprintf(out,
                "<line class='grid' x1='%.1f' x2='%.1f' y1='%d' y2='%d'/><text x='%.1f' y='%d' "
                "text-anchor='middle'>%s</text>\n",
                place_x(a, v), place_x(a, v), TOP, HEIGHT - BOTTOM, place_x(a, v), HEIGHT - BOTTOM + 16, text);
    }
}

/* Clipped at the frame. */
static void draw_guide(FILE *out, const Chart *chart, const ChartCurve *curve, Axis ax, Axis ay) {
  int last = curve->count - 1, from = chart->guide_last ? last : 0;
  double x0 = curve->x[from], y0 = curve->y[from], x1 = curve->x[last - from],
         y1 = y0 * pow(x1 / x0, chart->guide_power);
  double edge = fmin(fmax(log10(y1), ay.lo), ay.hi);
  if (chart->guide_power != 0) x1 = x0 * pow(pow(10, edge) / y0, 1 / chart->guide_power);
  fprintf(out, "<line class='guide' x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f'/>\n", place_x(ax, x0), place_y(ay, y0),
          place_x(ax, x1), place_y(ay, pow(10, edge)));
}

static void draw_curve(FILE *out, const ChartCurve *curve, int index, Axis ax, Axis ay) {
  static const char *const color[CHART_MOST_CURVES] = {"#1f77b4", "#d1495b", "#2a9d8f",
                                                       "#e9a03b", "#6a4c93", "#555555"};
  fprintf(out, "<g stroke='%s' fill='%s'><polyline fill='none' stroke-width='2' points='", color[index], color[index]);
  for (int k = 0; k < curve->count; k++) fprintf(out, "%.1f,%.1f ", place_x(ax, curve->x[k]), place_y(ay, curve->y[k]));
  fprintf(out, "'/>");
  for (int k = 0; k < curve->count; k++)
    fprintf(out, "<circle cx='%.1f' cy='%.1f' r='3.2'/>", place_x(ax, curve->x[k]), place_y(ay, curve->y[k]));
  fprintf(out, "<rect x='%d' y='%d' width='14' height='3' stroke='none'/></g><text x='%d' y='%d'>%s</text>\n",
          LEFT + KEY * index, HEIGHT - 14, LEFT + 18 + KEY * index, HEIGHT - 9, curve->name);
}

static void draw_chart(FILE *out, const Chart *chart, int index) {
  Axis ax = axis_of(chart, false), ay = axis_of(chart, true);
  fprintf(out, "<g transform='translate(%d 0)'>\n<text class='title' x='%d' y='22'>%s</text>\n", index * WIDTH, LEFT,
          chart->title);
  draw_marks(out, ax, false), draw_marks(out, ay, true);
  fprintf(out, "<rect x='%d' y='%d' width='%d' height='%d' fill='none' stroke='#888'/>\n", LEFT, TOP,
          WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM);
  for (int c = 0; chart->guide && c < chart->count; c++)
    if (chart->curve[c].count > 1) draw_guide(out, chart, &chart->curve[c], ax, ay);
  for (int c = 0; c < chart->count; c++) draw_curve(out, &chart->curve[c], c, ax, ay);
  if (chart->guide)
    fprintf(out, "<line class='guide' x1='%d' x2='%d' y1='%d' y2='%d'/><text x='%d' y='%d'>%s</text>\n",
            LEFT + KEY * chart->count, LEFT + 14 + KEY * chart->count, HEIGHT - 13, HEIGHT - 13,
            LEFT + 18 + KEY * chart->count, HEIGHT - 9, chart->guide);
  fprintf(out, "<text x='%d' y='%d' text-anchor='middle'>%s</text>\n", (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 36,
          chart->x_label);
  fprintf(out, "<text transform='translate(16 %d) rotate(-90)' text-anchor='middle'>%s</text>\n</g>\n",
          (TOP + HEIGHT - BOTTOM) / 2, chart->y_label);
}

bool chart_write(const char *path, const Chart *chart, int chart_count) {
  FILE *out = fopen(path, "w");
  if (!out) return false;
  fprintf(out, "<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d' viewBox='0 0 %d %d'>\n",
          WIDTH * chart_count, HEIGHT, WIDTH * chart_count, HEIGHT);
  fprintf(out, "<style>text{font:12px sans-serif;fill:#222}.title{font-weight:bold;font-size:14px}.grid{stroke:#e4e4e4}"
               ".guide{stroke:#999;stroke-dasharray:4 3}</style>\n<rect width='100%%' height='100%%' fill='white'/>\n");
  for (int k = 0; k < chart_count; k++) draw_chart(out, &chart[k], k);
  fprintf(out, "</svg>\n");
  bool good = !ferror(out);
  return fclose(out) == 0 && good;
}
