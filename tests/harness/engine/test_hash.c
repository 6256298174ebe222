/* The hash table: exact keys, hashes that items share, and growing. */
#include "harness/engine/hash.h"

#include "tests/test.h"

TEST(an_empty_table_has_nothing) {
    lh_hash table = {0};
    CHECK_EQ_INT(lh_hash_find(&table, 0), LH_HASH_NONE);
    lh_hash_clear(&table);
}

TEST(keys_find_their_ids_while_the_table_grows) {
    enum { MANY = 20000 };
    lh_hash table = {0};
    for (int32_t i = 0; i < MANY; ++i) {
        CHECK(lh_hash_find(&table, (uint64_t)i << 32) == LH_HASH_NONE);
        REQUIRE_OK(lh_hash_add(&table, (uint64_t)i << 32, i));
    }
    CHECK_EQ_INT(table.count, MANY);
    CHECK(table.slots >= 2 * MANY);
    int wrong = 0;
    for (int32_t i = 0; i < MANY; ++i) {
        wrong += lh_hash_find(&table, (uint64_t)i << 32) != i;
        wrong += lh_hash_find(&table, ((uint64_t)i << 32) + 1) != LH_HASH_NONE;
    }
    CHECK_EQ_INT(wrong, 0);
    lh_hash_clear(&table);
    CHECK_EQ_INT(table.count, 0);
    CHECK_EQ_INT(lh_hash_find(&table, 0), LH_HASH_NONE);
}

TEST(pairs_are_keys_of_their_own) {
    CHECK(lh_hash_pair(1, 2) != lh_hash_pair(2, 1));
    CHECK(lh_hash_pair(-1, 0) != lh_hash_pair(0, -1));
    CHECK(lh_hash_pair(0, -1) != lh_hash_pair(1, -1));
    CHECK(lh_hash_pair(7, 9) == lh_hash_pair(7, 9));
}

static const char *const words[] = {"north", "south", "east", "west"};

static bool is_word(const void *items, int32_t id, const void *wanted) {
    return strcmp(((const char *const *)items)[id], wanted) == 0;
}

/* All under one key, as if their hashes fell together; many others push them around. */
TEST(items_under_one_key_are_told_apart_by_the_caller) {
    lh_hash table = {0};
    for (int32_t i = 0; i < 4; ++i)
        REQUIRE_OK(lh_hash_add(&table, 42, i));
    for (int32_t i = 0; i < 1000; ++i)
        REQUIRE_OK(lh_hash_add(&table, 1000 + (uint64_t)i, i));
    for (int32_t i = 0; i < 4; ++i)
        CHECK_EQ_INT(lh_hash_find_item(&table, 42, is_word, words, words[i]), i);
    CHECK_EQ_INT(lh_hash_find_item(&table, 42, is_word, words, "up"), LH_HASH_NONE);
    CHECK_EQ_INT(lh_hash_find_item(&table, 41, is_word, words, "north"), LH_HASH_NONE);
    CHECK_EQ_INT(lh_hash_find(&table, 42), 0);
    lh_hash_clear(&table);
}

TEST(hashes_of_texts_depend_on_all_bytes_and_on_no_more) {
    CHECK(lh_hash_text("abc", 3) == lh_hash_text("abcd", 3));
    CHECK(lh_hash_text("abc", 3) != lh_hash_text("abd", 3));
    CHECK(lh_hash_text("a", 1) != lh_hash_text("a\0", 2));
}
