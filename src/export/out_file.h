/* A file that is written wholly or not at all. Internal to src/export. */
#ifndef ABD_EXPORT_OUT_FILE_H
#define ABD_EXPORT_OUT_FILE_H

#include "export/shape_file.h"

#include <stdio.h>

typedef struct OutFile {
  FILE *file;
  const char *path;
} OutFile;

bool out_open(OutFile *out, const char *path, ExportError *error);
/* Closes it; removes it when good is false (lack of memory) or a write failed. */
bool out_close(OutFile *out, bool good, ExportError *error);

#endif
