/* Reads and writes the settings of abd.h's tables (abd_settings) as JSON. A setting "contact.range" is the key
 * "range" of the group "contact"; settings without a dot belong to the group "". Tests: tests/test_scene.c,
 * tests/test_vocabulary.c. */
#ifndef ABD_SCENE_SETTING_H
#define ABD_SCENE_SETTING_H

#include "scene/json_node.h"

/* Reads the settings of the table that the object and its groups have. def: AbdWorldDef, AbdBodyDef or AbdSoftDef. An
 * unknown key inside a group is an error; keys of the object itself are not checked. */
bool settings_read(const Node *object, AbdDef which, void *def);
/* Adds the keys that settings_read looks for in the object: settings without a group, and groups. */
void settings_add_keys(KeyList *list, AbdDef which);
/* Writes all settings of the table into the object; leaves out values that are not given (outside their range). */
bool settings_write(json_t *object, AbdDef which, const void *def);

#endif
