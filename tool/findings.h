/* Findings of `abd check` in one file: problems, which set the exit code, and remarks. Tested by tests/cli. */
#ifndef ABD_TOOL_FINDINGS_H
#define ABD_TOOL_FINDINGS_H

#include <abd/mesh.h>

typedef struct Report {
  const char *file; /* the file that is checked */
  bool quiet;
  int problems;
} Report;

void problem(Report *report, const char *format, ...) __attribute__((format(printf, 2, 3)));
void remark(const Report *report, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *plural(size_t count);   /* "" for one, else "s" */
const char *vertices(size_t count); /* "vertex" for one, else "vertices" */

/* check.c: a surface by itself; an exit code. */
int check_skin(Report *report, const AbdSurface *data, bool open_is_wrong);
/* check_tet.c: a file of tetrahedra; an exit code. */
int check_tet_file(Report *report);

#endif
