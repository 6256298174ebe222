/* The tasks of this tree, each of which is a line of tasks.def. */
#ifndef LH_TASKS_TASKS_H
#define LH_TASKS_TASKS_H

#include "harness/train/task.h"

#define LH_TASK(name) extern const lh_task_class lh_##name##_class;
#include "harness/tasks/tasks.def"
#undef LH_TASK

/* NULL past the end. */
const lh_task_class *lh_task_class_at(int index);

/* NULL plus LH_EOPTION with the nearest name when unknown. */
const lh_task_class *lh_task_class_find(const char *name);

#endif
