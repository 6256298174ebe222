/* Host batches on the device. */
#include "harness/train/batch.h"

#include "tests/test.h"

/* A source and its lengths reach the device beside the target, whatever lengths both have. */
TEST(a_source_goes_beside_the_target) {
    static const int32_t tokens[] = {0, 5, 6, 0, 7, 8}, source[] = {1, 2, 3, 4, 5, 0, 0, 0},
                         counts[] = {4, 1};
    const lh_model_setup setup = {.vocabulary = 9, .source_vocabulary = 9};
    lh_device *device = NULL;
    lh_pool *pool = NULL;
    lh_batch batch = {0};
    REQUIRE_OK(lh_pool_open_device("cpu", &device));
    REQUIRE_OK(lh_pool_create(device, &pool));
    lh_host_batch host = {.rows = 2,
                          .length = 3,
                          .source_length = 4,
                          .tokens = tokens,
                          .source_tokens = source,
                          .source_count = counts};
    REQUIRE_OK(lh_batch_upload(pool, &setup, &host, &batch));
    REQUIRE(batch.source_tokens != NULL && batch.source_count != NULL && batch.target == NULL);
    CHECK(batch.source_tokens->shape[0] == 2 && batch.source_tokens->shape[1] == 4);
    int32_t read[8] = {0};
    CHECK_OK(lh_tensor_read(batch.source_tokens, read, 8));
    CHECK(memcmp(read, source, sizeof source) == 0);
    CHECK_OK(lh_tensor_read(batch.source_count, read, 2));
    CHECK(read[0] == 4 && read[1] == 1);
    host.source_tokens = host.source_count = NULL;
    REQUIRE_OK(lh_batch_upload(pool, &setup, &host, &batch));
    CHECK(batch.source_tokens == NULL && batch.source_count == NULL);
    lh_batch_clear(&batch);
    CHECK_EQ_INT(lh_pool_get_stats(pool).used_bytes, 0);
    lh_pool_destroy(pool);
    lh_device_close(device);
}

TEST(a_past_is_what_lies_before) {
    static const int32_t tokens[] = {4, 5, 6, 7, 8};
    int32_t past[3];
    CHECK_EQ_INT(lh_copy_past(tokens, 0, 3, past), 0);
    CHECK(past[0] == 0 && past[1] == 0 && past[2] == 0);
    CHECK_EQ_INT(lh_copy_past(tokens, 2, 3, past), 2);
    CHECK(past[0] == 4 && past[1] == 5 && past[2] == 0);
    CHECK_EQ_INT(lh_copy_past(tokens, 5, 3, past), 3);
    CHECK(past[0] == 6 && past[1] == 7 && past[2] == 8);
}

static bool is_copy(const void *copy, const void *of, size_t bytes) {
    return copy != NULL && copy != of && memcmp(copy, of, bytes) == 0;
}

/* Of a rank's rows, and in the copy of a batch, each array by its own size of a row. */
TEST(rows_keep_what_is_theirs) {
    int32_t x[64];
    real y[64];
    for (int i = 0; i < 64; ++i) {
        x[i] = i;
        y[i] = (real)i;
    }
    const lh_model_setup setup = {
        .vocabulary = 10, .past_length = 4, .input_features = 5, .output_features = 2};
    lh_host_batch host = {.rows = 2,
                          .length = 2,
                          .source_length = 3,
                          .target_length = 3,
                          .tokens = x,
                          .target = x + 10,
                          .source_tokens = x + 20,
                          .source_count = x + 30,
                          .past = x + 40,
                          .past_count = x + 50,
                          .starts = x + 60,
                          .vectors = y,
                          .target_vectors = y + 20,
                          .weights = y + 40};
    const lh_host_batch second =
        lh_host_batch_rows(&setup, &host, (lh_share){.first = 1, .count = 1});
    CHECK(second.tokens == x + 2 && second.target == x + 12 && second.source_tokens == x + 23);
    CHECK(second.source_count == x + 31 && second.past == x + 44 && second.past_count == x + 51);
    CHECK(second.starts == x + 61 && second.vectors == y + 10);
    CHECK(second.target_vectors == y + 26 && second.weights == y + 46);
    lh_host_batch copy;
    void *memory = NULL;
    REQUIRE_OK(lh_host_batch_copy(&setup, &host, &copy, &memory));
    CHECK(is_copy(copy.tokens, x, 4 * sizeof *x) && is_copy(copy.target, x + 10, 4 * sizeof *x));
    CHECK(is_copy(copy.source_tokens, x + 20, 6 * sizeof *x));
    CHECK(is_copy(copy.source_count, x + 30, 2 * sizeof *x));
    CHECK(is_copy(copy.past, x + 40, 8 * sizeof *x));
    CHECK(is_copy(copy.past_count, x + 50, 2 * sizeof *x));
    CHECK(is_copy(copy.starts, x + 60, 2 * sizeof *x));
    CHECK(is_copy(copy.vectors, y, 20 * sizeof *y));
    CHECK(is_copy(copy.target_vectors, y + 20, 12 * sizeof *y));
    CHECK(is_copy(copy.weights, y + 40, 12 * sizeof *y));
    free(memory);
    CHECK_NEAR(lh_host_batch_weight(&setup, &host), 546, 0); /* 40 to 51 */
    host.weights = NULL;
    CHECK_NEAR(lh_host_batch_weight(&setup, &host), 12, 0);
}
