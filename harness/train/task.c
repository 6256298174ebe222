/* A task's class, its options and its open data as one thing. */
#include "harness/train/task.h"

#include <stdlib.h>

static lh_status open_task(lh_task *task, const lh_options *options, uint64_t seed,
                           lh_model_setup *setup) {
    LH_TRY(lh_options_copy(options, &task->options));
    task->instance = lh_allocate_zeroed(1, task->class->instance_size);
    if (task->instance == NULL) return LH_EMEMORY;
    lh_options_fill(task->options, task->instance);
    return task->class->open(task->instance, seed, setup);
}

lh_status lh_task_create(const lh_task_class *class, const lh_options *options, uint64_t seed,
                         lh_model_setup *setup, lh_task **out) {
    *out = NULL;
    lh_task *task = lh_allocate_zeroed(1, sizeof *task);
    if (task == NULL) return LH_EMEMORY;
    task->class = class;
    const lh_status status = open_task(task, options, seed, setup);
    if (status != LH_OK) {
        lh_note("task %s", class->name);
        lh_task_destroy(task);
        return status;
    }
    *out = task;
    return LH_OK;
}

void lh_task_destroy(lh_task *task) {
    if (task == NULL) return;
    if (task->instance != NULL) task->class->close(task->instance);
    free(task->instance);
    lh_options_destroy(task->options);
    free(task);
}

lh_status lh_task_describe(const lh_task *task, char **data, char **remark) {
    const lh_task_class *class = task->class;
    *remark = NULL;
    *data = class->describe(task->instance);
    lh_status status = *data != NULL ? LH_OK : lh_failed();
    if (status == LH_OK && class->remark != NULL) status = class->remark(task->instance, remark);
    if (status == LH_OK) return LH_OK;
    free(*data);
    *data = NULL;
    return status;
}

bool lh_is_count(int64_t word) {
    return word >= 0 && word < (int64_t)1 << 44; /* 65536 rows of so many are no overflow */
}

void lh_task_mark(const lh_task *task, lh_task_place *out) {
    out->words = task->class->cursor_get(task->instance, out->cursor);
}

lh_status lh_task_return(const lh_task *task, const lh_task_place *place, lh_status done) {
    const lh_status back = task->class->cursor_set(task->instance, place->cursor, place->words);
    return done != LH_OK ? done : back;
}
