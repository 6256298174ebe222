/* The models that there are: the table of the tree, and classes loaded from shared objects, each
 * checked before it is believed. */
#include "harness/engine/plugin.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/engine/file.h"
#include "harness/engine/nearest_name.h"
#include "harness/engine/text.h"

enum { MOST_CLASSES = 64, MOST_NAMES = 256, NAME_BYTES = 64 };

/* Filled once at start-up, before any thread exists. Classes are copies: what an older plug-in does
 * not know of is NULL or 0, which is the default of each field. */
static struct {
    const lh_model_class *class;
    char *file;
} loaded[MOST_CLASSES];
static int loaded_count;

/* A class up to its last required entry. */
static const size_t least_class_size = offsetof(lh_model_class, flops_per_token) + sizeof(void *);

/* Class `index` among those that plug-ins brought, NULL past the end. */
static const lh_model_class *class_at(int index) {
    return index >= 0 && index < loaded_count ? loaded[index].class : NULL;
}

const lh_model_class *lh_model_class_at(int index) {
    int in_tree = 0;
    while (lh_model_table[in_tree] != NULL)
        in_tree += 1;
    return index < in_tree ? lh_model_table[index] : class_at(index - in_tree);
}

const lh_model_class *lh_model_class_find(const char *name) {
    const char *names[MOST_NAMES] = {NULL};
    const lh_model_class *class = NULL;
    for (int i = 0; i < MOST_NAMES - 1 && (class = lh_model_class_at(i)) != NULL; ++i) {
        if (strcmp(class->name, name) == 0) return class;
        names[i] = class->name;
    }
    const char *meant = lh_did_you_mean(name, names);
    (void)lh_fail(LH_EOPTION, "no model '%s'%s", name,
                  meant[0] != '\0' ? meant : "; `longhaul describe` lists them");
    return NULL;
}

/* ---- checking ---- */

static const char *owner_of(const char *name) {
    for (int i = 0; lh_model_table[i] != NULL; ++i) {
        if (strcmp(lh_model_table[i]->name, name) == 0) return "longhaul itself";
    }
    for (int i = 0; i < loaded_count; ++i) {
        if (strcmp(loaded[i].class->name, name) == 0) return loaded[i].file;
    }
    return NULL;
}

static lh_status check_name(const char *file, const char *name) {
    if (name == NULL) return lh_fail(LH_EFORMAT, "plug-in %s: a model has no name", file);
    const size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");
    if (length > 0 && length < NAME_BYTES && name[length] == '\0') return LH_OK;
    return lh_fail(LH_EFORMAT,
                   "plug-in %s: a model's name is a few lower-case letters, digits and '_'", file);
}

static lh_status check_class(const char *file, const lh_model_class *class) {
    LH_TRY(check_name(file, class->name));
    const char *owner = owner_of(class->name);
    if (owner != NULL) {
        return lh_fail(LH_EFORMAT, "plug-in %s: model '%s' is already defined by %s", file,
                       class->name, owner);
    }
    if (loaded_count == MOST_CLASSES) {
        return lh_fail(LH_EFORMAT, "plug-in %s: more than %d plug-in models", file, MOST_CLASSES);
    }
    if (class->declare == NULL || class->forward == NULL || class->options == NULL ||
        class->flops_per_token == NULL || class->instance_size == 0) {
        return lh_fail(LH_EFORMAT, "plug-in %s: model '%s' lacks a required entry", file,
                       class->name);
    }
    return LH_OK;
}

/* The whole of a class of which the plug-in has `size` bytes. */
static lh_status add_class(const char *file, const lh_model_class *class, size_t size) {
    lh_model_class *copy = lh_allocate_zeroed(1, sizeof *copy);
    if (copy == NULL) return LH_EMEMORY;
    memcpy(copy, class, size);
    if (copy->summary == NULL) copy->summary = "";
    if (copy->paper == NULL) copy->paper = "";
    const lh_status status = check_class(file, copy);
    char *name = status == LH_OK ? lh_duplicate_text(file) : NULL;
    if (name == NULL) {
        free(copy);
        return status == LH_OK ? LH_EMEMORY : status;
    }
    loaded[loaded_count].class = copy;
    loaded[loaded_count++].file = name;
    return LH_OK;
}

static lh_status check_abi(const char *file, const lh_plugin *plugin) {
    if (plugin == NULL || plugin->magic != LH_PLUGIN_MAGIC) {
        return lh_fail(LH_EFORMAT, "plug-in %s: lh_plugin_get did not give a plug-in", file);
    }
    if (plugin->abi_major != LH_MODEL_ABI_MAJOR || plugin->abi_minor > LH_MODEL_ABI_MINOR) {
        return lh_fail(LH_EFORMAT,
                       "plug-in %s: built for model ABI %d.%d, this longhaul has %d.%d; rebuild it "
                       "against these headers",
                       file, plugin->abi_major, plugin->abi_minor, LH_MODEL_ABI_MAJOR,
                       LH_MODEL_ABI_MINOR);
    }
    if (plugin->class_size < least_class_size || plugin->class_size > sizeof(lh_model_class) ||
        plugin->classes == NULL) {
        return lh_fail(LH_EFORMAT, "plug-in %s: its classes of %zu bytes are none of ABI %d.%d",
                       file, plugin->class_size, plugin->abi_major, plugin->abi_minor);
    }
    return LH_OK;
}

/* ---- loading ---- */

static lh_status load_file(const char *file) {
    struct stat about;
    if (stat(file, &about) != 0 || !S_ISREG(about.st_mode))
        return lh_fail(LH_EFORMAT, "plug-in %s: not a plain file", file);
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
        LH_TRY(add_class(file, plugin->classes[i], plugin->class_size));
    return LH_OK;
}

static bool is_shared_object(const char *name) {
    static const char ending[] = ".so";
    return strlen(name) >= sizeof ending && lh_name_ends(name, ending);
}

/* Who hears of what is skipped. */
typedef struct listener {
    lh_plugin_skipped *skipped;
    void *context;
} listener;

/* A plug-in that cannot be had is told and left out. */
static void tell(const listener *to, lh_status status) {
    if (status == LH_OK) return;
    to->skipped(to->context, lh_error_text());
    lh_error_clear();
}

static lh_status load_entry(const char *folder, const char *name) {
    char *file = lh_format("%s/%s", folder, name);
    if (file == NULL) return LH_EMEMORY;
    bool known = false;
    for (int i = 0; i < loaded_count; ++i)
        known = known || strcmp(loaded[i].file, file) == 0;
    const lh_status status = known ? LH_OK : load_file(file);
    free(file);
    return status;
}

static lh_status load_folder(const char *folder, const listener *to) {
    struct dirent **entry = NULL;
    const int count = scandir(folder, &entry, NULL, alphasort);
    if (count < 0) return lh_fail(LH_EIO, "plug-in folder %s cannot be read", folder);
    for (int i = 0; i < count; ++i) {
        if (is_shared_object(entry[i]->d_name)) tell(to, load_entry(folder, entry[i]->d_name));
        free(entry[i]);
    }
    free(entry);
    return LH_OK;
}

void lh_plugins_load(const char *path, lh_plugin_skipped *skipped, void *context) {
    const listener to = {skipped, context};
    const char *folders = path != NULL ? path : getenv("LONGHAUL_PLUGINS");
    while (folders != NULL && *folders != '\0') {
        const size_t length = strcspn(folders, ":");
        char *folder = lh_format("%.*s", (int)length, folders);
        if (folder == NULL || length > 0)
            tell(&to, folder != NULL ? load_folder(folder, &to) : LH_EMEMORY);
        free(folder);
        folders += length + (folders[length] == ':' ? 1 : 0);
    }
}
