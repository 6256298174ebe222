/* The arena: aligned pieces that do not overlap, and blocks that stay over a reset. */
#include "harness/engine/arena.h"

#include "tests/test.h"

TEST(pieces_are_aligned_and_apart) {
    enum { COUNT = 1000 };
    lh_arena arena = {0};
    unsigned char *taken[COUNT];
    for (int i = 0; i < COUNT; ++i) {
        taken[i] = lh_arena_take(&arena, (size_t)i % 37 + 1);
        REQUIRE(taken[i] != NULL);
        CHECK((uintptr_t)taken[i] % 16 == 0);
        memset(taken[i], i % 251, (size_t)i % 37 + 1);
    }
    int wrong = 0;
    for (int i = 0; i < COUNT; ++i)
        for (int k = 0; k <= i % 37; ++k)
            wrong += taken[i][k] != i % 251;
    CHECK_EQ_INT(wrong, 0);
    lh_arena_clear(&arena);
}

/* A steady step: the same pieces in the same places, without a new block. */
TEST(a_reset_hands_out_the_same_memory_again) {
    lh_arena arena = {0};
    void *first = lh_arena_take(&arena, 100), *large = lh_arena_take(&arena, 1 << 20),
         *after = lh_arena_take(&arena, 200);
    REQUIRE(first != NULL && large != NULL && after != NULL);
    for (int step = 0; step < 3; ++step) {
        lh_arena_reset(&arena);
        CHECK(lh_arena_take(&arena, 100) == first);
        CHECK(lh_arena_take(&arena, 1 << 20) == large);
        CHECK(lh_arena_take(&arena, 200) == after);
    }
    lh_arena_clear(&arena);
}

TEST(a_piece_may_be_larger_than_a_block_and_may_be_empty) {
    lh_arena arena = {0};
    unsigned char *large = lh_arena_take(&arena, 3 << 20);
    REQUIRE(large != NULL);
    memset(large, 1, 3 << 20);
    CHECK(lh_arena_take(&arena, 0) != NULL);
    lh_arena_clear(&arena);
    CHECK(arena.first == NULL && arena.current == NULL && arena.used == 0);
    lh_arena_clear(&arena);
    CHECK(lh_arena_take(&arena, 1) != NULL);
    lh_arena_clear(&arena);
}
