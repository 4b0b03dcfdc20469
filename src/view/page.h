/* The viewer's page, which the build makes from viewer/ and embeds in the program. If it could not be built, the parts
 * are empty and page_missing explains it. */
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
PagePart page_script(void); /* a complete classic script */

bool page_present(void);
/* The sentence to print if the page is missing. */
const char *page_missing(void);

#endif
