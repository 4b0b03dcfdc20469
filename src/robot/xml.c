/* See xml.h. */
#include "robot/xml.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#ifdef ABD_HAVE_EXPAT
#include <expat.h>
#endif

enum { XML_DEPTH = 200 };                    /* deeper trees would exhaust the stack of recursive readers */
static const size_t largest_file = 1u << 28; /* [bytes] */
static const char out_of_memory[] = "out of memory while reading the robot";

bool robot_fail(RobotError *error, const char *format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(error->text, sizeof error->text, format, list);
  va_end(list);
  return false;
}

void xml_free(Xml *node) {
  if (!node) return;
  for (Xml *child = node->first, *next; child; child = next) {
    next = child->next;
    xml_free(child);
  }
  for (size_t i = 0; i < node->attribute_count; i++) {
    free(node->attribute[i].name);
    free(node->attribute[i].value);
  }
  free(node->attribute);
  free(node->name);
  free(node->text);
  if (node->owns_file) free(node->file);
  free(node);
}

static void append(Xml *parent, Xml *node) {
  node->parent = parent;
  node->next = NULL;
  if (parent->last) parent->last->next = node;
  else parent->first = node;
  parent->last = node;
}

void xml_splice(Xml *child, Xml *tree) {
  Xml *parent = child->parent, *before = NULL;
  while (before ? before->next != child : parent->first != child) before = before ? before->next : parent->first;
  Xml *after = child->next, *tail = before;
  for (Xml *node = tree->first; node; node = node->next) {
    node->parent = parent;
    if (tail) tail->next = node;
    else parent->first = node;
    tail = node;
  }
  if (tail) tail->next = after;
  else parent->first = after;
  if (!after) parent->last = tail;
  tree->first = tree->last = NULL;
  child->next = NULL;
  append(tree, child); /* both stay in memory with the file's name, below the top of all */
  Xml *top = parent;
  while (top->parent) top = top->parent;
  tree->used = child->used = true;
  xml_use_all(tree);
  append(top, tree);
}

/* ---- parsing ---- */

#ifdef ABD_HAVE_EXPAT

typedef struct Build {
  XML_Parser parser;
  Xml *top, *at;
  char *file;
  int depth;
  const char *fault;
} Build;

static void stop(Build *b, const char *fault) {
  b->fault = fault;
  XML_StopParser(b->parser, XML_FALSE);
}

static bool copy_attributes(Xml *node, const char **pair) {
  size_t count = 0;
  while (pair[2 * count]) count++;
  node->attribute = calloc(count + 1, sizeof *node->attribute);
  if (!node->attribute) return false;
  for (; node->attribute_count < count; node->attribute_count++) {
    XmlAttribute *a = &node->attribute[node->attribute_count];
    a->name = strdup(pair[2 * node->attribute_count]);
    a->value = strdup(pair[2 * node->attribute_count + 1]);
    if (!a->name || !a->value) return node->attribute_count++, false;
  }
  return true;
}

static void on_start(void *context, const char *name, const char **pair) {
  Build *b = context;
  if (b->fault) return;
  if (++b->depth > XML_DEPTH) return stop(b, "elements are nested more than 200 deep");
  Xml *node = calloc(1, sizeof *node);
  if (!node) return stop(b, out_of_memory);
  node->file = b->file;
  node->line = (int)XML_GetCurrentLineNumber(b->parser);
  node->name = strdup(name);
  if (b->at) append(b->at, node);
  else b->top = node;
  b->at = node;
  if (!node->name || !copy_attributes(node, pair)) stop(b, out_of_memory);
}

static void on_end(void *context, const char *name) {
  Build *b = context;
  (void)name;
  if (b->fault || !b->at) return;
  b->depth--;
  b->at = b->at->parent;
}

static void on_text(void *context, const char *text, int length) {
  Build *b = context;
  bool blank = true;
  for (int i = 0; i < length; i++) blank = blank && strchr(" \t\r\n", text[i]) != NULL;
  if (b->fault || blank || !b->at) return;
  size_t old = b->at->text ? strlen(b->at->text) : 0;
  char *longer = realloc(b->at->text, old + (size_t)length + 1);
  if (!longer) return stop(b, out_of_memory);
  memcpy(longer + old, text, (size_t)length);
  longer[old + (size_t)length] = 0;
  b->at->text = longer;
}

/* Entities could expand without end; robots have none. */
static void on_entity(void *context, const XML_Char *name, int is_parameter, const XML_Char *value, int length,
                      const XML_Char *base, const XML_Char *system_id, const XML_Char *public_id,
                      const XML_Char *notation) {
  (void)name, (void)is_parameter, (void)value, (void)length, (void)base, (void)system_id, (void)public_id;
  (void)notation;
  stop(context, "entities are not supported");
}

static bool report(const Build *b, RobotError *error) {
  const char *what = b->fault ? b->fault : XML_ErrorString(XML_GetErrorCode(b->parser));
  return robot_fail(error, "%.500s:%lu:%lu: %s", b->file, (unsigned long)XML_GetCurrentLineNumber(b->parser),
                    (unsigned long)XML_GetCurrentColumnNumber(b->parser) + 1, what);
}

static Xml *parse(Build *b, const char *bytes, size_t length, RobotError *error) {
  XML_SetUserData(b->parser, b);
  XML_SetElementHandler(b->parser, on_start, on_end);
  XML_SetCharacterDataHandler(b->parser, on_text);
  XML_SetEntityDeclHandler(b->parser, on_entity);
  bool ok = XML_Parse(b->parser, bytes, (int)length, 1) == XML_STATUS_OK && !b->fault && b->top;
  if (!ok) report(b, error);
  if (b->top) b->top->owns_file = true;
  else free(b->file);
  if (ok) return b->top;
  xml_free(b->top);
  return NULL;
}

Xml *xml_parse(const char *bytes, size_t length, const char *name, RobotError *error) {
  Build b = {.parser = XML_ParserCreate(NULL), .file = strdup(name)};
  Xml *top = NULL;
  if (length > largest_file) robot_fail(error, "%.500s: the file is larger than 256 MB", name);
  else if (b.parser && b.file) top = parse(&b, bytes, length, error), b.file = NULL;
  else robot_fail(error, "%s", out_of_memory);
  free(b.file);
  if (b.parser) XML_ParserFree(b.parser);
  return top;
}

#else

Xml *xml_parse(const char *bytes, size_t length, const char *name, RobotError *error) {
  (void)bytes, (void)length;
  robot_fail(error, "%.500s: this build reads no robots: it needs expat (Debian: libexpat1-dev; -DABD_EXPAT=ON)", name);
  return NULL;
}

#endif

static char *read_bytes(const char *path, size_t *length, RobotError *error) {
  struct stat about;
  FILE *in = NULL;
  char *bytes = NULL;
  if (stat(path, &about) != 0) robot_fail(error, "%.500s: %s", path, strerror(errno));
  else if (!S_ISREG(about.st_mode)) robot_fail(error, "%.500s: not a regular file", path); /* a pipe would wait */
  else if (!(in = fopen(path, "rb"))) robot_fail(error, "%.500s: %s", path, strerror(errno));
  else if ((size_t)about.st_size > largest_file) robot_fail(error, "%.500s: the file is larger than 256 MB", path);
  else if (!(bytes = malloc((size_t)about.st_size + 1))) robot_fail(error, "%s", out_of_memory);
  else *length = fread(bytes, 1, (size_t)about.st_size, in);
  if (in) fclose(in);
  return bytes;
}

Xml *xml_load(const char *path, RobotError *error) {
  size_t length;
  char *bytes = read_bytes(path, &length, error);
  Xml *top = bytes ? xml_parse(bytes, length, path, error) : NULL;
  free(bytes);
  return top;
}

/* ---- reading ---- */

bool xml_is(const Xml *node, const char *name) { return strcmp(node->name, name) == 0; }

static Xml *first_of(Xml *node, const char *name) {
  while (node && name && !xml_is(node, name)) node = node->next;
  if (node) node->used = true;
  return node;
}
Xml *xml_child(Xml *node, const char *name) { return first_of(node->first, name); }
Xml *xml_next(Xml *node, const char *name) { return first_of(node->next, name); }

static XmlAttribute *find(Xml *node, const char *name) {
  for (size_t i = 0; i < node->attribute_count; i++)
    if (strcmp(node->attribute[i].name, name) == 0) return &node->attribute[i];
  return NULL;
}

bool xml_fail(const Xml *node, RobotError *error, const char *format, ...) {
  char sentence[700];
  const XmlAttribute *name = find((Xml *)node, "name");
  va_list list;
  va_start(list, format);
  vsnprintf(sentence, sizeof sentence, format, list);
  va_end(list);
  return robot_fail(error, "%.200s:%d: <%.40s>%s%.60s%s: %s", node->file, node->line, node->name, name ? " \"" : "",
                    name ? name->value : "", name ? "\"" : "", sentence);
}

const char *xml_text(Xml *node, const char *attribute) {
  XmlAttribute *a = find(node, attribute);
  if (a) a->used = true;
  return a ? a->value : NULL;
}

const char *xml_need(Xml *node, const char *attribute, RobotError *error) {
  const char *text = xml_text(node, attribute);
  if (text && text[0]) return text;
  xml_fail(node, error, "expected an attribute \"%s\"", attribute);
  return NULL;
}

void xml_use(Xml *node, const char *attribute) { xml_text(node, attribute); }

void xml_use_all(Xml *node) {
  node->used = true;
  for (size_t i = 0; i < node->attribute_count; i++) node->attribute[i].used = true;
  for (Xml *child = node->first; child; child = child->next) xml_use_all(child);
}

int numbers_read(const char *text, double *value, size_t most) {
  size_t count = 0;
  for (char *end;; text = end) {
    text += strspn(text, " \t\r\n");
    if (!*text) return (int)count;
    double x = strtod(text, &end);
    if (end == text || !isfinite(x) || !strchr(" \t\r\n", *end) || count > 1000000) return -1;
    if (count < most) value[count] = x;
    count++;
  }
}

bool xml_numbers(Xml *node, const char *attribute, size_t least, size_t most, double *value, size_t *given,
                 RobotError *error) {
  double read[64];
  const char *text = xml_text(node, attribute);
  if (given) *given = 0;
  if (!text) return true;
  int count = numbers_read(text, read, sizeof read / sizeof *read);
  bool fits = count >= (int)least && count <= (int)most && most <= sizeof read / sizeof *read;
  if (!fits && least == most)
    return xml_fail(node, error, "%s: expected %zu finite number%s, got \"%.100s\"", attribute, least,
                    least == 1 ? "" : "s", text);
  if (!fits)
    return xml_fail(node, error, "%s: expected %zu to %zu finite numbers, got \"%.100s\"", attribute, least, most,
                    text);
  memcpy(value, read, (size_t)count * sizeof *value);
  if (given) *given = (size_t)count;
  return true;
}

bool xml_number(Xml *node, const char *attribute, double *value, RobotError *error) {
  return xml_numbers(node, attribute, 1, 1, value, NULL, error);
}

bool xml_bool(Xml *node, const char *attribute, bool *value, RobotError *error) {
  const char *text = xml_text(node, attribute);
  if (!text) return true;
  bool yes = strcmp(text, "true") == 0, no = strcmp(text, "false") == 0;
  if (!yes && !no) return xml_fail(node, error, "%s: expected true or false, got \"%.60s\"", attribute, text);
  *value = yes;
  return true;
}
