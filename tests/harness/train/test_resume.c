/* Every model, interrupted and resumed, has the bits of an uninterrupted run. */
#include <unistd.h>

#include "harness/engine/plugin.h"
#include "harness/train/session_file.h"
#include "harness/train/step_timer.h"
#include "harness/train/trainer.h"
#include "tests/harness/trigram.h"
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

/* Whether the class has an integer option of that name. */
static bool has_size(const lh_model_class *class, const char *name) {
    for (const lh_option_table *table = class->options; table->rows != NULL; ++table) {
        for (const lh_option *row = table->rows; row->name != NULL; ++row) {
            if (strcmp(row->name, name) == 0 && row->type == LH_OPTION_INTEGER) return true;
        }
    }
    return false;
}

/* Small sizes, for those of these options that the model has. */
static void small_options(const lh_model_class *class, char *text, size_t capacity) {
    static const char *const sizes[][2] = {
        {"layers", "5"},       {"width", "16"},     {"heads", "2"}, {"window", "16"},
        {"memory", "40"},      {"top", "4"},        {"span", "12"}, {"forward_size", "4"},
        {"step_size", "12"},   {"head_width", "8"}, {"block", "8"}, {"compressed_memory", "12"},
        {"memory_tokens", "3"}};
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
        if (has_size(class, sizes[i][0]))
            used +=
                (size_t)snprintf(text + used, capacity - used, "%s=%s ", sizes[i][0], sizes[i][1]);
    }
}

static lh_wish stop_at_three(void *context, const lh_progress *progress) {
    (void)context;
    return progress->step != 3 ? LH_GO_ON : LH_STOP;
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
