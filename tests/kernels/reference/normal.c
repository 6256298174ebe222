/* Normal numbers from pairs of random words (Box and Muller 1958). */
#include "tests/kernels/reference/loops.h"

void REFERENCE(normal)(const void *arguments) {
    const lh_normal_args *args = arguments;
    number *x = (void *)args->x;
    for (int64_t i = 0; i < args->count; i++) {
        const uint64_t word = 2 * (uint64_t)(args->first + i);
        const uint32_t first = lh_random_word(*args->key, word);
        const uint32_t second = lh_random_word(*args->key, word + 1);
        const number u = (number)(((double)first + 0.5) / 4294967296.0);
        const number v = (number)(((double)second + 0.5) / 4294967296.0);
        x[i] = (number)sqrt(-2 * log(u)) * (number)cos((number)6.283185307179586 * v);
    }
}
