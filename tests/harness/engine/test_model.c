/* What a class declares: how parameters are marked and grouped, the values they begin with, and
 * that a mistake in a declaration names the model. */
#include "harness/engine/model.h"

#include "tests/test.h"

enum { WIDTH = 3 };

typedef struct tiny {
    int64_t width;
    int table, plain, bare, first, second, started, mean;
    double start[WIDTH];
} tiny;

static const lh_option tiny_options[] = {
    LH_INTEGER("width", tiny, width, WIDTH, 1, WIDTH, "size of everything"), {0}};
static const lh_option_table tables[] = {LH_OWN_TABLE(tiny), {0}};
static const lh_init half = {.kind = LH_INIT_CONSTANT, .mean = 0.5};

static lh_status declare(void *instance, const lh_model_setup *setup, lh_declare *declaration) {
    tiny *m = instance;
    const int64_t table[] = {setup->vocabulary, m->width}, square[] = {m->width, m->width};
    m->table = lh_declare_param(declaration, half, 2, table, "table");
    lh_declare_embedding(declaration);
    m->plain = lh_declare_param(declaration, half, 2, square, "plain");
    m->bare = lh_declare_param(declaration, half, 2, square, "bare");
    lh_declare_undecayed(declaration);
    lh_declare_group(declaration);
    m->first = lh_declare_param(declaration, half, 2, square, "first");
    lh_declare_group(declaration);
    m->second = lh_declare_param(declaration, half, 2, square, "second");
    lh_declare_no_group(declaration);
    m->started = lh_declare_param(declaration, half, 1, &m->width, "started");
    lh_declare_rows(declaration, WIDTH);
    for (int i = 0; i < WIDTH; ++i)
        m->start[i] = i - 1;
    lh_declare_initial(declaration, m->start);
    m->mean = lh_declare_param(declaration, half, 1, &m->width, "mean");
    lh_declare_statistic(declaration);
    return LH_OK;
}

static lh_status declare_twice(void *instance, const lh_model_setup *setup,
                               lh_declare *declaration) {
    LH_TRY(declare(instance, setup, declaration));
    (void)lh_declare_param(declaration, half, 1, (int64_t[]){1}, "mean");
    return LH_OK;
}

static lh_status declare_flat_ring(void *instance, const lh_model_setup *setup,
                                   lh_declare *declaration) {
    (void)instance;
    const int64_t shape[] = {setup->vocabulary};
    CHECK_EQ_INT(lh_declare_state(declaration, LH_STATE_REPLACE, 1, shape, "kept"), 0);
    CHECK_EQ_INT(lh_declare_state(declaration, LH_STATE_RING, 1, shape, "ring.%d", 7), -1);
    CHECK_EQ_INT(lh_declare_state(declaration, LH_STATE_REPLACE, 1, shape, "after"), -1);
    return LH_OK;
}

/* Names of 120 letters, which were cut. */
static lh_status declare_long_param(void *instance, const lh_model_setup *setup,
                                    lh_declare *declaration) {
    LH_TRY(declare(instance, setup, declaration));
    CHECK_EQ_INT(lh_declare_param(declaration, half, 1, (int64_t[]){1}, "%0120d", 7), -1);
    return LH_OK;
}

static lh_status declare_long_state(void *instance, const lh_model_setup *setup,
                                    lh_declare *declaration) {
    (void)instance, (void)setup;
    const int64_t shape[] = {1};
    CHECK_EQ_INT(lh_declare_state(declaration, LH_STATE_REPLACE, 1, shape, "%0120d", 7), -1);
    return LH_OK;
}

static lh_status create(lh_status (*declares)(void *, const lh_model_setup *, lh_declare *),
                        lh_model **out) {
    static lh_model_class class = {
        .name = "tiny", .options = tables, .instance_size = sizeof(tiny)};
    const lh_model_setup setup = {.vocabulary = 5};
    class.declare = declares;
    lh_options *options = NULL;
    LH_TRY(lh_options_create("tiny", tables, &options));
    const lh_status status = lh_model_create(&class, options, &setup, out);
    lh_options_destroy(options);
    return status;
}

TEST(a_declaration_marks_what_was_declared_last) {
    lh_model *model = NULL;
    REQUIRE_OK(create(declare, &model));
    const tiny *m = model->instance;
    const int index[] = {m->table, m->plain, m->bare, m->first, m->second, m->started, m->mean};
    CHECK_EQ_INT(lh_params_count(model->params), 7);
    for (int i = 0; i < 7; ++i) {
        const lh_param *p = lh_params_at(model->params, i);
        CHECK_EQ_INT(index[i], i);
        CHECK(p->embedding == (i == m->table));
        CHECK(p->statistic == (i == m->mean));
        CHECK((p->initial != NULL) == (i == m->started));
        CHECK_EQ_INT(p->rows, i == m->started ? WIDTH : 0);
    }
    CHECK(lh_params_at(model->params, m->plain)->decay);
    CHECK(!lh_params_at(model->params, m->bare)->decay);
    CHECK(lh_params_at(model->params, m->first)->decay);
    CHECK_EQ_INT(lh_params_elements(model->params, true), 5 * 3 + 4 * 9 + 3); /* no statistic */
    lh_model_destroy(model);
}

TEST(groups_end_where_the_declaration_says) {
    lh_model *model = NULL;
    REQUIRE_OK(create(declare, &model));
    static const int expected[] = {0, 0, 0, 1, 2, 0, 0};
    for (int i = 0; i < 7; ++i)
        CHECK_EQ_INT(lh_params_at(model->params, i)->group, expected[i]);
    CHECK(lh_params_have_groups(model->params));
    lh_model_destroy(model);
}

TEST(a_parameter_begins_with_the_values_of_its_instance) {
    lh_device *device = NULL;
    lh_pool *pool = NULL;
    lh_model *model = NULL;
    REQUIRE_OK(lh_device_open("cpu", &device));
    REQUIRE_OK(lh_pool_create(device, &pool));
    REQUIRE_OK(create(declare, &model));
    const tiny *m = model->instance;
    REQUIRE_OK(lh_params_allocate(model->params, pool));
    REQUIRE_OK(lh_params_initialize(model->params, 1));
    for (int i = 0; i < WIDTH; ++i) {
        CHECK_NEAR(lh_tensor_real(lh_params_get(model->params, m->started))[i], i - 1, 0);
        CHECK_NEAR(lh_tensor_real(lh_params_get(model->params, m->mean))[i], 0.5, 0);
    }
    lh_model_destroy(model);
    lh_pool_destroy(pool);
    lh_device_close(device);
}

TEST(a_mistake_in_a_declaration_names_the_model) {
    lh_model *model = NULL;
    CHECK_FAILS(create(declare_twice, &model), LH_ESTATE, "mean is declared twice");
    CHECK_FAILS(create(declare_flat_ring, &model), LH_ESHAPE,
                "state ring.7: name too long or rank 1");
    CHECK_FAILS(create(declare_long_param, &model), LH_ESHAPE, "name too long");
    CHECK_FAILS(create(declare_long_state, &model), LH_ESHAPE, "name too long");
    CHECK_FAILS(create(declare_twice, &model), LH_ESTATE, "model tiny");
    CHECK(model == NULL);
}
