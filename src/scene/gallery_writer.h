/* Writes a gallery scene as readable JSON: settings, then sections of items, one per line. The first error (memory,
 * values that contradict each other) is stored and returned at the end, so that the code of a scene needs no checks.
 * Tests: tests/test_gallery.c. */
#ifndef ABD_SCENE_GALLERY_WRITER_H
#define ABD_SCENE_GALLERY_WRITER_H

#include <math.h>
#include <stdio.h>

#include "scene/gallery.h"
#include "scene/tet_mesh.h"

struct GalleryWriter {
  FILE *out;
  const GalleryScene *scene;
  const double *value;
  SceneError *error; /* filled by writer_refuse */
  bool out_of_memory;
  char close;     /* of the open section, 0 = none */
  int item_count; /* in the open section */
};

void writer_begin(GalleryWriter *w); /* version, name, the command that makes it */
void writer_end(GalleryWriter *w);
/* Stores the sentence that gallery_text fails with, if the values contradict each other. */
void writer_refuse(GalleryWriter *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A setting of the scene: writer_setting(w, "\"dt\": %g", dt). Before the sections. */
void writer_setting(GalleryWriter *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Time step, duration, range of contact and friction; nearly every scene sets them. */
void writer_settings(GalleryWriter *w, double dt, double duration, double range, double friction);
/* Opens "materials", "meshes" (objects) or "bodies", "joints", "drives", "exclude" (lists) and closes the one
 * before. */
void writer_section(GalleryWriter *w, const char *name);
/* One item: its text without the comma around it. */
void writer_item(GalleryWriter *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
void writer_material(GalleryWriter *w, const char *name, double density, const char *color);
/* A mesh of the section "meshes", freed. made: whether it could be made; if not, memory is out. */
void writer_mesh(GalleryWriter *w, const char *name, bool made, MeshData *mesh);
void writer_tets(GalleryWriter *w, const char *name, bool made, TetMesh *tets); /* the same for a soft solid */

/* "#rrggbb" of t in [0, 1] on the gallery's scale from sand over coral and plum to blue and teal. */
void gallery_gradient(double t, char color[8]);

static const double pi = 3.14159265358979323846;
static inline double radians(double degrees) { return degrees * pi / 180; }
static inline double degrees(double radians) { return radians * 180 / pi; }

/* Random numbers in [0, 1) that are the same everywhere: a 64-bit linear congruence, its high bits. */
typedef struct Dice {
  uint64_t state;
} Dice;
static inline double dice(Dice *d) {
  d->state = d->state * 6364136223846793005u + 1442695040888963407u;
  return (double)(d->state >> 11) * 0x1p-53;
}

extern const GalleryScene gallery_pendulum, gallery_double_pendulum, gallery_triple_pendulum, gallery_four_bar,
    gallery_slider_crank, gallery_robot_arm, gallery_chain, gallery_gears, gallery_gear_train, gallery_octopus,
    gallery_wrecking_ball, gallery_ball, gallery_brick_wall, gallery_net, gallery_cards, gallery_screw, gallery_arch,
    gallery_spikes, gallery_pile, gallery_belt, gallery_soft_beam, gallery_soft_twist, gallery_soft_ball,
    gallery_soft_hand, gallery_soft_press, gallery_cloth_gears, gallery_hybrid;

#endif
