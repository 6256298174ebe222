/* Size classes, lists of free blocks that wait for reuse, and the counts of bytes. */
#include "harness/engine/pool.h"

#include <stdlib.h>
#include <string.h>

#include "harness/engine/array.h"
#include "harness/engine/hash.h"
#include "kernels/kernels.h"
#include "kernels/product.h"

/* Sizes are multiples of this, so that neighbours in a cache line belong to one block. */
enum { GRAIN = 256, CELLS_PER_SLAB = 512 };

/* The blocks of one exact size that wait for reuse: training repeats its sizes exactly. */
typedef struct size_class {
    void **block;
    int64_t count, capacity;
} size_class;

typedef struct cell {
    struct cell *next;
} cell;

typedef struct slab {
    struct slab *next;
    _Alignas(64) unsigned char memory[CELLS_PER_SLAB][LH_POOL_CELL];
} slab;

struct lh_pool {
    lh_device *device;
    lh_launch launch;
    size_class *class;
    int64_t class_count, class_capacity;
    lh_hash class_by_size;
    lh_pool_stats stats;
    cell *free_cells;
    slab *slabs;
    lh_precision precision;
    bool poison;
};

static size_t rounded(size_t bytes) {
    return bytes == 0 ? GRAIN : lh_round_up(bytes, GRAIN);
}

/* Lends until the next call. */
static size_class *class_find(lh_pool *pool, size_t bytes) {
    const int32_t known = lh_hash_find(&pool->class_by_size, bytes);
    if (known != LH_HASH_NONE) return &pool->class[known];
    const int64_t next = pool->class_count;
    if (lh_array_reserve(&pool->class, &pool->class_capacity, next + 1, sizeof(size_class)) !=
            LH_OK ||
        lh_hash_add(&pool->class_by_size, bytes, (int32_t)next) != LH_OK)
        return NULL;
    pool->class[next] = (size_class){0};
    pool->class_count += 1;
    return &pool->class[next];
}

static void settle(lh_device *device) {
    if (device->settle != NULL) device->settle(device);
}

static lh_status device_allocate(lh_pool *pool, size_t bytes, void **out) {
    if (lh_fault()) return LH_EMEMORY;
    settle(pool->device);
    LH_TRY(pool->device->allocate(pool->device, bytes, out));
    pool->stats.device_allocations += 1;
    return LH_OK;
}

static void device_release(lh_pool *pool, void *memory) {
    if (memory == NULL) return;
    settle(pool->device);
    pool->device->release(pool->device, memory);
}

static void empty_cache(lh_pool *pool) {
    for (int64_t i = 0; i < pool->class_count; ++i) {
        size_class *c = &pool->class[i];
        while (c->count > 0)
            device_release(pool, c->block[--c->count]);
    }
}

/* What waits for reuse goes back to the device before there is too little. */
static lh_status enlarge(lh_pool *pool, size_t bytes, const char *purpose, void **out) {
    lh_status status = device_allocate(pool, bytes, out);
    if (status == LH_EMEMORY) {
        empty_cache(pool);
        status = device_allocate(pool, bytes, out);
    }
    if (status != LH_EMEMORY) return lh_pool_called("allocate", status);
    return lh_fail(LH_EMEMORY,
                   "out of memory: %zu bytes%s asked while %lld are in use; use a smaller batch, "
                   "segment or width",
                   bytes, purpose, (long long)pool->stats.used_bytes);
}

lh_status lh_pool_create(lh_device *device, lh_pool **out) {
    lh_pool *pool = lh_allocate_zeroed(1, sizeof *pool);
    if (pool == NULL) return LH_EMEMORY;
    pool->device = device;
    pool->launch.stream = device->stream;
    const char *check = getenv("LH_CHECK");
    pool->poison = check != NULL && strstr(check, "poison") != NULL && device->kind == LH_CPU;
    *out = pool;
    return LH_OK;
}

void lh_pool_destroy(lh_pool *pool) {
    if (pool == NULL) return;
    empty_cache(pool);
    device_release(pool, pool->launch.workspace);
    for (int64_t i = 0; i < pool->class_count; ++i)
        free(pool->class[i].block);
    free(pool->class);
    lh_hash_clear(&pool->class_by_size);
    for (slab *s = pool->slabs; s != NULL;) {
        slab *next = s->next;
        free(s);
        s = next;
    }
    free(pool);
}

lh_status lh_pool_take(lh_pool *pool, size_t bytes, void **out) {
    const size_t size = rounded(bytes);
    size_class *class = class_find(pool, size);
    if (class == NULL) return LH_EMEMORY;
    if (class->count > 0) {
        *out = class->block[--class->count];
    } else {
        LH_TRY(enlarge(pool, size, "", out));
    }
    pool->stats.used_bytes += (int64_t)size;
    if (pool->stats.used_bytes > pool->stats.peak_bytes) {
        pool->stats.peak_bytes = pool->stats.used_bytes;
    }
    if (pool->poison) memset(*out, 0xff, size);
    return LH_OK;
}

/* When there is no room even for its address the block goes back to the device. */
void lh_pool_return(lh_pool *pool, void *memory, size_t bytes) {
    if (memory == NULL) return;
    const size_t size = rounded(bytes);
    const lh_status before = lh_error_get()->status;
    pool->stats.used_bytes -= (int64_t)size;
    size_class *class = class_find(pool, size);
    if (class == NULL || lh_array_reserve(&class->block, &class->capacity, class->count + 1,
                                          sizeof(void *)) != LH_OK) {
        lh_error_survive(before);
        device_release(pool, memory);
        return;
    }
    class->block[class->count++] = memory;
}

lh_status lh_pool_workspace(lh_pool *pool, size_t bytes, void **out) {
    if (bytes > (size_t)pool->stats.workspace_bytes) {
        const size_t size = rounded(bytes + bytes / 4);
        device_release(pool, pool->launch.workspace);
        pool->launch.workspace = NULL;
        pool->stats.workspace_bytes = 0;
        LH_TRY(enlarge(pool, size, " of workspace", &pool->launch.workspace));
        pool->stats.workspace_bytes = (int64_t)size;
    }
    *out = pool->launch.workspace;
    return LH_OK;
}

static bool grow_cells(lh_pool *pool) {
    slab *fresh = lh_allocate(sizeof *fresh);
    if (fresh == NULL) return false;
    fresh->next = pool->slabs;
    pool->slabs = fresh;
    for (int i = 0; i < CELLS_PER_SLAB; ++i) {
        cell *c = (cell *)(void *)fresh->memory[i];
        c->next = pool->free_cells;
        pool->free_cells = c;
    }
    return true;
}

void *lh_pool_take_cell(lh_pool *pool) {
    if (pool->free_cells == NULL && !grow_cells(pool)) return NULL;
    cell *taken = pool->free_cells;
    pool->free_cells = taken->next;
    return taken;
}

void lh_pool_return_cell(lh_pool *pool, void *memory) {
    cell *c = memory;
    c->next = pool->free_cells;
    pool->free_cells = c;
}

lh_pool_stats lh_pool_get_stats(const lh_pool *pool) {
    return pool->stats;
}

void lh_pool_reset_peak(lh_pool *pool) {
    pool->stats.peak_bytes = pool->stats.used_bytes;
}

lh_device *lh_pool_device(const lh_pool *pool) {
    return pool->device;
}

/* NULL, or what the device lacks for products in this precision. */
static const char *lacks(const lh_device *device, lh_precision precision) {
    if (device->kind == LH_CUDA || precision == LH_PRECISION_F32) return NULL;
    return precision == LH_PRECISION_BF16 ? lh_product_lacks_bf16() : "a GPU (--device cuda)";
}

lh_status lh_pool_set_precision(lh_pool *pool, lh_precision precision) {
    const char *missing = lacks(pool->device, precision);
    if (missing != NULL)
        return lh_fail(LH_EOPTION, "precision=%s on the processor needs %s",
                       precision == LH_PRECISION_BF16 ? "bf16" : "tf32", missing);
    pool->precision = precision;
    return LH_OK;
}

lh_precision lh_pool_precision(const lh_pool *pool) {
    return pool->precision;
}

lh_dtype lh_pool_activation(const lh_pool *pool) {
    return pool->precision == LH_PRECISION_BF16 ? LH_BF16 : LH_REAL;
}

bool lh_pool_prepare(lh_pool *pool, size_t bytes) {
    void *workspace = NULL;
    return lh_pool_workspace(pool, bytes, &workspace) == LH_OK;
}

const lh_launch *lh_pool_launch(const lh_pool *pool) {
    return &pool->launch;
}

const lh_kernels *lh_pool_kernels(const lh_pool *pool) {
    return pool->device->kernels;
}

lh_status lh_pool_called(const char *function, lh_status status) {
    if (status == LH_OK) return LH_OK;
    return lh_fail(status, "%s: %s", function, lh_device_error());
}

lh_status lh_pool_launched(const char *kernel, lh_status status) {
    if (status == LH_OK) return LH_OK;
    if (status == LH_EDEVICE || status == LH_EMEMORY)
        return lh_fail(status, "kernel %s: %s", kernel, lh_device_error());
    return lh_fail(status, "kernel %s refused its arguments (%s)", kernel, lh_status_name(status));
}

lh_status lh_pool_open_device(const char *name, lh_device **out) {
    const lh_status status = lh_device_open(name, out);
    if (status == LH_OK) return LH_OK;
    return lh_fail(status, "device %s: %s", name, lh_device_error());
}
