/* Informer's embedding of a window of a time series (Zhou et al. 2021, appendix B). */
#include "models/series/series_embedding.h"

#include <math.h>
#include <stdio.h>

#include "models/layers/common.h"

lh_status lh_require_series(const lh_model_setup *setup) {
    const bool good = setup->vocabulary == 0 && setup->seq_len >= 1 &&
                      setup->output_features >= 1 &&
                      setup->input_features == setup->output_features + setup->time_features;
    return good ? LH_OK : lh_fail(LH_EOPTION, "needs a forecasting task over vectors");
}

lh_status lh_require_window(const lh_model_setup *setup, int64_t length) {
    if (setup->pred_len == 0 || length == setup->seq_len + setup->pred_len) return LH_OK;
    return lh_fail(LH_ESHAPE,
                   "a segment of %lld steps, where seq_len %lld and pred_len %lld are %lld",
                   (long long)length, (long long)setup->seq_len, (long long)setup->pred_len,
                   (long long)(setup->seq_len + setup->pred_len));
}

int64_t lh_observed_steps(const lh_model_setup *setup, const lh_batch *batch) {
    return batch->observed > 0 ? batch->observed : setup->seq_len;
}

int64_t lh_asked_steps(const lh_model_setup *setup, int64_t length) {
    return setup->pred_len > 0 ? setup->pred_len : length - setup->seq_len;
}

/* x moved on by one step, or back by one, around the ends. */
static lh_tensor *roll(lh_tape *tape, lh_tensor *x, bool forward) {
    const int64_t length = x->shape[1], cut = forward ? length - 1 : 1;
    lh_tensor *const parts[] = {lh_slice(tape, x, 1, cut, length - cut),
                                lh_slice(tape, x, 1, 0, cut)};
    if (cut == 0 || cut == length) return x;
    return lh_concat(tape, 1, parts, 2);
}

lh_tensor *lh_circular_steps(lh_tape *tape, lh_tensor *x) {
    if (x == NULL) return NULL;
    lh_tensor *const steps[] = {roll(tape, x, true), x, roll(tape, x, false)};
    return lh_concat(tape, 2, steps, 3);
}

void lh_series_embedding_declare(lh_series_embedding *embedding, const lh_model_setup *setup,
                                 lh_declare *declaration, const char *prefix) {
    const int64_t taps = 3 * embedding->channels, weight[] = {taps, embedding->width},
                  bias[] = {embedding->width};
    const lh_init normal = lh_init_normal(sqrt(2.0 / (double)taps)),
                  uniform = lh_init_uniform(1.0 / sqrt((double)taps));
    char name[64];
    embedding->value = lh_declare_param(declaration, normal, 2, weight, "%s.value.weight", prefix);
    embedding->value_bias =
        lh_declare_param(declaration, uniform, 1, bias, "%s.value.bias", prefix);
    (void)snprintf(name, sizeof name, "%s.time", prefix);
    embedding->time = lh_dense_declare(declaration, setup->time_features, embedding->width, name);
}

lh_tensor *lh_series_embedding_apply(const lh_series_embedding *embedding, const lh_pass *pass,
                                     lh_tensor *x) {
    lh_tape *tape = lh_pass_tape(pass);
    if (x == NULL) return NULL;
    const int64_t channels = embedding->channels, times = x->shape[2] - channels;
    lh_tensor *values = lh_slice(tape, x, 2, 0, channels);
    lh_tensor *y =
        lh_linear(tape, lh_circular_steps(tape, values), lh_pass_param(pass, embedding->value),
                  lh_pass_param(pass, embedding->value_bias), LH_UNARY_IDENTITY);
    lh_tensor *marks = lh_contiguous(tape, lh_slice(tape, x, 2, channels, times));
    y = lh_add(tape, y, lh_dense_apply(embedding->time, pass, marks, LH_UNARY_IDENTITY));
    if (embedding->sinusoids)
        y = lh_add_batch(tape, y, lh_sinusoids(tape, x->shape[1], embedding->width));
    return lh_pass_dropout(pass, embedding->dropout, y);
}

double lh_series_embedding_flops(const lh_series_embedding *embedding, int64_t time_features) {
    return 2.0 * (double)(3 * embedding->channels + time_features) * (double)embedding->width;
}
