/* Numbers in files have a point. A program may have chosen a locale with a comma (setlocale, which Qt and GTK call), in
 * which printf and strtod write and expect commas. Functions of the API that read or write text run in the C locale:
 * IN_C_LOCALE as their first declaration chooses it for this thread until they return. Tested in
 * tests/test_locale.c. */
#ifndef ABD_SCENE_C_LOCALE_H
#define ABD_SCENE_C_LOCALE_H

#include <locale.h>

typedef struct CLocale {
  locale_t own, before; /* zero: out of memory, and the locale stays */
} CLocale;

static inline CLocale c_locale_enter(void) {
  CLocale c = {.own = newlocale(LC_ALL_MASK, "C", (locale_t)0)};
  if (c.own) c.before = uselocale(c.own);
  return c;
}

static inline void c_locale_leave(CLocale *c) {
  if (!c->own) return;
  uselocale(c->before);
  freelocale(c->own);
}

#define IN_C_LOCALE __attribute__((cleanup(c_locale_leave), unused)) CLocale c_locale = c_locale_enter()

#endif
