/* Defaults and checks from the tables of settings (setting.c). */
#ifndef ABD_API_SETTING_H
#define ABD_API_SETTING_H

#include "base/base.h"

/* Stores the default of every row of the table in the def. */
void settings_default(AbdDef which, void *def);
/* Checks the range of every row of AbdWorldDef. */
AbdStatus settings_check_world(const AbdWorldDef *def, AbdError *error);

#endif
