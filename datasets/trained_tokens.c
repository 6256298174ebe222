/* "KIND:train:SIZE" and "KIND:train:SIZE:NAME+NAME": a vocabulary trained once on the train split
 * of the corpus itself, or of the named corpora, and kept in the cache folder under their digest.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "datasets/bpe.h"
#include "datasets/corpus.h"
#include "datasets/digest.h"
#include "datasets/tokenizer.h"
#include "datasets/words.h"
#include "harness/engine/atomic_file.h"

enum { CORPORA = 8, NAME_BYTES = 512 };

/* Enough text for a vocabulary of pieces; the rest of a large corpus is not read. Words are counted
 * in all of it. */
static const size_t most_bytes = (size_t)64 << 20;

typedef struct corpora {
    lh_corpus *at[CORPORA];
    int count;
    bool owned;
} corpora;

/* Shows `visit` the documents of the train splits, about `most` bytes of them. */
typedef lh_status each_text(void *to, const char *text, size_t bytes);

static lh_status visit_texts(const corpora *from, size_t most, each_text *visit, void *to) {
    for (int c = 0; c < from->count; ++c) {
        lh_corpus *corpus = from->at[c];
        const int64_t documents = lh_corpus_documents(corpus, LH_TRAIN);
        size_t seen = 0;
        for (int64_t i = 0; i < documents && seen < most / (size_t)from->count; ++i) {
            const char *text = NULL;
            size_t bytes = 0;
            LH_TRY(lh_corpus_text(corpus, LH_TRAIN, i, &text, &bytes));
            LH_TRY(visit(to, text, bytes));
            seen += bytes;
        }
    }
    return LH_OK;
}

/* ---- kinds: each trains into a folder that exists ---- */

typedef struct trained_kind {
    const char *prefix;
    long long least;             /* pieces */
    const char *before, *behind; /* the folder, in the tokenizer's name */
    lh_status (*train)(const corpora *from, int64_t pieces, const char *folder);
    const char *const *files; /* that it leaves in the folder */
} trained_kind;

#ifdef LH_HAVE_SENTENCEPIECE

static lh_status write_line(void *to, const char *text, size_t bytes) {
    LH_TRY(lh_atomic_file_write(to, text, bytes));
    return lh_atomic_file_write(to, "\n", 1);
}

static lh_status write_text_file(const corpora *from, const char *path) {
    lh_atomic_file *file = NULL;
    LH_TRY(lh_atomic_file_open(path, &file));
    const lh_status status = visit_texts(from, most_bytes, write_line, file);
    if (status == LH_OK) return lh_atomic_file_commit(file);
    lh_atomic_file_abandon(file);
    return status;
}

static lh_status train_pieces(const corpora *from, int64_t pieces, const char *folder) {
    char text[LH_PATH_BYTES], model[LH_PATH_BYTES];
    (void)snprintf(text, sizeof text, "%.4000s/text", folder);
    (void)snprintf(model, sizeof model, "%.4000s/trained", folder);
    LH_TRY(write_text_file(from, text));
    const lh_status status = lh_sentencepiece_train(text, model, pieces);
    (void)remove(text);
    return status;
}

static const char *const piece_files[] = {"trained.model", "trained.vocab", NULL};

#endif

#ifdef LH_HAVE_PCRE2

static lh_status add_text(void *to, const char *text, size_t bytes) {
    return lh_bpe_trainer_add(to, text, bytes);
}

static lh_status train_merges(const corpora *from, int64_t pieces, const char *folder) {
    lh_bpe_trainer *trainer = NULL;
    LH_TRY(lh_bpe_trainer_create(&trainer));
    lh_status status = visit_texts(from, most_bytes, add_text, trainer);
    if (status == LH_OK) status = lh_bpe_trainer_write(trainer, pieces, folder);
    lh_bpe_trainer_destroy(trainer);
    return status;
}

static const char *const merge_files[] = {"vocab.json", "merges.txt", NULL};

#endif

static lh_status count_words(const corpora *from, int64_t pieces, const char *folder) {
    char path[LH_PATH_BYTES];
    lh_words *words = NULL;
    (void)snprintf(path, sizeof path, "%.4000s/words", folder);
    LH_TRY(lh_words_create(&words));
    lh_status status = visit_texts(from, SIZE_MAX, lh_words_count, words);
    if (status == LH_OK) status = lh_words_write(words, pieces, path);
    lh_words_destroy(words);
    return status;
}

static const char *const word_files[] = {"words", NULL};

static const trained_kind kinds[] = {
    {"words:train:", 2, "words:", "/words", count_words, word_files},
#ifdef LH_HAVE_SENTENCEPIECE
    {"sentencepiece:train:", 16, "sentencepiece:", "/trained.model", train_pieces, piece_files},
#endif
#ifdef LH_HAVE_PCRE2
    {"bpe:train:", LH_BPE_BYTES, "bpe:", "", train_merges, merge_files},
#endif
    {NULL, 0, NULL, NULL, NULL, NULL},
};

static const trained_kind *find_kind(const char *tokens) {
    for (const trained_kind *kind = kinds; kind->prefix != NULL; ++kind)
        if (strncmp(tokens, kind->prefix, strlen(kind->prefix)) == 0) return kind;
    return NULL;
}

bool lh_tokens_are_trained(const char *tokens) {
    return find_kind(tokens) != NULL;
}

/* ---- what is trained on ---- */

static lh_status open_named(const char *name, lh_corpus **out) {
    lh_corpus_config config;
    lh_options_standard(lh_corpus_config_options, &config);
    config.name = name;
    return lh_corpus_open(&config, out);
}

static lh_status open_corpora(const char *names, corpora *from) {
    char list[NAME_BYTES], *rest = list;
    from->owned = true;
    if (strlen(names) >= sizeof list)
        return lh_fail(LH_EOPTION, "%s: the list of corpora is too long", names);
    memcpy(list, names, strlen(names) + 1);
    for (char *name; (name = strtok_r(rest, "+", &rest)) != NULL; ++from->count) {
        if (from->count == CORPORA)
            return lh_fail(LH_EOPTION, "%s: at most %d corpora for a vocabulary", names, CORPORA);
        LH_TRY(open_named(name, &from->at[from->count]));
    }
    return LH_OK;
}

static void close_corpora(corpora *from) {
    for (int i = 0; from->owned && i < from->count; ++i)
        lh_corpus_destroy(from->at[i]);
}

static uint64_t digest_of(const corpora *from) {
    uint64_t digest = 0;
    for (int i = 0; i < from->count; ++i) {
        const uint64_t one = lh_corpus_digest(from->at[i]);
        digest = lh_digest_mix(digest, &one, sizeof one);
    }
    return digest;
}

/* ---- keeping ---- */

static void remove_folder(const trained_kind *kind, const char *folder) {
    char path[LH_PATH_BYTES];
    for (int i = 0; kind->files[i] != NULL; ++i) {
        (void)snprintf(path, sizeof path, "%.4000s/%s", folder, kind->files[i]);
        (void)remove(path);
    }
    (void)rmdir(folder);
}

/* Trains in a folder of its own and renames it, so that a vocabulary is there whole or not at all
 * though several processes want it at once: the first to finish wins. */
static lh_status train(const trained_kind *kind, const corpora *from, int64_t pieces,
                       const char *folder) {
    char fresh[LH_PATH_BYTES];
    (void)snprintf(fresh, sizeof fresh, "%.4000s.XXXXXX", folder);
    if (mkdtemp(fresh) == NULL) return lh_fail(LH_EIO, "%s: cannot be made", fresh);
    const lh_status status = kind->train(from, pieces, fresh);
    if (status == LH_OK && rename(fresh, folder) == 0) return LH_OK;
    const bool lost = status == LH_OK && (errno == ENOTEMPTY || errno == EEXIST);
    remove_folder(kind, fresh);
    if (status != LH_OK || lost) return status;
    return lh_fail(LH_EIO, "%s: cannot be written", folder);
}

/* One folder for all, since folders of the cache are corpora to `longhaul data list`. */
static lh_status make_store(char store[LH_PATH_BYTES]) {
    char cache[LH_PATH_BYTES];
    lh_cache_folder(cache);
    if (cache[0] == '\0') return lh_fail(LH_EIO, "no cache folder: set HOME or XDG_CACHE_HOME");
    (void)snprintf(store, LH_PATH_BYTES, "%.3900s/vocabularies", cache);
    return lh_make_folder(store);
}

static lh_status open_trained(const trained_kind *kind, const corpora *from, int64_t pieces,
                              lh_tokenizer **out) {
    char store[LH_PATH_BYTES], folder[LH_PATH_BYTES], name[LH_PATH_BYTES + 32];
    struct stat state;
    LH_TRY(make_store(store));
    (void)snprintf(folder, sizeof folder, "%.3950s/%.*s-%lld-%016llx", store,
                   (int)strcspn(kind->prefix, ":"), kind->prefix, (long long)pieces,
                   (unsigned long long)digest_of(from));
    if (stat(folder, &state) != 0) LH_TRY(train(kind, from, pieces, folder));
    (void)snprintf(name, sizeof name, "%s%s%s", kind->before, folder, kind->behind);
    return lh_tokenizer_open(name, out);
}

lh_status lh_trained_tokens_open(lh_corpus *corpus, const char *tokens, uint64_t *named,
                                 lh_tokenizer **out) {
    const trained_kind *kind = find_kind(tokens);
    corpora from = {.at = {corpus}, .count = corpus != NULL};
    char *rest = NULL;
    const long long pieces = strtoll(tokens + strlen(kind->prefix), &rest, 10);
    if (pieces < kind->least || pieces > 1000000 || (*rest != '\0' && *rest != ':'))
        return lh_fail(LH_EOPTION, "%s: a vocabulary has %lld to 1000000 pieces", tokens,
                       kind->least);
    lh_status status = LH_OK;
    if (*rest == ':') {
        from = (corpora){.count = 0};
        status = open_corpora(rest + 1, &from);
    }
    if (status == LH_OK && from.count == 0)
        status = lh_fail(LH_EOPTION, "%s: trained on what? name a corpus, as in %s%lld:books",
                         tokens, kind->prefix, pieces);
    if (status == LH_OK) status = open_trained(kind, &from, pieces, out);
    *named = from.owned ? digest_of(&from) : 0;
    close_corpora(&from);
    return status;
}
