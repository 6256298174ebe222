/* A run in which every fallible call fails once. */
#include <sys/wait.h>
#include <unistd.h>

#include "harness/engine/plugin.h"
#include "harness/ops/ops.h"
#include "harness/train/evaluate.h"
#include "harness/train/session_inside.h"
#include "harness/train/train_step.h"
#include "harness/train/trainer.h"
#include "tests/harness/trigram.h"
#include "tests/tape_bench.h"
#include "tests/test.h"

/* Fails the n-th fallible call of a whole small run, for every n, each in a process of its own:
 * the run must end with a message, and the checkpoint must be the old one or a whole new one. */

static char checkpoint[64];

/* Programs of several builds may run side by side. */
__attribute__((constructor)) static void name_checkpoint(void) {
    snprintf(checkpoint, sizeof checkpoint, "/tmp/longhaul-test-fault-%ld", (long)getpid());
}

enum { FINISHED = 0, FAILED_CLEANLY = 10, FAILED_SILENTLY = 20, MOST_CALLS = 20000 };

static lh_status run(void) {
    lh_session *session = NULL;
    lh_metrics metrics;
    lh_status status = trigram_session(
        "dropout=0.1", "", "steps=2 optimizer=adam rate=0.1 clip=1 log_every=1", 1, &session);
    if (status == LH_OK) status = lh_session_train(session, checkpoint, NULL, NULL);
    if (status == LH_OK) status = lh_session_evaluate(session, LH_VALID, &metrics);
    lh_session_destroy(session);
    return status;
}

static int run_child(int fail_at) {
    char text[16];
    snprintf(text, sizeof text, "%d", fail_at);
    setenv("LH_FAIL_AT", text, 1);
    const lh_status status = run();
    if (status == LH_OK) return FINISHED;
    return lh_error_get()->status == status && lh_error_text()[0] != '\0' ? FAILED_CLEANLY
                                                                          : FAILED_SILENTLY;
}

static int run_forked(int fail_at) {
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) exit(run_child(fail_at)); /* not _exit: a leak check runs at exit */
    int result = 0;
    if (child < 0 || waitpid(child, &result, 0) != child) return -1;
    return WIFEXITED(result) ? WEXITSTATUS(result) : -WTERMSIG(result);
}

static bool put_old_checkpoint(void) {
    FILE *file = fopen(checkpoint, "wb");
    if (file == NULL) return false;
    fputs("old", file);
    return fclose(file) == 0;
}

/* The old contents, or as many bytes as a whole checkpoint has. */
static bool checkpoint_is_whole(long whole_bytes) {
    FILE *file = fopen(checkpoint, "rb");
    char start[4] = "";
    if (file == NULL || fread(start, 1, 3, file) != 3 || fseek(file, 0, SEEK_END) != 0)
        return false;
    const long bytes = ftell(file);
    fclose(file);
    return strcmp(start, "old") == 0 ? bytes == 3 : bytes == whole_bytes;
}

static long size_of_checkpoint(void) {
    FILE *file = fopen(checkpoint, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) return -1;
    const long bytes = ftell(file);
    fclose(file);
    return bytes;
}

TEST(every_fallible_call_of_a_run_fails_cleanly) {
    /* A pool tries an allocation again, which then succeeds: the run is over when several calls in
     * a row fail nothing. */
    enum { RETRIED = 8 };
    int failures = 0, finished = 0;
    CHECK_EQ_INT(run_forked(0), FINISHED);
    const long whole_bytes = size_of_checkpoint();
    CHECK(whole_bytes > 1000);
    for (int n = 1; n < MOST_CALLS && finished < RETRIED; ++n) {
        REQUIRE(put_old_checkpoint());
        const int result = run_forked(n);
        CHECK(checkpoint_is_whole(whole_bytes));
        finished = result == FINISHED ? finished + 1 : 0;
        if (result == FINISHED) continue;
        test_check(result == FAILED_CLEANLY, __FILE__, __LINE__, "call %d: the run ended with %d",
                   n, result);
        failures += 1;
    }
    CHECK_EQ_INT(finished, RETRIED);
    CHECK(failures > 80);
    unlink(checkpoint);
    char partial[96];
    snprintf(partial, sizeof partial, "%s.partial", checkpoint);
    unlink(partial);
}

/* ---- a device that has no memory for one tensor ---- */

static int requests, refused; /* so far, and which one */
static lh_status (*allocate)(lh_device *, size_t, void **);

/* Refuses once more, since a pool asks again. */
static lh_status allocate_but_one(lh_device *device, size_t bytes, void **out) {
    requests += 1;
    const bool refuses = requests == refused || requests == refused + 1;
    return refuses ? LH_EMEMORY : allocate(device, bytes, out);
}

/* A step and an evaluation where request `n` of memory is refused. */
static lh_status run_short(const char *model, const char *options, int n) {
    lh_session *session = NULL;
    lh_metrics metrics;
    LH_TRY(pattern_session(lh_model_class_find(model), options, "segment=8 batch=2",
                           "steps=1 optimizer=sgd momentum=0", 1, &session));
    requests = 0;
    refused = n;
    allocate = session->device->allocate;
    session->device->allocate = allocate_but_one;
    lh_status status = lh_train_step(session);
    if (status == LH_OK) status = lh_session_evaluate(session, LH_VALID, &metrics);
    lh_session_destroy(session);
    return status;
}

/* What could not be made must not be taken for a tensor that may be absent: keys of a memory, say,
 * or weights of targets. */
static void check_short(const char *model, const char *options) {
    int n = 1;
    lh_status status = LH_EMEMORY;
    for (; n < MOST_CALLS && status != LH_OK; ++n) {
        lh_error_clear();
        status = run_short(model, options, n);
        test_check(status == LH_EMEMORY || requests < n, __FILE__, __LINE__,
                   "%s: request %d was refused, and the run ended with %s", model, n,
                   lh_status_name(status));
    }
    lh_error_clear();
    CHECK(n > 20 && status == LH_OK);
}

TEST(no_tensor_is_left_out_for_want_of_memory) {
    check_short("staircase", "layers=2 width=8 heads=2 forward_size=2 steps=2");
    check_short("dai_xl", "layers=1 width=8 heads=2 memory=8 cutoffs=5");
}

/* Keys in reals are rounded where the queries are. */
TEST(keys_that_cannot_be_rounded_are_a_failure) {
    const int64_t shape[] = {1, 2, 1, 8};
    lh_device *device = NULL;
    lh_pool *pool = NULL;
    lh_tape *tape = NULL;
    REQUIRE(bench_open_tape("cpu", &device, &pool, &tape));
    lh_tape_begin(tape, false, 1, 0);
    lh_attention attention = LH_ATTENTION;
    lh_tensor *q = lh_convert(tape, lh_zeros(tape, 4, shape), LH_BF16);
    attention.keys[0] = (lh_keys){.k = lh_zeros(tape, 4, shape), .v = lh_zeros(tape, 4, shape)};
    attention.key_count = 1;
    allocate = device->allocate;
    device->allocate = allocate_but_one;
    for (refused = 1; refused <= 2; ++refused) {
        requests = 0;
        CHECK(lh_attend(tape, &attention, q) == NULL);
        CHECK_EQ_INT(lh_error_get()->status, LH_EMEMORY);
        lh_error_clear();
    }
    lh_tape_destroy(tape);
    bench_close_pool(device, pool);
}
