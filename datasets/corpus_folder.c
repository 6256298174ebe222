#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "datasets/corpus.h"
#include "datasets/json_lines.h"

enum { MOST_DEPTH = 16 };

/* Where the files of a walk go: one split, or by the hash of their names. */
typedef struct walk {
    lh_corpus *corpus;
    const char *field, *root;
    int split; /* -1: by hash */
} walk;

lh_split lh_split_by_name(const char *name) {
    const uint64_t hundredth = XXH3_64bits(name, strlen(name)) % 100;
    return hundredth < 90 ? LH_TRAIN : hundredth < 95 ? LH_VALID : LH_TEST;
}

/* "train.jsonl" and the like belong to a split whatever the walk says; -1: no such name. */
static int named_split(const char *name) {
    static const char *const splits[LH_SPLITS] = {"train.jsonl", "valid.jsonl", "test.jsonl"};
    for (int s = 0; s < LH_SPLITS; ++s)
        if (strncmp(name, splits[s], strlen(splits[s])) == 0) return s;
    return -1;
}

static lh_status walk_folder(const walk *w, const char *folder, int depth);

static lh_status walk_entry(const walk *w, const char *folder, const char *entry, int depth) {
    char path[LH_PATH_BYTES];
    struct stat status;
    if (entry[0] == '.') return LH_OK;
    const int length = snprintf(path, sizeof path, "%s/%s", folder, entry);
    if (length < 0 || length >= LH_PATH_BYTES) {
        return lh_fail(LH_EIO, "%s/%s: path too long", folder, entry);
    }
    if (stat(path, &status) != 0) return lh_fail(LH_EIO, "%s: cannot be read", path);
    if (S_ISDIR(status.st_mode)) return walk_folder(w, path, depth + 1);
    if (!S_ISREG(status.st_mode)) return LH_OK;
    const char *name = path + strlen(w->root) + 1;
    if (lh_json_lines_is(name)) {
        const int split = w->split >= 0 ? w->split : named_split(name);
        return lh_corpus_read_lines(w->corpus, w->field, split, name, path);
    }
    const lh_split split = w->split >= 0 ? (lh_split)w->split : lh_split_by_name(name);
    return lh_corpus_add_file(w->corpus, split, name, path, (int64_t)status.st_size);
}

static lh_status walk_folder(const walk *w, const char *folder, int depth) {
    struct dirent **entry = NULL;
    if (depth > MOST_DEPTH) return lh_fail(LH_EIO, "%s: folders nest too deep", folder);
    const int count = scandir(folder, &entry, NULL, alphasort);
    if (count < 0) return lh_fail(LH_EIO, "%s: the folder cannot be read", folder);
    lh_status status = LH_OK;
    for (int i = 0; i < count; ++i) {
        if (status == LH_OK) status = walk_entry(w, folder, entry[i]->d_name, depth);
        free(entry[i]);
    }
    free(entry);
    return status;
}

/* Whether a folder holds one visible entry and nothing else, a file of text; its path and name. */
static bool only_file(const char *folder, char path[LH_PATH_BYTES], char name[LH_PATH_BYTES]) {
    struct dirent **entry = NULL;
    struct stat status;
    int visible = 0;
    const int count = scandir(folder, &entry, NULL, alphasort);
    for (int i = 0; i < count; ++i) {
        if (entry[i]->d_name[0] != '.' && ++visible == 1) {
            (void)snprintf(name, LH_PATH_BYTES, "%s", entry[i]->d_name);
        }
        free(entry[i]);
    }
    free(entry);
    if (visible != 1 || lh_json_lines_is(name)) return false;
    const int length = snprintf(path, LH_PATH_BYTES, "%s/%s", folder, name);
    return length > 0 && length < LH_PATH_BYTES && stat(path, &status) == 0 &&
           S_ISREG(status.st_mode);
}

lh_status lh_corpus_read_folder(lh_corpus *corpus, const char *field, const char *folder) {
    static const char *const splits[LH_SPLITS] = {"train", "valid", "test"};
    bool any = false;
    for (int s = 0; s < LH_SPLITS; ++s) {
        char path[LH_PATH_BYTES];
        const int length = snprintf(path, sizeof path, "%s/%s", folder, splits[s]);
        if (length < 0 || length >= LH_PATH_BYTES || !lh_is_folder(path)) continue;
        any = true;
        const walk w = {.corpus = corpus, .field = field, .root = path, .split = s};
        LH_TRY(walk_folder(&w, path, 0));
    }
    if (any) return LH_OK;
    char path[LH_PATH_BYTES], name[LH_PATH_BYTES];
    if (only_file(folder, path, name)) return lh_corpus_read_single(corpus, name, path);
    const walk w = {.corpus = corpus, .field = field, .root = folder, .split = -1};
    return walk_folder(&w, folder, 0);
}
