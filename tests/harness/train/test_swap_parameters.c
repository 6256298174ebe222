/* Training with parameters that rest in host memory is training, bit for bit, in a device memory
 * that does not grow with depth. */
#include <math.h>
#include <unistd.h>

#include "harness/engine/plugin.h"
#include "harness/tasks/tasks.h"
#include "harness/train/evaluate.h"
#include "harness/train/session_file.h"
#include "harness/train/session_inside.h"
#include "harness/train/step_timer.h"
#include "harness/train/trainer.h"
#include "tests/harness/trigram.h"
#include "tests/test.h"

#define TRAIN "steps=6 rate=0.02 warmup=2 factor_minimum=8 log_every=2 evaluate_every=3 "
#define SWAP  " swap_parameters=true"

static const char *const patterns = "segment=16 batch=3";

/* ---- what a run learns ---- */

enum { POINTS = 8 };

typedef struct journal {
    lh_progress seen[POINTS];
    int count;
    int64_t stop_at; /* 0: never */
} journal;

static lh_wish keep(void *context, const lh_progress *progress) {
    journal *j = context;
    if (CHECK(j->count < POINTS)) j->seen[j->count++] = *progress;
    return progress->step != j->stop_at ? LH_GO_ON : LH_STOP;
}

static bool same(double a, double b) {
    return !(a < b) && !(a > b) && isnan(a) == isnan(b);
}

/* Trains both to the end: losses, gradient norms, evaluations and weights. */
static void check_same(lh_session *plain, lh_session *swapped) {
    journal a = {.count = 0}, b = {.count = 0};
    REQUIRE_OK(lh_session_train(plain, NULL, keep, &a));
    REQUIRE_OK(lh_session_train(swapped, NULL, keep, &b));
    CHECK(a.count == b.count && a.count == 4);
    for (int i = 0; i < a.count; ++i) {
        CHECK(same(a.seen[i].loss_bits, b.seen[i].loss_bits));
        CHECK(same(a.seen[i].gradient_norm, b.seen[i].gradient_norm));
        CHECK(same(lh_metrics_get(&a.seen[i].valid, "bits_per_token"),
                   lh_metrics_get(&b.seen[i].valid, "bits_per_token")));
    }
    CHECK(a.seen[0].gradient_norm > 0 && lh_metrics_get(&a.seen[1].valid, "bits_per_token") > 0);
    CHECK(same_values(plain, swapped));
}

/* ---- the models that can ---- */

#define SIZES "layers=3 width=16 heads=2 positions=16 dropout=0.1 "

static lh_status open_reformer(const char *options, const char *train, lh_session **out) {
    char model[256];
    (void)snprintf(model, sizeof model, SIZES "%s", options);
    return pattern_session(lh_model_class_find("reformer"), model, patterns, train, 3, out);
}

static void check_reformer(const char *options, const char *optimizer) {
    char train[256], swap[300];
    lh_session *plain = NULL, *swapped = NULL;
    (void)snprintf(train, sizeof train, TRAIN "%s", optimizer);
    (void)snprintf(swap, sizeof swap, "%s" SWAP, train);
    REQUIRE_OK(open_reformer(options, train, &plain));
    REQUIRE_OK(open_reformer(options, swap, &swapped));
    check_same(plain, swapped);
    lh_session_destroy(plain);
    lh_session_destroy(swapped);
}

TEST(reformer_learns_the_same) {
    check_reformer("attention=lsh chunk=4 rounds=2", "optimizer=adafactor clip=0.5");
    check_reformer("attention=shared,local local_chunk=3 feed_forward_chunk=5", "optimizer=adam");
    check_reformer("attention=full,lsh chunk=4 eval_rounds=3 feed_forward_chunk=4",
                   "optimizer=adamw weight_decay=0.1 clip=0.1");
    check_reformer("attention=dot_product", "optimizer=sgd");
}

static lh_status open_translator(const char *options, const char *train, lh_session **out) {
    return any_session(
        lh_model_class_find("reformer_encoder_decoder"), options, lh_task_class_find("translation"),
        "pairs=60 evaluate_pairs=9 tokens=bytes batch_tokens=256 longer=6 beam=0", train, 5, out);
}

/* Of nine branches of the decoder one is left over, outside of the reversible blocks. */
TEST(encoder_and_decoder_learn_the_same) {
    static const char *const options[] = {"layers=3 width=16 heads=2 positions=256 dropout=0.1",
                                          "layers=2 width=16 heads=2 positions=256 shared=false"};
    for (int i = 0; i < 2; ++i) {
        lh_session *plain = NULL, *swapped = NULL;
        REQUIRE_OK(open_translator(options[i], TRAIN "optimizer=adam", &plain));
        REQUIRE_OK(open_translator(options[i], TRAIN "optimizer=adam" SWAP, &swapped));
        check_same(plain, swapped);
        lh_session_destroy(plain);
        lh_session_destroy(swapped);
    }
}

/* ---- memory ---- */

static lh_session *open_deep(int layers, const char *train) {
    char options[128];
    lh_session *session = NULL;
    (void)snprintf(options, sizeof options, "attention=shared layers=%d", layers);
    CHECK_OK(open_reformer(options, train, &session));
    return session;
}

typedef struct use {
    int64_t resting, peak, inference, allocations;
} use;

static use measure(int layers, const char *train) {
    use found = {0};
    lh_step_time time;
    lh_session *session = open_deep(layers, train);
    if (session == NULL) return found;
    CHECK_OK(lh_session_time_steps(&session, 1, 2, 3, &time));
    found.allocations = time.allocations_after_warmup;
    found.peak = time.peak_memory_bytes;
    found.resting = lh_pool_get_stats(session->pool).used_bytes;
    CHECK_OK(lh_session_inference_memory(session, &found.inference));
    lh_session_destroy(session);
    return found;
}

/* Exact bytes of the pool; and nothing is asked of the device once the sizes have been seen. */
TEST(device_memory_is_constant_in_depth) {
    const char *train = TRAIN "optimizer=adam clip=1" SWAP;
    const use two = measure(2, train), four = measure(4, train), twelve = measure(12, train);
    CHECK(two.peak > two.resting && two.resting > 0);
    CHECK_EQ_INT(four.peak, two.peak);
    CHECK_EQ_INT(twelve.peak, two.peak);
    CHECK_EQ_INT(twelve.resting, two.resting);
    CHECK_EQ_INT(twelve.inference, two.inference);
    CHECK_EQ_INT(twelve.allocations, 0);
}

/* What a plain run holds and this one does not, at its peak: values, gradients and two moments of
 * all that swaps, but for the values and gradients of one group, and moments of what stays. */
TEST(what_leaves_the_device_is_counted) {
    const use plain = measure(12, TRAIN "optimizer=adam"),
              swapped = measure(12, TRAIN "optimizer=adam" SWAP);
    lh_session *session = open_deep(12, TRAIN "optimizer=adam" SWAP);
    REQUIRE(session != NULL);
    const int64_t all = lh_tensor_count(lh_params_values(session->model->params));
    const int64_t stays = lh_swap_resting_bytes(session->swap) / (int64_t)sizeof(real);
    const int64_t most = 2 * 16 * 64 + 64 + 3 * 16; /* of a feed-forward network; whole lines */
    const int64_t less = (4 * (all - stays) + 2 * stays - 2 * most) * (int64_t)sizeof(real);
    test_check(llabs(plain.peak - swapped.peak - less) < 16 * 256, __FILE__, __LINE__,
               "%lld bytes less, %lld expected", (long long)(plain.peak - swapped.peak),
               (long long)less);
    lh_session_destroy(session);
}

/* ---- a run that goes on ---- */

/* Checkpoints and weights do not tell where parameters were. */
TEST(a_checkpoint_goes_on_with_swapping_or_without) {
    static const char *const trains[] = {TRAIN "clip=1", TRAIN "clip=1" SWAP};
    const char *options = "attention=lsh chunk=4";
    char path[64];
    (void)snprintf(path, sizeof path, "/tmp/longhaul-test-swap-%ld", (long)getpid());
    for (int swaps = 0; swaps < 2; ++swaps) {
        lh_session *whole = NULL, *first = NULL, *second = NULL, *third = NULL;
        journal stopped = {.stop_at = 3}, rest = {.count = 0};
        lh_metrics a, b;
        REQUIRE_OK(open_reformer(options, trains[0], &whole));
        REQUIRE_OK(open_reformer(options, trains[swaps], &first));
        REQUIRE_OK(open_reformer(options, trains[1 - swaps], &second));
        REQUIRE_OK(lh_session_train(whole, NULL, NULL, NULL));
        CHECK_STATUS(lh_session_train(first, path, keep, &stopped), LH_EINTERRUPT);
        REQUIRE_OK(lh_session_restore(second, path));
        REQUIRE_OK(lh_session_train(second, NULL, keep, &rest));
        CHECK(same_values(whole, second) && !same_values(whole, first));
        REQUIRE_OK(lh_session_save_weights(second, path, false, NULL));
        REQUIRE_OK(open_reformer(options, trains[swaps], &third));
        REQUIRE_OK(lh_session_load_weights(second, path, false));
        REQUIRE_OK(lh_session_load_weights(third, path, false));
        REQUIRE_OK(lh_session_evaluate(second, LH_TEST, &a));
        REQUIRE_OK(lh_session_evaluate(third, LH_TEST, &b));
        CHECK(lh_metrics_get(&a, "bits_per_token") > 0);
        CHECK(same(lh_metrics_get(&a, "bits_per_token"), lh_metrics_get(&b, "bits_per_token")));
        lh_session_destroy(whole);
        lh_session_destroy(first);
        lh_session_destroy(second);
        lh_session_destroy(third);
    }
    unlink(path);
}

TEST(models_without_regions_are_refused) {
    lh_session *session = NULL;
    CHECK_FAILS(open_reformer("residual=plain", TRAIN SWAP, &session), LH_EOPTION,
                "residual = reversible");
    CHECK_FAILS(trigram_session("width=8", "", TRAIN SWAP, 1, &session), LH_EOPTION,
                "no layer of trigram");
}
