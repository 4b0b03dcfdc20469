/* Command-line options from a table: long and short names, values checked, help text, the nearest name for a typing
 * error. Tested in tests/cli/usage.sh. */
#ifndef ABD_TOOL_ARGS_H
#define ABD_TOOL_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  EXIT_GOOD = 0,
  EXIT_FOUND = 1,
  EXIT_BAD_INPUT = 2,
  EXIT_NOT_CONVERGED = 3,
  EXIT_FAILED = 4,
  EXIT_INTERRUPTED = 130
};

typedef enum OptionKind {
  OPTION_FLAG,     /* bool */
  OPTION_TEXT,     /* const char * */
  OPTION_COUNT,    /* int64_t >= 0 */
  OPTION_ATLEAST1, /* int64_t >= 1 */
  OPTION_POSITIVE, /* double > 0 */
  OPTION_LIST,     /* TextList: may be repeated */
} OptionKind;

typedef struct TextList {
  const char **text; /* malloc'ed, the texts are argv's */
  int count;
} TextList;

typedef struct Option {
  const char *name; /* without -- */
  char letter;      /* 0: none */
  OptionKind kind;
  void *target;
  const char *value; /* how the help calls the value */
  const char *help;
} Option;

typedef struct Command {
  const char *name, *usage, *about, *more; /* more: after the options; may be NULL */
} Command;

enum { ARGS_GO_ON = -1 };
/* option ends with a NULL name. Fills targets and operands (text malloc'ed: args_free). Returns ARGS_GO_ON, or the exit
 * code after help or a sentence was printed. */
int args_parse(const Command *command, const Option *option, int argc, char **argv, TextList *operands);
void args_free(TextList *list);
/* Prints "abd NAME: sentence" and where to read more; returns EXIT_BAD_INPUT. */
int args_usage_error(const Command *command, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* How this program was called, for commands that are offered: "abd", or the path that was typed. */
void args_set_program(const char *path);
const char *args_program(void);
/* A text as one word of a shell's command line: as it is, or in quotes, in the room; cut where that is too small. */
const char *args_word(const char *text, char *room, size_t size);
enum { WORD_SIZE = 512 };

/* Reads "X,Y,Z,RADIUS", where --look-at asks for a place; false where it is something else. */
bool args_place(const char *text, double place[4]);
/* The name of a NULL-ended list most like text; NULL where none comes near. */
const char *args_nearest(const char *text, const char *const *name);

/* One function for each command; argv[0] is the command's name. */
int command_run(int argc, char **argv);
int command_scene(int argc, char **argv);
int command_info(int argc, char **argv);
int command_check(int argc, char **argv);
int command_verify(int argc, char **argv);
int command_export(int argc, char **argv);
int command_tetrahedralize(int argc, char **argv);
int command_view(int argc, char **argv);
int command_bench(int argc, char **argv);

#endif
