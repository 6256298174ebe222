/* The one hash table: from 64-bit keys to ids, which are indices of an array that the caller keeps,
 * so that items stay in the order in which they came. A key is the item itself where 64 bits hold
 * it (two tokens), else a hash of it (lh_hash_text), and then the caller says which item is meant.
 */
#ifndef LH_ENGINE_HASH_H
#define LH_ENGINE_HASH_H

#include "harness/engine/error.h"

enum { LH_HASH_NONE = -1 };

/* Starts zeroed; lh_hash_clear releases it. Items are never taken out. */
typedef struct lh_hash {
    struct lh_hash_slot *slot;
    uint64_t slots; /* 0, or a power of two of which at least half are free */
    int64_t count;
} lh_hash;

/* XXH3 of a text: a key that unlike texts may share. */
uint64_t lh_hash_text(const void *text, size_t bytes);

/* Two numbers as a key that no other two have. */
static inline uint64_t lh_hash_pair(int32_t first, int32_t second) {
    return (uint64_t)(uint32_t)first << 32 | (uint32_t)second;
}

/* Adds an id under a key. Which of two ids under one key is found later is the first one, unless
 * `same` tells them apart. Fails: LH_EMEMORY, the table as before. */
lh_status lh_hash_add(lh_hash *table, uint64_t key, int32_t id);

/* The id under a key that stands for one item alone, or LH_HASH_NONE. */
int32_t lh_hash_find(const lh_hash *table, uint64_t key);

/* The id under `key` for which same(items, id, wanted), or LH_HASH_NONE. */
typedef bool lh_hash_same(const void *items, int32_t id, const void *wanted);
int32_t lh_hash_find_item(const lh_hash *table, uint64_t key, lh_hash_same *same, const void *items,
                          const void *wanted);

/* Frees the slots; the table is empty, and may be added to again. */
void lh_hash_clear(lh_hash *table);

#endif
