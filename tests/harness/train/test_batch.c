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

/* Of a rank's rows, and in the copy of a batch. */
TEST(rows_keep_their_past) {
    static const int32_t tokens[] = {1, 2, 3, 4}, past[] = {5, 6, 7, 8, 9, 0}, counts[] = {3, 2};
    const lh_model_setup setup = {.vocabulary = 10, .past_length = 3};
    const lh_host_batch host = {
        .rows = 2, .length = 2, .tokens = tokens, .past = past, .past_count = counts};
    const lh_host_batch second =
        lh_host_batch_rows(&setup, &host, (lh_share){.first = 1, .count = 1});
    CHECK(second.past == past + 3 && second.past_count == counts + 1);
    lh_host_batch copy;
    void *memory = NULL;
    REQUIRE_OK(lh_host_batch_copy(&setup, &host, &copy, &memory));
    CHECK(copy.past != past && memcmp(copy.past, past, sizeof past) == 0);
    CHECK(copy.past_count != counts && memcmp(copy.past_count, counts, sizeof counts) == 0);
    CHECK(memcmp(copy.tokens, tokens, sizeof tokens) == 0);
    free(memory);
}
