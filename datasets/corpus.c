#include "datasets/corpus.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "datasets/digest.h"
#include "datasets/json_lines.h"
#include "datasets/tokenizer.h"
#include "harness/engine/atomic_file.h"

const lh_option lh_corpus_config_options[] = {
    LH_TEXT("name", lh_corpus_config, name, "books",
            "books, latex, code, generate:KIND, a name that `longhaul data list` shows, or a "
            "folder or a file of JSON lines with a slash in its path"),
    LH_TEXT("tokens", lh_corpus_config, tokens, "bytes",
            "tokenizer: bytes, bpe:NAME, bpe:FOLDER, bpe:train:SIZE, sentencepiece:FILE.model, "
            "sentencepiece:NAME, sentencepiece:train:SIZE, words:FILE, words:train:SIZE; "
            ":NAME+NAME behind SIZE: trained on those"),
    LH_INTEGER("documents", lh_corpus_config, documents, 200, 1, 1e7,
               "generator: documents to train on"),
    LH_INTEGER("document_bytes", lh_corpus_config, document_bytes, 32768, 256, 1e9,
               "generator: size of a document"),
    LH_INTEGER("split_bytes", lh_corpus_config, split_bytes, 0, 0, 1e15,
               "cut longer documents into pieces of this size, documents of their own; 0: whole"),
    LH_INTEGER("limit_bytes", lh_corpus_config, limit_bytes, 0, 0, 1e15,
               "bytes of the train split to use; 0: all"),
    LH_INTEGER("limit_eval_bytes", lh_corpus_config, limit_eval_bytes, 0, 0, 1e15,
               "bytes of valid and of test to use; 0: all"),
    LH_INTEGER("limit_documents", lh_corpus_config, limit_documents, 0, 0, 1e12,
               "documents of the train split to use, the first by name; 0: all"),
    LH_INTEGER("valid_tokens", lh_corpus_config, valid_tokens, 0, 0, 1e12,
               "first tokens of every validation document to use; 0: all"),
    LH_INTEGER("data_seed", lh_corpus_config, data_seed, 1, 0, 9e15,
               "generator: seed of the documents"),
    LH_TEXT("field", lh_corpus_config, field, "",
            "JSON lines: the field that holds a document; empty: text"),
    {0}};

typedef struct item {
    char *name, *path, *text; /* text NULL until first used */
    size_t begin, bytes;      /* where in the file or text, and how long */
    int64_t words, count;
    int64_t read_bytes; /* raw text behind the tokens */
    int32_t *tokens;    /* NULL until first used */
} item;

typedef struct item_list {
    item *at;
    int64_t count, capacity;
    int64_t bytes, limit;    /* limit 0: none */
    int64_t limit_documents; /* 0: none */
} item_list;

struct lh_corpus {
    lh_tokenizer *tokenizer;
    item_list split[LH_SPLITS];
    int64_t split_bytes, valid_tokens;
    bool lines_count; /* as words */
    char source[LH_SOURCE_BYTES];
    char file[LH_PATH_BYTES]; /* lh_corpus_note_file; else empty */
    lh_digests *digests;      /* while files are added; else NULL */
    uint64_t digest;
};

/* ---- filling ---- */

static bool reserve(item_list *list) {
    if (list->count < list->capacity) return true;
    const int64_t capacity = list->capacity == 0 ? 64 : 2 * list->capacity;
    item *at = lh_reallocate(list->at, (size_t)capacity * sizeof *at);
    if (at == NULL) return false;
    list->at = at;
    list->capacity = capacity;
    return true;
}

static void item_clear(item *i) {
    free(i->name);
    free(i->path);
    free(i->text);
    free(i->tokens);
}

/* Whether the split still takes documents, and how much of the next one. */
static int64_t room(const item_list *list, int64_t bytes) {
    if (list->limit == 0) return bytes;
    const int64_t left = list->limit - list->bytes;
    return left < bytes ? left : bytes;
}

static bool is_full(const item_list *list) {
    return (list->limit_documents > 0 && list->count == list->limit_documents) ||
           (list->limit > 0 && list->bytes >= list->limit);
}

/* `content` is the digest of the whole file or text that the document is of. */
static lh_status add(lh_corpus *corpus, lh_split split, item made, uint64_t content) {
    item_list *list = &corpus->split[split];
    const int64_t bytes = room(list, (int64_t)made.bytes);
    const bool wanted = !is_full(list) && (bytes > 0 || (list->limit == 0 && made.bytes == 0));
    const bool whole = made.name != NULL && (made.path != NULL || made.text != NULL);
    if (!wanted || !whole || !reserve(list)) {
        const bool failed = wanted;
        item_clear(&made);
        return failed ? LH_EMEMORY : LH_OK;
    }
    made.bytes = (size_t)bytes;
    list->bytes += bytes;
    const uint64_t place[] = {(uint64_t)split, made.begin, made.bytes, content};
    corpus->digest = lh_digest_text(corpus->digest, made.name);
    corpus->digest = lh_digest_mix(corpus->digest, place, sizeof place);
    list->at[list->count++] = made;
    return LH_OK;
}

/* How many documents one file or text becomes. */
static size_t piece_count(const lh_corpus *corpus, size_t bytes) {
    const size_t size = (size_t)corpus->split_bytes;
    return size == 0 || bytes <= size ? 1 : (bytes + size - 1) / size;
}

/* Piece `index` of a document of `bytes`; name and place are the whole's. */
static item piece_of(const lh_corpus *corpus, const char *name, size_t bytes, size_t index) {
    const size_t size = (size_t)corpus->split_bytes;
    const size_t begin = index * size, left = bytes - begin;
    return (item){.name = lh_duplicate_text(name),
                  .begin = begin,
                  .bytes = size > 0 && left > size ? size : left,
                  .words = -1};
}

lh_status lh_corpus_add_file(lh_corpus *corpus, lh_split split, const char *name, const char *path,
                             int64_t bytes) {
    uint64_t content = 0;
    if (is_full(&corpus->split[split])) return LH_OK;
    if (corpus->digests == NULL) LH_TRY(lh_digests_create(&corpus->digests));
    LH_TRY(lh_digests_file(corpus->digests, path, &content));
    for (size_t i = 0; i < piece_count(corpus, (size_t)bytes); ++i) {
        item made = piece_of(corpus, name, (size_t)bytes, i);
        made.path = lh_duplicate_text(path);
        LH_TRY(add(corpus, split, made, content));
    }
    return LH_OK;
}

lh_status lh_corpus_add_text(lh_corpus *corpus, lh_split split, const char *name, char *text,
                             size_t bytes) {
    lh_status status = LH_OK;
    const uint64_t content = lh_digest_mix(0, text, bytes);
    for (size_t i = 0; i < piece_count(corpus, bytes) && status == LH_OK; ++i) {
        item made = piece_of(corpus, name, bytes, i);
        made.text = lh_allocate(made.bytes + 1);
        if (made.text != NULL) memcpy(made.text, text + made.begin, made.bytes);
        made.begin = 0;
        status = add(corpus, split, made, content);
    }
    free(text);
    return status;
}

/* ---- opening ---- */

static lh_status not_found(const char *name) {
    char folder[LH_DATA_FOLDERS][LH_PATH_BYTES] = {"", ""};
    int count = 0;
    LH_TRY(lh_data_folders(folder, &count));
    return lh_fail(LH_EIO,
                   "no data '%s': looked in %s%s%s; `longhaul data fetch %s` downloads a public "
                   "corpus, `longhaul data list` shows what is there",
                   name, count > 0 ? folder[0] : "no folder", count > 1 ? " and " : "",
                   count > 1 ? folder[1] : "", name);
}

static lh_status read_generated(lh_corpus *corpus, const char *kind,
                                const lh_corpus_config *config) {
    lh_source_generated(corpus->source, kind);
    return lh_corpus_read_generated(corpus, kind, config);
}

/* A folder or a file that was found at `path`. */
static lh_status read_found(lh_corpus *corpus, const char *path, bool stream,
                            const lh_corpus_config *config) {
    const char *field = config->field;
    if (stream) return lh_corpus_read_stream(corpus, config->name, path);
    if (field[0] == '\0') field = "text";
    if (lh_is_folder(path)) return lh_corpus_read_folder(corpus, field, path);
    if (!lh_json_lines_is(path))
        return lh_fail(LH_EFORMAT, "%s: neither a folder nor a file of JSON lines", path);
    return lh_corpus_read_lines(corpus, field, -1, strrchr(path, '/') + 1, path);
}

static void name_found(lh_corpus *corpus, const char *name, const char *path) {
    char what[64];
    (void)snprintf(what, sizeof what, "%lld documents",
                   (long long)(corpus->split[LH_TRAIN].count + corpus->split[LH_VALID].count +
                               corpus->split[LH_TEST].count));
    lh_source_found(corpus->source, name, what, corpus->file[0] != '\0' ? corpus->file : path);
}

static lh_status read_documents(lh_corpus *corpus, const char *name,
                                const lh_corpus_config *config) {
    static const char generate[] = "generate:";
    char path[LH_PATH_BYTES];
    bool found = true;
    if (strncmp(name, generate, sizeof generate - 1) == 0) {
        return read_generated(corpus, name + sizeof generate - 1, config);
    }
    const bool given = strchr(name, '/') != NULL && (lh_json_lines_is(name) || lh_is_folder(name));
    if (given) (void)snprintf(path, sizeof path, "%s", name);
    if (!given) LH_TRY(lh_data_find(name, path, &found));
    if (!found) {
        return lh_corpus_has_generator(name) ? read_generated(corpus, name, config)
                                             : not_found(name);
    }
    const bool stream = !given && lh_corpus_is_stream(name);
    LH_TRY(read_found(corpus, path, stream, config));
    name_found(corpus, name, path);
    return LH_OK;
}

lh_status lh_corpus_open_tokens(lh_corpus *corpus, const char *tokens) {
    uint64_t named = 0;
    if (lh_tokens_are_trained(tokens)) {
        LH_TRY(lh_trained_tokens_open(corpus, tokens, &named, &corpus->tokenizer));
    } else {
        LH_TRY(lh_tokenizer_open(tokens, &corpus->tokenizer));
        named = lh_tokenizer_digest(corpus->tokenizer);
    }
    if (named != 0) corpus->digest = lh_digest_mix(corpus->digest, &named, sizeof named);
    return LH_OK;
}

static lh_status fill(lh_corpus *corpus, const lh_corpus_config *config) {
    const char *tokens = config->tokens;
    corpus->split_bytes = config->split_bytes;
    corpus->valid_tokens = config->valid_tokens;
    corpus->split[LH_TRAIN].limit_documents = config->limit_documents;
    corpus->split[LH_TRAIN].limit = config->limit_bytes;
    corpus->split[LH_VALID].limit = config->limit_eval_bytes;
    corpus->split[LH_TEST].limit = corpus->split[LH_VALID].limit;
    const bool trained = lh_tokens_are_trained(tokens);
    if (!trained) LH_TRY(lh_corpus_open_tokens(corpus, tokens));
    LH_TRY(read_documents(corpus, config->name, config));
    if (corpus->digests != NULL) lh_digests_keep(corpus->digests);
    if (corpus->split[LH_TRAIN].count == 0) {
        return lh_fail(LH_EFORMAT, "data '%s' has no training documents", config->name);
    }
    return trained ? lh_corpus_open_tokens(corpus, tokens) : LH_OK;
}

lh_status lh_corpus_create(lh_corpus **out) {
    *out = lh_allocate_zeroed(1, sizeof **out);
    return *out != NULL ? LH_OK : LH_EMEMORY;
}

lh_status lh_corpus_open(const lh_corpus_config *config, lh_corpus **out) {
    lh_corpus *corpus = NULL;
    LH_TRY(lh_corpus_create(&corpus));
    const lh_status status = fill(corpus, config);
    if (status != LH_OK) {
        lh_corpus_destroy(corpus);
        return status;
    }
    *out = corpus;
    return LH_OK;
}

void lh_corpus_destroy(lh_corpus *corpus) {
    if (corpus == NULL) return;
    for (int s = 0; s < LH_SPLITS; ++s) {
        item_list *list = &corpus->split[s];
        for (int64_t i = 0; i < list->count; ++i)
            item_clear(&list->at[i]);
        free(list->at);
    }
    lh_digests_destroy(corpus->digests);
    lh_tokenizer_destroy(corpus->tokenizer);
    free(corpus);
}

/* ---- reading ---- */

void lh_corpus_note_file(lh_corpus *corpus, const char *path) {
    if (corpus->file[0] == '\0') (void)snprintf(corpus->file, sizeof corpus->file, "%s", path);
}

void lh_corpus_count_lines(lh_corpus *corpus) {
    corpus->lines_count = true;
}

static int64_t count_words(const lh_corpus *corpus, const char *text, size_t bytes) {
    int64_t words = 0;
    bool inside = false;
    for (size_t i = 0; i < bytes; ++i) {
        const bool blank = isspace((unsigned char)text[i]) != 0;
        words += (!blank && !inside) + (corpus->lines_count && text[i] == '\n');
        inside = !blank;
    }
    return words;
}

static lh_status load_text(item *i) {
    void *text = NULL;
    size_t bytes = 0;
    LH_TRY(lh_file_read_all(i->path, &text, &bytes));
    const bool whole = bytes >= i->begin + i->bytes;
    if (whole) memmove(text, (char *)text + i->begin, i->bytes);
    if (!whole) {
        free(text);
        return lh_fail(LH_EIO, "%s: shorter than when the corpus was opened", i->path);
    }
    i->text = text;
    return LH_OK;
}

/* Keeps the first tokens, and counts the text that they stand for. */
static lh_status cut_tokens(const lh_corpus *corpus, item *i, int64_t count) {
    char *text = NULL;
    size_t bytes = 0;
    if (count == 0 || i->count <= count) return LH_OK;
    LH_TRY(lh_tokenizer_decode(corpus->tokenizer, i->tokens, count, &text, &bytes));
    i->count = count;
    i->read_bytes = (int64_t)bytes;
    i->words = count_words(corpus, text, bytes);
    free(text);
    return LH_OK;
}

static lh_status encode(lh_corpus *corpus, lh_split split, item *i) {
    if (i->text == NULL) LH_TRY(load_text(i));
    i->words = count_words(corpus, i->text, i->bytes);
    i->read_bytes = (int64_t)i->bytes;
    LH_TRY(lh_tokenizer_encode(corpus->tokenizer, i->text, i->bytes, &i->tokens, &i->count));
    if (split == LH_VALID) LH_TRY(cut_tokens(corpus, i, corpus->valid_tokens));
    if (i->path == NULL) return LH_OK;
    free(i->text);
    i->text = NULL;
    return LH_OK;
}

lh_status lh_corpus_text(lh_corpus *corpus, lh_split split, int64_t index, const char **text,
                         size_t *bytes) {
    item *i = &corpus->split[split].at[index];
    if (i->text == NULL) LH_TRY(load_text(i));
    *text = i->text;
    *bytes = i->bytes;
    return LH_OK;
}

lh_status lh_corpus_document(lh_corpus *corpus, lh_split split, int64_t index, lh_document *out) {
    item_list *list = &corpus->split[split];
    if (index < 0 || index >= list->count) {
        return lh_fail(LH_EOPTION, "document %lld of %lld", (long long)index,
                       (long long)list->count);
    }
    item *i = &list->at[index];
    if (i->tokens == NULL) {
        const lh_status status = encode(corpus, split, i);
        if (status != LH_OK) {
            lh_note("document %s", i->name);
            free(i->tokens);
            i->tokens = NULL;
        }
        LH_TRY(status);
    }
    *out = (lh_document){.name = i->name,
                         .tokens = i->tokens,
                         .count = i->count,
                         .bytes = i->read_bytes,
                         .words = i->words};
    return LH_OK;
}

const lh_tokenizer *lh_corpus_tokenizer(const lh_corpus *corpus) {
    return corpus->tokenizer;
}

const char *lh_corpus_source(const lh_corpus *corpus) {
    return corpus->source;
}

uint64_t lh_corpus_digest(const lh_corpus *corpus) {
    return corpus->digest;
}

int64_t lh_corpus_documents(const lh_corpus *corpus, lh_split split) {
    return corpus->split[split].count;
}
