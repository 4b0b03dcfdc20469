/* Line and column of a node in its file's text. jansson stores no positions, so json_locate walks the text along the
 * node's path. The text was parsed before and is well-formed JSON. If the path is not in it, the result is the
 * nearest place before. Tests: tests/test_scene.c. */
#ifndef ABD_SCENE_JSON_LOCATE_H
#define ABD_SCENE_JSON_LOCATE_H

#include "scene/json_node.h"

typedef struct JsonPlace {
  int line, column;
} JsonPlace; /* both from 1 */

JsonPlace json_locate(const Node *node);

#endif
