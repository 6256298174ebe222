/* A step in micro-batches is the step at once, to rounding: losses, parameters, what is carried and
 * what dropout draws, in less memory. */
#include "harness/train/trainer.h"

#include <math.h>
#include <unistd.h>

#include "harness/engine/plugin.h"
#include "harness/tasks/tasks.h"
#include "harness/train/session_file.h"
#include "harness/train/session_inside.h"
#include "harness/train/train_step.h"
#include "tests/harness/trigram.h"
#include "tests/test.h"

#define SGD "optimizer=sgd momentum=0.9 rate=0.2 schedule=constant warmup=1 log_every=1 "

/* Largest difference of two blocks, over the largest element. */
static double distance(const lh_tensor *a, const lh_tensor *b) {
    const int64_t count = lh_tensor_count(a);
    const real *x = lh_tensor_real(a), *y = lh_tensor_real(b);
    double most = 0.0, size = 0.0;
    for (int64_t i = 0; i < count; ++i) {
        most = fmax(most, fabs((double)x[i] - (double)y[i]));
        size = fmax(size, fabs((double)x[i]));
    }
    return size > 0.0 ? most / size : most;
}

static double parameters_apart(const lh_session *a, const lh_session *b) {
    return distance(lh_params_values(lh_session_model(a)->params),
                    lh_params_values(lh_session_model(b)->params));
}

static double states_apart(const lh_session *a, const lh_session *b) {
    double most = 0.0;
    for (int i = 0; i < lh_state_count(a->state); ++i) {
        const lh_tensor *x = lh_state_tensor(a->state, i), *y = lh_state_tensor(b->state, i);
        if (x != NULL && x->dtype == LH_REAL) most = fmax(most, distance(x, y));
    }
    return most;
}

static lh_status open_model(const char *model, const char *options, const char *accumulate,
                            lh_session **out) {
    char train[256];
    (void)snprintf(train, sizeof train, SGD "steps=5 %s", accumulate);
    return pattern_session(lh_model_class_find(model), options, "segment=8 batch=5", train, 3, out);
}

/* Five rows in two and in three parts, of unequal sizes. */
static void check_model(const char *model, const char *options) {
    lh_session *whole = NULL;
    REQUIRE_OK(open_model(model, options, "", &whole));
    lh_session *parts[2] = {NULL};
    REQUIRE_OK(open_model(model, options, "accumulate=2", &parts[0]));
    REQUIRE_OK(open_model(model, options, "accumulate=3", &parts[1]));
    REQUIRE_OK(lh_session_train(whole, NULL, NULL, NULL));
    for (int i = 0; i < 2; ++i) {
        REQUIRE_OK(lh_session_train(parts[i], NULL, NULL, NULL));
        CHECK(parameters_apart(whole, parts[i]) < 2e-6);
        CHECK(states_apart(whole, parts[i]) < 2e-5);
        CHECK_EQ_INT(parts[i]->record.tokens, whole->record.tokens);
        lh_session_destroy(parts[i]);
    }
    lh_session_destroy(whole);
}

TEST(models_learn_the_same) {
    check_model("lstm", "width=8 hidden=8 layers=2 dropout=0.3");
    check_model("brt", "layers=2 width=8 heads=2 window=4 recurrent_layers=2 states=4 dropout=0.3");
    check_model("reformer", "layers=2 width=8 heads=2 positions=8 attention=lsh chunk=4 rounds=2");
    check_model("memorizing", "layers=2 width=8 heads=2 window=4 memory_layer=1 memory=16 top=4");
    check_model("compressive", "layers=2 width=8 heads=2 block=4 memory=4 compressed_memory=4");
    check_model("dai_xl", "layers=2 width=8 heads=2 memory=8 dropout=0.3 initial_deviation=0.2");
    check_model("transformer", "layers=2 width=8 heads=2 positions=relative dropout=0.3");
}

/* Losses as an observer is told them. */
typedef struct journal {
    int count;
    double loss[8];
} journal;

static lh_wish keep(void *context, const lh_progress *progress) {
    journal *j = context;
    if (j->count < 8) j->loss[j->count++] = progress->loss_bits;
    return LH_GO_ON;
}

TEST(the_loss_is_that_of_all_rows) {
    lh_session *whole = NULL, *parts = NULL;
    journal a = {0}, b = {0};
    REQUIRE_OK(trigram_session("dropout=0.2", "batch=4", SGD "steps=4", 3, &whole));
    REQUIRE_OK(trigram_session("dropout=0.2", "batch=4", SGD "steps=4 accumulate=4", 3, &parts));
    REQUIRE_OK(lh_session_train(whole, NULL, keep, &a));
    REQUIRE_OK(lh_session_train(parts, NULL, keep, &b));
    CHECK_EQ_INT(b.count, 4);
    for (int i = 0; i < 4; ++i)
        CHECK(fabs(a.loss[i] - b.loss[i]) < 1e-5);
    lh_session_destroy(whole);
    lh_session_destroy(parts);
}

/* A checkpoint has the rows of all parts, so that it may be gone on with in others. */
TEST(a_run_goes_on_in_other_parts) {
    char path[64];
    (void)snprintf(path, sizeof path, "/tmp/longhaul-test-accumulate-%ld", (long)getpid());
    lh_session *whole = NULL, *parts = NULL, *resumed = NULL;
    REQUIRE_OK(trigram_session("", "batch=4", SGD "steps=12", 3, &whole));
    REQUIRE_OK(lh_session_train(whole, NULL, NULL, NULL));
    REQUIRE_OK(trigram_session("", "batch=4", SGD "steps=7 accumulate=3", 3, &parts));
    REQUIRE_OK(lh_session_train(parts, path, NULL, NULL));
    REQUIRE_OK(trigram_session("", "batch=4", SGD "steps=12 accumulate=2", 3, &resumed));
    REQUIRE_OK(lh_session_restore(resumed, path));
    CHECK(states_apart(parts, resumed) <= 0.0);
    REQUIRE_OK(lh_session_train(resumed, NULL, NULL, NULL));
    CHECK(parameters_apart(whole, resumed) < 2e-5);
    unlink(path);
    lh_session_destroy(whole);
    lh_session_destroy(parts);
    lh_session_destroy(resumed);
}

static int64_t peak_of(const char *accumulate) {
    char train[256];
    lh_session *session = NULL;
    (void)snprintf(train, sizeof train, SGD "steps=3 %s", accumulate);
    if (!CHECK_OK(pattern_session(lh_model_class_find("lstm"), "width=32 hidden=32",
                                  "segment=64 batch=16", train, 3, &session)))
        return 0;
    CHECK_OK(lh_session_train(session, NULL, NULL, NULL));
    const int64_t peak = lh_session_peak_memory(session);
    lh_session_destroy(session);
    return peak;
}

TEST(activations_are_those_of_one_part) {
    const int64_t at_once = peak_of(""), in_parts = peak_of("accumulate=8");
    CHECK(in_parts > 0 && 3 * in_parts < at_once);
}

TEST(what_cannot_be_cut_is_refused) {
    lh_session *session = NULL;
    CHECK_FAILS(trigram_session("", "batch=4", "accumulate=5", 3, &session), LH_EOPTION,
                "accumulate=5: the 4 rows of a batch cannot be cut into so many");
    CHECK_FAILS(trigram_session("", "batch=4", "accumulate=0", 3, &session), LH_EOPTION,
                "option 'accumulate' must be between 1 and 65536");
    CHECK_FAILS(any_session(lh_model_class_find("informer"), "width=8 heads=2 layers=2 distil=true",
                            lh_task_class_find("forecasting"),
                            "name=generate:seasonal series_rows=200 channels=3 seq_len=16 "
                            "label_len=4 pred_len=4 batch=4",
                            "accumulate=2", 3, &session),
                LH_EOPTION, "informer normalises over all rows of a batch");
    CHECK_FAILS(pattern_session(lh_model_class_find("reformer"),
                                "layers=2 width=8 heads=2 positions=8", "segment=8 batch=4",
                                "accumulate=2 swap_parameters=true", 3, &session),
                LH_EOPTION, "accumulate=2: not with swap_parameters");
}
