/* The stack of sliding-window layers: what a pass keeps of each layer. */
#include "tests/test.h"

#include "tests/models/model_bench.h"

enum { ROWS = 2, LENGTH = 8, WINDOW = 16, WIDTH = 16 };

/* Peak bytes of a forward pass without recording, beyond what is there before it. */
static int64_t peak_of_pass(int layers) {
    model_bench bench;
    int32_t tokens[ROWS * LENGTH];
    const int32_t starts[ROWS] = {1, 1};
    char options[96];
    int64_t bytes = -1;
    random_tokens(tokens, ROWS * LENGTH);
    (void)snprintf(options, sizeof options, "layers=%d width=%d heads=2 window=%d dropout=0",
                   layers, WIDTH, WINDOW);
    if (bench_open(&bench, "slide", options, ROWS)) {
        lh_output out;
        const int64_t before = lh_pool_get_stats(bench.pool).used_bytes;
        lh_pool_reset_peak(bench.pool);
        lh_tape_begin(bench.tape, false, 1, 0);
        if (bench_forward(&bench, LENGTH, tokens, starts, false, &out) != NULL)
            bytes = lh_pool_get_stats(bench.pool).peak_bytes - before;
    }
    bench_close(&bench);
    return bytes;
}

/* A window longer than the segment is joined anew from what was cached and the segment's keys and
 * values, which are then no longer needed. */
TEST(a_layer_leaves_its_output_and_its_cache) {
    const int64_t output = ROWS * LENGTH * WIDTH, cache = 2 * ROWS * WINDOW * WIDTH;
    const int64_t three = peak_of_pass(3), seven = peak_of_pass(7);
    CHECK(three > 0);
    CHECK_EQ_INT(seven - three, 4 * (output + cache) * (int64_t)sizeof(real));
}
