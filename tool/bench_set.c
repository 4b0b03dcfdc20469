/* The named sets of `abd bench`. A case is a scene and its length: a simulated time, which is the same for every time
 * step, or a number of steps. */
#include "bench.h"

#include <string.h>

static const double three_dt[] = {0.01, 0.02, 0.04, 0}, peers_dt[] = {0.01, 1.0 / 240, 0.001, 0}, one_dt[] = {0.01, 0},
                    many_dt[] = {0.001, 0.002, 0.005, 0.01, 0.02, 0.04, 0};

static const BenchCase quick_case[] = {
    {.name = "brick-wall", .scene = "brick-wall:courses=3,columns=3", .seconds = 0.3},
    {.name = "net 4x4", .scene = "net:size=4", .seconds = 0.4},
    {.name = "arch", .scene = "arch:stones=9", .seconds = 0.3},
    {.name = "screw", .scene = "screw", .seconds = 0.2},
    {0},
};

static const BenchCase paper_case[] = {
    {.name = "wrecking-ball", .scene = "wrecking-ball", .seconds = 2},
    {.name = "net 8x8", .scene = "net:size=8", .seconds = 1},
    {.name = "net 16x16, ball", .scene = "net:size=16,ball=6", .seconds = 1},
    {.name = "cards", .scene = "cards:form=sheet", .seconds = 0.5},
    {.name = "screw", .scene = "screw", .seconds = 1},
    {.name = "arch, 100 stones", .scene = "arch:stones=100", .seconds = 1},
    {.name = "pendulum", .scene = "triple-pendulum", .seconds = 2},
    {.name = "octopus", .scene = "octopus", .seconds = 1},
    {0},
};

static const BenchCase huge_case[] = {
    {.name = "gear-train", .scene = "gear-train:resolution=36", .steps = 20},
    {.name = "spikes", .scene = "spikes:resolution=5", .steps = 80},
    {.name = "net 97x97", .scene = "net:size=97", .steps = 40},
    {.name = "hybrid", .scene = "hybrid:resolution=11.8", .steps = 12},
    {0},
};

static const BenchCase gallery_case[] = {
    {.name = "pendulum", .scene = "pendulum", .steps = 100},
    {.name = "double-pendulum", .scene = "double-pendulum", .steps = 100},
    {.name = "triple-pendulum", .scene = "triple-pendulum", .steps = 100},
    {.name = "four-bar", .scene = "four-bar", .steps = 100},
    {.name = "slider-crank", .scene = "slider-crank", .steps = 100},
    {.name = "robot-arm", .scene = "robot-arm", .steps = 100},
    {.name = "chain, 1000 links", .scene = "chain:links=1000", .steps = 20},
    {.name = "gears", .scene = "gears", .steps = 50},
    {.name = "gear-train, coarse", .scene = "gear-train:resolution=3", .steps = 20},
    {.name = "octopus", .scene = "octopus", .steps = 50},
    {.name = "wrecking-ball", .scene = "wrecking-ball", .steps = 50},
    {.name = "ball, 16 bodies", .scene = "ball:stack=light", .steps = 100},
    {.name = "brick-wall", .scene = "brick-wall", .steps = 50},
    {.name = "net 8x8", .scene = "net:size=8", .steps = 50},
    {.name = "cards", .scene = "cards", .steps = 50},
    {.name = "screw", .scene = "screw", .steps = 50},
    {.name = "arch", .scene = "arch", .steps = 100},
    {.name = "spikes, coarse", .scene = "spikes:resolution=2", .steps = 50},
    {.name = "pile", .scene = "pile", .steps = 50},
    {.name = "soft-beam", .scene = "soft-beam", .steps = 20},
    {.name = "soft-twist", .scene = "soft-twist", .steps = 10},
    {.name = "soft-ball", .scene = "soft-ball", .steps = 20},
    {.name = "soft-hand", .scene = "soft-hand", .steps = 50},
    {.name = "soft-press", .scene = "soft-press", .steps = 50},
    {.name = "cloth-gears", .scene = "cloth-gears", .steps = 10},
    {.name = "hybrid, coarse", .scene = "hybrid:resolution=1", .steps = 20},
    {0},
};

#define FIXTURE(path) .scene = path ".json", .fixture = true
/* The README shows the first of them. */
#define README_CASES                                                                                                   \
  {.name = "chain-net-4x4, steps 1-71", FIXTURE("chain/chain-net/chain-net-4x4"), .steps = 71},                        \
      {.name = "chain-net-8x8, steps 1-48", FIXTURE("chain/chain-net/chain-net-8x8"), .steps = 48},                    \
      {.name = "chain-net-8x8, steps 1-100", FIXTURE("chain/chain-net/chain-net-8x8"), .steps = 100},                  \
      {.name = "chain-net-16x16-ball, steps 1-37", FIXTURE("chain/chain-net/chain-net-16x16-ball"), .steps = 37},      \
      {.name = "wrecking-ball, steps 1-91", FIXTURE("chain/wrecking-ball"), .steps = 91},                              \
      {.name = "wrecking-ball, steps 1-220", FIXTURE("chain/wrecking-ball"), .steps = 220},                            \
      {.name = "arch-101-stones, steps 1-72", FIXTURE("friction/arch/arch-101-stones"), .steps = 72},                  \
      {.name = "bolt, steps 1-17", FIXTURE("mechanisms/bolt"), .steps = 17},                                           \
      {.name = "double-pendulum, steps 1-8", FIXTURE("pendulum/double-pendulum"), .steps = 8},                         \
      {.name = "octopus-draped, steps 1-13", FIXTURE("octopus/octopus-draped"), .steps = 13}, {                        \
    .name = "card-house-3-levels, steps 1-200, one lag", FIXTURE("friction/card-house/card-house-3-levels"),           \
    .steps = 200, .set = "contact.friction_iterations=1"                                                               \
  }

static const BenchCase readme_case[] = {
    README_CASES,
    {.name = "net of 27,645 rings, steps 1-40", .scene = "net:size=97", .steps = 40},
    {0},
};

static const BenchCase marks_case[] = {
    README_CASES,
    {.name = "cards, 10 levels, steps 1-36", .scene = "cards:boxes=0,form=sheet", .steps = 36},
    {.name = "cards, solid, 10 levels, steps 1-36", .scene = "cards:boxes=0", .steps = 36},
    {.name = "erleben, internal-edges", FIXTURE("unit-tests/erleben/internal-edges"), .steps = 200},
    {.name = "erleben, sliding-spike", FIXTURE("unit-tests/erleben/sliding-spike"), .steps = 200},
    {.name = "erleben, sliding-wedge", FIXTURE("unit-tests/erleben/sliding-wedge"), .steps = 200},
    {.name = "erleben, spike-and-wedge", FIXTURE("unit-tests/erleben/spike-and-wedge"), .steps = 200},
    {.name = "erleben, spike-in-crack", FIXTURE("unit-tests/erleben/spike-in-crack"), .steps = 200},
    {.name = "erleben, wedges", FIXTURE("unit-tests/erleben/wedges"), .steps = 200},
    {0},
};

static const BenchCase balls_case[] = {
    {.name = "ball, 16 bodies", .scene = "ball:stack=light", .seconds = 0.5, .set = "contact.friction=0.5"},
    {.name = "ball, 142 bodies", .scene = "ball:stack=medium", .seconds = 0.5, .set = "contact.friction=0.5"},
    {.name = "ball, 562 bodies", .scene = "ball:stack=full", .seconds = 0.5, .set = "contact.friction=0.5"},
    {0},
};

/* Impacts and long steps, then scenes in which little collides. */
#define FREE_BALL(title, stack, rate, length)                                                                          \
  {                                                                                                                    \
    .name = "free ball, " title, .scene = "ball:stack=" stack, .steps = length, .dt = 1.0 / rate,                      \
    .set = "contact.friction=0.5"                                                                                      \
  }
#define TWENTY_TORI                                                                                                    \
  { .name = "twenty tori", .scene = "pile:count=20,shape=torus", .dt = 0.1, .steps = 50 }
#define SMALL_NET                                                                                                      \
  {                                                                                                                    \
    .name = "net of 16 mm rings", .scene = "net:size=16,scale=0.01", .dt = 0.01, .steps = 10,                          \
    .set = "contact.range=1e-4"                                                                                        \
  }
static const BenchCase impacts_case[] = {
    FREE_BALL("16 bodies", "light", 100, 200),
    FREE_BALL("142 bodies", "medium", 100, 200),
    FREE_BALL("562 bodies", "full", 100, 200),
    FREE_BALL("16 bodies", "light", 240, 480),
    FREE_BALL("142 bodies", "medium", 240, 480),
    FREE_BALL("562 bodies", "full", 240, 480),
    FREE_BALL("16 bodies", "light", 1000, 500),
    FREE_BALL("142 bodies", "medium", 1000, 500),
    FREE_BALL("562 bodies", "full", 1000, 500),
    {.name = "pile of 1000 shapes", .scene = "pile:count=1000", .steps = 60},
    {.name = "boxes on cards", .scene = "cards", .steps = 100},
    TWENTY_TORI,
    SMALL_NET,
    {.name = "net 16x16, ball landing", .scene = "net:size=16,ball=6", .skip = 199, .steps = 31},
    {.name = "arch, 100 stones", .scene = "arch:stones=100", .steps = 100},
    {.name = "cards at rest", .scene = "cards:boxes=0", .steps = 36},
    {.name = "net 8x8", .scene = "net:size=8", .steps = 100},
    {.name = "net 16x16", .scene = "net:size=16", .steps = 60},
    {.name = "wrecking-ball", .scene = "wrecking-ball", .steps = 200},
    {0},
};
static const BenchCase impacts_quick_case[] = {
    FREE_BALL("16 bodies", "light", 100, 200),
    FREE_BALL("142 bodies", "medium", 100, 200),
    FREE_BALL("142 bodies", "medium", 1000, 100),
    {.name = "pile of 100 shapes", .scene = "pile:count=100", .steps = 60},
    {.name = "boxes on cards", .scene = "cards:levels=5", .steps = 60},
    TWENTY_TORI,
    SMALL_NET,
    {.name = "arch, 25 stones", .scene = "arch", .steps = 100},
    {.name = "net 8x8", .scene = "net:size=8", .steps = 50},
    {0},
};

static const BenchCase bodies_case[] = {
    {.name = "net", .scene = "net:size=7", .steps = 40},
    {.name = "net", .scene = "net:size=12", .steps = 40},
    {.name = "net", .scene = "net:size=20", .steps = 40},
    {.name = "net", .scene = "net:size=34", .steps = 40},
    {.name = "net", .scene = "net:size=58", .steps = 40},
    {.name = "net", .scene = "net:size=97", .steps = 40},
    {0},
};

static const BenchCase triangles_case[] = {
    {.name = "net 4x4", .scene = "net:size=4,segments=9,sides=5", .steps = 50},
    {.name = "net 4x4", .scene = "net:size=4,segments=20,sides=10", .steps = 50},
    {.name = "net 4x4", .scene = "net:size=4,segments=48,sides=24", .steps = 50},
    {.name = "net 4x4", .scene = "net:size=4,segments=120,sides=50", .steps = 50},
    {.name = "net 4x4", .scene = "net:size=4,segments=280,sides=120", .steps = 50},
    {.name = "net 4x4", .scene = "net:size=4,segments=400,sides=200", .steps = 50},
    {0},
};

static const BenchCase dt_case[] = {
    {.name = "wrecking-ball", .scene = "wrecking-ball", .seconds = 0.4},
    {.name = "net 8x8", .scene = "net:size=8", .seconds = 0.8},
    {.name = "arch, 100 stones", .scene = "arch:stones=100", .seconds = 0.4},
    {0},
};

#define ON_THREADS(title, scenery, count)                                                                              \
  {.name = title, .scene = scenery, .steps = count, .threads = 1},                                                     \
      {.name = title, .scene = scenery, .steps = count, .threads = 2},                                                 \
      {.name = title, .scene = scenery, .steps = count, .threads = 4},                                                 \
      {.name = title, .scene = scenery, .steps = count, .threads = 8}, {                                               \
    .name = title, .scene = scenery, .steps = count, .threads = 16                                                     \
  }
static const BenchCase threads_case[] = {
    ON_THREADS("net 16x16", "net:size=16", 60),
    ON_THREADS("net 58x58", "net:size=58", 40),
    ON_THREADS("wrecking-ball", "wrecking-ball", 150),
    ON_THREADS("ball, 142 bodies", "ball:stack=medium", 60),
    ON_THREADS("pile of 1000 boxes", "pile:count=1000,shape=box", 60),
    ON_THREADS("pile of 1000", "pile:count=1000", 60),
    {0},
};

/* The CPU with 1 and 16 threads, the GPU with 16; paper: milliseconds per step of the paper on an RTX 3090. */
#define GPU_ROWS(title, paper, count, ...)                                                                             \
  {.name = title ", 1 thread", .steps = count, .threads = 1, .device = "cpu", __VA_ARGS__},                            \
      {.name = title ", 16 threads", .steps = count, .threads = 16, .device = "cpu", __VA_ARGS__}, {                   \
    .name = title ", GPU" paper, .steps = count, .threads = 16, .device = "cuda", __VA_ARGS__                          \
  }
static const BenchCase gpu_case[] = {
    GPU_ROWS("wrecking ball", " (paper's 56)", 220, FIXTURE("chain/wrecking-ball")),
    GPU_ROWS("pile of 1000", "", 60, .scene = "pile:count=1000"),
    GPU_ROWS("net 8x8", " (paper's 7)", 100, .scene = "net:size=8"),
    GPU_ROWS("net 16x16 and ball", " (paper's 200)", 300, .scene = "net:size=16,ball=6"),
    GPU_ROWS("cards, 10 levels", " (paper's 24)", 200, .scene = "cards"),
    GPU_ROWS("ball, 562 bodies", "", 200, .scene = "ball:stack=full", .set = "contact.friction=0.5"),
    GPU_ROWS("gear train, 2.46M triangles", " (paper's 137)", 100, .scene = "gear-train:resolution=36"),
    GPU_ROWS("spikes, 1.2M triangles", "", 100, .scene = "spikes:resolution=5"),
    GPU_ROWS("net of 27,645 rings", "", 100, .scene = "net:size=97"),
    GPU_ROWS("pile of 10,000", "", 200, .scene = "pile:count=10000"),
    GPU_ROWS("hybrid, 1.1M triangles", " (paper's 2500)", 30, .scene = "hybrid:resolution=11.8"),
    {0},
};

static const BenchSet all[] = {
    {"quick", "four small scenes, in seconds", quick_case, one_dt, BENCH_NO_AXIS, BENCH_STAGES},
    {"paper", "the paper's scenes at dt = 1/100, 1/50, 1/25, beside its table", paper_case, three_dt, BENCH_NO_AXIS,
     BENCH_STAGES},
    {"huge", "2.5 million triangles of gears, 1.2 of spikes, 27,645 rings, 1.1 million triangles with soft parts",
     huge_case, one_dt, BENCH_NO_AXIS, BENCH_STAGES},
    {"gallery", "every scene of the gallery, its first steps", gallery_case, NULL, BENCH_NO_AXIS, BENCH_STAGES},
    {"marks", "rigid-IPC's scenes beside other programs and targets; needs --fixtures", marks_case, NULL, BENCH_NO_AXIS,
     BENCH_MARKS},
    {"readme", "the table of the README; needs --fixtures", readme_case, NULL, BENCH_NO_AXIS, BENCH_BRIEF},
    {"balls", "a free ball against stacks at dt = 1/100, 1/240, 1/1000, beside Bullet", balls_case, peers_dt,
     BENCH_NO_AXIS, BENCH_MARKS},
    {"impacts", "free balls, a pile, boxes on cards, tori, small rings, a landing; then scenes at rest", impacts_case,
     NULL, BENCH_NO_AXIS, BENCH_IMPACTS},
    {"impacts-quick", "the short and the small ones of them", impacts_quick_case, NULL, BENCH_NO_AXIS, BENCH_IMPACTS},
    {"gpu", "1 and 16 threads beside an NVIDIA GPU, beside the paper's; hours with --device cpu", gpu_case, NULL,
     BENCH_NO_AXIS, BENCH_STAGES},
    {"growth-bodies", "nets of 105 to 27,645 rings", bodies_case, NULL, BENCH_BODIES, BENCH_STAGES},
    {"growth-triangles", "24 rings of 120 to 160,000 triangles", triangles_case, NULL, BENCH_TRIANGLES, BENCH_STAGES},
    {"growth-dt", "dt from 1/1000 to 1/25 over the same time", dt_case, many_dt, BENCH_DT, BENCH_STAGES},
    {"growth-threads", "1 to 16 threads, as many as there are processors", threads_case, NULL, BENCH_THREADS,
     BENCH_STAGES},
    {0},
};

const BenchSet *bench_sets(void) { return all; }

const BenchSet *bench_set_find(const char *name) {
  for (const BenchSet *set = all; set->name; set++)
    if (!strcmp(set->name, name)) return set;
  return NULL;
}
