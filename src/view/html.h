/* A run as one page: the viewer and the data in a single .html file that opens from disk and loads nothing from elsewhere.
 * Tested in tests/test_view.c and tests/view. */
#ifndef ABD_VIEW_HTML_H
#define ABD_VIEW_HTML_H

#include "view/data.h"

/* every: only every so many frames (and the last); 0 = so many that the file stays of a size one can send. On failure the
 * file is removed and data->error holds a sentence. */
bool view_write_html(ViewData *data, const char *path, size_t every);

#endif
