/* Tensors: headers and views over counted storage, reading and writing. */
#include "harness/engine/tensor.h"

#include <stdio.h>
#include <string.h>

#include "harness/engine/run_kernel.h"
#include "harness/engine/storage.h"

static size_t dtype_bytes(lh_dtype dtype) {
    return dtype == LH_REAL ? sizeof(real) : dtype == LH_I32 ? 4 : 2;
}

static void *element(void *array, lh_dtype dtype, int64_t index) {
    return (char *)array + index * (int64_t)dtype_bytes(dtype);
}

static void *address(const lh_tensor *tensor) {
    return element(tensor->storage->data, tensor->dtype, tensor->offset);
}

bool lh_shape_count(int rank, const int64_t *shape, int64_t most, int64_t *count) {
    *count = 1;
    for (int i = rank - 1; i >= 0; --i) {
        if (shape[i] < 0 || (shape[i] > 0 && *count > most / shape[i])) return false;
        *count *= shape[i];
    }
    return true;
}

static lh_status refuse_shape(int rank, const int64_t *shape) {
    for (int i = rank - 1; i >= 0; --i) {
        if (shape[i] < 0)
            return lh_fail(LH_ESHAPE, "tensor axis %d of size %lld", i, (long long)shape[i]);
    }
    return lh_fail(LH_ESHAPE, "a tensor of more than 2^48 elements");
}

lh_status lh_tensor_create(lh_pool *pool, lh_dtype dtype, int rank, const int64_t *shape,
                           lh_tensor **out) {
    _Static_assert(sizeof(lh_tensor) <= LH_POOL_CELL, "tensor header outgrew its cell");
    if (rank < 0 || rank > LH_MAX_RANK) return lh_fail(LH_ESHAPE, "tensor of rank %d", rank);
    lh_tensor made = {.dtype = dtype, .rank = rank, .pool = pool, .references = 1};
    int64_t count = 0, stride = 1;
    if (!lh_shape_count(rank, shape, LH_TENSOR_ELEMENTS, &count)) return refuse_shape(rank, shape);
    for (int i = rank - 1; i >= 0; --i) {
        made.shape[i] = shape[i];
        made.stride[i] = stride;
        stride *= shape[i];
    }
    lh_tensor *tensor = lh_pool_take_cell(pool);
    if (tensor == NULL) return LH_EMEMORY;
    made.storage = lh_storage_create(pool, (size_t)count * dtype_bytes(dtype));
    if (made.storage == NULL) {
        lh_pool_return_cell(pool, tensor);
        return lh_failed();
    }
    *tensor = made;
    *out = tensor;
    return LH_OK;
}

lh_status lh_tensor_clear(lh_tensor *tensor) {
    /* All-zero bits are 0 in every dtype, so integers are cleared as reals; sizes round up to whole
     * reals because storage is padded. */
    const size_t bytes = (size_t)lh_tensor_count(tensor) * dtype_bytes(tensor->dtype);
    const lh_fill_args args = {.count = (int64_t)((bytes + sizeof(real) - 1) / sizeof(real)),
                               .x = address(tensor)};
    return LH_RUN(tensor->pool, fill, &args);
}

lh_status lh_tensor_create_zero(lh_pool *pool, lh_dtype dtype, int rank, const int64_t *shape,
                                lh_tensor **out) {
    lh_tensor *tensor = NULL;
    LH_TRY(lh_tensor_create(pool, dtype, rank, shape, &tensor));
    const lh_status status = lh_tensor_clear(tensor);
    if (status == LH_OK) {
        *out = tensor;
    } else {
        lh_storage_release(pool, tensor->storage);
        lh_pool_return_cell(pool, tensor);
    }
    return status;
}

lh_tensor *lh_tensor_retain(lh_tensor *tensor) {
    if (tensor != NULL) tensor->references += 1;
    return tensor;
}

int64_t lh_tensor_count(const lh_tensor *tensor) {
    int64_t count = 1;
    for (int i = 0; i < tensor->rank; ++i)
        count *= tensor->shape[i];
    return count;
}

bool lh_tensor_is_contiguous(const lh_tensor *tensor) {
    int64_t expected = 1;
    for (int i = tensor->rank - 1; i >= 0; --i) {
        if (tensor->shape[i] != 1 && tensor->stride[i] != expected) return false;
        expected *= tensor->shape[i];
    }
    return true;
}

bool lh_tensor_same_shape(const lh_tensor *a, const lh_tensor *b) {
    if (a->rank != b->rank) return false;
    for (int i = 0; i < a->rank; ++i) {
        if (a->shape[i] != b->shape[i]) return false;
    }
    return true;
}

lh_act lh_tensor_activation(const lh_tensor *tensor) {
    return (lh_act){.data = address(tensor), .dtype = tensor->dtype};
}

lh_act lh_act_from(lh_act act, int64_t first) {
    return (lh_act){.data = element(act.data, act.dtype, first), .dtype = act.dtype};
}

real *lh_tensor_real(const lh_tensor *tensor) {
    return tensor->dtype != LH_BF16 ? address(tensor) : NULL;
}

int32_t *lh_tensor_integer(const lh_tensor *tensor) {
    return (int32_t *)tensor->storage->data + tensor->offset;
}

static lh_status check_transfer(const lh_tensor *tensor, int64_t count, const char *verb) {
    if (count == lh_tensor_count(tensor) && lh_tensor_is_contiguous(tensor)) return LH_OK;
    return lh_fail(LH_ESHAPE, "%s: %lld elements for a tensor %s", verb, (long long)count,
                   lh_shape_text(tensor));
}

size_t lh_tensor_host_bytes(const lh_tensor *tensor) {
    const lh_dtype dtype = tensor->dtype == LH_BF16 ? LH_REAL : tensor->dtype;
    return (size_t)lh_tensor_count(tensor) * dtype_bytes(dtype);
}

/* bf16 is the upper half of a float. `half` may be the end of the memory that the reals fill. */
static void widen(const uint16_t *half, real *whole, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
        const uint32_t bits = (uint32_t)half[i] << 16;
        float value;
        memcpy(&value, &bits, sizeof value);
        whole[i] = (real)value;
    }
}

lh_status lh_tensor_read(const lh_tensor *tensor, void *host, int64_t count) {
    LH_TRY(check_transfer(tensor, count, "read"));
    lh_device *device = lh_pool_device(tensor->pool);
    const size_t bytes = (size_t)count * dtype_bytes(tensor->dtype);
    if (tensor->dtype != LH_BF16)
        return lh_pool_called("download", device->download(device, host, address(tensor), bytes));
    char *half = (char *)host + (size_t)count * sizeof(real) - bytes;
    LH_TRY(lh_pool_called("download", device->download(device, half, address(tensor), bytes)));
    widen((const uint16_t *)(const void *)half, host, count);
    return LH_OK;
}

lh_status lh_tensor_write(lh_tensor *tensor, const void *host, int64_t count) {
    LH_TRY(check_transfer(tensor, count, "write"));
    if (tensor->dtype == LH_BF16) return lh_fail(LH_ETYPE, "write: a tensor in bf16");
    lh_device *device = lh_pool_device(tensor->pool);
    const size_t bytes = (size_t)count * dtype_bytes(tensor->dtype);
    return lh_pool_called("upload", device->upload(device, address(tensor), host, bytes));
}

/* As the copy kernel moves it: integers as reals of the same size. */
static lh_act movable(const lh_tensor *tensor) {
    return (lh_act){.data = address(tensor), .dtype = tensor->dtype == LH_BF16 ? LH_BF16 : LH_REAL};
}

lh_status lh_tensor_copy(lh_tensor *to, const lh_tensor *from) {
    const int64_t count = lh_tensor_count(from);
    if ((to->dtype == LH_I32) != (from->dtype == LH_I32) || count != lh_tensor_count(to)) {
        return lh_fail(LH_ESHAPE, "copy: %s to %s", lh_shape_text(from), lh_shape_text(to));
    }
    if (to->dtype == LH_I32 && sizeof(real) != sizeof(int32_t)) {
        /* The copy kernel moves reals; integers of another size go through the device's own copy.
         */
        lh_device *device = lh_pool_device(to->pool);
        const size_t bytes = (size_t)count * sizeof(int32_t);
        return lh_pool_called("upload", device->upload(device, address(to), address(from), bytes));
    }
    const lh_copy_args args = {.rank = 1,
                               .shape = {count},
                               .x = movable(from),
                               .x_stride = {1},
                               .y = movable(to),
                               .y_stride = {1},
                               .write = LH_SET};
    return LH_RUN(to->pool, copy, &args);
}

lh_tensor *lh_tensor_detached(const lh_tensor *tensor) {
    lh_tensor *copy = lh_pool_take_cell(tensor->pool);
    if (copy == NULL) return NULL;
    *copy = *tensor;
    copy->references = 1;
    copy->gradient = NULL;
    copy->storage->references += 1;
    return copy;
}

const char *lh_shape_text(const lh_tensor *tensor) {
    static _Thread_local char text[4][128];
    static _Thread_local unsigned next = 0;
    char *out = text[next++ % 4];
    size_t used = 0;
    out[0] = '\0';
    if (tensor->rank == 0) (void)snprintf(out, sizeof text[0], "[]");
    for (int i = 0; i < tensor->rank && used < sizeof text[0]; ++i) {
        used += (size_t)snprintf(out + used, sizeof text[0] - used, "[%lld]",
                                 (long long)tensor->shape[i]);
    }
    return out;
}
