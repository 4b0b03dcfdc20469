/* See volume.h. */
#include "volume.h"

#include <math.h>
#include <stdio.h>

bool volume_text(const AbdMeshView *mesh, char text[VOLUME_TEXT]) {
  bool overlap = mesh->source == ABD_VOLUME_SAMPLED;
  if (mesh->source != ABD_VOLUME_COVERED && !overlap) return false;
  double change = mesh->plain_volume / mesh->volume - 1;
  char plain[80] = "the same";
  if (fabs(change) > 1e-9) snprintf(plain, sizeof plain, "%.6g m^3 (%+.3g %%)", mesh->plain_volume, 100 * change);
  snprintf(text, VOLUME_TEXT,
           "not a clean closed surface: its mass is that of %.6g m^3, %s; the integral over its triangles alone is %s",
           mesh->volume,
           overlap ? "overlapping shells counted once" : "with holes, flipped and repeated triangles corrected", plain);
  return true;
}

bool volume_sheet_text(const AbdMeshView *mesh, char text[VOLUME_TEXT]) {
  if (mesh->source != ABD_VOLUME_SHEET || !mesh->triangle_count || mesh->thickness > 0) return false;
  snprintf(text, VOLUME_TEXT,
           "an open surface: its mass is that of %.6g m^2 with the density as kg/m^2; a thickness makes that kg/m^3, a "
           "closed surface has a volume, a mass can be given ('abd check' shows the holes)",
           mesh->volume);
  return true;
}

bool volume_matters(const AbdWorld *world, AbdMeshId mesh, double volume) {
  for (uint32_t b = 1; b <= abd_world_body_count(world); b++) {
    AbdBodyView body;
    if (abd_body_view(world, (AbdBodyId){b}, &body) != ABD_OK || body.mesh.id != mesh.id) continue;
    bool own = fabs(body.mass - body.density * volume) > 1e-9 * body.mass;
    if (body.motion == ABD_MOTION_DYNAMIC && !own && !abd_body_is_soft(world, (AbdBodyId){b})) return true;
  }
  return false;
}
