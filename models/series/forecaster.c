/* The encoder and decoder of Informer (Zhou et al. 2021, section 3, figure 2) and of LogSparse as
 * Huang et al. 2023 (section 4.1) build it: options, parameters, forward pass, cost. */
#include "models/series/forecaster.h"

#include <stdio.h>

#include "models/layers/common.h"

/* ---- declaring ---- */

const lh_option lh_forecaster_options[] = {
    LH_INTEGER("layers", lh_forecaster, layers, 2, 1, LH_FORECASTER_LAYERS,
               "layers of the encoder"),
    LH_INTEGER("decoder_layers", lh_forecaster, decoder_layers, 1, 1, LH_FORECASTER_LAYERS,
               "layers of the decoder"),
    LH_INTEGER("width", lh_forecaster, width, 512, 1, 65536, "size of hidden states (d_model)"),
    LH_INTEGER("heads", lh_forecaster, heads, 8, 1, 1024, "attention heads"),
    LH_INTEGER("hidden", lh_forecaster, hidden, 0, 0, 1048576,
               "hidden size of the feed-forward network (d_ff); 0: 4 * width"),
    LH_REAL(
        "dropout", lh_forecaster, dropout, 0.05, 0, 0.99,
        "dropout rate of embeddings, attention (not ProbSparse) and residual branches in training"),
    LH_FLAG("sinusoids", lh_forecaster, sinusoids, true,
            "add absolute sinusoidal positions to the embeddings"),
    {0}};

static void declare_attention(lh_series_attention *layer, const char *prefix, const char *part,
                              lh_declare *declaration) {
    char name[80];
    (void)snprintf(name, sizeof name, "%s.%s", prefix, part);
    lh_series_attention_declare(layer, declaration, name);
}

static lh_norm declare_norm(const lh_forecaster *model, const char *prefix, const char *part,
                            lh_declare *declaration) {
    char name[80];
    (void)snprintf(name, sizeof name, "%s.%s", prefix, part);
    return lh_norm_declare(declaration, model->width, name);
}

static void declare_feed_forward(const lh_forecaster *model, lh_forecaster_layer *layer,
                                 const char *prefix, lh_declare *declaration) {
    char name[80];
    (void)snprintf(name, sizeof name, "%s.feed_forward.in", prefix);
    layer->network.in = lh_dense_declare(declaration, model->width, model->hidden, name);
    (void)snprintf(name, sizeof name, "%s.feed_forward.out", prefix);
    layer->network.back = lh_dense_declare(declaration, model->hidden, model->width, name);
    layer->network.norm = declare_norm(model, prefix, "norm", declaration);
}

/* Whether encoder layer i is followed by distilling. */
static bool distils_behind(const lh_forecaster *model, int64_t i) {
    return model->distils && i < model->layers - 1;
}

static void declare_encoder(lh_forecaster *model, const lh_series_attention *self,
                            lh_declare *declaration) {
    for (int64_t i = 0; i < model->layers; ++i) {
        lh_forecaster_layer *layer = &model->encoder[i];
        char prefix[48];
        (void)snprintf(prefix, sizeof prefix, "encoder.layers.%lld", (long long)i);
        layer->self = *self;
        declare_attention(&layer->self, prefix, "attention", declaration);
        layer->self_norm = declare_norm(model, prefix, "attention.norm", declaration);
        declare_feed_forward(model, layer, prefix, declaration);
    }
    for (int64_t i = 0; distils_behind(model, i); ++i) {
        char prefix[48];
        (void)snprintf(prefix, sizeof prefix, "encoder.distilling.%lld", (long long)i);
        model->distilling[i] = lh_distilling_declare(declaration, model->width, prefix);
    }
    model->encoder_norm = declare_norm(model, "encoder", "norm", declaration);
}

/* The decoder's cross-attention is dense, whatever the kind of the others. */
static void declare_decoder(lh_forecaster *model, const lh_series_attention *self,
                            lh_declare *declaration) {
    for (int64_t i = 0; i < model->decoder_layers; ++i) {
        lh_forecaster_layer *layer = &model->decoder[i];
        char prefix[48];
        (void)snprintf(prefix, sizeof prefix, "decoder.layers.%lld", (long long)i);
        layer->self = layer->cross = *self;
        layer->self.masked = true;
        layer->cross.kind = LH_SERIES_FULL;
        layer->cross.mix = false;
        layer->cross.taps = 1;
        declare_attention(&layer->self, prefix, "attention", declaration);
        layer->self_norm = declare_norm(model, prefix, "attention.norm", declaration);
        declare_attention(&layer->cross, prefix, "cross", declaration);
        layer->cross_norm = declare_norm(model, prefix, "cross.norm", declaration);
        declare_feed_forward(model, layer, prefix, declaration);
    }
    model->decoder_norm = declare_norm(model, "decoder", "norm", declaration);
}

static lh_status settle_sizes(lh_forecaster *model, lh_series_attention *self) {
    if (model->hidden == 0) model->hidden = 4 * model->width;
    LH_TRY(lh_recurrence_config_settle(&model->recurrence, model->heads));
    self->width = model->width;
    self->heads = model->heads;
    self->dropout = model->dropout;
    self->recurrence_config = model->recurrence;
    return lh_divide_heads(self->width, self->heads, &self->head_width);
}

lh_status lh_forecaster_declare(lh_forecaster *model, const lh_model_setup *setup,
                                lh_series_attention self, bool mixes, lh_declare *declaration) {
    lh_series_attention masked;
    LH_TRY(lh_require_series(setup));
    if (mixes && setup->pred_len == 0)
        return lh_fail(LH_EOPTION,
                       "option 'mix' swaps steps of the decoder, which would show what is "
                       "to be predicted where steps are known before: set mix=false");
    LH_TRY(settle_sizes(model, &self));
    if (model->distils && self.recurrence_config.heads > 0)
        return lh_fail(LH_EOPTION,
                       "distil halves the steps of the encoder, which recurrence encoding "
                       "counts lags in: give up one of distil and rsa_kinds");
    model->setup = *setup;
    model->encoder_embedding = (lh_series_embedding){.channels = setup->output_features,
                                                     .width = model->width,
                                                     .dropout = model->dropout,
                                                     .sinusoids = model->sinusoids};
    model->decoder_embedding = model->encoder_embedding;
    masked = self;
    masked.mix = mixes;
    lh_series_embedding_declare(&model->encoder_embedding, setup, declaration, "encoder.embedding");
    lh_series_embedding_declare(&model->decoder_embedding, setup, declaration, "decoder.embedding");
    declare_encoder(model, &self, declaration);
    declare_decoder(model, &masked, declaration);
    model->projection =
        lh_dense_declare(declaration, model->width, setup->output_features, "projection");
    return LH_OK;
}

/* ---- forward ---- */

static lh_tensor *feed_forward(const lh_forecaster *model, const lh_pass *pass,
                               const lh_forecaster_layer *layer, lh_tensor *x) {
    return lh_post_norm_network_apply(&layer->network, pass, model->dropout, LH_UNARY_GELU_EXACT,
                                      x);
}

static lh_tensor *encode(const lh_forecaster *model, lh_pass *pass, lh_tensor *x) {
    lh_tape *tape = lh_pass_tape(pass);
    x = lh_series_embedding_apply(&model->encoder_embedding, pass, x);
    for (int64_t i = 0; i < model->layers; ++i) {
        const lh_forecaster_layer *layer = &model->encoder[i];
        const lh_scope scope = lh_scope_open(tape);
        lh_tensor *y = lh_series_attention_apply(&layer->self, pass, x, x);
        y = lh_post_norm_join(layer->self_norm, pass, model->dropout, x, y);
        y = feed_forward(model, pass, layer, y);
        if (distils_behind(model, i)) y = lh_distilling_apply(&model->distilling[i], pass, y);
        x = lh_scope_close(tape, scope, y);
    }
    return lh_norm_apply(model->encoder_norm, pass, x);
}

/* `back`: how many steps before the decoder's first one the encoder's first one lies. */
static lh_tensor *decode(const lh_forecaster *model, const lh_pass *pass, lh_tensor *x,
                         lh_tensor *encoded, int64_t back) {
    lh_tape *tape = lh_pass_tape(pass);
    x = lh_series_embedding_apply(&model->decoder_embedding, pass, x);
    for (int64_t i = 0; i < model->decoder_layers; ++i) {
        const lh_forecaster_layer *layer = &model->decoder[i];
        lh_series_attention cross = layer->cross;
        const lh_scope scope = lh_scope_open(tape);
        lh_tensor *y = lh_series_attention_apply(&layer->self, pass, x, x);
        cross.first = -back;
        y = lh_post_norm_join(layer->self_norm, pass, model->dropout, x, y);
        y = lh_post_norm_join(layer->cross_norm, pass, model->dropout, y,
                              lh_series_attention_apply(&cross, pass, y, encoded));
        x = lh_scope_close(tape, scope, feed_forward(model, pass, layer, y));
    }
    return lh_norm_apply(model->decoder_norm, pass, x);
}

lh_status lh_forecaster_forward(const lh_forecaster *model, lh_pass *pass, lh_output *out) {
    const lh_model_setup *setup = &model->setup;
    lh_tape *tape = lh_pass_tape(pass);
    const lh_batch *batch = lh_pass_batch(pass);
    const int64_t seen = lh_observed_steps(setup, batch), count = batch->length - seen,
                  back = seen - setup->label_len;
    lh_tensor *x = batch->vectors;
    lh_tensor *observed = lh_slice(tape, x, 1, 0, seen);
    lh_tensor *asked = lh_slice(tape, x, 1, back, setup->label_len + count);
    lh_tensor *y = decode(model, pass, asked, encode(model, pass, observed), back);
    y = lh_contiguous(tape, lh_slice(tape, y, 1, setup->label_len, count));
    out->hidden = lh_dense_apply(model->projection, pass, y, LH_UNARY_IDENTITY);
    return out->hidden != NULL ? LH_OK : lh_failed();
}

double lh_forecaster_flops(const lh_forecaster *model, int64_t length) {
    const lh_model_setup *setup = &model->setup;
    const int64_t predicted = lh_asked_steps(setup, length), asked = setup->label_len + predicted;
    int64_t seen = setup->seq_len;
    const double network = 4.0 * (double)model->width * (double)model->hidden;
    double total = (double)(seen + asked) *
                       lh_series_embedding_flops(&model->encoder_embedding, setup->time_features) +
                   2.0 * (double)predicted * (double)model->width * (double)setup->output_features;
    for (int64_t i = 0; i < model->layers; ++i) {
        total +=
            lh_series_attention_flops(&model->encoder[i].self, seen, seen) + network * (double)seen;
        if (!distils_behind(model, i)) continue;
        total += lh_distilling_flops(model->width) * (double)seen;
        seen = lh_distilled_length(seen);
    }
    for (int64_t i = 0; i < model->decoder_layers; ++i)
        total += lh_series_attention_flops(&model->decoder[i].self, asked, asked) +
                 lh_series_attention_flops(&model->decoder[i].cross, asked, seen) +
                 network * (double)asked;
    return total / (double)(setup->seq_len + predicted);
}

lh_status lh_forecaster_probe(const lh_forecaster *model, const lh_params *params,
                              const lh_report *report) {
    int64_t index = 0;
    for (int64_t i = 0; i < model->layers; ++i)
        LH_TRY(lh_recurrence_encoding_probe(&model->encoder[i].self.recurrence, params, index++,
                                            report));
    for (int64_t i = 0; i < model->decoder_layers; ++i) {
        LH_TRY(lh_recurrence_encoding_probe(&model->decoder[i].self.recurrence, params, index++,
                                            report));
        LH_TRY(lh_recurrence_encoding_probe(&model->decoder[i].cross.recurrence, params, index++,
                                            report));
    }
    return LH_OK;
}
