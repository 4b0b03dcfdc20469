/* Published figures and targets of abd (bench.h).
 *
 * The paper: Affine Body Dynamics (Lan et al., SIGGRAPH 2022), its table of time statistics, CPU columns, an i9-11900K
 * with eight cores; of free balls its table beside Bullet, one thread. rigid-IPC, Autodesk's public implementation of
 * affine bodies and Bullet were run on one thread of an Arm Neoverse-V1. "first" is the target of a first version,
 * "target" the final one, on that processor. */
#include "bench.h"

#include <math.h>
#include <string.h>

#define NONE NAN

static const PaperFigures paper[] = {
    /* case, dt, iterations, assembly, solve, ccd, candidates, rest, total */
    {"wrecking-ball", 0.01, 8.8, 23, 53, 28, 31, 8, 140},
    {"wrecking-ball", 0.02, 19.4, 67, 160, 78, 92, 18, 410},
    {"wrecking-ball", 0.04, 42.6, 180, 444, 230, 27, 43, 1100},
    {"net 8x8", 0.01, 2.1, 11, 6, 16, 17, 9, 59},
    {"net 8x8", 0.02, 2.4, 14, 7, 23, 23, 10, 70},
    {"net 8x8", 0.04, 2.8, 18, 9, 290, 32, 10, 80},
    {"net 16x16, ball", 0.01, 13.5, 130, 241, 410, 430, 62, 780},
    {"net 16x16, ball", 0.02, 24.9, 250, 440, 820, 870, 83, 2400},
    {"net 16x16, ball", 0.04, 26.3, 270, 464, 930, 960, 86, 2700},
    {"cards", 0.01, 9.8, 14, 24, 9, 35, 4, 86},
    {"cards", 0.02, 13.3, 24, 37, 14, 43, 20, 130},
    {"cards", 0.04, 25.2, 45, 64, 35, 74, 9, 240},
    {"screw", 0.01, 4.1, 0.4, 0.1, 39, 39, 9, 87},
    {"screw", 0.02, 3.2, 0.7, 0.1, 68, 68, 10, 140},
    {"screw", 0.04, 5.7, 1, 0.1, 110, 120, 10, 230},
    {"arch, 100 stones", 0.01, 1.9, 2, 2, 1, 2, 2, 8.7},
    {"arch, 100 stones", 0.02, 3.2, 3, 2, 1, 3, 2, 13},
    {"arch, 100 stones", 0.04, 5.7, 5, 3, 3, 6, 3, 22},
    {"pendulum", 0.01, 4.1, 1, 0.1, 3, 3, 1, 7},
    {"pendulum", 0.02, 4.3, 1, 0.1, 4, 3, 1, 9},
    {"pendulum", 0.04, 4.7, 1, 0.1, 5, 4, 1, 10},
    {"octopus", 0.01, 4.6, 12, 2, 20, 19, 5, 50},
    {"octopus", 0.02, 5.6, 14, 0.2, 30, 25, 6, 70},
    {"octopus", 0.04, 6.7, 17, 0.2, 40, 30, 6, 90},
    {"gear-train", 0.01, 16.7, 4300, 4, 5400, 6000, 211, 11700},
    {"gear-train", 0.02, 19.3, 5800, 4, 6300, 7900, 219, 14500},
    {"gear-train", 0.04, 25.9, 7900, 6, 9300, 11200, 43, 20100},
    {"hybrid", 0.01, 16.7, 4300, 4600, 3500, 3400, 490, 16400},
    {"hybrid", 0.02, 19.3, 5800, 5311, 4800, 4500, 562, 21300},
    {"hybrid", 0.04, 25.9, 7900, 7083, 7200, 6900, 836, 30000},
    {"spikes", 0.01, 6.3, 3, 0.2, 2300, 560, 74, 2800},
    {"net 97x97", 0.01, 14.2, 37200, 87000, 95000, 94000, 7200, 310000},
    {"ball, 16 bodies", 0.01, 1.9, NONE, NONE, NONE, NONE, NONE, 3},
    {"ball, 16 bodies", 1.0 / 240, 1.5, NONE, NONE, NONE, NONE, NONE, 2.2},
    {"ball, 16 bodies", 0.001, 1.1, NONE, NONE, NONE, NONE, NONE, 2},
    {"ball, 142 bodies", 0.01, 7.6, NONE, NONE, NONE, NONE, NONE, 92},
    {"ball, 142 bodies", 1.0 / 240, 2.9, NONE, NONE, NONE, NONE, NONE, 41},
    {"ball, 142 bodies", 0.001, 1.3, NONE, NONE, NONE, NONE, NONE, 19},
    {"ball, 562 bodies", 0.01, 11.0, NONE, NONE, NONE, NONE, NONE, 657},
    {"ball, 562 bodies", 1.0 / 240, 4.4, NONE, NONE, NONE, NONE, NONE, 328},
    {"ball, 562 bodies", 0.001, 1.8, NONE, NONE, NONE, NONE, NONE, 102},
    {0},
};

static const MarkFigures mark[] = {
    /* case, dt, rigid-IPC, Autodesk, paper, Bullet boxes, Bullet meshes, first, target */
    {"chain-net-4x4, steps 1-71", 0.01, {731, 49, NONE, NONE, NONE, 6, 1.5}},
    {"chain-net-8x8, steps 1-48", 0.01, {1794, 308, 59, NONE, NONE, 15, 5}},
    {"chain-net-8x8, steps 1-100", 0.01, {NONE, 1010, 59, NONE, NONE, 90, 20}},
    {"chain-net-16x16-ball, steps 1-37", 0.01, {2672, 1912, 780, NONE, NONE, 150, 30}},
    {"wrecking-ball, steps 1-91", 0.01, {837, 572, 140, NONE, NONE, 25, 8}},
    {"wrecking-ball, steps 1-220", 0.01, {NONE, NONE, 140, NONE, NONE, 150, 40}},
    {"arch-101-stones, steps 1-72", 0.01, {579, 58, 8.7, NONE, NONE, 4, 0.8}},
    {"card-house-3-levels, steps 1-200, one lag", 0.01, {18, NONE, NONE, NONE, NONE, 0.5, 0.1}},
    {"cards, 10 levels, steps 1-36", 0.01, {1209, NONE, 86, NONE, NONE, 12, 3}},
    {"bolt, steps 1-17", 0.01, {2409, 175, 87, NONE, NONE, 30, 5}},
    {"double-pendulum, steps 1-8", 0.01, {3389, 31, 7, NONE, NONE, 20, 3}},
    {"octopus-draped, steps 1-13", 0.01, {5725, 901, 50, NONE, NONE, 60, 10}},
    {"net of 27,645 rings, steps 1-40", 0.01, {NONE, NONE, 310000, NONE, NONE, NONE, NONE}},
    {"erleben, internal-edges", 0.01, {NONE, NONE, NONE, NONE, NONE, 0.2, 0.05}},
    {"erleben, sliding-spike", 0.01, {NONE, NONE, NONE, NONE, NONE, 0.2, 0.05}},
    {"erleben, sliding-wedge", 0.01, {NONE, NONE, NONE, NONE, NONE, 0.2, 0.05}},
    {"erleben, spike-and-wedge", 0.01, {NONE, NONE, NONE, NONE, NONE, 0.2, 0.05}},
    {"erleben, spike-in-crack", 0.01, {NONE, NONE, NONE, NONE, NONE, 0.2, 0.05}},
    {"erleben, wedges", 0.01, {NONE, NONE, NONE, NONE, NONE, 0.2, 0.05}},
    {"ball, 16 bodies", 0.01, {NONE, 194, 3, 0.047, 0.49, 0.5, 0.15}},
    {"ball, 16 bodies", 1.0 / 240, {NONE, NONE, 2.2, 0.037, 0.41, 0.4, 0.1}},
    {"ball, 16 bodies", 0.001, {NONE, NONE, 2, 0.026, 0.29, 0.3, 0.05}},
    {"ball, 142 bodies", 0.01, {NONE, 2540, 92, 0.48, 2.4, 10, 2.4}},
    {"ball, 142 bodies", 1.0 / 240, {NONE, NONE, 41, 0.41, 1.7, 5, 1.5}},
    {"ball, 142 bodies", 0.001, {NONE, NONE, 19, 0.35, 0.7, 3, 0.7}},
    {"ball, 562 bodies", 0.01, {NONE, 8260, 657, 2.7, 12.3, 60, 12}},
    {"ball, 562 bodies", 1.0 / 240, {NONE, NONE, 328, 2.3, 7.3, 30, 7}},
    {"ball, 562 bodies", 0.001, {NONE, NONE, 102, 2.1, 1.8, 10, 2.5}},
    {"free ball, 16 bodies", 0.01, {NONE, NONE, NONE, NONE, NONE, NONE, 0.4}},
    {"free ball, 142 bodies", 0.01, {NONE, NONE, NONE, NONE, NONE, NONE, 7}},
    {"free ball, 562 bodies", 0.01, {NONE, NONE, NONE, NONE, NONE, NONE, 45}},
    {"free ball, 16 bodies", 1.0 / 240, {NONE, NONE, NONE, NONE, NONE, NONE, 0.25}},
    {"free ball, 142 bodies", 1.0 / 240, {NONE, NONE, NONE, NONE, NONE, NONE, 4.5}},
    {"free ball, 562 bodies", 1.0 / 240, {NONE, NONE, NONE, NONE, NONE, NONE, 28}},
    {"free ball, 16 bodies", 0.001, {NONE, NONE, NONE, NONE, NONE, NONE, 0.15}},
    {"free ball, 142 bodies", 0.001, {NONE, NONE, NONE, NONE, NONE, NONE, 2.5}},
    {"free ball, 562 bodies", 0.001, {NONE, NONE, NONE, NONE, NONE, NONE, 12}},
    {"pile of 1000 shapes", 0.01, {NONE, NONE, NONE, NONE, NONE, NONE, 200}},
    {"twenty tori", 0.1, {NONE, NONE, NONE, NONE, NONE, NONE, 40}},
    {"net of 16 mm rings", 0.01, {NONE, NONE, NONE, NONE, NONE, NONE, 300}},
    {0},
};

static bool same_dt(double a, double b) { return fabs(a - b) <= 1e-6 * b; }

const PaperFigures *paper_figures(const char *name, double dt) {
  for (const PaperFigures *p = paper; p->name; p++)
    if (!strcmp(p->name, name) && same_dt(p->dt, dt)) return p;
  return NULL;
}

const MarkFigures *mark_figures(const char *name, double dt) {
  for (const MarkFigures *m = mark; m->name; m++)
    if (!strcmp(m->name, name) && same_dt(m->dt, dt)) return m;
  return NULL;
}

const char *mark_title(int which) {
  static const char *const title[MARK_COUNT] = {"rigid-IPC",      "Autodesk's ABD", "paper", "Bullet, boxes",
                                                "Bullet, meshes", "first",          "target"};
  return title[which];
}
