/* What fails on one rank alone makes it a lost one, whatever it is; what all have found does not.
 */
#include "harness/train/evaluate.h"
#include "harness/train/session_inside.h"
#include "harness/train/train_step.h"
#include "harness/train/trainer.h"
#include "tests/harness/trigram.h"
#include "tests/test.h"

#define SGD "optimizer=sgd schedule=constant warmup=1 steps=40 log_every=2 "

/* ---- one rank of two ---- */

static bool abandoned;

static void abandon(lh_communicator *ranks) {
    (void)ranks;
    abandoned = true;
}

static lh_communicator two_ranks;

static lh_status open_shared(const lh_model_class *model, const char *train, lh_session **out) {
    abandoned = false;
    two_ranks = first_rank();
    two_ranks.abandon = abandon;
    return shared_session(model, train, &two_ranks, out);
}

/* ---- a model that fails in training or in evaluation ---- */

static bool fails_in_training;

static lh_status fail_forward(const void *instance, lh_pass *pass, lh_output *out) {
    if (lh_pass_is_training(pass) == fails_in_training)
        return lh_fail(LH_EOPTION, "a token out of range");
    return trigram_class.forward(instance, pass, out);
}

/* A token of this rank's rows, or its copy of the data. */
TEST(a_step_that_fails_loses_the_rank) {
    lh_session *session = NULL;
    lh_model_class failing = trigram_class;
    failing.forward = fail_forward;
    fails_in_training = true;
    REQUIRE_OK(open_shared(&failing, SGD "rate=0.1", &session));
    CHECK_FAILS(lh_session_train(session, NULL, NULL, NULL), LH_EOPTION, "a token out of range");
    CHECK(two_ranks.lost && abandoned);
    lh_session_destroy(session);
}

TEST(an_evaluation_that_fails_loses_the_rank) {
    lh_session *session = NULL;
    lh_metrics metrics;
    lh_model_class failing = trigram_class;
    failing.forward = fail_forward;
    fails_in_training = false;
    REQUIRE_OK(open_shared(&failing, SGD "rate=0.1", &session));
    CHECK_FAILS(lh_session_evaluate(session, LH_VALID, &metrics), LH_EOPTION,
                "a token out of range");
    CHECK(two_ranks.lost);
    lh_session_destroy(session);
}

/* What a kernel meets on a device comes with the next numbers that are read from it. */
static lh_status fail_download(lh_device *device, void *host, const void *memory, size_t bytes) {
    (void)device, (void)host, (void)memory, (void)bytes;
    return LH_EOPTION;
}

TEST(numbers_that_cannot_be_read_lose_the_rank) {
    lh_session *session = NULL;
    REQUIRE_OK(open_shared(&trigram_class, SGD "rate=0.1", &session));
    REQUIRE_OK(lh_train_step(session));
    session->device->download = fail_download;
    CHECK_FAILS(lh_train_flush(session), LH_EOPTION, "download");
    CHECK(two_ranks.lost);
    two_ranks.lost = false;
    /* of the gradient norm, which is read where a point of the curve is due */
    CHECK_FAILS(lh_session_train(session, NULL, NULL, NULL), LH_EOPTION, "download");
    CHECK(two_ranks.lost);
    lh_session_destroy(session);
}

/* The loss is that of all rows: every rank ends this run, and they begin the next together. */
TEST(a_loss_that_is_no_number_loses_nobody) {
    lh_session *session = NULL;
    REQUIRE_OK(open_shared(&trigram_class, SGD "rate=1e9", &session));
    CHECK_FAILS(lh_session_train(session, NULL, NULL, NULL), LH_EINTERNAL, "is not finite");
    CHECK(!two_ranks.lost);
    lh_session_destroy(session);
}
