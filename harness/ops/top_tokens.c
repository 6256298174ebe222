/* Which tokens a cluster takes (Roy et al. 2020, algorithm 1). */
#include "harness/ops/op.h"

lh_tensor *lh_top_tokens(lh_tape *tape, lh_tensor *score, int64_t top, int64_t group) {
    score = lh_convert(tape, score, LH_REAL);
    if (score == NULL) return NULL;
    const int64_t rows = lh_row_count(score), length = lh_last_axis(score);
    if (score->rank < 1 || top < 0 || top > length || group < 1 || rows % group != 0 ||
        rows / group * length > INT32_MAX)
        return LH_OP_FAIL("top_tokens: scores %s, the top %lld, rows in groups of %lld",
                          lh_shape_text(score), (long long)top, (long long)group);
    int64_t shape[LH_MAX_RANK];
    for (int i = 0; i < score->rank; ++i)
        shape[i] = score->shape[i];
    shape[score->rank - 1] = top;
    lh_tensor *index = lh_tape_new(tape, LH_I32, score->rank, shape);
    if (index == NULL) return NULL;
    const lh_top_tokens_args args = {.rows = rows,
                                     .length = length,
                                     .top = top,
                                     .group = group,
                                     .score = lh_tensor_real(score),
                                     .index = lh_tensor_integer(index)};
    return LH_RUN_W(lh_tape_pool(tape), top_tokens, &args) == LH_OK ? index : NULL;
}
