/* Gradient slots: how the first contribution sets, later ones add, and slices reach their root. */
#include "harness/engine/gradient.h"
#include "harness/engine/run_kernel.h"
#include "harness/engine/storage.h"

lh_gradient *lh_gradient_create(lh_pool *pool, lh_dtype dtype, int64_t count) {
    _Static_assert(sizeof(lh_gradient) <= LH_POOL_CELL, "gradient header outgrew its cell");
    lh_gradient *gradient = lh_pool_take_cell(pool);
    if (gradient == NULL) return NULL;
    *gradient = (lh_gradient){.references = 1, .dtype = dtype, .count = count, .pool = pool};
    return gradient;
}

lh_gradient *lh_gradient_create_slice(lh_gradient *of, int64_t offset, int64_t count,
                                      bool strided) {
    lh_gradient *slice = lh_gradient_create(of->pool, of->dtype, count);
    if (slice == NULL) return NULL;
    slice->root = lh_gradient_retain(of->root != NULL ? of->root : of);
    slice->offset = of->offset + offset;
    slice->strided = strided;
    return slice;
}

lh_gradient *lh_gradient_create_apart(const lh_gradient *like) {
    if (like->root == NULL) return lh_gradient_create(like->pool, like->dtype, like->count);
    lh_gradient *root = lh_gradient_create(like->pool, like->dtype, like->root->count);
    if (root == NULL) return NULL;
    lh_gradient *slice = lh_gradient_create_slice(root, like->offset, like->count, like->strided);
    lh_gradient_release(root);
    return slice;
}

lh_gradient *lh_gradient_retain(lh_gradient *gradient) {
    if (gradient != NULL) gradient->references += 1;
    return gradient;
}

void lh_gradient_release(lh_gradient *gradient) {
    if (gradient == NULL || --gradient->references > 0) return;
    lh_tensor_release(gradient->value);
    lh_gradient_release(gradient->root);
    lh_pool_return_cell(gradient->pool, gradient);
}

static const lh_gradient *root_of(const lh_gradient *gradient) {
    return gradient->root != NULL ? gradient->root : gradient;
}

bool lh_gradient_is_present(const lh_gradient *gradient) {
    return root_of(gradient)->present;
}

lh_act lh_gradient_read(const lh_gradient *gradient) {
    if (!lh_gradient_is_present(gradient)) return (lh_act){.dtype = gradient->dtype};
    return lh_act_from(lh_tensor_activation(root_of(gradient)->value), gradient->offset);
}

real *lh_gradient_read_real(const lh_gradient *gradient) {
    return gradient->dtype == LH_REAL ? lh_gradient_read(gradient).data : NULL;
}

static lh_status ensure_buffer(lh_gradient *root) {
    if (root->value != NULL) return LH_OK;
    return lh_tensor_create(root->pool, root->dtype, 1, &root->count, &root->value);
}

/* A buffer that lh_gradient_give shared must be copied before it is added to. */
static lh_status make_exclusive(lh_gradient *root) {
    if (lh_gradient_is_exclusive(root)) return LH_OK;
    lh_tensor *own = NULL;
    LH_TRY(lh_tensor_create(root->pool, root->dtype, 1, &root->count, &own));
    const lh_status status = lh_tensor_copy(own, root->value);
    lh_tensor_release(status == LH_OK ? root->value : own);
    if (status == LH_OK) root->value = own;
    return status;
}

lh_gradient *lh_gradient_root(lh_gradient *gradient) {
    return gradient != NULL && gradient->root != NULL ? gradient->root : gradient;
}

lh_status lh_gradient_settle(lh_gradient *root) {
    if (root->present) return LH_OK;
    LH_TRY(ensure_buffer(root));
    LH_TRY(lh_tensor_clear(root->value));
    root->present = true;
    return LH_OK;
}

bool lh_gradient_overlaps(const lh_gradient *a, const lh_gradient *b) {
    if (a == NULL || b == NULL || root_of(a) != root_of(b)) return false;
    if (a->strided && b->strided) return a->offset == b->offset;
    if (a->strided || b->strided) return true;
    return a->offset < b->offset + b->count && b->offset < a->offset + a->count;
}

lh_status lh_gradient_settle_shared(lh_gradient *const *input, int count) {
    for (int i = 0; i < count; ++i) {
        lh_gradient *root = lh_gradient_root(input[i]);
        bool shared = false;
        for (int j = 0; j < i && root != NULL && !shared; ++j)
            shared = lh_gradient_root(input[j]) == root;
        if (shared) LH_TRY(lh_gradient_settle(root));
    }
    return LH_OK;
}

lh_status lh_gradient_write(lh_gradient *gradient, lh_act *to, lh_write *write) {
    if (gradient == NULL) return LH_OK;
    lh_gradient *root = lh_gradient_root(gradient);
    if (root->present) {
        LH_TRY(make_exclusive(root));
        *write = LH_ADD;
    } else if (gradient->root != NULL) {
        LH_TRY(lh_gradient_settle(root));
        *write = LH_ADD;
    } else {
        LH_TRY(ensure_buffer(root));
        root->present = true;
        *write = LH_SET;
    }
    *to = lh_gradient_read(gradient);
    return LH_OK;
}

lh_status lh_gradient_write_real(lh_gradient *gradient, real **to, lh_write *write) {
    if (gradient == NULL) return LH_OK;
    lh_act act = {.dtype = gradient->dtype};
    if (act.dtype != LH_REAL) return lh_fail(LH_ETYPE, "a gradient in bf16, where reals flow");
    LH_TRY(lh_gradient_write(gradient, &act, write));
    *to = act.data;
    return LH_OK;
}

lh_status lh_gradient_give(lh_gradient *gradient, lh_tensor *value) {
    const bool takes = gradient->root == NULL && !gradient->present && !gradient->persistent &&
                       gradient->dtype == value->dtype;
    if (takes) {
        lh_tensor_release(gradient->value);
        gradient->value = lh_tensor_retain(value);
        gradient->present = true;
        return LH_OK;
    }
    lh_copy_args args = {.rank = 1,
                         .shape = {gradient->count},
                         .x = lh_tensor_activation(value),
                         .x_stride = {1},
                         .y_stride = {1}};
    LH_TRY(lh_gradient_write(gradient, &args.y, &args.write));
    return LH_RUN(gradient->pool, copy, &args);
}

bool lh_gradient_is_exclusive(const lh_gradient *gradient) {
    return gradient->root == NULL && gradient->value != NULL && gradient->value->references == 1;
}

void lh_gradient_clear(lh_gradient *gradient) {
    if (gradient->root != NULL) return;
    gradient->present = false;
    gradient->uses = 0;
    if (gradient->persistent) return;
    lh_tensor_release(gradient->value);
    gradient->value = NULL;
}

/* ---- tensors and their slots ---- */

void lh_tensor_release(lh_tensor *tensor) {
    if (tensor == NULL || --tensor->references > 0) return;
    lh_gradient_release(tensor->gradient);
    lh_storage_release(tensor->pool, tensor->storage);
    lh_pool_return_cell(tensor->pool, tensor);
}

lh_status lh_tensor_require_gradient(lh_tensor *tensor) {
    if (tensor->gradient != NULL) return LH_OK;
    if (tensor->dtype == LH_I32 || !lh_tensor_is_contiguous(tensor)) {
        return lh_fail(LH_ETYPE, "gradient of a tensor that is not contiguous, or of integers: %s",
                       lh_shape_text(tensor));
    }
    tensor->gradient = lh_gradient_create(tensor->pool, tensor->dtype, lh_tensor_count(tensor));
    return tensor->gradient != NULL ? LH_OK : LH_EMEMORY;
}

const lh_tensor *lh_tensor_gradient(const lh_tensor *tensor) {
    const lh_gradient *gradient = tensor->gradient;
    if (gradient == NULL || gradient->root != NULL || !gradient->present) return NULL;
    return gradient->value;
}

void lh_tensor_clear_gradient(lh_tensor *tensor) {
    if (tensor->gradient != NULL) lh_gradient_clear(tensor->gradient);
}
