/* Failures of public functions above the solver. */
#ifndef ABD_SCENE_FAILURE_H
#define ABD_SCENE_FAILURE_H

#include <abd/abd.h>

/* Stores a status and a sentence in error if it is not NULL; returns the status. */
AbdStatus fail_with(AbdError *error, AbdStatus status, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
