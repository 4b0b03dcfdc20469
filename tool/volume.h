/* Says what the mass of a mesh comes from, if its surface is not a clean closed one. Tested by tests/cli/look.sh. */
#ifndef ABD_TOOL_VOLUME_H
#define ABD_TOOL_VOLUME_H

#include <abd/abd.h>

enum { VOLUME_TEXT = 256 };

/* False if the surface is a clean closed one or a sheet. */
bool volume_text(const AbdMeshView *mesh, char text[VOLUME_TEXT]);
/* The same of an open surface without a thickness, whose density counts per area. False if it is no such surface. */
bool volume_sheet_text(const AbdMeshView *mesh, char text[VOLUME_TEXT]);
/* Whether a dynamic body has this mesh and its own mass does not replace the mesh's. */
bool volume_matters(const AbdWorld *world, AbdMeshId mesh, double volume);

#endif
