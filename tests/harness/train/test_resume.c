#include <math.h>
#include <signal.h>
#include <unistd.h>

#include "tests/harness/train/trigram.h"
#include "tests/test.h"

/* Every model of the tree, stopped by a checkpoint and resumed, ends bit for bit where an
 * uninterrupted run does: carried caches, states and rings included. */

static char checkpoint[64];

/* Programs of several builds may run side by side. */
__attribute__((constructor)) static void name_checkpoint(void) {
    snprintf(checkpoint, sizeof checkpoint, "/tmp/longhaul-test-resume-%ld", (long)getpid());
}
static const char *const task = "segment=16 batch=3";
static const char *const train =
    "steps=6 rate=0.3 warmup=2 clip=1 factor_minimum=8 checkpoint_seconds=0 log_every=3";

/* Models with an encoder need another task: test_defect.c has them. */
static bool reads_documents(const lh_model_class *class) {
    return (class->abilities & (LH_ABLE_TOKENS | LH_ABLE_SEQUENCE_TO_SEQUENCE)) == LH_ABLE_TOKENS;
}

/* Small sizes, for those of these options that the model has. */
static void small_options(const lh_model_class *class, char *text, size_t capacity) {
    static const char *const sizes[][2] = {
        {"layers", "5"},  {"width", "16"},       {"heads", "2"},
        {"window", "16"}, {"memory", "40"},      {"top", "4"},
        {"span", "12"},   {"forward_size", "4"}, {"step_size", "12"}};
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
        for (const lh_option *row = class->options; row->name != NULL; ++row) {
            if (strcmp(row->name, sizes[i][0]) == 0 && row->type == LH_OPTION_INTEGER)
                used += (size_t)snprintf(text + used, capacity - used, "%s=%s ", sizes[i][0],
                                         sizes[i][1]);
        }
    }
}

static bool stop_at_three(void *context, const lh_progress *progress) {
    (void)context;
    return progress->step != 3;
}

static real *read_values(const lh_session *session, int64_t *count) {
    const lh_tensor *values = lh_params_values(lh_session_model(session)->params);
    *count = lh_tensor_count(values);
    real *host = calloc((size_t)*count, sizeof *host);
    CHECK_OK(lh_tensor_read(values, host, *count));
    return host;
}

static bool same_values(const lh_session *a, const lh_session *b) {
    int64_t count_a = 0, count_b = 0;
    real *values_a = read_values(a, &count_a), *values_b = read_values(b, &count_b);
    const bool same =
        count_a == count_b && memcmp(values_a, values_b, (size_t)count_a * sizeof *values_a) == 0;
    free(values_a);
    free(values_b);
    return same;
}

static void check_resume(const lh_model_class *class, const char *options) {
    lh_session *whole = NULL, *first = NULL, *second = NULL;
    REQUIRE_OK(pattern_session(class, options, task, train, 3, &whole));
    REQUIRE_OK(pattern_session(class, options, task, train, 3, &first));
    REQUIRE_OK(pattern_session(class, options, task, train, 3, &second));
    CHECK_OK(lh_session_train(whole, NULL, NULL, NULL));
    CHECK_STATUS(lh_session_train(first, checkpoint, stop_at_three, NULL), LH_EINTERRUPT);
    CHECK_OK(lh_session_restore(second, checkpoint));
    CHECK_OK(lh_session_train(second, NULL, NULL, NULL));
    test_check(same_values(whole, second), __FILE__, __LINE__, "%s %s: resumed differs",
               class->name, options);
    CHECK(!same_values(whole, first));
    lh_session_destroy(whole);
    lh_session_destroy(first);
    lh_session_destroy(second);
    unlink(checkpoint);
}

TEST(every_model_resumes_bit_for_bit) {
    const lh_model_class *class = NULL;
    for (int i = 0; (class = lh_model_class_at(i)) != NULL; ++i) {
        char options[256];
        if (!reads_documents(class)) continue;
        small_options(class, options, sizeof options);
        check_resume(class, options);
    }
}

TEST(steady_steps_of_every_model_allocate_nothing) {
    const lh_model_class *class = NULL;
    for (int i = 0; (class = lh_model_class_at(i)) != NULL; ++i) {
        char options[256];
        lh_session *session = NULL;
        lh_step_time time;
        if (!reads_documents(class)) continue;
        small_options(class, options, sizeof options);
        REQUIRE_OK(pattern_session(class, options, task, train, 3, &session));
        REQUIRE_OK(lh_session_time_steps(&session, 1, 2, 4, &time));
        test_check(time.allocations_after_warmup == 0, __FILE__, __LINE__,
                   "%s: %lld allocations in steady steps", class->name,
                   (long long)time.allocations_after_warmup);
        lh_session_destroy(session);
    }
}

/* ---- a signal ---- */

enum { POINTS = 8, EVALUATED_STEP = 4 };

typedef struct points {
    lh_progress seen[POINTS];
    int count;
} points;

static bool keep(void *context, const lh_progress *progress) {
    points *p = context;
    if (p->count < POINTS) p->seen[p->count++] = *progress;
    return true;
}

static int forwards_left;

/* The trigram, with a signal in one forward. */
static lh_status signalled_forward(const void *instance, lh_pass *pass, lh_output *out) {
    if (--forwards_left == 0) raise(SIGTERM);
    return trigram_class.forward(instance, pass, out);
}

/* Nothing but clocks may differ. */
static bool same_point(const lh_progress *a, const lh_progress *b) {
    return a->step == b->step && a->loss_bits == b->loss_bits &&
           a->gradient_norm == b->gradient_norm &&
           (a->valid_bits == b->valid_bits || (isnan(a->valid_bits) && isnan(b->valid_bits)));
}

/* A point whose evaluation a signal ends is told when the run goes on. */
TEST(a_signal_within_an_evaluation_loses_no_point) {
    static const char plan[] = "steps=8 rate=0.3 warmup=2 log_every=2 evaluate_every=4";
    lh_model_class class = trigram_class;
    lh_session *whole = NULL, *first = NULL, *second = NULL;
    points calm = {0}, disturbed = {0};
    class.forward = signalled_forward;
    REQUIRE_OK(pattern_session(&class, "", task, plan, 3, &whole));
    REQUIRE_OK(pattern_session(&class, "", task, plan, 3, &first));
    REQUIRE_OK(pattern_session(&class, "", task, plan, 3, &second));
    CHECK_OK(lh_session_train(whole, NULL, keep, &calm));
    forwards_left = EVALUATED_STEP + 1;
    CHECK_STATUS(lh_session_train(first, checkpoint, keep, &disturbed), LH_EINTERRUPT);
    CHECK_EQ_INT(disturbed.count, 1);
    CHECK_OK(lh_session_restore(second, checkpoint));
    CHECK_EQ_INT(lh_session_step(second), EVALUATED_STEP);
    CHECK_OK(lh_session_train(second, NULL, keep, &disturbed));
    REQUIRE(calm.count == 4 && disturbed.count == 4);
    for (int i = 0; i < 4; ++i)
        CHECK(same_point(&calm.seen[i], &disturbed.seen[i]));
    CHECK(!isnan(disturbed.seen[1].valid_bits));
    CHECK(same_values(whole, second));
    lh_session_destroy(whole);
    lh_session_destroy(first);
    lh_session_destroy(second);
    unlink(checkpoint);
}
