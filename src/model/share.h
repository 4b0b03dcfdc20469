/* One copy of a world for several processes of a machine: the arrays of its Model and State are moved to an arena that
 * all of them map at the same address. One process moves them; the others take what it published. Nothing writes to the
 * Model then. In a step each process writes the own bodies of the next State.
 *
 * Not for worlds with joints, soft or kinematic bodies, whose scripts each process would apply. Tested by
 * tests/test_arena.c and tests/cli/ranks.sh. */
#ifndef ABD_MODEL_SHARE_H
#define ABD_MODEL_SHARE_H

#include "model/model.h"

/* What keeps a world from being shared, as "joints"; NULL if nothing does. */
const char *share_obstacle(const Model *model);
/* Room in the arena that the world needs, with `more` bytes for each body besides. */
size_t share_size(const Model *model, const State *state, const State *next, size_t more);
/* Moves a started world to the arena. False if the room does not suffice. */
bool share_publish(Arena *arena, Model *model, State *state, State *next);
/* Another process's: the world that was published at the start of the arena. False if memory is out. */
bool share_take(Arena *arena, Model *model, State *state, State *next);
/* Process `index` of `count` copies its share of the bodies at the start of a step. */
void share_divide(State *state, State *next, const Model *model, int index, int count);

#endif
