/* How long the steps of a session take, and what memory they need. */
#include "harness/train/step_timer.h"

#include "harness/train/session_inside.h"
#include "tests/harness/trigram.h"
#include "tests/test.h"

static const char *const train_text =
    "steps=40 optimizer=adam rate=0.02 schedule=constant warmup=5 log_every=7 checkpoint_seconds=0";

TEST(steady_training_allocates_nothing) {
    lh_session *sessions[2] = {NULL};
    lh_step_time time[2];
    REQUIRE_OK(trigram_session("width=8 dropout=0.1", "", train_text, 1, &sessions[0]));
    REQUIRE_OK(trigram_session("width=64", "segment=40 batch=4", train_text, 1, &sessions[1]));
    REQUIRE_OK(lh_session_time_steps(sessions, 2, 3, 25, time));
    for (int i = 0; i < 2; ++i) {
        CHECK_EQ_INT(time[i].allocations_after_warmup + time[i].graphs_after_warmup, 0);
        CHECK(time[i].q1_ms > 0.0);
        CHECK(time[i].peak_memory_bytes > 0 && time[i].workspace_bytes > 0);
        CHECK_EQ_INT(lh_session_step(sessions[i]), 28);
    }
    CHECK_NEAR(time[0].tokens_per_step, 15, 0);
    CHECK_NEAR(time[1].tokens_per_step, 160, 0);
    CHECK(time[1].peak_memory_bytes > time[0].peak_memory_bytes);
    CHECK_FAILS(lh_session_time_steps(sessions, 2, 0, 0, time), LH_EOPTION, "at least one");
    lh_session_destroy(sessions[0]);
    lh_session_destroy(sessions[1]);
}

/* Step n takes n ms; between steps lies a second that belongs to none. */
static int clock_reads;

static double slower_every_step(void) {
    static double now;
    const bool ends = clock_reads % 2 == 1;
    now += ends ? 1e-3 * (double)(clock_reads / 2 + 1) : 1.0;
    clock_reads += 1;
    return now;
}

/* Two sessions in turn: the first takes steps of 1, 3, 5, 7 ms, the second of 2, 4, 6, 8. */
TEST(step_times_are_quartiles_of_each_session) {
    lh_session *sessions[2] = {NULL};
    lh_step_time time[2];
    clock_reads = 0;
    for (int i = 0; i < 2; ++i)
        REQUIRE_OK(trigram_session("", "", train_text, 1, &sessions[i]));
    REQUIRE_OK(lh_session_time_steps_by(sessions, 2, 2, 4, slower_every_step, time));
    CHECK_EQ_INT(clock_reads, 16);
    for (int i = 0; i < 2; ++i) {
        CHECK_NEAR(time[i].q1_ms, 2.5 + i, 1e-6);
        CHECK_NEAR(time[i].median_ms, 4 + i, 1e-6);
        CHECK_NEAR(time[i].q3_ms, 5.5 + i, 1e-6);
        CHECK_EQ_INT(lh_session_step(sessions[i]), 6);
        lh_session_destroy(sessions[i]);
    }
}

/* What was in use before the measured steps is no part of their peak. */
TEST(peak_memory_is_that_of_the_measured_steps) {
    enum { LARGE = 1 << 24 };
    lh_session *session = NULL;
    lh_step_time before, after;
    void *block = NULL;
    REQUIRE_OK(trigram_session("", "", train_text, 1, &session));
    lh_session *const sessions[] = {session};
    REQUIRE_OK(lh_session_time_steps(sessions, 1, 2, 2, &before));
    REQUIRE_OK(lh_pool_take(session->pool, LARGE, &block));
    lh_pool_return(session->pool, block, LARGE);
    REQUIRE_OK(lh_session_time_steps(sessions, 1, 0, 2, &after));
    CHECK(before.peak_memory_bytes < LARGE);
    CHECK_EQ_INT(after.peak_memory_bytes, before.peak_memory_bytes);
    CHECK(lh_session_peak_memory(session) > LARGE); /* the session's is of all that it did */
    lh_session_destroy(session);
}

/* A device that works on while the host goes on. */
static bool device_works;
static lh_status (*upload)(lh_device *, void *, const void *, size_t);
static lh_status (*synchronize)(lh_device *);

static lh_status upload_and_work(lh_device *device, void *to, const void *from, size_t bytes) {
    device_works = true;
    return upload(device, to, from, bytes);
}

static lh_status end_work(lh_device *device) {
    device_works = false;
    return synchronize(device);
}

static double clock_of_an_idle_device(void) {
    CHECK(!device_works);
    return slower_every_step();
}

/* What the device still does of the steps before would count for the first measured one. */
TEST(clocks_are_read_when_the_device_is_done) {
    lh_session *session = NULL;
    lh_step_time time;
    REQUIRE_OK(trigram_session("", "", train_text, 1, &session));
    lh_session *const sessions[] = {session};
    upload = session->device->upload;
    synchronize = session->device->synchronize;
    session->device->upload = upload_and_work;
    session->device->synchronize = end_work;
    REQUIRE_OK(lh_session_time_steps_by(sessions, 1, 2, 2, clock_of_an_idle_device, &time));
    lh_session_destroy(session);
}
