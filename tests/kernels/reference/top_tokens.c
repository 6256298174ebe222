/* A token is taken when fewer than `top` others come before it. */
#include "tests/kernels/reference/loops.h"

static bool comes_before(const number *score, int64_t a, int64_t b) {
    const bool a_none = isnan(score[a]), b_none = isnan(score[b]);
    if (a_none != b_none) return a_none;
    if (!a_none && score[a] != score[b]) return score[a] > score[b];
    return a < b;
}

void REFERENCE(top_tokens)(const void *arguments) {
    const lh_top_tokens_args *args = arguments;
    int32_t *index = args->index;
    for (int64_t row = 0; row < args->rows; row++) {
        const number *score = (const number *)(const void *)args->score + row * args->length;
        for (int64_t t = 0; t < args->length; t++) {
            int64_t before = 0;
            for (int64_t other = 0; other < args->length; other++)
                before += comes_before(score, other, t);
            if (before < args->top) *index++ = (int32_t)(t + row / args->group * args->length);
        }
    }
}
