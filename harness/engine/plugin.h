/* Models outside the tree: shared objects found on a search path; for the engine's own files. */
#ifndef LH_ENGINE_PLUGIN_H
#define LH_ENGINE_PLUGIN_H

#include "harness/engine/model.h"

/* Class `index` among those that plug-ins brought, NULL past the end. */
const lh_model_class *lh_plugin_class_at(int index);

#endif
