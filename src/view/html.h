/* A run as one page: the viewer and the data in a single .html file that opens from disk and loads nothing from
 * elsewhere. Tested in tests/test_view.c and tests/view. */
#ifndef ABD_VIEW_HTML_H
#define ABD_VIEW_HTML_H

#include "export/series.h"

/* If the frames have more than VIEW_HTML_BYTES, only every n-th is written. On failure the file is removed and error
 * holds a sentence. */
enum { VIEW_HTML_BYTES = 96000000 };
bool view_write_html(const ExportSeries *series, const char *path, ExportError *error);

#endif
