/* Which evaluations are better than those before them. */
#include "harness/train/early_stopping.h"

#include <math.h>

#include "tests/test.h"

static const lh_keep_rule by_loss = {false, false}, by_highest = {true, true},
                          by_least = {true, false};

TEST(by_loss_only_a_lower_one_is_better) {
    static const double loss[] = {3.0, 2.0, 2.0, 2.5, 1.0, NAN};
    static const bool best[] = {true, true, false, false, true, false};
    static const int64_t stale[] = {0, 0, 1, 2, 0, 1};
    lh_evaluations seen = lh_evaluations_begin(by_loss);
    for (int i = 0; i < 6; ++i) {
        CHECK_EQ_INT(lh_evaluations_add(&seen, by_loss, loss[i], -i), best[i]);
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
    lh_evaluations seen = lh_evaluations_begin(by_highest);
    for (int i = 0; i < 6; ++i) {
        CHECK_EQ_INT(lh_evaluations_add(&seen, by_highest, loss[i], accuracy[i]), best[i]);
        CHECK_EQ_INT(seen.stale, stale[i]);
    }
    CHECK_NEAR(seen.best_metric, 0.7, 0);
}

TEST(of_an_error_the_least_is_the_best) {
    static const double error[] = {40.0, 50.0, 30.0, 30.0, -1.0};
    static const bool best[] = {true, false, true, false, true};
    static const int64_t stale[] = {0, 1, 0, 1, 0};
    lh_evaluations seen = lh_evaluations_begin(by_least);
    for (int i = 0; i < 5; ++i) {
        CHECK_EQ_INT(lh_evaluations_add(&seen, by_least, i == 0 ? 1.0 : 2.0, error[i]), best[i]);
        CHECK_EQ_INT(seen.stale, stale[i]);
    }
    CHECK_NEAR(seen.best_metric, -1.0, 0);
}

TEST(what_is_not_a_number_is_never_best) {
    lh_evaluations seen = lh_evaluations_begin(by_highest);
    CHECK(!lh_evaluations_add(&seen, by_highest, 1.0, NAN));
    CHECK_EQ_INT(seen.stale, 0);
    CHECK(lh_evaluations_add(&seen, by_loss, 0.5, NAN));
}
