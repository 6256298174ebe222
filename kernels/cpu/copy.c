/* Strided copy. The axes are first brought into a normal form: unit axes dropped, the axis along
 * which y is densest last, neighbours merged. What then remains is a list of lines along the last
 * axis, and where x runs along another axis than y, a list of planes to transpose. */
#include <string.h>

#include "kernels/cpu/act.h"
#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/parallel.h"

enum { BLOCK = 32 }; /* a transposed block: two times 4 KiB */

typedef struct copy_axis {
    int64_t size, x_stride, y_stride;
} copy_axis;

typedef struct copy_box {
    int rank;
    copy_axis axis[LH_MAX_RANK + 1]; /* outermost first */
    lh_act x, y;
    bool add;
} copy_box;

/* How elements are copied, each a loop of its own. */
#define COPY_KINDS(X)                                                                              \
    X(LH_REAL, LH_REAL, false)                                                                     \
    X(LH_REAL, LH_REAL, true)                                                                      \
    X(LH_REAL, LH_BF16, false)                                                                     \
    X(LH_REAL, LH_BF16, true)                                                                      \
    X(LH_BF16, LH_REAL, false)                                                                     \
    X(LH_BF16, LH_REAL, true)                                                                      \
    X(LH_BF16, LH_BF16, false)                                                                     \
    X(LH_BF16, LH_BF16, true)

typedef struct copy_kind {
    lh_dtype x, y;
    bool add;
} copy_kind;

static bool is_kind(const copy_box *box, lh_dtype x, lh_dtype y, bool add) {
    return box->x.dtype == x && box->y.dtype == y && box->add == add;
}

static void sort_axes(copy_box *box) {
    for (int i = 1; i < box->rank; ++i) {
        const copy_axis axis = box->axis[i];
        int place = i;
        for (; place > 0 && box->axis[place - 1].y_stride < axis.y_stride; --place)
            box->axis[place] = box->axis[place - 1];
        box->axis[place] = axis;
    }
}

static void merge_axes(copy_box *box) {
    int rank = 0;
    for (int i = 0; i < box->rank; ++i) {
        const copy_axis axis = box->axis[i];
        copy_axis *last = &box->axis[rank > 0 ? rank - 1 : 0];
        const bool joins = rank > 0 && last->x_stride == axis.x_stride * axis.size &&
                           last->y_stride == axis.y_stride * axis.size;
        if (joins)
            *last = (copy_axis){last->size * axis.size, axis.x_stride, axis.y_stride};
        else
            box->axis[rank++] = axis;
    }
    box->rank = rank;
}

/* Gives a box of rank at least 1; `empty` tells that there is nothing to copy. */
static copy_box normalize(const lh_copy_args *args, bool *empty) {
    copy_box box = {.x = args->x, .y = args->y, .add = args->write == LH_ADD};
    *empty = false;
    for (int i = 0; i < args->rank; ++i) {
        if (args->shape[i] == 0) *empty = true;
        if (args->shape[i] == 1) continue;
        box.axis[box.rank++] = (copy_axis){args->shape[i], args->x_stride[i], args->y_stride[i]};
    }
    sort_axes(&box);
    merge_axes(&box);
    if (box.rank == 0) box.axis[box.rank++] = (copy_axis){1, 1, 1};
    return box;
}

LH_SPECIALIZED void strided_line(copy_kind kind, int64_t count, const void *x, int64_t x_stride,
                                 void *y, int64_t y_stride) {
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) {
        const real value = lh_load(kind.x, x, i * x_stride);
        lh_store(kind.y, y, i * y_stride,
                 kind.add ? lh_load(kind.y, y, i * y_stride) + value : value);
    }
}

LH_SPECIALIZED void line(copy_kind kind, copy_axis axis, int64_t count, const void *x, void *y) {
    if (axis.y_stride != 1)
        strided_line(kind, count, x, axis.x_stride, y, axis.y_stride);
    else if (axis.x_stride == 1 && !kind.add && kind.x == kind.y)
        memcpy(y, x, (size_t)(count * lh_size_of(kind.y)));
    else if (axis.x_stride == 1)
        strided_line(kind, count, x, 1, y, 1);
    else if (axis.x_stride == 0)
        strided_line(kind, count, x, 0, y, 1);
    else
        strided_line(kind, count, x, axis.x_stride, y, 1);
}

/* Offsets of entry `index` of the first `rank` axes, counted row-major. */
static void locate(const copy_box *box, int rank, int64_t index, int64_t *x, int64_t *y) {
    *x = *y = 0;
    for (int i = rank - 1; i >= 0; --i) {
        const int64_t place = index % box->axis[i].size;
        index /= box->axis[i].size;
        *x += place * box->axis[i].x_stride;
        *y += place * box->axis[i].y_stride;
    }
}

static int64_t outer_count(const copy_box *box, int rank) {
    int64_t count = 1;
    for (int i = 0; i < rank; ++i)
        count *= box->axis[i].size;
    return count;
}

LH_SPECIALIZED void lines_of(const copy_box *box, copy_kind kind, lh_range lines, lh_range part) {
    const int outer = box->rank - 1;
    const copy_axis last = box->axis[outer];
    const int64_t count = part.end - part.begin;
    for (int64_t i = lines.begin; i < lines.end; ++i) {
        int64_t x_offset, y_offset;
        locate(box, outer, i, &x_offset, &y_offset);
        line(kind, last, count, lh_at(box->x, x_offset + part.begin * last.x_stride),
             lh_at(box->y, y_offset + part.begin * last.y_stride));
    }
}

/* Lines [lines.begin, lines.end), of each the elements [part.begin, part.end). */
static void copy_lines(const copy_box *box, lh_range lines, lh_range part) {
#define COPY_CASE(x, y, add)                                                                       \
    if (is_kind(box, x, y, add)) lines_of(box, (copy_kind){x, y, add}, lines, part);
    COPY_KINDS(COPY_CASE)
#undef COPY_CASE
}

/* Lines, a part of each. */
typedef struct copy_cut {
    const copy_box *box;
    int64_t lines, size, length, parts;
} copy_cut;

static void copy_part(const void *context, int64_t task) {
    const copy_cut *cut = context;
    copy_lines(cut->box, lh_chunk(cut->lines, cut->size, task / cut->parts),
               lh_chunk(cut->length, LH_CHUNK, task % cut->parts));
}

static void copy_by_lines(const copy_box *box) {
    const int64_t length = box->axis[box->rank - 1].size;
    const copy_cut cut = {.box = box,
                          .lines = outer_count(box, box->rank - 1),
                          .size = lh_rows_per_chunk(length),
                          .length = length,
                          .parts = lh_chunk_count(length, LH_CHUNK)};
    const int64_t tasks = lh_chunk_count(cut.lines, cut.size) * cut.parts;
    lh_each_task(tasks, tasks > 1, copy_part, &cut);
}

/* A block of a plane: `rows` along the axis where x is dense, `columns` along the last. */
typedef struct copy_block {
    copy_axis row, column;
    lh_range rows, columns;
    int64_t x_offset, y_offset; /* of the plane */
} copy_block;

LH_SPECIALIZED void rows_of(const copy_box *box, copy_kind kind, const copy_block *b) {
    const int64_t count = b->columns.end - b->columns.begin;
    for (int64_t r = b->rows.begin; r < b->rows.end; ++r)
        strided_line(kind, count,
                     lh_at(box->x, b->x_offset + r + b->columns.begin * b->column.x_stride),
                     b->column.x_stride,
                     lh_at(box->y, b->y_offset + r * b->row.y_stride + b->columns.begin), 1);
}

static void transpose_block(const copy_box *box, const copy_block *block) {
#define COPY_CASE(x, y, add)                                                                       \
    if (is_kind(box, x, y, add)) rows_of(box, (copy_kind){x, y, add}, block);
    COPY_KINDS(COPY_CASE)
#undef COPY_CASE
}

/* The axis along which x is dense while y is dense along the last; -1 when there is none. */
static int transposed_axis(const copy_box *box) {
    const copy_axis last = box->axis[box->rank - 1];
    if (last.y_stride != 1 || last.x_stride <= 1) return -1;
    for (int i = box->rank - 2; i >= 0; --i)
        if (box->axis[i].x_stride == 1) return i;
    return -1;
}

/* Brings the dense axis of x next to the last one, so that the rest counts planes. */
static void copy_by_planes(copy_box *box, int dense) {
    const copy_axis row = box->axis[dense], column = box->axis[box->rank - 1];
    for (int i = dense; i < box->rank - 2; ++i)
        box->axis[i] = box->axis[i + 1];
    const int outer = box->rank - 2;
    const int64_t across = lh_chunk_count(row.size, BLOCK);
    const int64_t along = lh_chunk_count(column.size, BLOCK);
    const int64_t tasks = outer_count(box, outer) * across * along;
    const bool large = tasks * BLOCK * BLOCK > LH_CHUNK;
#pragma omp parallel for schedule(static) if (large)
    for (int64_t task = 0; task < tasks; ++task) {
        copy_block block = {.row = row, .column = column};
        locate(box, outer, task / (across * along), &block.x_offset, &block.y_offset);
        block.rows = lh_chunk(row.size, BLOCK, task / along % across);
        block.columns = lh_chunk(column.size, BLOCK, task % along);
        transpose_block(box, &block);
    }
}

lh_status lh_cpu_copy(const lh_launch *launch, const lh_copy_args *args) {
    (void)launch;
    bool empty;
    copy_box box = normalize(args, &empty);
    if (empty) return LH_OK;
    const int dense = transposed_axis(&box);
    if (dense >= 0)
        copy_by_planes(&box, dense);
    else
        copy_by_lines(&box);
    return LH_OK;
}
