/* The assembly of Newton's system: what newton.c and contact_block.c share. */
#ifndef ABD_CPU_ASSEMBLY_H
#define ABD_CPU_ASSEMBLY_H

#include "cpu/cpu.h"
#include "kernel/constant.h"

static inline double *diagonal_of(const Cpu *cpu, int body) {
  return cpu->diagonal + 144 * (size_t)cpu->model->body[body].slot;
}
static inline bool takes_part(const Cpu *cpu, int body) {
  return body_selected(cpu->islands, body) && cpu->work.active[body];
}
/* Does the accelerator solve Newton's system of the active set? */
static inline bool solved_elsewhere(const Cpu *cpu) {
  const Accelerator *other = cpu->accelerator;
  return other && other->newton && other->solves(cpu->active_count);
}
/* Whether the matrix has the exact stiffness of bodies and joints of an island under load, and the turning terms of
 * its contacts. Such a matrix may be indefinite, and mostly is while steps are cut, shortened or damped. But an
 * island that does not end may lack just these terms. The iterative solver of several processes needs a positive
 * definite matrix. */
static inline bool is_exact(const Cpu *cpu, const Island *g) {
  return g->jointed && (g->steady > 0 || g->iterations >= EXACT_AFTER) && !cpu->convex && !cpu->domain;
}
static inline bool is_linked(const Model *m, int body) { return linkage_of(&m->linkage, body) != NULL; }

/* Contacts as blocks of nodes, in this order: moments and springs of the pairs, of which pair_acts[k] tells whether
 * pair k has any; then their gradients and diagonal blocks by body; then the pattern; then the values. */
Outcome contact_assemble(Cpu *cpu);
/* Adds the gradient and the diagonal block of all pairs of a stiff body. */
void contact_add_to_body(Cpu *cpu, int body);
/* Projects a gradient of a body to its free coordinates, unless the body is linked. */
Affine contact_project_vector(const Model *model, int body, Affine gradient);
/* Projects gradient and diagonal block of a body to its free coordinates; those of a linked body are eliminated. */
void contact_project_body(Cpu *cpu, int body);
/* Couples the nodes that pairs act on. False if memory is out. */
bool contact_couple(Cpu *cpu);
/* Whether the contacts of a stiff body resist a strain |E| = 1 of its linear map by more than this, or it has held
 * coordinates. */
bool contact_strains_body(const Cpu *cpu, int body, double most);
/* Adds the springs of soft sides to gradients and matrix, on one thread. */
void contact_add_springs(Cpu *cpu);
/* Add the blocks between stiff bodies: that of the pair between an edge's bodies, if there is one; those of pairs whose
 * blocks several pairs share, on one thread. */
void contact_add_edge(Cpu *cpu, int edge);
void contact_add_shared(Cpu *cpu);
/* The block between a pair's stiff bodies, rows of a. */
void contact_block(const Cpu *cpu, const Pair *pair, double block[144]);
/* Add the turning terms of contacts in islands whose matrix is exact (contact/turning.h), on one thread: to the
 * diagonal blocks of stiff bodies, before these are projected; to all other blocks. */
void contact_add_turning_diagonals(Cpu *cpu);
void contact_add_turning(Cpu *cpu);
/* Whether pair k adds a block, and whether other pairs may add to the same one: unknowns of linked bodies are
 * shared. */
bool contact_adds_block(const Cpu *cpu, int k, bool *shared);

#endif
