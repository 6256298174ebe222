-- A task on tokens that alternate, its test, and its line in the list.
return {
  says = "what is predicted and scored, its test, and its line in the list",
  files = { { "harness/tasks/NAME.c", [==[
/* NAME: what is predicted from what, and how it is scored. */
#include "harness/tasks/tasks.h"

#include <stdlib.h>

typedef struct NAME_task {
    int64_t rows, length, position, left;
    int32_t *tokens, *target, *starts;
} NAME_task;

static const lh_option NAME_task_options[] = {
    LH_INTEGER("batch", NAME_task, rows, 8, 1, 65536, "rows of a training batch"),
    LH_INTEGER("length", NAME_task, length, 64, 1, 1048576, "tokens of a row"),
    {0}};

static const lh_option_table options[] = {LH_OWN_TABLE(NAME_task), {0}};

static lh_status open_task(void *instance, uint64_t seed, lh_model_setup *setup) {
    NAME_task *task = instance;
    (void)seed;
    setup->vocabulary = 2;
    const size_t count = (size_t)(task->rows * task->length);
    task->tokens = lh_allocate_zeroed(count, sizeof *task->tokens);
    task->target = lh_allocate_zeroed(count, sizeof *task->target);
    task->starts = lh_allocate_zeroed((size_t)task->rows, sizeof *task->starts);
    return task->tokens && task->target && task->starts ? LH_OK : LH_EMEMORY;
}

static void close_task(void *instance) {
    NAME_task *task = instance;
    free(task->tokens);
    free(task->target);
    free(task->starts);
}

static void shape(const void *instance, int64_t *rows, int64_t *length) {
    const NAME_task *task = instance;
    *rows = task->rows;
    *length = task->length;
}

/* Alternating tokens, each predicting the next: replace this by the task. */
static void fill(NAME_task *task, lh_host_batch *out) {
    for (int64_t i = 0; i < task->rows * task->length; ++i) {
        task->tokens[i] = (int32_t)(i % 2);
        task->target[i] = (int32_t)((i + 1) % 2);
    }
    for (int64_t r = 0; r < task->rows; ++r)
        task->starts[r] = 1;
    *out = (lh_host_batch){.rows = task->rows,
                           .length = task->length,
                           .tokens = task->tokens,
                           .target = task->target,
                           .starts = task->starts};
}

static lh_status train_batch(void *instance, lh_host_batch *out) {
    NAME_task *task = instance;
    fill(task, out);
    task->position += 1;
    return LH_OK;
}

static lh_status evaluate_begin(void *instance, lh_split split) {
    NAME_task *task = instance;
    (void)split;
    task->left = 4;
    return LH_OK;
}

static lh_status evaluate_batch(void *instance, lh_host_batch *out) {
    NAME_task *task = instance;
    *out = (lh_host_batch){0};
    if (task->left-- > 0) fill(task, out);
    return LH_OK;
}

static int cursor_get(const void *instance, int64_t *words) {
    words[0] = ((const NAME_task *)instance)->position;
    return 1;
}

static lh_status cursor_set(void *instance, const int64_t *words, int count) {
    if (count != 1 || !lh_is_count(words[0]))
        return lh_fail(LH_EFORMAT, "NAME: no position of a stream (%d numbers)", count);
    ((NAME_task *)instance)->position = words[0];
    return LH_OK;
}

static char *describe(const void *instance) {
    (void)instance;
    return lh_duplicate_text("NAME (generated)");
}

/* Another number where the data changes. */
static uint64_t digest(const void *instance) {
    (void)instance;
    return 1;
}

const lh_task_class lh_NAME_class = {
    .name = "NAME",
    .summary = "one line",
    .options = options,
    .kind = {.vocabulary = 2},
    .lacks = LH_HAS_NO_TEXT,
    .instance_size = sizeof(NAME_task),
    .open = open_task,
    .close = close_task,
    .shape = shape,
    .train_batch = train_batch,
    .evaluate_begin = evaluate_begin,
    .evaluate_batch = evaluate_batch,
    .cursor_get = cursor_get,
    .cursor_set = cursor_set,
    .describe = describe,
    .digest = digest,
};
]==] }, { "tests/harness/tasks/test_NAME.c", [==[
/* The task NAME: what a batch holds, and that a stream goes on from its cursor. */
#include "harness/tasks/tasks.h"

#include "tests/test.h"

static lh_task *open_task(const char *text) {
    lh_options *options = NULL;
    lh_task *task = NULL;
    lh_model_setup setup = {0};
    CHECK_OK(lh_options_create("NAME", lh_NAME_class.options, &options));
    CHECK_OK(lh_options_parse(options, text));
    CHECK_OK(lh_task_create(&lh_NAME_class, options, 1, &setup, &task));
    lh_options_destroy(options);
    return task;
}

TEST(batches_have_the_promised_shape) {
    lh_task *task = open_task("batch=2 length=5");
    REQUIRE(task != NULL);
    int64_t rows = 0, length = 0;
    lh_host_batch batch;
    task->class->shape(task->instance, &rows, &length);
    REQUIRE_OK(task->class->train_batch(task->instance, &batch));
    CHECK(batch.rows == rows && batch.length == length && rows == 2 && length == 5);
    lh_task_destroy(task);
}

TEST(a_stream_goes_on_from_its_cursor) {
    lh_task *task = open_task("batch=2 length=5"), *again = open_task("batch=2 length=5");
    REQUIRE(task != NULL && again != NULL);
    int64_t words[LH_CURSOR_WORDS];
    lh_host_batch batch, same;
    REQUIRE_OK(task->class->train_batch(task->instance, &batch));
    const int count = task->class->cursor_get(task->instance, words);
    REQUIRE_OK(again->class->cursor_set(again->instance, words, count));
    REQUIRE_OK(task->class->train_batch(task->instance, &batch));
    REQUIRE_OK(again->class->train_batch(again->instance, &same));
    for (int64_t i = 0; i < batch.rows * batch.length; ++i)
        CHECK(batch.tokens[i] == same.tokens[i] && batch.target[i] == same.target[i]);
    lh_task_destroy(task);
    lh_task_destroy(again);
}
]==] } },
  lines = { { "harness/tasks/tasks.def", "LH_TASK(NAME)" } },
  next = "make; build/longhaul lua scripts/annotate.lua",
}
