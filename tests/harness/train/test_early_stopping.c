#include "harness/train/early_stopping.h"

#include <math.h>

#include "tests/test.h"

TEST(by_loss_only_a_lower_one_is_better) {
    static const double loss[] = {3.0, 2.0, 2.0, 2.5, 1.0, NAN};
    static const bool best[] = {true, true, false, false, true, false};
    static const int64_t stale[] = {0, 0, 1, 2, 0, 1};
    lh_evaluations seen = lh_evaluations_begin();
    for (int i = 0; i < 6; ++i) {
        CHECK_EQ_INT(lh_evaluations_add(&seen, LH_KEEP_LOSS, loss[i], i), best[i]);
        CHECK_EQ_INT(seen.stale, stale[i]);
    }
    CHECK_NEAR(seen.least_loss, 1.0, 0);
}

/* The best is that of the highest accuracy; a lower loss shows that learning goes on. */
TEST(by_accuracy_a_lower_loss_ends_staleness) {
    static const double loss[] = {3.0, 3.5, 3.5, 2.0, 2.5, 2.5},
                        accuracy[] = {0.5, 0.6, 0.6, 0.1, 0.2, 0.7};
    static const bool best[] = {true, true, false, false, false, true};
    static const int64_t stale[] = {0, 0, 1, 0, 1, 0};
    lh_evaluations seen = lh_evaluations_begin();
    for (int i = 0; i < 6; ++i) {
        CHECK_EQ_INT(lh_evaluations_add(&seen, LH_KEEP_ACCURACY, loss[i], accuracy[i]), best[i]);
        CHECK_EQ_INT(seen.stale, stale[i]);
    }
}

TEST(a_task_without_accuracy_is_never_best_by_it) {
    lh_evaluations seen = lh_evaluations_begin();
    CHECK(!lh_evaluations_add(&seen, LH_KEEP_ACCURACY, 1.0, NAN));
    CHECK_EQ_INT(seen.stale, 0);
    CHECK(lh_evaluations_add(&seen, LH_KEEP_LAST, 0.5, NAN));
}
