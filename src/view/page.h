/* The viewer's page as it lies in this program: viewer/ built and taken in at compile time. Where the build had no means
 * to build it the parts are empty, and page_missing says so. */
#ifndef ABD_VIEW_PAGE_H
#define ABD_VIEW_PAGE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct PagePart {
  const char *data;
  size_t size;
} PagePart;

PagePart page_html(void); /* refers to viewer.css and viewer.js beside it */
PagePart page_style(void);
PagePart page_script(void); /* a classic script, whole */

bool page_present(void);
/* The sentence to print where it is not present. */
const char *page_missing(void);

#endif
