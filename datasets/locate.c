#include <stdio.h>
#include <stdlib.h>
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
