/* The task of following a simulated network: what is trained on and what is scored. */
#include "harness/train/session.h"

#include "harness/engine/plugin.h"
#include "harness/tasks/tasks.h"
#include "harness/train/evaluate.h"
#include "harness/train/train_options.h"
#include "harness/train/trainer.h"
#include "tests/test.h"

static bool open_session(lh_session **session, const char *model, const char *model_options,
                         const char *train_options) {
    const lh_model_class *class = lh_model_class_find(model);
    const lh_task_class *task = lh_task_class_find("simulated_network");
    lh_options *own = NULL, *asked = NULL, *train = NULL;
    const bool good = CHECK_OK(lh_options_create(model, class->options, &own)) &&
                      CHECK_OK(lh_options_parse(own, model_options)) &&
                      CHECK_OK(lh_options_create(task->name, task->options, &asked)) &&
                      CHECK_OK(lh_options_parse(asked, "alpha=0 segments=20 length=30")) &&
                      CHECK_OK(lh_options_create("train", lh_train_options, &train)) &&
                      CHECK_OK(lh_options_parse(train, train_options));
    const lh_session_spec spec = {.model = class,
                                  .model_options = own,
                                  .task = task,
                                  .task_options = asked,
                                  .train_options = train,
                                  .seed = 2,
                                  .device = "cpu"};
    const bool opened = good && CHECK_OK(lh_session_create(&spec, session));
    lh_options_destroy(own);
    lh_options_destroy(asked);
    lh_options_destroy(train);
    return opened;
}

TEST(the_last_step_of_a_segment_is_scored_and_not_trained_on) {
    lh_session *session = NULL;
    lh_host_batch train, test;
    REQUIRE(open_session(&session, "rnn", "layers=1 hidden=2", "steps=0"));
    const lh_task *task = lh_session_task(session);
    REQUIRE_OK(task->class->train_batch(task->instance, &train));
    REQUIRE_OK(task->class->evaluate_begin(task->instance, LH_TEST));
    REQUIRE_OK(task->class->evaluate_batch(task->instance, &test));
    REQUIRE(train.rows == 20 && train.length == 30 && test.rows == 20);
    for (int64_t i = 0; i < 20 * 30 * 2; ++i)
        if (i % 60 >= 58) {
            CHECK((double)train.weights[i] == 0 && (double)test.weights[i] == 1);
        } else if ((double)train.weights[i] != 1 || (double)test.weights[i] != 0) {
            CHECK(false);
            break;
        }
    REQUIRE_OK(task->class->evaluate_batch(task->instance, &test));
    CHECK_EQ_INT(test.rows, 0);
    lh_session_destroy(session);
}

/* The network is linear here: a linear RNN and RSA explain nearly all that is not error. */
static void check_fit(const char *model, const char *options) {
    lh_session *session = NULL;
    lh_metrics before, after;
    REQUIRE(open_session(&session, model, options,
                         "optimizer=adam rate=0.03 schedule=cosine warmup=0 steps=250"));
    REQUIRE_OK(lh_session_evaluate(session, LH_TEST, &before));
    REQUIRE_OK(lh_session_train(session, NULL, NULL, NULL));
    REQUIRE_OK(lh_session_evaluate(session, LH_TEST, &after));
    CHECK_NEAR(lh_metrics_get(&after, "predicted_values"), 40, 0);
    test_check(lh_metrics_get(&after, "mse") < 0.05 * lh_metrics_get(&before, "mse"), __FILE__,
               __LINE__, "%s: %g before, %g after training", model, lh_metrics_get(&before, "mse"),
               lh_metrics_get(&after, "mse"));
    lh_session_destroy(session);
}

TEST(linear_models_follow_a_linear_network) {
    check_fit("rnn", "layers=2 hidden=2 activation=linear");
    check_fit("rsa", "rsa_kinds=2,1,1,0,0,0");
}
