/* See text_table.h. */
#define _GNU_SOURCE
#include "text_table.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void table_cell(TextTable *table, const char *format, ...) {
  if (table->count == table->capacity) {
    int capacity = 2 * table->capacity + 64;
    char **more = realloc(table->cell, (size_t)capacity * sizeof *more);
    if (!more) {
      table->out_of_memory = true;
      return;
    }
    table->cell = more, table->capacity = capacity;
  }
  va_list list;
  va_start(list, format);
  char *text = NULL;
  if (vasprintf(&text, format, list) < 0) table->out_of_memory = true;
  else table->cell[table->count++] = text;
  va_end(list);
}

void table_number(TextTable *table, double value) {
  if (!isfinite(value)) table_cell(table, "%s", "");
  else if (fabs(value) >= 999.5) table_cell(table, "%.0f", value);
  else table_cell(table, "%.3g", value);
}

static int width_of(const TextTable *table, int column) {
  int width = 0;
  for (int k = column; k < table->count; k += table->columns) {
    int length = (int)strlen(table->cell[k]);
    if (length > width) width = length;
  }
  return width;
}

static void print_row(const TextTable *table, FILE *out, bool markdown, int first) {
  for (int c = 0; c < table->columns && first + c < table->count; c++) {
    const char *text = table->cell[first + c];
    if (markdown) fprintf(out, "| %s ", text);
    else fprintf(out, c ? "  %*s" : "%-*s", width_of(table, c), text);
  }
  fputs(markdown ? "|\n" : "\n", out);
}

bool table_print(const TextTable *table, FILE *out, bool markdown) {
  for (int first = 0; first < table->count; first += table->columns) {
    print_row(table, out, markdown, first);
    for (int c = 0; first == 0 && markdown && c < table->columns; c++) fputs(c ? "---:|" : "|---|", out);
    if (first == 0 && markdown) fputc('\n', out);
  }
  return !table->out_of_memory;
}

void table_free(TextTable *table) {
  for (int k = 0; k < table->count; k++) free(table->cell[k]);
  free(table->cell);
  *table = (TextTable){0};
}
