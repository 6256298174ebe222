/* A bump allocator for what lives as long as a step: nodes and their arguments. Freed all at once.
 */
#ifndef LH_ENGINE_ARENA_H
#define LH_ENGINE_ARENA_H

#include "harness/engine/error.h"

typedef struct lh_arena_block lh_arena_block;

/* Zero-initialise. Blocks are kept over resets, so a steady-state step makes no malloc. */
typedef struct lh_arena {
    lh_arena_block *first, *current;
    size_t used; /* of the current block */
} lh_arena;

/* 16-byte aligned, contents undefined. NULL after LH_EMEMORY. Lends until reset. */
void *lh_arena_take(lh_arena *arena, size_t bytes);
void lh_arena_reset(lh_arena *arena);
void lh_arena_clear(lh_arena *arena);

#endif
