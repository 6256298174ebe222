#include "models/layers/series_embedding.h"

#include <math.h>
#include <stdio.h>

#include "models/layers/common.h"
#include "models/layers/initial.h"
#include "models/layers/sinusoid.h"

void lh_series_embedding_declare(lh_series_embedding *embedding, const lh_model_setup *setup,
                                 lh_declare *declare, const char *prefix) {
    const int64_t taps = 3 * embedding->channels, weight[] = {taps, embedding->width},
                  bias[] = {embedding->width};
    const lh_init normal = lh_init_normal(sqrt(2.0 / (double)taps)),
                  uniform = {LH_INIT_UNIFORM, 0.0, 1.0 / sqrt((double)taps)};
    char name[64];
    embedding->value = lh_declare_param(declare, normal, 2, weight, "%s.value.weight", prefix);
    embedding->value_bias = lh_declare_param(declare, uniform, 1, bias, "%s.value.bias", prefix);
    (void)snprintf(name, sizeof name, "%s.time", prefix);
    embedding->time = lh_dense_declare(declare, setup->time_features, embedding->width, name);
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
    return lh_pass_is_training(pass) ? lh_dropout(tape, y, embedding->dropout, 0) : y;
}

double lh_series_embedding_flops(const lh_series_embedding *embedding, int64_t time_features) {
    return 2.0 * (double)(3 * embedding->channels + time_features) * (double)embedding->width;
}
