/* Small pieces that every family of layers needs. */
#ifndef LH_LAYERS_COMMON_H
#define LH_LAYERS_COMMON_H

#include "harness/engine/model.h"

/* Fails with LH_EOPTION when the task has no tokens. */
lh_status lh_require_tokens(const lh_model_setup *setup);

/* Fails with LH_EOPTION when the task is no forecasting of vectors. */
lh_status lh_require_series(const lh_model_setup *setup);

/* Fails with LH_ESHAPE when a segment is no window of the task. */
lh_status lh_require_window(const lh_model_setup *setup, int64_t length);

/* Sets *head_width to width / heads where it is 0. Fails: LH_EOPTION when heads do not divide
 * width. */
lh_status lh_settle_head_width(int64_t width, int64_t heads, int64_t *head_width);

/* Fails with LH_ESHAPE, naming the nearest length that fits, when chunks of `size` tokens do not
 * fill a segment. `option` is what the user calls the size. */
lh_status lh_require_whole_chunks(const char *option, int64_t size, int64_t length);

/* Beside each step the one before and the one after it, around the ends, which a convolution over
 * three steps with circular padding sees: x [rows][length][width] -> [rows][length][3 * width]. */
lh_tensor *lh_circular_steps(lh_tape *tape, lh_tensor *x);

/* The last `count` tokens of [before; now] along axis 1; `before` has at least count. */
lh_tensor *lh_last_tokens(lh_tape *tape, int64_t count, lh_tensor *before, lh_tensor *now);

#endif
