#include "harness/train/task.h"

#include "harness/train/defect.h"
#include "harness/train/forecasting.h"
#include "harness/train/language_model.h"
#include "harness/train/regular_language.h"
#include "harness/train/sequences.h"
#include "harness/train/simulated_network.h"
#include "harness/train/tracking.h"
#include "harness/train/translation.h"

#include <stdlib.h>
#include <string.h>

static const lh_task_class *const task_table[] = {
    &lh_language_model_class,    &lh_random_walk_class,
    &lh_algorithm_class,         &lh_duplication_class,
    &lh_imagenet64_class,        &lh_regular_language_class,
    &lh_simulated_network_class, &lh_forecasting_class,
    &lh_translation_class,       &lh_defect_class,
};

enum { TASKS = sizeof task_table / sizeof task_table[0] };

const lh_task_class *lh_task_class_at(int index) {
    return index >= 0 && index < TASKS ? task_table[index] : NULL;
}

const lh_task_class *lh_task_class_find(const char *name) {
    const char *names[TASKS + 1] = {NULL};
    for (int i = 0; i < TASKS; ++i) {
        const lh_task_class *class = lh_task_class_at(i);
        if (strcmp(class->name, name) == 0) return class;
        names[i] = class->name;
    }
    const char *near = lh_nearest_name(name, names);
    lh_fail(LH_EOPTION, "unknown task '%s'%s%s%s", name, near ? " (did you mean '" : "",
            near ? near : "", near ? "'?)" : "");
    return NULL;
}

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
