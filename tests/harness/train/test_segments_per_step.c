/* A step of several segments: its gradients are those of steps of one segment each at the same
 * parameters, summed by weight; so are its losses, and what it carries and draws is theirs. */
#include "harness/train/trainer.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness/engine/plugin.h"
#include "harness/train/session_file.h"
#include "harness/train/session_inside.h"
#include "harness/train/train_step.h"
#include "tests/harness/trigram.h"
#include "tests/test.h"

#define SGD "optimizer=sgd momentum=0 schedule=constant warmup=1 steps=12 log_every=1 "

enum { SEGMENTS = 3 };

/* What steps at rate 0 find, one after the other: the sums of their gradients by weight. */
typedef struct found {
    double *gradient, weight, nats;
    int64_t count;
} found;

static void add_step(lh_session *session, found *sum) {
    REQUIRE_OK(lh_train_step(session));
    const lh_tensor *gradients = lh_params_gradients(lh_session_model(session)->params);
    const double weight = session->pending_weight[0];
    sum->nats += weight * (double)lh_tensor_real(session->pending_loss)[0];
    sum->weight += weight;
    sum->count = lh_tensor_count(gradients);
    for (int64_t i = 0; i < sum->count; ++i)
        sum->gradient[i] += weight * (double)lh_tensor_real(gradients)[i];
    REQUIRE_OK(lh_train_flush(session));
}

static found steps_of(lh_session *session, int count) {
    found sum = {.gradient = calloc(1 << 16, sizeof(double))};
    for (int i = 0; i < count; ++i)
        add_step(session, &sum);
    return sum;
}

static lh_status open_model(const char *model, const char *options, const char *task,
                            const char *train, lh_session **out) {
    char text[256];
    (void)snprintf(text, sizeof text, SGD "rate=1e-30 %s", train);
    return pattern_session(lh_model_class_find(model), options, task, text, 3, out);
}

/* `bound` on gradients, in the largest of them. */
static void check_model(const char *model, const char *options, const char *train, double bound) {
    lh_session *one = NULL, *together = NULL;
    char more[64];
    (void)snprintf(more, sizeof more, "segments_per_step=%d %s", SEGMENTS, train);
    REQUIRE_OK(open_model(model, options, "segment=8 batch=3", train, &one));
    REQUIRE_OK(open_model(model, options, "segment=8 batch=3", more, &together));
    for (int step = 0; step < 3; ++step) {
        found apart = steps_of(one, SEGMENTS), at_once = steps_of(together, 1);
        CHECK_NEAR(at_once.weight, apart.weight, 0);
        CHECK_NEAR(at_once.nats, apart.nats, 1e-5 * fabs(apart.nats));
        double most = 0.0, size = 0.0;
        for (int64_t i = 0; i < apart.count; ++i) {
            most = fmax(most, fabs(at_once.gradient[i] - apart.gradient[i]));
            size = fmax(size, fabs(apart.gradient[i]));
        }
        CHECK(size > 0.0 && most < bound * size);
        free(apart.gradient);
        free(at_once.gradient);
    }
    CHECK_EQ_INT(one->record.step, SEGMENTS * together->record.step);
    CHECK_EQ_INT(one->record.tokens, together->record.tokens);
    for (int i = 0; i < lh_state_count(one->state); ++i) {
        const lh_tensor *x = lh_state_tensor(one->state, i),
                        *y = lh_state_tensor(together->state, i);
        if (x == NULL || x->dtype != LH_REAL) continue;
        for (int64_t k = 0; k < lh_tensor_count(x); ++k)
            if (!CHECK_NEAR(lh_tensor_real(y)[k], lh_tensor_real(x)[k], 1e-5)) return;
    }
    lh_session_destroy(one);
    lh_session_destroy(together);
}

TEST(gradients_losses_and_states_are_those_of_the_segments) {
    check_model("lstm", "width=8 hidden=8 layers=2", "", 2e-5);
    check_model("dai_xl", "layers=2 width=8 heads=2 memory=8 dropout=0", "", 2e-5);
    check_model("memorizing", "layers=2 width=8 heads=2 window=4 memory_layer=1 memory=16 top=4",
                "", 2e-5);
}

/* What Compressive minimises beside the loss is a mean over segments, whatever each of them weighs.
 */
TEST(an_auxiliary_loss_is_a_mean_over_segments) {
    check_model("compressive", "layers=2 width=8 heads=2 block=4 memory=4 compressed_memory=4", "",
                3e-4);
}

TEST(each_segment_draws_dropout_of_its_own) {
    check_model("brt", "layers=2 width=8 heads=2 window=4 recurrent_layers=2 states=4 dropout=0.3",
                "", 2e-5);
}

TEST(rows_may_be_cut_as_well) {
    check_model("lstm", "width=8 hidden=8 layers=1", "accumulate=2", 2e-5);
}

/* The parameters move once a step. */
TEST(a_step_is_one_update) {
    lh_session *one = NULL, *together = NULL;
    REQUIRE_OK(trigram_session("", "batch=4", SGD "rate=0.1", 3, &one));
    REQUIRE_OK(trigram_session("", "batch=4", SGD "rate=0.1 segments_per_step=2", 3, &together));
    REQUIRE_OK(lh_train_step(one));
    REQUIRE_OK(lh_train_step(one));
    REQUIRE_OK(lh_train_step(together));
    CHECK(!same_values(one, together));
    CHECK_EQ_INT(one->record.tokens, together->record.tokens);
    lh_session_destroy(one);
    lh_session_destroy(together);
}

TEST(a_run_goes_on_in_its_segments) {
    char path[64];
    (void)snprintf(path, sizeof path, "/tmp/longhaul-test-segments-%ld", (long)getpid());
    lh_session *whole = NULL, *first = NULL, *resumed = NULL, *other = NULL;
    static const char train[] = SGD "rate=0.1 segments_per_step=3";
    REQUIRE_OK(trigram_session("dropout=0.2", "batch=4", train, 3, &whole));
    REQUIRE_OK(lh_session_train(whole, NULL, NULL, NULL));
    REQUIRE_OK(trigram_session("dropout=0.2", "batch=4", SGD "rate=0.1 segments_per_step=3 steps=7",
                               3, &first));
    REQUIRE_OK(lh_session_train(first, path, NULL, NULL));
    REQUIRE_OK(trigram_session("dropout=0.2", "batch=4", train, 3, &resumed));
    REQUIRE_OK(lh_session_restore(resumed, path));
    REQUIRE_OK(lh_session_train(resumed, NULL, NULL, NULL));
    CHECK(same_values(whole, resumed));
    REQUIRE_OK(trigram_session("dropout=0.2", "batch=4", SGD "rate=0.1", 3, &other));
    CHECK_FAILS(lh_session_restore(other, path), LH_EFORMAT, "segments_per_step");
    unlink(path);
    lh_session_destroy(whole);
    lh_session_destroy(first);
    lh_session_destroy(resumed);
    lh_session_destroy(other);
}

TEST(swapped_parameters_are_refused) {
    lh_session *session = NULL;
    CHECK_FAILS(pattern_session(lh_model_class_find("reformer"),
                                "layers=2 width=8 heads=2 positions=8", "segment=8 batch=4",
                                "segments_per_step=2 swap_parameters=true", 3, &session),
                LH_EOPTION, "segments_per_step=2: not with swap_parameters");
}
