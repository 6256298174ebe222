/* The models against independent implementations (tests/oracles/). */
#include "tests/test.h"

#include "tests/models/model_bench.h"
#include "tests/models/oracle_values.h"

enum { SEGMENT = 8, SEGMENTS = 2, POSITIONS = 4, LINE = 256, WIDTH = 8 };

/* A fixture line: model,options,segment,position,channel,hidden. */
typedef struct line_fields {
    const char *model, *options;
    int segment, position, channel;
    double hidden;
} line_fields;

/* Options with lists stand in double quotes. */
static bool split_line(char *line, line_fields *fields) {
    char *options = strchr(line, ',');
    if (options == NULL) return false;
    *options++ = '\0';
    const bool quoted = *options == '"';
    options += quoted;
    char *end = strchr(options, quoted ? '"' : ',');
    if (end == NULL) return false;
    *end++ = '\0';
    fields->model = line;
    fields->options = options;
    return sscanf(end + quoted, "%d,%d,%d,%lf", &fields->segment, &fields->position,
                  &fields->channel, &fields->hidden) == 4 &&
           fields->segment < SEGMENTS && fields->position < SEGMENT && fields->channel < WIDTH;
}

static bool run_case(const char *model, const char *options, real *hidden) {
    model_bench bench;
    int32_t tokens[SEGMENT * SEGMENTS];
    const int32_t starts[] = {1};
    for (int i = 0; i < SEGMENT * SEGMENTS; ++i) {
        tokens[i] = (7 * i * i + 3 * i + 1) % BENCH_VOCABULARY;
    }
    bool good = bench_open(&bench, model, options, 1);
    if (good) {
        fill_params(bench.model->params);
        good = bench_run(&bench, tokens, SEGMENT * SEGMENTS, SEGMENT, starts, hidden);
    }
    bench_close(&bench);
    return good;
}

/* Runs every configuration of a fixture and compares all that it holds. */
static void compare_with(const char *path, int cases) {
    FILE *file = fopen(path, "r");
    char line[LINE], ran[LINE] = "";
    real hidden[SEGMENT * SEGMENTS * WIDTH];
    int compared = 0;
    REQUIRE(file != NULL);
    REQUIRE(fgets(line, sizeof line, file) != NULL);
    while (fgets(line, sizeof line, file) != NULL) {
        line_fields is;
        char name[LINE];
        REQUIRE(split_line(line, &is));
        (void)snprintf(name, sizeof name, "%s %s", is.model, is.options);
        if (strcmp(name, ran) != 0) {
            (void)snprintf(ran, sizeof ran, "%s", name);
            REQUIRE(run_case(is.model, is.options, hidden));
        }
        const real got = hidden[(is.segment * SEGMENT + is.position) * WIDTH + is.channel];
        test_check(fabs((double)got - is.hidden) < 1e-10, __FILE__, __LINE__,
                   "%s: segment %d, position %d, channel %d is %.9g, the oracle says %.9g", name,
                   is.segment, is.position, is.channel, (double)got, is.hidden);
        compared += 1;
    }
    (void)fclose(file);
    CHECK_EQ_INT(compared, cases * SEGMENTS * POSITIONS * WIDTH);
}

TEST(block_recurrent_equals_the_oracle) {
    compare_with("tests/golden/block_recurrent.csv", 22);
}

TEST(staircase_family_equals_the_oracle) {
    compare_with("tests/golden/staircase.csv", 38);
}

TEST(recurrent_networks_equal_the_oracle) {
    compare_with("tests/golden/lstm.csv", 6);
}

TEST(linear_attention_equals_the_oracle) {
    compare_with("tests/golden/linear_attention.csv", 4);
}

TEST(mamba2_equals_the_oracle) {
    compare_with("tests/golden/mamba2.csv", 5);
}

TEST(gated_deltanet_equals_the_oracle) {
    compare_with("tests/golden/gated_deltanet.csv", 5);
}

TEST(routing_equals_the_oracle) {
    compare_with("tests/golden/routing.csv", 6);
}

TEST(t5_equals_the_oracle) {
    compare_with("tests/golden/t5.csv", 6);
}

TEST(transformer_equals_the_oracle) {
    compare_with("tests/golden/transformer.csv", 10);
}

TEST(reformer_equals_the_oracle) {
    compare_with("tests/golden/reformer.csv", 10);
}

TEST(reformer_encoder_decoder_equals_the_oracle) {
    compare_with("tests/golden/reformer_encoder_decoder.csv", 5);
}

TEST(dai_xl_equals_the_oracle) {
    compare_with("tests/golden/dai_xl.csv", 10);
}

TEST(compressive_equals_the_oracle) {
    compare_with("tests/golden/compressive.csv", 7);
}

TEST(rmt_equals_the_oracle) {
    compare_with("tests/golden/rmt.csv", 9);
}

TEST(gpt2_equals_the_oracle) {
    compare_with("tests/golden/gpt2.csv", 9);
}

TEST(forecasters_equal_the_oracle) {
    compare_with("tests/golden/series.csv", 22);
}
