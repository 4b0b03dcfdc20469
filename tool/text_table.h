/* A table of texts, printed with aligned columns or as Markdown. Tested by tests/cli/bench.sh. */
#ifndef ABD_TOOL_TEXT_TABLE_H
#define ABD_TOOL_TEXT_TABLE_H

#include <stdbool.h>
#include <stdio.h>

typedef struct TextTable {
  int columns, count; /* count: cells so far; the first row is the heading */
  int capacity;
  char **cell;
  bool out_of_memory; /* memory ran out; table_print then returns false */
} TextTable;

/* Adds the next cell, row after row. The first column is flush left, the others right. */
void table_cell(TextTable *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A number with three or four significant digits; an empty cell for NAN. */
void table_number(TextTable *table, double value);
bool table_print(const TextTable *table, FILE *out, bool markdown); /* false if memory ran out */
void table_free(TextTable *table);

#endif
