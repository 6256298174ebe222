/* Parameters: what a declaration says of them, that a failure sticks, and where their values lie.
 */
#include "harness/engine/params.h"

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
    CHECK(table == 0 && weight == 1 && gain == 2 && bias == 3);
    CHECK(lh_params_at(params, table)->embedding && !lh_params_at(params, weight)->embedding);
    CHECK(lh_params_at(params, weight)->decay && !lh_params_at(params, gain)->decay);
    CHECK(!lh_params_at(params, bias)->decay);
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
