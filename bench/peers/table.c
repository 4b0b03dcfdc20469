#include "table.h"
int table_make(const TableDef *def) { (void)def; return 4; }
