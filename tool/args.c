/* See args.h. */
#include "args.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int args_usage_error(const Command *command, const char *format, ...) {
  va_list list;
  va_start(list, format);
  fprintf(stderr, "abd %s: ", command->name);
  vfprintf(stderr, format, list);
  fprintf(stderr, "\nTry 'abd %s --help'.\n", command->name);
  va_end(list);
  return EXIT_BAD_INPUT;
}

static int least(int a, int b) { return a < b ? a : b; }

/* Edit distance by the row-by-row recurrence; names are short. Neighbours that changed places are one edit. */
static int edit_distance(const char *a, const char *b) {
  int row[3][64]; /* [i % 3][j]: from i letters of a to j of b */
  int n = (int)strlen(b), i = 1;
  if (n > 62) return 99;
  for (int j = 0; j <= n; j++) row[0][j] = j;
  for (; a[i - 1]; i++) {
    int *now = row[i % 3], *before = row[(i + 2) % 3], *first = row[(i + 1) % 3];
    now[0] = i;
    for (int j = 1; j <= n; j++) {
      now[j] = least(before[j - 1] + (a[i - 1] != b[j - 1]), least(before[j], now[j - 1]) + 1);
      bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) now[j] = least(now[j], first[j - 2] + 1);
    }
  }
  return row[(i - 1) % 3][n];
}

const char *args_nearest(const char *text, const char *const *name) {
  const char *best = NULL;
  int best_distance = 1 + (int)strlen(text) / 2;
  for (; *name; name++) {
    int distance = strncmp(*name, text, strlen(text)) == 0 ? 0 : edit_distance(text, *name);
    if (distance < best_distance) best = *name, best_distance = distance;
  }
  return best;
}

void args_free(TextList *list) {
  free(list->text);
  *list = (TextList){0};
}

static bool list_add(TextList *list, const char *text) {
  const char **more = realloc(list->text, (size_t)(list->count + 1) * sizeof *more);
  if (!more) return false;
  list->text = more;
  list->text[list->count++] = text;
  return true;
}

static void print_help(const Command *command, const Option *option) {
  printf("Usage: abd %s\n\n%s\n\nOptions:\n", command->usage, command->about);
  for (; option->name; option++) {
    char left[64];
    int used = option->letter ? snprintf(left, sizeof left, "  -%c, --%s", option->letter, option->name)
                              : snprintf(left, sizeof left, "      --%s", option->name);
    if (option->value) snprintf(left + used, sizeof left - (size_t)used, " %s", option->value);
    printf("%-26s  %s\n", left, option->help);
  }
  printf("%-26s  %s\n", "  -h, --help", "this text");
  if (command->more) printf("\n%s\n", command->more);
}

static const Option *find_long(const Option *option, const char *name, size_t length) {
  for (; option->name; option++)
    if (strlen(option->name) == length && !strncmp(option->name, name, length)) return option;
  return NULL;
}

static int unknown_option(const Command *command, const Option *option, const char *arg) {
  const char *name[64] = {NULL};
  int count = 0;
  for (; option->name && count < 62; option++) name[count++] = option->name;
  name[count] = "help";
  char bare[64];
  snprintf(bare, sizeof bare, "%.*s", (int)strcspn(arg + strspn(arg, "-"), "="), arg + strspn(arg, "-"));
  const char *nearest = strlen(bare) > 1 ? args_nearest(bare, name) : NULL;
  if (nearest) return args_usage_error(command, "unknown option '%s'; did you mean '--%s'?", arg, nearest);
  return args_usage_error(command, "unknown option '%s'", arg);
}

double args_ratio(const char *text, const char **end) {
  char *after;
  double number = strtod(text, &after);
  if (after != text && *after == '/') {
    const char *below = after + 1;
    number /= strtod(below, &after);
    if (after == below) return 0;
  }
  *end = after;
  return after != text && isfinite(number) && number > 0 ? number : 0;
}

static int set_number(const Command *command, const Option *option, const char *value) {
  if (option->kind == OPTION_POSITIVE) {
    const char *rest = value;
    double number = args_ratio(value, &rest);
    if (number == 0 || *rest)
      return args_usage_error(command, "--%s: expected a number > 0, got '%s'", option->name, value);
    *(double *)option->target = number;
    return ARGS_GO_ON;
  }
  char *end;
  errno = 0;
  long long least = option->kind == OPTION_ATLEAST1, number = strtoll(value, &end, 10);
  if (end == value || *end || errno || number < least || number > 1000000000000LL)
    return args_usage_error(command, "--%s: expected a whole number >= %lld, got '%s'", option->name, least, value);
  *(int64_t *)option->target = number;
  return ARGS_GO_ON;
}

static int set_option(const Command *command, const Option *option, const char *value) {
  switch (option->kind) {
    case OPTION_FLAG:
      if (value) return args_usage_error(command, "--%s takes no value, got '%s'", option->name, value);
      *(bool *)option->target = true;
      return ARGS_GO_ON;
    case OPTION_TEXT:
      if (!*value) return args_usage_error(command, "--%s: expected %s, got nothing", option->name, option->value);
      *(const char **)option->target = value;
      return ARGS_GO_ON;
    case OPTION_LIST: return list_add(option->target, value) ? ARGS_GO_ON : args_usage_error(command, "out of memory");
    default: return set_number(command, option, value);
  }
}

/* One argument that begins with '-'; advances at if the value is the next argument. */
static int parse_option(const Command *command, const Option *option, int argc, char **argv, int *at) {
  const char *arg = argv[*at], *value = NULL;
  const Option *found = NULL;
  if (arg[1] == '-') {
    size_t length = strcspn(arg + 2, "=");
    found = find_long(option, arg + 2, length);
    if (arg[2 + length]) value = arg + 3 + length;
  } else {
    for (const Option *o = option; o->name && !found; o++)
      if (o->letter && o->letter == arg[1]) found = o;
    if (found && arg[2]) value = arg + 2;
  }
  if (!found) return unknown_option(command, option, arg);
  if (found->kind == OPTION_FLAG && arg[1] != '-' && value) return unknown_option(command, option, arg);
  if (found->kind != OPTION_FLAG && !value) {
    if (*at + 1 >= argc) return args_usage_error(command, "--%s: expected %s after it", found->name, found->value);
    value = argv[++*at];
  }
  return set_option(command, found, value);
}

int args_parse(const Command *command, const Option *option, int argc, char **argv, TextList *operands) {
  *operands = (TextList){0};
  bool options_end = false;
  for (int k = 1; k < argc; k++) {
    const char *arg = argv[k];
    int code = ARGS_GO_ON;
    if (options_end || arg[0] != '-' || !arg[1]) {
      if (!list_add(operands, arg)) code = args_usage_error(command, "out of memory");
    } else if (!strcmp(arg, "--")) {
      options_end = true;
    } else if (!strcmp(arg, "--help") || !strcmp(arg, "-h")) {
      print_help(command, option);
      code = EXIT_GOOD;
    } else {
      code = parse_option(command, option, argc, argv, &k);
    }
    if (code != ARGS_GO_ON) return code;
  }
  return ARGS_GO_ON;
}

/* ---- Suggested commands ---- */

static const char *program = "abd";

void args_set_program(const char *path) {
  if (path && strchr(path, '/')) program = path;
}

const char *args_program(void) { return program; }

const char *args_word(const char *text, char *room, size_t size) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./,:+=@%";
  if (*text && strspn(text, plain) == strlen(text)) return text;
  size_t used = 0;
  room[used++] = '\'';
  for (; *text && used + 6 < size; text++) {
    const char *piece = *text == '\'' ? "'\\''" : (char[2]){*text, 0};
    used += (size_t)sprintf(room + used, "%s", piece);
  }
  room[used++] = '\'', room[used] = 0;
  return room;
}

bool args_place(const char *text, double p[4]) {
  char rest;
  if (sscanf(text, "%lf,%lf,%lf,%lf%c", &p[0], &p[1], &p[2], &p[3], &rest) != 4) return false;
  return isfinite(p[0]) && isfinite(p[1]) && isfinite(p[2]) && isfinite(p[3]) && p[3] > 0;
}
