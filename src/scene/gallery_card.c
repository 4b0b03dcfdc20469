/* A house of cards: storeys of tents, each storey roofed by cards that carry the next. Tests: tests/standing.sh.
 *
 * The cards are boxes of length L and thickness t, the tents lean at 65 degrees, c and s their cosine and sine. In the
 * frame of what it stands on, a tent with its ridge at 0 has its centres at -+(gap + L c + t s)/2 and gap + (L s + t
 * c)/2, its feet inside L c + t s + gap/2, and its top at gap + L s + t c.
 *
 * Roof cards are longer than the tents are apart. They overlap like shingles, each resting on its left neighbour's end
 * and on the ridge to its right, so that every ridge carries its load on both of its cards; a roof laid end to end
 * would load the inner cards of the outer tents alone and push the outer ones over. All roof cards of a storey are one,
 * moved by the pitch: tilted down to the right by sin a = (t + gap)/pitch they lie on each other with the same gap
 * everywhere. Under the first one's left end a strip of card stands in for a neighbour. The next storey stands on the
 * tilted roof and is tilted with it.
 *
 * Whatever touches starts apart by the gap, just inside the range of contact: nothing drops and nothing is pushed.
 * Why it stands: a card with P on its edge and its weight W pushes its foot outward by (P + W/2) cot 65, and P + W
 * press the foot down; friction of 0.6 is more than cot 65 = 0.466. */
#include <string.h>

#include "scene/gallery_part.h"

enum { LEVELS, BOXES, FORM };
enum { SOLID, SHEET };
static const GalleryKey cards_key[] = {
    {"levels", "storeys; 10 have 155 cards", 10, 1, 40, true, NULL},
    {"boxes", "that fall on it", 2, 0, 2, true, NULL},
    {"form", "of the cards: boxes of twelve triangles, or sheets of two that contact keeps apart by their thickness",
     SOLID, SOLID, SHEET, true, (const char *const[]){"solid", "sheet", NULL}},
    {0},
};

static const double L = 0.088, wide = 0.063, t = 0.0003, pitch = 0.084, range = 1e-4, gap = 0.9e-4, lean = 65;

typedef struct Frame {
  double x, z, tilt;
} Frame; /* the surface under a tent; the tilt is down to the right */

/* Thickness of a leaning card across and along the surface under it. */
typedef struct Card {
  bool sheet;
  double across, along;
} Card;

static Card card_of(bool sheet) {
  return (Card){sheet, sheet ? t : t * sin(radians(lean)), sheet ? t : t * cos(radians(lean))};
}

static const char *card_paint(const char *name) {
  return strncmp(name, "left", 4) == 0 ? "red card" : strncmp(name, "right", 5) == 0 ? "blue card" : "card";
}

/* A card of the given length with its centre at (u, v) of the frame, turned by degrees in it. */
static void write_card(GalleryWriter *w, const Card *card, const char *name, double length, const Frame *f, double u,
                       double v, double turn) {
  double c = cos(f->tilt), s = sin(f->tilt), all = turn + degrees(f->tilt);
  char euler[64] = "", shape[160];
  if (all != 0) snprintf(euler, sizeof euler, ", \"euler_degrees\": [0, %.7f, 0]", all);
  if (card->sheet)
    snprintf(shape, sizeof shape,
             "\"shape\": \"plane\", \"size\": [%g, %g], \"thickness\": %g, \"contact_thickness\": %g", length, wide, t,
             t);
  else snprintf(shape, sizeof shape, "\"shape\": \"box\", \"size\": [%g, %g, %g]", length, wide, t);
  writer_item(w, "{ \"name\": \"%s\", \"material\": \"%s\", %s, \"position\": [%.8f, 0, %.8f]%s }", name,
              card_paint(name), shape, f->x + u * c + v * s, f->z - u * s + v * c, euler);
}

static void write_tent(GalleryWriter *w, const Card *card, int level, int number, const Frame *f) {
  double u = (gap + L * cos(radians(lean)) + card->across) / 2, v = gap + (L * sin(radians(lean)) + card->along) / 2;
  char name[32];
  snprintf(name, sizeof name, "left %d.%d", level, number);
  write_card(w, card, name, L, f, -u, v, -lean);
  snprintf(name, sizeof name, "right %d.%d", level, number);
  write_card(w, card, name, L, f, u, v, lean);
}

/* Tents and roof of a storey; moves the frame to that of the first tent of the next. */
static void write_storey(GalleryWriter *w, const Card *card, int level, int tents, Frame *f) {
  double top = gap + L * sin(radians(lean)) + card->along, roof = asin((t + gap) / pitch);
  char name[32];
  for (int i = 0; i < tents; i++) write_tent(w, card, level, i + 1, &(Frame){f->x + i * pitch, f->z, f->tilt});
  *f = (Frame){f->x + top * sin(f->tilt), f->z + top * cos(f->tilt), roof};
  snprintf(name, sizeof name, "strip %d", level);
  if (tents > 1) write_card(w, card, name, L - pitch, f, 0, gap + t / 2, 0);
  for (int i = 1; i < tents; i++) {
    snprintf(name, sizeof name, "roof %d.%d", level, i);
    write_card(w, card, name, L, &(Frame){f->x + i * pitch, f->z, f->tilt}, -pitch / 2, gap + t / 2, 0);
  }
  f->x += pitch - pitch / 2 * cos(roof) + (gap + t) * sin(roof);
  f->z += pitch / 2 * sin(roof) + (gap + t) * cos(roof);
}

static void make_cards(GalleryWriter *w, const double *v) {
  int levels = (int)v[LEVELS];
  Card card = card_of((int)v[FORM] == SHEET);
  Frame frame = {.x = -(levels - 1) / 2.0 * pitch};
  writer_settings(w, 0.01, v[BOXES] > 0 ? 3 : 10, range, 0.6);
  writer_section(w, "materials");
  writer_material(w, "card", 1200, "#e8e2d0");
  writer_material(w, "red card", 1200, "#d98880");
  writer_material(w, "blue card", 1200, "#7fa0b8");
  writer_section(w, "bodies");
  writer_item(w, "{ \"name\": \"table\", \"shape\": \"ground\", \"size\": 2 }");
  for (int level = 1; level <= levels; level++) write_storey(w, &card, level, levels - level + 1, &frame);
  for (int k = 0; k < (int)v[BOXES]; k++)
    writer_item(w,
                "{ \"name\": \"box %d\", \"shape\": \"box\", \"size\": [0.05, 0.05, 0.05], \"density\": 600, "
                "\"color\": \"%s\", "
                "\"position\": [%.8f, %g, %.8f], \"euler_degrees\": [%d, 25, 10] }",
                k + 1, k ? "#e9c46a" : "#e76f51", frame.x + (k ? 0.03 : -0.05), k ? 0.012 : -0.01,
                frame.z + 0.12 + 0.15 * k, k ? 40 : 20);
}

const GalleryScene gallery_cards = {"cards", "a house of cards, and two boxes that fall on it", cards_key, make_cards};
