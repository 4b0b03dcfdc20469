/* Plain line charts with logarithmic axes, side by side in one SVG file. Tested by tests/cli/bench.sh. */
#ifndef ABD_TOOL_CHART_H
#define ABD_TOOL_CHART_H

#include <stdbool.h>

enum { CHART_MOST_POINTS = 32, CHART_MOST_CURVES = 6 };

typedef struct ChartCurve {
  const char *name;
  double x[CHART_MOST_POINTS], y[CHART_MOST_POINTS]; /* > 0; others are left out */
  int count;
} ChartCurve;

typedef struct Chart {
  const char *title, *x_label, *y_label;
  const char *guide; /* label of the dashed line through each curve's first or last point; NULL: no line */
  bool guide_last;
  double guide_power; /* y ~ x^power along it */
  ChartCurve curve[CHART_MOST_CURVES];
  int count;
} Chart;

/* False if the file cannot be written. */
bool chart_write(const char *path, const Chart *chart, int chart_count);

#endif
