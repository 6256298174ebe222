/* Learning rates against their formulas, step by step. */
#include "harness/train/train_options.h"

#include "tests/test.h"

static const lh_schedule paper = {.kind = LH_SCHEDULE_RSQRT, .rate = 1.0, .warmup = 1000};

/* The values that the Block-Recurrent Transformer's schedule takes. */
TEST(rsqrt_has_the_papers_values) {
    CHECK_NEAR(lh_schedule_rate(&paper, 0), 0.0, 0.0);
    CHECK_NEAR(lh_schedule_rate(&paper, 500), 0.5 / sqrt(1000.0), 1e-15);
    CHECK_NEAR(lh_schedule_rate(&paper, 1000), 0.0316228, 1e-7);
    CHECK_NEAR(lh_schedule_rate(&paper, 10000), 0.01, 1e-12);
    CHECK_NEAR(lh_schedule_rate(&paper, 500000), 0.00141421, 1e-8);
}

TEST(rsqrt_without_warmup_is_finite_at_the_first_step) {
    lh_schedule schedule = paper;
    schedule.warmup = 0;
    CHECK_NEAR(lh_schedule_rate(&schedule, 0), 1.0, 0.0);
    CHECK_NEAR(lh_schedule_rate(&schedule, 4), 0.5, 1e-15);
}

TEST(constant_warms_up_and_stays) {
    const lh_schedule schedule = {.kind = LH_SCHEDULE_CONSTANT, .rate = 0.2, .warmup = 4};
    CHECK_NEAR(lh_schedule_rate(&schedule, 0), 0.0, 0.0);
    CHECK_NEAR(lh_schedule_rate(&schedule, 1), 0.05, 1e-15);
    CHECK_NEAR(lh_schedule_rate(&schedule, 4), 0.2, 1e-15);
    CHECK_NEAR(lh_schedule_rate(&schedule, 1000000), 0.2, 1e-15);
}

TEST(linear_falls_to_the_final_rate) {
    const lh_schedule schedule = {
        .kind = LH_SCHEDULE_LINEAR, .rate = 1.0, .final_rate = 0.2, .warmup = 10, .steps = 50};
    CHECK_NEAR(lh_schedule_rate(&schedule, 5), 0.5, 1e-15);
    CHECK_NEAR(lh_schedule_rate(&schedule, 10), 1.0, 1e-15);
    CHECK_NEAR(lh_schedule_rate(&schedule, 20), 0.8, 1e-15);
    CHECK_NEAR(lh_schedule_rate(&schedule, 50), 0.2, 1e-15);
    CHECK_NEAR(lh_schedule_rate(&schedule, 80), 0.2, 1e-15);
}

TEST(cosine_falls_to_the_final_rate) {
    const lh_schedule schedule = {
        .kind = LH_SCHEDULE_COSINE, .rate = 0.01, .final_rate = 0.001, .warmup = 0, .steps = 100};
    CHECK_NEAR(lh_schedule_rate(&schedule, 0), 0.01, 1e-15);
    CHECK_NEAR(lh_schedule_rate(&schedule, 50), 0.0055, 1e-15);
    CHECK_NEAR(lh_schedule_rate(&schedule, 25), 0.001 + 0.009 * (0.5 + sqrt(0.125)), 1e-15);
    CHECK_NEAR(lh_schedule_rate(&schedule, 100), 0.001, 1e-15);
}

TEST(step_drops_by_its_factor) {
    const lh_schedule schedule = {
        .kind = LH_SCHEDULE_STEP, .rate = 0.8, .step_factor = 0.5, .step_every = 10, .warmup = 2};
    CHECK_NEAR(lh_schedule_rate(&schedule, 1), 0.4, 1e-15);
    CHECK_NEAR(lh_schedule_rate(&schedule, 9), 0.8, 1e-15);
    CHECK_NEAR(lh_schedule_rate(&schedule, 10), 0.4, 1e-15);
    CHECK_NEAR(lh_schedule_rate(&schedule, 35), 0.1, 1e-15);
}

/* A warm-up that is longer than the run must not divide by zero or overshoot. */
TEST(warmup_may_outlast_the_run) {
    for (int kind = LH_SCHEDULE_CONSTANT; kind <= LH_SCHEDULE_DELAYED_STEP; ++kind) {
        const lh_schedule schedule = {.kind = (lh_schedule_kind)kind,
                                      .rate = 1.0,
                                      .step_factor = 0.5,
                                      .step_every = 100,
                                      .warmup = 100,
                                      .steps = 100};
        const double before = lh_schedule_rate(&schedule, 99);
        CHECK(before > 0.0 && before <= 1.0);
        CHECK(isfinite(lh_schedule_rate(&schedule, 100)));
    }
}

/* Informer: 1e-4 in the first two epochs, then halved after each. */
TEST(delayed_steps_begin_with_two_at_the_full_rate) {
    const lh_schedule schedule = {
        .kind = LH_SCHEDULE_DELAYED_STEP, .rate = 1e-4, .step_factor = 0.5, .step_every = 10};
    static const double rates[] = {1e-4, 1e-4, 5e-5, 2.5e-5, 1.25e-5, 6.25e-6};
    for (int epoch = 0; epoch < 6; ++epoch)
        for (int step = 0; step < 10; step += 9)
            CHECK_NEAR(lh_schedule_rate(&schedule, 10 * epoch + step), rates[epoch], 1e-18);
}

/* Whose rates a longer run would change. */
TEST(schedules_that_end_with_the_run) {
    static const bool ends[] = {[LH_SCHEDULE_LINEAR] = true, [LH_SCHEDULE_COSINE] = true};
    for (int kind = LH_SCHEDULE_CONSTANT; kind <= LH_SCHEDULE_DELAYED_STEP; ++kind) {
        lh_schedule shorter = {.kind = (lh_schedule_kind)kind,
                               .rate = 1,
                               .steps = 100,
                               .step_every = 10,
                               .step_factor = 0.5};
        lh_schedule longer = shorter;
        longer.steps = 200;
        const bool changes = lh_schedule_rate(&shorter, 50) != lh_schedule_rate(&longer, 50);
        CHECK_EQ_INT(changes, kind < 4 && ends[kind]);
        CHECK_EQ_INT(lh_schedule_uses_steps(&shorter), changes);
    }
}

static lh_status read_schedule(const char *text, lh_schedule *out) {
    lh_options *options = NULL;
    lh_train_plan plan = {0};
    LH_TRY(lh_options_create("train", lh_train_options, &options));
    lh_status status = lh_options_parse(options, text);
    if (status == LH_OK) status = lh_train_plan_read(options, &plan);
    lh_options_destroy(options);
    *out = plan.schedule;
    return status;
}

TEST(a_held_warm_up_ends_before_the_decay) {
    lh_schedule schedule = {0};
    CHECK_FAILS(
        read_schedule("steps=10 warmup=10 schedule=linear decay_from=start_held", &schedule),
        LH_EOPTION, "warmup=10 leaves none of 10 steps");
    CHECK_FAILS(
        read_schedule("steps=10 warmup=11 schedule=cosine decay_from=start_held", &schedule),
        LH_EOPTION, "warmup=11 leaves none of 10 steps");
    static const char *const good[] = {"steps=10 warmup=9 schedule=linear decay_from=start_held",
                                       "steps=0 warmup=10 schedule=cosine decay_from=start_held",
                                       "steps=10 warmup=10 schedule=rsqrt decay_from=start_held",
                                       "steps=10 warmup=10 schedule=linear decay_from=start"};
    for (size_t i = 0; i < sizeof good / sizeof *good; ++i)
        CHECK_OK(read_schedule(good[i], &schedule));
}

/* What the trainers of the releases set, step by step (tests/oracles/schedule.py). */
TEST(schedules_equal_those_of_the_releases) {
    enum { LINE = 256, ROWS = 4 * 2 * 40 };
    FILE *file = fopen("tests/golden/schedule.csv", "r");
    char line[LINE];
    int compared = 0;
    REQUIRE(file != NULL);
    REQUIRE(fgets(line, sizeof line, file) != NULL);
    while (fgets(line, sizeof line, file) != NULL) {
        char *rest = strchr(line, ',');
        lh_schedule schedule = {0};
        int step = 0;
        double rate = 0;
        REQUIRE(rest != NULL);
        *rest = '\0';
        REQUIRE(sscanf(rest + 1, "%d,%lf", &step, &rate) == 2);
        REQUIRE(CHECK_OK(read_schedule(line, &schedule)));
        test_check(fabs(lh_schedule_rate(&schedule, step) - rate) < 1e-16, __FILE__, __LINE__,
                   "%s: step %d has the rate %.17g, the oracle says %.17g", line, step,
                   lh_schedule_rate(&schedule, step), rate);
        compared += 1;
    }
    (void)fclose(file);
    CHECK_EQ_INT(compared, ROWS);
}
