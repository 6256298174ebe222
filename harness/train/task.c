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

static const lh_task_class *random_walk(void) {
    return &lh_random_walk_class;
}

static const lh_task_class *algorithm(void) {
    return &lh_algorithm_class;
}

static const lh_task_class *duplication(void) {
    return &lh_duplication_class;
}

static const lh_task_class *imagenet64(void) {
    return &lh_imagenet64_class;
}

static const lh_task_class *defect(void) {
    return &lh_defect_class;
}

/* The in-tree tasks; a class may have to compose its option table before it can be shown. */
static const lh_task_class *(*const task_table[])(void) = {
    lh_language_model_class,
    random_walk,
    algorithm,
    duplication,
    imagenet64,
    lh_regular_language_class,
    lh_simulated_network_class,
    lh_forecasting_class,
    lh_translation_class,
    defect,
};

enum { TASKS = sizeof task_table / sizeof task_table[0] };

const lh_task_class *lh_task_class_at(int index) {
    return index >= 0 && index < TASKS ? task_table[index]() : NULL;
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

lh_status lh_task_create(const lh_task_class *class, const lh_options *options, uint64_t seed,
                         lh_model_setup *setup, lh_task **out) {
    *out = NULL;
    lh_task *task = lh_allocate_zeroed(1, sizeof *task);
    if (task == NULL) return LH_EMEMORY;
    task->class = class;
    task->instance = lh_allocate_zeroed(1, class->instance_size);
    lh_status status = task->instance != NULL ? LH_OK : LH_EMEMORY;
    if (status == LH_OK) status = class->open(task->instance, options, seed, setup);
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
    free(task);
}
