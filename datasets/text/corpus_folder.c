/* A walk through folders in the order of names, so that a corpus is the same wherever it lies. */
#include "datasets/text/corpus_folder.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "datasets/text/corpus_lines.h"
#include "datasets/text/corpus_stream.h"
#include "datasets/text/json_lines.h"
#include "harness/engine/file.h"
#include "harness/engine/text.h"

enum { MOST_DEPTH = 16 };

/* Where the files of a walk go: one split, or those that their names say. */
typedef struct walk {
    lh_corpus *corpus;
    const char *field, *root;
    int split;           /* -1: by the files' names */
    bool named, unnamed; /* files that say their split, and that do not */
} walk;

/* What corpora of text end in; a program's test.c and train.py are no splits. */
static bool ends_text(const char *rest) {
    static const char *const endings[] = {"", ".txt", ".tokens", ".raw", ".jsonl"};
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; ++i) {
        const size_t length = strlen(endings[i]);
        if (strncmp(rest, endings[i], length) == 0 &&
            (rest[length] == '\0' || strcmp(rest + length, ".gz") == 0))
            return true;
    }
    return false;
}

/* Behind a split's name: which of its pieces the file is, "-00000-of-00002", if any, and an ending,
 * ".txt" or ".jsonl.gz". */
static bool ends_name(const char *rest) {
    const bool is_piece = rest[0] != '\0' && strchr("-_.", rest[0]) != NULL;
    if (is_piece && isdigit((unsigned char)rest[1])) rest += 1 + strspn(rest + 1, "0123456789of-_");
    return ends_text(rest);
}

/* The split whose name begins here and is the last word before the ending; -1: none. */
static int split_here(const char *word) {
    static const struct {
        const char *name;
        lh_split split;
    } splits[] = {{"train", LH_TRAIN}, {"valid", LH_VALID}, {"validation", LH_VALID},
                  {"val", LH_VALID},   {"dev", LH_VALID},   {"test", LH_TEST}};
    for (size_t i = 0; i < sizeof splits / sizeof splits[0]; ++i) {
        const size_t length = strlen(splits[i].name);
        if (strncmp(word, splits[i].name, length) == 0 && ends_name(word + length))
            return (int)splits[i].split;
    }
    return -1;
}

/* "train.jsonl", "test-00.txt", "wiki.valid.tokens" and the like belong to a split, in whatever
 * folder; -1: no such name. */
static int named_split(const char *path) {
    const char *slash = strrchr(path, '/'), *word = slash != NULL ? slash + 1 : path;
    int split = split_here(word);
    while (split < 0 && *(word += strcspn(word, "-_.")) != '\0')
        split = split_here(++word);
    return split;
}

/* What is of one split would be hashed into all of them beside another's own file. */
static lh_status choose_split(walk *w, const char *name, const char *path, int *split) {
    *split = w->split >= 0 ? w->split : named_split(name);
    w->named = w->named || *split >= 0;
    w->unnamed = w->unnamed || *split < 0;
    if (!w->named || !w->unnamed) return LH_OK;
    return lh_fail(LH_EFORMAT,
                   "%s: some files here are called after a split (train.jsonl, valid-00.txt, "
                   "wiki.test.tokens), others are not: move those away, or all into folders "
                   "train/, valid/ and test/, as `longhaul data import` does by a hash",
                   path);
}

static lh_status walk_folder(walk *w, const char *folder, int depth);

static lh_status walk_path(walk *w, const char *path, int depth) {
    struct stat status;
    if (stat(path, &status) != 0) return lh_fail(LH_EIO, "%s: cannot be read", path);
    if (S_ISDIR(status.st_mode)) return walk_folder(w, path, depth);
    if (!S_ISREG(status.st_mode)) return LH_OK;
    const char *name = path + strlen(w->root) + 1;
    int named = -1;
    LH_TRY(choose_split(w, name, path, &named));
    if (lh_json_lines_is(name)) return lh_corpus_read_lines(w->corpus, w->field, named, name, path);
    const lh_split split = named >= 0 ? (lh_split)named : lh_split_by_name(name);
    if (lh_name_ends(name, ".gz")) return lh_corpus_add_packed(w->corpus, split, name, path);
    return lh_corpus_add_file(w->corpus, split, name, path, (int64_t)status.st_size);
}

static lh_status walk_entry(walk *w, const char *folder, const char *entry, int depth) {
    if (entry[0] == '.') return LH_OK;
    char *path = lh_format("%s/%s", folder, entry);
    if (path == NULL) return LH_EMEMORY;
    const lh_status status = walk_path(w, path, depth + 1);
    free(path);
    return status;
}

static lh_status walk_folder(walk *w, const char *folder, int depth) {
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

/* The name of the one visible entry of a folder, NULL when there are none or more; gives. */
static lh_status only_entry(const char *folder, char **name) {
    struct dirent **entry = NULL;
    int visible = 0;
    const int count = scandir(folder, &entry, NULL, alphasort);
    const char *only = NULL;
    for (int i = 0; i < count; ++i) {
        if (entry[i]->d_name[0] == '.') continue;
        visible += 1;
        only = entry[i]->d_name;
    }
    *name = visible == 1 ? lh_duplicate_text(only) : NULL;
    for (int i = 0; i < count; ++i)
        free(entry[i]);
    free(entry);
    return visible != 1 || *name != NULL ? LH_OK : LH_EMEMORY;
}

/* Reads a folder that holds nothing but one file of text; *read says whether it does. */
static lh_status read_only_file(lh_corpus *corpus, const char *folder, bool *read) {
    char *name = NULL, *path = NULL;
    struct stat about;
    *read = false;
    LH_TRY(only_entry(folder, &name));
    if (name == NULL) return LH_OK;
    lh_status status = LH_OK;
    path = lh_format("%s/%s", folder, name);
    if (path == NULL) {
        status = LH_EMEMORY;
    } else if (!lh_json_lines_is(name) && stat(path, &about) == 0 && S_ISREG(about.st_mode)) {
        *read = true;
        status = lh_corpus_read_single(corpus, name, path);
    }
    free(path);
    free(name);
    return status;
}

/* Walks the folder of a split; *any says whether there is one. */
static lh_status read_split(lh_corpus *corpus, const char *field, const char *folder,
                            lh_split split, bool *any) {
    static const char *const splits[LH_SPLITS] = {"train", "valid", "test"};
    char *path = lh_format("%s/%s", folder, splits[split]);
    if (path == NULL) return LH_EMEMORY;
    lh_status status = LH_OK;
    if (lh_is_folder(path)) {
        walk w = {.corpus = corpus, .field = field, .root = path, .split = split};
        *any = true;
        status = walk_folder(&w, path, 0);
    }
    free(path);
    return status;
}

lh_status lh_corpus_read_folder(lh_corpus *corpus, const char *field, const char *folder) {
    bool any = false;
    for (int s = 0; s < LH_SPLITS; ++s)
        LH_TRY(read_split(corpus, field, folder, (lh_split)s, &any));
    if (!any) LH_TRY(read_only_file(corpus, folder, &any));
    if (any) return LH_OK;
    walk w = {.corpus = corpus, .field = field, .root = folder, .split = -1};
    return walk_folder(&w, folder, 0);
}
