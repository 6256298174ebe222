/* Sliding-window attention: Hutchins et al. 2022, sections 3.1 to 3.3; its memory of nearest
 * neighbours: Wu et al. 2022. */
#include "models/brt/block_stack.h"

#include <math.h>

#include "models/layers/common.h"
#include "models/layers/t5_bias.h"

static const double epsilon = 1e-6;
static const double bias_deviation =
    0.17677669529663687; /* sqrt(1 / 32): the bias table, as in the code */

/* ---- parameters ---- */

static void declare_memory(lh_window_attention *layer, const lh_block_config *config,
                           lh_declare *declaration, const char *prefix) {
    const int64_t ring[] = {config->memory, lh_block_inner(config)}, heads[] = {config->heads};
    const lh_init zero = lh_init_zeros();
    layer->memory_gate = lh_declare_param(declaration, zero, 1, heads, "%s.memory_gate", prefix);
    layer->memory_keys =
        lh_declare_state(declaration, LH_STATE_RING, 2, ring, "%s.memory.key", prefix);
    layer->memory_values =
        lh_declare_state(declaration, LH_STATE_RING, 2, ring, "%s.memory.value", prefix);
}

void lh_window_attention_declare(lh_window_attention *layer, const lh_block_config *config,
                                 lh_declare *declaration, const char *prefix) {
    const int64_t width = config->width, inner = lh_block_inner(config);
    const int64_t vector[] = {width}, matrix[] = {width, inner}, heads[] = {config->heads},
                  table[] = {config->heads, LH_T5_BUCKETS},
                  out[] = {layer->reads_states ? 2 * inner : inner, width},
                  cache[] = {config->window, config->heads, config->head_width};
    const lh_init weight = lh_init_fan_in(1.0, width);
    layer->gain = lh_declare_param(declaration, lh_init_ones(), 1, vector, "%s.norm.gain", prefix);
    layer->key = lh_declare_param(declaration, weight, 2, matrix, "%s.key", prefix);
    layer->value = lh_declare_param(declaration, weight, 2, matrix, "%s.value", prefix);
    layer->query = lh_declare_param(declaration, weight, 2, matrix, "%s.query", prefix);
    if (config->normalize) {
        layer->scale = lh_declare_param(declaration, lh_init_ones(), 1, heads, "%s.scale", prefix);
    }
    if (config->position_bias) {
        layer->bias = lh_declare_param(declaration, lh_init_normal(bias_deviation), 2, table,
                                       "%s.position_bias", prefix);
        lh_declare_undecayed(declaration);
    }
    if (layer->reads_states) {
        layer->query_state =
            lh_declare_param(declaration, weight, 2, matrix, "%s.query_state", prefix);
    }
    if (layer->reads_states && config->normalize) {
        layer->scale_state =
            lh_declare_param(declaration, lh_init_ones(), 1, heads, "%s.scale_state", prefix);
    }
    layer->out =
        lh_declare_param(declaration, lh_init_fan_in(1.0, out[0]), 2, out, "%s.out", prefix);
    if (layer->reads_memory) declare_memory(layer, config, declaration, prefix);
    layer->cache_keys =
        lh_declare_state(declaration, LH_STATE_REPLACE, 3, cache, "%s.cache.key", prefix);
    layer->cache_values =
        lh_declare_state(declaration, LH_STATE_REPLACE, 3, cache, "%s.cache.value", prefix);
}

/* ---- linear maps into heads ---- */

lh_tensor *lh_project(const lh_block_config *config, const lh_pass *pass, lh_tensor *x,
                      int weight) {
    return lh_project_heads(lh_pass_tape(pass), x, lh_pass_param(pass, weight), config->head_width);
}

lh_tensor *lh_project_unit(const lh_block_config *config, const lh_pass *pass, lh_tensor *x,
                           int weight) {
    lh_tensor *y = lh_project(config, pass, x, weight);
    return config->normalize ? lh_unit_norm(lh_pass_tape(pass), y, epsilon) : y;
}

lh_attention lh_plain_attention(const lh_block_config *config, const lh_pass *pass, int scale) {
    lh_attention attention = LH_ATTENTION;
    if (config->normalize) {
        attention.head_scale = lh_pass_param(pass, scale);
    } else {
        attention.scale = 1.0 / sqrt((double)config->head_width);
    }
    return attention;
}

/* ---- forward ---- */

lh_window_cache lh_window_attention_begin(const lh_window_attention *layer, const lh_pass *pass) {
    return (lh_window_cache){lh_pass_state(pass, layer->cache_keys),
                             lh_pass_state(pass, layer->cache_values)};
}

lh_window_keys lh_window_attention_keys(const lh_window_attention *layer,
                                        const lh_block_config *config, const lh_pass *pass,
                                        lh_tensor *x) {
    lh_tape *tape = lh_pass_tape(pass);
    lh_window_keys keys = {0};
    keys.normed = lh_rms_norm(tape, x, lh_pass_param(pass, layer->gain), epsilon);
    keys.normed = lh_tiled_dropout(config, pass, keys.normed);
    keys.k = lh_project_unit(config, pass, keys.normed, layer->key);
    keys.v = lh_project(config, pass, keys.normed, layer->value);
    keys.q = lh_project_unit(config, pass, keys.normed, layer->query);
    return keys;
}

/* With the scale of lh_plain_attention. */
static lh_tensor *read_memory(const lh_window_attention *layer, const lh_block_config *config,
                              const lh_pass *pass, lh_tensor *q) {
    lh_tape *tape = lh_pass_tape(pass);
    lh_tensor *scale = config->normalize ? lh_pass_param(pass, layer->scale) : NULL;
    if (!config->normalize) q = lh_scale(tape, q, 1.0 / sqrt((double)config->head_width));
    return lh_attend_knn(tape, q, lh_pass_state(pass, layer->memory_keys),
                         lh_pass_state(pass, layer->memory_values),
                         lh_pass_ring_count(pass, layer->memory_keys), scale, config->top);
}

/* local + sigmoid(b_h) * (memory - local), head by head. */
static lh_tensor *mix_memory(const lh_window_attention *layer, const lh_block_config *config,
                             const lh_pass *pass, lh_tensor *q, lh_tensor *local) {
    lh_tape *tape = lh_pass_tape(pass);
    lh_tensor *memory = read_memory(layer, config, pass, q);
    lh_tensor *gate = lh_unary(tape, LH_UNARY_SIGMOID, lh_pass_param(pass, layer->memory_gate));
    lh_tensor *spread = lh_repeat(tape, gate, config->head_width);
    lh_tensor *by_head = spread != NULL ? lh_permute(tape, spread, (const int[]){1, 0}) : NULL;
    const int64_t inner = lh_block_inner(config);
    lh_tensor *row = by_head != NULL ? lh_reshape(tape, by_head, 1, &inner) : NULL;
    lh_tensor *apart = lh_subtract(tape, memory, local);
    lh_tensor *part = lh_multiply_row(tape, lh_join_heads(tape, apart), row);
    return lh_add(tape, local, lh_split_heads(tape, part, config->head_width));
}

lh_tensor *lh_window_attention_self(const lh_window_attention *layer, const lh_block_config *config,
                                    const lh_pass *pass, const lh_window_keys *keys,
                                    lh_window_cache cache, lh_tensor *bucket_of) {
    lh_attention attention = lh_plain_attention(config, pass, layer->scale);
    /* i - W <= j < i; with see_self i - W < j <= i, so that every token still sees W keys. */
    attention.min_distance = config->see_self ? 0 : 1;
    attention.max_distance = attention.min_distance + config->window - 1;
    if (config->position_bias) {
        attention.bias = lh_pass_param(pass, layer->bias);
        attention.bucket_of = bucket_of;
    }
    if (lh_pass_is_training(pass)) {
        attention.dropout = config->dropout;
        attention.dropout_period = config->window;
    }
    attention.keys[0] = (lh_keys){.k = cache.k, .v = cache.v, .first = -config->window};
    attention.keys[1] = (lh_keys){.k = keys->k, .v = keys->v};
    attention.key_count = 2;
    lh_tensor *local = lh_attend(lh_pass_tape(pass), &attention, keys->q);
    local = lh_recurrence_encoding_mix(&layer->recurrence, pass, &attention, local);
    if (local == NULL || !layer->reads_memory) return local;
    return mix_memory(layer, config, pass, keys->q, local);
}

lh_tensor *lh_window_attention_state_queries(const lh_window_attention *layer,
                                             const lh_block_config *config, const lh_pass *pass,
                                             const lh_window_keys *keys) {
    return lh_project_unit(config, pass, keys->normed, layer->query_state);
}

lh_tensor *lh_window_attention_read(const lh_window_attention *layer, const lh_block_config *config,
                                    const lh_pass *pass, lh_tensor *query,
                                    const lh_state_keys *states) {
    lh_attention attention = lh_plain_attention(config, pass, layer->scale_state);
    attention.keys[0] = (lh_keys){.k = states->k, .v = states->v, .everywhere = true};
    attention.key_count = 1;
    return lh_attend(lh_pass_tape(pass), &attention, query);
}

lh_tensor *lh_window_attention_output(const lh_window_attention *layer,
                                      const lh_block_config *config, const lh_pass *pass,
                                      lh_tensor *x, lh_tensor *self, lh_tensor *read) {
    lh_tape *tape = lh_pass_tape(pass);
    lh_tensor *out = lh_pass_param(pass, layer->out);
    self = lh_join_heads(tape, self);
    if (!layer->reads_states) return lh_linear_add(tape, x, self, out);
    read = lh_join_heads(tape, read);
    /* W_o's upper half maps the self-attention, its lower half what was read: the same as the
     * product with the concatenation, without making it. */
    const int64_t inner = lh_block_inner(config);
    x = lh_linear_add(tape, x, self, lh_slice(tape, out, 0, 0, inner));
    return lh_linear_add(tape, x, read, lh_slice(tape, out, 0, inner, inner));
}

lh_window_cache lh_window_attention_advance(const lh_block_config *config, const lh_pass *pass,
                                            lh_window_cache cache, const lh_window_keys *keys) {
    lh_tape *tape = lh_pass_tape(pass);
    return (lh_window_cache){lh_last_tokens(tape, config->window, cache.k, keys->k),
                             lh_last_tokens(tape, config->window, cache.v, keys->v)};
}

lh_status lh_window_attention_carry(const lh_window_attention *layer, lh_pass *pass,
                                    lh_window_cache cache, const lh_window_keys *keys) {
    LH_TRY(lh_pass_carry(pass, layer->cache_keys, cache.k));
    LH_TRY(lh_pass_carry(pass, layer->cache_values, cache.v));
    if (!layer->reads_memory) return LH_OK;
    lh_tape *tape = lh_pass_tape(pass);
    lh_tensor *k = lh_detach(tape, keys->k), *v = lh_detach(tape, keys->v);
    LH_TRY(lh_pass_carry(pass, layer->memory_keys, lh_join_heads(tape, k)));
    return lh_pass_carry(pass, layer->memory_values, lh_join_heads(tape, v));
}

double lh_window_attention_flops(const lh_window_attention *layer, const lh_block_config *config) {
    const double width = (double)config->width, inner = (double)lh_block_inner(config);
    double macs = 4.0 * width * inner + 2.0 * (double)config->window * inner;
    if (layer->reads_states) macs += 2.0 * width * inner + 2.0 * (double)config->states * inner;
    if (layer->reads_memory) macs += inner * (double)(config->memory + config->top);
    return 2.0 * macs;
}
