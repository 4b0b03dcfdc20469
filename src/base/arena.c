/* Pieces of whole cache lines, see base/arena.h. */
#include "base/arena.h"

#include <string.h>

#include "base/base.h"

enum { PIECE = 64 }; /* a cache line: two processes never write to one line of different arrays */

void *arena_take(Arena *arena, size_t count, size_t size) {
  size_t bytes, rounded;
  if (__builtin_mul_overflow(count, size, &bytes) || __builtin_add_overflow(bytes, PIECE - 1, &rounded)) return NULL;
  size_t at = arena->used;
  rounded = rounded / PIECE * PIECE;
  if (arena->base && rounded > arena->size - at) return NULL;
  arena->used += rounded;
  return arena->base ? arena->base + at : NULL;
}

bool arena_move(Arena *arena, void **array, size_t count, size_t size) {
  void *piece = arena_take(arena, count, size);
  if (!arena->base) return true;
  if (!piece) return false;
  if (*array && count) memcpy(piece, *array, count * size);
  mem_free(*array);
  *array = piece;
  return true;
}
