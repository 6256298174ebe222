/* Joined documents cut into pieces, against the pieces by hand. */
#include "harness/tasks/subsequences.h"

#include "tests/harness/trigram.h"
#include "tests/test.h"

/* The joined training documents of the pattern task. */
static int64_t join(const lh_document_source *source, int32_t *out) {
    int64_t count = 0;
    for (int64_t d = 0; d < source->count; ++d) {
        lh_document document;
        if (!CHECK_OK(source->get(source->context, d, &document))) return 0;
        memcpy(out + count, document.tokens, (size_t)document.count * sizeof *out);
        count += document.count;
    }
    return count;
}

static void check_cut(int64_t length, int64_t stride) {
    const lh_document_source source = pattern_source(LH_TRAIN);
    lh_subsequences *subsequences = NULL;
    int32_t all[1000];
    const int64_t total = join(&source, all);
    REQUIRE_OK(lh_subsequences_create(&source, &subsequences));
    CHECK_EQ_INT(lh_subsequences_predicted(subsequences), total - 1);
    const lh_document_source cut = lh_subsequences_cut(subsequences, length, stride);
    CHECK_EQ_INT(cut.count, (total - 1 + stride - 1) / stride);
    for (int64_t k = cut.count - 1; k >= 0; --k) {
        lh_document document;
        REQUIRE_OK(cut.get(cut.context, k, &document));
        const int64_t left = total - k * stride;
        CHECK_EQ_INT(document.count, left < length + 1 ? left : length + 1);
        CHECK(memcmp(document.tokens, all + k * stride, (size_t)document.count * sizeof *all) == 0);
        CHECK_NEAR(document.bytes, 2.0 * (double)document.count, 0);
    }
    lh_subsequences_destroy(subsequences);
}

/* Two documents of 4 and 2 tokens, of 8 and 40 bytes, around one that is empty, and an empty end.
 */
static lh_status get_uneven(void *context, int64_t index, lh_document *out) {
    (void)context;
    static const int32_t tokens[] = {0, 1, 2, 3, 4, 5};
    static const lh_document documents[] = {
        {.tokens = tokens, .count = 4, .bytes = 8, .words = 4, .unspelled = 16},
        {.name = "empty"},
        {.tokens = tokens + 4, .count = 2, .bytes = 40, .words = 10, .unspelled = 80},
        {.name = "empty"}};
    *out = documents[index];
    return LH_OK;
}

TEST(tokens_have_the_bytes_of_their_own_document) {
    const lh_document_source source = {.get = get_uneven, .count = 4};
    static const int64_t bytes[] = {6, 4 + 20, 40}, words[] = {3, 2 + 5, 10};
    lh_subsequences *subsequences = NULL;
    REQUIRE_OK(lh_subsequences_create(&source, &subsequences));
    const lh_document_source cut = lh_subsequences_cut(subsequences, 2, 2);
    REQUIRE(cut.count == 3);
    for (int64_t k = 0; k < 3; ++k) {
        lh_document document;
        REQUIRE_OK(cut.get(cut.context, k, &document));
        CHECK_EQ_INT(document.count, k < 2 ? 3 : 2);
        CHECK_EQ_INT(document.tokens[0], 2 * k);
        CHECK_NEAR(document.bytes, (double)bytes[k], 0);
        CHECK_NEAR(document.words, (double)words[k], 0);
        CHECK_NEAR(document.unspelled, 2.0 * (double)bytes[k], 0);
    }
    lh_subsequences_destroy(subsequences);
}

/* One document of 9 tokens, a byte each, and of 5 words. */
static lh_status get_nine(void *context, int64_t index, lh_document *out) {
    (void)context;
    (void)index;
    static const int32_t tokens[9] = {0};
    *out = (lh_document){.tokens = tokens, .count = 9, .bytes = 9, .words = 5};
    return LH_OK;
}

TEST(short_pieces_have_a_part_of_a_word) {
    const lh_document_source source = {.get = get_nine, .count = 1};
    lh_subsequences *subsequences = NULL;
    double words = 0.0;
    REQUIRE_OK(lh_subsequences_create(&source, &subsequences));
    const lh_document_source cut = lh_subsequences_cut(subsequences, 1, 1);
    for (int64_t k = 0; k < cut.count; ++k) {
        lh_document document;
        REQUIRE_OK(cut.get(cut.context, k, &document));
        CHECK_NEAR(document.bytes, 2.0, 0);
        words += document.words / 2.0; /* a piece predicts one of its two tokens */
    }
    CHECK_NEAR(words, 5.0 * 8.0 / 9.0, 1e-12);
    lh_subsequences_destroy(subsequences);
}

TEST(subsequences_are_cut_from_the_joined_documents) {
    for (int64_t length = 1; length < 90; length += 4) {
        check_cut(length, length);
        check_cut(length, length >= 4 ? length / 4 : 1);
    }
}

/* Disjoint subsequences predict every token of the joined documents but the very first, once. */
TEST(every_token_but_the_first_is_predicted_once) {
    const lh_document_source source = pattern_source(LH_TRAIN);
    int32_t all[1000];
    const int64_t total = join(&source, all);
    for (int64_t length = 2; length < 40; length += 5) {
        lh_subsequences *subsequences = NULL;
        lh_batcher *batcher = NULL;
        lh_host_batch batch;
        int64_t at = 1;
        REQUIRE_OK(lh_subsequences_create(&source, &subsequences));
        const lh_batcher_spec spec = {.source = lh_subsequences_cut(subsequences, length, length),
                                      .rows = 2,
                                      .length = length,
                                      .predict_across = true};
        REQUIRE_OK(lh_batcher_create(&spec, &batcher));
        do {
            REQUIRE_OK(lh_batcher_next(batcher, &batch));
            for (int64_t i = 0; i < batch.rows * length; ++i) {
                CHECK_EQ_INT(batch.starts[i / length], 1);
                if (batch.weights[i] == LH_R(0)) continue;
                CHECK_EQ_INT(batch.target[i], all[at]);
                at += 1;
            }
        } while (batch.rows > 0);
        CHECK_EQ_INT(at, total);
        lh_batcher_destroy(batcher);
        lh_subsequences_destroy(subsequences);
    }
}

static lh_status refuse(void *context, int64_t index, lh_document *out) {
    (void)context;
    *out = (lh_document){.name = ""};
    return lh_fail(LH_EIO, "document %d", (int)index);
}

TEST(documents_that_cannot_be_read_are_an_error) {
    const lh_document_source source = {.get = refuse, .count = 2};
    lh_subsequences *subsequences = NULL;
    CHECK_FAILS(lh_subsequences_create(&source, &subsequences), LH_EIO, "document 0");
    CHECK(subsequences == NULL);
}
