/* A sparse linear system over bodies: a block of twelve for a free body, of three for a soft vertex, of the remaining
 * unknowns for a linked body. Blocks between bodies are given for poses (12 x 12) and transformed to the unknowns.
 * Tested in tests/test_linkage.c. */
#ifndef ABD_CPU_SYSTEM_H
#define ABD_CPU_SYSTEM_H

#include "linear/block_cholesky.h"
#include "model/model.h"

/* A body with the six unknowns of a rigid motion (kernel/condense.h). */
typedef struct Condensed {
  Affine q;          /* its pose, about which it moves */
  double strain[36]; /* factor of its block of strains */
  double inverse[6]; /* 1 / diagonal of that */
  double answer[6];  /* its strains under the right-hand side */
} Condensed;

typedef struct System {
  const Model *model;
  BlockCholesky *solver;
  int *column; /* by block; -1 if it has no unknowns or is not in the active set */
  int *body;   /* by column: its block */
  int *column_size;
  int *column_at; /* first unknown of a column */
  bool *last;     /* by column: eliminated after the others */
  bool lasts;     /* any column is last */
  int column_count, unknown_count;
  int (*edge)[2]; /* coupled columns; sorted by system_analyze */
  int edge_count, edge_capacity;
  int *edge_first;      /* by column: index of its first edge */
  double *right;        /* right-hand side, then the solution */
  Condensed *condensed; /* by column, valid for those of six unknowns; NULL = there are none */
  bool *strained;       /* by slot: keeps its twelve unknowns until the step ends */
  bool condenses;       /* some columns may be condensed */
  double
      cost; /* [flops a body] about what the last factor of this step takes with twelve unknowns; infinite at first */
  /* Couplings of soft bodies and links, which stay while the columns do. */
  int (*kept)[2];
  int *kept_body; /* by column, of the columns that they are for */
  int kept_count, kept_capacity, kept_columns;
  bool keeps;        /* they belong to the columns */
  int *guide_column; /* by block: which it is in the guide of the order; NULL = there is none */
  bool unguided;     /* there was no memory for one in this step, so that patterns get orders of their own */
  int *guided;       /* the same by column */
  int64_t serial;    /* increased by each system_analyze: a factor is valid until it changes */
} System;

/* jointed: for blocks with joints or attachments alone. */
bool system_init(System *system, const Model *model, bool jointed);
void system_destroy(System *system);

/* Begins a step. Its solves do not depend on earlier solves. */
void system_begin(System *system);
/* Notes the cost of a factor of so many bodies. */
void system_note_cost(System *system, int bodies);
/* Clears the columns; then add the bodies of the active set in ascending order. */
void system_reset(System *system);
void system_add_body(System *system, int body);
/* Both for all of them at once. The right-hand sides of free bodies are not valid before system_put_right. */
void system_set_bodies(System *system, int threads, const int *body, int count);
/* Condensation of free bodies: gets memory, false if it is out; sets the unknowns of the body in column k, 6 if it is
 * not strained; then finds where those of all columns are. */
bool system_begin_condensed(System *system);
void system_condense_body(System *system, int k, bool strained, const Affine *q);
void system_end_condensed(System *system);
bool system_is_condensed(const System *system, int body);
/* Couples the unknowns of two bodies, or of one. False if memory is out. */
bool system_couple(System *system, int a, int b);
/* The same for all pairs of free bodies that couple. */
bool system_couple_pairs(System *system, const int (*pair)[2], const bool *couples, int count);
/* Keeps the couplings so far: if system_has_couplings, the columns have them already. */
bool system_has_couplings(System *system);
bool system_keep_couplings(System *system);
/* Makes the order of all later patterns from the columns and couplings so far: all that there will be but couplings
 * that come and go. False if memory is out, or a complete factor is too large. */
bool system_guide(System *system);
/* Eliminates the unknowns of a body after those of others, unless that costs much. */
void system_put_last(System *system, int body);
/* Sorts the couplings and prepares the factor. False if memory is out. */
bool system_analyze(System *system);
/* The column of L that has the unknowns of a body or vertex; -1 if it has none in the system, SYSTEM_SEVERAL if they
 * are in several columns. The block between two bodies is in the lower one's column. */
enum { SYSTEM_SEVERAL = -2 };
int system_column(const System *system, int body);
void system_clear(System *system); /* sets all values to zero */
/* Adds a column-major 12 x 12 block, rows of a, columns of b; its transpose is implied. It is symmetric if a = b. */
void system_add(System *system, int a, int b, const double block[144]);
/* Adds the own block of a condensed body. */
void system_add_own(System *system, int body, const double block[144]);
/* The same for a 3 x 3 block between two vertices. */
void system_add_nodes(System *system, int a, int b, const double block[9]);
/* The same for a 12 x 3 block: rows of a body, columns of a vertex. */
void system_add_strip(System *system, int body, int vertex, const double block[36]);
/* The same for the edge between the columns of two free bodies, the first of which is a. */
void system_add_edge(System *system, int edge, int a, const double block[144]);
/* Where the block of an edge between a and another body is stored: by columns, which are *stride apart; rows: they are
 * those of a. */
double *system_edge(System *system, int edge, int a, int *stride, bool *rows);
void system_clear_right(System *system);
void system_add_right(System *system, int body, const Affine *f);
void system_put_right(System *system, int body, const Affine *f); /* of a free body: replaces it */
int system_factor(System *system, int threads);                   /* raised pivots; -1 = a value is not finite */
/* The same with the right-hand side, for system_finish_solve. fill: adds values and right-hand sides column by column;
 * NULL: they are added already. */
int system_begin_solve(System *system, int threads, BlockFill *fill, void *context);
/* False = not positive definite: the solution is a descent direction. then(context, k): for each k below `count`; if
 * bodies share no unknowns, called on the thread that computes the solution of body k of the system. */
bool system_finish_solve(System *system, int threads, int count, ParallelBody *then, void *context);
bool system_solve_then(System *system, int threads, int count, ParallelBody *then, void *context);
bool system_solve(System *system);
Affine system_solution(const System *system, int body);

#endif
