/* A vocabulary is a folder of the cache, named by kind, size and the digest of its text. */
#include "datasets/tokens/trained_tokens.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "datasets/locate.h"
#include "datasets/tokens/bpe.h"
#include "datasets/tokens/sentencepiece.h"
#include "datasets/tokens/words.h"
#include "harness/engine/atomic_file.h"
#include "harness/engine/file.h"
#include "harness/engine/text.h"

/* Enough text for a vocabulary of pieces; the rest of a large corpus is not read. Words are counted
 * in all of it. */
static const size_t most_bytes = (size_t)64 << 20;

/* ---- kinds: each trains into a folder that exists ---- */

typedef struct lh_trained_kind {
    const char *prefix;
    long long least;             /* pieces */
    const char *before, *behind; /* the folder, in the tokenizer's name */
    lh_status (*train)(const lh_text_source *from, int64_t pieces, const char *folder);
    const char *const *files; /* that it leaves in the folder */
} lh_trained_kind;

#ifdef LH_HAVE_SENTENCEPIECE

static lh_status write_line(void *to, const char *text, size_t bytes) {
    LH_TRY(lh_atomic_file_write(to, text, bytes));
    return lh_atomic_file_write(to, "\n", 1);
}

static lh_status write_text_file(const lh_text_source *from, const char *path) {
    lh_atomic_file *file = NULL;
    LH_TRY(lh_atomic_file_open(path, &file));
    const lh_status status = from->each(from->of, most_bytes, write_line, file);
    if (status == LH_OK) return lh_atomic_file_commit(file);
    lh_atomic_file_abandon(file);
    return status;
}

static lh_status train_pieces(const lh_text_source *from, int64_t pieces, const char *folder) {
    char *text = lh_format("%s/text", folder), *model = lh_format("%s/trained", folder);
    lh_status status = text != NULL && model != NULL ? LH_OK : LH_EMEMORY;
    if (status == LH_OK) status = write_text_file(from, text);
    if (status == LH_OK) {
        status = lh_sentencepiece_train(text, model, pieces);
        (void)remove(text);
    }
    free(text);
    free(model);
    return status;
}

static const char *const piece_files[] = {"trained.model", "trained.vocab", NULL};

#endif

#ifdef LH_HAVE_PCRE2

static lh_status add_text(void *to, const char *text, size_t bytes) {
    return lh_bpe_trainer_add(to, text, bytes);
}

static lh_status train_merges(const lh_text_source *from, int64_t pieces, const char *folder) {
    lh_bpe_trainer *trainer = NULL;
    LH_TRY(lh_bpe_trainer_create(&trainer));
    lh_status status = from->each(from->of, most_bytes, add_text, trainer);
    if (status == LH_OK) status = lh_bpe_trainer_write(trainer, pieces, folder);
    lh_bpe_trainer_destroy(trainer);
    return status;
}

static const char *const merge_files[] = {"vocab.json", "merges.txt", NULL};

#endif

static lh_status count_words(const lh_text_source *from, int64_t pieces, const char *folder) {
    lh_words *words = NULL;
    LH_TRY(lh_words_create(&words));
    char *path = lh_format("%s/words", folder);
    lh_status status = path != NULL ? LH_OK : LH_EMEMORY;
    if (status == LH_OK) status = from->each(from->of, SIZE_MAX, lh_words_count, words);
    if (status == LH_OK) status = lh_words_write(words, pieces, path);
    lh_words_destroy(words);
    free(path);
    return status;
}

static const char *const word_files[] = {"words", NULL};

static const lh_trained_kind kinds[] = {
    {"words:train:", 2, "words:", "/words", count_words, word_files},
#ifdef LH_HAVE_SENTENCEPIECE
    {"sentencepiece:train:", 16, "sentencepiece:", "/trained.model", train_pieces, piece_files},
#endif
#ifdef LH_HAVE_PCRE2
    {"bpe:train:", LH_BPE_BYTES, "bpe:", "", train_merges, merge_files},
#endif
    {NULL, 0, NULL, NULL, NULL, NULL},
};

static const lh_trained_kind *find_kind(const char *tokens) {
    for (const lh_trained_kind *kind = kinds; kind->prefix != NULL; ++kind)
        if (strncmp(tokens, kind->prefix, strlen(kind->prefix)) == 0) return kind;
    return NULL;
}

bool lh_tokens_are_trained(const char *tokens) {
    return find_kind(tokens) != NULL;
}

/* ---- keeping ---- */

/* Where it cannot, what is left is in nobody's way. */
static void remove_folder(const lh_trained_kind *kind, const char *folder) {
    const lh_status before = lh_error_get()->status;
    for (int i = 0; kind->files[i] != NULL; ++i) {
        char *path = lh_format("%s/%s", folder, kind->files[i]);
        if (path != NULL) (void)remove(path);
        free(path);
    }
    (void)rmdir(folder);
    lh_error_survive(before);
}

/* Renames what was trained in `fresh`; where another process was faster its vocabulary stays. */
static lh_status move_into_place(const char *fresh, const char *folder) {
    if (rename(fresh, folder) == 0 || errno == ENOTEMPTY || errno == EEXIST) return LH_OK;
    return lh_fail(LH_EIO, "%s: cannot be written", folder);
}

/* Trains in a folder of its own, so that a vocabulary is there whole or not at all. */
static lh_status train(const lh_trained_tokens *what, const lh_text_source *from,
                       const char *folder) {
    char *fresh = lh_format("%s.XXXXXX", folder);
    if (fresh == NULL) return LH_EMEMORY;
    lh_status status = LH_OK;
    if (mkdtemp(fresh) == NULL) {
        status = lh_fail(LH_EIO, "%s: cannot be made", fresh);
    } else {
        status = what->kind->train(from, what->pieces, fresh);
        if (status == LH_OK) status = move_into_place(fresh, folder);
        remove_folder(what->kind, fresh); /* gone where it was moved */
    }
    free(fresh);
    return status;
}

/* One folder for all, since folders of the cache are corpora to `longhaul data list`. */
static lh_status make_store(char **store) {
    char *cache = NULL;
    LH_TRY(lh_cache_folder(&cache));
    if (cache == NULL) return lh_fail(LH_EIO, "no cache folder: set HOME or XDG_CACHE_HOME");
    *store = lh_format("%s/vocabularies", cache);
    free(cache);
    return *store != NULL ? lh_make_folder(*store) : LH_EMEMORY;
}

static lh_status open_from(const lh_trained_tokens *what, const lh_text_source *source,
                           const char *folder, lh_tokenizer **out) {
    if (!lh_file_exists(folder)) LH_TRY(train(what, source, folder));
    char *name = lh_format("%s%s%s", what->kind->before, folder, what->kind->behind);
    if (name == NULL) return LH_EMEMORY;
    const lh_status status = lh_tokenizer_open(name, out);
    free(name);
    return status;
}

lh_status lh_trained_tokens_open(const lh_trained_tokens *what, const lh_text_source *source,
                                 lh_tokenizer **out) {
    const char *prefix = what->kind->prefix;
    char *store = NULL, *folder = NULL;
    lh_status status = make_store(&store);
    if (status == LH_OK) {
        folder = lh_format("%s/%.*s-%lld-%016llx", store, (int)strcspn(prefix, ":"), prefix,
                           (long long)what->pieces, (unsigned long long)source->digest);
        status = folder != NULL ? open_from(what, source, folder, out) : LH_EMEMORY;
    }
    free(folder);
    free(store);
    return status;
}

lh_status lh_trained_tokens_parse(const char *tokens, lh_trained_tokens *out) {
    const lh_trained_kind *kind = find_kind(tokens);
    char *rest = NULL;
    const long long pieces = strtoll(tokens + strlen(kind->prefix), &rest, 10);
    if (pieces < kind->least || pieces > 1000000 || (*rest != '\0' && *rest != ':'))
        return lh_fail(LH_EOPTION, "%s: a vocabulary has %lld to 1000000 pieces", tokens,
                       kind->least);
    *out = (lh_trained_tokens){
        .name = tokens, .kind = kind, .pieces = pieces, .corpora = *rest == ':' ? rest + 1 : NULL};
    return LH_OK;
}
