/* ProbSparse attention (Zhou et al. 2021): the measure, the chosen queries, lazy and full rows. */
#include "tests/kernels/reference/loops.h"

/* length times eq. 4's measure; what is no number is the largest. */
static number sparsity(const lh_prob_attention_forward_args *args, int64_t b, int64_t h,
                       int64_t i) {
    const lh_prob_attention_spec *spec = &args->spec;
    const number *q = row_of(&args->q, b, i, h);
    number most = -(number)INFINITY, sum = 0;
    for (int64_t s = 0; s < args->samples; s++) {
        const uint32_t word = lh_random_word(*args->key, (uint64_t)(i * args->samples + s));
        const int64_t j = (int64_t)((uint64_t)word * (uint64_t)spec->length / 4294967296u);
        const number score = inner(q, row_of(&args->k, b, j, h), spec->head_width);
        if (score > most) most = score;
        sum += score;
    }
    const number measure = (number)spec->length * most - sum;
    return measure == measure ? measure : (number)INFINITY;
}

/* The queries one after the other, best first; then in rising order. */
static void choose_queries(const lh_prob_attention_forward_args *args, int64_t b, int64_t h,
                           bool *is_chosen) {
    const lh_prob_attention_spec *spec = &args->spec;
    int32_t *chosen = args->chosen + (b * spec->heads + h) * spec->top;
    int64_t count = 0;
    for (int64_t n = 0; n < spec->top; n++) {
        int64_t best = -1;
        for (int64_t i = 0; i < spec->length; i++) {
            if (is_chosen[i]) continue;
            if (best < 0 || sparsity(args, b, h, i) > sparsity(args, b, h, best)) best = i;
        }
        is_chosen[best] = true;
    }
    for (int64_t i = 0; i < spec->length; i++)
        if (is_chosen[i]) chosen[count++] = (int32_t)i;
}

static int64_t prob_seen(const lh_prob_attention_spec *spec, int64_t i) {
    return spec->causal ? i + 1 : spec->length;
}

static void attend_lazily(const lh_prob_attention_forward_args *args, int64_t b, int64_t h,
                          int64_t i) {
    const lh_prob_attention_spec *spec = &args->spec;
    number *out = row_of(&args->out, b, i, h);
    for (int64_t d = 0; d < spec->head_width; d++) {
        out[d] = 0;
        for (int64_t j = 0; j < prob_seen(spec, i); j++)
            out[d] += row_of(&args->v, b, j, h)[d];
        if (!spec->causal) out[d] /= (number)spec->length;
    }
}

static void attend_fully(const lh_prob_attention_forward_args *args, int64_t b, int64_t h,
                         int64_t n) {
    const lh_prob_attention_spec *spec = &args->spec;
    const int64_t at = (b * spec->heads + h) * spec->top + n, i = args->chosen[at];
    number *out = row_of(&args->out, b, i, h), *lse = (number *)(void *)args->lse + at;
    number most = -(number)INFINITY, sum = 0;
    for (int64_t pass = 0; pass < 2; pass++) {
        for (int64_t j = 0; j < prob_seen(spec, i); j++) {
            const number score = spec->scale * inner(row_of(&args->q, b, i, h),
                                                     row_of(&args->k, b, j, h), spec->head_width);
            if (pass == 0) most = larger(most, score);
            if (pass == 1) sum += exp(score - shift_of(most));
        }
    }
    *lse = shift_of(most) + log(sum);
    for (int64_t d = 0; d < spec->head_width; d++)
        out[d] = 0;
    for (int64_t j = 0; j < prob_seen(spec, i); j++) {
        const number score = spec->scale * inner(row_of(&args->q, b, i, h),
                                                 row_of(&args->k, b, j, h), spec->head_width);
        for (int64_t d = 0; d < spec->head_width; d++)
            out[d] +=
                sum == 0 ? 0 : exp(score - shift_of(most)) / sum * row_of(&args->v, b, j, h)[d];
    }
}

void REFERENCE(prob_attention_forward)(const void *arguments) {
    const lh_prob_attention_forward_args *args = arguments;
    const lh_prob_attention_spec *spec = &args->spec;
    bool is_chosen[2048];
    for (int64_t b = 0; b < spec->batch; b++)
        for (int64_t h = 0; h < spec->heads; h++) {
            memset(is_chosen, 0, sizeof is_chosen);
            choose_queries(args, b, h, is_chosen);
            for (int64_t i = 0; i < spec->length; i++)
                if (!is_chosen[i]) attend_lazily(args, b, h, i);
            for (int64_t n = 0; n < spec->top; n++)
                attend_fully(args, b, h, n);
        }
}

/* ---- backward ---- */

/* p = exp(s - lse); ds = scale p (dout.v - dout.out); dq += ds k, dk += ds q, dv += p dout. */
static void attend_fully_back(const lh_prob_attention_backward_args *args, int64_t b, int64_t h,
                              int64_t n) {
    const lh_prob_attention_spec *spec = &args->spec;
    const int64_t at = (b * spec->heads + h) * spec->top + n, i = args->chosen[at],
                  width = spec->head_width;
    const number lse = ((const number *)(const void *)args->lse)[at];
    const number *q = row_of(&args->q, b, i, h), *dout = row_of(&args->dout, b, i, h);
    const number delta = inner(dout, row_of(&args->out, b, i, h), width);
    for (int64_t j = 0; j < prob_seen(spec, i); j++) {
        const number *k = row_of(&args->k, b, j, h), *v = row_of(&args->v, b, j, h);
        const number weight = exp(spec->scale * inner(q, k, width) - shift_of(lse));
        const number slope = spec->scale * weight * (inner(dout, v, width) - delta);
        add_scaled(&args->dq, b, i, h, slope, k, width);
        add_scaled(&args->dk, b, j, h, slope, q, width);
        add_scaled(&args->dv, b, j, h, weight, dout, width);
    }
}

static bool was_chosen(const lh_prob_attention_backward_args *args, int64_t b, int64_t h,
                       int64_t i) {
    const lh_prob_attention_spec *spec = &args->spec;
    for (int64_t n = 0; n < spec->top; n++)
        if (args->chosen[(b * spec->heads + h) * spec->top + n] == i) return true;
    return false;
}

void REFERENCE(prob_attention_backward)(const void *arguments) {
    const lh_prob_attention_backward_args *args = arguments;
    const lh_prob_attention_spec *spec = &args->spec;
    const lh_attention_spec box = {
        .batch = spec->batch, .heads = spec->heads, .head_width = spec->head_width};
    if (args->dq_write == LH_SET) clear_view(&box, &args->dq, spec->length);
    if (args->dk_write == LH_SET) clear_view(&box, &args->dk, spec->length);
    if (args->dv_write == LH_SET) clear_view(&box, &args->dv, spec->length);
    for (int64_t b = 0; b < spec->batch; b++)
        for (int64_t h = 0; h < spec->heads; h++) {
            for (int64_t n = 0; n < spec->top; n++)
                attend_fully_back(args, b, h, n);
            for (int64_t i = 0; i < spec->length; i++) {
                if (was_chosen(args, b, h, i)) continue;
                for (int64_t j = 0; j < prob_seen(spec, i); j++)
                    add_scaled(&args->dv, b, j, h, spec->causal ? 1 : 1 / (number)spec->length,
                               row_of(&args->dout, b, i, h), spec->head_width);
            }
        }
}
