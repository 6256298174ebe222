/* The classes that there are: the tables of the tree, and classes loaded from shared objects, each
 * checked before it is believed. */
#include "harness/engine/plugin.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
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
    const lh_plugin_kind *kind;
    const void *class;
    char *file;
} loaded[MOST_CLASSES];
static int loaded_count;

static const char *name_of(const void *class) {
    return *(const char *const *)class;
}

/* Class `index` among those of a kind that plug-ins brought, NULL past the end. */
static const void *brought_at(const lh_plugin_kind *kind, int index) {
    for (int i = 0; i < loaded_count && index >= 0; ++i) {
        if (loaded[i].kind == kind && index-- == 0) return loaded[i].class;
    }
    return NULL;
}

const void *lh_class_at(const lh_plugin_kind *kind, int index) {
    int own = 0;
    while (kind->own(own) != NULL)
        own += 1;
    return index < own ? kind->own(index) : brought_at(kind, index - own);
}

const void *lh_class_find(const lh_plugin_kind *kind, const char *name) {
    const char *names[MOST_NAMES] = {NULL};
    const void *class = NULL;
    for (int i = 0; i < MOST_NAMES - 1 && (class = lh_class_at(kind, i)) != NULL; ++i) {
        if (strcmp(name_of(class), name) == 0) return class;
        names[i] = name_of(class);
    }
    const char *meant = lh_did_you_mean(name, names);
    (void)lh_fail(LH_EOPTION, "no %s '%s'%s", kind->noun, name,
                  meant[0] != '\0' ? meant : "; `longhaul describe` lists them");
    return NULL;
}

const char *lh_class_file(const lh_plugin_kind *kind, const char *name) {
    for (int i = 0; i < loaded_count; ++i) {
        if (loaded[i].kind == kind && strcmp(name_of(loaded[i].class), name) == 0)
            return loaded[i].file;
    }
    return NULL;
}

/* ---- checking ---- */

static const char *owner_of(const lh_plugin_kind *kind, const char *name) {
    for (int i = 0; kind->own(i) != NULL; ++i) {
        if (strcmp(name_of(kind->own(i)), name) == 0) return "longhaul itself";
    }
    return lh_class_file(kind, name);
}

static lh_status check_name(const lh_plugin_kind *kind, const char *file, const char *name) {
    if (name == NULL) return lh_fail(LH_EFORMAT, "plug-in %s: a %s has no name", file, kind->noun);
    const size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");
    if (length > 0 && length < NAME_BYTES && name[length] == '\0') return LH_OK;
    return lh_fail(LH_EFORMAT,
                   "plug-in %s: a %s's name is a few lower-case letters, digits and '_'", file,
                   kind->noun);
}

/* Checks a copy, which gets its defaults. */
static lh_status check_class(const lh_plugin_kind *kind, const char *file, void *class) {
    const char *name = name_of(class);
    LH_TRY(check_name(kind, file, name));
    const char *owner = owner_of(kind, name);
    if (owner != NULL) {
        return lh_fail(LH_EFORMAT, "plug-in %s: %s '%s' is already defined by %s", file, kind->noun,
                       name, owner);
    }
    if (loaded_count == MOST_CLASSES)
        return lh_fail(LH_EFORMAT, "plug-in %s: more than %d classes", file, MOST_CLASSES);
    if (!kind->complete(class)) {
        return lh_fail(LH_EFORMAT, "plug-in %s: %s '%s' lacks a required entry", file, kind->noun,
                       name);
    }
    return LH_OK;
}

/* The whole of a class of which the plug-in has `size` bytes. */
static lh_status add_class(const lh_plugin_kind *kind, const char *file, const void *class,
                           size_t size) {
    void *copy = lh_allocate_zeroed(1, kind->class_size);
    if (copy == NULL) return LH_EMEMORY;
    memcpy(copy, class, size);
    const lh_status status = check_class(kind, file, copy);
    char *name = status == LH_OK ? lh_duplicate_text(file) : NULL;
    if (name == NULL) {
        free(copy);
        return status == LH_OK ? LH_EMEMORY : status;
    }
    loaded[loaded_count].kind = kind;
    loaded[loaded_count].class = copy;
    loaded[loaded_count++].file = name;
    return LH_OK;
}

static lh_status check_abi(const lh_plugin_kind *kind, const char *file, const lh_plugin *plugin) {
    if (plugin == NULL || plugin->magic != LH_PLUGIN_MAGIC) {
        return lh_fail(LH_EFORMAT, "plug-in %s: %s did not give a plug-in", file, kind->symbol);
    }
    if (plugin->abi_major != kind->abi_major || plugin->abi_minor > kind->abi_minor) {
        return lh_fail(LH_EFORMAT,
                       "plug-in %s: built for %s ABI %d.%d, this longhaul has %d.%d; rebuild it "
                       "against these headers",
                       file, kind->noun, plugin->abi_major, plugin->abi_minor, kind->abi_major,
                       kind->abi_minor);
    }
    if (plugin->class_size < kind->least_size || plugin->class_size > kind->class_size ||
        plugin->classes == NULL) {
        return lh_fail(LH_EFORMAT, "plug-in %s: its classes of %zu bytes are none of %s ABI %d.%d",
                       file, plugin->class_size, kind->noun, plugin->abi_major, plugin->abi_minor);
    }
    return LH_OK;
}

/* ---- loading ---- */

/* The classes of a kind, where the shared object has some. */
static lh_status load_kind(const lh_plugin_kind *kind, const char *file, void *handle, int *found) {
    /* ISO C has no conversion from dlsym's object pointer to a function; POSIX demands that this
     * works. */
    const lh_plugin *(*get)(void) = NULL;
    *(void **)(&get) = dlsym(handle, kind->symbol);
    if (get == NULL) return LH_OK;
    *found += 1;
    const lh_plugin *plugin = get();
    LH_TRY(check_abi(kind, file, plugin));
    const void *const *classes = (const void *const *)(const void *)plugin->classes;
    for (int i = 0; classes[i] != NULL; ++i)
        LH_TRY(add_class(kind, file, classes[i], plugin->class_size));
    return LH_OK;
}

static lh_status load_file(const lh_plugin_kind *const *kinds, const char *file) {
    struct stat about;
    int found = 0;
    if (stat(file, &about) != 0 || !S_ISREG(about.st_mode))
        return lh_fail(LH_EFORMAT, "plug-in %s: not a plain file", file);
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) return lh_fail(LH_EFORMAT, "plug-in %s: %s", file, dlerror());
    for (int k = 0; kinds[k] != NULL; ++k)
        LH_TRY(load_kind(kinds[k], file, handle, &found));
    if (found > 0) return LH_OK;
    return lh_fail(LH_EFORMAT, "plug-in %s: exports no %s, nor what gives another kind", file,
                   kinds[0]->symbol);
}

static bool is_shared_object(const char *name) {
    static const char ending[] = ".so";
    return strlen(name) >= sizeof ending && lh_name_ends(name, ending);
}

/* What is loaded, and who hears of what is skipped. */
typedef struct listener {
    const lh_plugin_kind *const *kinds;
    lh_plugin_skipped *skipped;
    void *context;
} listener;

/* A plug-in that cannot be had is told and left out. */
static void tell(const listener *to, lh_status status) {
    if (status == LH_OK) return;
    to->skipped(to->context, lh_error_text());
    lh_error_clear();
}

static lh_status load_entry(const lh_plugin_kind *const *kinds, const char *folder,
                            const char *name) {
    char *file = lh_format("%s/%s", folder, name);
    if (file == NULL) return LH_EMEMORY;
    bool known = false;
    for (int i = 0; i < loaded_count; ++i)
        known = known || strcmp(loaded[i].file, file) == 0;
    const lh_status status = known ? LH_OK : load_file(kinds, file);
    free(file);
    return status;
}

static lh_status load_folder(const char *folder, const listener *to) {
    struct dirent **entry = NULL;
    const int count = scandir(folder, &entry, NULL, alphasort);
    if (count < 0 && errno == ENOTDIR)
        return lh_fail(LH_EIO, "%s is no folder: LONGHAUL_PLUGINS names those with shared objects",
                       folder);
    if (count < 0) return lh_fail(LH_EIO, "plug-in folder %s cannot be read", folder);
    for (int i = 0; i < count; ++i) {
        if (is_shared_object(entry[i]->d_name))
            tell(to, load_entry(to->kinds, folder, entry[i]->d_name));
        free(entry[i]);
    }
    free(entry);
    return LH_OK;
}

void lh_plugins_load(const lh_plugin_kind *const *kinds, const char *path,
                     lh_plugin_skipped *skipped, void *context) {
    const listener to = {kinds, skipped, context};
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

/* ---- models ---- */

static const void *own_model(int index) {
    int count = 0;
    while (lh_model_table[count] != NULL)
        count += 1;
    return index >= 0 && index < count ? lh_model_table[index] : NULL;
}

static bool complete_model(void *class) {
    lh_model_class *model = class;
    if (model->summary == NULL) model->summary = "";
    if (model->paper == NULL) model->paper = "";
    return model->declare != NULL && model->forward != NULL && model->options != NULL &&
           model->flops_per_token != NULL && model->instance_size > 0;
}

const lh_plugin_kind lh_model_kind = {.noun = "model",
                                      .symbol = "lh_plugin_get",
                                      .abi_major = LH_MODEL_ABI_MAJOR,
                                      .abi_minor = LH_MODEL_ABI_MINOR,
                                      .least_size = offsetof(lh_model_class, flops_per_token) +
                                                    sizeof(void *),
                                      .class_size = sizeof(lh_model_class),
                                      .own = own_model,
                                      .complete = complete_model};

const lh_model_class *lh_model_class_find(const char *name) {
    return lh_class_find(&lh_model_kind, name);
}

const lh_model_class *lh_model_class_at(int index) {
    return lh_class_at(&lh_model_kind, index);
}
