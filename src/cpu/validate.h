/* Invariants of a step, asserted in builds with ABD_VALIDATE (Debug and sanitizers); elsewhere the calls vanish.
 * Each samples some pairs, so that a checked step takes about twice as long. Tested in tests/test_validate.c. */
#ifndef ABD_CPU_VALIDATE_H
#define ABD_CPU_VALIDATE_H

#include "cpu/cpu.h"

#ifdef ABD_VALIDATE
/* Every moving body belongs to one island; the counts of bodies and of active bodies are right. */
void validate_islands(const Cpu *cpu);
/* Contacts found through the cache are those of an evaluation without it, at the trial poses, bit by bit. */
void validate_contacts(const Cpu *cpu);
/* No pair touches anywhere on its direction up to the bound of its island. */
void validate_bounds(const Cpu *cpu);
/* Stored energies are those of the accepted poses; every gap is positive. */
void validate_energies(const Cpu *cpu);
#else
static inline void validate_islands(const Cpu *cpu) { (void)cpu; }
static inline void validate_contacts(const Cpu *cpu) { (void)cpu; }
static inline void validate_bounds(const Cpu *cpu) { (void)cpu; }
static inline void validate_energies(const Cpu *cpu) { (void)cpu; }
#endif

#endif
