/* The tasks that there are: those of this tree, each of which is a line of tasks.def, and those of
 * plug-ins, by lh_plugin_get_tasks. */
#ifndef LH_TASKS_TASKS_H
#define LH_TASKS_TASKS_H

#include "harness/engine/plugin.h"
#include "harness/train/task.h"

#define LH_TASK(name) extern const lh_task_class lh_##name##_class;
#include "harness/tasks/tasks.def"
#undef LH_TASK

extern const lh_plugin_kind lh_task_kind;

/* NULL past the end. */
const lh_task_class *lh_task_class_at(int index);

/* NULL plus LH_EOPTION with the nearest name when unknown. */
const lh_task_class *lh_task_class_find(const char *name);

#endif
