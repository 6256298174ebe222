/* The output head and its cross entropy as one op, in chunks of rows, so that all logits are never
 * there at once. */
#include "harness/ops/op.h"

/* What one fused head and loss works on. Rows are tokens. In bf16 what products read is rounded
 * once: the table and the hidden states before the chunks, the logits' gradient as it is written.
 * Logits are f32 in any case, since a loss is a small difference of them.
 *
 * On a GPU rows of logits begin where tensor cores have fast products, whatever the vocabulary, and
 * in bf16 the products of the gradients go over what lies behind a row, too: zeros by zeros. */
typedef struct head_loss {
    int64_t rows, width, vocabulary, chunk;
    int64_t leading; /* elements from row to row of a chunk's logits */
    int64_t entries; /* that products go over: the vocabulary, or all that lead to the next row */
    double scale;
    bool differentiate;
    const lh_tensor *hidden, *weight, *bias, *target, *weights, *gradient_scale;
    const lh_tensor *read_hidden, *read_weight; /* by the products: themselves, or in bf16 */
    lh_tensor *logits, *dlogits;                /* of one chunk; the same tensor but in bf16 */
    lh_tensor *loss, *correct;
    lh_tensor *dhidden, *dweight, *dbias;
} head_loss;

/* A chunk's logits stay within this many elements, so that they fit a core's caches; on a GPU they
 * are to fill it and to stay well below its memory. */
enum { CHUNK_ELEMENTS = 1 << 18, CHUNK_ELEMENTS_GPU = 1 << 26, CHUNK_LEAST = 64 };

enum { GRAIN_GPU = 64 /* logits that a row is a multiple of there */ };

static lh_status chunk_logits(lh_pool *pool, const head_loss *h, int64_t first, int64_t rows) {
    const lh_matmul_args args = {
        .batch = 1,
        .m = rows,
        .n = h->bias == NULL ? h->entries : h->vocabulary,
        .k = h->width,
        .transpose_b = true,
        .alpha = 1,
        .a = lh_act_from(lh_tensor_activation(h->read_hidden), first * h->width),
        .a_leading = h->width,
        .b = lh_tensor_activation(h->read_weight),
        .b_leading = h->width,
        .c = lh_tensor_activation(h->logits),
        .c_leading = h->leading,
        .bias = h->bias != NULL ? lh_tensor_real(h->bias) : NULL};
    return lh_run_matmul(pool, &args);
}

static lh_status chunk_loss(lh_pool *pool, const head_loss *h, int64_t first, int64_t rows) {
    const lh_cross_entropy_args args = {
        .rows = rows,
        .vocabulary = h->vocabulary,
        .leading = h->leading,
        .scale = (real)h->scale,
        .x = lh_tensor_real(h->logits),
        .target = lh_tensor_integer(h->target) + first,
        .weight = h->weights != NULL ? lh_tensor_real(h->weights) + first : NULL,
        .gradient = h->differentiate,
        .dx = h->dlogits != h->logits ? lh_tensor_activation(h->dlogits) : (lh_act){NULL, LH_REAL},
        .gradient_scale = lh_tensor_real(h->gradient_scale),
        .loss = lh_tensor_real(h->loss) + first,
        .correct = lh_tensor_real(h->correct) + first};
    return LH_RUN(pool, cross_entropy, &args);
}

/* dhidden = dlogits weight; dweight += dlogits^T hidden; dbias += column sums. */
static lh_status chunk_gradients(lh_pool *pool, const head_loss *h, int64_t first, int64_t rows) {
    const lh_act dlogits = lh_tensor_activation(h->dlogits);
    const lh_write write = first == 0 ? LH_SET : LH_ADD;
    const lh_matmul_args dhidden = {
        .batch = 1,
        .m = rows,
        .n = h->width,
        .k = h->entries,
        .alpha = 1,
        .a = dlogits,
        .a_leading = h->leading,
        .b = lh_tensor_activation(h->read_weight),
        .b_leading = h->width,
        .c = lh_act_from(lh_tensor_activation(h->dhidden), first * h->width),
        .c_leading = h->width};
    LH_TRY(lh_run_matmul(pool, &dhidden));
    const lh_matmul_args dweight = {
        .batch = 1,
        .m = h->entries,
        .n = h->width,
        .k = rows,
        .transpose_a = true,
        .alpha = 1,
        .a = dlogits,
        .a_leading = h->leading,
        .b = lh_act_from(lh_tensor_activation(h->read_hidden), first * h->width),
        .b_leading = h->width,
        .c = lh_tensor_activation(h->dweight),
        .c_leading = h->width,
        .write = write};
    LH_TRY(lh_run_matmul(pool, &dweight));
    if (h->dbias == NULL) return LH_OK;
    const lh_reduce_args dbias = {.op = LH_REDUCE_SUM,
                                  .outer = 1,
                                  .axis = rows,
                                  .inner = h->leading,
                                  .alpha = 1,
                                  .x = dlogits,
                                  .y = lh_tensor_real(h->dbias),
                                  .write = write};
    return LH_RUN_W(pool, reduce, &dbias);
}

static lh_status run_chunks(lh_tape *tape, const head_loss *h) {
    lh_pool *pool = lh_tape_pool(tape);
    for (int64_t first = 0; first < h->rows; first += h->chunk) {
        const int64_t rows = lh_min(h->rows - first, h->chunk);
        LH_TRY(chunk_logits(pool, h, first, rows));
        LH_TRY(chunk_loss(pool, h, first, rows));
        if (h->differentiate) LH_TRY(chunk_gradients(pool, h, first, rows));
    }
    return LH_OK;
}

/* The sum of a vector's elements, to the host. */
static lh_status total(lh_tape *tape, const lh_tensor *x, double *out) {
    lh_tensor *sum = lh_tape_new(tape, LH_REAL, 0, NULL);
    if (sum == NULL) return lh_failed();
    const lh_reduce_args args = {.op = LH_REDUCE_SUM,
                                 .outer = 1,
                                 .axis = lh_tensor_count(x),
                                 .inner = 1,
                                 .alpha = 1,
                                 .x = lh_tensor_activation(x),
                                 .y = lh_tensor_real(sum)};
    LH_TRY(LH_RUN_W(lh_tape_pool(tape), reduce, &args));
    real value = 0;
    LH_TRY(lh_tensor_read(sum, &value, 1));
    *out = (double)value;
    return LH_OK;
}

static lh_status fill_sums(lh_tape *tape, const head_loss *h, lh_loss_sums *sums) {
    *sums = (lh_loss_sums){.weight = (double)h->rows};
    LH_TRY(total(tape, h->loss, &sums->nats));
    LH_TRY(total(tape, h->correct, &sums->correct));
    return h->weights != NULL ? total(tape, h->weights, &sums->weight) : LH_OK;
}

/* The gradients are ready; the loss' own gradient multiplies them. Those of the table and the bias
 * may have zeros behind them. */
static lh_status loss_backward(lh_tape *tape, lh_node *node) {
    const real *dloss = lh_gradient_read_real(node->output[0]);
    for (int i = 0; i < node->input_count; ++i) {
        if (node->input[i] == NULL) continue;
        lh_binary_args args = {.op = LH_BINARY_MUL,
                               .spread = LH_SPREAD_COLUMNS,
                               .rows = 1,
                               .columns = node->input[i]->count,
                               .a = lh_tensor_real(node->saved[i]),
                               .b = dloss};
        LH_TRY(lh_gradient_write_real(node->input[i], &args.y, &args.write));
        LH_TRY(LH_RUN(lh_tape_pool(tape), binary, &args));
    }
    return LH_OK;
}

static lh_tensor *scalar(lh_tape *tape, double value) {
    lh_tensor *tensor = lh_tape_new(tape, LH_REAL, 0, NULL);
    const real number = (real)value;
    if (tensor == NULL || lh_tensor_write(tensor, &number, 1) != LH_OK) return NULL;
    return tensor;
}

/* Whether products read bf16. */
static bool rounds(const lh_tape *tape) {
    return lh_pool_precision(lh_tape_pool(tape)) == LH_PRECISION_BF16;
}

/* A tensor's values in bf16, apart from its gradient. */
static const lh_tensor *rounded(lh_tape *tape, const lh_tensor *x) {
    return lh_convert(tape, lh_tape_own(tape, lh_tensor_detached(x)), LH_BF16);
}

/* The table in bf16, and zeros for the entries that it lacks. */
static const lh_tensor *rounded_table(lh_tape *tape, const head_loss *h) {
    const int64_t shape[] = {h->entries, h->width}, count = h->vocabulary * h->width;
    if (h->entries == h->vocabulary) return rounded(tape, h->weight);
    const lh_tensor *none = scalar(tape, 0);
    lh_tensor *table = lh_tape_new(tape, LH_BF16, 2, shape);
    if (none == NULL || table == NULL) return NULL;
    const lh_copy_args entries = {.rank = 1,
                                  .shape = {count},
                                  .x = lh_tensor_activation(h->weight),
                                  .x_stride = {1},
                                  .y = lh_tensor_activation(table),
                                  .y_stride = {1}};
    const lh_copy_args rest = {.rank = 1,
                               .shape = {h->entries * h->width - count},
                               .x = lh_tensor_activation(none),
                               .y = lh_act_from(lh_tensor_activation(table), count),
                               .y_stride = {1}};
    if (LH_RUN(lh_tape_pool(tape), copy, &entries) != LH_OK) return NULL;
    return LH_RUN(lh_tape_pool(tape), copy, &rest) == LH_OK ? table : NULL;
}

/* Makes the buffers that h needs; `given` are the hidden states in the dtype that they came in.
 * False after a failure. */
static bool allocate(lh_tape *tape, head_loss *h, const lh_tensor *given, double gradient_scale) {
    const int64_t logits[] = {h->chunk, h->leading}, rows[] = {h->rows};
    const int64_t table[] = {h->entries, h->width}, bias[] = {h->leading};
    h->read_hidden = rounds(tape) ? rounded(tape, given) : h->hidden;
    h->read_weight = rounds(tape) ? rounded_table(tape, h) : h->weight;
    h->logits = h->dlogits = lh_tape_new(tape, LH_REAL, 2, logits);
    if (rounds(tape) && h->differentiate) h->dlogits = lh_tape_new(tape, LH_BF16, 2, logits);
    if (h->read_hidden == NULL || h->read_weight == NULL || h->dlogits == NULL) return false;
    h->loss = lh_tape_new(tape, LH_REAL, 1, rows);
    h->correct = lh_tape_new(tape, LH_REAL, 1, rows);
    h->gradient_scale = scalar(tape, gradient_scale);
    if (h->logits == NULL || h->loss == NULL || h->correct == NULL || h->gradient_scale == NULL) {
        return false;
    }
    if (!h->differentiate) return true;
    h->dhidden = lh_tape_new_like(tape, h->hidden);
    h->dweight = lh_tape_new(tape, LH_REAL, 2, table);
    if (h->bias != NULL) h->dbias = lh_tape_new(tape, LH_REAL, 1, bias);
    return h->dhidden != NULL && h->dweight != NULL && (h->bias == NULL || h->dbias != NULL);
}

static bool fits(const head_loss *h) {
    return h->weight->rank == 2 && lh_last_axis(h->hidden) == h->width &&
           lh_tensor_count(h->target) == h->rows &&
           (h->weights == NULL || lh_tensor_count(h->weights) == h->rows) &&
           (h->bias == NULL || lh_tensor_count(h->bias) == h->vocabulary);
}

static int64_t chosen_chunk(const lh_tape *tape, int64_t chunk, int64_t rows, int64_t vocabulary) {
    const bool on_cpu = lh_tape_device(tape)->kind == LH_CPU;
    const int64_t elements = on_cpu ? CHUNK_ELEMENTS : CHUNK_ELEMENTS_GPU;
    int64_t chosen = chunk > 0 ? chunk : elements / lh_max(1, vocabulary);
    if (chunk <= 0 && chosen < CHUNK_LEAST) chosen = CHUNK_LEAST;
    return lh_min(chosen, lh_max(1, rows));
}

static int64_t leading_of(const lh_tape *tape, int64_t vocabulary) {
    const bool on_cpu = lh_tape_device(tape)->kind == LH_CPU;
    return on_cpu ? vocabulary : lh_chunk_count(vocabulary, GRAIN_GPU) * GRAIN_GPU;
}

/* loss = gradient_scale * sum of the rows' losses, and its node. */
static lh_tensor *finish(lh_tape *tape, const head_loss *h, lh_tensor *const *inputs,
                         double gradient_scale) {
    lh_tensor *loss = lh_tape_new(tape, LH_REAL, 0, NULL);
    if (loss == NULL) return NULL;
    const lh_reduce_args args = {.op = LH_REDUCE_SUM,
                                 .outer = 1,
                                 .axis = h->rows,
                                 .inner = 1,
                                 .alpha = (real)gradient_scale,
                                 .x = lh_tensor_activation(h->loss),
                                 .y = lh_tensor_real(loss)};
    const lh_record record = {.op = "linear_cross_entropy",
                              .backward = loss_backward,
                              .input = inputs,
                              .input_count = 3,
                              LH_OUTPUTS(loss),
                              LH_SAVED(h->dhidden, h->dweight, h->dbias)};
    return lh_op_done(tape, LH_RUN_W(lh_tape_pool(tape), reduce, &args), loss, &record);
}

lh_tensor *lh_linear_cross_entropy(lh_tape *tape, const lh_cross_entropy *head, lh_tensor *hidden) {
    const lh_tensor *given = hidden;
    lh_tensor *weight = lh_convert(tape, head->weight, LH_REAL);
    lh_tensor *bias = lh_convert(tape, head->bias, LH_REAL);
    hidden = lh_convert(tape, hidden, LH_REAL);
    if (hidden == NULL || weight == NULL || head->target == NULL) return NULL;
    lh_tensor *const inputs[] = {hidden, weight, bias};
    head_loss h = {.rows = lh_row_count(hidden),
                   .width = weight->rank == 2 ? weight->shape[1] : 0,
                   .vocabulary = weight->rank == 2 ? weight->shape[0] : 0,
                   .scale = head->scale,
                   .differentiate = lh_tape_wants(tape, inputs, 3),
                   .hidden = hidden,
                   .weight = weight,
                   .bias = bias,
                   .target = head->target,
                   .weights = lh_convert(tape, head->weights, LH_REAL)};
    if (!fits(&h)) {
        return LH_OP_FAIL("linear_cross_entropy: hidden %s, weight %s, target %s",
                          lh_shape_text(hidden), lh_shape_text(weight),
                          lh_shape_text(head->target));
    }
    if (!lh_integers_suit("linear_cross_entropy", head->target)) return NULL;
    h.chunk = chosen_chunk(tape, head->chunk, h.rows, h.vocabulary);
    h.leading = leading_of(tape, h.vocabulary);
    h.entries = rounds(tape) ? h.leading : h.vocabulary;
    const lh_scope scope = lh_scope_open(tape);
    lh_tensor *loss = NULL;
    if (allocate(tape, &h, given, head->gradient_scale) && run_chunks(tape, &h) == LH_OK &&
        (head->sums == NULL || fill_sums(tape, &h, head->sums) == LH_OK)) {
        loss = finish(tape, &h, inputs, head->gradient_scale);
    }
    lh_tape_count_flops(tape, 2.0 * (double)h.rows * (double)h.width * (double)h.vocabulary);
    return lh_scope_close(tape, scope, loss);
}
