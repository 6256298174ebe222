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
