/* The memory behind tensors. */
#include "harness/engine/storage.h"

lh_storage *lh_storage_create(lh_pool *pool, size_t bytes) {
    lh_storage *storage = lh_pool_take_cell(pool);
    if (storage == NULL) return NULL;
    *storage = (lh_storage){.references = 1, .bytes = bytes};
    if (lh_pool_take(pool, bytes, &storage->data) != LH_OK) {
        lh_pool_return_cell(pool, storage);
        return NULL;
    }
    return storage;
}

void lh_storage_release(lh_pool *pool, lh_storage *storage) {
    if (--storage->references > 0) return;
    lh_pool_return(pool, storage->data, storage->bytes);
    lh_pool_return_cell(pool, storage);
}

void lh_storage_evict(lh_pool *pool, lh_storage *storage) {
    lh_pool_return(pool, storage->data, storage->bytes);
    storage->data = NULL;
}

lh_status lh_storage_restore(lh_pool *pool, lh_storage *storage) {
    if (storage->data != NULL) return LH_OK;
    return lh_pool_take(pool, storage->bytes, &storage->data);
}
