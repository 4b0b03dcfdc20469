/* See page.h. ABD_VIEWER_FOLDER is the folder in which viewer/build.sh wrote index.html, viewer.css and viewer.js. */
#include "view/page.h"

#ifdef ABD_VIEWER_FOLDER
/* The assembler reads the files, which is much faster than compiling a megabyte of digits. */
#define TAKE(symbol, file)                                                                                             \
  __asm__(".pushsection .rodata, \"a\"\n"                                                                              \
          ".global " #symbol "\n" #symbol ":\n.incbin \"" ABD_VIEWER_FOLDER "/" file "\"\n"                            \
          ".global " #symbol "_end\n" #symbol "_end:\n.byte 0\n.popsection\n");                                        \
  extern const char symbol[] __attribute__((visibility("hidden")));                                                    \
  extern const char symbol##_end[] __attribute__((visibility("hidden")))
TAKE(abd_page_html, "index.html");
TAKE(abd_page_style, "viewer.css");
TAKE(abd_page_script, "viewer.js");
#define PART(symbol) ((PagePart){symbol, (size_t)(symbol##_end - symbol)})
#else
#define PART(symbol) ((PagePart){"", 0})
#endif

PagePart page_html(void) { return PART(abd_page_html); }
PagePart page_style(void) { return PART(abd_page_style); }
PagePart page_script(void) { return PART(abd_page_script); }

bool page_present(void) { return page_html().size && page_script().size; }

const char *page_missing(void) {
  return "this abd was built without the viewer: install npm, or Debian's packages esbuild and libjs-three, and build "
         "again";
}
