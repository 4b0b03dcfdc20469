/* See out_file.h. */
#include "export/out_file.h"

#include <errno.h>
#include <string.h>

bool out_open(OutFile *out, const char *path, ExportError *error) {
  *out = (OutFile){fopen(path, "wb"), path};
  if (!out->file) snprintf(error->text, sizeof error->text, "%s: cannot write: %s", path, strerror(errno));
  return out->file != NULL;
}

bool out_close(OutFile *out, bool good, ExportError *error) {
  errno = 0;
  bool written = fflush(out->file) == 0 && !ferror(out->file);
  int reason = errno;
  written = fclose(out->file) == 0 && written;
  if (good && written) return true;
  if (good)
    snprintf(error->text, sizeof error->text, "%s: cannot write: %s", out->path,
             reason ? strerror(reason) : "the disk may be full");
  else snprintf(error->text, sizeof error->text, "%s: out of memory", out->path);
  remove(out->path);
  return false;
}

void out_obj_name(FILE *file, const char *name) {
  fputs("o ", file);
  for (const char *c = name; *c; c++) {
    bool breaks = (unsigned char)*c < ' ' || *c == 127 || (*c == '\\' && !c[1]);
    fputc(breaks ? '_' : *c, file);
  }
  fputc('\n', file);
}
