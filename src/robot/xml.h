/* XML files as trees whose nodes have file and line. Reading an attribute or asking for a child marks it as used, so
 * that the rest can be named to the user. Needs expat; without it xml_load fails with a sentence. Tested in
 * tests/test_robot.c; fuzzed by tests/fuzz/fuzz_urdf.c and fuzz_mjcf.c. */
#ifndef ABD_ROBOT_XML_H
#define ABD_ROBOT_XML_H

#include <stdbool.h>
#include <stddef.h>

/* One sentence: "FILE:LINE: <joint> \"elbow\": expected a number, got \"x\"". */
typedef struct RobotError {
  char text[1024];
} RobotError;
bool robot_fail(RobotError *error, const char *format, ...) __attribute__((format(printf, 2, 3))); /* always false */

typedef struct XmlAttribute {
  char *name, *value;
  bool used;
} XmlAttribute;

typedef struct Xml {
  char *name;
  XmlAttribute *attribute;
  size_t attribute_count;
  struct Xml *parent, *first, *last, *next;
  char *text; /* of the element itself, without its children's; NULL if none */
  char *file; /* owned by the top of a file */
  int line;
  bool used, owns_file;
} Xml;

/* The top element of a file; NULL after an error. */
Xml *xml_load(const char *path, RobotError *error);
/* The same of bytes; name is used in messages. */
Xml *xml_parse(const char *bytes, size_t length, const char *name, RobotError *error);
void xml_free(Xml *top); /* NULL is fine */

/* Replaces a child by the children of another tree, which keep their files and lines; takes over the tree. */
void xml_splice(Xml *child, Xml *tree);

/* Children in order; a name of NULL accepts all. The children are marked as used. */
Xml *xml_child(Xml *node, const char *name);
Xml *xml_next(Xml *node, const char *name);
bool xml_is(const Xml *node, const char *name);

/* "FILE:LINE: <NAME> \"its name\": sentence"; always false. */
bool xml_fail(const Xml *node, RobotError *error, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* NULL if absent. */
const char *xml_text(Xml *node, const char *attribute);
/* The value of an attribute that must exist and not be empty; NULL after an error. */
const char *xml_need(Xml *node, const char *attribute, RobotError *error);
void xml_use(Xml *node, const char *attribute); /* marks it as used */
void xml_use_all(Xml *node);                    /* the node, all its attributes and all below it */
/* Numbers separated by blanks, all finite. Absent attributes leave value as it is. count: at least `least` and at
 * most `most` of them; *given, if not NULL: how many there were. */
bool xml_numbers(Xml *node, const char *attribute, size_t least, size_t most, double *value, size_t *given,
                 RobotError *error);
bool xml_number(Xml *node, const char *attribute, double *value, RobotError *error);
/* "true" or "false". */
bool xml_bool(Xml *node, const char *attribute, bool *value, RobotError *error);

/* Reads finite numbers from a text; -1 if something else is in it. Stores the first `most` and returns how many there
 * are. */
int numbers_read(const char *text, double *value, size_t most);

#endif
