/* The linear system that closes joints in flights of mechanisms, see step/mechanism.h. Tested in
 * tests/test_motion.c. */
#include "cpu/cpu.h"

/* The order of elimination is made anew for each pattern, so that a factor depends on the live blocks and poses
 * alone. */
static bool prepare(System *s, const JointedFlight *f) {
  system_begin(s);
  system_reset(s);
  for (int k = 0; k < f->count; k++)
    if (mechanism_lives(f, k)) system_add_body(s, f->block[k]);
  for (int k = 0; k < f->count; k++)
    if (mechanism_lives(f, k) && !system_couple(s, f->block[k], f->block[k])) return false;
  for (int r = 0; r < f->row_count; r++)
    for (int x = 0; mechanism_row_lives(f, &f->row[r]) && x < f->row[r].jet.count; x++)
      for (int y = 0; y < x; y++)
        if (!system_couple(s, f->row[r].jet.body[x], f->row[r].jet.body[y])) return false;
  if (!system_analyze(s)) return false;
  system_clear(s);
  return true;
}

static void add_row(System *s, const FlightRow *row) {
  double h[144];
  for (int x = 0; x < row->jet.count; x++)
    for (int y = 0; y <= x; y++) {
      mechanism_row_matrix(row, x, y, h);
      system_add(s, row->jet.body[x], row->jet.body[y], h);
    }
}

static Outcome factor(void *self, const JointedFlight *f) {
  Cpu *cpu = self;
  double h[144];
  cpu->flight_factor = -1;
  if (!prepare(&cpu->closing, f)) return stage_from(false);
  for (int k = 0; k < f->count; k++) {
    if (!mechanism_lives(f, k)) continue;
    mechanism_metric(f, k, h);
    system_add(&cpu->closing, f->block[k], f->block[k], h);
  }
  for (int r = 0; r < f->row_count; r++)
    if (mechanism_row_lives(f, &f->row[r])) add_row(&cpu->closing, &f->row[r]);
  if (system_factor(&cpu->closing, cpu->threads) < 0) return stage_not_finite(-1);
  cpu->flight_factor = cpu->closing.serial;
  cpu->factored_flight = f;
  return stage_done();
}

static bool is_valid(const void *self, const JointedFlight *f) {
  const Cpu *cpu = self;
  return cpu->factored_flight == f && cpu->flight_factor == cpu->closing.serial;
}

static void clear_right(void *self) { system_clear_right(&((Cpu *)self)->closing); }

static void add_right(void *self, int block, const Affine *force) {
  system_add_right(&((Cpu *)self)->closing, block, force);
}

static void solve(void *self) { system_solve(&((Cpu *)self)->closing); }

static Affine solution(const void *self, int block) { return system_solution(&((const Cpu *)self)->closing, block); }

static const ClosingSystem closing = {
    .is_valid = is_valid,
    .factor = factor,
    .clear_right = clear_right,
    .add_right = add_right,
    .solve = solve,
    .solution = solution,
};

bool flight_init(Cpu *cpu) { return mechanism_init(&cpu->flight, &cpu->work, cpu->threads, &closing, cpu); }

Outcome flight_targets(Cpu *cpu) {
  if (cpu->flight.count == 0) system_begin(&cpu->closing);
  return mechanism_targets(&cpu->flight);
}
