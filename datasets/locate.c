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

int lh_data_folders(char path[LH_DATA_FOLDERS][LH_PATH_BYTES]) {
    int count = 0;
    const char *data = getenv("LONGHAUL_DATA");
    if (data != NULL && data[0] != '\0') {
        (void)snprintf(path[count++], LH_PATH_BYTES, "%s", data);
    }
    lh_cache_folder(path[count]);
    if (path[count][0] != '\0') count += 1;
    return count;
}

bool lh_data_find(const char *name, char path[LH_PATH_BYTES]) {
    char folder[LH_DATA_FOLDERS][LH_PATH_BYTES];
    const int count = lh_data_folders(folder);
    for (int i = 0; i < count; ++i) {
        struct stat status;
        const int length = snprintf(path, LH_PATH_BYTES, "%s/%s", folder[i], name);
        if (length > 0 && length < LH_PATH_BYTES && stat(path, &status) == 0) return true;
    }
    return false;
}

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
