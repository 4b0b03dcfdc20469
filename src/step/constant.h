/* Constants of Newton's control and of the laws of contact. Each has a name, a reason, and a test that fails if it changes;
 * docs/performance.md has the measurements. */
#ifndef ABD_STEP_CONSTANT_H
#define ABD_STEP_CONSTANT_H

/* Line search. */
enum { MAX_TRIALS = 60 };                   /* trials of one search; 2^-60 is below rounding */
enum { MAX_CUTS = 6 };                      /* cuts by collision before the straight part up to the bound is taken */
static const double SUFFICIENT_GAIN = 0.1;  /* of what the slope promises; Newton's step gains half of it */
static const double DOWNHILL = 0.3;         /* of Newton's slope, the least slope of a retracted step */
static const double LEAST_FRACTION = 1e-12; /* shorter steps are rounding */
static const double CUT_MARGIN = 0.9;       /* of the bound, what a cut step aims at */

/* Damping of islands that stall. */
static const double SHORT_STEP = 0.3, LONG_STEP = 0.5, DAMPING_FACTOR = 8, LEAST_DAMPING = 0.2;

/* Linked bodies. */
static const double SMALL_TURN =
    1e-4;                  /* [rad] a straight step of this turn strains by 5e-9, which elasticity ignores */
enum { MAX_CLOSINGS = 5 }; /* corrections that close joints after one retraction */

/* Active set. */
static const double NEARLY_CONVERGED = 10; /* tolerances: an island this near its end is whole */

enum { PARTIAL_LEAST = 8 };             /* smaller islands are always whole */
static const double PARTIAL_MOST = 0.5; /* an island of which more would take part is whole */

/* Barriers. */
static const double GUARD_GAP = 0.1; /* of the range: a smaller gap that was halved gets a stiffer barrier */

#endif
