/* Moving data: fills, strided copies, rows by index, rings. Part of the contract (kernels.h). */
#ifndef LH_KERNELS_CONTRACT_MOVE_H
#define LH_KERNELS_CONTRACT_MOVE_H

#include "kernels/contract/check.h"

/* x[i] = value, i < count. */
typedef struct lh_fill_args {
    int64_t count;
    real value;
    real *x; /* out */
} lh_fill_args;

static inline lh_status lh_fill_check(const lh_fill_args *args) {
    return lh_sound(lh_are_sizes(args->count), true);
}

/* Strided copy: y[index . y_stride] (+)= x[index . x_stride] over a box of `shape`. Unequal dtypes
 * convert.
 * Permute, slice, concat, broadcast (x_stride 0), conversion and their gradients are all this
 * kernel.
 * A broadcast destination (y_stride 0) is not allowed: use reduce. */
typedef struct lh_copy_args {
    int rank; /* 0..LH_MAX_RANK; 0 copies one element */
    int64_t shape[LH_MAX_RANK];
    lh_act x; /* in */
    int64_t x_stride[LH_MAX_RANK];
    lh_act y; /* out */
    int64_t y_stride[LH_MAX_RANK];
    lh_write write;
} lh_copy_args;

static inline bool lh_copy_fits(const lh_copy_args *args) {
    if (args->rank < 0 || args->rank > LH_MAX_RANK) return false;
    int64_t joined = 0;
    for (int i = 0; i < args->rank; ++i)
        joined |= args->shape[i];
    return lh_are_sizes(joined);
}

static inline lh_status lh_copy_check(const lh_copy_args *args) {
    return lh_sound(lh_copy_fits(args), lh_is_activation(args->x) && lh_is_activation(args->y));
}

/* y[r] = table[index[r]] for rows of `width`; an index outside [0, entries) gives LH_EOPTION and
 * leaves the row zero. */
typedef struct lh_gather_args {
    int64_t rows, width, entries;
    const real *table;    /* in  [entries][width] */
    const int32_t *index; /* in  [rows] */
    lh_act y;             /* out [rows][width] */
} lh_gather_args;

static inline lh_status lh_gather_check(const lh_gather_args *args) {
    return lh_sound(lh_are_sizes(args->rows | args->width | args->entries),
                    lh_is_activation(args->y));
}

/* The transpose of gather: y[e] (+)= sum over r with index[r] = e of x[r], in order of r. */
typedef struct lh_scatter_add_args {
    int64_t rows, width, entries;
    lh_act x;             /* in  [rows][width] */
    const int32_t *index; /* in  [rows] */
    real *y;              /* out [entries][width] */
    lh_write write;
} lh_scatter_add_args;

static inline lh_status lh_scatter_add_check(const lh_scatter_add_args *args) {
    return lh_sound(lh_are_sizes(args->rows | args->width | args->entries),
                    lh_is_activation(args->x));
}

/* y[b] = flag[b] ? a : x[b]. Starts a batch row afresh from a learned value. */
typedef struct lh_select_rows_forward_args {
    int64_t batch, width;
    const int32_t *flag; /* in  [batch] */
    const real *a;       /* in  [width] */
    const real *x;       /* in  [batch][width] */
    real *y;             /* out [batch][width] */
} lh_select_rows_forward_args;

static inline lh_status lh_select_rows_forward_check(const lh_select_rows_forward_args *args) {
    return lh_sound(lh_are_sizes(args->batch | args->width), true);
}

/* da (+)= sum over flagged b of dy[b]; dx[b] (+)= flag[b] ? 0 : dy[b]. */
typedef struct lh_select_rows_backward_args {
    int64_t batch, width;
    const int32_t *flag; /* in  [batch] */
    const real *dy;      /* in  [batch][width] */
    real *da;            /* out optional [width] */
    lh_write da_write;
    real *dx; /* out optional [batch][width] */
    lh_write dx_write;
} lh_select_rows_backward_args;

static inline lh_status lh_select_rows_backward_check(const lh_select_rows_backward_args *args) {
    return lh_sound(lh_are_sizes(args->batch | args->width), true);
}

/* Appends `length` rows per batch row to a ring: token t of row b goes to slot (count[b] + t) %
 * capacity, then count[b] += length. With length > capacity only the last `capacity` tokens are
 * kept. The ring's two halves (keys and values) share count: pass advance only with the last.
 * Counts stay below 2^31 by subtracting capacity once they exceed 2 * capacity. */
typedef struct lh_ring_append_args {
    int64_t batch, capacity, length, width;
    const real *x;  /* in     [batch][length][width] */
    real *ring;     /* in out [batch][capacity][width] */
    int32_t *count; /* in out [batch] */
    bool advance;
} lh_ring_append_args;

static inline lh_status lh_ring_append_check(const lh_ring_append_args *args) {
    return lh_sound(lh_are_sizes(args->batch | args->capacity | args->length | args->width), true);
}

#endif

/* This family's part of kernels.def. */
#ifdef LH_KERNEL
LH_KERNEL(fill, LH_REAL)
LH_KERNEL(copy, args->x.dtype | args->y.dtype)
LH_KERNEL(gather, args->y.dtype)
LH_KERNEL_W(scatter_add, args->x.dtype)
LH_KERNEL(select_rows_forward, LH_REAL)
LH_KERNEL(select_rows_backward, LH_REAL)
LH_KERNEL(ring_append, LH_REAL)
#endif
