/* PLY, ascii and binary of both byte orders. Elements "vertex" (x y z), "face" (list vertex_indices or vertex_index,
 * polygons) and "edge" (vertex1 vertex2) are used; other elements and properties are read over.
 * Tests: tests/test_mesh_file.c. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "scene/mesh_format.h"
#include "scene/mesh_text.h"
#include "scene/polygon.h"

typedef enum PlyType { PLY_I8, PLY_U8, PLY_I16, PLY_U16, PLY_I32, PLY_U32, PLY_F32, PLY_F64, PLY_TYPE_COUNT } PlyType;
static const size_t type_size[] = {1, 1, 2, 2, 4, 4, 4, 8};

typedef enum PlyRole { PLY_OTHER, PLY_X, PLY_Y, PLY_Z, PLY_CORNERS, PLY_FIRST, PLY_SECOND } PlyRole;
typedef enum PlyKind { PLY_ELEMENT_OTHER, PLY_ELEMENT_VERTEX, PLY_ELEMENT_FACE, PLY_ELEMENT_EDGE } PlyKind;

enum { PROPERTY_LIMIT = 64, ELEMENT_LIMIT = 16 };

typedef struct PlyProperty {
  PlyRole role;
  bool list;
  PlyType count_type, type;
} PlyProperty;
typedef struct PlyElement {
  PlyKind kind;
  int64_t count;
  PlyProperty property[PROPERTY_LIMIT];
  int property_count;
} PlyElement;

typedef struct Ply {
  MeshText text;
  bool ascii, swap;
  PlyElement element[ELEMENT_LIMIT];
  int element_count;
  const char *what; /* the element being read, for messages */
  int64_t index;
  Polygon polygon;
  MeshData *out;
} Ply;

static bool type_of(Word word, PlyType *type) {
  static const char *const names[][2] = {{"char", "int8"},     {"uchar", "uint8"},   {"short", "int16"},
                                         {"ushort", "uint16"}, {"int", "int32"},     {"uint", "uint32"},
                                         {"float", "float32"}, {"double", "float64"}};
  for (int i = 0; i < PLY_TYPE_COUNT; i++) {
    if (word_is(word, names[i][0]) || word_is(word, names[i][1])) {
      *type = (PlyType)i;
      return true;
    }
  }
  return false;
}

static PlyRole role_of(PlyKind kind, Word name, bool list) {
  if (kind == PLY_ELEMENT_VERTEX && !list)
    return word_is(name, "x") ? PLY_X : word_is(name, "y") ? PLY_Y : word_is(name, "z") ? PLY_Z : PLY_OTHER;
  if (kind == PLY_ELEMENT_FACE && list && (word_is(name, "vertex_indices") || word_is(name, "vertex_index")))
    return PLY_CORNERS;
  if (kind == PLY_ELEMENT_EDGE && !list)
    return word_is(name, "vertex1") ? PLY_FIRST : word_is(name, "vertex2") ? PLY_SECOND : PLY_OTHER;
  return PLY_OTHER;
}

static bool read_format(Ply *ply) {
  Word word;
  if (!text_word(&ply->text, &word)) return text_fail(&ply->text, "expected a format");
  bool little = word_is(word, "binary_little_endian"), big = word_is(word, "binary_big_endian");
  ply->ascii = word_is(word, "ascii");
  const uint16_t one = 1;
  bool host_little = *(const unsigned char *)&one == 1;
  ply->swap = (little && !host_little) || (big && host_little);
  return ply->ascii || little || big ||
         text_fail(&ply->text, "expected ascii, binary_little_endian or binary_big_endian, got \"%.*s\"",
                   word.length < 40 ? (int)word.length : 40, word.at);
}

static bool read_element_line(Ply *ply) {
  Word name, count;
  MeshText *t = &ply->text;
  if (!text_word(t, &name) || !text_word(t, &count)) return text_fail(t, "expected element NAME COUNT");
  if (word_is(name, "tristrips")) return text_fail(t, "triangle strips are not read; write the file with faces");
  if (ply->element_count == ELEMENT_LIMIT) return text_fail(t, "more than %d kinds of elements", ELEMENT_LIMIT);
  PlyElement *element = &ply->element[ply->element_count++];
  element->kind = word_is(name, "vertex") ? PLY_ELEMENT_VERTEX
                  : word_is(name, "face") ? PLY_ELEMENT_FACE
                  : word_is(name, "edge") ? PLY_ELEMENT_EDGE
                                          : PLY_ELEMENT_OTHER;
  if (!text_index(t, count, &element->count)) return false;
  return element->count >= 0 || text_fail(t, "expected a count >= 0, got %lld", (long long)element->count);
}

static bool read_property_line(Ply *ply) {
  Word word;
  MeshText *t = &ply->text;
  if (!ply->element_count) return text_fail(t, "a property before the first element");
  PlyElement *element = &ply->element[ply->element_count - 1];
  if (element->property_count == PROPERTY_LIMIT) return text_fail(t, "more than %d properties", PROPERTY_LIMIT);
  PlyProperty *property = &element->property[element->property_count++];
  bool ok = text_word(t, &word);
  property->list = ok && word_is(word, "list");
  if (property->list) ok = text_word(t, &word) && type_of(word, &property->count_type) && text_word(t, &word);
  ok = ok && type_of(word, &property->type) && text_word(t, &word);
  if (!ok) return text_fail(t, "expected property TYPE NAME or property list TYPE TYPE NAME");
  property->role = role_of(element->kind, word, property->list);
  return true;
}

static bool has_role(const PlyElement *element, PlyRole role) {
  for (int i = 0; i < element->property_count; i++)
    if (element->property[i].role == role) return true;
  return false;
}

/* Without these properties the vertices would be at the origin and the faces missing. */
static bool check_elements(const Ply *ply) {
  bool vertices = false;
  for (int e = 0; e < ply->element_count; e++) {
    const PlyElement *element = &ply->element[e];
    bool vertex = element->kind == PLY_ELEMENT_VERTEX, face = element->kind == PLY_ELEMENT_FACE;
    bool edge = element->kind == PLY_ELEMENT_EDGE;
    vertices = vertices || vertex;
    if (!element->count) continue;
    if ((face || edge) && !vertices)
      return text_fail(&ply->text, "element %s comes before element vertex; write the vertices first",
                       face ? "face" : "edge");
    if (vertex && !(has_role(element, PLY_X) && has_role(element, PLY_Y) && has_role(element, PLY_Z)))
      return text_fail(&ply->text, "element vertex: expected the properties x, y and z");
    if (face && !has_role(element, PLY_CORNERS))
      return text_fail(&ply->text, "element face: expected a property list vertex_indices or vertex_index");
    if (edge && !(has_role(element, PLY_FIRST) && has_role(element, PLY_SECOND)))
      return text_fail(&ply->text, "element edge: expected the properties vertex1 and vertex2");
  }
  return true;
}

static bool read_header(Ply *ply) {
  MeshText *t = &ply->text;
  Word word;
  bool format = false, ok = true;
  if (!text_word(t, &word) || !word_is(word, "ply")) return text_fail(t, "expected \"ply\" at the start");
  while (ok) {
    if (!text_next_line(t)) return text_fail(t, "the file ends within its header");
    if (!text_word(t, &word)) continue;
    if (word_is(word, "end_header")) break;
    if (word_is(word, "format")) format = ok = read_format(ply);
    else if (word_is(word, "element")) ok = read_element_line(ply);
    else if (word_is(word, "property")) ok = read_property_line(ply);
    else if (!word_is(word, "comment") && !word_is(word, "obj_info")) {
      ok = text_fail(t, "unknown header line \"%.*s\"", word.length < 40 ? (int)word.length : 40, word.at);
    }
  }
  if (!ok) return false;
  if (!format) return text_fail(t, "the header names no format");
  if (!check_elements(ply)) return false;
  text_next_line(t);
  return true;
}

static bool fail_at(Ply *ply, const char *sentence) {
  if (!ply->ascii) ply->text.line = 0; /* binary data has no lines */
  text_fail(&ply->text, "%s %lld: %s", ply->what, (long long)ply->index, sentence);
  return false; /* the constant shows the compiler that no value is used after a failure */
}

static bool binary_value(Ply *ply, PlyType type, double *value) {
  unsigned char b[8];
  size_t size = type_size[type];
  union {
    int8_t i8;
    uint8_t u8;
    int16_t i16;
    uint16_t u16;
    int32_t i32;
    uint32_t u32;
    float f32;
    double f64;
  } x = {0};
  if ((size_t)(ply->text.end - ply->text.at) < size) return fail_at(ply, "the file ends within it");
  for (size_t k = 0; k < size; k++) b[k] = (unsigned char)ply->text.at[ply->swap ? size - 1 - k : k];
  ply->text.at += size;
  memcpy(&x, b, size);
  switch (type) {
    case PLY_I8: *value = x.i8; break;
    case PLY_U8: *value = x.u8; break;
    case PLY_I16: *value = x.i16; break;
    case PLY_U16: *value = x.u16; break;
    case PLY_I32: *value = x.i32; break;
    case PLY_U32: *value = x.u32; break;
    case PLY_F32: *value = x.f32; break;
    default: *value = x.f64; break;
  }
  return true;
}

static bool read_value(Ply *ply, PlyType type, double *value) {
  Word word;
  if (!ply->ascii) return binary_value(ply, type, value);
  if (!text_next_word(&ply->text, &word)) return fail_at(ply, "the file ends within it");
  return word_number(word, value) || fail_at(ply, "expected a number");
}

static bool as_index(Ply *ply, double value, uint32_t *index) {
  if (value >= 0 && value < (double)ply->out->vertex_count && value == floor(value)) {
    *index = (uint32_t)value;
    return true;
  }
  char sentence[128];
  snprintf(sentence, sizeof sentence, "vertex index %.12g is out of range 0..%lld", value,
           (long long)ply->out->vertex_count - 1);
  return fail_at(ply, sentence);
}

static bool read_list(Ply *ply, const PlyProperty *property) {
  double count, value;
  uint32_t corner = 0;
  bool corners = property->role == PLY_CORNERS;
  if (!read_value(ply, property->count_type, &count)) return false;
  if (!(count >= 0 && count == floor(count) && count < 4e9)) return fail_at(ply, "expected a list's length >= 0");
  for (double c = 0; c < count; c++) {
    if (!read_value(ply, property->type, &value)) return false;
    if (!corners) continue;
    if (!as_index(ply, value, &corner)) return false;
    if (!polygon_add(&ply->polygon, corner)) return fail_at(ply, "out of memory");
  }
  if (!corners) return true;
  if (count < 3) return fail_at(ply, "expected at least 3 corners");
  return text_add_polygon(&ply->text, ply->what, (long long)ply->index, &ply->polygon, ply->out);
}

static bool read_element(Ply *ply, const PlyElement *element) {
  double x[3] = {0}, end[2] = {0}, value;
  uint32_t a = 0, b = 0;
  for (int i = 0; i < element->property_count; i++) {
    const PlyProperty *property = &element->property[i];
    if (property->list) {
      if (!read_list(ply, property)) return false;
      continue;
    }
    if (!read_value(ply, property->type, &value)) return false;
    if (property->role >= PLY_X && property->role <= PLY_Z) x[property->role - PLY_X] = value;
    if (property->role >= PLY_FIRST) end[property->role - PLY_FIRST] = value;
  }
  if (element->kind == PLY_ELEMENT_VERTEX) {
    if (!isfinite(x[0]) || !isfinite(x[1]) || !isfinite(x[2])) return fail_at(ply, "expected finite coordinates");
    return mesh_add_vertex(ply->out, x[0], x[1], x[2]) || fail_at(ply, "out of memory");
  }
  if (element->kind != PLY_ELEMENT_EDGE) return true;
  if (!as_index(ply, end[0], &a) || !as_index(ply, end[1], &b)) return false;
  return mesh_add_edge(ply->out, a, b) || fail_at(ply, "out of memory");
}

/* The smallest size of one element in bytes: a digit and a blank per property, or its binary size with empty lists. */
static size_t least_size(const Ply *ply, const PlyElement *element) {
  size_t size = 0;
  for (int i = 0; i < element->property_count; i++) {
    const PlyProperty *property = &element->property[i];
    size += ply->ascii ? 2 : type_size[property->list ? property->count_type : property->type];
  }
  return size;
}

static bool read_elements(Ply *ply) {
  static const char *const what[] = {"element", "vertex", "face", "edge"};
  for (int e = 0; e < ply->element_count; e++) {
    const PlyElement *element = &ply->element[e];
    if (!element->property_count) continue;
    ply->what = what[element->kind];
    if (!text_check_count(&ply->text, ply->what, element->count, least_size(ply, element))) return false;
    for (ply->index = 0; ply->index < element->count; ply->index++) {
      if (!read_element(ply, element)) return false;
    }
  }
  return true;
}

bool mesh_read_ply(const char *bytes, size_t length, const char *name, MeshData *out, SceneError *error) {
  Ply ply = {.text = mesh_text(bytes, length, name, error), .out = out};
  bool ok = read_header(&ply) && read_elements(&ply);
  polygon_free(&ply.polygon);
  return ok;
}
