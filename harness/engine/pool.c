#include "harness/engine/pool.h"

#include <stdlib.h>
#include <string.h>

/* Sizes are multiples of this, so that neighbours in a cache line belong to one block. */
enum { GRAIN = 256, BUCKETS = 1024, CELLS_PER_SLAB = 512 };

/* The blocks of one exact size that wait for reuse: training repeats its sizes exactly. */
typedef struct size_class {
    struct size_class *next;
    size_t bytes;
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
    size_t workspace_bytes;
    size_class *bucket[BUCKETS];
    lh_pool_stats stats;
    cell *free_cells;
    slab *slabs;
    lh_precision precision;
    bool poison;
};

static size_t rounded(size_t bytes) {
    return bytes == 0 ? GRAIN : (bytes + GRAIN - 1) / GRAIN * GRAIN;
}

static size_class *class_find(lh_pool *pool, size_t bytes) {
    size_class **slot = &pool->bucket[bytes / GRAIN * 2654435761u % BUCKETS];
    for (size_class *c = *slot; c != NULL; c = c->next) {
        if (c->bytes == bytes) return c;
    }
    size_class *fresh = lh_allocate_zeroed(1, sizeof *fresh);
    if (fresh == NULL) return NULL;
    fresh->bytes = bytes;
    fresh->next = *slot;
    *slot = fresh;
    return fresh;
}

static lh_status device_allocate(lh_pool *pool, size_t bytes, void **out) {
    if (lh_fault()) return LH_EMEMORY;
    LH_TRY(pool->device->allocate(pool->device, bytes, out));
    pool->stats.device_allocations += 1;
    pool->stats.reserved_bytes += (int64_t)bytes;
    return LH_OK;
}

static void device_release(lh_pool *pool, void *memory, size_t bytes) {
    if (memory == NULL) return;
    pool->device->release(pool->device, memory);
    pool->stats.reserved_bytes -= (int64_t)bytes;
}

static void empty_cache(lh_pool *pool) {
    for (int i = 0; i < BUCKETS; ++i) {
        for (size_class *c = pool->bucket[i]; c != NULL; c = c->next) {
            while (c->count > 0)
                device_release(pool, c->block[--c->count], c->bytes);
        }
    }
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
    device_release(pool, pool->launch.workspace, pool->workspace_bytes);
    for (int i = 0; i < BUCKETS; ++i) {
        for (size_class *c = pool->bucket[i]; c != NULL;) {
            size_class *next = c->next;
            free(c->block);
            free(c);
            c = next;
        }
    }
    for (slab *s = pool->slabs; s != NULL;) {
        slab *next = s->next;
        free(s);
        s = next;
    }
    free(pool);
}

lh_status lh_pool_take(lh_pool *pool, size_t bytes, void **out) {
    const size_t size = rounded(bytes);
    const lh_status before = lh_error_get()->status;
    size_class *class = class_find(pool, size);
    if (class == NULL) return LH_EMEMORY;
    if (class->count > 0) {
        *out = class->block[--class->count];
    } else if (device_allocate(pool, size, out) != LH_OK) {
        lh_error_survive(before);
        empty_cache(pool);
        if (device_allocate(pool, size, out) != LH_OK) {
            return lh_fail(LH_EMEMORY,
                           "out of memory: %zu bytes asked while %lld are in use; use a smaller "
                           "batch, segment or width",
                           size, (long long)pool->stats.used_bytes);
        }
    }
    pool->stats.used_bytes += (int64_t)size;
    if (pool->stats.used_bytes > pool->stats.peak_bytes) {
        pool->stats.peak_bytes = pool->stats.used_bytes;
    }
    if (pool->poison) memset(*out, 0xff, size);
    return LH_OK;
}

/* Room for one more block in the class; when even that fails the block goes back to the device. */
static bool class_reserve(size_class *class) {
    if (class->count < class->capacity) return true;
    const int64_t capacity = class->capacity == 0 ? 16 : 2 * class->capacity;
    void **block = realloc(class->block, (size_t)capacity * sizeof *block);
    if (block == NULL) return false;
    class->block = block;
    class->capacity = capacity;
    return true;
}

void lh_pool_return(lh_pool *pool, void *memory, size_t bytes) {
    if (memory == NULL) return;
    const size_t size = rounded(bytes);
    const lh_status before = lh_error_get()->status;
    pool->stats.used_bytes -= (int64_t)size;
    size_class *class = class_find(pool, size);
    if (class == NULL || !class_reserve(class)) {
        lh_error_survive(before);
        device_release(pool, memory, size);
        return;
    }
    class->block[class->count++] = memory;
}

lh_status lh_pool_workspace(lh_pool *pool, size_t bytes, void **out) {
    if (bytes > pool->workspace_bytes) {
        const size_t size = rounded(bytes + bytes / 4);
        device_release(pool, pool->launch.workspace, pool->workspace_bytes);
        pool->launch.workspace = NULL;
        pool->workspace_bytes = 0;
        if (device_allocate(pool, size, &pool->launch.workspace) != LH_OK) {
            return lh_fail(LH_EMEMORY, "out of memory: %zu bytes of workspace", size);
        }
        pool->workspace_bytes = size;
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

lh_status lh_pool_set_precision(lh_pool *pool, lh_precision precision) {
    if (precision != LH_PRECISION_F32 && pool->device->kind == LH_CPU)
        return lh_fail(LH_EOPTION, "precision: the processor computes in f32; tf32 and bf16 need a "
                                   "GPU (--device cuda)");
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

lh_status lh_pool_launched(const char *kernel, lh_status status) {
    if (status == LH_OK) return LH_OK;
    if (status == LH_EDEVICE) return lh_fail(status, "kernel %s: %s", kernel, lh_device_error());
    return lh_fail(status, "kernel %s refused its arguments (%s)", kernel, lh_status_name(status));
}

lh_status lh_pool_open_device(const char *name, lh_device **out) {
    const lh_status status = lh_device_open(name, out);
    if (status == LH_OK) return LH_OK;
    return lh_fail(status, "device %s: %s", name, lh_device_error());
}
