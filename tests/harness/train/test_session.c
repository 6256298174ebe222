/* A run as a whole: its curve, its checkpoints, and its end. */
#include "harness/train/trainer.h"

#include <signal.h>
#include <unistd.h>

#include "harness/ops/ops.h"
#include "harness/train/evaluate.h"
#include "harness/train/session_file.h"
#include "harness/train/session_inside.h"
#include "harness/train/step_timer.h"
#include "harness/train/train_step.h"
#include "tests/harness/trigram.h"
#include "tests/test.h"

static const char *const train_text =
    "steps=40 optimizer=adam rate=0.02 schedule=constant warmup=5 log_every=7 checkpoint_seconds=0";

static char checkpoint[64];

/* Programs of several builds may run side by side. */
__attribute__((constructor)) static void name_checkpoint(void) {
    snprintf(checkpoint, sizeof checkpoint, "/tmp/longhaul-test-session-%ld", (long)getpid());
}

/* What an observer saw. */
typedef struct journal {
    int count;
    int64_t stop_at; /* return stops_by there; 0: never */
    lh_wish stops_by;
    int64_t signal_at; /* send SIGTERM there; 0: never */
    lh_progress seen[64];
} journal;

static lh_wish keep_progress(void *context, const lh_progress *progress) {
    journal *l = context;
    if (l->count < 64) l->seen[l->count++] = *progress;
    if (progress->step == l->signal_at) raise(SIGTERM);
    return progress->step != l->stop_at ? LH_GO_ON : l->stops_by;
}

TEST(training_lowers_the_loss) {
    lh_session *session = NULL;
    journal l = {0};
    REQUIRE_OK(trigram_session("width=16", "", train_text, 1, &session));
    CHECK_OK(lh_session_train(session, NULL, keep_progress, &l));
    CHECK_EQ_INT(lh_session_step(session), 40);
    CHECK_EQ_INT(l.count, 6); /* steps 7, 14, ... 35, and the last */
    CHECK(l.seen[5].loss_bits < 0.7 * l.seen[0].loss_bits);
    CHECK(l.seen[5].step == 40 && l.seen[0].step == 7);
    int64_t rows = 0, length = 0;
    const lh_task *task = lh_session_task(session);
    task->class->shape(task->instance, &rows, &length);
    CHECK(rows * length > 1);
    CHECK_EQ_INT(l.seen[0].tokens, 7 * rows * length);
    CHECK_EQ_INT(l.seen[5].tokens, 40 * rows * length);
    CHECK(l.seen[0].gradient_norm > 0.0 && l.seen[0].tokens_per_second > 0.0);
    CHECK(isnan(lh_metrics_get(&l.seen[0].valid, "bits_per_token")));
    lh_session_destroy(session);
}

/* Dropout, Adam's moments, carried state, the data's position and the half-filled interval of the
 * loss curve must all survive. */
TEST(a_resumed_run_equals_an_uninterrupted_one) {
    static const char *const optimizers[] = {"adam", "adafactor", "sgd"};
    for (int i = 0; i < 3; ++i) {
        char train[256];
        snprintf(train, sizeof train, "%s optimizer=%s clip=1", train_text, optimizers[i]);
        lh_session *whole = NULL, *first = NULL, *second = NULL;
        journal all = {0}, before = {.stop_at = 21, .stops_by = LH_STOP}, after = {0};
        REQUIRE_OK(trigram_session("dropout=0.2", "", train, 3, &whole));
        REQUIRE_OK(lh_session_train(whole, NULL, keep_progress, &all));
        REQUIRE_OK(trigram_session("dropout=0.2", "", train, 3, &first));
        CHECK_STATUS(lh_session_train(first, checkpoint, keep_progress, &before), LH_EINTERRUPT);
        CHECK_EQ_INT(lh_session_step(first), 21);
        REQUIRE_OK(trigram_session("dropout=0.2", "", train, 3, &second));
        REQUIRE_OK(lh_session_restore(second, checkpoint));
        CHECK_EQ_INT(lh_session_step(second), 21);
        REQUIRE_OK(lh_session_train(second, NULL, keep_progress, &after));
        CHECK(same_values(whole, second));
        CHECK(!same_values(whole, first));
        CHECK_EQ_INT(before.count + after.count, all.count);
        for (int k = 0; k < after.count; ++k) {
            CHECK(after.seen[k].loss_bits == all.seen[before.count + k].loss_bits);
            CHECK_EQ_INT(after.seen[k].tokens, all.seen[before.count + k].tokens);
        }
        lh_session_destroy(whole);
        lh_session_destroy(first);
        lh_session_destroy(second);
    }
    unlink(checkpoint);
}

TEST(a_checkpoint_inside_an_interval_keeps_the_curve) {
    lh_session *whole = NULL, *part = NULL;
    journal all = {0}, rest = {0};
    char train[256];
    snprintf(train, sizeof train, "%s checkpoint_every=11", train_text);
    REQUIRE_OK(trigram_session("", "", train, 4, &whole));
    REQUIRE_OK(lh_session_train(whole, checkpoint, keep_progress, &all));
    REQUIRE_OK(trigram_session("", "", train, 4, &part));
    /* The last checkpoint is that of the end: train to 11 by hand. */
    journal stop = {.stop_at = 7, .stops_by = LH_STOP};
    CHECK_STATUS(lh_session_train(part, checkpoint, keep_progress, &stop), LH_EINTERRUPT);
    lh_step_time time;
    lh_session *parts[] = {part};
    REQUIRE_OK(lh_session_time_steps(parts, 1, 0, 4, &time));
    REQUIRE_OK(lh_session_save(part, checkpoint));
    lh_session_destroy(part);
    REQUIRE_OK(trigram_session("", "", train, 4, &part));
    REQUIRE_OK(lh_session_restore(part, checkpoint));
    CHECK_EQ_INT(lh_session_step(part), 11);
    REQUIRE_OK(lh_session_train(part, NULL, keep_progress, &rest));
    CHECK_EQ_INT(rest.count, 5);
    CHECK(rest.seen[0].loss_bits == all.seen[1].loss_bits);
    CHECK(same_values(whole, part));
    lh_session_destroy(whole);
    lh_session_destroy(part);
    unlink(checkpoint);
}

static bool same_number(double a, double b) {
    return a == b || (isnan(a) && isnan(b));
}

/* All but the clocks. */
static bool same_point(const lh_progress *a, const lh_progress *b) {
    return a->step == b->step && same_number(a->loss_bits, b->loss_bits) &&
           same_number(a->gradient_norm, b->gradient_norm) &&
           same_number(lh_metrics_get(&a->valid, "bits_per_token"),
                       lh_metrics_get(&b->valid, "bits_per_token"));
}

/* What was to be kept of a point was not: the run goes on before it, and the point is told again.
 */
TEST(an_observer_that_fails_loses_no_point) {
    lh_session *whole = NULL, *first = NULL, *second = NULL;
    journal all = {0}, before = {.stop_at = 21, .stops_by = LH_ABANDON}, after = {0};
    char train[256];
    snprintf(train, sizeof train, "%s checkpoint_every=11", train_text);
    REQUIRE_OK(trigram_session("", "", train, 4, &whole));
    REQUIRE_OK(trigram_session("", "", train, 4, &first));
    REQUIRE_OK(trigram_session("", "", train, 4, &second));
    REQUIRE_OK(lh_session_train(whole, NULL, keep_progress, &all));
    CHECK_STATUS(lh_session_train(first, checkpoint, keep_progress, &before), LH_EINTERRUPT);
    REQUIRE_OK(lh_session_restore(second, checkpoint));
    CHECK_EQ_INT(lh_session_step(second), 11);
    REQUIRE_OK(lh_session_train(second, NULL, keep_progress, &after));
    CHECK_EQ_INT(after.count, all.count - 1); /* but step 7 */
    for (int i = 0; i < after.count; ++i)
        CHECK(same_point(&after.seen[i], &all.seen[i + 1]));
    CHECK(same_values(whole, second));
    lh_session_destroy(whole);
    lh_session_destroy(first);
    lh_session_destroy(second);
    unlink(checkpoint);
}

TEST(a_signal_leaves_a_checkpoint) {
    lh_session *session = NULL, *next = NULL, *whole = NULL;
    journal l = {.signal_at = 14};
    REQUIRE_OK(trigram_session("", "", train_text, 5, &session));
    CHECK_FAILS(lh_session_train(session, checkpoint, keep_progress, &l), LH_EINTERRUPT,
                "after step 14 of 40");
    REQUIRE_OK(trigram_session("", "", train_text, 5, &next));
    REQUIRE_OK(lh_session_restore(next, checkpoint));
    CHECK_EQ_INT(lh_session_step(next), 14);
    CHECK_OK(lh_session_train(next, NULL, NULL, NULL));
    REQUIRE_OK(trigram_session("", "", train_text, 5, &whole));
    CHECK_OK(lh_session_train(whole, NULL, NULL, NULL));
    CHECK(same_values(whole, next));
    lh_session_destroy(session);
    lh_session_destroy(next);
    lh_session_destroy(whole);
    unlink(checkpoint);
}

static int forwards_left;

/* The trigram, with a signal in one forward. */
static lh_status signalled_forward(const void *instance, lh_pass *pass, lh_output *out) {
    if (--forwards_left == 0) raise(SIGTERM);
    return trigram_class.forward(instance, pass, out);
}

/* A point whose evaluation a signal ends is told when the run goes on. */
TEST(a_signal_within_an_evaluation_loses_no_point) {
    enum { EVALUATED_STEP = 10 };
    static const char train[] = "steps=20 rate=0.3 warmup=2 log_every=5 evaluate_every=10";
    lh_model_class class = trigram_class;
    lh_session *whole = NULL, *first = NULL, *second = NULL;
    journal calm = {0}, disturbed = {0};
    class.forward = signalled_forward;
    REQUIRE_OK(pattern_session(&class, "", "", train, 3, &whole));
    REQUIRE_OK(pattern_session(&class, "", "", train, 3, &first));
    REQUIRE_OK(pattern_session(&class, "", "", train, 3, &second));
    CHECK_OK(lh_session_train(whole, NULL, keep_progress, &calm));
    forwards_left = EVALUATED_STEP + 1;
    CHECK_STATUS(lh_session_train(first, checkpoint, keep_progress, &disturbed), LH_EINTERRUPT);
    CHECK_EQ_INT(disturbed.count, 1);
    CHECK_OK(lh_session_restore(second, checkpoint));
    CHECK_EQ_INT(lh_session_step(second), EVALUATED_STEP);
    CHECK_OK(lh_session_train(second, NULL, keep_progress, &disturbed));
    REQUIRE(calm.count == 4 && disturbed.count == 4);
    for (int i = 0; i < 4; ++i)
        CHECK(same_point(&calm.seen[i], &disturbed.seen[i]));
    CHECK(!isnan(lh_metrics_get(&disturbed.seen[1].valid, "bits_per_token")));
    CHECK(same_values(whole, second));
    lh_session_destroy(whole);
    lh_session_destroy(first);
    lh_session_destroy(second);
    unlink(checkpoint);
}

/* Resumed with other points, for which that step is none: without its turn the run never ended. */
TEST(a_point_that_is_due_no_more_is_owed_no_more) {
    lh_model_class class = trigram_class;
    lh_session *first = NULL, *second = NULL;
    journal l = {0};
    class.forward = signalled_forward;
    REQUIRE_OK(
        pattern_session(&class, "", "", "steps=20 log_every=10 evaluate_every=10", 3, &first));
    REQUIRE_OK(
        pattern_session(&class, "", "", "steps=20 log_every=7 evaluate_every=7", 3, &second));
    forwards_left = 10 + 1;
    CHECK_STATUS(lh_session_train(first, checkpoint, NULL, NULL), LH_EINTERRUPT);
    CHECK_OK(lh_session_restore(second, checkpoint));
    CHECK_OK(lh_session_train(second, NULL, keep_progress, &l));
    REQUIRE(l.count == 2);
    CHECK(l.seen[0].step == 14 && l.seen[1].step == 20);
    lh_session_destroy(first);
    lh_session_destroy(second);
    unlink(checkpoint);
}

/* Resumed with points of which that step is one: nobody measured its gradients, and those of the
 * point before are not its own. */
TEST(a_point_that_was_not_due_has_no_gradient_norm) {
    lh_model_class class = trigram_class;
    lh_session *first = NULL, *second = NULL;
    journal l = {0};
    class.forward = signalled_forward;
    REQUIRE_OK(
        pattern_session(&class, "", "", "steps=20 log_every=7 evaluate_every=10", 3, &first));
    REQUIRE_OK(
        pattern_session(&class, "", "", "steps=20 log_every=5 evaluate_every=10", 3, &second));
    forwards_left = 10 + 1;
    CHECK_STATUS(lh_session_train(first, checkpoint, NULL, NULL), LH_EINTERRUPT);
    CHECK_OK(lh_session_restore(second, checkpoint));
    CHECK_OK(lh_session_train(second, NULL, keep_progress, &l));
    REQUIRE(l.count == 3 && l.seen[0].step == 10);
    CHECK(isnan(l.seen[0].gradient_norm) && !isnan(l.seen[0].loss_bits));
    CHECK(l.seen[1].gradient_norm > 0);
    lh_session_destroy(first);
    lh_session_destroy(second);
    unlink(checkpoint);
}

TEST(a_loss_that_is_not_finite_names_its_step) {
    lh_session *session = NULL;
    REQUIRE_OK(trigram_session("", "", "steps=50 optimizer=sgd rate=1e9 schedule=constant warmup=0",
                               1, &session));
    CHECK_FAILS(lh_session_train(session, checkpoint, NULL, NULL), LH_EINTERNAL, "is not finite");
    CHECK(access(checkpoint, F_OK) != 0);
    lh_session_destroy(session);
}

/* Makes the first parameter no number. */
static void spoil(lh_session *session) {
    lh_tensor_real(lh_params_values(session->model->params))[0] = (real)NAN;
}

TEST(an_evaluation_without_a_number_is_a_failure) {
    lh_session *session = NULL;
    lh_metrics metrics;
    REQUIRE_OK(trigram_session("", "", train_text, 1, &session));
    CHECK_OK(lh_session_evaluate(session, LH_TEST, &metrics));
    spoil(session);
    CHECK_FAILS(lh_session_evaluate(session, LH_TEST, &metrics), LH_EINTERNAL,
                "bits_per_token of the test split is not a number after step 0");
    lh_session_destroy(session);
}

static lh_wish spoil_after_two(void *context, const lh_progress *progress) {
    if (progress->step == 2) spoil(context);
    return LH_GO_ON;
}

/* Of the step's loss, too, but the evaluation comes first. */
TEST(an_evaluation_within_training_without_a_number_ends_it) {
    lh_session *session = NULL;
    REQUIRE_OK(trigram_session(
        "", "", "steps=9 optimizer=sgd rate=0.1 warmup=0 log_every=2 evaluate_every=3", 1,
        &session));
    CHECK_FAILS(lh_session_train(session, NULL, spoil_after_two, session), LH_EINTERNAL,
                "bits_per_token of the validation split is not a number after step 3");
    lh_session_destroy(session);
}

/* A run that goes on from a checkpoint has used what it used before. */
TEST(the_peak_of_memory_survives_a_checkpoint) {
    enum { LARGE = 1 << 24 };
    lh_session *first = NULL, *second = NULL;
    void *block = NULL;
    REQUIRE_OK(trigram_session("", "", train_text, 1, &first));
    REQUIRE_OK(lh_pool_take(first->pool, LARGE, &block));
    lh_pool_return(first->pool, block, LARGE);
    REQUIRE_OK(lh_session_save(first, checkpoint));
    REQUIRE_OK(trigram_session("", "", train_text, 1, &second));
    CHECK(lh_session_peak_memory(second) < LARGE);
    REQUIRE_OK(lh_session_restore(second, checkpoint));
    CHECK(lh_session_peak_memory(first) > LARGE);
    CHECK_EQ_INT(lh_session_peak_memory(second), lh_session_peak_memory(first));
    lh_session_destroy(first);
    lh_session_destroy(second);
    unlink(checkpoint);
}

/* One by one, the options that change a run keep a foreign checkpoint out; the others do not. */
TEST(a_checkpoint_of_another_run_is_refused) {
    lh_session *session = NULL, *other = NULL;
    REQUIRE_OK(trigram_session("", "", train_text, 1, &session));
    REQUIRE_OK(lh_session_save(session, checkpoint));
    static const struct {
        const char *model, *task, *train, *message;
        uint64_t seed;
    } foreign[] = {
        {"width=9", "", "", "model.width=8", 1},
        {"", "batch=2", "", "task.batch=3", 1},
        {"", "", "rate=0.03", "train.rate=0.02", 1},
        {"", "", "", "run.seed=1", 2},
    };
    for (int i = 0; i < 4; ++i) {
        char train[256];
        snprintf(train, sizeof train, "%s %s", train_text, foreign[i].train);
        REQUIRE_OK(
            trigram_session(foreign[i].model, foreign[i].task, train, foreign[i].seed, &other));
        CHECK_FAILS(lh_session_restore(other, checkpoint), LH_EFORMAT, foreign[i].message);
        lh_session_destroy(other);
    }
    char longer[256];
    snprintf(longer, sizeof longer, "%s steps=80 log_every=3 evaluate_every=5", train_text);
    REQUIRE_OK(trigram_session("", "", longer, 1, &other));
    CHECK_OK(lh_session_restore(other, checkpoint));
    lh_session_destroy(other);
    lh_session_destroy(session);
    unlink(checkpoint);
}

/* Steps that learn, then, from the 20th on, far longer ones that undo it, whatever the order of
 * rounding. */
static const char *const impatient_text = "steps=60 optimizer=adam rate=1e-2 schedule=step "
                                          "warmup=0 step_every=20 step_factor=1e4 log_every=7 "
                                          "evaluate_every=2 checkpoint_seconds=0 patience=3";

TEST(patience_ends_training_after_stale_evaluations) {
    lh_session *session = NULL;
    journal l = {0};
    REQUIRE_OK(trigram_session("width=16", "", impatient_text, 1, &session));
    CHECK_OK(lh_session_train(session, checkpoint, keep_progress, &l));
    const int64_t last = lh_session_step(session);
    double best = INFINITY;
    int64_t best_step = 0;
    for (int i = 0; i < l.count; ++i) {
        const lh_progress *p = &l.seen[i];
        if (isnan(lh_metrics_get(&p->valid, "bits_per_token"))) continue;
        CHECK_EQ_INT(p->is_best, lh_metrics_get(&p->valid, "bits_per_token") < best);
        if (p->is_best) best_step = p->step;
        best = fmin(best, lh_metrics_get(&p->valid, "bits_per_token"));
    }
    CHECK(last < 60 && best_step > 0);
    CHECK_EQ_INT(last, best_step + 3 * 2);
    CHECK_EQ_INT(l.seen[l.count - 1].step, last);
    /* It is over for whoever goes on from its last checkpoint, too. */
    lh_session *again = NULL;
    REQUIRE_OK(trigram_session("width=16", "", impatient_text, 1, &again));
    CHECK_OK(lh_session_restore(again, checkpoint));
    CHECK_OK(lh_session_train(again, NULL, NULL, NULL));
    CHECK_EQ_INT(lh_session_step(again), last);
    CHECK(same_values(session, again));
    lh_session_destroy(session);
    lh_session_destroy(again);
    unlink(checkpoint);
}

/* The interval that it cuts short is in the curve: the mean of the losses of its steps. */
TEST(patience_leaves_no_step_out_of_the_curve) {
    char by_step[256];
    lh_session *session[2] = {NULL, NULL};
    journal l[2] = {{0}, {0}};
    snprintf(by_step, sizeof by_step, "%s log_every=1", impatient_text);
    for (int i = 0; i < 2; ++i) {
        const char *text = i == 0 ? impatient_text : by_step;
        REQUIRE_OK(trigram_session("width=16", "", text, 1, &session[i]));
        CHECK_OK(lh_session_train(session[i], NULL, keep_progress, &l[i]));
    }
    const int64_t last = lh_session_step(session[0]), left = last % 7;
    CHECK_EQ_INT(l[1].count, last);
    CHECK(left > 0);
    double sum = 0.0;
    for (int64_t i = last - left; i < last; ++i)
        sum += l[1].seen[i].loss_bits;
    const lh_progress *end = &l[0].seen[l[0].count - 1];
    CHECK_NEAR(end->loss_bits, sum / (double)left, 1e-9 * sum);
    CHECK_NEAR(end->gradient_norm, l[1].seen[last - 1].gradient_norm, 0);
    lh_session_destroy(session[0]);
    lh_session_destroy(session[1]);
}

/* At every step where a run may be stopped, stale evaluations are counted on. */
TEST(patience_resumes_where_it_was) {
    lh_session *whole = NULL;
    journal calm = {0};
    REQUIRE_OK(trigram_session("width=16", "", impatient_text, 1, &whole));
    CHECK_OK(lh_session_train(whole, NULL, keep_progress, &calm));
    for (int i = 0; i + 1 < calm.count; ++i) {
        lh_session *first = NULL, *second = NULL;
        journal before = {.stop_at = calm.seen[i].step, .stops_by = LH_STOP}, after = {0};
        REQUIRE_OK(trigram_session("width=16", "", impatient_text, 1, &first));
        REQUIRE_OK(trigram_session("width=16", "", impatient_text, 1, &second));
        CHECK_STATUS(lh_session_train(first, checkpoint, keep_progress, &before), LH_EINTERRUPT);
        CHECK_OK(lh_session_restore(second, checkpoint));
        CHECK_OK(lh_session_train(second, NULL, keep_progress, &after));
        CHECK_EQ_INT(lh_session_step(second), lh_session_step(whole));
        CHECK_EQ_INT(before.count + after.count, calm.count);
        for (int k = 0; k < after.count; ++k)
            CHECK_EQ_INT(after.seen[k].is_best, calm.seen[before.count + k].is_best);
        CHECK(same_values(whole, second));
        lh_session_destroy(first);
        lh_session_destroy(second);
    }
    lh_session_destroy(whole);
    unlink(checkpoint);
}

TEST(patience_without_evaluations_is_refused) {
    lh_session *session = NULL;
    CHECK_FAILS(trigram_session("", "", "steps=4 patience=2", 1, &session), LH_EOPTION,
                "set evaluate_every");
    CHECK_FAILS(trigram_session("", "", "keep_best=mse", 1, &session), LH_EOPTION, "keep_best=mse");
}

TEST(watching_the_test_split_changes_nothing) {
    static const char plain_text[] = "steps=6 rate=0.1 warmup=2 log_every=2 evaluate_every=2";
    static const char watching_text[] =
        "steps=6 rate=0.1 warmup=2 log_every=2 evaluate_every=2 evaluate_test=true";
    lh_session *plain = NULL, *watching = NULL;
    journal unwatched = {0}, watched = {0};
    lh_metrics last;
    REQUIRE_OK(trigram_session("width=16", "", plain_text, 1, &plain));
    REQUIRE_OK(trigram_session("width=16", "", watching_text, 1, &watching));
    CHECK_OK(lh_session_train(plain, NULL, keep_progress, &unwatched));
    CHECK_OK(lh_session_train(watching, NULL, keep_progress, &watched));
    CHECK(same_values(plain, watching));
    for (int i = 0; i < watched.count; ++i) {
        CHECK_EQ_INT(unwatched.seen[i].test.count, 0);
        CHECK(lh_metrics_get(&watched.seen[i].valid, "bits_per_token") ==
              lh_metrics_get(&unwatched.seen[i].valid, "bits_per_token"));
        CHECK(isfinite(lh_metrics_get(&watched.seen[i].test, "accuracy")));
    }
    CHECK_OK(lh_session_evaluate(watching, LH_TEST, &last));
    CHECK(lh_metrics_get(&watched.seen[watched.count - 1].test, "accuracy") ==
          lh_metrics_get(&last, "accuracy"));
    lh_session_destroy(plain);
    lh_session_destroy(watching);
}

TEST(watching_without_evaluations_is_refused) {
    lh_session *session = NULL;
    CHECK_FAILS(trigram_session("", "", "steps=4 evaluate_test=true", 1, &session), LH_EOPTION,
                "set evaluate_every");
}

/* What ends a run early, or is kept of it, is a part of which run it is. */
TEST(a_checkpoint_of_other_evaluations_is_refused) {
    static const char *const plans[] = {
        "steps=6 evaluate_every=2 patience=9", "steps=6 evaluate_every=2 patience=8",
        "steps=6 evaluate_every=3 patience=9", "steps=6 evaluate_every=2 keep_best=true",
        "steps=6 evaluate_every=3 keep_best=true"};
    lh_session *session[5] = {NULL};
    for (int i = 0; i < 5; ++i)
        REQUIRE_OK(trigram_session("width=16", "", plans[i], 1, &session[i]));
    CHECK_OK(lh_session_train(session[0], checkpoint, NULL, NULL));
    CHECK_FAILS(lh_session_restore(session[1], checkpoint), LH_EFORMAT, "patience=8");
    CHECK_FAILS(lh_session_restore(session[2], checkpoint), LH_EFORMAT, "evaluate_every=3");
    CHECK_OK(lh_session_train(session[3], checkpoint, NULL, NULL));
    CHECK_FAILS(lh_session_restore(session[4], checkpoint), LH_EFORMAT, "evaluate_every=3");
    for (int i = 0; i < 5; ++i)
        lh_session_destroy(session[i]);
    unlink(checkpoint);
}

/* The dropout masks of a few training steps, as bits. */
static struct {
    int steps;
    uint64_t mask[8];
} masks;

static lh_status masked_forward(const void *instance, lh_pass *pass, lh_output *out) {
    lh_tape *tape = lh_pass_tape(pass);
    LH_TRY(trigram_class.forward(instance, pass, out));
    lh_tensor *ones = lh_filled(tape, 2, (const int64_t[]){64, 1}, 1.0);
    const lh_tensor *kept = ones != NULL ? lh_dropout(tape, ones, 0.5, 0) : NULL;
    if (kept == NULL) return lh_error_get()->status;
    uint64_t bits = 0;
    for (int i = 0; i < 64; ++i)
        bits |= (uint64_t)(lh_tensor_real(kept)[i] > 0) << i;
    masks.mask[masks.steps++ % 8] = bits;
    return LH_OK;
}

TEST(every_step_has_dropout_masks_of_its_own) {
    lh_model_class class = trigram_class;
    uint64_t first[4];
    class.forward = masked_forward;
    for (int run = 0; run < 2; ++run) {
        lh_session *session = NULL;
        masks.steps = 0;
        REQUIRE_OK(pattern_session(&class, "", "", "steps=4 rate=0.1 warmup=1", 3, &session));
        REQUIRE_OK(lh_session_train(session, NULL, NULL, NULL));
        CHECK_EQ_INT(masks.steps, 4);
        for (int i = 0; i < 4; ++i)
            for (int k = 0; k < i; ++k)
                CHECK(masks.mask[i] != masks.mask[k]);
        if (run == 0) memcpy(first, masks.mask, sizeof first);
        lh_session_destroy(session);
    }
    CHECK(memcmp(first, masks.mask, sizeof first) == 0);
}

/* Largest number that a training step was handed by the one before. */
static double carried[8];
static int carried_steps;

static lh_status carrying_forward(const void *instance, lh_pass *pass, lh_output *out) {
    const lh_tensor *state = lh_pass_state(pass, 0);
    double most = 0;
    for (int64_t i = 0; i < lh_tensor_count(state); ++i)
        most = fmax(most, fabs((double)lh_tensor_real(state)[i]));
    carried[carried_steps++ % 8] = most;
    return trigram_class.forward(instance, pass, out);
}

/* Documents of 2 to 60 tokens in segments of 5: the first step has nothing, the next ones
 * something. A point of the curve is bits of a token, a guess among 11 at first, and its interval's
 * tokens are those of whole batches. */
TEST(training_carries_state_and_counts_tokens) {
    lh_model_class class = trigram_class;
    lh_session *session = NULL;
    journal l = {0};
    class.forward = carrying_forward;
    carried_steps = 0;
    REQUIRE_OK(
        pattern_session(&class, "", "", "steps=4 rate=0 warmup=0 schedule=constant", 3, &session));
    for (int i = 0; i < 3; ++i)
        REQUIRE_OK(lh_train_step(session));
    CHECK_EQ_INT(carried_steps, 3);
    CHECK(carried[0] == 0 && carried[1] > 0 && carried[2] > 0);
    CHECK_NEAR(session->record.interval_tokens, 3 * 15, 0);
    CHECK_OK(lh_session_train(session, NULL, keep_progress, &l));
    REQUIRE(l.count > 0);
    CHECK(l.seen[0].loss_bits > 2 && l.seen[0].loss_bits < 6); /* log2(11) is 3.5 */
    lh_session_destroy(session);
}

/* Evaluating in between must not disturb training: it has its own carried state. */
TEST(evaluation_does_not_disturb_training) {
    lh_session *plain = NULL, *watched = NULL;
    journal l = {0};
    char train[256];
    snprintf(train, sizeof train, "%s evaluate_every=10", train_text);
    REQUIRE_OK(trigram_session("dropout=0.1", "", train_text, 2, &plain));
    REQUIRE_OK(trigram_session("dropout=0.1", "", train, 2, &watched));
    CHECK_OK(lh_session_train(plain, NULL, NULL, NULL));
    CHECK_OK(lh_session_train(watched, NULL, keep_progress, &l));
    CHECK(same_values(plain, watched));
    CHECK_EQ_INT(l.count, 9); /* 7 10 14 20 21 28 30 35 40 */
    CHECK(l.seen[1].step == 10 && lh_metrics_get(&l.seen[1].valid, "bits_per_token") > 0.0 &&
          isnan(l.seen[1].loss_bits));
    lh_session_destroy(plain);
    lh_session_destroy(watched);
}
