/* The data folders come from the environment, and are looked up whenever they are asked for. */
#include "datasets/locate.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "harness/engine/file.h"
#include "harness/engine/nearest_name.h"
#include "harness/engine/text.h"

static void free_all(char *path[LH_DATA_FOLDERS], int count) {
    for (int i = 0; i < count; ++i)
        free(path[i]);
}

lh_status lh_cache_folder(char **path) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    *path = NULL;
    if (cache != NULL && cache[0] != '\0') {
        *path = lh_format("%s/longhaul", cache);
    } else if (home != NULL && home[0] != '\0') {
        *path = lh_format("%s/.cache/longhaul", home);
    } else {
        return LH_OK;
    }
    return *path != NULL ? LH_OK : LH_EMEMORY;
}

static lh_status add_named(char *path[LH_DATA_FOLDERS], int *count) {
    const char *data = getenv("LONGHAUL_DATA");
    if (data == NULL || data[0] == '\0') return LH_OK;
    if (!lh_is_folder(data))
        return lh_fail(LH_EIO,
                       "LONGHAUL_DATA is '%s', which is no folder: let it name the folder with "
                       "the corpora, or unset it for the embedded generators",
                       data);
    path[*count] = lh_duplicate_text(data);
    if (path[*count] == NULL) return LH_EMEMORY;
    *count += 1;
    return LH_OK;
}

lh_status lh_data_folders(char *path[LH_DATA_FOLDERS], int *count) {
    *count = 0;
    LH_TRY(add_named(path, count));
    const lh_status status = lh_cache_folder(&path[*count]);
    if (status != LH_OK) {
        free_all(path, *count);
        *count = 0;
    } else if (path[*count] != NULL) {
        *count += 1;
    }
    return status;
}

lh_status lh_data_find(const char *name, char **path) {
    char *folder[LH_DATA_FOLDERS];
    const char *const names[] = {name, NULL};
    int count = 0;
    *path = NULL;
    if (name[0] == '\0' || name[0] == '.') return LH_OK; /* the folder itself, or what it hides */
    LH_TRY(lh_data_folders(folder, &count));
    lh_status status = LH_OK;
    for (int i = 0; i < count && *path == NULL && status == LH_OK; ++i)
        status = lh_file_find(folder[i], names, path);
    free_all(folder, count);
    return status;
}

/* ---- data that are not there ---- */

/* Names that could have been meant; more than these are not told. */
enum { MOST_NAMES = 40 };
typedef struct names {
    const char *name[MOST_NAMES + 1]; /* ends with NULL */
    int made, count;                  /* the first `made` are lent, the others our own */
} names;

/* Tokenizers, weights and time series lie in the data folders, too. */
static int is_document(const struct dirent *entry) {
    static const char *const others[] = {".model", ".json", ".bpe",    "merges.txt", ".safetensors",
                                         ".bin",   ".csv",  ".csv.gz", ".sha256"};
    if (entry->d_name[0] == '.') return 0;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; ++i)
        if (lh_name_ends(entry->d_name, others[i])) return 0;
    return 1;
}

/* Whether something in a folder may be a document, or a folder of documents. */
static bool has_documents(const char *path) {
    struct dirent **entry = NULL;
    const int count = scandir(path, &entry, is_document, NULL);
    for (int i = 0; i < count; ++i)
        free(entry[i]);
    free(entry);
    return count > 0;
}

/* A folder without a dot before it, or a file of JSON lines: those could be data. What commands
 * keep in the cache folder could not. */
static bool could_be_data(const char *folder, const char *name) {
    if (name[0] == '.' || strcmp(name, "tokens") == 0 || strcmp(name, "vocabularies") == 0)
        return false;
    if (lh_name_ends(name, ".jsonl") || lh_name_ends(name, ".jsonl.gz")) return true;
    char *path = lh_format("%s/%s", folder, name);
    const bool could = path != NULL && lh_is_folder(path) && has_documents(path);
    free(path);
    return could;
}

static lh_status add_name(names *all, const char *folder, const char *name) {
    for (int i = 0; i < all->count; ++i) {
        if (strcmp(all->name[i], name) == 0) return LH_OK;
    }
    if (all->count == MOST_NAMES || !could_be_data(folder, name)) return LH_OK;
    all->name[all->count] = lh_duplicate_text(name);
    if (all->name[all->count] == NULL) return LH_EMEMORY;
    all->count += 1;
    return LH_OK;
}

static lh_status add_names(names *all, const char *folder) {
    struct dirent **entry = NULL;
    const int count = scandir(folder, &entry, NULL, alphasort);
    lh_status status = LH_OK;
    for (int i = 0; i < count; ++i) {
        if (status == LH_OK) status = add_name(all, folder, entry[i]->d_name);
        free(entry[i]);
    }
    free(entry);
    return status;
}

lh_status lh_data_refuse(const char *what, const char *name, const char *const *made,
                         const char *rest) {
    char *folder[LH_DATA_FOLDERS] = {NULL, NULL};
    names all = {0};
    int folders = 0;
    LH_TRY(lh_data_folders(folder, &folders));
    for (; made[all.made] != NULL && all.made < MOST_NAMES; ++all.made)
        all.name[all.made] = made[all.made];
    all.count = all.made;
    lh_status status = LH_OK;
    for (int i = 0; i < folders && status == LH_OK; ++i)
        status = add_names(&all, folder[i]);
    char *places = lh_format("%s%s%s", folders > 0 ? folder[0] : "no folder",
                             folders > 1 ? " and " : "", folders > 1 ? folder[1] : "");
    if (places == NULL) status = LH_EMEMORY;
    if (status == LH_OK)
        status = lh_fail(LH_EIO, "no %s '%s'%s; looked in %s; %s", what, name,
                         lh_did_you_mean(name, all.name), places, rest);
    free(places);
    for (int i = all.made; i < all.count; ++i)
        free((char *)(uintptr_t)all.name[i]);
    free_all(folder, folders);
    return status;
}

lh_status lh_data_resolve(const char *what, const char *name, const char *const *made,
                          const char *rest, char **path) {
    *path = NULL;
    if (strchr(name, '/') != NULL) {
        *path = lh_duplicate_text(name);
        return *path != NULL ? LH_OK : LH_EMEMORY;
    }
    LH_TRY(lh_data_find(name, path));
    if (*path != NULL) return LH_OK;
    for (int i = 0; made[i] != NULL; ++i)
        if (strcmp(name, made[i]) == 0) return LH_OK;
    return lh_data_refuse(what, name, made, rest);
}

/* ---- what data are called ---- */

/* `path` without the data folder that it lies in; for another path its last component. Lends. */
static const char *name_of(const char *path) {
    const lh_status before = lh_error_get()->status;
    char *folder[LH_DATA_FOLDERS];
    int count = 0;
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    if (lh_data_folders(folder, &count) != LH_OK) lh_error_survive(before);
    for (int i = count - 1; i >= 0; --i) {
        const size_t length = strlen(folder[i]);
        if (strncmp(path, folder[i], length) == 0 && path[length] == '/') name = path + length + 1;
    }
    free_all(folder, count);
    return name;
}

static const char generator[] = "embedded generator";

lh_status lh_source_generated(char **source, const char *kind) {
    *source = lh_format("%s (%s)", generator, kind);
    return *source != NULL ? LH_OK : LH_EMEMORY;
}

bool lh_source_is_generated(const char *source) {
    return strncmp(source, generator, sizeof generator - 1) == 0;
}

lh_status lh_source_found(char **source, const char *name, const char *what, const char *path) {
    char *whole = lh_duplicate_text(path);
    if (whole == NULL) return LH_EMEMORY;
    size_t length = strlen(whole);
    while (length > 1 && whole[length - 1] == '/')
        whole[--length] = '\0';
    const char *place = name_of(whole);
    const char *own = strchr(name, '/') == NULL ? name : place;
    *source = lh_format("%s (%s in %s%s)", own, what, place, lh_is_folder(whole) ? "/" : "");
    free(whole);
    return *source != NULL ? LH_OK : LH_EMEMORY;
}
