#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "datasets/corpus.h"

void lh_cache_folder(char path[LH_PATH_BYTES]) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    path[0] = '\0';
    if (cache != NULL && cache[0] != '\0') {
        (void)snprintf(path, LH_PATH_BYTES, "%s/longhaul", cache);
    } else if (home != NULL && home[0] != '\0') {
        (void)snprintf(path, LH_PATH_BYTES, "%s/.cache/longhaul", home);
    }
}

lh_status lh_data_folders(char path[LH_DATA_FOLDERS][LH_PATH_BYTES], int *count) {
    const char *data = getenv("LONGHAUL_DATA");
    *count = 0;
    if (data != NULL && data[0] != '\0') {
        if (!lh_is_folder(data))
            return lh_fail(LH_EIO,
                           "LONGHAUL_DATA is '%s', which is no folder: let it name the folder with "
                           "the corpora, or unset it for the embedded generators",
                           data);
        (void)snprintf(path[(*count)++], LH_PATH_BYTES, "%s", data);
    }
    lh_cache_folder(path[*count]);
    if (path[*count][0] != '\0') *count += 1;
    return LH_OK;
}

lh_status lh_data_find(const char *name, char path[LH_PATH_BYTES], bool *found) {
    char folder[LH_DATA_FOLDERS][LH_PATH_BYTES];
    int count = 0;
    *found = false;
    LH_TRY(lh_data_folders(folder, &count));
    for (int i = 0; i < count && !*found; ++i) {
        struct stat status;
        const int length = snprintf(path, LH_PATH_BYTES, "%s/%s", folder[i], name);
        *found = length > 0 && length < LH_PATH_BYTES && stat(path, &status) == 0;
    }
    return LH_OK;
}

/* ---- what data are called ---- */

/* `path` without the data folder that it lies in; for another path its last component. */
static const char *name_of(const char *path) {
    char folder[LH_DATA_FOLDERS][LH_PATH_BYTES];
    int count = 0;
    if (lh_data_folders(folder, &count) != LH_OK) lh_error_clear();
    for (int i = 0; i < count; ++i) {
        const size_t length = strlen(folder[i]);
        if (strncmp(path, folder[i], length) == 0 && path[length] == '/') return path + length + 1;
    }
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

void lh_source_generated(char source[LH_SOURCE_BYTES], const char *kind) {
    (void)snprintf(source, LH_SOURCE_BYTES, "embedded generator (%s)", kind);
}

void lh_source_found(char source[LH_SOURCE_BYTES], const char *name, const char *what,
                     const char *path) {
    char whole[LH_PATH_BYTES];
    (void)snprintf(whole, sizeof whole, "%s", path);
    size_t length = strlen(whole);
    while (length > 1 && whole[length - 1] == '/')
        whole[--length] = '\0';
    const char *place = name_of(whole);
    const char *own = strchr(name, '/') == NULL ? name : place;
    (void)snprintf(source, LH_SOURCE_BYTES, "%s (%s in %s%s)", own, what, place,
                   lh_is_folder(whole) ? "/" : "");
}

/* ---- folders ---- */

bool lh_is_folder(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

lh_status lh_make_folder(const char *path) {
    char part[LH_PATH_BYTES];
    if (strlen(path) >= sizeof part) return lh_fail(LH_EIO, "%s: path too long", path);
    for (size_t i = 0;; ++i) {
        part[i] = path[i];
        const bool end = path[i] == '\0', step = path[i] == '/' && i > 0;
        if (!end && !step) continue;
        part[i] = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST)
            return lh_fail(LH_EIO, "%s: cannot be made: %s", part, strerror(errno));
        if (end) return LH_OK;
        part[i] = '/';
    }
}
