/* How far back a model looks that sees two tokens and no more. */
#include "harness/train/context.h"

#include "harness/tasks/tasks.h"
#include "harness/train/evaluate.h"
#include "harness/train/session_inside.h"
#include "harness/train/trainer.h"
#include "tests/harness/trigram.h"
#include "tests/test.h"

static const char train[] = "steps=20 optimizer=adam rate=0.05 warmup=0";

static lh_status measured(const char *task, int64_t length, int64_t passages, lh_context *out) {
    lh_session *session = NULL;
    lh_status status = trigram_session("", task, train, 1, &session);
    if (status == LH_OK) status = lh_session_train(session, NULL, NULL, NULL);
    if (status == LH_OK) status = lh_session_context(session, length, passages, out);
    lh_session_destroy(session);
    return status;
}

static double mean(const lh_context *c, lh_context_part part, int k) {
    return c->sum[part][k] / (double)c->count[part][k];
}

/* More than two tokens gain nothing, and a change three tokens back costs nothing. */
TEST(a_trigram_looks_two_tokens_back) {
    lh_context c;
    REQUIRE_OK(measured("segment=8 batch=1", 16, 4, &c));
    REQUIRE(c.count[LH_CONTEXT_KEPT][0] >= 1);
    CHECK_EQ_INT(c.count[LH_CONTEXT_KEPT][4], c.count[LH_CONTEXT_KEPT][0]);
    CHECK_EQ_INT(c.count[LH_CONTEXT_KEPT][5], 0);
    CHECK(fabs(mean(&c, LH_CONTEXT_KEPT, 0) - mean(&c, LH_CONTEXT_KEPT, 1)) > 0.01);
    for (int k = 2; k <= 4; ++k)
        CHECK_NEAR(mean(&c, LH_CONTEXT_KEPT, k), mean(&c, LH_CONTEXT_KEPT, 1), 1e-5);
    CHECK(fabs(c.sum[LH_CONTEXT_CHANGED][0]) > 0.01); /* itself */
    CHECK(fabs(c.sum[LH_CONTEXT_CHANGED][1]) > 0.01); /* two and three tokens back */
    for (int k = 2; k <= 3; ++k)
        CHECK_NEAR(c.sum[LH_CONTEXT_CHANGED][k], 0, 1e-5);
}

/* Segments change nothing: state carries what is before them. */
TEST(what_is_kept_does_not_hang_on_segments) {
    lh_context whole, parts;
    REQUIRE_OK(measured("segment=16 batch=1", 16, 2, &whole));
    lh_session *session = NULL;
    REQUIRE_OK(trigram_session("", "segment=16 batch=1", train, 1, &session));
    REQUIRE_OK(lh_session_train(session, NULL, NULL, NULL));
    session->length = 4; /* of the segments that passages are read in */
    REQUIRE_OK(lh_session_context(session, 16, 2, &parts));
    lh_session_destroy(session);
    for (int k = 0; k <= 4; ++k)
        CHECK_NEAR(mean(&parts, LH_CONTEXT_KEPT, k), mean(&whole, LH_CONTEXT_KEPT, k), 1e-5);
}

/* An encoder of the past reads what is kept, and no more: the last of eight tokens is the last of a
 * second segment, which stands alone where four are kept. */
TEST(an_encoder_reads_what_is_kept_before_a_segment) {
    lh_context c;
    lh_session *session = NULL;
    REQUIRE_OK(pattern_session(lh_model_class_find("t5"), "layers=1 width=8 heads=2 hidden=8",
                               "segment=4 batch=1 past=true", train, 1, &session));
    REQUIRE_OK(lh_session_context(session, 8, 1, &c));
    REQUIRE(c.count[LH_CONTEXT_KEPT][2] == 1 && c.count[LH_CONTEXT_KEPT][3] == 1);
    CHECK(fabs(c.sum[LH_CONTEXT_KEPT][3] - c.sum[LH_CONTEXT_KEPT][2]) > 1e-4);
    CHECK(fabs(c.sum[LH_CONTEXT_CHANGED][2]) > 1e-6);
    lh_session_destroy(session);
}

/* Of four passages that save 1, 2, 3 and 4 bits: the root of 5/3 over 4; of a measurement, nothing
 * is saved by keeping what is kept anyway, and the rest agrees with the sums. */
TEST(what_is_saved_has_a_standard_error) {
    lh_context c = {.saved_squares = {0, 30}};
    c.count[LH_CONTEXT_KEPT][0] = c.count[LH_CONTEXT_KEPT][1] = 4;
    c.sum[LH_CONTEXT_KEPT][0] = 20;
    c.sum[LH_CONTEXT_KEPT][1] = 10;
    CHECK_NEAR(lh_context_error(&c, 1), sqrt(5.0 / 12.0), 1e-12);
    CHECK(isinf(lh_context_error(&c, 2)));
    REQUIRE_OK(measured("segment=16 batch=1", 16, 4, &c));
    REQUIRE(c.count[LH_CONTEXT_KEPT][0] >= 2);
    CHECK_NEAR(c.saved_squares[0], 0, 0);
    CHECK_NEAR(lh_context_error(&c, 0), 0, 0);
    const double saved = mean(&c, LH_CONTEXT_KEPT, 0) - mean(&c, LH_CONTEXT_KEPT, 4);
    CHECK(c.saved_squares[4] >= (double)c.count[LH_CONTEXT_KEPT][4] * saved * saved);
}

/* By position every token counts once, and together they make the loss of an evaluation. */
TEST(positions_add_up_to_the_loss) {
    lh_context c;
    lh_metrics m;
    lh_session *session = NULL;
    double bits = 0, tokens = 0;
    REQUIRE_OK(trigram_session("", "segment=5 batch=2", train, 1, &session));
    REQUIRE_OK(lh_session_evaluate(session, LH_VALID, &m));
    REQUIRE_OK(lh_session_context(session, 1 << 20, 1, &c));
    for (int k = 0; k < LH_CONTEXT_POINTS; ++k) {
        bits += c.sum[LH_CONTEXT_POSITION][k];
        tokens += (double)c.count[LH_CONTEXT_POSITION][k];
    }
    CHECK_EQ_INT(c.count[LH_CONTEXT_KEPT][0], 0); /* no document has so many tokens */
    CHECK_NEAR(tokens, lh_metrics_get(&m, "predicted_tokens"), 0);
    CHECK_NEAR(bits / tokens, lh_metrics_get(&m, "bits_per_token"), 1e-5);
    CHECK_EQ_INT(c.count[LH_CONTEXT_POSITION][0], 2); /* two documents, their second tokens */
    lh_session_destroy(session);
}

/* ---- a task that gives no more than it must ---- */

static int32_t bare_target[64], beyond;

/* No starts; targets that are none where nothing is predicted, and `beyond` more elsewhere. */
static lh_status evaluate_bare(void *instance, lh_host_batch *out) {
    LH_TRY(pattern_class.evaluate_batch(instance, out));
    for (int64_t i = 0; i < out->rows * out->length; ++i)
        bare_target[i] = out->weights[i] > 0 ? out->target[i] + beyond : INT32_MIN;
    out->target = bare_target;
    out->starts = NULL;
    return LH_OK;
}

TEST(targets_are_read_where_they_count) {
    lh_task_class bare = pattern_class;
    bare.evaluate_batch = evaluate_bare;
    lh_context c;
    lh_session *session = NULL;
    REQUIRE_OK(any_session(&trigram_class, "", &bare, "segment=16 batch=1", train, 1, &session));
    beyond = 0;
    REQUIRE_OK(lh_session_context(session, 8, 1, &c));
    CHECK(c.count[LH_CONTEXT_POSITION][0] > 0 && isfinite(c.sum[LH_CONTEXT_POSITION][0]));
    beyond = TRIGRAM_VOCABULARY;
    CHECK_FAILS(lh_session_context(session, 8, 1, &c), LH_EOPTION, "is none of the 11 tokens");
    lh_session_destroy(session);
}

/* A token that the next segment repeats is read once: distances, and passages across segments, are
 * those of the document. */
TEST(segments_that_overlap_change_nothing) {
    static const char *const task[] = {"segment=8 batch=2", "segment=8 batch=2 overlap=1 past=true",
                                       "segment=8 batch=2 overlap=5 past=true"};
    lh_context found[3];
    for (int i = 0; i < 3; ++i) {
        lh_session *session = NULL;
        REQUIRE_OK(trigram_session("", task[i], train, 1, &session));
        REQUIRE_OK(lh_session_context(session, 8, 4, &found[i]));
        lh_session_destroy(session);
    }
    for (int i = 1; i < 3; ++i)
        for (int part = 0; part < LH_CONTEXT_PARTS; ++part)
            for (int k = 0; k < LH_CONTEXT_POINTS; ++k) {
                CHECK_EQ_INT(found[i].count[part][k], found[0].count[part][k]);
                CHECK_NEAR(found[i].sum[part][k], found[0].sum[part][k], 1e-4);
            }
    CHECK(found[0].count[LH_CONTEXT_KEPT][3] == 4 && found[0].count[LH_CONTEXT_RECALL][3] > 0);
}

/* Of recall every query counts once, at the distance to its pair: 2 to 2 pairs + 2 slots. */
TEST(queries_are_told_by_the_distance_of_their_fact) {
    lh_context c;
    lh_session *session = NULL;
    int64_t asked = 0;
    REQUIRE_OK(any_session(&trigram_class, "", lh_task_class_find("recall"),
                           "vocabulary=32 pairs=3 lengths=24 batch=4 evaluate_sequences=10", train,
                           1, &session));
    REQUIRE_OK(lh_session_context(session, 16, 4, &c));
    for (int k = 0; k < LH_CONTEXT_POINTS; ++k) {
        asked += c.count[LH_CONTEXT_RECALL][k];
        CHECK(c.count[LH_CONTEXT_RECALL][k] == 0 || (k >= 1 && k <= 4));
    }
    CHECK_EQ_INT(asked, 10 * 3);
    lh_session_destroy(session);
}

TEST(training_goes_on_undisturbed) {
    lh_session *one = NULL, *other = NULL;
    lh_context c;
    REQUIRE_OK(trigram_session("", "segment=8 batch=2", train, 1, &one));
    REQUIRE_OK(trigram_session("", "segment=8 batch=2", train, 1, &other));
    REQUIRE_OK(lh_session_context(one, 8, 4, &c));
    REQUIRE_OK(lh_session_train(one, NULL, NULL, NULL));
    REQUIRE_OK(lh_session_train(other, NULL, NULL, NULL));
    CHECK(same_values(one, other));
    lh_session_destroy(one);
    lh_session_destroy(other);
}

/* Sizes of memory are products of both. */
TEST(lengths_and_numbers_that_cannot_be_are_refused) {
    static const int64_t asked[][2] = {
        {12, 4}, {0, 4}, {16, 0}, {(int64_t)1 << 62, 4}, {(int64_t)1 << 31, (int64_t)1 << 18}};
    lh_context c;
    for (size_t i = 0; i < sizeof asked / sizeof *asked; ++i)
        CHECK_FAILS(measured("segment=8 batch=1", asked[i][0], asked[i][1], &c), LH_EOPTION,
                    "a power of 2 up to 2^31, and all together are at most 2^48");
}
