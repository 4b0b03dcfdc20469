/* Line and column of a node in its file's text: jansson keeps no positions, so the text is walked along the node's
 * path. The text is known to be well-formed JSON (it was parsed); a path that is not in it gives the nearest place
 * before. Tests: tests/test_scene.c. */
#ifndef ABD_SCENE_JSON_LOCATE_H
#define ABD_SCENE_JSON_LOCATE_H

#include "scene/json_node.h"

typedef struct JsonPlace {
  int line, column;
} JsonPlace; /* both from 1 */

JsonPlace json_locate(const Node *node);

#endif
