/* The tasks of this tree as a kind of classes. */
#include "harness/tasks/tasks.h"

#include <stddef.h>

static const lh_task_class *const task_table[] = {
#define LH_TASK(name) &lh_##name##_class,
#include "harness/tasks/tasks.def"
#undef LH_TASK
};

enum { TASKS = sizeof task_table / sizeof task_table[0] };

static const void *own(int index) {
    return index >= 0 && index < TASKS ? task_table[index] : NULL;
}

static bool complete(void *class) {
    lh_task_class *task = class;
    if (task->summary == NULL) task->summary = "";
    return task->options != NULL && task->instance_size > 0 && task->open != NULL &&
           task->close != NULL && task->shape != NULL && task->train_batch != NULL &&
           task->evaluate_begin != NULL && task->evaluate_batch != NULL &&
           task->cursor_get != NULL && task->cursor_set != NULL && task->describe != NULL &&
           task->digest != NULL;
}

const lh_plugin_kind lh_task_kind = {.noun = "task",
                                     .symbol = "lh_plugin_get_tasks",
                                     .abi_major = LH_TASK_ABI_MAJOR,
                                     .abi_minor = LH_TASK_ABI_MINOR,
                                     .least_size = offsetof(lh_task_class, digest) + sizeof(void *),
                                     .class_size = sizeof(lh_task_class),
                                     .own = own,
                                     .complete = complete};

const lh_task_class *lh_task_class_at(int index) {
    return lh_class_at(&lh_task_kind, index);
}

const lh_task_class *lh_task_class_find(const char *name) {
    return lh_class_find(&lh_task_kind, name);
}
