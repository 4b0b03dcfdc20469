/* A sparse linear system over bodies and soft vertices: twelve unknowns of a free body, three of a vertex, those that linear
 * joints leave of a linked one. Blocks between bodies are given in poses (12 x 12) and taken to the unknowns. Tested in
 * tests/test_linkage.c. */
#ifndef ABD_CPU_SYSTEM_H
#define ABD_CPU_SYSTEM_H

#include "linear/block_cholesky.h"
#include "model/model.h"

typedef struct System {
  const Model *model;
  BlockCholesky *solver;
  int *column; /* of each block's own unknowns, -1 if it takes no part or has none */
  int *column_size;
  int *column_at; /* first unknown of a column */
  int column_count, unknown_count;
  int (*edge)[2]; /* columns that couple; sorted once analyzed */
  int edge_count, edge_capacity;
  int *edge_first; /* by column: the first edge in edge */
  double *right;   /* right-hand side, then the solution */
} System;

/* linked: for linked blocks alone. */
bool system_init(System *system, const Model *model, bool linked);
void system_destroy(System *system);

/* A new step: its solves depend on nothing that was solved before. */
void system_begin(System *system);
/* Columns: reset, then the bodies that take part, in ascending order. */
void system_reset(System *system);
void system_add_body(System *system, int body);
/* Two bodies (or one and itself) whose unknowns meet. False when memory is out. */
bool system_couple(System *system, int a, int b);
/* Orders the couplings and readies the factor; values are zero then. */
bool system_analyze(System *system);
/* Adds a column-major 12 x 12 block, rows of a, columns of b; its transpose is implied. Symmetric when a = b. */
void system_add(System *system, int a, int b, const double block[144]);
/* The same for 3 x 3 values between the first nodes of two blocks. */
void system_add_nodes(System *system, int a, int b, const double block[9]);
void system_add_right(System *system, int body, const Affine *f);
int system_factor(System *system, int threads); /* pivots raised, -1: a value that is not finite */
bool system_solve(System *system); /* false: the matrix is not positive definite, the solution a descent direction */
Affine system_solution(const System *system, int body);

#endif
