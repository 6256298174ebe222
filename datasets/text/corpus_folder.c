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

enum { HASHED = -1, NAMED = -2, NONE = -1 };

/* Where the files of a walk go: one split, or those that their names say, or their hashes. */
typedef struct walk {
    lh_corpus *corpus; /* NULL: files are looked at and not read */
    const char *field, *root;
    int split;            /* or NAMED or HASHED */
    int only;             /* files of this name go into the split; NONE: all do */
    bool said[LH_SPLITS]; /* by some file's name */
} walk;

/* What corpora of text end in; a program's test.c and train.py are no splits. */
static bool ends_text(const char *rest, bool may_lack) {
    static const char *const endings[] = {"", ".txt", ".tokens", ".raw", ".jsonl"};
    for (size_t i = may_lack ? 0 : 1; i < sizeof endings / sizeof endings[0]; ++i) {
        const size_t length = strlen(endings[i]);
        if (strncmp(rest, endings[i], length) == 0 &&
            (rest[length] == '\0' || strcmp(rest + length, ".gz") == 0))
            return true;
    }
    return false;
}

/* Behind a split's name: which of its pieces the file is, "-00000-of-00002", if any, and an ending,
 * ".txt" or ".jsonl.gz". A manual page is test.1, so that ".00" is a piece before an ending alone.
 */
static bool ends_name(const char *rest) {
    const bool is_piece =
        rest[0] != '\0' && strchr("-_.", rest[0]) != NULL && isdigit((unsigned char)rest[1]) != 0;
    const bool may_lack = !is_piece || rest[0] != '.';
    if (is_piece) rest += 1 + strspn(rest + 1, "0123456789of-_");
    return ends_text(rest, may_lack);
}

/* The split whose name begins here and is the last word before the ending; or NONE. */
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
    return NONE;
}

int lh_corpus_named_split(const char *path) {
    const char *slash = strrchr(path, '/'), *word = slash != NULL ? slash + 1 : path;
    int split = split_here(word);
    while (split == NONE && *(word += strcspn(word, "-_.")) != '\0')
        split = split_here(++word);
    return split;
}

/* A file without a split would be hashed into those that others have files of their own for. */
static lh_status refuse_unnamed(const char *path) {
    return lh_fail(LH_EFORMAT,
                   "%s: some files here are called after a split (train.jsonl, valid-00.txt, "
                   "wiki.test.tokens), others are not: move those away, or every file into one of "
                   "the folders train/, valid/ and test/",
                   path);
}

/* What is empty is no document, and its name says nothing. */
static lh_status read_file(walk *w, const char *name, const char *path, int64_t bytes) {
    if (bytes == 0) return LH_OK;
    const int said = lh_corpus_named_split(name), split = w->split == NAMED ? said : w->split;
    if (said != NONE) w->said[said] = true;
    if (w->corpus == NULL || (w->only != NONE && said != w->only)) return LH_OK;
    if (w->split == NAMED && said == NONE) return refuse_unnamed(path);
    if (lh_json_lines_is(name)) return lh_corpus_read_lines(w->corpus, w->field, split, name, path);
    const lh_split into = split == HASHED ? lh_split_by_name(name) : (lh_split)split;
    if (lh_name_ends(name, ".gz")) return lh_corpus_add_packed(w->corpus, into, name, path);
    return lh_corpus_add_file(w->corpus, into, name, path, bytes);
}

static lh_status walk_folder(walk *w, const char *folder, int depth);

static lh_status walk_path(walk *w, const char *path, int depth) {
    struct stat status;
    if (stat(path, &status) != 0) return lh_fail(LH_EIO, "%s: cannot be read", path);
    if (S_ISDIR(status.st_mode)) return walk_folder(w, path, depth);
    if (!S_ISREG(status.st_mode)) return LH_OK;
    return read_file(w, path + strlen(w->root) + 1, path, (int64_t)status.st_size);
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

/* Whether an entry of a folder is one that a walk visits: neither hidden nor an empty file. */
static bool is_visited(const char *folder, const char *entry) {
    struct stat about;
    char *path = entry[0] != '.' ? lh_format("%s/%s", folder, entry) : NULL;
    const bool is_there = path != NULL && stat(path, &about) == 0;
    free(path);
    return is_there && !(S_ISREG(about.st_mode) && about.st_size == 0);
}

/* The name of the one visible entry of a folder, NULL when there are none or more; gives. */
static lh_status only_entry(const char *folder, char **name) {
    struct dirent **entry = NULL;
    int visible = 0;
    const int count = scandir(folder, &entry, NULL, alphasort);
    const char *only = NULL;
    for (int i = 0; i < count; ++i) {
        if (!is_visited(folder, entry[i]->d_name)) continue;
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
        status = lh_corpus_read_only(corpus, name, path);
    }
    free(path);
    free(name);
    return status;
}

lh_status lh_corpus_read_only(lh_corpus *corpus, const char *name, const char *path) {
    if (lh_corpus_named_split(name) != NONE)
        LH_TRY(lh_corpus_add_note(corpus,
                                  "one file of text alone, cut 90 / 5 / 5 by place although "
                                  "it is called after a split"));
    return lh_corpus_read_single(corpus, name, path);
}

static const char no_test[] = "no test split: the validation split is read in its place";

static bool has_folder(const char *folder, const char *name) {
    char *path = lh_format("%s/%s", folder, name);
    const bool is_there = path != NULL && lh_is_folder(path);
    free(path);
    return is_there;
}

/* A folder dev/ among sources is no split, as long as none of the plain names is there. */
const char *lh_corpus_split_folder(const char *folder, lh_split split) {
    static const char *const validation[] = {"validation", "val", "dev"};
    const bool parted =
        has_folder(folder, "train") || has_folder(folder, "valid") || has_folder(folder, "test");
    if (!parted) return NULL;
    if (has_folder(folder, lh_split_names[split])) return lh_split_names[split];
    for (size_t i = 0; split == LH_VALID && i < sizeof validation / sizeof validation[0]; ++i)
        if (has_folder(folder, validation[i])) return validation[i];
    return NULL;
}

/* Walks folder/<name> into a split, unless there is none: NULL. */
static lh_status read_split(lh_corpus *corpus, const char *field, const char *folder,
                            const char *name, lh_split split) {
    if (name == NULL) return LH_OK;
    char *path = lh_format("%s/%s", folder, name);
    if (path == NULL) return LH_EMEMORY;
    walk w = {.corpus = corpus, .field = field, .root = path, .split = (int)split, .only = NONE};
    const lh_status status = walk_folder(&w, path, 0);
    free(path);
    return status;
}

/* Folders called train, valid and test; *any says whether there is one. */
static lh_status read_splits(lh_corpus *corpus, const char *field, const char *folder, bool *any) {
    const char *name[LH_SPLITS];
    *any = false;
    for (int s = 0; s < LH_SPLITS; ++s) {
        name[s] = lh_corpus_split_folder(folder, (lh_split)s);
        *any = *any || name[s] != NULL;
        LH_TRY(read_split(corpus, field, folder, name[s], (lh_split)s));
    }
    if (name[LH_TEST] != NULL || name[LH_VALID] == NULL) return LH_OK;
    LH_TRY(lh_corpus_add_note(corpus, no_test));
    return read_split(corpus, field, folder, name[LH_VALID], LH_TEST);
}

/* Files are of the splits that they are called after where these are two or more: a
 * driving-test.txt among essays says nothing. */
static lh_status read_files(lh_corpus *corpus, const char *field, const char *folder) {
    walk look = {.root = folder, .split = HASHED, .only = NONE};
    LH_TRY(walk_folder(&look, folder, 0));
    const int said = look.said[LH_TRAIN] + look.said[LH_VALID] + look.said[LH_TEST];
    walk w = {.corpus = corpus,
              .field = field,
              .root = folder,
              .split = said > 1 ? NAMED : HASHED,
              .only = NONE};
    if (said == 1)
        LH_TRY(lh_corpus_add_note(corpus, "files are called after one split alone: all are split "
                                          "by a hash of their names"));
    LH_TRY(walk_folder(&w, folder, 0));
    if (w.split == HASHED || look.said[LH_TEST]) return LH_OK;
    LH_TRY(lh_corpus_add_note(corpus, no_test));
    w.only = LH_VALID;
    w.split = LH_TEST;
    return walk_folder(&w, folder, 0);
}

static lh_status read_folder(lh_corpus *corpus, const char *field, const char *folder) {
    bool any = false;
    LH_TRY(read_splits(corpus, field, folder, &any));
    if (!any) LH_TRY(read_only_file(corpus, folder, &any));
    return any ? LH_OK : read_files(corpus, field, folder);
}

/* What there was no memory to look at counts as not there, and splits would be others. */
lh_status lh_corpus_read_folder(lh_corpus *corpus, const char *field, const char *folder) {
    const lh_status before = lh_error_get()->status;
    return lh_error_since(before, read_folder(corpus, field, folder));
}
