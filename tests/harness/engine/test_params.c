/* Parameters: what a declaration says of them, that a failure sticks, and where their values lie.
 */
#include "harness/engine/params.h"

#include "tests/tensor_named.h"
#include "tests/test.h"

static const int64_t matrix[] = {2, 3}, vector[] = {5};
static const lh_init half = {.kind = LH_INIT_CONSTANT, .mean = 0.5};

TEST(marks_are_of_the_parameter_declared_last) {
    lh_params *params = NULL;
    REQUIRE_OK(lh_params_create(&params));
    const int table = lh_params_declare(params, half, 2, matrix, "table");
    lh_params_mark_embedding(params);
    const int weight = lh_params_declare(params, half, 2, matrix, "layers.%d.weight", 3);
    const int gain = lh_params_declare(params, half, 2, matrix, "gain");
    lh_params_mark_undecayed(params);
    const int bias = lh_params_declare(params, half, 1, vector, "bias");
    const int centroids = lh_params_declare(params, half, 2, matrix, "centroids");
    lh_params_mark_statistic(params);
    CHECK(table == 0 && weight == 1 && gain == 2 && bias == 3 && centroids == 4);
    CHECK(lh_params_at(params, table)->embedding && !lh_params_at(params, weight)->embedding);
    CHECK(lh_params_at(params, weight)->decay && !lh_params_at(params, gain)->decay);
    CHECK(!lh_params_at(params, bias)->decay);
    CHECK(lh_params_at(params, centroids)->statistic && !lh_params_at(params, centroids)->decay);
    CHECK_STR(lh_params_at(params, weight)->name, "layers.3.weight");
    CHECK_EQ_INT(lh_params_find(params, "layers.3.weight"), weight);
    CHECK_EQ_INT(lh_params_find(params, "layers.4.weight"), -1);
    CHECK_EQ_INT(lh_params_elements(params, true), 23);
    CHECK_EQ_INT(lh_params_elements(params, false), 17);
    CHECK_EQ_INT(lh_params_status(params), LH_OK);
    lh_params_destroy(params);
}

TEST(many_parameters_keep_their_order) {
    lh_params *params = NULL;
    REQUIRE_OK(lh_params_create(&params));
    for (int i = 0; i < 300; ++i)
        CHECK_EQ_INT(lh_params_declare(params, half, 1, vector, "p%d", i), i);
    CHECK_EQ_INT(lh_params_count(params), 300);
    CHECK_EQ_INT(lh_params_find(params, "p299"), 299);
    CHECK_STR(lh_params_at(params, 17)->name, "p17");
    lh_params_destroy(params);
}

TEST(a_failed_declaration_sticks) {
    lh_params *params = NULL;
    REQUIRE_OK(lh_params_create(&params));
    CHECK_EQ_INT(lh_params_declare(params, half, 2, matrix, "same"), 0);
    CHECK_EQ_INT(lh_params_declare(params, half, 2, matrix, "same"), -1);
    CHECK_EQ_INT(lh_params_declare(params, half, 2, matrix, "other"), -1);
    CHECK_FAILS(lh_params_status(params), LH_ESTATE, "same is declared twice");
    lh_params_destroy(params);
    lh_params_destroy(NULL);
}

TEST(a_parameter_beyond_all_memory_is_refused) {
    static const int64_t wraps[] = {(int64_t)1 << 62, 4};
    lh_params *params = NULL;
    REQUIRE_OK(lh_params_create(&params));
    CHECK_EQ_INT(lh_params_declare(params, half, 2, wraps, "vast"), -1);
    CHECK_FAILS(lh_params_status(params), LH_ESHAPE, "vast: more than 2^48 elements");
    lh_params_destroy(params);
}

TEST(groups_are_numbered_from_one_to_their_end) {
    lh_params *params = NULL;
    REQUIRE_OK(lh_params_create(&params));
    CHECK(!lh_params_have_groups(params));
    (void)lh_params_declare(params, half, 1, vector, "before");
    lh_params_begin_group(params);
    (void)lh_params_declare(params, half, 1, vector, "first");
    lh_params_begin_group(params);
    (void)lh_params_declare(params, half, 1, vector, "second");
    lh_params_end_group(params);
    (void)lh_params_declare(params, half, 1, vector, "after");
    CHECK(lh_params_have_groups(params));
    CHECK_EQ_INT(lh_params_at(params, 0)->group, 0);
    CHECK_EQ_INT(lh_params_at(params, 1)->group, 1);
    CHECK_EQ_INT(lh_params_at(params, 2)->group, 2);
    CHECK_EQ_INT(lh_params_at(params, 3)->group, 0);
    lh_params_destroy(params);
}

TEST(values_are_given_or_drawn_and_views_share_them) {
    static const double given[] = {1, 2, 3, 4, 5};
    lh_device *device = NULL;
    lh_pool *pool = NULL;
    lh_params *params = NULL;
    lh_tensor *view = NULL;
    REQUIRE_OK(lh_device_open("cpu", &device));
    REQUIRE_OK(lh_pool_create(device, &pool));
    REQUIRE_OK(lh_params_create(&params));
    (void)lh_params_declare(params, half, 2, matrix, "half");
    (void)lh_params_declare(params, half, 1, vector, "given");
    lh_params_set_initial(params, given);
    REQUIRE_OK(lh_params_allocate(params, pool));
    REQUIRE_OK(lh_params_initialize(params, 1));
    for (int i = 0; i < 6; ++i)
        CHECK_NEAR(lh_tensor_real(lh_params_get(params, 0))[i], 0.5, 0);
    for (int i = 0; i < 5; ++i)
        CHECK_NEAR(lh_tensor_real(lh_params_get(params, 1))[i], 1 + i, 0);
    for (int i = 0; i < 2; ++i)
        CHECK(lh_tensor_real(lh_params_get(params, i)) ==
              lh_tensor_real(lh_params_values(params)) + lh_params_offset(params, i));
    CHECK_EQ_INT(lh_params_offset(params, 2), lh_tensor_count(lh_params_values(params)));
    REQUIRE_OK(lh_param_view(lh_params_at(params, 1), lh_params_values(params),
                             lh_params_gradients(params), 0, &view));
    CHECK(lh_tensor_real(view) == lh_tensor_real(lh_params_values(params)));
    CHECK(view->rank == 1 && view->shape[0] == 5 && view->gradient != NULL);
    lh_tensor_release(view);
    lh_params_destroy(params);
    CHECK_EQ_INT(lh_pool_get_stats(pool).used_bytes, 0);
    lh_pool_destroy(pool);
    lh_device_close(device);
}

/* ---- how published tensors lie ---- */

static const char weights_path[] = "/tmp/longhaul-test-params.safetensors";
static const lh_tensor_name published[] = {
    {"rows", "rows", LH_IN_ROWS},          {"back", "back", LH_REVERSED},
    {"waves", "waves", LH_SINES_FIRST},    {"whole.#", "#.upper", LH_TRANSPOSED},
    {"whole.#", "#.lower", LH_TRANSPOSED}, {"own.#", "#.own", LH_ALIKE},
    {"again.#", "=#.own", LH_ALIKE},       {NULL, NULL, LH_ALIKE}};

/* Parameters whose elements count up from 0 in each. */
typedef struct layouts_bench {
    lh_device *device;
    lh_pool *pool;
    lh_params *params;
} layouts_bench;

static bool open_layouts(layouts_bench *b, int64_t lower) {
    static const double up[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    const int64_t six = 6, three = 3, waves[] = {5, 2}, upper[] = {2, 1}, rest[] = {2, lower};
    *b = (layouts_bench){NULL, NULL, NULL};
    if (!CHECK_OK(lh_device_open("cpu", &b->device)) ||
        !CHECK_OK(lh_pool_create(b->device, &b->pool)) || !CHECK_OK(lh_params_create(&b->params)))
        return false;
    (void)lh_params_declare(b->params, half, 1, &six, "rows");
    lh_params_set_rows(b->params, 2);
    lh_params_set_initial(b->params, up);
    (void)lh_params_declare(b->params, half, 1, &three, "back");
    lh_params_set_initial(b->params, up);
    (void)lh_params_declare(b->params, half, 2, waves, "waves");
    lh_params_set_initial(b->params, up);
    (void)lh_params_declare(b->params, half, 2, upper, "7.upper");
    lh_params_set_initial(b->params, up);
    (void)lh_params_declare(b->params, half, 2, rest, "7.lower");
    lh_params_set_initial(b->params, up);
    (void)lh_params_declare(b->params, half, 1, &three, "7.own");
    lh_params_set_initial(b->params, up);
    return CHECK_OK(lh_params_allocate(b->params, b->pool)) &&
           CHECK_OK(lh_params_initialize(b->params, 1));
}

static void close_layouts(layouts_bench *b) {
    lh_params_destroy(b->params);
    lh_pool_destroy(b->pool);
    lh_device_close(b->device);
}

/* A tensor of the file has this shape and these values. */
static void check_tensor(const lh_safetensors *file, const char *name, int64_t rows,
                         int64_t columns, const double *expected) {
    const lh_safetensors_entry *entry = tensor_named(file, name);
    real values[10];
    REQUIRE(entry != NULL);
    CHECK_EQ_INT(entry->rank, columns > 0 ? 2 : 1);
    CHECK_EQ_INT(entry->shape[0], rows);
    CHECK(columns == 0 || entry->shape[1] == columns);
    REQUIRE(entry->count <= 10);
    lh_safetensors_convert(entry, values);
    for (int64_t i = 0; i < entry->count; ++i)
        test_check((double)values[i] == expected[i], __FILE__, __LINE__,
                   "%s: element %d is %g, not %g", name, (int)i, (double)values[i], expected[i]);
}

TEST(parameters_lie_in_published_tensors_as_the_list_says) {
    static const double rows[] = {0, 1, 2, 3, 4, 5}, back[] = {2, 1, 0},
                        waves[] = {0, 4, 8, 2, 6, 1, 5, 9, 3, 7}, whole[] = {0, 1, 0, 2, 1, 3};
    layouts_bench b;
    lh_safetensors *file = NULL;
    real before[1024];
    REQUIRE(open_layouts(&b, 2));
    const lh_tensor *values = lh_params_values(b.params);
    const size_t bytes = (size_t)lh_tensor_count(values) * sizeof *before;
    REQUIRE(bytes <= sizeof before);
    memcpy(before, lh_tensor_real(values), bytes);
    REQUIRE_OK(lh_params_save(b.params, weights_path, published, NULL));
    REQUIRE_OK(lh_safetensors_open(weights_path, &file));
    CHECK_EQ_INT(lh_safetensors_count(file), 5);
    check_tensor(file, "rows", 2, 3, rows);
    check_tensor(file, "back", 3, 0, back);
    check_tensor(file, "waves", 2, 5, waves);
    check_tensor(file, "whole.7", 3, 2, whole);
    lh_safetensors_close(file);
    for (int i = 0; i < lh_params_count(b.params); ++i)
        lh_tensor_real(lh_params_get(b.params, i))[1] = 99;
    REQUIRE_OK(lh_params_load(b.params, weights_path, published, NULL, false));
    CHECK(memcmp(before, lh_tensor_real(values), bytes) == 0);
    close_layouts(&b);
    (void)remove(weights_path);
}

TEST(parts_that_do_not_fill_their_tensor_are_refused) {
    layouts_bench b, more;
    REQUIRE(open_layouts(&b, 2) && open_layouts(&more, 3));
    REQUIRE_OK(lh_params_save(b.params, weights_path, published, NULL));
    CHECK_FAILS(lh_params_load(more.params, weights_path, published, NULL, false), LH_EFORMAT,
                "tensor whole.7: the model has [4][2], the file [3][2]");
    close_layouts(&b);
    close_layouts(&more);
    (void)remove(weights_path);
}

/* A tensor that must equal another of the same number. */
TEST(a_twin_has_the_number_of_its_own) {
    static const int64_t three = 3;
    static const real own[] = {1, 2, 3}, other[] = {1, 2, 4};
    const lh_safetensors_source same[] = {{"own.7", 1, &three, own}, {"again.7", 1, &three, own}},
                                apart[] = {{"own.7", 1, &three, own},
                                           {"again.7", 1, &three, other}};
    layouts_bench b;
    REQUIRE(open_layouts(&b, 2));
    REQUIRE_OK(lh_safetensors_write(weights_path, &(lh_safetensors_contents){same, 2, NULL, 0}));
    CHECK_OK(lh_params_load(b.params, weights_path, published, NULL, true));
    REQUIRE_OK(lh_safetensors_write(weights_path, &(lh_safetensors_contents){apart, 2, NULL, 0}));
    CHECK_FAILS(lh_params_load(b.params, weights_path, published, NULL, true), LH_EFORMAT,
                "tensor again.7 differs from own.7");
    close_layouts(&b);
    (void)remove(weights_path);
}
