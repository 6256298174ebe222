/* Corpora as text to train on: a tokenizer is shown their documents and opens none itself. */
#include "datasets/text/vocabulary.h"

#include <stdlib.h>
#include <string.h>

#include "datasets/digest.h"
#include "datasets/text/corpus_read.h"
#include "datasets/tokens/trained_tokens.h"

enum { CORPORA = 8 };

typedef struct corpora {
    lh_corpus *at[CORPORA];
    int count;
} corpora;

/* ---- what is trained on ---- */

/* A visit that is counted. */
typedef struct shown {
    lh_text_visit *visit;
    void *to;
    size_t bytes;
} shown;

static lh_status show(void *to, const char *text, size_t bytes) {
    shown *s = to;
    s->bytes += bytes;
    return s->visit(s->to, text, bytes);
}

/* The documents of the train splits; of several corpora as much of each. */
static lh_status each_document(const void *of, size_t most, lh_text_visit *visit, void *to) {
    const corpora *from = of;
    for (int c = 0; c < from->count; ++c) {
        lh_corpus *corpus = from->at[c];
        const int64_t documents = lh_corpus_documents(corpus, LH_TRAIN);
        shown all = {.visit = visit, .to = to};
        for (int64_t i = 0; i < documents && all.bytes < most / (size_t)from->count; ++i)
            LH_TRY(lh_corpus_show_text(corpus, LH_TRAIN, i, show, &all));
    }
    return LH_OK;
}

static uint64_t digest_of(const corpora *from) {
    uint64_t digest = 0;
    for (int i = 0; i < from->count; ++i) {
        const uint64_t one = lh_corpus_digest(from->at[i]);
        digest = lh_digest_mix(digest, &one, sizeof one);
    }
    return digest;
}

static lh_status open_named(const char *name, lh_corpus **out) {
    lh_corpus_config config;
    lh_options_standard(lh_corpus_config_options, &config);
    config.name = name;
    return lh_corpus_read(&config, out);
}

/* "books+latex" */
static lh_status open_corpora(const char *names, corpora *from) {
    char *list = lh_duplicate_text(names), *rest = list;
    lh_status status = list != NULL ? LH_OK : LH_EMEMORY;
    for (char *name; status == LH_OK && (name = strtok_r(rest, "+", &rest)) != NULL;) {
        if (from->count == CORPORA) {
            status = lh_fail(LH_EOPTION, "%s: at most %d corpora for a vocabulary", names, CORPORA);
        } else {
            status = open_named(name, &from->at[from->count]);
            from->count += status == LH_OK;
        }
    }
    free(list);
    return status;
}

/* ---- opening ---- */

static lh_status train(const lh_trained_tokens *what, const corpora *from, lh_tokenizer **out) {
    const lh_text_source source = {.of = from, .each = each_document, .digest = digest_of(from)};
    if (from->count > 0) return lh_trained_tokens_open(what, &source, out);
    const size_t length =
        what->corpora != NULL ? (size_t)(what->corpora - what->name) - 1 : strlen(what->name);
    return lh_fail(LH_EOPTION, "%s: trained on what? name a corpus, as in %.*s:books", what->name,
                   (int)length, what->name);
}

/* On corpora that the name itself names. */
static lh_status train_on_named(const lh_trained_tokens *what, uint64_t *digest,
                                lh_tokenizer **out) {
    corpora from = {.count = 0};
    lh_status status = open_corpora(what->corpora, &from);
    if (status == LH_OK) status = train(what, &from, out);
    *digest = digest_of(&from);
    for (int i = 0; i < from.count; ++i)
        lh_corpus_destroy(from.at[i]);
    return status;
}

lh_status lh_vocabulary_open(lh_corpus *corpus, const char *tokens, uint64_t *digest,
                             lh_tokenizer **out) {
    uint64_t ignored = 0, *to = digest != NULL ? digest : &ignored;
    lh_trained_tokens what;
    *to = 0;
    if (!lh_tokens_are_trained(tokens)) {
        LH_TRY(lh_tokenizer_open(tokens, out));
        *to = lh_tokenizer_digest(*out);
        return LH_OK;
    }
    LH_TRY(lh_trained_tokens_parse(tokens, &what));
    if (what.corpora != NULL) return train_on_named(&what, to, out);
    const corpora own = {.at = {corpus}, .count = corpus != NULL};
    return train(&what, &own, out);
}

bool lh_vocabulary_needs_corpus(const char *tokens) {
    lh_trained_tokens what;
    if (!lh_tokens_are_trained(tokens)) return false;
    const bool good = lh_trained_tokens_parse(tokens, &what) == LH_OK;
    if (!good) lh_error_clear();
    return good && what.corpora == NULL;
}

lh_status lh_corpus_open_tokens(lh_corpus *corpus, const char *tokens) {
    lh_tokenizer *tokenizer = NULL;
    uint64_t digest = 0;
    LH_TRY(lh_vocabulary_open(corpus, tokens, &digest, &tokenizer));
    lh_corpus_set_tokenizer(corpus, tokenizer, digest);
    return LH_OK;
}
