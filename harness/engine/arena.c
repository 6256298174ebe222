/* Blocks from which memory is cut in order; a reset keeps them for the next step. */
#include "harness/engine/arena.h"

#include <stdlib.h>

enum { BLOCK_BYTES = 256 * 1024, ALIGNMENT = 16 };

struct lh_arena_block {
    lh_arena_block *next;
    size_t bytes;
    _Alignas(ALIGNMENT) unsigned char memory[];
};

static lh_arena_block *block_create(size_t bytes) {
    const size_t size = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
    lh_arena_block *block = lh_allocate(sizeof *block + size);
    if (block == NULL) return NULL;
    block->next = NULL;
    block->bytes = size;
    return block;
}

/* Moves to the next kept block that is large enough, or appends a new one. */
static bool advance(lh_arena *arena, size_t bytes) {
    lh_arena_block **link = arena->current != NULL ? &arena->current->next : &arena->first;
    while (*link != NULL && (*link)->bytes < bytes)
        link = &(*link)->next;
    if (*link == NULL) *link = block_create(bytes);
    if (*link == NULL) return false;
    arena->current = *link;
    arena->used = 0;
    return true;
}

void *lh_arena_take(lh_arena *arena, size_t bytes) {
    const size_t size = lh_round_up(bytes, ALIGNMENT);
    const bool fits = arena->current != NULL && arena->current->bytes - arena->used >= size;
    if (!fits && !advance(arena, size)) return NULL;
    void *taken = arena->current->memory + arena->used;
    arena->used += size;
    return taken;
}

void lh_arena_reset(lh_arena *arena) {
    arena->current = arena->first;
    arena->used = 0;
}

void lh_arena_clear(lh_arena *arena) {
    for (lh_arena_block *block = arena->first; block != NULL;) {
        lh_arena_block *next = block->next;
        free(block);
        block = next;
    }
    *arena = (lh_arena){0};
}
