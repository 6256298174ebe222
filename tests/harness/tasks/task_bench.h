/* A task with its data open, and its batches. Include after tests/test.h. */
#ifndef LH_TESTS_TASK_BENCH_H
#define LH_TESTS_TASK_BENCH_H

#include "harness/tasks/tasks.h"

typedef struct task_bench {
    lh_model_setup setup;
    lh_task *task;
} task_bench;

/* Options are parsed one text after the other. */
static inline lh_status make_task(task_bench *f, const char *name, const char *options,
                                  const char *more, uint64_t seed) {
    const lh_task_class *class = lh_task_class_find(name);
    lh_options *parsed = NULL;
    *f = (task_bench){0};
    if (class == NULL) return lh_failed();
    LH_TRY(lh_options_create(name, class->options, &parsed));
    lh_status status = lh_options_parse(parsed, options);
    if (status == LH_OK) status = lh_options_parse(parsed, more);
    if (status == LH_OK) status = lh_task_create(class, parsed, seed, &f->setup, &f->task);
    lh_options_destroy(parsed);
    return status;
}

static inline bool open_task(task_bench *f, const char *name, const char *options, const char *more,
                             uint64_t seed) {
    return CHECK_OK(make_task(f, name, options, more, seed));
}

static inline void close_task(task_bench *f) {
    lh_task_destroy(f->task);
}

static inline lh_status next_batch(task_bench *f, lh_host_batch *out) {
    return f->task->class->train_batch(f->task->instance, out);
}

/* How many predictions a batch has. */
static inline double weight_of(const lh_host_batch *batch) {
    double sum = 0;
    for (int64_t i = 0; i < batch->rows * batch->length; ++i)
        sum += (double)batch->weights[i];
    return sum;
}

#endif
