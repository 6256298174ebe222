/* Which steps a device may hold back and start as a whole: those in which nothing starts at once.
 * The processor stands for such a device and writes down what it is asked for. */
#include <string.h>

#include "harness/engine/plugin.h"
#include "harness/train/session_inside.h"
#include "harness/train/train_step.h"
#include "tests/harness/trigram.h"
#include "tests/test.h"

#define SGD "optimizer=sgd rate=0.1 schedule=constant warmup=1 steps=9 log_every=9 "

enum { STEPS = 2 };

/* What was asked for, one after the other; `held`: between the beginning and the end of a step. */
static struct {
    char calls[64];
    bool held;
    int sums_held, sums; /* those that came while a step was held back, and all */
} asked;

static void note(const char *call) {
    strncat(asked.calls, call, sizeof asked.calls - strlen(asked.calls) - 1);
}

/* ---- a device that holds steps back ---- */

static lh_status begin_step(lh_device *device) {
    (void)device;
    asked.held = true;
    note("begin ");
    return LH_OK;
}

static lh_status end_step(lh_device *device) {
    (void)device;
    asked.held = false;
    note("end ");
    return LH_OK;
}

/* ---- one rank of two, which counts its sums ---- */

static void note_sum(void) {
    asked.sums += 1;
    asked.sums_held += asked.held;
}

static lh_status start(lh_communicator *ranks, lh_device *device, real *x, int64_t count) {
    (void)ranks, (void)device, (void)x, (void)count;
    note_sum();
    return LH_OK;
}

static lh_status finish(lh_communicator *ranks, lh_device *device) {
    (void)ranks, (void)device;
    note_sum();
    return LH_OK;
}

/* ---- steps ---- */

static void run_steps(lh_session *session) {
    memset(&asked, 0, sizeof asked);
    session->device->begin_step = begin_step;
    session->device->end_step = end_step;
    for (int i = 0; i < STEPS; ++i)
        CHECK_OK(lh_train_step(session));
    lh_session_destroy(session);
}

TEST(a_step_alone_is_held_back) {
    lh_session *session = NULL;
    REQUIRE_OK(trigram_session("", "batch=4", SGD, 3, &session));
    run_steps(session);
    CHECK_STR(asked.calls, "begin end begin end ");
}

/* The host waits for the sums within the step, for which gradients that are held back to its end
 * would never come. */
TEST(sums_over_ranks_start_at_once) {
    lh_session *session = NULL;
    lh_communicator two_ranks = first_rank();
    two_ranks.start = start;
    two_ranks.finish = finish;
    REQUIRE_OK(shared_session(&trigram_class, SGD, &two_ranks, &session));
    run_steps(session);
    CHECK(asked.sums >= 2 * STEPS);
    CHECK_EQ_INT(asked.sums_held, 0);
    CHECK_STR(asked.calls, "");
}

/* The second part's rows would take the place of the first one's before anything is read. */
TEST(a_step_in_parts_starts_at_once) {
    static const char *const parts[] = {"accumulate=2", "segments_per_step=2"};
    for (int i = 0; i < 2; ++i) {
        lh_session *session = NULL;
        char train[256];
        (void)snprintf(train, sizeof train, SGD "%s", parts[i]);
        REQUIRE_OK(trigram_session("", "batch=4", train, 3, &session));
        run_steps(session);
        CHECK_STR(asked.calls, "");
    }
}

/* Parameters come and go in copies beside the stream. */
TEST(a_step_that_swaps_parameters_starts_at_once) {
    lh_session *session = NULL;
    REQUIRE_OK(pattern_session(lh_model_class_find("reformer"),
                               "layers=2 width=8 heads=2 positions=16 chunk=4",
                               "segment=16 batch=3", SGD "swap_parameters=true", 3, &session));
    run_steps(session);
    CHECK_STR(asked.calls, "");
}
