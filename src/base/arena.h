/* Memory that is taken piece by piece and given back at once. It may be mapped by several processes at one address
 * (mpi/machine.h), so that pointers into it are valid in all of them. Tested by tests/test_arena.c. */
#ifndef ABD_BASE_ARENA_H
#define ABD_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

typedef struct Arena {
  char *base; /* zero; NULL: pieces are only counted */
  size_t size, used;
} Arena;

/* A zero piece; NULL if there is no room, or if pieces are only counted. */
void *arena_take(Arena *arena, size_t count, size_t size);
/* Moves an array from the heap to the arena. If pieces are only counted, *array stays as it is. False if there is no
 * room. */
bool arena_move(Arena *arena, void **array, size_t count, size_t size);

#endif
