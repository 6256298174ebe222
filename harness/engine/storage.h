/* The memory behind tensors, for the engine's own files. */
#ifndef LH_ENGINE_STORAGE_H
#define LH_ENGINE_STORAGE_H

#include "harness/engine/pool.h"

typedef struct lh_storage {
    int references;
    size_t bytes;
    void *data;
} lh_storage;

/* Gives one reference. NULL after LH_EMEMORY. */
lh_storage *lh_storage_create(lh_pool *pool, size_t bytes);
/* One reference less: the last one returns the memory to the pool. */
void lh_storage_release(lh_pool *pool, lh_storage *storage);

/* The memory goes back to the pool, its contents are lost, and some is there again; the tensors and
 * views over it stay. Restoring what is there does nothing. */
void lh_storage_evict(lh_pool *pool, lh_storage *storage);
lh_status lh_storage_restore(lh_pool *pool, lh_storage *storage);

#endif
