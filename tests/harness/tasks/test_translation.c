/* Pairs in batches, and translations against the model asked token by token. */
#include "harness/infer/translator.h"
#include "harness/train/loss.h"
#include "harness/train/session_file.h"
#include "harness/train/session_inside.h"

#include "datasets/text/parallel_text.h"
#include "harness/engine/plugin.h"
#include "harness/train/evaluate.h"
#include "harness/train/trainer.h"
#include "tests/config.h"
#include "tests/harness/trigram.h"
#include "tests/test.h"

#include "tests/harness/tasks/task_bench.h"

#include <unistd.h>

enum { VOCABULARY = 260, PAIRS = 60, LONGER = 6 };

static const char generated[] = "pairs=60 evaluate_pairs=9 tokens=bytes batch_tokens=256 longer=6",
                  small[] = "layers=1 width=8 heads=2 hidden=12 dropout=0";

/* ---- batches ---- */

static bool open_pairs(task_bench *f, const char *more) {
    return open_task(f, "translation", generated, more, 1);
}

/* A row: source and target end, the decoder reads the target one place later, padding is 0 and
 * without weight. Returns whether there is a pair in it. */
static bool check_row(const lh_host_batch *batch, int64_t row) {
    const int32_t *source = batch->source_tokens + row * batch->source_length,
                  *tokens = batch->tokens + row * batch->length,
                  *target = batch->target + row * batch->length;
    const real *weights = batch->weights + row * batch->length;
    const int64_t count = batch->source_count[row];
    int64_t predicted = 0;
    while (predicted < batch->length && weights[predicted] == LH_R(1))
        predicted += 1;
    CHECK(batch->starts[row] == 1 && count >= 1 && count <= batch->source_length);
    CHECK_EQ_INT(tokens[0], 0);
    for (int64_t t = 0; t < batch->length; ++t) {
        CHECK((weights[t] == LH_R(1)) == (t < predicted));
        CHECK(t < predicted ? target[t] > 0 : target[t] == 0);
        CHECK(t == 0 || tokens[t] == (t < predicted ? target[t - 1] : 0));
        CHECK(t < count || source[t] == 0);
    }
    if (predicted == 0) return false;
    CHECK(source[count - 1] == 1 && target[predicted - 1] == 1);
    CHECK(2 * (count > predicted ? count : predicted) > batch->length || batch->length == 8);
    return true;
}

TEST(an_epoch_has_every_pair_once) {
    task_bench f;
    lh_host_batch batch;
    REQUIRE(open_pairs(&f, ""));
    CHECK(f.setup.vocabulary == VOCABULARY && f.setup.source_vocabulary == VOCABULARY);
    for (int epoch = 0; epoch < 2; ++epoch) {
        int64_t words[LH_CURSOR_WORDS];
        int pairs = 0;
        do {
            REQUIRE_OK(next_batch(&f, &batch));
            CHECK(batch.rows * batch.length <= 256);
            for (int64_t r = 0; r < batch.rows; ++r)
                pairs += check_row(&batch, r);
            CHECK_EQ_INT(f.task->class->cursor_get(f.task->instance, words), 2);
        } while (words[0] == epoch && pairs < PAIRS);
        CHECK_EQ_INT(pairs, PAIRS);
        CHECK_EQ_INT(words[0], epoch);
    }
    close_task(&f);
}

static int evaluated_pairs(task_bench *f, lh_split split) {
    lh_host_batch batch;
    int pairs = 0;
    CHECK_OK(f->task->class->evaluate_begin(f->task->instance, split));
    do {
        if (!CHECK_OK(f->task->class->evaluate_batch(f->task->instance, &batch))) return 0;
        for (int64_t r = 0; r < batch.rows; ++r)
            pairs += check_row(&batch, r);
    } while (batch.rows > 0);
    return pairs;
}

/* A pass does not disturb the training batch that was handed out before it. */
TEST(a_pass_has_every_pair_once) {
    task_bench f;
    lh_host_batch batch;
    REQUIRE(open_pairs(&f, ""));
    REQUIRE_OK(next_batch(&f, &batch));
    const int32_t before = batch.target[0];
    CHECK_EQ_INT(evaluated_pairs(&f, LH_VALID), 9);
    CHECK_EQ_INT(evaluated_pairs(&f, LH_TEST), 9);
    CHECK_EQ_INT(batch.target[0], before);
    (void)check_row(&batch, 0);
    close_task(&f);
}

TEST(a_stream_goes_on_from_its_cursor) {
    task_bench f, again;
    lh_host_batch a, b;
    int64_t words[LH_CURSOR_WORDS];
    REQUIRE(open_pairs(&f, "") && open_pairs(&again, ""));
    for (int n = 0; n < 40; ++n)
        REQUIRE_OK(next_batch(&f, &a));
    const int count = f.task->class->cursor_get(f.task->instance, words);
    CHECK(words[0] > 0);
    REQUIRE_OK(again.task->class->cursor_set(again.task->instance, words, count));
    for (int n = 0; n < 60; ++n) {
        REQUIRE_OK(next_batch(&f, &a));
        REQUIRE_OK(next_batch(&again, &b));
        REQUIRE(a.rows == b.rows && a.length == b.length);
        CHECK(memcmp(a.target, b.target, (size_t)(a.rows * a.length) * sizeof *a.target) == 0);
    }
    words[1] = 1000;
    CHECK_FAILS(again.task->class->cursor_set(again.task->instance, words, 2), LH_EFORMAT,
                "no position");
    close_task(&f);
    close_task(&again);
}

/* ---- translating ---- */

static lh_status open_session(const char *task, lh_session **out) {
    return any_session(lh_model_class_find("t5"), small, lh_task_class_find("translation"), task,
                       "steps=30 optimizer=adam rate=0.01 warmup=0", 1, out);
}

/* Logits of the model for a source and a prefix, alone in a batch without padding. */
static bool logits_alone(lh_session *session, const lh_pair *pair, const int32_t *prefix,
                         int64_t length, real *logits) {
    const int32_t count = (int32_t)pair->source_count, start = 1;
    const lh_host_batch host = {.rows = 1,
                                .length = length,
                                .source_length = pair->source_count,
                                .tokens = prefix,
                                .source_tokens = pair->source,
                                .source_count = &count,
                                .starts = &start};
    lh_output output = {0};
    if (!CHECK_OK(lh_batch_upload(session->pool, &session->setup, &host, &session->batch)))
        return false;
    lh_tape_begin(session->tape, false, 1, 0);
    const lh_scope scope = lh_scope_open(session->tape);
    CHECK_OK(lh_model_forward(session->model, session->tape, session->state, &session->batch, false,
                              &output));
    const lh_tensor *all = lh_loss_logits(session->tape, &output);
    real *read = malloc((size_t)length * VOCABULARY * sizeof *read);
    const bool good = CHECK(all != NULL && read != NULL) &&
                      CHECK_OK(lh_tensor_read(all, read, length * VOCABULARY));
    if (good) memcpy(logits, read + (length - 1) * VOCABULARY, VOCABULARY * sizeof *logits);
    free(read);
    lh_scope_close(session->tape, scope, NULL);
    return good;
}

/* The score of a translation, one token after the other; with `greedy` each must be the likeliest.
 */
static double score_alone(lh_session *session, const lh_pair *pair, const lh_beam_result *result,
                          bool greedy) {
    int32_t prefix[256] = {0};
    real logits[VOCABULARY];
    double sum = 0;
    for (int64_t t = 0; t < result->count + result->ended; ++t) {
        const int32_t token = t < result->count ? result->tokens[t] : 1;
        double total = 0;
        if (!logits_alone(session, pair, prefix, t + 1, logits)) return 0;
        for (int v = 0; v < VOCABULARY; ++v) {
            total += exp((double)logits[v]);
            if (greedy) CHECK((double)logits[v] <= (double)logits[token] + 1e-5);
        }
        sum += (double)logits[token] - log(total);
        prefix[t + 1] = token;
    }
    return sum;
}

/* Sources of different lengths, translated together, come out as if each stood alone. */
static void check_translations(int64_t beam) {
    lh_session *session = NULL;
    lh_parallel *parallel = NULL;
    lh_options *options = NULL;
    int32_t tokens[3][256], tokens_alone[256];
    lh_pair pairs[3];
    lh_source_text sources[3];
    lh_beam_result together[3], alone = {.tokens = tokens_alone};
    const lh_translator_spec spec = {.beam = beam, .longer = LONGER, .end = 1};
    lh_parallel_config config;
    REQUIRE_OK(parse_config(lh_parallel_config_options, "pairs=60 evaluate_pairs=9 tokens=bytes",
                            &config, &options));
    REQUIRE_OK(lh_parallel_open(&config, &parallel));
    REQUIRE_OK(open_session(generated, &session));
    REQUIRE_OK(lh_session_train(session, NULL, NULL, NULL));
    for (int i = 0; i < 3; ++i) {
        pairs[i] = lh_parallel_pair(parallel, LH_TEST, i);
        sources[i] = (lh_source_text){pairs[i].source, pairs[i].source_count};
        together[i] = (lh_beam_result){.tokens = tokens[i]};
    }
    CHECK(pairs[0].source_count != pairs[1].source_count);
    const lh_scored scored = lh_session_scored(session);
    REQUIRE_OK(lh_translate(&scored, &spec, sources, 3, together));
    for (int i = 0; i < 3; ++i)
        CHECK_NEAR(score_alone(session, &pairs[i], &together[i], beam == 1), together[i].score,
                   1e-4 * fabs(together[i].score));
    for (int i = 0; i < 3; ++i) {
        REQUIRE_OK(lh_translate(&scored, &spec, &sources[i], 1, &alone));
        CHECK(alone.ended == together[i].ended && alone.count == together[i].count);
        CHECK_NEAR(alone.score, together[i].score, 1e-4 * fabs(alone.score));
    }
    lh_session_destroy(session);
    lh_parallel_destroy(parallel);
    lh_options_destroy(options);
}

TEST(a_beam_of_one_takes_the_likeliest_token) {
    check_translations(1);
}

TEST(scores_are_those_of_the_model) {
    check_translations(3);
}

TEST(the_test_split_is_translated_and_scored) {
    lh_session *session = NULL;
    lh_metrics metrics, again, valid;
    REQUIRE_OK(open_session(generated, &session));
    REQUIRE_OK(lh_session_train(session, NULL, NULL, NULL));
    REQUIRE_OK(lh_session_evaluate(session, LH_VALID, &valid));
    CHECK(isnan(lh_metrics_get(&valid, "bleu")) && lh_metrics_get(&valid, "bits_per_token") > 0);
#ifdef LH_HAVE_PCRE2
    REQUIRE_OK(lh_session_evaluate(session, LH_TEST, &metrics));
    REQUIRE_OK(lh_session_evaluate(session, LH_TEST, &again));
    static const char *const names[] = {"bleu", "sacrebleu_cased", "sacrebleu_uncased"};
    for (int i = 0; i < 3; ++i) {
        const double score = lh_metrics_get(&metrics, names[i]);
        CHECK(score >= 0 && score <= 100);
        CHECK_NEAR(score, lh_metrics_get(&again, names[i]), 0);
    }
#endif
    lh_session_destroy(session);
}

static lh_wish stop_at_four(void *context, const lh_progress *progress) {
    (void)context;
    return progress->step != 4 ? LH_GO_ON : LH_STOP;
}

/* A model that carries state reads batches of other rows, each of which begins afresh. */
TEST(a_model_with_state_resumes_bit_for_bit) {
    static const char train[] = "steps=9 optimizer=adam rate=0.01 warmup=0 log_every=1";
    lh_session *whole = NULL, *first = NULL, *second = NULL;
    char path[64];
    (void)snprintf(path, sizeof path, "/tmp/longhaul-test-translation-%ld", (long)getpid());
    lh_session **const all[] = {&whole, &first, &second};
    for (int i = 0; i < 3; ++i)
        REQUIRE_OK(any_session(lh_model_class_find("dai_xl"),
                               "layers=1 width=8 heads=2 hidden=12 memory=3 dropout=0.1",
                               lh_task_class_find("translation"), generated, train, 1, all[i]));
    CHECK_OK(lh_session_train(whole, NULL, NULL, NULL));
    CHECK_STATUS(lh_session_train(first, path, stop_at_four, NULL), LH_EINTERRUPT);
    CHECK(!same_values(whole, first));
    CHECK_OK(lh_session_restore(second, path));
    CHECK_OK(lh_session_train(second, NULL, NULL, NULL));
    CHECK(same_values(whole, second));
    for (int i = 0; i < 3; ++i)
        lh_session_destroy(*all[i]);
    unlink(path);
}

/* ---- a text that can be learnt by heart ---- */

static bool write_texts(char *folder) {
    static const char *const files[] = {"train.en", "train.de", "valid.en",
                                        "valid.de", "test.en",  "test.de"};
    static const char *const texts[] = {"a b c d e\nf g\nh i j\n",
                                        "E D C B A\nG F F G\nJ I H , 5\n"};
    const char *temporary = getenv("TMPDIR");
    (void)snprintf(folder, 128, "%.100s/longhaul-texts-XXXXXX", temporary ? temporary : "/tmp");
    if (!CHECK(mkdtemp(folder) != NULL)) return false;
    for (int i = 0; i < 6; ++i) {
        char path[256];
        (void)snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        FILE *file = fopen(path, "w");
        if (!CHECK(file != NULL)) return false;
        CHECK(fputs(texts[i % 2], file) >= 0);
        (void)fclose(file);
    }
    return true;
}

/* With an encoder; source and target in one sequence; a window of both. */
static void check_by_heart(const char *folder, const char *model, const char *options,
                           const char *more) {
    char task[256], train[128];
    lh_session *session = NULL;
    lh_metrics before, after;
    (void)snprintf(task, sizeof task, "name=%s tokens=bytes batch_tokens=64 longer=10", folder);
    (void)snprintf(train, sizeof train, "steps=400 optimizer=adam rate=0.005 warmup=20 %s", more);
    REQUIRE_OK(any_session(lh_model_class_find(model), options, lh_task_class_find("translation"),
                           task, train, 1, &session));
    REQUIRE_OK(lh_session_evaluate(session, LH_TEST, &before));
    REQUIRE_OK(lh_session_train(session, NULL, NULL, NULL));
    REQUIRE_OK(lh_session_evaluate(session, LH_TEST, &after));
    CHECK(lh_metrics_get(&before, "bleu") < 10);
    test_check(lh_metrics_get(&after, "bleu") > 100 - 1e-9, __FILE__, __LINE__, "%s: BLEU %g",
               model, lh_metrics_get(&after, "bleu"));
    CHECK_NEAR(lh_metrics_get(&after, "sacrebleu_uncased"), 100, 1e-9);
    lh_session_destroy(session);
}

TEST(what_is_known_by_heart_has_bleu_100) {
#ifndef LH_HAVE_PCRE2
    SKIP("built without pcre2");
#endif
    char folder[128];
    REQUIRE(write_texts(folder));
    check_by_heart(folder, "t5", "layers=1 width=32 heads=2 hidden=64 dropout=0", "");
    check_by_heart(folder, "gpt2", "layers=2 width=32 heads=2 context=64 dropout=0", "steps=1200");
    check_by_heart(folder, "logsparse", "width=32 heads=2 hidden=64 dropout=0", "");
}
