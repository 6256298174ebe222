/* Models whose state is a matrix: what they hold. The names of the releases' weights. */
#include "tests/test.h"

#include <unistd.h>

#include "tests/models/model_bench.h"

/* Counted by hand: embedding and head, per layer four projections, two norms and the network, the
 * norm behind the last layer. */
TEST(linear_attention_has_so_many_parameters) {
    const int64_t width = 32, inner = 4 * 6, hidden = 64, vocabulary = 256;
    const int64_t layer = 3 * (width + 1) * inner + (inner + 1) * width + 4 * width +
                          (width + 1) * hidden + (hidden + 1) * width;
    CHECK_EQ_INT(count_parameters("linear_attention",
                                  "layers=3 width=32 heads=4 head_width=6 hidden=64",
                                  (lh_model_setup){.vocabulary = vocabulary}),
                 3 * layer + 2 * vocabulary * width + vocabulary + 2 * width);
}

/* The released mamba2-130m and mamba2-370m, whose vocabulary is filled up to 50288. */
TEST(mamba2_has_the_parameters_of_its_releases) {
    const lh_model_setup setup = {.vocabulary = 50288};
    CHECK_EQ_INT(count_parameters("mamba2", "", setup), 128989632);
    CHECK_EQ_INT(count_parameters("mamba2", "layers=48 width=1024", setup), 368346624);
}

TEST(mamba2_refuses_what_does_not_fit) {
    lh_model *model = NULL;
    CHECK_FAILS(create_model("mamba2", "width=10 head_width=8", &model), LH_EOPTION,
                "8 does not divide expand * width, 20");
    CHECK_FAILS(create_model("mamba2", "width=8 head_width=4 groups=3", &model), LH_EOPTION,
                "3 does not divide the 4 heads");
    CHECK_FAILS(create_model("mamba2", "width=1024 head_width=1", &model), LH_EOPTION,
                "2048 heads");
    CHECK_FAILS(create_model("mamba2", "step_min=0.5", &model), LH_EOPTION, "step_max");
}

/* The published gated-deltanet-360M-15B-slimpajama, which flash-linear-attention made. */
TEST(gated_deltanet_has_the_parameters_of_a_release) {
    const lh_model_setup setup = {.vocabulary = 32000};
    CHECK_EQ_INT(count_parameters("gated_deltanet", "width=1024 heads=4 expand=1", setup),
                 357781928);
}

TEST(gated_deltanet_refuses_what_does_not_fit) {
    lh_model *model = NULL;
    CHECK_FAILS(create_model("gated_deltanet", "width=8 heads=2 value_heads=3", &model), LH_EOPTION,
                "3 is no multiple of heads, 2");
    CHECK_FAILS(create_model("gated_deltanet", "width=8 head_width=5 expand=1.5", &model),
                LH_EOPTION, "1.5 is 7.5, no whole number");
    CHECK_FAILS(create_model("gated_deltanet", "width=8 expand=0", &model), LH_EOPTION, "expand");
}

/* Saved under the names of the release and loaded from there: the same parameters, and matrices
 * lie as PyTorch has them. */
static void check_published(const char *name, const char *options, const char *matrix) {
    model_bench bench;
    char path[64];
    (void)snprintf(path, sizeof path, "/tmp/longhaul-names-%ld.safetensors", (long)getpid());
    REQUIRE(bench_open(&bench, name, options, 1));
    const lh_tensor_name *names = bench.model->class->published_names;
    lh_params *params = bench.model->params;
    const int index = lh_params_find(params, matrix);
    REQUIRE(names != NULL && index >= 0);
    const real first = lh_tensor_real(lh_params_get(params, index))[1];
    CHECK_OK(lh_params_save(params, path, names, NULL));
    CHECK_OK(lh_params_initialize(params, 99));
    CHECK(lh_tensor_real(lh_params_get(params, index))[1] != first);
    CHECK_OK(lh_params_load(params, path, names, NULL, false));
    CHECK_NEAR(lh_tensor_real(lh_params_get(params, index))[1], first, 1e-7);
    for (int i = 0; i < lh_params_count(params); ++i) {
        bool named = false;
        const char *own = lh_params_at(params, i)->name;
        char pattern[96];
        (void)snprintf(pattern, sizeof pattern, "%s", own);
        char *number = strstr(pattern, ".0.");
        if (number != NULL) number[1] = '#';
        for (const lh_tensor_name *n = names; n->published != NULL; ++n)
            named = named ||
                    (n->own != NULL && (strcmp(n->own, pattern) == 0 || strcmp(n->own, own) == 0));
        test_check(named, __FILE__, __LINE__, "%s: %s has no published name", name, pattern);
    }
    (void)remove(path);
    bench_close(&bench);
}

TEST(releases_weights_have_names) {
    check_published("linear_attention", "layers=1 width=8 heads=2 hidden=12",
                    "layers.0.attention.key.weight");
    check_published("mamba2", "layers=1 width=8 state=6 head_width=4", "layers.0.in");
    check_published("mamba2", "layers=1 width=8 state=6 head_width=4 tied=false", "head.weight");
    check_published("gated_deltanet", "layers=1 width=8 heads=2 head_width=4 hidden=12",
                    "layers.0.key");
#define AXIAL "layers=1 width=8 heads=2 hidden=12 positions=4,8 position_widths=3,5 "
    check_published("reformer", AXIAL "attention=lsh", "layers.0.attention.query_key");
    check_published("reformer", AXIAL "attention=local", "positions.1.weight");
}
