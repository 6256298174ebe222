/* The classes that there are of a kind, by name: those of this tree, and those of plug-ins, shared
 * objects found on a search path. Models are the first kind; who defines another says what it is by
 * an lh_plugin_kind. */
#ifndef LH_ENGINE_PLUGIN_H
#define LH_ENGINE_PLUGIN_H

#include "harness/engine/model.h"

/* A kind of classes: structs that begin with their name, a `const char *`. */
typedef struct lh_plugin_kind {
    const char *noun;   /* "model" */
    const char *symbol; /* the function by which a shared object gives its lh_plugin of them */
    int abi_major, abi_minor;
    size_t least_size, class_size; /* up to the last required entry, and of this build */
    const void *(*own)(int index); /* those of this tree; NULL past the end */
    bool (*complete)(
        void *class); /* gives what may be left out its default; false: it lacks more */
} lh_plugin_kind;

/* This tree's classes, then those of plug-ins; NULL past the end. */
const void *lh_class_at(const lh_plugin_kind *kind, int index);
/* NULL plus LH_EOPTION with the nearest name when unknown. */
const void *lh_class_find(const lh_plugin_kind *kind, const char *name);
/* The shared object that brought a class; NULL for one of this tree. */
const char *lh_class_file(const lh_plugin_kind *kind, const char *name);

/* Hears why a plug-in, which the message names, is left out. */
typedef void lh_plugin_skipped(void *context, const char *message);

/* Loads every *.so on the colon-separated path (NULL: $LONGHAUL_PLUGINS, nothing when unset) with
 * its classes of these kinds (NULL-terminated). Plug-ins are never unloaded. A class is copied with
 * the size that its plug-in was built with: what was appended since is NULL or 0. What cannot be
 * loaded (another ABI, a name that is taken) is told and skipped. */
void lh_plugins_load(const lh_plugin_kind *const *kinds, const char *path,
                     lh_plugin_skipped *skipped, void *context);

/* ---- models ---- */

extern const lh_plugin_kind lh_model_kind;

/* The models of this tree; models/models.def lists them. NULL-terminated. */
extern const lh_model_class *const lh_model_table[];

/* lh_class_find and lh_class_at of models. */
const lh_model_class *lh_model_class_find(const char *name);
const lh_model_class *lh_model_class_at(int index);

#endif
