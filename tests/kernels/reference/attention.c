/* Attention score by score: which keys a query sees, biases, softmax over all sources, and its
 * gradients. */
#include "tests/kernels/reference/loops.h"

/* Towards minus infinity, as positions before the segment are negative. */
static int64_t floor_divide(int64_t a, int64_t b) {
    return a >= 0 ? a / b : -((-a + b - 1) / b);
}

static bool visible(const lh_attention_spec *spec, const lh_key_source *source, int64_t b,
                    int64_t i, int64_t j) {
    if (source->filled != NULL && j >= source->filled[b]) return false;
    if (source->everywhere) return true;
    const int64_t p = source->first + j;
    if (i - p < spec->min_distance || i - p > spec->max_distance) return false;
    return spec->chunk <= 0 ||
           floor_divide(p, spec->chunk) >= floor_divide(i, spec->chunk) - spec->chunks_back;
}

static int64_t bucket_at(const lh_attention_spec *spec, int64_t distance) {
    const int64_t d = distance - spec->bucket_first;
    return spec->bucket_of[d < 0 ? 0 : d >= spec->bucket_span ? spec->bucket_span - 1 : d];
}

/* Where the position vector of a distance begins in its table, in elements. */
static int64_t position_at(const lh_attention_spec *spec, int64_t h, int64_t distance) {
    const int64_t d = distance - spec->position_first, last = spec->position_count - 1;
    const int64_t entry = d < 0 ? 0 : d > last ? last : d;
    const int64_t table = spec->position_heads == 1 ? 0 : h;
    return (table * spec->position_count + entry) * spec->head_width;
}

/* Before the head's scale. */
static number plain_score(const lh_attention_spec *spec, const lh_key_source *source,
                          const number *q, int64_t b, int64_t h, int64_t i, int64_t j) {
    const number *bias = (const void *)spec->bias, *positions = (const void *)spec->positions;
    const int64_t distance = i - source->first - j;
    number score = spec->scale * inner_rounded(spec, q, row_of(&source->k, b, j, h));
    if (positions != NULL && !source->everywhere)
        score += spec->scale * inner_rounded(spec, q, positions + position_at(spec, h, distance));
    if (bias == NULL || source->everywhere) return score;
    return score + bias[h * spec->buckets + bucket_at(spec, distance)];
}

static number head_scale_of(const lh_attention_spec *spec, int64_t h) {
    const number *scale = (const void *)spec->head_scale;
    return scale == NULL ? 1 : scale[h];
}

/* What dropout makes of a weight of 1. */
static number kept_weight(const lh_attention_spec *spec, int s, int64_t b, int64_t h, int64_t i,
                          int64_t j) {
    if (spec->dropout <= 0) return 1;
    const lh_key_source *source = &spec->source[s];
    const int64_t period = spec->dropout_period;
    int64_t word = 0;
    if (period > 0) {
        if (source->everywhere) return 1;
        const int64_t slot = i - (source->first + j) + period;
        word = (h * period + i % period) * 3 * period + slot;
    } else {
        int64_t keys = 0, slot = j;
        for (int k = 0; k < spec->source_count; k++) {
            keys += spec->source[k].count;
            if (k < s) slot += spec->source[k].count;
        }
        word = (((b + spec->first_batch) * spec->heads + h) * spec->queries + i) * keys + slot;
    }
    const bool kept =
        lh_random_word(*spec->key, (uint64_t)word) >= lh_dropout_threshold(spec->dropout);
    return kept ? 1 / (number)(1 - spec->dropout) : 0;
}

/* log sum exp of the scores of query i; minus infinity when it sees no key, or none that has a
 * score above that. */
static number log_sum(const lh_attention_spec *spec, const number *q, int64_t b, int64_t h,
                      int64_t i) {
    number most = -(number)INFINITY, sum = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int s = 0; s < spec->source_count; s++) {
            const lh_key_source *source = &spec->source[s];
            for (int64_t j = 0; j < source->count; j++) {
                if (!visible(spec, source, b, i, j)) continue;
                const number score =
                    head_scale_of(spec, h) * plain_score(spec, source, q, b, h, i, j);
                if (pass == 0) most = larger(most, score);
                if (pass == 1) sum += exp(score - shift_of(most));
            }
        }
    }
    return sum == 0 ? most : most + log(sum);
}

static void attend(const lh_attention_forward_args *args, int64_t b, int64_t h, int64_t i) {
    const lh_attention_spec *spec = &args->spec;
    const number *q = row_of(&args->q, b, i, h);
    number *out = row_of(&args->out, b, i, h);
    const number lse = log_sum(spec, q, b, h, i);
    ((number *)(void *)args->lse)[(b * spec->heads + h) * spec->queries + i] = lse;
    for (int64_t d = 0; d < spec->head_width; d++)
        out[d] = 0;
    for (int s = 0; s < spec->source_count; s++) {
        const lh_key_source *source = &spec->source[s];
        for (int64_t j = 0; j < source->count; j++) {
            if (!visible(spec, source, b, i, j)) continue;
            const number score = head_scale_of(spec, h) * plain_score(spec, source, q, b, h, i, j);
            const number weight = exp(score - shift_of(lse)) * kept_weight(spec, s, b, h, i, j);
            const number *v = row_of(&source->v, b, j, h);
            for (int64_t d = 0; d < spec->head_width; d++)
                out[d] += ROUNDED(weight, spec->precision) * ROUNDED(v[d], spec->precision);
        }
    }
}

void REFERENCE(attention_forward)(const void *arguments) {
    const lh_attention_forward_args *args = arguments;
    for (int64_t b = 0; b < args->spec.batch; b++)
        for (int64_t h = 0; h < args->spec.heads; h++)
            for (int64_t i = 0; i < args->spec.queries; i++)
                attend(args, b, h, i);
}

/* ---- Backward: gradients that are to be set start at zero, then everything adds ---- */

static void clear_gradients(const lh_attention_backward_args *args) {
    const lh_attention_spec *spec = &args->spec;
    for (int s = 0; s < spec->source_count; s++) {
        if (spec->source[s].write == LH_ADD) continue;
        clear_view(spec, &spec->source[s].dk, spec->source[s].count);
        clear_view(spec, &spec->source[s].dv, spec->source[s].count);
    }
    if (args->dq_write == LH_SET) clear_view(spec, &args->dq, spec->queries);
    if (args->dhead_scale_write == LH_SET) clear_array(args->dhead_scale, spec->heads);
    if (args->dbias_write == LH_SET) clear_array(args->dbias, spec->heads * spec->buckets);
    if (args->dpositions_write == LH_SET)
        clear_array(args->dpositions,
                    spec->position_heads * spec->position_count * spec->head_width);
}

/* The position vector r of a pair stands beside its key: dq += e c dS r; dr += e c dS q. */
static void position_back(const lh_attention_backward_args *args, const number *q, int64_t b,
                          int64_t h, int64_t i, int64_t distance, number scale, number dscore) {
    const lh_attention_spec *spec = &args->spec;
    const number *positions = (const void *)spec->positions;
    number *dpositions = (void *)args->dpositions;
    const int64_t at = position_at(spec, h, distance);
    add_rounded(spec, &args->dq, b, i, h, scale, dscore, positions + at);
    for (int64_t d = 0; d < spec->head_width && dpositions != NULL; d++)
        dpositions[at + d] +=
            scale * ROUNDED(dscore, spec->precision) * ROUNDED(q[d], spec->precision);
}

/* One query and one key that it sees. With P the softmax, M the dropout, score = e (c q.k + bias):
 * dS = P (M dout.v - dout.out); dq += e c dS k; dk += e c dS q; dv += P M dout. */
static void attend_back(const lh_attention_backward_args *args, int s, int64_t b, int64_t h,
                        int64_t i, int64_t j) {
    const lh_attention_spec *spec = &args->spec;
    const lh_key_source *source = &spec->source[s];
    const number *q = row_of(&args->q, b, i, h), *k = row_of(&source->k, b, j, h);
    const number *dout = row_of(&args->dout, b, i, h), *out = row_of(&args->out, b, i, h);
    const number *lse = (const void *)args->lse;
    const number plain = plain_score(spec, source, q, b, h, i, j);
    const number scale = head_scale_of(spec, h), kept = kept_weight(spec, s, b, h, i, j);
    const number p = exp(scale * plain - shift_of(lse[(b * spec->heads + h) * spec->queries + i]));
    const number dweight = kept * inner_rounded(spec, dout, row_of(&source->v, b, j, h));
    const number dscore = p * (dweight - inner_against(dout, out, spec->head_width));
    number *dhead_scale = (void *)args->dhead_scale, *dbias = (void *)args->dbias;
    add_rounded(spec, &args->dq, b, i, h, scale * spec->scale, dscore, k);
    add_rounded(spec, &source->dk, b, j, h, scale * spec->scale, dscore, q);
    add_rounded(spec, &source->dv, b, j, h, 1, p * kept, dout);
    if (spec->positions != NULL && !source->everywhere)
        position_back(args, q, b, h, i, i - source->first - j, scale * spec->scale, dscore);
    if (dhead_scale != NULL && plain != -(number)INFINITY) dhead_scale[h] += dscore * plain;
    if (dbias != NULL && !source->everywhere)
        dbias[h * spec->buckets + bucket_at(spec, i - source->first - j)] += scale * dscore;
}

void REFERENCE(attention_backward)(const void *arguments) {
    const lh_attention_backward_args *args = arguments;
    const lh_attention_spec *spec = &args->spec;
    clear_gradients(args);
    for (int64_t b = 0; b < spec->batch; b++)
        for (int64_t h = 0; h < spec->heads; h++)
            for (int64_t i = 0; i < spec->queries; i++)
                for (int s = 0; s < spec->source_count; s++)
                    for (int64_t j = 0; j < spec->source[s].count; j++)
                        if (visible(spec, &spec->source[s], b, i, j))
                            attend_back(args, s, b, h, i, j);
}
