/* Every item has its place in a batch of its length. */
#include "harness/tasks/length_plan.h"

#include "tests/test.h"

enum { ITEMS = 500 };

static lh_length_plan *make_plan(int32_t *lengths, int64_t tokens) {
    lh_length_plan *plan = NULL;
    for (int i = 0; i < ITEMS; ++i)
        lengths[i] = 1 + (int32_t)test_integer(i % 7 == 0 ? 90 : 20);
    CHECK_OK(lh_length_plan_create(lengths, ITEMS, tokens, &plan));
    return plan;
}

/* Every item once, in a batch whose length it fits and half fills; the order as a number. */
static uint64_t check_plan(const lh_length_plan *plan, const int32_t *lengths, int64_t tokens) {
    int seen[ITEMS] = {0}, partial[8] = {0};
    uint64_t order = 0;
    for (int64_t b = 0; b < lh_length_plan_batches(plan); ++b) {
        const lh_length_batch batch = lh_length_plan_batch(plan, b);
        CHECK(batch.count >= 1 && batch.count <= batch.rows);
        CHECK((batch.length & (batch.length - 1)) == 0);
        CHECK_EQ_INT(batch.rows, batch.length < tokens ? tokens / batch.length : 1);
        CHECK(batch.rows * batch.length <= lh_length_plan_tokens(plan));
        for (int64_t i = 0; i < batch.count; ++i) {
            const int32_t item = batch.items[i], length = lengths[item];
            seen[item] += 1;
            order = order * 31 + (uint64_t)item;
            CHECK(length <= batch.length && (batch.length == 8 || 2 * length > batch.length));
        }
        for (int k = 0; k < 8; ++k)
            partial[k] += batch.count < batch.rows && batch.length == 8 << k;
    }
    for (int i = 0; i < ITEMS; ++i)
        CHECK_EQ_INT(seen[i], 1);
    for (int k = 0; k < 8; ++k)
        CHECK(partial[k] <= 1);
    return order;
}

TEST(every_item_is_in_one_batch_of_its_length) {
    static const int64_t tokens[] = {1, 64, 300, 100000};
    for (int t = 0; t < 4; ++t) {
        int32_t lengths[ITEMS];
        lh_length_plan *plan = make_plan(lengths, tokens[t]);
        REQUIRE(plan != NULL);
        const uint64_t plain = check_plan(plan, lengths, tokens[t]);
        lh_length_plan_shuffle(plan, (lh_random_key){.seed = 1, .step = 0});
        const uint64_t first = check_plan(plan, lengths, tokens[t]);
        lh_length_plan_shuffle(plan, (lh_random_key){.seed = 1, .step = 1});
        const uint64_t second = check_plan(plan, lengths, tokens[t]);
        lh_length_plan_shuffle(plan, (lh_random_key){.seed = 1, .step = 0});
        CHECK(check_plan(plan, lengths, tokens[t]) == first);
        CHECK(plain != first && first != second);
        lh_length_plan_destroy(plan);
    }
}

TEST(without_a_shuffle_items_stand_in_their_order) {
    int32_t lengths[ITEMS];
    lh_length_plan *plan = make_plan(lengths, 128);
    REQUIRE(plan != NULL);
    int64_t length = 0;
    int32_t last = -1;
    for (int64_t b = 0; b < lh_length_plan_batches(plan); ++b) {
        const lh_length_batch batch = lh_length_plan_batch(plan, b);
        CHECK(batch.length >= length);
        if (batch.length > length) last = -1;
        length = batch.length;
        for (int64_t i = 0; i < batch.count; last = batch.items[i++])
            CHECK(batch.items[i] > last);
    }
    lh_length_plan_destroy(plan);
}

TEST(nothing_makes_no_batches) {
    lh_length_plan *plan = NULL;
    CHECK_FAILS(lh_length_plan_create(NULL, 0, 64, &plan), LH_EFORMAT, "0 items");
    CHECK(plan == NULL);
}
