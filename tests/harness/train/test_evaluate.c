/* Metrics of a pass against whole documents scored by hand, and the memory of inference. */
#include "harness/infer/forward.h"
#include "harness/train/session.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "harness/train/evaluate.h"
#include "harness/train/interrupt.h"
#include "harness/train/session_file.h"
#include "harness/train/session_inside.h"
#include "harness/train/trainer.h"
#include "tests/harness/trigram.h"
#include "tests/test.h"

/* Sums over the validation documents, from whole-document logits. */
typedef struct totals {
    double nats, predicted, correct, bytes, words;
} totals;

static char weights[64];

/* Programs of several builds may run side by side. */
__attribute__((constructor)) static void name_weights(void) {
    snprintf(weights, sizeof weights, "/tmp/longhaul-test-evaluate-%ld", (long)getpid());
}

/* Scores one row of logits: negative log-probability of the target, and whether it is the largest.
 */
static void score(const real *logits, int32_t target, totals *sum) {
    double total = 0.0;
    int best = 0;
    for (int v = 0; v < TRIGRAM_VOCABULARY; ++v) {
        total += exp((double)logits[v]);
        if (logits[v] > logits[best]) best = v;
    }
    sum->nats += log(total) - (double)logits[target];
    sum->predicted += 1.0;
    sum->correct += best == target;
}

static lh_status logits_of(const int32_t *tokens, int64_t rows, int64_t length, int64_t segment,
                           real **out) {
    lh_options *options = NULL;
    lh_forward_result result = {0};
    LH_TRY(lh_options_create("trigram", trigram_class.options, &options));
    const lh_forward_spec spec = {.model = &trigram_class,
                                  .options = options,
                                  .setup = {.vocabulary = TRIGRAM_VOCABULARY},
                                  .weights = weights,
                                  .device = "cpu",
                                  .rows = rows,
                                  .length = length,
                                  .segment = segment,
                                  .tokens = tokens};
    const lh_status status = lh_forward_run(&spec, &result);
    lh_options_destroy(options);
    *out = result.values;
    if (status == LH_OK && (result.columns != TRIGRAM_VOCABULARY || result.length != length))
        return LH_EINTERNAL;
    return status;
}

/* The same by hand: each document in one piece. `segment` > 0 leaves out the first token of every
 * segment, as the switch predict_across=false does. */
static bool score_by_hand(int64_t segment, totals *sum) {
    const lh_document_source source = pattern_source(LH_VALID);
    for (int64_t d = 0; d < source.count; ++d) {
        lh_document document;
        real *logits = NULL;
        if (source.get(source.context, d, &document) != LH_OK) return false;
        if (logits_of(document.tokens, 1, document.count, 0, &logits) != LH_OK) return false;
        const double before = sum->predicted;
        for (int64_t t = 1; t < document.count; ++t) {
            if (segment > 0 && t % segment == 0) continue;
            score(logits + (t - 1) * TRIGRAM_VOCABULARY, document.tokens[t], sum);
        }
        const double share = (sum->predicted - before) / (double)document.count;
        sum->bytes += share * (double)document.bytes;
        sum->words += share * (double)document.words;
        free(logits);
    }
    return true;
}

static void check_against_hand(const char *task, int64_t segment) {
    lh_session *session = NULL;
    lh_metrics m;
    totals sum = {0};
    REQUIRE_OK(trigram_session(
        "", task, "steps=15 optimizer=adam rate=0.02 schedule=constant warmup=0", 1, &session));
    REQUIRE_OK(lh_session_train(session, NULL, NULL, NULL));
    REQUIRE_OK(lh_session_save_weights(session, weights, false, NULL));
    REQUIRE_OK(lh_session_evaluate(session, LH_VALID, &m));
    REQUIRE(score_by_hand(segment, &sum));
    const double bits = sum.nats / log(2.0);
    CHECK_NEAR(lh_metrics_get(&m, "predicted_tokens"), sum.predicted, 0);
    CHECK_NEAR(lh_metrics_get(&m, "bits_per_token"), bits / sum.predicted, 1e-4);
    CHECK_NEAR(lh_metrics_get(&m, "bits_per_byte"), bits / sum.bytes, 1e-4);
    CHECK_NEAR(lh_metrics_get(&m, "perplexity"), exp(sum.nats / sum.predicted), 1e-3);
    CHECK_NEAR(log(lh_metrics_get(&m, "word_perplexity")), sum.nats / sum.words, 1e-3);
    CHECK_NEAR(lh_metrics_get(&m, "accuracy"), sum.correct / sum.predicted, 1e-12);
    CHECK_NEAR(lh_metrics_get(&m, "error_percent"), 100.0 * (1.0 - sum.correct / sum.predicted),
               1e-9);
    CHECK(isnan(lh_metrics_get(&m, "mse")));
    lh_session_destroy(session);
    unlink(weights);
}

TEST(metrics_agree_with_whole_documents_scored_by_hand) {
    check_against_hand("segment=5 batch=3", 0);
    check_against_hand("segment=16 batch=1", 0);
}

TEST(targets_inside_segments_are_scored_alike) {
    check_against_hand("segment=5 batch=2 across=false", 5);
}

/* The last of two documents has 24 of 106 bytes. */
TEST(a_split_is_spelled_as_a_whole) {
    lh_session *session = NULL;
    lh_metrics m;
    lh_split_size size;
    REQUIRE_OK(trigram_session("", "segment=5 batch=3", "steps=1", 1, &session));
    for (int i = 0; i < 2; ++i) {
        pattern_unspelled = i == 0 ? 60 : 200;
        REQUIRE_OK(lh_session_evaluate(session, LH_VALID, &m));
        REQUIRE_OK(lh_session_measure_split(session, LH_VALID, &size));
        CHECK(isnan(lh_metrics_get(&m, "bits_per_byte")) == (i == 1));
        CHECK(isnan(lh_metrics_get(&m, "word_perplexity")) == (i == 1));
        CHECK(isnan(size.bytes) == (i == 1));
        CHECK(!isnan(lh_metrics_get(&m, "bits_per_token")));
    }
    pattern_unspelled = 0;
    lh_session_destroy(session);
}

typedef struct heard {
    int64_t tokens[LH_SPLITS];
    int calls, falls;
} heard;

static void hear(void *context, lh_split split, int64_t tokens) {
    heard *h = context;
    ++h->calls;
    if (tokens <= h->tokens[split]) ++h->falls;
    h->tokens[split] = tokens;
}

/* After every batch of both splits, and no more once nobody listens. */
TEST(who_watches_evaluations_hears_of_every_batch) {
    lh_session *session = NULL;
    lh_metrics m;
    heard h = {0};
    REQUIRE_OK(trigram_session("", "segment=5 batch=3", "steps=1", 1, &session));
    lh_session_watch_evaluations(session, hear, &h);
    REQUIRE_OK(lh_session_evaluate(session, LH_VALID, &m));
    CHECK(h.calls > 1);
    CHECK_EQ_INT(h.tokens[LH_VALID], 15 * h.calls);
    CHECK((double)h.tokens[LH_VALID] >= lh_metrics_get(&m, "predicted_tokens"));
    CHECK_EQ_INT(h.tokens[LH_TEST], 0);
    CHECK_EQ_INT(h.falls, 0);
    const int before = h.calls;
    lh_session_watch_evaluations(session, NULL, NULL);
    REQUIRE_OK(lh_session_evaluate(session, LH_VALID, &m));
    CHECK_EQ_INT(h.calls, before);
    lh_session_destroy(session);
}

static void dawdle_and_signal(void *context, lh_split split, int64_t tokens) {
    const struct timespec tenth = {.tv_nsec = 100000000};
    (void)context, (void)split, (void)tokens;
    nanosleep(&tenth, NULL);
    raise(SIGTERM);
}

TEST(an_evaluation_that_a_signal_ends_is_no_time_of_the_interval) {
    lh_session *session = NULL;
    REQUIRE_OK(trigram_session("", "", "steps=9 evaluate_every=3 log_every=9", 4, &session));
    lh_session_watch_evaluations(session, dawdle_and_signal, NULL);
    CHECK_STATUS(lh_session_train(session, NULL, NULL, NULL), LH_EINTERRUPT);
    CHECK_EQ_INT(lh_session_step(session), 3);
    CHECK(session->record.seconds >= 0.1);
    CHECK(session->record.interval_seconds <= session->record.seconds - 0.1);
    lh_session_destroy(session);
    lh_interrupt forgotten; /* what is caught anew knows nothing of the signal */
    lh_interrupt_catch(&forgotten);
    lh_interrupt_release(&forgotten);
}

static int64_t inference_memory(lh_session *session) {
    int64_t bytes = 0;
    CHECK_OK(lh_session_inference_memory(session, &bytes));
    return bytes;
}

/* Neither moments nor gradients count, nor what training left behind. */
/* Dropout is a part of training alone. */
TEST(evaluation_drops_nothing) {
    static const char train[] = "steps=1 rate=0 schedule=constant warmup=0";
    lh_session *plain = NULL, *dropping = NULL;
    lh_metrics a, b;
    REQUIRE_OK(trigram_session("dropout=0", "", train, 1, &plain));
    REQUIRE_OK(trigram_session("dropout=0.8", "", train, 1, &dropping));
    REQUIRE_OK(lh_session_evaluate(plain, LH_VALID, &a));
    REQUIRE_OK(lh_session_evaluate(dropping, LH_VALID, &b));
    CHECK(lh_metrics_get(&a, "bits_per_token") == lh_metrics_get(&b, "bits_per_token"));
    lh_session_destroy(plain);
    lh_session_destroy(dropping);
}

TEST(inference_memory_is_that_of_parameters_state_and_a_batch) {
    static const char *const optimizers[] = {"sgd momentum=0", "adam"};
    int64_t inference[2];
    for (int i = 0; i < 2; ++i) {
        lh_session *session = NULL;
        char train[64];
        (void)snprintf(train, sizeof train, "steps=2 optimizer=%s", optimizers[i]);
        REQUIRE_OK(trigram_session("", "segment=16 batch=2", train, 1, &session));
        inference[i] = inference_memory(session);
        REQUIRE_OK(lh_session_train(session, NULL, NULL, NULL));
        const int64_t peak = lh_session_peak_memory(session);
        CHECK_EQ_INT(inference_memory(session), inference[i]);
        const int64_t parameters = lh_params_elements(lh_session_model(session)->params, true);
        CHECK(inference[i] > parameters * (int64_t)sizeof(real));
        CHECK(inference[i] < peak);
        CHECK(lh_session_peak_memory(session) >= peak);
        lh_session_destroy(session);
    }
    CHECK_EQ_INT(inference[0], inference[1]);
}

/* The validation split has two documents only: it cannot fill a batch of the training shape. */
TEST(inference_memory_is_that_of_a_training_batch) {
    int64_t inference[2];
    for (int i = 0; i < 2; ++i) {
        lh_session *session = NULL;
        const char *task = i == 0 ? "segment=16 batch=2" : "segment=16 batch=5";
        REQUIRE_OK(trigram_session("", task, "steps=1", 1, &session));
        inference[i] = inference_memory(session);
        lh_session_destroy(session);
    }
    CHECK(inference[1] >= inference[0] + 3 * 16 * TRIGRAM_VOCABULARY * (int64_t)sizeof(real));
}

static int batches_left;

static lh_status run_dry(void *instance, lh_host_batch *out) {
    if (batches_left-- == 0) return lh_fail(LH_EIO, "the disk is gone");
    return pattern_class.train_batch(instance, out);
}

TEST(a_batch_that_fails_leaves_training_where_it_was) {
    lh_task_class failing = pattern_class;
    failing.train_batch = run_dry;
    lh_session *session = NULL;
    lh_task_place before, after;
    int64_t bytes = 0;
    REQUIRE_OK(any_session(&trigram_class, "", &failing, "", "steps=1", 1, &session));
    lh_task_mark(lh_session_task(session), &before);
    batches_left = 1;
    CHECK_FAILS(lh_session_inference_memory(session, &bytes), LH_EIO, "the disk is gone");
    lh_task_mark(lh_session_task(session), &after);
    CHECK(memcmp(after.cursor, before.cursor, (size_t)before.words * sizeof(int64_t)) == 0);
    lh_session_destroy(session);
}

TEST(measuring_inference_memory_leaves_training_as_it_was) {
    double bits[2];
    for (int i = 0; i < 2; ++i) {
        lh_session *session = NULL;
        lh_metrics m;
        REQUIRE_OK(trigram_session("", "segment=5 batch=3", "steps=4 optimizer=adam", 1, &session));
        if (i == 1) CHECK(inference_memory(session) > 0);
        REQUIRE_OK(lh_session_train(session, NULL, NULL, NULL));
        REQUIRE_OK(lh_session_evaluate(session, LH_VALID, &m));
        bits[i] = lh_metrics_get(&m, "bits_per_token");
        lh_session_destroy(session);
    }
    CHECK_NEAR(bits[0], bits[1], 0);
}

/* The released metric for words: bits per token times tokens over words of the whole text. */
/* What was in use before, in training or elsewhere, is no part of it. */
TEST(inference_memory_forgets_earlier_peaks) {
    enum { LARGE = 1 << 24 };
    lh_session *session = NULL;
    int64_t before = 0, after = 0;
    void *block = NULL;
    REQUIRE_OK(trigram_session("", "segment=5 batch=3", "steps=1", 1, &session));
    CHECK_OK(lh_session_inference_memory(session, &before));
    REQUIRE_OK(lh_pool_take(session->pool, LARGE, &block));
    lh_pool_return(session->pool, block, LARGE);
    CHECK_OK(lh_session_inference_memory(session, &after));
    CHECK(before > 0 && before < LARGE);
    CHECK_EQ_INT(after, before);
    CHECK(lh_session_peak_memory(session) >= LARGE); /* which the session's own peak keeps */
    lh_session_destroy(session);
}

TEST(word_perplexity_is_that_of_the_papers) {
    lh_session *session = NULL;
    lh_metrics m;
    REQUIRE_OK(trigram_session("", "", "steps=0", 1, &session));
    REQUIRE_OK(lh_session_evaluate(session, LH_TRAIN, &m));
    double tokens = 0.0, words = 0.0;
    const lh_document_source source = pattern_source(LH_TRAIN);
    for (int64_t d = 0; d < source.count; ++d) {
        lh_document document;
        REQUIRE_OK(source.get(source.context, d, &document));
        const double predicted = (double)(document.count - 1);
        tokens += predicted;
        words += predicted * (double)document.words / (double)document.count;
    }
    CHECK_NEAR(log2(lh_metrics_get(&m, "word_perplexity")),
               lh_metrics_get(&m, "bits_per_token") * tokens / words, 1e-6);
    lh_session_destroy(session);
}

TEST(forward_in_segments_equals_forward_at_once) {
    enum { ROWS = 3, LENGTH = 23 };
    lh_session *session = NULL;
    REQUIRE_OK(trigram_session("", "", "steps=0", 1, &session));
    REQUIRE_OK(lh_session_save_weights(session, weights, false, NULL));
    lh_session_destroy(session);
    int32_t tokens[ROWS * LENGTH];
    for (int i = 0; i < ROWS * LENGTH; ++i)
        tokens[i] = (int32_t)test_integer(TRIGRAM_VOCABULARY);
    real *whole = NULL;
    REQUIRE_OK(logits_of(tokens, ROWS, LENGTH, 0, &whole));
    static const int64_t segments[] = {1, 5, 23, 40};
    for (int s = 0; s < 4; ++s) {
        real *parts = NULL;
        double worst = 0.0;
        REQUIRE_OK(logits_of(tokens, ROWS, LENGTH, segments[s], &parts));
        for (int i = 0; i < ROWS * LENGTH * TRIGRAM_VOCABULARY; ++i)
            worst = fmax(worst, fabs((double)(whole[i] - parts[i])));
        CHECK_NEAR(worst, 0.0, 1e-5);
        free(parts);
    }
    tokens[30] = TRIGRAM_VOCABULARY;
    real *none = NULL;
    CHECK_FAILS(logits_of(tokens, ROWS, LENGTH, 0, &none), LH_EOPTION, "row 1, position 7");
    CHECK(none == NULL);
    free(whole);
    unlink(weights);
}

TEST(metrics_replace_by_name_and_are_nan_when_absent) {
    lh_metrics m = {0};
    REQUIRE_OK(lh_metrics_set(&m, "a", 1.0));
    REQUIRE_OK(lh_metrics_set(&m, "b", 2.0));
    REQUIRE_OK(lh_metrics_set(&m, "a", 3.0));
    CHECK_EQ_INT(m.count, 2);
    CHECK_NEAR(lh_metrics_get(&m, "a"), 3.0, 0);
    CHECK(isnan(lh_metrics_get(&m, "c")));
}

TEST(a_metric_that_has_no_room_is_an_error) {
    lh_metrics m = {0};
    for (int i = 0; i < LH_METRICS; ++i) {
        char name[16];
        snprintf(name, sizeof name, "n%d", i);
        REQUIRE_OK(lh_metrics_set(&m, name, i));
    }
    CHECK_FAILS(lh_metrics_set(&m, "one_more", 1.0), LH_EINTERNAL, "no room for 'one_more'");
    REQUIRE_OK(lh_metrics_set(&m, "n7", -1.0));
    CHECK_NEAR(lh_metrics_get(&m, "n7"), -1.0, 0);
    CHECK_EQ_INT(m.count, LH_METRICS);
    char longest[LH_METRIC_NAME + 1];
    memset(longest, 'x', sizeof longest);
    longest[LH_METRIC_NAME] = '\0';
    m = (lh_metrics){0};
    CHECK_FAILS(lh_metrics_set(&m, longest, 1.0), LH_EINTERNAL, "is longer than 47 letters");
    longest[LH_METRIC_NAME - 1] = '\0';
    REQUIRE_OK(lh_metrics_set(&m, longest, 1.0));
    CHECK_NEAR(lh_metrics_get(&m, longest), 1.0, 0);
}
