/* Matrix products: transposed, padded and repeated operands, fused bias and activation, precisions.
 */
#include "tests/kernels/conformance.h"

typedef struct product {
    int64_t batch, m, n, k;
    bool transpose_a, transpose_b, padded, bias, pre, residual;
    bool repeat_a, repeat_b; /* the same matrix for the whole batch */
    lh_unary_op activation;
    lh_write write;
    lh_precision precision;
} product;

static int64_t stored_rows(int64_t rows, int64_t columns, bool transposed) {
    return transposed ? columns : rows;
}

/* Elements from the first to the last one of a batch of strided matrices. */
static int64_t span(int64_t batch, int64_t rows, int64_t columns, int64_t leading, int64_t step) {
    if (batch == 0 || rows == 0 || columns == 0) return 0;
    return (batch - 1) * step + (rows - 1) * leading + columns;
}

static void open_product(suite *s, const product *p, lh_matmul_args *args) {
    const int64_t padding = p->padded ? 3 : 0;
    const int64_t a_rows = stored_rows(p->m, p->k, p->transpose_a),
                  a_columns = p->m + p->k - a_rows;
    const int64_t b_rows = stored_rows(p->k, p->n, p->transpose_b),
                  b_columns = p->k + p->n - b_rows;
    *args = (lh_matmul_args){.batch = p->batch,
                             .m = p->m,
                             .n = p->n,
                             .k = p->k,
                             .transpose_a = p->transpose_a,
                             .transpose_b = p->transpose_b,
                             .alpha = p->repeat_a ? LH_R(0.75) : LH_R(1),
                             .a_leading = a_columns + padding,
                             .b_leading = b_columns + padding,
                             .c_leading = p->n + padding,
                             .write = p->write,
                             .activation = p->activation,
                             .precision = p->precision};
    args->a_step = p->repeat_a ? 0 : a_rows * args->a_leading + padding;
    args->b_step = p->repeat_b ? 0 : b_rows * args->b_leading + padding;
    args->c_step = p->m * args->c_leading + padding;
    case_open(s, args, sizeof *args,
              "%" PRId64 " x %" PRId64 " x %" PRId64 " x %" PRId64
              ", transposed %d %d, padded %d, repeated %d %d, bias %d, activation %d, pre %d, "
              "residual %d, write %d, precision %d",
              p->batch, p->m, p->n, p->k, p->transpose_a, p->transpose_b, p->padded, p->repeat_a,
              p->repeat_b, p->bias, p->activation, p->pre, p->residual, p->write, p->precision);
    case_in(s, "a", &args->a, span(p->batch, a_rows, a_columns, args->a_leading, args->a_step));
    case_in(s, "b", &args->b, span(p->batch, b_rows, b_columns, args->b_leading, args->b_step));
}

/* The value before the activation is rounded, too, and may be larger than what comes of it. */
static void scale_before_activation(suite *s, const lh_matmul_args *args) {
    const double sum = 3 * fabs((double)args->alpha) * sqrt((double)args->k);
    if (args->activation != LH_UNARY_IDENTITY) case_scale(s, &args->c, sum);
}

/* Every choice of matrices in bf16, one after the other. */
static void mark_dtypes(suite *s, lh_matmul_args *args) {
    if (s->dtype != LH_BF16 || args->precision != LH_PRECISION_BF16) return;
    const int choice = 1 + s->ordinal % 7;
    if (choice & 1) args->a.dtype = LH_BF16;
    if (choice & 2) args->b.dtype = LH_BF16;
    if (choice & 4) args->c.dtype = LH_BF16;
    if (args->c.dtype == LH_BF16) scale_before_activation(s, args);
    case_dtype(s, &args->a, args->a.dtype);
    case_dtype(s, &args->b, args->b.dtype);
    case_dtype(s, &args->c, args->c.dtype);
    case_dtype(s, &args->pre, args->c.dtype);
    case_dtype(s, &args->residual, args->c.dtype);
}

static void matmul(suite *s, const product *p) {
    lh_matmul_args args;
    open_product(s, p, &args);
    const int64_t c_span = span(p->batch, p->m, p->n, args.c_leading, args.c_step);
    case_out(s, "c", &args.c, c_span, p->write);
    if (p->bias) case_in(s, "bias", &args.bias, p->n);
    if (p->residual) case_in(s, "residual", &args.residual, c_span);
    if (p->pre) case_out(s, "pre", &args.pre, c_span, LH_SET);
    if (!suite_has_precision(s, p->precision)) case_expect(s, LH_EOPTION, false);
    mark_dtypes(s, &args);
    case_flops(s, 2.0 * (double)p->batch * (double)p->m * (double)p->n * (double)p->k);
    case_run(s);
}

static void with_flags(suite *s, const int64_t *size, int row, lh_precision precision) {
    const bool add = suite_flag(row, 5), residual = add && suite_flag(row, 6);
    const product p = {.batch = size[0],
                       .m = size[1],
                       .n = size[2],
                       .k = size[3],
                       .transpose_a = suite_flag(row, 0),
                       .transpose_b = suite_flag(row, 1),
                       .padded = suite_flag(row, 2),
                       .repeat_a = suite_flag(row, 3),
                       .repeat_b = suite_flag(row, 4),
                       .residual = residual,
                       .write = write_of(add && !residual),
                       .bias = !add && suite_flag(row, 6),
                       .activation = add ? LH_UNARY_IDENTITY : (lh_unary_op)(row % 6),
                       .pre = !add && row % 3 == 0,
                       .precision = precision};
    matmul(s, &p);
}

/* What cuBLASLt takes along: rows of multiples of 8, one product. */
static void with_epilogues(suite *s, lh_precision precision) {
    static const lh_unary_op taken[] = {LH_UNARY_IDENTITY, LH_UNARY_RELU, LH_UNARY_GELU};
    for (int flags = 0; flags < 16; flags++) {
        product p = {.batch = 1, .m = 40, .n = 72, .k = 24, .precision = precision};
        p.transpose_a = flags % 2 == 1;
        p.transpose_b = flags / 2 % 2 == 1;
        p.bias = flags / 4 % 2 == 1;
        p.pre = flags / 8 == 1;
        for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
            p.activation = taken[i];
            matmul(s, &p);
        }
        if (p.bias || p.pre) continue;
        p.activation = LH_UNARY_IDENTITY;
        p.residual = true;
        matmul(s, &p);
    }
}

void cases_matmul(suite *s) {
    static const int64_t small[][4] = {{0, 3, 4, 5},    {2, 0, 4, 5},    {2, 3, 0, 5},
                                       {1, 1, 1, 1},    {3, 1, 1, 7},    {2, 7, 5, 3},
                                       {1, 8, 8, 8},    {3, 17, 9, 2},   {2, 31, 33, 17},
                                       {1, 1, 129, 65}, {1, 127, 1, 64}, {4, 16, 15, 64}};
    static const int64_t large[][4] = {{1, 255, 64, 31}, {1, 257, 63, 33},  {1, 65, 257, 40},
                                       {1, 513, 19, 17}, {2, 129, 130, 67}, {8, 64, 32, 16},
                                       {1, 9, 1021, 33}, {1, 33, 5, 1021},  {1, 256, 256, 128},
                                       {1, 3, 513, 129}, {70, 5, 6, 7},     {1, 301, 299, 64},
                                       {2, 272, 48, 96}, {1, 64, 32, 2048}};
    for (size_t i = 0; i < sizeof small / sizeof *small; i++)
        for (int row = 0; row < SUITE_FLAG_ROWS; row++)
            with_flags(s, small[i], row, LH_PRECISION_F32);
    for (size_t i = 0; i < sizeof large / sizeof *large; i++)
        for (int row = (int)i % 2; row < SUITE_FLAG_ROWS; row += 2)
            with_flags(s, large[i], row, LH_PRECISION_F32);
    for (int op = LH_UNARY_IDENTITY; op <= LH_UNARY_SQUARE; op++)
        if (op != LH_UNARY_LOG)
            matmul(s, &(product){1, 37, 65, 19, .bias = true, .pre = true,
                                 .activation = (lh_unary_op)op});
    const int64_t empty_sum[4] = {2, 3, 4, 0};
    with_flags(s, empty_sum, 7, LH_PRECISION_F32);
    for (size_t i = 0; i < sizeof small / sizeof *small; i++)
        for (int row = 0; row < SUITE_FLAG_ROWS; row++)
            with_flags(s, i % 2 == 0 ? small[i] : large[i], row,
                       row % 2 == 0 ? LH_PRECISION_BF16 : LH_PRECISION_TF32);
    with_epilogues(s, LH_PRECISION_F32);
    with_epilogues(s, LH_PRECISION_TF32);
    with_epilogues(s, LH_PRECISION_BF16);
    static real one = 1;
    CASE_REFUSED(s, LH_ESHAPE, lh_matmul_args, .batch = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_matmul_args, .m = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_matmul_args, .n = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_matmul_args, .k = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_matmul_args, .a_leading = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_matmul_args, .k = 3, .a_leading = 2, .b_leading = 0);
    CASE_REFUSED(s, LH_ESHAPE, lh_matmul_args, .m = 3, .a_leading = 2, .transpose_a = true);
    CASE_REFUSED(s, LH_ESHAPE, lh_matmul_args, .n = 3, .b_leading = 2, .c_leading = 3);
    CASE_REFUSED(s, LH_ESHAPE, lh_matmul_args, .k = 3, .a_leading = 3, .b_leading = 2,
                 .transpose_b = true);
    CASE_REFUSED(s, LH_ESHAPE, lh_matmul_args, .n = 3, .b_leading = 3, .c_leading = 2);
    CASE_REFUSED(s, LH_ESHAPE, lh_matmul_args, .m = INT64_C(1) << 31);
    CASE_REFUSED(s, LH_ESHAPE, lh_matmul_args, .a_leading = INT64_C(1) << 31);
    CASE_REFUSED(s, LH_EOPTION, lh_matmul_args, .activation = (lh_unary_op)(LH_UNARY_SOFTPLUS + 1));
    CASE_REFUSED(s, LH_EOPTION, lh_matmul_args, .write = LH_ADD, .activation = LH_UNARY_RELU);
    CASE_REFUSED(s, LH_EOPTION, lh_matmul_args, .residual = act_of(&one), .write = LH_ADD);
    CASE_REFUSED(s, LH_EOPTION, lh_matmul_args, .residual = act_of(&one), .bias = &one);
    CASE_REFUSED(s, LH_EOPTION, lh_matmul_args, .residual = {&one, LH_BF16});
    CASE_REFUSED(s, LH_EOPTION, lh_matmul_args, .precision = (lh_precision)3);
    CASE_REFUSED(s, LH_EOPTION, lh_matmul_args, .a = {.dtype = LH_BF16});
    CASE_REFUSED(s, LH_EOPTION, lh_matmul_args, .b = {.dtype = LH_BF16});
    CASE_REFUSED(s, LH_EOPTION, lh_matmul_args, .c = {.dtype = LH_BF16});
}

void bench_matmul(suite *s) {
    matmul(s, &(product){.batch = 1, .m = 4096, .n = 256, .k = 256});
    matmul(s, &(product){1, 4096, 1024, 256, .bias = true, .activation = LH_UNARY_GELU});
    matmul(s, &(product){1, 4096, 256, 1024, .transpose_b = true});
    matmul(s, &(product){1, 256, 1024, 4096, .transpose_a = true, .write = LH_ADD});
    matmul(s, &(product){.batch = 1, .m = 1024, .n = 1024, .k = 1024});
}

typedef struct product_loss {
    const lh_matmul_args *args;
    const real *cotangent;
} product_loss;

static double loss_of(suite *s, const void *arguments) {
    const product_loss *loss = arguments;
    launch_matmul(s, loss->args);
    return dot(loss->args->c.data, loss->cotangent, loss->args->m * loss->args->n);
}

/* dA = alpha dC op(B)' and dB = alpha op(A)' dC, each in the layout of what is stored. */
static void gradients_of(suite *s, const lh_matmul_args *f, lh_act dc, lh_act da, lh_act db) {
    lh_matmul_args a = {.batch = 1, .alpha = f->alpha, .c = da, .c_leading = f->a_leading};
    a.m = f->transpose_a ? f->k : f->m;
    a.n = f->transpose_a ? f->m : f->k;
    a.k = f->n;
    a.a = f->transpose_a ? f->b : dc;
    a.a_leading = f->transpose_a ? f->b_leading : f->n;
    a.transpose_a = f->transpose_a && f->transpose_b;
    a.b = f->transpose_a ? dc : f->b;
    a.b_leading = f->transpose_a ? f->n : f->b_leading;
    a.transpose_b = f->transpose_a || !f->transpose_b;
    launch_matmul(s, &a);
    lh_matmul_args b = {.batch = 1, .alpha = f->alpha, .c = db, .c_leading = f->b_leading};
    b.m = f->transpose_b ? f->n : f->k;
    b.n = f->transpose_b ? f->k : f->n;
    b.k = f->m;
    b.a = f->transpose_b ? dc : f->a;
    b.a_leading = f->transpose_b ? f->n : f->a_leading;
    b.transpose_a = f->transpose_b || !f->transpose_a;
    b.b = f->transpose_b ? f->a : dc;
    b.b_leading = f->transpose_b ? f->a_leading : f->n;
    b.transpose_b = f->transpose_b && f->transpose_a;
    launch_matmul(s, &b);
}

void gradients_matmul(suite *s) {
    enum { M = 5, N = 7, K = 6 };
    for (int flags = 0; flags < 4; flags++) {
        real a[M * K], b[K * N], c[M * N], dc[M * N], da[M * K], db[K * N];
        lh_matmul_args args = {.batch = 1,
                               .m = M,
                               .n = N,
                               .k = K,
                               .alpha = LH_R(0.75),
                               .a = act_of(a),
                               .b = act_of(b),
                               .c = act_of(c),
                               .c_leading = N};
        args.transpose_a = flags % 2 == 1;
        args.transpose_b = flags / 2 == 1;
        args.a_leading = args.transpose_a ? M : K;
        args.b_leading = args.transpose_b ? K : N;
        lh_matmul_args opened = args;
        case_open(s, &opened, sizeof opened, "transposed %d %d", flags % 2, flags / 2);
        for (int i = 0; i < K * N; i++)
            b[i] = (real)suite_normal(s);
        for (int i = 0; i < M * K; i++)
            a[i] = (real)suite_normal(s);
        for (int i = 0; i < M * N; i++)
            dc[i] = (real)suite_normal(s);
        gradients_of(s, &args, act_of(dc), act_of(da), act_of(db));
        const gradient_pair pairs[] = {{"a", a, da, M * K}, {"b", b, db, K * N}};
        gradient_check(s, pairs, 2, loss_of, &(product_loss){&args, dc});
        s->ordinal++;
    }
}
