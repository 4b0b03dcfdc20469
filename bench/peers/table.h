/* The comparison of engines as text, Markdown and JSON. Tested by tests/cli/peers.sh. */
#ifndef ABD_PEERS_TABLE_H
#define ABD_PEERS_TABLE_H

#include <stdbool.h>

typedef struct TableDef {
  bool quick;
  const char *only;   /* scenes whose name begins so; NULL: all */
  const char *engine; /* beside abd; NULL: all */
  const char *note;   /* machine and version, for the files; NULL: none */
  const char *output; /* NAME of NAME.md and NAME.json; NULL: only printed */
} TableDef;

/* Returns an exit code. */
int table_make(const TableDef *def);

#endif
