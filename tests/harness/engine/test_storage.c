/* Storage: references, and memory that goes and comes back while tensors stay. */
#include "harness/engine/storage.h"

#include "tests/test.h"

static int64_t used(const lh_pool *pool) {
    return lh_pool_get_stats(pool).used_bytes;
}

TEST(memory_goes_back_with_the_last_reference) {
    lh_device *device = NULL;
    lh_pool *pool = NULL;
    REQUIRE_OK(lh_pool_open_device("cpu", &device));
    REQUIRE_OK(lh_pool_create(device, &pool));
    const int64_t before = used(pool);
    lh_storage *storage = lh_storage_create(pool, 1024);
    REQUIRE(storage != NULL);
    CHECK_EQ_INT(storage->references, 1);
    CHECK_EQ_INT(used(pool), before + 1024);
    storage->references += 1;
    lh_storage_release(pool, storage);
    CHECK_EQ_INT(used(pool), before + 1024);
    lh_storage_release(pool, storage);
    CHECK_EQ_INT(used(pool), before);
    lh_pool_destroy(pool);
    lh_device_close(device);
}

TEST(what_was_evicted_is_restored_once) {
    lh_device *device = NULL;
    lh_pool *pool = NULL;
    REQUIRE_OK(lh_pool_open_device("cpu", &device));
    REQUIRE_OK(lh_pool_create(device, &pool));
    const int64_t before = used(pool);
    lh_storage *storage = lh_storage_create(pool, 4096);
    REQUIRE(storage != NULL);
    lh_storage_evict(pool, storage);
    CHECK(storage->data == NULL);
    CHECK_EQ_INT(used(pool), before);
    REQUIRE_OK(lh_storage_restore(pool, storage));
    REQUIRE(storage->data != NULL);
    CHECK_EQ_INT(used(pool), before + 4096);
    void *there = storage->data;
    REQUIRE_OK(lh_storage_restore(pool, storage));
    CHECK(storage->data == there);
    CHECK_EQ_INT(used(pool), before + 4096);
    lh_storage_release(pool, storage);
    CHECK_EQ_INT(used(pool), before);
    lh_pool_destroy(pool);
    lh_device_close(device);
}
