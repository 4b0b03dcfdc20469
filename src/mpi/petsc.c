/* See petsc.h. A matrix of blocks of 12 is made for each solve, so that solves do not depend on those before. Rows are
 * the bodies of shared islands, rank after rank. Tested by tests/cli/petsc.sh. */
#include "mpi/petsc.h"

#ifdef ABD_PETSC
#include <petscksp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/assembly.h"
#include "kernel/constant.h"

enum { SIZE = 12, MOST_ITERATIONS = 1000, RIGID = 6 };

/* The best of those that docs/scale.md compares. */
static const char standard[] = "-ksp_type cg -ksp_cg_single_reduction -pc_type bjacobi -sub_pc_type lu"
                               " -sub_pc_factor_mat_ordering_type nd";

static struct {
  bool begun, trying; /* trying: an error is a sentence about the options, else the end */
  bool told;          /* all ranks have the options of rank 0 */
  char why[1024];
  char *text; /* the options */
} petsc;

/* Calls of PETSc return a code; the first that fails ends the function. */
#define TRY(call)                                                                                                      \
  do {                                                                                                                 \
    PetscErrorCode try_code = (call);                                                                                  \
    if (try_code) return try_code;                                                                                     \
  } while (0)

static PetscErrorCode take_error(MPI_Comm comm, int line, const char *function, const char *file, PetscErrorCode code,
                                 PetscErrorType type, const char *sentence, void *user) {
  (void)comm, (void)line, (void)function, (void)file, (void)user;
  if (type != PETSC_ERROR_INITIAL) return code;
  if (petsc.trying) {
    snprintf(petsc.why, sizeof petsc.why, "PETSc refuses the options \"%.400s\": %.500s", petsc.text,
             sentence ? sentence : "");
    return code;
  }
  fprintf(stderr, "abd: rank %d: PETSc failed: %s\n", ranks_rank(), sentence ? sentence : "");
  ranks_abort(4);
  return code;
}

/* ---- a system ---- */

typedef struct PetscSystem {
  MPI_Comm ranks;
  Mat matrix;
  Vec right, solution;
  KSP solver;
  int count;           /* rows of this rank */
  PetscInt first;      /* row */
  const Affine **pose; /* per row, for the rigid motions; NULL = none */
} PetscSystem;

static PetscErrorCode destroy(PetscSystem *s) {
  TRY(KSPDestroy(&s->solver));
  TRY(VecDestroy(&s->right));
  TRY(VecDestroy(&s->solution));
  return MatDestroy(&s->matrix);
}

/* inner, outer: blocks of each row that belong to columns of this rank and of others. */
static PetscErrorCode create_matrix(PetscSystem *s, const PetscInt *inner, const PetscInt *outer) {
  PetscInt end;
  PetscBool upper;
  TRY(MatCreate(s->ranks, &s->matrix));
  TRY(MatSetSizes(s->matrix, SIZE * s->count, SIZE * s->count, PETSC_DETERMINE, PETSC_DETERMINE));
  TRY(MatSetBlockSize(s->matrix, SIZE));
  TRY(MatSetType(s->matrix, MATBAIJ));
  TRY(MatSetFromOptions(s->matrix));
  TRY(MatXAIJSetPreallocation(s->matrix, SIZE, inner, outer, inner, outer));
  TRY(MatSetOption(s->matrix, MAT_ROW_ORIENTED, PETSC_FALSE));
  TRY(PetscObjectTypeCompareAny((PetscObject)s->matrix, &upper, MATSEQSBAIJ, MATMPISBAIJ, ""));
  if (upper) TRY(MatSetOption(s->matrix, MAT_IGNORE_LOWER_TRIANGULAR, PETSC_TRUE));
  TRY(MatGetOwnershipRange(s->matrix, &s->first, &end));
  s->first /= SIZE;
  return 0;
}

static PetscErrorCode set_block(const PetscSystem *s, PetscInt row, PetscInt column, const double block[144]) {
  return MatSetValuesBlocked(s->matrix, 1, &row, 1, &column, block, INSERT_VALUES);
}

/* The motions that all bodies make together cost no energy of contact. */
static PetscErrorCode fill_motion(const PetscSystem *s, int kind, Vec vector) {
  double *value;
  Vec3 axis = {kind % 3 == 0, kind % 3 == 1, kind % 3 == 2};
  TRY(VecGetArray(vector, &value));
  for (int row = 0; row < s->count; row++)
    for (int k = 0; k < 4; k++) {
      Vec3 turned = cross(axis, s->pose[row]->n[k]), none = {0, 0, 0};
      Vec3 v = kind >= 3 ? turned : k == 0 ? axis : none;
      memcpy(value + SIZE * row + 3 * k, &v, sizeof v);
    }
  return VecRestoreArray(vector, &value);
}

static PetscErrorCode set_motions(PetscSystem *s) {
  Vec motion[RIGID];
  MatNullSpace space;
  for (int k = 0; k < RIGID; k++) {
    double product[RIGID];
    TRY(VecDuplicate(s->right, &motion[k]));
    TRY(fill_motion(s, k, motion[k]));
    TRY(VecMDot(motion[k], k, motion, product));
    for (int j = 0; j < k; j++) product[j] = -product[j];
    TRY(VecMAXPY(motion[k], k, product, motion));
    TRY(VecNormalize(motion[k], NULL));
  }
  TRY(MatNullSpaceCreate(s->ranks, PETSC_FALSE, RIGID, motion, &space));
  TRY(MatSetNearNullSpace(s->matrix, space));
  for (int k = 0; k < RIGID; k++) TRY(VecDestroy(&motion[k]));
  return MatNullSpaceDestroy(&space);
}

static PetscErrorCode create_solver(PetscSystem *s) {
  PC preconditioner;
  PetscBool gradients, given, multigrid;
  TRY(KSPCreate(s->ranks, &s->solver));
  TRY(KSPSetOperators(s->solver, s->matrix, s->matrix));
  TRY(KSPSetType(s->solver, KSPCG));
  TRY(KSPSetTolerances(s->solver, RANKS_TOLERANCE, 0, PETSC_DEFAULT, MOST_ITERATIONS));
  TRY(KSPSetFromOptions(s->solver));
  TRY(PetscObjectTypeCompare((PetscObject)s->solver, KSPCG, &gradients));
  TRY(PetscOptionsHasName(NULL, NULL, "-ksp_norm_type", &given));
  if (gradients && !given) TRY(KSPSetNormType(s->solver, KSP_NORM_NATURAL)); /* as solve.c */
  TRY(KSPGetPC(s->solver, &preconditioner));
  TRY(PetscObjectTypeCompare((PetscObject)preconditioner, PCGAMG, &multigrid));
  return multigrid && s->pose ? set_motions(s) : 0;
}

/* The matrix has its blocks. */
static PetscErrorCode assemble(PetscSystem *s) {
  TRY(MatAssemblyBegin(s->matrix, MAT_FINAL_ASSEMBLY));
  TRY(MatAssemblyEnd(s->matrix, MAT_FINAL_ASSEMBLY));
  PetscBool plain; /* a type that knows no positive definite matrices */
  TRY(PetscObjectTypeCompareAny((PetscObject)s->matrix, &plain, MATSEQBAIJ, MATMPIBAIJ, ""));
  TRY(MatSetOption(s->matrix, plain ? MAT_SYMMETRIC : MAT_SPD, PETSC_TRUE));
  TRY(MatCreateVecs(s->matrix, &s->solution, &s->right));
  return create_solver(s);
}

static PetscErrorCode solve(PetscSystem *s, bool *good, int *iterations) {
  KSPConvergedReason reason;
  PetscInt count;
  TRY(KSPSolve(s->solver, s->right, s->solution));
  TRY(KSPGetConvergedReason(s->solver, &reason));
  TRY(KSPGetIterationNumber(s->solver, &count));
  *iterations = (int)count;
  *good = reason > 0 || reason == KSP_DIVERGED_ITS;
  return 0;
}

/* ---- the options ---- */

/* A chain of bodies. */
static PetscErrorCode fill_trial(PetscSystem *s) {
  double diagonal[144] = {0}, coupling[144] = {0};
  for (int k = 0; k < SIZE; k++) diagonal[13 * k] = 3, coupling[13 * k] = -1;
  for (PetscInt row = 0; row < s->count; row++) {
    TRY(set_block(s, row, row, diagonal));
    if (row > 0) TRY(set_block(s, row, row - 1, coupling));
    if (row < s->count - 1) TRY(set_block(s, row, row + 1, coupling));
  }
  return 0;
}

static PetscErrorCode try_options(bool *good) {
  int iterations;
  const PetscInt inner[3] = {3, 3, 3}, outer[3] = {0};
  PetscSystem s = {.ranks = MPI_COMM_SELF, .count = 3};
  TRY(create_matrix(&s, inner, outer));
  TRY(fill_trial(&s));
  TRY(assemble(&s));
  TRY(VecSet(s.right, 1));
  TRY(solve(&s, good, &iterations));
  return destroy(&s);
}

/* An option of the user that PETSc has not asked for is a mistake. */
static PetscErrorCode find_unused(void) {
  PetscInt count;
  char **name, **value;
  TRY(PetscOptionsLeftGet(NULL, &count, &name, &value));
  for (PetscInt k = 0; k < count; k++)
    if (strstr(petsc.text, name[k]))
      snprintf(petsc.why, sizeof petsc.why, "PETSc does not use -%.200s of the options \"%.400s\"", name[k],
               petsc.text);
  return PetscOptionsLeftRestore(NULL, &count, &name, &value);
}

static PetscErrorCode begin(void) {
  bool good = false;
  PETSC_COMM_WORLD = MPI_COMM_SELF; /* rank 0 starts a world before the others */
  TRY(PetscOptionsSetValue(NULL, "-no_signal_handler", "1"));
  TRY(PetscOptionsSetValue(NULL, "-skip_petscrc", "1"));
  TRY(PetscInitializeNoArguments());
  petsc.begun = petsc.trying = true;
  TRY(PetscPushErrorHandler(take_error, NULL));
  TRY(PetscOptionsInsertString(NULL, standard));
  TRY(PetscOptionsInsertString(NULL, petsc.text));
  TRY(try_options(&good));
  if (!good) snprintf(petsc.why, sizeof petsc.why, "PETSc does not converge with the options \"%.400s\"", petsc.text);
  return find_unused();
}

const char *petsc_begin(void) {
  const char *given = ranks_rank() == 0 ? getenv("ABD_PETSC_OPTIONS") : NULL;
  if (petsc.begun) return petsc.why[0] ? petsc.why : NULL;
  petsc.text = strdup(given ? given : "");
  if (!petsc.text) return "memory is out for PETSc's options";
  if (begin() && !petsc.why[0]) snprintf(petsc.why, sizeof petsc.why, "PETSc could not be started");
  petsc.trying = false;
  return petsc.why[0] ? petsc.why : NULL;
}

static bool tell_options(void) {
  void *text = petsc.text;
  size_t size = ranks_rank() ? 0 : strlen(petsc.text);
  if (petsc.told) return true;
  petsc.told = ranks_spread(&text, &size);
  if (text == petsc.text || !petsc.told) return petsc.told;
  PetscErrorCode code = PetscOptionsInsertString(NULL, text);
  free(text);
  return code == 0;
}

void petsc_end(void) {
  if (petsc.begun) PetscFinalize();
  free(petsc.text);
  memset(&petsc, 0, sizeof petsc);
}

/* ---- shared islands ---- */

/* Rows of this rank's bodies and of its halo, and how many blocks each row has. */
typedef struct Rows {
  int *row, *column; /* by column of the system: its row among this rank's, -1 if it has none; and back */
  int64_t *halo;     /* by place in the halo: row of all ranks */
  PetscInt *inner, *outer;
  const Affine **pose;
  int count; /* bodies */
  PetscInt first;
} Rows;

static bool is_shared(const Cpu *cpu, int column) {
  return cpu->islands->island[cpu->islands->of[cpu->system.body[column]]].shared;
}

/* There is room for one row without a body. */
static bool rows_create(const Part *part, Rows *r) {
  static const Affine nowhere;
  const Cpu *cpu = part->cpu;
  size_t columns = (size_t)cpu->system.column_count + 1;
  *r = (Rows){mem_alloc(columns, sizeof *r->row),
              mem_alloc(columns, sizeof *r->column),
              mem_alloc((size_t)part->halo_count + 1, sizeof *r->halo),
              mem_zeroed(columns, sizeof *r->inner),
              mem_zeroed(columns, sizeof *r->outer),
              mem_alloc(columns, sizeof *r->pose),
              0,
              0};
  if (!r->row || !r->column || !r->halo || !r->inner || !r->outer || !r->pose) return false;
  for (int c = 0; c < cpu->system.column_count; c++) {
    r->row[c] = is_shared(cpu, c) ? r->count++ : -1;
    if (r->row[c] < 0) continue;
    r->column[r->row[c]] = c;
    r->pose[r->row[c]] = &cpu->work.q.body[cpu->system.body[c]];
    r->inner[r->row[c]] = 1;
  }
  if (r->count == 0) r->pose[0] = &nowhere, r->inner[0] = 1;
  return true;
}

static void rows_destroy(Rows *r) {
  mem_free(r->row), mem_free(r->column), mem_free(r->halo), mem_free(r->inner), mem_free(r->outer), mem_free(r->pose);
}

/* The rows of the two own bodies of a pair that adds a block. */
static bool rows_of_pair(const Part *part, const Rows *r, int k, int *a, int *b) {
  const Cpu *cpu = part->cpu;
  const int *body = cpu->pairs.body[k];
  bool shared;
  if (!part->own[body[0]] || !part->own[body[1]] || !contact_adds_block(cpu, k, &shared)) return false;
  *a = r->row[cpu->system.column[body[0]]], *b = r->row[cpu->system.column[body[1]]];
  return *a >= 0 && *b >= 0;
}

static void count_blocks(const Part *part, Rows *r) {
  const Gradients *g = &part->gradients;
  int a, b;
  for (int k = 0; k < part->cpu->pairs.count; k++)
    if (rows_of_pair(part, r, k, &a, &b)) r->inner[a]++, r->inner[b]++;
  for (int k = 0; k < g->coupling_count; k++) r->outer[r->row[g->border[g->coupling[k].border]]]++;
}

/* The rows of the bodies in the halo come from their ranks. */
static void swap_rows(Part *part, Rows *r) {
  const Cpu *cpu = part->cpu;
  for (int k = 0; k < part->sent_count; k++) {
    int body = part->sent[k], column = takes_part(cpu, body) ? cpu->system.column[body] : -1;
    int64_t row = column >= 0 && r->row[column] >= 0 ? r->first + r->row[column] : -1;
    memcpy(part->out_bytes + sizeof row * (size_t)k, &row, sizeof row);
  }
  for (int k = 0; k <= part->count; k++)
    part->byte_out[k] = sizeof(int64_t) * part->sent_first[k], part->byte_in[k] = sizeof(int64_t) * part->halo_first[k];
  ranks_swap(part->out_bytes, part->byte_out, part->in_bytes, part->byte_in);
  if (part->halo_count) memcpy(r->halo, part->in_bytes, sizeof(int64_t) * (size_t)part->halo_count);
}

static void transpose(const double in[144], double out[144]) {
  for (int j = 0; j < SIZE; j++)
    for (int i = 0; i < SIZE; i++) out[SIZE * i + j] = in[SIZE * j + i];
}

/* A rank without bodies of shared islands has one row, x = 0: some of PETSc's factors fail without rows. */
static PetscErrorCode add_nothing(const PetscSystem *s) {
  double unit[144] = {0};
  for (int k = 0; k < SIZE; k++) unit[13 * k] = 1;
  return set_block(s, s->first, s->first, unit);
}

/* The lower triangle of a diagonal block counts. */
static PetscErrorCode add_diagonals(const Part *part, const Rows *r, const PetscSystem *s) {
  if (r->count == 0) return add_nothing(s);
  for (int row = 0; row < r->count; row++) {
    double block[144];
    memcpy(block, diagonal_of(part->cpu, part->cpu->system.body[r->column[row]]), sizeof block);
    for (int j = 0; j < SIZE; j++)
      for (int i = 0; i < j; i++) block[SIZE * j + i] = block[SIZE * i + j];
    TRY(set_block(s, s->first + row, s->first + row, block));
  }
  return 0;
}

static PetscErrorCode add_pairs(const Part *part, const Rows *r, const PetscSystem *s) {
  double block[144], turned[144];
  for (int k = 0, a, b; k < part->cpu->pairs.count; k++) {
    if (!rows_of_pair(part, r, k, &a, &b)) continue;
    contact_block(part->cpu, pairs_at(&part->cpu->pairs, k), block);
    transpose(block, turned);
    TRY(set_block(s, s->first + a, s->first + b, block));
    TRY(set_block(s, s->first + b, s->first + a, turned));
  }
  return 0;
}

static PetscErrorCode add_couplings(const Part *part, const Rows *r, const PetscSystem *s) {
  const Gradients *g = &part->gradients;
  for (int k = 0; k < g->coupling_count; k++) {
    const Coupling *c = &g->coupling[k];
    TRY(set_block(s, s->first + r->row[g->border[c->border]], (PetscInt)r->halo[c->halo], c->block));
  }
  return 0;
}

/* Copies the rows of this rank from or to the system's vector. */
static PetscErrorCode copy_rows(const Part *part, const Rows *r, Vec vector, double *right, bool back) {
  double *value;
  TRY(VecGetArray(vector, &value));
  for (int row = 0; row < r->count; row++) {
    double *at = right + part->cpu->system.column_at[r->column[row]], *here = value + SIZE * row;
    memcpy(back ? at : here, back ? here : at, SIZE * sizeof(double));
  }
  return VecRestoreArray(vector, &value);
}

static PetscErrorCode solve_rows(Part *part, Rows *r, PetscSystem *s, double *right, bool *good, int *iterations) {
  TRY(create_matrix(s, r->inner, r->outer));
  r->first = s->first;
  swap_rows(part, r);
  TRY(add_diagonals(part, r, s));
  TRY(add_pairs(part, r, s));
  TRY(add_couplings(part, r, s));
  TRY(assemble(s));
  TRY(copy_rows(part, r, s->right, right, false));
  TRY(solve(s, good, iterations));
  if (*good) TRY(copy_rows(part, r, s->solution, right, true));
  return destroy(s);
}

bool petsc_solve(Part *part, double *right, int *iterations) {
  Rows rows;
  PetscSystem system = {.ranks = *(MPI_Comm *)ranks_communicator()};
  bool good = rows_create(part, &rows);
  *iterations = 0;
  good = tell_options() && good;
  if (!ranks_agree(good)) return rows_destroy(&rows), false;
  good = true;
  if (ranks_any(rows.count > 0)) {
    system.count = rows.count ? rows.count : 1;
    count_blocks(part, &rows);
    system.pose = rows.pose;
    solve_rows(part, &rows, &system, right, &good, iterations);
  }
  rows_destroy(&rows);
  return good;
}
#else
const char *petsc_begin(void) { return "this build has no PETSc"; }
void petsc_end(void) {}
bool petsc_solve(Part *part, double *right, int *iterations) {
  return (void)part, (void)right, (void)iterations, false;
}
#endif
