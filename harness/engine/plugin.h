/* The models that there are, by name: those of this tree, and those of plug-ins, shared objects
 * found on a search path. */
#ifndef LH_ENGINE_PLUGIN_H
#define LH_ENGINE_PLUGIN_H

#include "harness/engine/model.h"

/* The models of this tree; models/models.def lists them. NULL-terminated. */
extern const lh_model_class *const lh_model_table[];

/* In-tree table, then plug-ins. NULL plus LH_EOPTION with the nearest name when unknown. */
const lh_model_class *lh_model_class_find(const char *name);
const lh_model_class *lh_model_class_at(int index); /* NULL past the end */

/* Hears why a plug-in, which the message names, is left out. */
typedef void lh_plugin_skipped(void *context, const char *message);

/* Loads every *.so on the colon-separated path (NULL: $LONGHAUL_PLUGINS, nothing when unset).
 * Plug-ins are never unloaded. A class is copied with the size that its plug-in was built with:
 * what was appended since is NULL or 0. What cannot be loaded (another ABI, a name that is taken)
 * is told and skipped. */
void lh_plugins_load(const char *path, lh_plugin_skipped *skipped, void *context);

#endif
