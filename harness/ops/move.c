/* Ops that move data: copies, conversion, permutation, concatenation, lookup and its
 * transpose, choice of rows. */
#include "harness/ops/op.h"

/* Strides of x and y over the box that a copy walks. */
typedef struct box {
    int rank;
    int64_t shape[LH_MAX_RANK], x_stride[LH_MAX_RANK], y_stride[LH_MAX_RANK];
} box;

static lh_status copy_box(lh_tape *tape, const box *b, lh_copy_args args) {
    args.rank = b->rank;
    for (int i = 0; i < b->rank; ++i) {
        args.shape[i] = b->shape[i];
        args.x_stride[i] = b->x_stride[i];
        args.y_stride[i] = b->y_stride[i];
    }
    return LH_RUN(lh_tape_pool(tape), copy, &args);
}

/* The same box walked from y to x. */
static box reversed(const box *b) {
    box r = *b;
    for (int i = 0; i < b->rank; ++i) {
        r.x_stride[i] = b->y_stride[i];
        r.y_stride[i] = b->x_stride[i];
    }
    return r;
}

static lh_status copy_backward(lh_tape *tape, lh_node *node) {
    const box back = reversed(node->args);
    lh_copy_args args = {.x = lh_gradient_read(node->output[0])};
    LH_TRY(lh_gradient_write(node->input[0], &args.y, &args.write));
    return copy_box(tape, &back, args);
}

static lh_tensor *copied(lh_tape *tape, lh_tensor *x, lh_dtype dtype, const box *b,
                         const char *op) {
    lh_tensor *y = lh_tape_new(tape, dtype, b->rank, b->shape);
    if (y == NULL) return NULL;
    const lh_copy_args args = {.x = lh_tensor_activation(x), .y = lh_tensor_activation(y)};
    const lh_record record = {.op = op,
                              .backward = copy_backward,
                              LH_INPUTS(x),
                              LH_OUTPUTS(y),
                              .args = b,
                              .args_bytes = sizeof *b};
    return lh_op_done(tape, copy_box(tape, b, args), y, &record);
}

static void set_dense_strides(box *b) {
    for (int64_t i = b->rank - 1, stride = 1; i >= 0; stride *= b->shape[i--]) {
        b->y_stride[i] = stride;
    }
}

lh_tensor *lh_contiguous(lh_tape *tape, lh_tensor *x) {
    return x != NULL ? lh_convert(tape, x, x->dtype) : NULL;
}

lh_tensor *lh_convert(lh_tape *tape, lh_tensor *x, lh_dtype dtype) {
    if (x == NULL || (x->dtype == dtype && lh_tensor_is_contiguous(x))) return x;
    box b = {.rank = x->rank};
    for (int i = 0; i < x->rank; ++i) {
        b.shape[i] = x->shape[i];
        b.x_stride[i] = x->stride[i];
    }
    set_dense_strides(&b);
    return copied(tape, x, dtype, &b, "convert");
}

lh_tensor *lh_permute(lh_tape *tape, lh_tensor *x, const int *order) {
    if (x == NULL) return NULL;
    box b = {.rank = x->rank};
    unsigned seen = 0;
    for (int i = 0; i < x->rank; ++i) {
        if (order[i] < 0 || order[i] >= x->rank) break;
        seen |= 1u << order[i];
        b.shape[i] = x->shape[order[i]];
        b.x_stride[i] = x->stride[order[i]];
    }
    if (seen != (1u << x->rank) - 1u) {
        return LH_OP_FAIL("permute: not an order of the axes of %s", lh_shape_text(x));
    }
    set_dense_strides(&b);
    return copied(tape, x, x->dtype, &b, "permute");
}

/* ---- concat ---- */

/* The region of the whole that part i fills, as a box from part to whole. */
static box part_box(const lh_tensor *part, const lh_tensor *whole) {
    box b = {.rank = part->rank};
    for (int i = 0; i < part->rank; ++i) {
        b.shape[i] = part->shape[i];
        b.x_stride[i] = part->stride[i];
        b.y_stride[i] = whole->stride[i];
    }
    return b;
}

typedef struct part_place {
    box b;
    int64_t offset;
} part_place;

static lh_status concat_backward(lh_tape *tape, lh_node *node) {
    const part_place *places = node->args;
    const lh_act dy = lh_gradient_read(node->output[0]);
    for (int i = 0; i < node->input_count; ++i) {
        if (node->input[i] == NULL) continue;
        const box back = reversed(&places[i].b);
        lh_copy_args args = {.x = lh_act_from(dy, places[i].offset)};
        LH_TRY(lh_gradient_write(node->input[i], &args.y, &args.write));
        LH_TRY(copy_box(tape, &back, args));
    }
    return LH_OK;
}

/* Parts of both kinds make a real whole. */
static lh_dtype whole_dtype(lh_tensor *const *parts, int count) {
    lh_dtype dtype = parts[0]->dtype;
    for (int p = 1; p < count; ++p)
        dtype = lh_common_dtype(parts[p], dtype);
    return dtype;
}

/* Fills in the shape of the whole; false when the parts do not fit. */
static bool whole_shape(int axis, lh_tensor *const *parts, int count, int64_t *shape) {
    for (int i = 0; i < parts[0]->rank; ++i)
        shape[i] = parts[0]->shape[i];
    for (int p = 1; p < count; ++p) {
        if (parts[p]->rank != parts[0]->rank) return false;
        for (int i = 0; i < parts[0]->rank; ++i) {
            if (i != axis && parts[p]->shape[i] != shape[i]) return false;
        }
        shape[axis] += parts[p]->shape[axis];
    }
    return true;
}

lh_tensor *lh_concat(lh_tape *tape, int axis, lh_tensor *const *parts, int count) {
    for (int i = 0; i < count; ++i) {
        if (parts[i] == NULL) return NULL;
    }
    int64_t shape[LH_MAX_RANK];
    if (count < 1 || axis < 0 || axis >= parts[0]->rank ||
        !whole_shape(axis, parts, count, shape)) {
        return LH_OP_FAIL("concat: %d parts on axis %d, the first %s, the last %s", count, axis,
                          count > 0 ? lh_shape_text(parts[0]) : "none",
                          count > 0 ? lh_shape_text(parts[count - 1]) : "none");
    }
    lh_tensor *y = lh_tape_new(tape, whole_dtype(parts, count), parts[0]->rank, shape);
    part_place *places = lh_tape_scratch(tape, (size_t)count * sizeof *places);
    if (y == NULL || places == NULL) return NULL;
    int64_t offset = 0;
    for (int i = 0; i < count; ++i) {
        places[i] = (part_place){.b = part_box(parts[i], y), .offset = offset};
        const lh_copy_args args = {.x = lh_tensor_activation(parts[i]),
                                   .y = lh_act_from(lh_tensor_activation(y), offset)};
        if (copy_box(tape, &places[i].b, args) != LH_OK) return NULL;
        offset += parts[i]->shape[axis] * y->stride[axis];
    }
    const lh_record record = {.op = "concat",
                              .backward = concat_backward,
                              .input = parts,
                              .input_count = count,
                              LH_OUTPUTS(y),
                              .args = places,
                              .args_bytes = (size_t)count * sizeof *places};
    return lh_op_done(tape, LH_OK, y, &record);
}

/* ---- gather ---- */

static lh_status gather_backward(lh_tape *tape, lh_node *node) {
    lh_scatter_add_args args = *(const lh_scatter_add_args *)node->args;
    args.x = lh_gradient_read(node->output[0]);
    args.index = lh_tensor_integer(node->saved[0]);
    LH_TRY(lh_gradient_write_real(node->input[0], &args.y, &args.write));
    return LH_RUN_W(lh_tape_pool(tape), scatter_add, &args);
}

/* Of a one-hot vector the sum is the entry itself. */
static lh_tensor *gather_parts(lh_tape *tape, lh_tensor *table, lh_tensor *parts) {
    const int64_t count = parts->rank > 0 ? parts->shape[parts->rank - 1] : 0;
    if (table->rank != 2 || count < 1 || count > table->shape[0])
        return LH_OP_FAIL("gather: table %s, parts %s", lh_shape_text(table), lh_shape_text(parts));
    return lh_linear(tape, parts, lh_slice(tape, table, 0, 0, count), NULL, LH_UNARY_IDENTITY);
}

lh_tensor *lh_gather(lh_tape *tape, lh_tensor *table, lh_tensor *index) {
    table = lh_convert(tape, table, LH_REAL);
    if (table == NULL || index == NULL) return NULL;
    if (index->dtype != LH_I32) return gather_parts(tape, table, index);
    if (table->rank != 2 || index->rank >= LH_MAX_RANK) {
        return LH_OP_FAIL("gather: table %s, index %s", lh_shape_text(table), lh_shape_text(index));
    }
    if (!lh_integers_suit("gather", index)) return NULL;
    int64_t shape[LH_MAX_RANK];
    for (int i = 0; i < index->rank; ++i)
        shape[i] = index->shape[i];
    shape[index->rank] = table->shape[1];
    lh_tensor *y =
        lh_tape_new(tape, lh_pool_activation(lh_tape_pool(tape)), index->rank + 1, shape);
    if (y == NULL) return NULL;
    const lh_gather_args args = {.rows = lh_tensor_count(index),
                                 .width = table->shape[1],
                                 .entries = table->shape[0],
                                 .table = lh_tensor_real(table),
                                 .index = lh_tensor_integer(index),
                                 .y = lh_tensor_activation(y)};
    const lh_scatter_add_args back = {
        .rows = args.rows, .width = args.width, .entries = args.entries};
    const lh_record record = {.op = "gather",
                              .backward = gather_backward,
                              LH_INPUTS(table),
                              LH_OUTPUTS(y),
                              LH_SAVED(index),
                              .args = &back,
                              .args_bytes = sizeof back};
    return lh_op_done(tape, LH_RUN(lh_tape_pool(tape), gather, &args), y, &record);
}

/* ---- scatter_add ---- */

/* dx[r] = dy[index[r]]. */
static lh_status scatter_add_backward(lh_tape *tape, lh_node *node) {
    const lh_scatter_add_args *forward = node->args;
    const int64_t shape[] = {forward->rows, forward->width};
    lh_tensor *dx = lh_tape_new(tape, LH_REAL, 2, shape);
    if (dx == NULL) return lh_failed();
    const lh_gather_args args = {.rows = forward->rows,
                                 .width = forward->width,
                                 .entries = forward->entries,
                                 .table = lh_gradient_read_real(node->output[0]),
                                 .index = lh_tensor_integer(node->saved[0]),
                                 .y = lh_tensor_activation(dx)};
    LH_TRY(LH_RUN(lh_tape_pool(tape), gather, &args));
    return lh_gradient_give(node->input[0], dx);
}

lh_tensor *lh_scatter_add(lh_tape *tape, lh_tensor *x, lh_tensor *index, int64_t entries) {
    x = lh_contiguous(tape, x);
    if (x == NULL || index == NULL) return NULL;
    const int64_t rows = lh_tensor_count(index), width = lh_last_axis(x);
    if (entries < 0 || rows * width != lh_tensor_count(x))
        return LH_OP_FAIL("scatter_add: x %s, index %s, %lld entries", lh_shape_text(x),
                          lh_shape_text(index), (long long)entries);
    if (!lh_integers_suit("scatter_add", index)) return NULL;
    const int64_t shape[] = {entries, width};
    lh_tensor *y = lh_tape_new(tape, LH_REAL, 2, shape);
    if (y == NULL) return NULL;
    const lh_scatter_add_args args = {.rows = rows,
                                      .width = width,
                                      .entries = entries,
                                      .x = lh_tensor_activation(x),
                                      .index = lh_tensor_integer(index),
                                      .y = lh_tensor_real(y)};
    const lh_record record = {.op = "scatter_add",
                              .backward = scatter_add_backward,
                              LH_INPUTS(x),
                              LH_OUTPUTS(y),
                              LH_SAVED(index),
                              .args = &args,
                              .args_bytes = sizeof args};
    return lh_op_done(tape, LH_RUN_W(lh_tape_pool(tape), scatter_add, &args), y, &record);
}

/* ---- select_rows ---- */

static lh_status select_rows_backward(lh_tape *tape, lh_node *node) {
    lh_select_rows_backward_args args = *(const lh_select_rows_backward_args *)node->args;
    args.flag = lh_tensor_integer(node->saved[0]);
    args.dy = lh_gradient_read_real(node->output[0]);
    LH_TRY(lh_gradient_write_real(node->input[0], &args.da, &args.da_write));
    LH_TRY(lh_gradient_write_real(node->input[1], &args.dx, &args.dx_write));
    return LH_RUN(lh_tape_pool(tape), select_rows_backward, &args);
}

lh_tensor *lh_select_rows(lh_tape *tape, lh_tensor *flag, lh_tensor *a, lh_tensor *x) {
    a = lh_convert(tape, a, LH_REAL);
    x = lh_convert(tape, x, LH_REAL);
    if (flag == NULL || a == NULL || x == NULL) return NULL;
    const int64_t batch = x->rank > 0 ? x->shape[0] : 0, width = lh_tensor_count(a);
    if (lh_tensor_count(flag) != batch || batch * width != lh_tensor_count(x)) {
        return LH_OP_FAIL("select_rows: flag %s, a %s, x %s", lh_shape_text(flag), lh_shape_text(a),
                          lh_shape_text(x));
    }
    if (!lh_integers_suit("select_rows", flag)) return NULL;
    lh_tensor *y = lh_tape_new_like(tape, x);
    if (y == NULL) return NULL;
    const lh_select_rows_forward_args args = {.batch = batch,
                                              .width = width,
                                              .flag = lh_tensor_integer(flag),
                                              .a = lh_tensor_real(a),
                                              .x = lh_tensor_real(x),
                                              .y = lh_tensor_real(y)};
    const lh_select_rows_backward_args back = {.batch = batch, .width = width};
    const lh_record record = {.op = "select_rows",
                              .backward = select_rows_backward,
                              .at_once = true,
                              LH_INPUTS(a, x),
                              LH_OUTPUTS(y),
                              LH_SAVED(flag),
                              .args = &back,
                              .args_bytes = sizeof back};
    return lh_op_done(tape, LH_RUN(lh_tape_pool(tape), select_rows_forward, &args), y, &record);
}
