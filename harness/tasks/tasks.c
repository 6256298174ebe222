/* The tasks of this tree by number and by name. */
#include "harness/tasks/tasks.h"

#include "harness/engine/nearest_name.h"

#include <string.h>

static const lh_task_class *const task_table[] = {
#define LH_TASK(name) &lh_##name##_class,
#include "harness/tasks/tasks.def"
#undef LH_TASK
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
    (void)lh_fail(LH_EOPTION, "unknown task '%s'%s", name, lh_did_you_mean(name, names));
    return NULL;
}
