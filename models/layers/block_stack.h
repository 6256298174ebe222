/* A stack of sliding-window layers with tied embedding and head: the body of xl, slide, brt and
 * memorizing. */
#ifndef LH_LAYERS_BLOCK_STACK_H
#define LH_LAYERS_BLOCK_STACK_H

#include "models/layers/feed_forward.h"
#include "models/layers/window_attention.h"

typedef struct lh_block_layer {
    lh_window_attention attention;
    lh_feed_forward feed_forward;
    lh_recurrent_state state; /* when config.recurrent[layer] */
} lh_block_layer;

typedef struct lh_block_stack {
    lh_block_config config;
    int embedding, gain;
    int32_t *bucket_of; /* owned: T5 bucket of each distance 0..window */
    lh_block_layer layer[LH_BLOCK_LAYERS];
} lh_block_stack;

/* stack->config must be complete. Parameters: embedding.weight, layers.<i>.attention.*,
 * layers.<i>.state.*, layers.<i>.feed_forward.*, norm.gain. */
lh_status lh_block_stack_declare(lh_block_stack *stack, lh_declare *declare);
/* The entries of a class whose instance is an lh_block_stack. */
void lh_block_stack_clear(void *instance);

lh_status lh_block_stack_forward(const void *instance, lh_pass *pass, lh_output *out);

/* The gates of the recurrence encodings: layer_<i>_rsa_gate. */
lh_status lh_block_stack_probe(const void *instance, const lh_params *params,
                               void (*report)(void *context, const char *name, double value),
                               void *context);

/* Forward FLOPs per token, head included; the segment's length does not matter. */
double lh_block_stack_flops(const void *instance, int64_t length);

#endif
