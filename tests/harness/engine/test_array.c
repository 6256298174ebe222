/* The array that grows: what it keeps, how it grows, and what a size beyond all memory does. */
#include "harness/engine/array.h"

#include "tests/test.h"

TEST(an_array_keeps_its_items_and_moves_seldom) {
    int64_t *at = NULL, capacity = 0, moves = 0;
    for (int64_t i = 0; i < 100000; ++i) {
        const int64_t before = capacity;
        REQUIRE_OK(lh_array_reserve(&at, &capacity, i + 1, sizeof *at));
        moves += capacity != before;
        at[i] = i * i;
    }
    for (int64_t i = 0; i < 100000; ++i)
        if (at[i] != i * i) CHECK_EQ_INT(at[i], i * i);
    CHECK(capacity >= 100000 && capacity < 300000);
    CHECK(moves < 20);
    free(at);
}

TEST(room_that_is_there_is_not_asked_for_again) {
    char *at = NULL, *before = NULL;
    int64_t capacity = 0;
    REQUIRE_OK(lh_array_reserve(&at, &capacity, 1000, 1));
    CHECK(capacity >= 1000);
    before = at;
    CHECK_OK(lh_array_reserve(&at, &capacity, 0, 1));
    CHECK_OK(lh_array_reserve(&at, &capacity, capacity, 1));
    CHECK(at == before);
    free(at);
}

TEST(what_no_memory_holds_is_refused_and_changes_nothing) {
    double *at = NULL;
    int64_t capacity = 0;
    REQUIRE_OK(lh_array_reserve(&at, &capacity, 3, sizeof *at));
    const double *before = at;
    const int64_t had = capacity;
    at[2] = 7;
    CHECK_FAILS(lh_array_reserve(&at, &capacity, INT64_MAX, sizeof *at), LH_EMEMORY,
                "items of 8 bytes");
    CHECK_STATUS(lh_array_reserve(&at, &capacity, INT64_MAX / 16, sizeof *at), LH_EMEMORY);
    CHECK(at == before && at[2] == 7);
    CHECK_EQ_INT(capacity, had);
    free(at);
}
