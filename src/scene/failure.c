/* See failure.h. */
#include "scene/failure.h"

#include <stdarg.h>
#include <stdio.h>

AbdStatus fail_with(AbdError *error, AbdStatus status, const char *format, ...) {
  if (!error) return status;
  va_list list;
  va_start(list, format);
  error->status = status;
  vsnprintf(error->text, sizeof error->text, format, list);
  va_end(list);
  return status;
}
