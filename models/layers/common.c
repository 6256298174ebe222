#include "models/layers/common.h"

lh_status lh_require_tokens(const lh_model_setup *setup) {
    if (setup->vocabulary >= 1) return LH_OK;
    return lh_fail(LH_EOPTION, "needs a task over tokens (vocabulary %lld)",
                   (long long)setup->vocabulary);
}

lh_status lh_require_series(const lh_model_setup *setup) {
    const bool good = setup->vocabulary == 0 && setup->seq_len >= 1 && setup->pred_len >= 1 &&
                      setup->output_features >= 1 &&
                      setup->input_features == setup->output_features + setup->time_features;
    return good ? LH_OK : lh_fail(LH_EOPTION, "needs a forecasting task over vectors");
}

lh_status lh_require_window(const lh_model_setup *setup, int64_t length) {
    if (length == setup->seq_len + setup->pred_len) return LH_OK;
    return lh_fail(LH_ESHAPE,
                   "a segment of %lld steps, where seq_len %lld and pred_len %lld are %lld",
                   (long long)length, (long long)setup->seq_len, (long long)setup->pred_len,
                   (long long)(setup->seq_len + setup->pred_len));
}

lh_status lh_settle_head_width(int64_t width, int64_t heads, int64_t *head_width) {
    if (*head_width == 0 && width % heads != 0) {
        return lh_fail(LH_EOPTION,
                       "option 'heads' (%lld) does not divide 'width' (%lld); set "
                       "'head_width'",
                       (long long)heads, (long long)width);
    }
    if (*head_width == 0) *head_width = width / heads;
    return LH_OK;
}

lh_status lh_require_whole_chunks(const char *option, int64_t size, int64_t length) {
    if (length % size == 0) return LH_OK;
    const int64_t below = length / size * size;
    return lh_fail(LH_ESHAPE, "%s %lld does not divide segment %lld (try %lld)", option,
                   (long long)size, (long long)length, (long long)(below > 0 ? below : size));
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

lh_tensor *lh_last_tokens(lh_tape *tape, int64_t count, lh_tensor *before, lh_tensor *now) {
    if (before == NULL || now == NULL) return NULL;
    const int64_t length = now->shape[1];
    if (length >= count) return lh_slice(tape, now, 1, length - count, count);
    const int64_t kept = count - length;
    lh_tensor *const parts[] = {lh_slice(tape, before, 1, before->shape[1] - kept, kept), now};
    return lh_concat(tape, 1, parts, 2);
}
