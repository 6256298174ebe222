/* Multi-query associative recall: what a sequence is made of, where queries stand, which draws are
 * whose. */
#include "datasets/generate/recall.h"

#include "tests/test.h"

#include <string.h>

enum { ROOM = 1024 };

static int32_t tokens[ROOM], labels[ROOM];

static lh_random_key key_of(uint64_t index) {
    return (lh_random_key){.seed = 3, .step = index, .stream = LH_STREAM_DATA, .op = 1};
}

static lh_episode draw(lh_recall_writer *writer, uint64_t index) {
    lh_episode e = {tokens, labels, 0};
    lh_recall_write(writer, key_of(index), &e);
    return e;
}

/* The value that a reader finds who looks for a query's key among the pairs; -1: no such key. */
static int32_t look_up(const lh_episode *e, int64_t pairs, int32_t key) {
    for (int64_t i = 0; i < pairs; ++i)
        if (e->tokens[2 * i] == key) return e->tokens[2 * i + 1];
    return -1;
}

/* Pairs and queries of one sequence; a key is asked once. */
static void check_sequence(const lh_recall *rules, const lh_episode *e) {
    const int64_t begin = 2 * rules->pairs, half = rules->vocabulary / 2;
    int64_t asked = 0;
    REQUIRE(e->length == rules->length);
    for (int64_t t = 0; t < e->length; ++t) {
        CHECK(e->tokens[t] >= 0 && e->tokens[t] < rules->vocabulary);
        if (t < begin) CHECK((t % 2 == 0) == (e->tokens[t] > 0 && e->tokens[t] < half));
        if (e->labels[t] == LH_UNLABELLED) {
            if (t >= begin && !rules->fills) CHECK_EQ_INT(e->tokens[t], 0);
            continue;
        }
        CHECK(t >= begin && t % 2 == 0);
        CHECK_EQ_INT(e->labels[t], look_up(e, rules->pairs, e->tokens[t]));
        for (int64_t u = begin; u < t; ++u)
            CHECK(e->labels[u] == LH_UNLABELLED || e->tokens[u] != e->tokens[t]);
        asked += 1;
    }
    CHECK_EQ_INT(asked, rules->pairs);
}

TEST(every_key_is_asked_once_and_its_value_stands_among_the_pairs) {
    static const lh_recall rules[] = {
        {.vocabulary = 64, .pairs = 8, .length = 64, .power = 0.01},
        {.vocabulary = 33, .pairs = 15, .length = 60, .power = 1.0}, /* no key, no slot is left */
        {.vocabulary = 64, .pairs = 8, .length = 48, .power = 0.1, .fills = true},
    };
    for (size_t k = 0; k < sizeof rules / sizeof *rules; ++k) {
        lh_recall_writer writer;
        REQUIRE_OK(lh_recall_open(&rules[k], &writer));
        for (uint64_t n = 0; n < 50; ++n) {
            const lh_episode e = draw(&writer, n);
            check_sequence(&rules[k], &e);
        }
        lh_recall_clear(&writer);
    }
}

/* With one pair a slot is taken with its chance: chi-squared over 16 slots, 15 degrees of freedom,
 * is above 37.7 once in a thousand. Another exponent is far off. */
static double chi_squared(double drawn, double expected) {
    enum { SLOTS = 16, SEQUENCES = 4000 };
    const lh_recall rules = {.vocabulary = 8, .pairs = 1, .length = 2 + 2 * SLOTS, .power = drawn};
    double count[SLOTS] = {0}, sum = 0.0, result = 0.0;
    lh_recall_writer writer;
    if (!CHECK_OK(lh_recall_open(&rules, &writer))) return -1.0;
    for (uint64_t n = 0; n < SEQUENCES; ++n) {
        (void)draw(&writer, n);
        for (int j = 0; j < SLOTS; ++j)
            count[j] += labels[2 + 2 * j] != LH_UNLABELLED;
    }
    lh_recall_clear(&writer);
    for (int j = 1; j <= SLOTS; ++j)
        sum += pow(j, expected - 1.0);
    for (int j = 1; j <= SLOTS; ++j) {
        const double wanted = SEQUENCES * pow(j, expected - 1.0) / sum;
        result += (count[j - 1] - wanted) * (count[j - 1] - wanted) / wanted;
    }
    return result;
}

TEST(gaps_follow_the_power_law) {
    CHECK(chi_squared(0.01, 0.01) < 37.7);
    CHECK(chi_squared(0.5, 0.5) < 37.7);
    CHECK(chi_squared(1.0, 1.0) < 37.7);
    CHECK(chi_squared(0.01, 0.4) > 37.7);
    CHECK(chi_squared(1.0, 0.7) > 37.7);
}

/* Keys choose in order: the nearest slot is more often the first one's than the last one's. */
TEST(the_first_key_chooses_first) {
    const lh_recall rules = {.vocabulary = 64, .pairs = 8, .length = 128, .power = 0.01};
    int64_t nearest[2] = {0};
    lh_recall_writer writer;
    REQUIRE_OK(lh_recall_open(&rules, &writer));
    for (uint64_t n = 0; n < 400; ++n) {
        const lh_episode e = draw(&writer, n);
        nearest[0] += e.tokens[16] == e.tokens[0];
        nearest[1] += e.tokens[16] == e.tokens[14];
    }
    lh_recall_clear(&writer);
    CHECK(nearest[0] > 2 * nearest[1]);
}

TEST(the_same_key_gives_the_same_sequence) {
    const lh_recall rules = {
        .vocabulary = 512, .pairs = 8, .length = 64, .power = 0.01, .fills = true};
    int32_t first[64];
    lh_recall_writer writer;
    REQUIRE_OK(lh_recall_open(&rules, &writer));
    for (uint64_t n = 0; n < 20; ++n) {
        (void)draw(&writer, n);
        memcpy(first, tokens, sizeof first);
        (void)draw(&writer, n + 1);
        CHECK(memcmp(first, tokens, sizeof first) != 0);
        (void)draw(&writer, n);
        CHECK(memcmp(first, tokens, sizeof first) == 0);
    }
    lh_recall_clear(&writer);
}

TEST(rules_without_a_sequence_are_refused) {
    lh_recall_writer writer;
    const lh_recall many = {.vocabulary = 16, .pairs = 8, .length = 64, .power = 1},
                    brief = {.vocabulary = 64, .pairs = 8, .length = 30, .power = 1},
                    odd = {.vocabulary = 64, .pairs = 8, .length = 33, .power = 1};
    CHECK_FAILS(lh_recall_open(&many, &writer), LH_EOPTION, "has 7 keys, not 8");
    lh_recall_clear(&writer);
    CHECK_FAILS(lh_recall_open(&brief, &writer), LH_EOPTION, "an even length of 32");
    lh_recall_clear(&writer);
    CHECK_FAILS(lh_recall_open(&odd, &writer), LH_EOPTION, "not 33");
    lh_recall_clear(&writer);
}
