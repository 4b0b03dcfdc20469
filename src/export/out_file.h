/* A file that is written completely or removed. Internal to src/export. */
#ifndef ABD_EXPORT_OUT_FILE_H
#define ABD_EXPORT_OUT_FILE_H

#include "export/shape_file.h"

#include <stdio.h>

typedef struct OutFile {
  FILE *file;
  const char *path;
} OutFile;

bool out_open(OutFile *out, const char *path, ExportError *error);
/* Closes it; removes it if good is false (out of memory) or a write failed. */
bool out_close(OutFile *out, bool good, ExportError *error);

/* "o NAME" of an OBJ file on one line: control characters, and a backslash at its end, become '_'. */
void out_obj_name(FILE *file, const char *name);

#endif
