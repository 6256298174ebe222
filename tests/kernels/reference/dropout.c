/* Dropout with the contract's random words, row by row. */
#include "tests/kernels/reference/loops.h"

void REFERENCE(dropout)(const void *arguments) {
    const lh_dropout_args *args = arguments;
    const number *x = args->x.data;
    number *y = args->y.data;
    const uint32_t threshold = lh_dropout_threshold(args->rate);
    const number kept = (number)(1 - args->rate);
    for (int64_t o = 0; o < args->outer; o++) {
        for (int64_t t = 0; t < args->length; t++) {
            const int64_t row = args->period > 0 ? t % args->period : o * args->length + t;
            const int64_t first = args->period > 0 ? 0 : args->first;
            for (int64_t d = 0; d < args->width; d++) {
                const int64_t at = (o * args->length + t) * args->width + d;
                const uint32_t word =
                    lh_random_word(*args->key, (uint64_t)(first + row * args->width + d));
                store(&y[at], args->write, word >= threshold ? x[at] / kept : 0);
            }
        }
    }
}
