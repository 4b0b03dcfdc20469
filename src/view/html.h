/* A run as one page: the viewer and the data in a single .html file that opens from disk and loads nothing from elsewhere.
 * Tested in tests/test_view.c and tests/view. */
#ifndef ABD_VIEW_HTML_H
#define ABD_VIEW_HTML_H

#include "export/series.h"

/* Frames that come to more than VIEW_HTML_BYTES are thinned out, so that the file stays of a size one can send. On failure
 * the file is removed and error holds a sentence. */
enum { VIEW_HTML_BYTES = 96000000 };
bool view_write_html(const ExportSeries *series, const char *path, ExportError *error);

#endif
