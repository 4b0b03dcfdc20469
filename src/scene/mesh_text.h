/* A cursor over the text of a mesh file: words and numbers, with the line for messages. Numbers are read the same in
 * every locale and correctly rounded. Tests: tests/test_mesh_file.c. */
#ifndef ABD_SCENE_MESH_TEXT_H
#define ABD_SCENE_MESH_TEXT_H

#include "scene/mesh_file.h"
#include "scene/polygon.h"

typedef struct MeshText {
  const char *at, *end;
  const char *name;
  int line;     /* from 1 */
  char newline; /* '\r' in a text without '\n', of old Macintosh programs */
  SceneError *error;
} MeshText;

typedef struct Word {
  const char *at;
  size_t length;
} Word;

/* A byte order mark at the start is skipped. */
MeshText mesh_text(const char *bytes, size_t length, const char *name, SceneError *error);
/* "NAME:LINE: sentence"; always false. */
bool text_fail(const MeshText *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The next word on this line; false at its end (or at '#', a comment). */
bool text_word(MeshText *t, Word *word);
/* The next word on this or a later line; false at the end of the text. */
bool text_next_word(MeshText *t, Word *word);
/* Moves behind the end of this line; false at the end of the text. */
bool text_next_line(MeshText *t);

bool word_is(Word word, const char *text);
bool word_is_any_case(Word word, const char *text);
bool word_number(Word word, double *value); /* false when it is no number; may be inf or nan */
bool word_integer(Word word, int64_t *value);
int word_shown(Word word); /* the number of characters to show in a message: for "%.*s" */
/* `what` and the index name the element: "vertex 12". Fail with a sentence. */
bool text_coordinates(MeshText *t, const char *what, size_t index, double x[3]);
bool text_index(MeshText *t, Word word, int64_t *value);
/* Adds the triangles of a polygon, the element "face 7", and empties it. */
bool text_add_polygon(const MeshText *t, const char *what, long long index, Polygon *polygon, MeshData *out);
/* Checks a header's count: a file of size bytes holds at most size / element_size elements. */
bool text_check_count(const MeshText *t, const char *what, int64_t count, size_t element_size);

#endif
