/* The block-recurrent models against an independent implementation
 * (tests/oracles/block_recurrent.py). */
#include "tests/test.h"

#include "tests/models/model_bench.h"

enum { SEGMENT = 8, SEGMENTS = 2, LINE = 256, WIDTH = 8 };

/* The oracle's formula for parameters. */
static void fill_params(lh_params *params) {
    for (int i = 0; i < lh_params_count(params); ++i) {
        const lh_param *param = lh_params_at(params, i);
        const char *name = param->name;
        int sum = 0;
        for (const char *c = name; *c != '\0'; ++c)
            sum += (unsigned char)*c;
        const size_t length = strlen(name);
        const bool near_one = (length >= 4 && strcmp(name + length - 4, "gain") == 0) ||
                              strstr(name, ".scale") != NULL;
        for (int64_t e = 0; e < param->count; ++e) {
            const double value = 0.5 * sin(0.37 * (double)e + 1.3 * (double)(sum % 97) + 0.1);
            lh_tensor_real(param->value)[e] = (real)(near_one ? 1.0 + 0.2 * value : value);
        }
    }
}

static bool run_case(const char *options, real *hidden) {
    model_bench bench;
    int32_t tokens[SEGMENT * SEGMENTS];
    const int32_t starts[] = {1};
    char text[LINE];
    for (int i = 0; i < SEGMENT * SEGMENTS; ++i) {
        tokens[i] = (7 * i * i + 3 * i + 1) % BENCH_VOCABULARY;
    }
    (void)snprintf(text, sizeof text, "layers=3 width=8 heads=2 window=4 dropout=0 %s", options);
    bool good = bench_open(&bench, "brt", text, 1);
    if (good) {
        fill_params(bench.model->params);
        good = bench_run(&bench, tokens, SEGMENT * SEGMENTS, SEGMENT, starts, hidden);
    }
    bench_close(&bench);
    return good;
}

/* Each fixture line: options,segment,position,channel,hidden. */
TEST(hidden_states_equal_the_oracles) {
    FILE *file = fopen("tests/golden/block_recurrent.csv", "r");
    char line[LINE], options[LINE] = "";
    real hidden[SEGMENT * SEGMENTS * WIDTH];
    int compared = 0;
    REQUIRE(file != NULL);
    REQUIRE(fgets(line, sizeof line, file) != NULL);
    while (fgets(line, sizeof line, file) != NULL) {
        int segment = 0, position = 0, channel = 0;
        double expected = 0;
        char *comma = strchr(line, ',');
        REQUIRE(comma != NULL);
        REQUIRE(sscanf(comma, ",%d,%d,%d,%lf", &segment, &position, &channel, &expected) == 4);
        *comma = '\0';
        if (strcmp(line, options) != 0) {
            (void)snprintf(options, sizeof options, "%s", line);
            REQUIRE(run_case(options, hidden));
        }
        const real got = hidden[(segment * SEGMENT + position) * WIDTH + channel];
        test_check(fabs((double)got - expected) < 1e-9, __FILE__, __LINE__,
                   "%s: segment %d, position %d, channel %d is %.9g, the oracle says %.9g", options,
                   segment, position, channel, (double)got, expected);
        compared += 1;
    }
    (void)fclose(file);
    CHECK_EQ_INT(compared, 12 * SEGMENTS * 4 * WIDTH);
}
