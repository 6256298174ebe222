/* Dense, ProbSparse (Zhou et al. 2021, section 3.2) and log-sparse, convolved attention (Li et al.
 * 2019, sections 4.1 and 4.2), with recurrence encoding (Huang et al. 2023, section 4.1). */
#include "models/series/forecaster.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- projections ---- */

static lh_dense declare_part(const lh_series_attention *layer, lh_declare *declaration, int64_t in,
                             const char *prefix, const char *part) {
    char name[96];
    (void)snprintf(name, sizeof name, "%s.%s", prefix, part);
    return lh_dense_declare(declaration, in, layer->width, name);
}

void lh_series_attention_declare(lh_series_attention *layer, lh_declare *declaration,
                                 const char *prefix) {
    const int64_t width = layer->width, convolved = layer->taps * width;
    layer->query = declare_part(layer, declaration, convolved, prefix, "query");
    layer->key = declare_part(layer, declaration, convolved, prefix, "key");
    layer->value = declare_part(layer, declaration, width, prefix, "value");
    layer->out = declare_part(layer, declaration, width, prefix, "out");
    lh_recurrence_encoding_declare(&layer->recurrence, &layer->recurrence_config, declaration,
                                   prefix);
}

/* Beside each step the ones before it, the nearest last: [rows][length][taps * width]; zeros before
 * the first step. */
static lh_tensor *with_past(const lh_series_attention *layer, lh_tape *tape, lh_tensor *x) {
    enum { TAPS = 16 };
    lh_tensor *taps[TAPS];
    const int64_t rows = x->shape[0], length = x->shape[1];
    if (layer->taps == 1) return x;
    for (int64_t back = 0; back < layer->taps; ++back) {
        const int64_t gone = back < length ? back : length, shape[] = {rows, gone, x->shape[2]};
        lh_tensor *const parts[] = {lh_zeros(tape, 3, shape),
                                    lh_slice(tape, x, 1, 0, length - gone)};
        taps[layer->taps - 1 - back] = gone > 0 ? lh_concat(tape, 1, parts, 2) : x;
    }
    return lh_concat(tape, 2, taps, (int)layer->taps);
}

/* [rows][length][heads][head_width] */
static lh_tensor *project(const lh_series_attention *layer, const lh_pass *pass, lh_dense dense,
                          lh_tensor *x) {
    lh_tensor *y = lh_dense_apply(dense, pass, x, LH_UNARY_IDENTITY);
    return lh_split_heads(lh_pass_tape(pass), y, layer->head_width);
}

/* ---- who sees whom ---- */

static bool sees(const lh_series_attention *layer, int64_t distance) {
    int64_t size = distance < 0 ? -distance : distance;
    if (layer->restart > 0) size %= layer->restart;
    return size <= layer->local || (size & (size - 1)) == 0;
}

/* Which of two biases a distance has: 0, or one whose weight vanishes. */
static lh_status hide_distances(const lh_series_attention *layer, lh_tape *tape, int64_t length,
                                lh_attention *attention) {
    const int64_t span[] = {2 * length - 1}, shape[] = {layer->heads, 2};
    int32_t *bucket = lh_allocate((size_t)span[0] * sizeof *bucket);
    real *bias = lh_allocate((size_t)(2 * layer->heads) * sizeof *bias);
    const bool room = bucket != NULL && bias != NULL;
    for (int64_t i = 0; room && i < span[0]; ++i)
        bucket[i] = sees(layer, i - length + 1) ? 0 : 1;
    for (int64_t i = 0; room && i < 2 * layer->heads; ++i)
        bias[i] = i % 2 == 0 ? LH_R(0) : LH_R(-1e30);
    if (room) {
        attention->bias = lh_reals(tape, 2, shape, bias);
        attention->bucket_of = lh_integers(tape, 1, span, bucket);
        attention->bucket_first = 1 - length;
    }
    free(bucket);
    free(bias);
    return attention->bias != NULL && attention->bucket_of != NULL ? LH_OK : LH_EMEMORY;
}

/* factor * ceil(ln length), at least 1 and at most length. */
static int64_t sparse_count(const lh_series_attention *layer, int64_t length) {
    const int64_t count = layer->factor * (int64_t)ceil(log((double)length));
    return count < 1 ? 1 : count < length ? count : length;
}

/* *chosen: the queries that ProbSparse chose; NULL for the other kinds. */
static lh_tensor *attend_by_kind(const lh_series_attention *layer, lh_tape *tape,
                                 lh_attention *attention, lh_tensor *q, lh_tensor **chosen) {
    const int64_t length = q->shape[1], count = sparse_count(layer, length);
    if (layer->kind == LH_SERIES_PROB) {
        const lh_prob prob = {
            .scale = attention->scale, .causal = layer->masked, .samples = count, .top = count};
        return lh_attend_prob(tape, &prob, q, attention->keys[0].k, attention->keys[0].v, chosen);
    }
    if (layer->kind == LH_SERIES_LOG && hide_distances(layer, tape, length, attention) != LH_OK)
        return NULL;
    return lh_attend(tape, attention, q);
}

/* Row i has a 1 in column i. */
static lh_tensor *identity(lh_tape *tape, int64_t size) {
    const int64_t shape[] = {size, size};
    real *values = lh_allocate_zeroed((size_t)(size * size), sizeof *values);
    if (values == NULL) return NULL;
    for (int64_t i = 0; i < size; ++i)
        values[i * (size + 1)] = 1;
    lh_tensor *y = lh_reals(tape, 2, shape, values);
    free(values);
    return y;
}

/* 1 at the elements of chosen queries, else 0: like `x`, [rows][length][heads][head_width]. */
static lh_tensor *mark(const lh_series_attention *layer, lh_tape *tape, lh_tensor *chosen,
                       const lh_tensor *x) {
    static const int as_heads[] = {1, 3, 2, 0}; /* of [head_width][rows][heads][length] */
    lh_tensor *one_hot = lh_gather(tape, identity(tape, x->shape[1]), chosen);
    lh_tensor *marks = lh_repeat(tape, lh_maximum(tape, one_hot, 2), layer->head_width);
    return lh_contiguous(tape, lh_permute(tape, marks, as_heads));
}

/* `mixed` for the chosen queries, `plain` for the others. */
static lh_tensor *select_chosen(const lh_series_attention *layer, lh_tape *tape, lh_tensor *chosen,
                                lh_tensor *plain, lh_tensor *mixed) {
    if (mixed == NULL) return NULL;
    lh_tensor *apart = lh_subtract(tape, mixed, plain);
    return lh_add(tape, plain, lh_multiply(tape, apart, mark(layer, tape, chosen, plain)));
}

/* The recurrence encoding joins what every query got, chosen by ProbSparse or not, unless only the
 * chosen are to have it. */
static lh_tensor *attend(const lh_series_attention *layer, const lh_pass *pass, lh_tensor *q,
                         lh_tensor *k, lh_tensor *v) {
    lh_attention attention = LH_ATTENTION;
    attention.scale = 1.0 / sqrt((double)layer->head_width);
    if (layer->masked) attention.min_distance = 0;
    if (lh_pass_is_training(pass)) attention.dropout = layer->dropout;
    attention.keys[0] = (lh_keys){.k = k, .v = v, .first = layer->first};
    attention.key_count = 1;
    if (q == NULL || k == NULL || v == NULL) return NULL;
    lh_tensor *chosen = NULL;
    lh_tensor *plain = attend_by_kind(layer, lh_pass_tape(pass), &attention, q, &chosen);
    lh_tensor *mixed = lh_recurrence_encoding_mix(&layer->recurrence, pass, &attention, plain);
    if (layer->all_encoded || chosen == NULL || layer->recurrence.encoded == 0) return mixed;
    return select_chosen(layer, lh_pass_tape(pass), chosen, plain, mixed);
}

/* ---- the whole ---- */

lh_tensor *lh_series_attention_apply(const lh_series_attention *layer, const lh_pass *pass,
                                     lh_tensor *x, lh_tensor *source) {
    static const int heads_first[] = {0, 2, 1, 3};
    lh_tape *tape = lh_pass_tape(pass);
    if (x == NULL || source == NULL) return NULL;
    const lh_scope scope = lh_scope_open(tape);
    lh_tensor *past = with_past(layer, tape, x),
              *source_past = source == x ? past : with_past(layer, tape, source);
    lh_tensor *q = project(layer, pass, layer->query, past),
              *k = project(layer, pass, layer->key, source_past),
              *v = project(layer, pass, layer->value, source);
    lh_tensor *y = attend(layer, pass, q, k, v);
    if (layer->mix) y = lh_permute(tape, y, heads_first);
    const int64_t shape[] = {x->shape[0], x->shape[1], layer->width};
    y = lh_reshape(tape, y, 3, shape);
    return lh_scope_close(tape, scope, lh_dense_apply(layer->out, pass, y, LH_UNARY_IDENTITY));
}

static double visible_pairs(const lh_series_attention *layer, int64_t queries, int64_t keys) {
    if (!layer->masked) return (double)queries * (double)keys;
    return (double)queries * (double)(queries + 1) / 2.0;
}

double lh_series_attention_flops(const lh_series_attention *layer, int64_t queries, int64_t keys) {
    const double width = (double)layer->width, taps = (double)layer->taps;
    const double projections =
        width * width * (taps * (double)(queries + keys) + (double)(queries + keys));
    const double count = (double)sparse_count(layer, queries),
                 seen = layer->masked ? (double)(keys + 1) / 2.0 : (double)keys;
    const double pairs = layer->kind == LH_SERIES_PROB
                             ? (double)queries * count + 2.0 * count * seen
                             : 2.0 * visible_pairs(layer, queries, keys);
    return 2.0 * (projections + pairs * width);
}
