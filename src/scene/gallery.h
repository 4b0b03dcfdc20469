/* The gallery: scenes written by code, in abd's own format, without any mesh file. Tests, benchmarks, documents and
 * the demo use the same scenes. Every scene has keys (numbers, or one of some words) with defaults and starts free of
 * intersections. Tests: tests/test_gallery.c, tests/cli/gallery.sh. */
#ifndef ABD_SCENE_GALLERY_H
#define ABD_SCENE_GALLERY_H

#include <abd/scene.h>

#include "scene/scene.h"

typedef struct GalleryWriter GalleryWriter;

typedef AbdGalleryKey GalleryKey;

typedef struct GalleryScene {
  const char *name, *about;
  const GalleryKey *key; /* ends with a NULL name */
  void (*make)(GalleryWriter *writer, const double *value);
} GalleryScene;

enum { GALLERY_KEY_LIMIT = 12 };

/* All of them, NULL at the end. */
const GalleryScene *const *gallery_list(void);
const GalleryScene *gallery_find(const char *name); /* NULL if no scene has the name */
int gallery_key_count(const GalleryScene *scene);
void gallery_defaults(const GalleryScene *scene, double value[GALLERY_KEY_LIMIT]);
/* Reads a key's value; false and a sentence when it is none, or out of its range. */
bool gallery_read(const GalleryKey *key, const char *text, double *value, SceneError *error);
/* How a value is written: the word of a choice, or the number. */
void gallery_write_value(const GalleryKey *key, double value, char text[32]);
/* Returns the scene as text, zero-terminated; the caller frees it. Returns NULL and fills the error if the values
 * contradict each other. */
char *gallery_text(const GalleryScene *scene, const double *value, size_t *length, SceneError *error);

#endif
