/* Which tokens rows read and predict, in which order, and from which cursor on. */
#include "harness/tasks/batcher.h"

#include "tests/harness/trigram.h"
#include "tests/test.h"

enum { LONG_DOCUMENT = 2 }; /* of 60 tokens; a document's first token is its number */

static lh_batcher_spec make_spec(bool endless, bool across, int64_t rows, int64_t length) {
    return (lh_batcher_spec){.source = pattern_source(LH_TRAIN),
                             .rows = rows,
                             .length = length,
                             .predict_across = across,
                             .endless = endless,
                             .seed = 5};
}

/* What a pass of the five training documents should predict: every token but the first once, or,
 * with targets inside their segment, one less per full boundary. */
static int64_t expected_predictions(const lh_batcher_spec *spec) {
    int64_t sum = 0;
    for (int64_t d = 0; d < spec->source.count; ++d) {
        lh_document document;
        if (spec->source.get(spec->source.context, d, &document) != LH_OK) return -1;
        for (int64_t t = 1; t < document.count; ++t)
            sum += spec->predict_across || t % spec->length != 0;
    }
    return sum;
}

/* A document's first segment has no past, that of another is the segment before it. */
static bool has_its_past(const lh_host_batch *batch, int64_t r, const int32_t *before) {
    const int64_t length = batch->length;
    if (batch->starts[r] != 0) return batch->past_count[r] == 0;
    return batch->past_count[r] == length && memcmp(batch->past + r * length, before + r * length,
                                                    (size_t)length * sizeof *before) == 0;
}

/* Follows each row through its documents by the start flags; counts what is predicted. */
static void check_pass(bool across, int64_t rows, int64_t length) {
    const lh_batcher_spec spec = make_spec(false, across, rows, length);
    lh_batcher *batcher = NULL;
    REQUIRE_OK(lh_batcher_create(&spec, &batcher));
    int64_t predicted = 0, last[64];
    static int32_t before[7 * 64];
    double bytes = 0, words = 0;
    bool good = true;
    for (int64_t r = 0; r < rows; ++r)
        last[r] = -1;
    while (true) {
        lh_host_batch batch;
        REQUIRE_OK(lh_batcher_next(batcher, &batch));
        if (batch.rows == 0) break;
        bytes += batch.predicted_bytes;
        words += batch.predicted_words;
        for (int64_t r = 0; r < rows; ++r)
            good = good && has_its_past(&batch, r, before);
        memcpy(before, batch.tokens, (size_t)(rows * length) * sizeof *before);
        for (int64_t i = 0; i < rows * length; ++i) {
            if (batch.weights[i] == LH_R(0)) continue;
            predicted += 1;
            const int64_t r = i / length, t = i % length;
            if (t == 0 && batch.starts[r] == 0 && across) good = good && batch.tokens[i] == last[r];
            if (t + 1 < length) good = good && batch.tokens[i + 1] == batch.target[i];
            if (t + 1 == length) last[r] = batch.target[i];
        }
    }
    CHECK(good);
    CHECK_EQ_INT(predicted, expected_predictions(&spec));
    if (across) {
        CHECK_NEAR(bytes, 2.0 * (double)predicted, 1e-9);
        CHECK(words > 0.9 * (double)predicted / 6.0 && words < (double)predicted / 5.0);
    }
    lh_batcher_destroy(batcher);
}

TEST(a_pass_predicts_every_token_once) {
    for (int64_t rows = 1; rows <= 7; rows += 2) {
        for (int64_t length = 1; length <= 64; length += 3)
            check_pass(true, rows, length);
    }
}

/* The example of Yoshida et al. 2020, section 4.2: windows t1:10, t8:17, t15:24 predict t2:11,
 * t12:18, t19:25. */
TEST(overlapping_segments_predict_every_token_once) {
    lh_batcher_spec spec = make_spec(false, true, 1, 10);
    lh_document document;
    lh_batcher *batcher = NULL;
    lh_host_batch batch;
    spec.overlap = 3;
    REQUIRE_OK(spec.source.get(spec.source.context, LONG_DOCUMENT, &document));
    REQUIRE_OK(lh_batcher_create(&spec, &batcher));
    do {
        REQUIRE_OK(lh_batcher_next(batcher, &batch));
        REQUIRE(batch.rows > 0);
    } while (batch.tokens[0] != LONG_DOCUMENT || batch.starts[0] == 0);
    int64_t at = 1;
    for (int64_t first = 0; first < 21; first += 7) {
        CHECK_EQ_INT(batch.starts[0], first == 0);
        CHECK_EQ_INT(batch.past_count[0], first < 10 ? first : 10);
        for (int64_t t = 0; t < batch.past_count[0]; ++t)
            CHECK_EQ_INT(batch.past[t], document.tokens[first - batch.past_count[0] + t]);
        for (int64_t t = 0; t < 10; ++t) {
            CHECK_EQ_INT(batch.tokens[t], document.tokens[first + t]);
            CHECK(batch.weights[t] == (first == 0 || t >= 3 ? LH_R(1) : LH_R(0)));
            if (batch.weights[t] == LH_R(0)) continue;
            CHECK_EQ_INT(batch.target[t], document.tokens[at]);
            at += 1;
        }
        REQUIRE_OK(lh_batcher_next(batcher, &batch));
    }
    CHECK_EQ_INT(at, 25);
    lh_batcher_destroy(batcher);
    for (spec.length = 4; spec.length < 40; spec.length += 5) {
        REQUIRE_OK(lh_batcher_create(&spec, &batcher));
        int64_t predicted = 0;
        do {
            REQUIRE_OK(lh_batcher_next(batcher, &batch));
            for (int64_t t = 0; t < batch.rows * spec.length; ++t)
                predicted += batch.weights[t] > 0;
        } while (batch.rows > 0);
        CHECK_EQ_INT(predicted, expected_predictions(&spec));
        lh_batcher_destroy(batcher);
    }
    spec.overlap = spec.length;
    CHECK_FAILS(lh_batcher_create(&spec, &batcher), LH_ESHAPE, "must be below the segment");
}

TEST(targets_inside_a_segment_leave_out_its_first_token) {
    for (int64_t rows = 1; rows <= 7; rows += 2) {
        for (int64_t length = 2; length <= 64; length += 3)
            check_pass(false, rows, length);
    }
}

TEST(a_pass_reads_documents_in_order) {
    const lh_batcher_spec spec = make_spec(false, true, 1, 100);
    lh_batcher *batcher = NULL;
    REQUIRE_OK(lh_batcher_create(&spec, &batcher));
    for (int64_t d = 0; d < spec.source.count; ++d) {
        lh_host_batch batch;
        REQUIRE_OK(lh_batcher_next(batcher, &batch));
        CHECK_EQ_INT(batch.tokens[0], d);
        CHECK_EQ_INT(batch.starts[0], 1);
    }
    lh_batcher_destroy(batcher);
}

/* Reads `count` documents of the endless stream, one per batch: their first tokens name them. */
static bool read_order(uint64_t seed, int64_t count, int64_t *order) {
    lh_batcher_spec spec = make_spec(true, true, 1, 100);
    spec.seed = seed;
    lh_batcher *batcher = NULL;
    bool good = lh_batcher_create(&spec, &batcher) == LH_OK;
    for (int64_t i = 0; good && i < count; ++i) {
        lh_host_batch batch;
        good = lh_batcher_next(batcher, &batch) == LH_OK && batch.starts[0] == 1;
        order[i] = batch.tokens[0];
    }
    lh_batcher_destroy(batcher);
    return good;
}

TEST(every_epoch_is_a_new_permutation) {
    enum { EPOCHS = 40, DOCUMENTS = 5 };
    int64_t order[EPOCHS * DOCUMENTS], again[EPOCHS * DOCUMENTS], other[EPOCHS * DOCUMENTS];
    REQUIRE(read_order(1, EPOCHS * DOCUMENTS, order));
    REQUIRE(read_order(1, EPOCHS * DOCUMENTS, again));
    REQUIRE(read_order(2, EPOCHS * DOCUMENTS, other));
    int same_as_first = 0, first_place[DOCUMENTS] = {0};
    for (int e = 0; e < EPOCHS; ++e) {
        int seen = 0;
        for (int i = 0; i < DOCUMENTS; ++i)
            seen |= 1 << order[e * DOCUMENTS + i];
        CHECK_EQ_INT(seen, (1 << DOCUMENTS) - 1);
        same_as_first += memcmp(order, order + e * DOCUMENTS, sizeof *order * DOCUMENTS) == 0;
        first_place[order[e * DOCUMENTS]] += 1;
    }
    CHECK(same_as_first < 5);
    for (int d = 0; d < DOCUMENTS; ++d)
        CHECK(first_place[d] > 1);
    CHECK(memcmp(order, again, sizeof order) == 0);
    CHECK(memcmp(order, other, sizeof order) != 0);
}

static bool same_batch(const lh_host_batch *a, const lh_host_batch *b) {
    const size_t positions = (size_t)(a->rows * a->length);
    return memcmp(a->tokens, b->tokens, positions * sizeof *a->tokens) == 0 &&
           memcmp(a->target, b->target, positions * sizeof *a->target) == 0 &&
           memcmp(a->weights, b->weights, positions * sizeof *a->weights) == 0 &&
           memcmp(a->starts, b->starts, (size_t)a->rows * sizeof *a->starts) == 0;
}

TEST(a_cursor_continues_the_stream) {
    const lh_batcher_spec spec = make_spec(true, true, 3, 4);
    lh_batcher *first = NULL, *second = NULL;
    REQUIRE_OK(lh_batcher_create(&spec, &first));
    REQUIRE_OK(lh_batcher_create(&spec, &second));
    int64_t words[LH_CURSOR_WORDS];
    lh_host_batch a, b;
    for (int i = 0; i < 37; ++i)
        REQUIRE_OK(lh_batcher_next(first, &a));
    REQUIRE_OK(lh_batcher_cursor_set(second, words, lh_batcher_cursor_get(first, words)));
    for (int i = 0; i < 60; ++i) {
        REQUIRE_OK(lh_batcher_next(first, &a));
        REQUIRE_OK(lh_batcher_next(second, &b));
        CHECK(same_batch(&a, &b));
    }
    lh_batcher_destroy(first);
    lh_batcher_destroy(second);
}

TEST(a_wrong_cursor_is_refused) {
    const lh_batcher_spec spec = make_spec(true, true, 2, 4);
    lh_batcher *batcher = NULL;
    REQUIRE_OK(lh_batcher_create(&spec, &batcher));
    int64_t words[LH_CURSOR_WORDS];
    const int count = lh_batcher_cursor_get(batcher, words);
    CHECK_STATUS(lh_batcher_cursor_set(batcher, words, count - 1), LH_EFORMAT);
    words[2] = 99;
    CHECK_FAILS(lh_batcher_cursor_set(batcher, words, count), LH_EFORMAT, "outside");
    lh_batcher_destroy(batcher);
}

TEST(more_rows_than_documents_leaves_rows_of_weight_zero) {
    const lh_batcher_spec spec = make_spec(false, true, 7, 100);
    lh_batcher *batcher = NULL;
    lh_host_batch batch;
    REQUIRE_OK(lh_batcher_create(&spec, &batcher));
    REQUIRE_OK(lh_batcher_next(batcher, &batch));
    CHECK_EQ_INT(batch.rows, 7);
    for (int64_t i = 5 * 100; i < 7 * 100; ++i)
        CHECK(batch.weights[i] == LH_R(0) && batch.tokens[i] == 0);
    REQUIRE_OK(lh_batcher_next(batcher, &batch));
    CHECK_EQ_INT(batch.rows, 0);
    lh_batcher_destroy(batcher);
}

TEST(a_pass_over_documents_without_end_is_refused) {
    lh_batcher_spec spec = make_spec(false, true, 1, 8);
    lh_batcher *batcher = NULL;
    spec.source.count = LH_WITHOUT_END;
    CHECK_FAILS(lh_batcher_create(&spec, &batcher), LH_ESHAPE, "without end");
}

TEST(impossible_sizes_are_refused) {
    lh_batcher *batcher = NULL;
    lh_batcher_spec spec = make_spec(true, false, 1, 1);
    CHECK_FAILS(lh_batcher_create(&spec, &batcher), LH_ESHAPE, "predicts nothing");
    spec = make_spec(true, true, 5000, 4);
    CHECK_FAILS(lh_batcher_create(&spec, &batcher), LH_ESHAPE, "limit");
    spec = make_spec(true, true, 0, 4);
    CHECK_STATUS(lh_batcher_create(&spec, &batcher), LH_ESHAPE);
    spec = make_spec(true, true, 1, 4);
    spec.source.count = 0;
    CHECK_FAILS(lh_batcher_create(&spec, &batcher), LH_EFORMAT, "no documents");
    CHECK(batcher == NULL);
}

static lh_status get_single_token(void *context, int64_t index, lh_document *out) {
    static const int32_t token = 3;
    (void)context;
    (void)index;
    *out = (lh_document){.name = "short", .tokens = &token, .count = 1, .bytes = 1, .words = 1};
    return LH_OK;
}

/* Of a document's first tokens, `given` and the very first are read without being predicted. */
TEST(given_tokens_are_not_predicted) {
    lh_batcher_spec spec = make_spec(false, true, 1, 64);
    lh_batcher *batcher = NULL;
    lh_host_batch batch;
    spec.given = 4;
    REQUIRE_OK(lh_batcher_create(&spec, &batcher));
    do {
        REQUIRE_OK(lh_batcher_next(batcher, &batch));
        REQUIRE(batch.rows > 0);
    } while (batch.tokens[0] != LONG_DOCUMENT);
    for (int64_t t = 0; t < 59; ++t)
        CHECK(batch.weights[t] == (t >= 4 ? LH_R(1) : LH_R(0)));
    lh_batcher_destroy(batcher);
    spec.given = -1;
    CHECK_FAILS(lh_batcher_create(&spec, &batcher), LH_ESHAPE, "-1 given tokens");
}

/* A segment that has no others is read all the same, and the next one goes on with them. */
TEST(given_tokens_go_on_in_the_next_segment) {
    lh_batcher_spec spec = make_spec(false, true, 1, 8);
    lh_batcher *batcher = NULL;
    lh_host_batch batch;
    spec.given = 19;
    REQUIRE_OK(lh_batcher_create(&spec, &batcher));
    do {
        REQUIRE_OK(lh_batcher_next(batcher, &batch));
        REQUIRE(batch.rows > 0);
    } while (batch.tokens[0] != LONG_DOCUMENT);
    for (int64_t at = 0; at < 56; at += 8) {
        for (int64_t t = 0; t < 8; ++t)
            CHECK(batch.weights[t] == (at + t >= 19 ? LH_R(1) : LH_R(0)));
        CHECK_EQ_INT(batch.starts[0], at == 0);
        REQUIRE_OK(lh_batcher_next(batcher, &batch));
    }
    lh_batcher_destroy(batcher);
}

TEST(documents_without_anything_to_predict_end_in_an_error) {
    lh_batcher_spec spec = make_spec(true, true, 1, 4);
    spec.source = (lh_document_source){.get = get_single_token, .count = 3};
    lh_batcher *batcher = NULL;
    lh_host_batch batch;
    REQUIRE_OK(lh_batcher_create(&spec, &batcher));
    CHECK_FAILS(lh_batcher_next(batcher, &batch), LH_EFORMAT, "shorter than two tokens");
    lh_batcher_destroy(batcher);
}
