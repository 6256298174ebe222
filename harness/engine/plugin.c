#include "harness/engine/plugin.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CLASSES = 64, PATH_BYTES = 4096 };

/* Filled once at start-up, before any thread exists. */
static struct {
    const lh_model_class *class;
    char *file;
} loaded[MOST_CLASSES];
static int loaded_count;

const lh_model_class *lh_plugin_class_at(int index) {
    return index >= 0 && index < loaded_count ? loaded[index].class : NULL;
}

static const char *owner_of(const char *name) {
    for (int i = 0; lh_model_table[i] != NULL; ++i) {
        if (strcmp(lh_model_table[i]->name, name) == 0) return "longhaul itself";
    }
    for (int i = 0; i < loaded_count; ++i) {
        if (strcmp(loaded[i].class->name, name) == 0) return loaded[i].file;
    }
    return NULL;
}

static lh_status add_class(const char *file, const lh_model_class *class) {
    const char *owner = owner_of(class->name);
    if (owner != NULL && strcmp(owner, file) == 0) return LH_OK;
    if (owner != NULL) {
        return lh_fail(LH_EFORMAT, "plug-in %s: model '%s' is already defined by %s", file,
                       class->name, owner);
    }
    if (loaded_count == MOST_CLASSES) {
        return lh_fail(LH_EFORMAT, "plug-in %s: more than %d plug-in models", file, MOST_CLASSES);
    }
    if (class->declare == NULL || class->forward == NULL || class->options == NULL ||
        class->flops_per_token == NULL) {
        return lh_fail(LH_EFORMAT, "plug-in %s: model '%s' lacks a required entry", file,
                       class->name);
    }
    loaded[loaded_count].class = class;
    loaded[loaded_count].file = lh_duplicate_text(file);
    if (loaded[loaded_count].file == NULL) return LH_EMEMORY;
    loaded_count += 1;
    return LH_OK;
}

static lh_status check_abi(const char *file, const lh_plugin *plugin) {
    if (plugin == NULL || plugin->magic != LH_PLUGIN_MAGIC) {
        return lh_fail(LH_EFORMAT, "plug-in %s: lh_plugin_get did not give a plug-in", file);
    }
    if (plugin->abi_major == LH_MODEL_ABI_MAJOR && plugin->abi_minor <= LH_MODEL_ABI_MINOR &&
        plugin->class_size <= sizeof(lh_model_class)) {
        return LH_OK;
    }
    return lh_fail(LH_EFORMAT,
                   "plug-in %s: built for model ABI %d.%d, this longhaul has %d.%d; rebuild it "
                   "against these headers",
                   file, plugin->abi_major, plugin->abi_minor, LH_MODEL_ABI_MAJOR,
                   LH_MODEL_ABI_MINOR);
}

static lh_status load_file(const char *file) {
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) return lh_fail(LH_EFORMAT, "plug-in %s: %s", file, dlerror());
    /* ISO C has no conversion from dlsym's object pointer to a function; POSIX demands that this
     * works. */
    const lh_plugin *(*get)(void) = NULL;
    *(void **)(&get) = dlsym(handle, "lh_plugin_get");
    if (get == NULL) return lh_fail(LH_EFORMAT, "plug-in %s: exports no lh_plugin_get", file);
    const lh_plugin *plugin = get();
    LH_TRY(check_abi(file, plugin));
    for (int i = 0; plugin->classes[i] != NULL; ++i)
        LH_TRY(add_class(file, plugin->classes[i]));
    return LH_OK;
}

static bool is_shared_object(const char *name) {
    const size_t length = strlen(name);
    return length > 3 && strcmp(name + length - 3, ".so") == 0;
}

static lh_status load_entry(const char *folder, const char *name) {
    char file[PATH_BYTES];
    const int length = snprintf(file, sizeof file, "%s/%s", folder, name);
    if (length < 0 || length >= PATH_BYTES) return lh_fail(LH_EIO, "path too long: %s", folder);
    return load_file(file);
}

static lh_status load_folder(const char *folder) {
    struct dirent **entry = NULL;
    const int count = scandir(folder, &entry, NULL, alphasort);
    if (count < 0) return lh_fail(LH_EIO, "plug-in folder %s cannot be read", folder);
    lh_status status = LH_OK;
    for (int i = 0; i < count; ++i) {
        if (status == LH_OK && is_shared_object(entry[i]->d_name)) {
            status = load_entry(folder, entry[i]->d_name);
        }
        free(entry[i]);
    }
    free(entry);
    return status;
}

lh_status lh_plugins_load(const char *path) {
    const char *folders = path != NULL ? path : getenv("LONGHAUL_PLUGINS");
    if (folders == NULL) return LH_OK;
    while (*folders != '\0') {
        const size_t length = strcspn(folders, ":");
        char folder[PATH_BYTES];
        if (length >= sizeof folder) return lh_fail(LH_EIO, "plug-in path is too long");
        memcpy(folder, folders, length);
        folder[length] = '\0';
        if (length > 0) LH_TRY(load_folder(folder));
        folders += length + (folders[length] == ':' ? 1 : 0);
    }
    return LH_OK;
}
