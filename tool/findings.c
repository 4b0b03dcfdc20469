/* Problems and remarks (findings.h). Tested by tests/cli. */
#include "findings.h"

#include <stdarg.h>
#include <stdio.h>

void problem(Report *report, const char *format, ...) {
  va_list list;
  va_start(list, format);
  printf("%s: problem: ", report->file);
  vprintf(format, list);
  putchar('\n');
  va_end(list);
  report->problems++;
}

void remark(const Report *report, const char *format, ...) {
  if (report->quiet) return;
  va_list list;
  va_start(list, format);
  printf("%s: ", report->file);
  vprintf(format, list);
  putchar('\n');
  va_end(list);
}

const char *plural(size_t count) { return count == 1 ? "" : "s"; }

const char *vertices(size_t count) { return count == 1 ? "vertex" : "vertices"; }
