/* The kernel contract: one argument struct and one promise per kernel, two twins (cpu/, cuda/).
 *
 * Rules that hold for all of them:
 *  - A kernel is pure: it reads its `in` arguments, writes every element of each `out`, touches
 *    nothing else; it neither allocates nor prints nor keeps state. The launch has workspace.
 *  - Sizes are elements; size 0 is legal and does nothing. Tensors are dense and row-major unless a
 *    stride is named (strides in elements).
 *  - Same arguments, same bits on one backend, whatever the number of threads or the grid.
 *  - An optional pointer that is NULL switches its part off. A NULL gradient output is not wanted.
 *  - Gradient outputs obey their lh_write: LH_SET overwrites, LH_ADD accumulates.
 *  - Activations and their gradients lie in memory as reals or, on CUDA, as bf16. What is marked
 *    `act` has the dtype that the arguments name (LH_REAL when they say nothing) and its pointer
 *    leads to elements of that; all else is real. Arithmetic and sums are in f32 either way, the
 *    result is rounded once. A backend that lacks the dtype gives LH_EOPTION.
 *  - Sums over long axes accumulate in double on the CPU, in float with a fixed tree on CUDA.
 *  - NaN in gives NaN out for the rows concerned; a fully masked row gives zeros.
 *  - Return LH_OK; LH_ESHAPE or LH_EOPTION for arguments that break the contract. The op that
 *    launches the kernel adds the message. What only the data show, such as an index out of range,
 *    CUDA reports when the device is next synchronised or read. */
#ifndef LH_KERNELS_KERNELS_H
#define LH_KERNELS_KERNELS_H

#include "kernels/heads.h"
#include "kernels/prob_attention.h"
#include "kernels/random.h"
#include "kernels/rem.h"

/* What a kernel runs with, beside its arguments. */
typedef struct lh_launch {
    void *stream;    /* lh_device.stream; NULL on the CPU */
    void *workspace; /* at least <name>_workspace(args) bytes, 64-byte aligned; undefined */
} lh_launch;

/* x[i] = value, i < count. */
typedef struct lh_fill_args {
    int64_t count;
    real value;
    real *x; /* out */
} lh_fill_args;

/* Strided copy: y[index . y_stride] (+)= x[index . x_stride] over a box of `shape`.
 * Permute, slice, concat, broadcast (x_stride 0), conversion and their gradients are all this
 * kernel.
 * A broadcast destination (y_stride 0) is not allowed: use reduce. */
typedef struct lh_copy_args {
    int rank; /* 0..LH_MAX_RANK; 0 copies one element */
    int64_t shape[LH_MAX_RANK];
    const real *x; /* in  act */
    int64_t x_stride[LH_MAX_RANK];
    real *y; /* out act */
    int64_t y_stride[LH_MAX_RANK];
    lh_write write;
    lh_dtype x_dtype, y_dtype; /* unequal ones convert */
} lh_copy_args;

/* y[i] (+)= alpha * a[i] + beta * b[i], i < count. y may be a or b. */
typedef struct lh_linear_combination_args {
    int64_t count;
    real alpha, beta;
    const real *a; /* in  act */
    const real *b; /* in  act, optional */
    real *y;       /* out act */
    lh_write write;
    lh_dtype dtype;
} lh_linear_combination_args;

typedef enum lh_binary_op {
    LH_BINARY_ADD,
    LH_BINARY_SUB,
    LH_BINARY_MUL,
    LH_BINARY_DIV
} lh_binary_op;

/* How b spreads over a [rows][columns]. */
typedef enum lh_spread {
    LH_SPREAD_NONE,   /* b is [rows][columns] */
    LH_SPREAD_ROWS,   /* b is [columns], the same for every row */
    LH_SPREAD_COLUMNS /* b is [rows], the same for every column */
} lh_spread;

/* y[r][c] (+)= a[r][c] op b[...]. y may be a. */
typedef struct lh_binary_args {
    lh_binary_op op;
    lh_spread spread;
    int64_t rows, columns;
    const real *a; /* in  [rows][columns] */
    const real *b; /* in  see spread */
    real *y;       /* out [rows][columns] */
    lh_write write;
} lh_binary_args;

typedef enum lh_unary_op {
    LH_UNARY_IDENTITY,
    LH_UNARY_RELU,
    LH_UNARY_GELU,       /* tanh form: 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) */
    LH_UNARY_GELU_EXACT, /* 0.5 x (1 + erf(x / sqrt 2)) */
    LH_UNARY_TANH,
    LH_UNARY_SIGMOID,
    LH_UNARY_EXP,
    LH_UNARY_LOG,
    LH_UNARY_SQUARE,
    LH_UNARY_SQRT,
    LH_UNARY_RSQRT, /* 1 / sqrt(x) */
    LH_UNARY_ELU    /* x > 0 ? x : exp(x) - 1 */
} lh_unary_op;

/* y[i] = f(x[i]). y may be x. */
typedef struct lh_unary_forward_args {
    lh_unary_op op;
    int64_t count;
    const real *x; /* in  act */
    real *y;       /* out act */
    lh_dtype dtype;
} lh_unary_forward_args;

/* dx[i] (+)= dy[i] * f'(x[i]). IDENTITY, RELU, TANH, SIGMOID, EXP, ELU and the roots read only y,
 * the others only x; the pointer that is not read may be NULL. dx may be dy under LH_SET. */
typedef struct lh_unary_backward_args {
    lh_unary_op op;
    int64_t count;
    const real *x;  /* in  act */
    const real *y;  /* in  act */
    const real *dy; /* in  act */
    real *dx;       /* out act */
    lh_write write;
    lh_dtype dtype;
} lh_unary_backward_args;

typedef enum lh_reduce_op { LH_REDUCE_SUM, LH_REDUCE_MAX } lh_reduce_op;

/* y[o][i] (+)= alpha * sum_a x[o][a][i], or the maximum (alpha then 1 and write LH_SET). An empty
 * axis sums to 0; its maximum is -infinity. */
typedef struct lh_reduce_args {
    lh_reduce_op op;
    int64_t outer, axis, inner;
    real alpha;
    const real *x; /* in  [outer][axis][inner] act */
    real *y;       /* out [outer][inner] */
    lh_write write;
    lh_dtype x_dtype;
} lh_reduce_args;

/* Of y = the maximum of x along the axis: dx[o][a][i] (+)= dy[o][i] at the first a that holds it, 0
 * elsewhere. */
typedef struct lh_maximum_backward_args {
    int64_t outer, axis, inner;
    const real *x;  /* in  [outer][axis][inner] */
    const real *dy; /* in  [outer][inner] */
    real *dx;       /* out [outer][axis][inner] */
    lh_write write;
} lh_maximum_backward_args;

/* C = act(alpha * op(A) op(B) + bias), or C += alpha * op(A) op(B), for `batch` products.
 *
 * op(A) is [m][k], op(B) is [k][n], C is [m][n]; each row-major with its leading dimension
 * (elements between rows as stored, before the transpose) and its step between batch members (0
 * repeats). With LH_ADD there is no bias and no activation. `pre`, optional, gets the value before
 * the activation in C's layout (for activations whose gradient needs it).
 * The operands are rounded to `precision` first; one that the backend lacks gives LH_EOPTION, and
 * so does a matrix that lies in memory as bf16 unless bf16 is the precision. In bf16, C is rounded
 * before its bias and activation, too.
 * Flops 2*batch*m*n*k. The tiling depends on the shape alone. */
typedef struct lh_matmul_args {
    int64_t batch, m, n, k;
    bool transpose_a, transpose_b;
    real alpha;
    const real *a; /* in  act */
    int64_t a_leading, a_step;
    const real *b; /* in  act */
    int64_t b_leading, b_step;
    real *c; /* out act; must not overlap a or b */
    int64_t c_leading, c_step;
    lh_write write;
    const real *bias; /* in  optional [n] */
    lh_unary_op activation;
    real *pre; /* out optional, like c */
    lh_precision precision;
    lh_dtype a_dtype, b_dtype, c_dtype;
} lh_matmul_args;

/* y[r] = table[index[r]] for rows of `width`; an index outside [0, entries) gives LH_EOPTION and
 * leaves the row zero. */
typedef struct lh_gather_args {
    int64_t rows, width, entries;
    const real *table;    /* in  [entries][width] */
    const int32_t *index; /* in  [rows] */
    real *y;              /* out [rows][width] act */
    lh_dtype y_dtype;
} lh_gather_args;

/* The transpose of gather: y[e] (+)= sum over r with index[r] = e of x[r], in order of r. */
typedef struct lh_scatter_add_args {
    int64_t rows, width, entries;
    const real *x;        /* in  [rows][width] act */
    const int32_t *index; /* in  [rows] */
    real *y;              /* out [entries][width] */
    lh_write write;
    lh_dtype x_dtype;
} lh_scatter_add_args;

/* y[b] = flag[b] ? a : x[b]. Starts a batch row afresh from a learned value. */
typedef struct lh_select_rows_forward_args {
    int64_t batch, width;
    const int32_t *flag; /* in  [batch] */
    const real *a;       /* in  [width] */
    const real *x;       /* in  [batch][width] */
    real *y;             /* out [batch][width] */
} lh_select_rows_forward_args;

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

/* Layer normalisation over the last axis (Ba et al. 2016, eqs. 3-4).
 *   y[r][i] = gain[i] * (x[r][i] - mean[r]) * rstd[r] + bias[i],  rstd = 1 / sqrt(var + epsilon) */
typedef struct lh_layer_norm_forward_args {
    int64_t rows, width;
    real epsilon;
    const real *x;    /* in  [rows][width] act */
    const real *gain; /* in  [width] */
    const real *bias; /* in  optional [width] */
    real *y;          /* out [rows][width]; may be x act */
    real *mean;       /* out saved [rows] */
    real *rstd;       /* out saved [rows] */
    lh_dtype dtype;
} lh_layer_norm_forward_args;

typedef struct lh_layer_norm_backward_args {
    int64_t rows, width;
    const real *x;    /* in  [rows][width] act */
    const real *gain; /* in  [width] */
    const real *mean; /* in  [rows] */
    const real *rstd; /* in  [rows] */
    const real *dy;   /* in  [rows][width] act */
    real *dx;         /* out optional [rows][width] act */
    lh_write dx_write;
    real *dgain; /* out optional [width] */
    lh_write dgain_write;
    real *dbias; /* out optional [width] */
    lh_write dbias_write;
    lh_dtype dtype;
} lh_layer_norm_backward_args;

/* Root-mean-square normalisation: y = gain * x * rstd, rstd = 1 / sqrt(mean(x^2) + epsilon). */
typedef struct lh_rms_norm_forward_args {
    int64_t rows, width;
    real epsilon;
    const real *x;    /* in  [rows][width] act */
    const real *gain; /* in  [width] */
    real *y;          /* out [rows][width]; may be x act */
    real *rstd;       /* out saved [rows] */
    lh_dtype dtype;
} lh_rms_norm_forward_args;

typedef struct lh_rms_norm_backward_args {
    int64_t rows, width;
    const real *x;    /* in  [rows][width] act */
    const real *gain; /* in  [width] */
    const real *rstd; /* in  [rows] */
    const real *dy;   /* in  [rows][width] act */
    real *dx;         /* out optional [rows][width] act */
    lh_write dx_write;
    real *dgain; /* out optional [width] */
    lh_write dgain_write;
    lh_dtype dtype;
} lh_rms_norm_backward_args;

/* Unit length of each row: y = x * rnorm, rnorm = 1 / sqrt(sum(x^2) + epsilon)
 * (query/key normalisation, Henry et al. 2020). Rows are head vectors, so width is small. */
typedef struct lh_unit_norm_forward_args {
    int64_t rows, width;
    real epsilon;
    const real *x; /* in  [rows][width] act */
    real *y;       /* out [rows][width]; may be x act */
    real *rnorm;   /* out saved [rows] */
    lh_dtype dtype;
} lh_unit_norm_forward_args;

/* dx (+)= rnorm * (dy - y (y . dy)). dx may be dy under LH_SET. */
typedef struct lh_unit_norm_backward_args {
    int64_t rows, width;
    const real *y;     /* in [rows][width] act */
    const real *rnorm; /* in [rows] */
    const real *dy;    /* in [rows][width] act */
    real *dx;          /* out [rows][width] act */
    lh_write write;
    lh_dtype dtype;
} lh_unit_norm_backward_args;

/* y[r] = softmax(x[r]). y may be x. A row of -infinity gives zeros. */
typedef struct lh_softmax_forward_args {
    int64_t rows, width;
    const real *x; /* in  [rows][width] */
    real *y;       /* out [rows][width] */
} lh_softmax_forward_args;

/* dx (+)= y * (dy - sum(y * dy)). */
typedef struct lh_softmax_backward_args {
    int64_t rows, width;
    const real *y;  /* in [rows][width] */
    const real *dy; /* in [rows][width] */
    real *dx;       /* out [rows][width] */
    lh_write write;
} lh_softmax_backward_args;

/* Softmax cross-entropy of one chunk of rows, value and gradient in one pass.
 *
 *   loss[r] = weight[r] * (log sum_v exp(scale * x[r][v]) - scale * x[r][target[r]])      (nats)
 *   x[r][v] <- weight[r] * gradient_scale * scale * (softmax(scale * x[r])[v] - [v == target[r]])
 *
 * The gradient overwrites the logits when `gradient` is set. A row of weight 0 has loss 0, gradient
 * 0, and its target is not read. correct[r] is 1 when the target has the largest logit (first of
 * equals) and the weight is not 0. An invalid target under a weight other than 0 gives LH_EOPTION.
 */
typedef struct lh_cross_entropy_args {
    int64_t rows, vocabulary;
    real scale;
    real *x;               /* in, out when gradient [rows][vocabulary]: logits before scale */
    const int32_t *target; /* in  [rows] */
    const real *weight;    /* in  optional [rows]: 1 each */
    bool gradient;
    const real *gradient_scale; /* in  optional: one number on the device, default 1 */
    real *loss;                 /* out [rows] */
    real *correct;              /* out optional [rows] */
} lh_cross_entropy_args;

/* Dropout over [outer][length][width]: y (+)= keep ? x / (1 - rate) : 0.
 * Element (o, t, d) draws word first + (o * length + t) * width + d of `key`, or with a period word
 * (t % period) * width + d: that shares one mask over the batch and repeats it in time (the "tiled"
 * dropout of the Block-Recurrent Transformer's code). The gradient is the same kernel on dy. y may
 * be x under LH_SET. */
typedef struct lh_dropout_args {
    int64_t outer, length, width, period;
    double rate;
    const lh_random_key *key; /* in, on the device */
    const real *x;            /* in  act */
    real *y;                  /* out act */
    lh_write write;
    int64_t first; /* words that batch rows of other processes draw before these */
    lh_dtype dtype;
} lh_dropout_args;

/* Fixed gate (Hutchins et al. 2022, eqs. 2-3): g = sigmoid(bias), y = c * g + z * (1 - g). */
typedef struct lh_fixed_gate_forward_args {
    int64_t rows, width;
    const real *c, *z; /* in  [rows][width] */
    const real *bias;  /* in  [width] */
    real *y;           /* out [rows][width] */
} lh_fixed_gate_forward_args;

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

/* LSTM gate (Hutchins et al. 2022, eqs. 5-7): y = c * sigmoid(f + forget_offset) + z * sigmoid(i +
 * input_offset). f and i are the pre-activations with their learned bias already added. */
typedef struct lh_lstm_gate_forward_args {
    int64_t rows, width;
    real forget_offset, input_offset; /* +1 and -1 in the paper */
    const real *c, *z, *f, *i;        /* in  [rows][width] */
    real *y;                          /* out [rows][width] */
} lh_lstm_gate_forward_args;

typedef struct lh_lstm_gate_backward_args {
    int64_t rows, width;
    real forget_offset, input_offset;
    const real *c, *z, *f, *i; /* in [rows][width] */
    const real *dy;            /* in [rows][width] */
    real *dc, *dz, *df, *di;   /* out optional each [rows][width] */
    lh_write dc_write, dz_write, df_write, di_write;
} lh_lstm_gate_backward_args;

/* One step of a whole LSTM (Hochreiter and Schmidhuber 1997, with forget gates), unlike the gate
 * above. gates: pre-activations of input, forget, cell and output, one after the other;
 *   next = sigmoid(f) * c + sigmoid(i) * tanh(g)        h = sigmoid(o) * tanh(next) */
typedef struct lh_lstm_cell_forward_args {
    int64_t rows, width;
    const real *gates; /* in  [rows][4 * width] */
    const real *c;     /* in  [rows][width] */
    real *next, *h;    /* out [rows][width] */
} lh_lstm_cell_forward_args;

typedef struct lh_lstm_cell_backward_args {
    int64_t rows, width;
    const real *gates;      /* in [rows][4 * width] */
    const real *c;          /* in [rows][width] */
    const real *dnext, *dh; /* in optional [rows][width]: absent is zero */
    real *dgates;           /* out optional [rows][4 * width] */
    real *dc;               /* out optional [rows][width] */
    lh_write dgates_write, dc_write;
} lh_lstm_cell_backward_args;

/* An attention, whatever the architecture: softmax over all sources together.
 *
 *   score(i, j) = head_scale[h] * (scale * q_i . (k_j + positions[entry(i - p_j)])
 *                                  + bias[h][bucket(i - p_j)])
 *   out_i = sum_j dropout(softmax_j(score(i, j))) v_j
 *
 * A key at position p is visible from query i when min_distance <= i - p <= max_distance and, with
 * chunk > 0, floor(p / chunk) >= floor(i / chunk) - chunks_back. So causal is min_distance 0,
 * causal without the token itself is 1, a window of W tokens before the token is [1, W], and
 * [-LH_FAR, LH_FAR] sees all. bucket(d) = bucket_of[clamp(d - bucket_first, 0, bucket_span - 1)];
 * T5's buckets and a clipped learned bias are both such tables. entry(d) = clamp(d -
 * position_first, 0, position_count - 1): learned vectors by distance (Shaw et al. 2018, eq. 4), of
 * each head or shared by all. Keys of an `everywhere` source have neither bias nor position vector.
 * A query that sees no key gets zeros.
 *
 * Dropout draws word (((b + first_batch) * heads + h) * Q + i') * K + slot of `key`: with
 * dropout_period P > 0 the mask is shared by all batch rows (b + first_batch = 0) and by blocks (i'
 * = i mod P, Q = P, slot = (i - p) + P, K = 3 P), else i' = i, Q = queries, slot = ordinal of the
 * key over all sources, K = number of keys. Keys of an `everywhere` source are not dropped when
 * there is a period. */
typedef struct lh_attention_spec {
    int64_t batch, heads, queries, head_width;
    real scale;
    int64_t min_distance, max_distance;
    int64_t chunk, chunks_back;
    const real *head_scale; /* in optional [heads] */
    const real *bias;       /* in optional [heads][buckets] */
    int64_t buckets;
    const int32_t *bucket_of; /* in [bucket_span] */
    int64_t bucket_first, bucket_span;
    const real *positions;  /* in optional [position_heads][position_count][head_width] */
    int64_t position_heads; /* 1 or heads */
    int64_t position_count, position_first;
    double dropout;
    int64_t dropout_period;
    int64_t first_batch;      /* batch rows of other processes before these */
    const lh_random_key *key; /* in, on the device; when dropout > 0 */
    lh_precision precision;   /* of the operands of products; bf16 rounds weights, too */
    int source_count;
    lh_key_source source[LH_KEY_SOURCES];
} lh_attention_spec;

/* Scores live only in a tile of workspace: memory is linear in queries. */
typedef struct lh_attention_forward_args {
    lh_attention_spec spec;
    lh_heads q;   /* in  [batch][queries][heads][head_width] */
    lh_heads out; /* out [batch][queries][heads][head_width] */
    real *lse;    /* out saved [batch][heads][queries]: log sum exp of the scores */
} lh_attention_forward_args;

typedef struct lh_attention_backward_args {
    lh_attention_spec spec;
    lh_heads q, out, dout; /* in */
    const real *lse;       /* in */
    lh_heads dq;           /* out optional (data NULL) */
    lh_write dq_write;
    real *dhead_scale; /* out optional [heads] */
    lh_write dhead_scale_write;
    real *dbias; /* out optional [heads][buckets] */
    lh_write dbias_write;
    real *dpositions; /* out optional, as positions; summed over batch rows and sharing heads */
    lh_write dpositions_write;
} lh_attention_backward_args;

/* Attention of each query and head to its `top` nearest keys (largest q . k) of a memory of past
 * tokens (Wu et al. 2022, Memorizing Transformers, section 3.2): softmax over head_scale[h] * q . k
 * of those. Row b holds its newest min(count[b], capacity) tokens in slots [0, that); order does
 * not matter. Equal scores prefer the lower slot. With fewer than top keys the rest of index is -1
 * and of weight 0; with none the output is zero. Not differentiable in the memory. */
typedef struct lh_knn_attention_forward_args {
    int64_t batch, heads, queries, head_width, capacity, top;
    const real *head_scale; /* in optional [heads] */
    lh_heads q;             /* in [batch][queries][heads][head_width] */
    const real *k, *v;      /* in [batch][capacity][heads][head_width] */
    const int32_t *count;   /* in [batch]: tokens ever appended */
    lh_heads out;           /* out [batch][queries][heads][head_width] */
    int32_t *index;         /* out saved [batch][queries][heads][top] */
    real *weight;           /* out saved [batch][queries][heads][top] */
} lh_knn_attention_forward_args;

typedef struct lh_knn_attention_backward_args {
    int64_t batch, heads, queries, head_width, capacity, top;
    const real *head_scale;
    lh_heads q, dout;     /* in */
    const real *k, *v;    /* in */
    const int32_t *index; /* in */
    const real *weight;   /* in */
    lh_heads dq;          /* out optional */
    lh_write dq_write;
    real *dhead_scale; /* out optional [heads] */
    lh_write dhead_scale_write;
} lh_knn_attention_backward_args;

#include "kernels/lsh.h"

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

/* y[0] (+)= sum x[i]^2, in double on the CPU, rounded once. */
typedef struct lh_sum_squares_args {
    int64_t count;
    const real *x; /* in */
    double *y;     /* out [1] on the device */
    lh_write write;
} lh_sum_squares_args;

/* factor[0] = min(1, max_norm / sqrt(sum_squares[0])), 1 when max_norm is 0. */
typedef struct lh_clip_factor_args {
    const double *sum_squares; /* in */
    double max_norm;
    real *factor; /* out */
} lh_clip_factor_args;

/* What changes from step to step for an optimiser lives in one small device struct, so that a
 * captured graph can be replayed. */
typedef struct lh_optimizer_step {
    double rate;  /* learning rate of this step */
    int64_t step; /* 0-based */
} lh_optimizer_step;

/* g' = factor * g + weight_decay * x; m = momentum * m + g'; x -= rate * m (m absent: x -= rate *
 * g'). */
typedef struct lh_sgd_args {
    int64_t count;
    const lh_optimizer_step *step; /* in, on the device */
    double momentum, weight_decay;
    const real *factor; /* in optional: gradient factor from clipping */
    const real *g;      /* in */
    real *x, *m;        /* in out; m optional */
} lh_sgd_args;

/* Adam (Kingma and Ba 2015, algorithm 1) with bias correction; decoupled: AdamW (Loshchilov and
 * Hutter 2019, algorithm 2), x -= rate * weight_decay * x, else the decay joins the gradient. */
typedef struct lh_adam_args {
    int64_t count;
    const lh_optimizer_step *step; /* in, on the device */
    double beta1, beta2, epsilon, weight_decay;
    bool decoupled;
    const real *factor; /* in optional */
    const real *g;      /* in */
    real *x, *m, *v;    /* in out */
} lh_adam_args;

/* Adafactor (Shazeer and Stern 2018, algorithms 4-5) in the form of the paper's own code base, for
 * a tensor seen as [outer][rows][columns] with the last two the factored axes: beta2 = 1 - (t +
 * 1)^-decay; G = g^2 + 1e-30 factored: row = beta2 row + (1 - beta2) mean_columns(G); col likewise
 * over rows; y = g * (row / mean_rows(row))^-1/2 * col^-1/2 else:     v = beta2 v + (1 - beta2) G;
 * y = g * v^-1/2 y /= max(1, rms(y) / clip); u = rate * max(rms(x), 1e-3) * y (without
 * parameter_scale: rate * y) momentum > 0: m = momentum * m + (1 - momentum) * u; x -= m; else x -=
 * u. rms is over the whole tensor. */
typedef struct lh_adafactor_args {
    int64_t outer, rows, columns;
    bool factored, parameter_scale;
    const lh_optimizer_step *step; /* in, on the device */
    double decay, clip, momentum;
    const real *factor; /* in optional */
    const real *g;      /* in     [outer][rows][columns] */
    real *x;            /* in out [outer][rows][columns] */
    real *row;          /* in out [outer][rows]    when factored */
    real *column;       /* in out [outer][columns] when factored */
    real *v;            /* in out like x           when not factored */
    real *m;            /* in out like x           when momentum > 0 */
} lh_adafactor_args;

/* The same for the first `count` tensors of the list, which share no memory that is written. */
enum { LH_ADAFACTOR_TENSORS = 16 };

typedef struct lh_adafactor_all_args {
    int64_t count; /* 0..LH_ADAFACTOR_TENSORS */
    lh_adafactor_args tensor[LH_ADAFACTOR_TENSORS];
} lh_adafactor_all_args;

/* The table that a backend fills. `run` and `workspace` entries are made from kernels.def. */
typedef struct lh_kernels {
    const char *name; /* "cpu-avx512", "cuda" ... */
#define LH_KERNEL(k)   lh_status (*k)(const lh_launch *, const lh_##k##_args *);
#define LH_KERNEL_W(k) LH_KERNEL(k) size_t (*k##_workspace)(const lh_##k##_args *);
#include "kernels/kernels.def"
#undef LH_KERNEL
#undef LH_KERNEL_W
} lh_kernels;

#endif
