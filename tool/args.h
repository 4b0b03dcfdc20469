/* Command-line options from a table: long and short names, checked values, help text, the most similar name for a
 * misspelt one. Tested in tests/cli/usage.sh. */
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
  OPTION_POSITIVE, /* double > 0, also as a ratio: 1/240 */
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
  const char *value; /* name of the value in the help */
  const char *help;
} Option;

/* The options of robots, stored in an AbdSceneDef. */
#define ROBOT_OPTIONS(o)                                                                                               \
  {"geometry", 0, OPTION_TEXT, &(o)->geometry, "WORD", "a robot: collision or visual geometry, collision"},            \
      {"base", 0, OPTION_TEXT, &(o)->base, "WORD", "a robot: fixed or free; as the file says, URDF fixed"},            \
      {"keyframe", 0, OPTION_TEXT, &(o)->keyframe, "NAME", "a robot: the keyframe at which it starts"}, {              \
    "hold", 0, OPTION_FLAG, &(o)->hold, NULL, "a robot: servos hold the joints that have no drive"                     \
  }

typedef struct Command {
  const char *name, *usage, *about, *more; /* more: after the options; may be NULL */
} Command;

enum { ARGS_GO_ON = -1 };
/* The options end with a NULL name. Fills targets and operands (text malloc'ed: args_free). Returns ARGS_GO_ON, or an
 * exit code after it has printed help or an error. */
int args_parse(const Command *command, const Option *option, int argc, char **argv, TextList *operands);
void args_free(TextList *list);
/* Prints "abd NAME: sentence" and how to get help; returns EXIT_BAD_INPUT. */
int args_usage_error(const Command *command, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* This program's name in suggested commands: "abd", or the path that was typed. */
void args_set_program(const char *path);
const char *args_program(void);
/* A text as one word of a shell's command line, quoted if necessary; truncated if room is too small. */
const char *args_word(const char *text, char *room, size_t size);
enum { WORD_SIZE = 512 };

/* Reads "1/240" or "0.01", up to *end; 0 if it is malformed or not above 0. */
double args_ratio(const char *text, const char **end);
/* Reads the "X,Y,Z,RADIUS" of --look-at; false if it is malformed. */
bool args_place(const char *text, double place[4]);
/* The name of a NULL-ended list that is most similar to text; NULL if none is. */
const char *args_nearest(const char *text, const char *const *name);

/* The commands; argv[0] is the command's name. */
int command_run(int argc, char **argv);
int command_scene(int argc, char **argv);
int command_info(int argc, char **argv);
int command_check(int argc, char **argv);
int command_verify(int argc, char **argv);
int command_export(int argc, char **argv);
int command_tetrahedralize(int argc, char **argv);
int command_view(int argc, char **argv);
int command_bench(int argc, char **argv);
int command_sweep(int argc, char **argv);
int command_merge(int argc, char **argv);

#endif
