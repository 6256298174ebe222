/* Gates between what is kept and what is new, and the LSTM. Part of the contract (kernels.h). */
#ifndef LH_KERNELS_CONTRACT_GATE_H
#define LH_KERNELS_CONTRACT_GATE_H

#include "kernels/contract/check.h"

/* Fixed gate (Hutchins et al. 2022, eqs. 2-3): g = sigmoid(bias), y = c * g + z * (1 - g). */
typedef struct lh_fixed_gate_forward_args {
    int64_t rows, width;
    const real *c, *z; /* in  [rows][width] */
    const real *bias;  /* in  [width] */
    real *y;           /* out [rows][width] */
} lh_fixed_gate_forward_args;

static inline lh_status lh_fixed_gate_forward_check(const lh_fixed_gate_forward_args *args) {
    return lh_sound(lh_are_sizes(args->rows | args->width), true);
}

typedef struct lh_fixed_gate_backward_args {
    int64_t rows, width;
    const real *c, *z; /* in [rows][width] */
    const real *bias;  /* in [width] */
    const real *dy;    /* in [rows][width] */
    real *dc;          /* out optional [rows][width] */
    lh_write dc_write;
    real *dz; /* out optional [rows][width] */
    lh_write dz_write;
    real *dbias; /* out optional [width] */
    lh_write dbias_write;
} lh_fixed_gate_backward_args;

static inline lh_status lh_fixed_gate_backward_check(const lh_fixed_gate_backward_args *args) {
    return lh_sound(lh_are_sizes(args->rows | args->width), true);
}

/* LSTM gate (Hutchins et al. 2022, eqs. 5-7): y = c * sigmoid(f + forget_offset) + z * sigmoid(i +
 * input_offset). f and i are the pre-activations with their learned bias already added. */
typedef struct lh_lstm_gate_forward_args {
    int64_t rows, width;
    real forget_offset, input_offset; /* +1 and -1 in the paper */
    const real *c, *z, *f, *i;        /* in  [rows][width] */
    real *y;                          /* out [rows][width] */
} lh_lstm_gate_forward_args;

static inline lh_status lh_lstm_gate_forward_check(const lh_lstm_gate_forward_args *args) {
    return lh_sound(lh_are_sizes(args->rows | args->width), true);
}

typedef struct lh_lstm_gate_backward_args {
    int64_t rows, width;
    real forget_offset, input_offset;
    const real *c, *z, *f, *i; /* in [rows][width] */
    const real *dy;            /* in [rows][width] */
    real *dc, *dz, *df, *di;   /* out optional each [rows][width] */
    lh_write dc_write, dz_write, df_write, di_write;
} lh_lstm_gate_backward_args;

static inline lh_status lh_lstm_gate_backward_check(const lh_lstm_gate_backward_args *args) {
    return lh_sound(lh_are_sizes(args->rows | args->width), true);
}

/* One step of a whole LSTM (Hochreiter and Schmidhuber 1997, with forget gates), unlike the gate
 * above. gates: pre-activations of input, forget, cell and output, one after the other;
 *   next = sigmoid(f) * c + sigmoid(i) * tanh(g)        h = sigmoid(o) * tanh(next) */
typedef struct lh_lstm_cell_forward_args {
    int64_t rows, width;
    const real *gates; /* in  [rows][4 * width] */
    const real *c;     /* in  [rows][width] */
    real *next, *h;    /* out [rows][width] */
} lh_lstm_cell_forward_args;

static inline lh_status lh_lstm_cell_forward_check(const lh_lstm_cell_forward_args *args) {
    return lh_sound(lh_are_sizes(args->rows | args->width), true);
}

typedef struct lh_lstm_cell_backward_args {
    int64_t rows, width;
    const real *gates;      /* in [rows][4 * width] */
    const real *c;          /* in [rows][width] */
    const real *dnext, *dh; /* in optional [rows][width]: absent is zero */
    real *dgates;           /* out optional [rows][4 * width] */
    real *dc;               /* out optional [rows][width] */
    lh_write dgates_write, dc_write;
} lh_lstm_cell_backward_args;

static inline lh_status lh_lstm_cell_backward_check(const lh_lstm_cell_backward_args *args) {
    return lh_sound(lh_are_sizes(args->rows | args->width), true);
}

#endif

/* This family's part of kernels.def. */
#ifdef LH_KERNEL
LH_KERNEL(fixed_gate_forward, LH_REAL)
LH_KERNEL_W(fixed_gate_backward, LH_REAL)
LH_KERNEL(lstm_gate_forward, LH_REAL)
LH_KERNEL(lstm_gate_backward, LH_REAL)
LH_KERNEL(lstm_cell_forward, LH_REAL)
LH_KERNEL(lstm_cell_backward, LH_REAL)
#endif
