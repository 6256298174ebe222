/* Open addressing with steps of one (Knuth 1973, section 6.4, algorithm L). A slot keeps the key,
 * so that growing needs no item, and most of what is passed over is told apart without one. */
#include "harness/engine/hash.h"

#include <stdlib.h>
#include <xxhash.h>

enum { FIRST_SLOTS = 16 };

typedef struct lh_hash_slot {
    uint64_t key;
    int32_t id; /* LH_HASH_NONE: free */
} lh_hash_slot;

/* Where the search for a key begins: keys that are numbers differ in their low bits, and those of
 * pairs in both halves, so all bits are mixed (Fibonacci hashing, Knuth 1973, section 6.4). */
static uint64_t place_of(uint64_t key, uint64_t slots) {
    key *= 0x9E3779B97F4A7C15u;
    return (key ^ key >> 32) & (slots - 1);
}

static void put(lh_hash_slot *slot, uint64_t slots, uint64_t key, int32_t id) {
    uint64_t at = place_of(key, slots);
    while (slot[at].id != LH_HASH_NONE)
        at = (at + 1) & (slots - 1);
    slot[at] = (lh_hash_slot){key, id};
}

/* The old slots in order from a free one on, so that ids under one key keep theirs. */
static void move_all(const lh_hash *from, lh_hash_slot *slot, uint64_t slots) {
    uint64_t begin = 0;
    while (begin < from->slots && from->slot[begin].id != LH_HASH_NONE)
        begin += 1;
    for (uint64_t i = 0; i < from->slots; ++i) {
        const lh_hash_slot *old = &from->slot[(begin + i) & (from->slots - 1)];
        if (old->id != LH_HASH_NONE) put(slot, slots, old->key, old->id);
    }
}

static lh_status grow(lh_hash *table) {
    const uint64_t slots = table->slots == 0 ? FIRST_SLOTS : 2 * table->slots;
    lh_hash_slot *slot = lh_allocate((size_t)slots * sizeof *slot);
    if (slot == NULL) return LH_EMEMORY;
    for (uint64_t i = 0; i < slots; ++i)
        slot[i].id = LH_HASH_NONE;
    move_all(table, slot, slots);
    free(table->slot);
    table->slot = slot;
    table->slots = slots;
    return LH_OK;
}

uint64_t lh_hash_text(const void *text, size_t bytes) {
    return XXH3_64bits(text, bytes);
}

lh_status lh_hash_add(lh_hash *table, uint64_t key, int32_t id) {
    if (2 * (uint64_t)(table->count + 1) > table->slots) LH_TRY(grow(table));
    put(table->slot, table->slots, key, id);
    table->count += 1;
    return LH_OK;
}

int32_t lh_hash_find_item(const lh_hash *table, uint64_t key, lh_hash_same *same, const void *items,
                          const void *wanted) {
    if (table->slots == 0) return LH_HASH_NONE;
    uint64_t at = place_of(key, table->slots);
    for (; table->slot[at].id != LH_HASH_NONE; at = (at + 1) & (table->slots - 1)) {
        const lh_hash_slot *slot = &table->slot[at];
        if (slot->key == key && (same == NULL || same(items, slot->id, wanted))) return slot->id;
    }
    return LH_HASH_NONE;
}

int32_t lh_hash_find(const lh_hash *table, uint64_t key) {
    return lh_hash_find_item(table, key, NULL, NULL, NULL);
}

void lh_hash_clear(lh_hash *table) {
    free(table->slot);
    *table = (lh_hash){0};
}
