/* Files are read when their text is shown, and when their tokens are first asked for. Tokens that
 * another run has made are found in the cache folder, and those that were made here go there when
 * the corpus is closed. */
#include "datasets/text/document_store.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "datasets/digest.h"
#include "datasets/text/token_cache.h"
#include "datasets/unpack.h"
#include "harness/engine/array.h"
#include "harness/engine/file.h"
#include "harness/engine/hash.h"
#include "harness/engine/text.h"
#include "harness/engine/utf8.h"

typedef struct item {
    char *name, *path, *text;   /* text NULL until first used */
    size_t begin, bytes;        /* where in the file or text, and how long */
    bool cut_before, cut_after; /* the file or text goes on there */
    bool goes_on;               /* its first word began in the piece before, which counts it */
    uint64_t content;           /* digest of the whole file or text that it is of */
    lh_encoded read;            /* without tokens until first used */
    int32_t *tokens;            /* of this item's own; NULL where the kept ones are read */
} item;

/* The file that was read last, whole, while pieces of it are asked for one after the other. */
typedef struct loaded_file {
    char *text; /* NULL: none */
    size_t bytes;
    uint64_t content;
} loaded_file;

/* A file for less text would cost more than encoding it again. */
enum { LEAST_KEPT_BYTES = 1 << 18 };

/* Whoever changes which bytes and words are counted of a text raises it: what is kept has them. */
enum { COUNTS_VERSION = 7 };

typedef struct item_list {
    item *at;
    int64_t count, capacity;
    int64_t bytes, limit;               /* limit 0: none */
    int64_t documents, limit_documents; /* before they are cut into pieces; limit 0: none */
} item_list;

struct lh_corpus {
    lh_tokenizer *tokenizer;
    item_list split[LH_SPLITS];
    int64_t split_bytes, valid_tokens;
    bool lines_count;    /* as words */
    char *source, *file; /* NULL until they are set or noted */
    lh_text notes;
    lh_digests *digests; /* while files are added; else NULL */
    loaded_file loaded;
    uint64_t digest;
    lh_token_cache *kept; /* NULL until `looked`, and where nothing is kept */
    bool looked;
    int64_t encoded_bytes; /* of text, by this process */
};

/* ---- filling ---- */

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
    return (list->limit_documents > 0 && list->documents == list->limit_documents) ||
           (list->limit > 0 && list->bytes >= list->limit);
}

static lh_status add(lh_corpus *corpus, lh_split split, item made) {
    item_list *list = &corpus->split[split];
    const int64_t bytes = room(list, (int64_t)made.bytes);
    const bool wanted = bytes > 0 || (list->limit == 0 && made.bytes == 0);
    const bool whole = made.name != NULL && (made.path != NULL || made.text != NULL);
    lh_status status = !wanted || whole ? LH_OK : LH_EMEMORY;
    if (wanted && whole)
        status = lh_array_reserve(&list->at, &list->capacity, list->count + 1, sizeof *list->at);
    if (!wanted || status != LH_OK) {
        item_clear(&made);
        return status;
    }
    made.cut_after = made.cut_after || (size_t)bytes < made.bytes;
    made.bytes = (size_t)bytes;
    list->bytes += bytes;
    const uint64_t place[] = {(uint64_t)split, made.begin, made.bytes, made.content};
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

/* Whether a piece that begins there goes on with a word. */
static bool is_inside_word(const char *text, size_t begin) {
    return begin > 0 && isspace((unsigned char)text[begin - 1]) == 0;
}

/* Piece `index` of a document of `bytes`; name and content are the whole's. */
static item piece_of(const lh_corpus *corpus, const char *name, size_t bytes, uint64_t content,
                     size_t index) {
    const size_t size = (size_t)corpus->split_bytes;
    const size_t begin = index * size, left = bytes - begin;
    return (item){.name = lh_duplicate_text(name),
                  .begin = begin,
                  .bytes = size > 0 && left > size ? size : left,
                  .cut_before = index > 0,
                  .cut_after = size > 0 && left > size,
                  .content = content};
}

lh_status lh_corpus_add_file(lh_corpus *corpus, lh_split split, const char *name, const char *path,
                             int64_t bytes) {
    uint64_t content = 0;
    bool has_nul = false;
    if (is_full(&corpus->split[split])) return LH_OK;
    if (corpus->digests == NULL) LH_TRY(lh_digests_create(&corpus->digests));
    LH_TRY(lh_digests_file(corpus->digests, path, &content, &has_nul));
    if (has_nul) return lh_text_refuse(path);
    corpus->split[split].documents += 1;
    for (size_t i = 0; i < piece_count(corpus, (size_t)bytes); ++i) {
        item made = piece_of(corpus, name, (size_t)bytes, content, i);
        made.path = lh_duplicate_text(path);
        LH_TRY(add(corpus, split, made));
    }
    return LH_OK;
}

lh_status lh_corpus_add_part(lh_corpus *corpus, lh_split split, const char *name, const char *text,
                             size_t bytes, size_t begin, size_t end) {
    const size_t count = piece_count(corpus, end - begin);
    const uint64_t content = lh_digest_mix(0, text + begin, end - begin);
    if (is_full(&corpus->split[split])) return LH_OK;
    corpus->split[split].documents += 1;
    for (size_t i = 0; i < count; ++i) {
        item made = piece_of(corpus, name, end - begin, content, i);
        made.cut_before = made.cut_before || begin > 0;
        made.cut_after = made.cut_after || end < bytes;
        made.goes_on = is_inside_word(text, begin + made.begin);
        made.text = lh_allocate(made.bytes + 1);
        if (made.text != NULL) memcpy(made.text, text + begin + made.begin, made.bytes);
        made.begin = 0;
        LH_TRY(add(corpus, split, made));
    }
    return LH_OK;
}

lh_status lh_corpus_add_text(lh_corpus *corpus, lh_split split, const char *name, char *text,
                             size_t bytes) {
    const lh_status status = lh_corpus_add_part(corpus, split, name, text, bytes, 0, bytes);
    free(text);
    return status;
}

lh_status lh_corpus_add_packed(lh_corpus *corpus, lh_split split, const char *name,
                               const char *path) {
    lh_text text;
    if (is_full(&corpus->split[split])) return LH_OK;
    LH_TRY(lh_text_unpack(path, &text));
    if (text.bytes == 0) {
        free(text.data);
        return LH_OK;
    }
    return lh_corpus_add_text(corpus, split, name, text.data, text.bytes);
}

/* ---- opening ---- */

lh_status lh_corpus_create(const lh_corpus_config *limits, lh_corpus **out) {
    lh_corpus *corpus = lh_allocate_zeroed(1, sizeof *corpus);
    *out = corpus;
    if (corpus == NULL || limits == NULL) return corpus != NULL ? LH_OK : LH_EMEMORY;
    corpus->split_bytes = limits->split_bytes;
    corpus->valid_tokens = limits->valid_tokens;
    corpus->split[LH_TRAIN].limit_documents = limits->limit_documents;
    corpus->split[LH_TRAIN].limit = limits->limit_bytes;
    corpus->split[LH_VALID].limit = limits->limit_eval_bytes;
    corpus->split[LH_TEST].limit = limits->limit_eval_bytes;
    return LH_OK;
}

/* ---- what is known of the whole ---- */

void lh_corpus_keep_digests(lh_corpus *corpus) {
    if (corpus->digests != NULL) lh_digests_keep(corpus->digests);
}

lh_status lh_corpus_note_file(lh_corpus *corpus, const char *path) {
    if (corpus->file == NULL) corpus->file = lh_duplicate_text(path);
    return corpus->file != NULL ? LH_OK : LH_EMEMORY;
}

const char *lh_corpus_noted_file(const lh_corpus *corpus) {
    return corpus->file;
}

lh_status lh_corpus_add_note(lh_corpus *corpus, const char *line) {
    return lh_text_add_line(&corpus->notes, "%s", line);
}

const char *lh_corpus_notes(const lh_corpus *corpus) {
    return corpus->notes.data;
}

void lh_corpus_set_source(lh_corpus *corpus, char *source) {
    free(corpus->source);
    corpus->source = source;
}

void lh_corpus_set_tokenizer(lh_corpus *corpus, lh_tokenizer *tokenizer, uint64_t digest) {
    lh_tokenizer_destroy(corpus->tokenizer);
    corpus->tokenizer = tokenizer;
    if (digest != 0) corpus->digest = lh_digest_mix(corpus->digest, &digest, sizeof digest);
}

lh_split lh_split_by_name(const char *name) {
    const uint64_t hundredth = lh_hash_text(name, strlen(name)) % 100;
    return hundredth < 90 ? LH_TRAIN : hundredth < 95 ? LH_VALID : LH_TEST;
}

void lh_corpus_count_lines(lh_corpus *corpus) {
    corpus->lines_count = true;
}

/* ---- reading ---- */

/* Words that begin in the first `bytes` of an item's text. */
static int64_t count_words(const lh_corpus *corpus, const item *i, size_t bytes) {
    int64_t words = 0;
    bool inside = i->goes_on;
    for (size_t b = 0; b < bytes; ++b) {
        const bool blank = isspace((unsigned char)i->text[b]) != 0;
        words += (!blank && !inside) + (corpus->lines_count && i->text[b] == '\n');
        inside = !blank;
    }
    return words;
}

static void forget_file(lh_corpus *corpus) {
    free(corpus->loaded.text);
    corpus->loaded = (loaded_file){0};
}

static lh_status refuse_changed(const item *i) {
    return lh_fail(LH_EIO, "%s: changed since the corpus was opened", i->path);
}

/* What was digested is what is read: tokens of another text would be kept under its name. */
static lh_status load_file(lh_corpus *corpus, const item *i) {
    void *text = NULL;
    size_t bytes = 0;
    if (corpus->loaded.text != NULL && corpus->loaded.content == i->content) return LH_OK;
    forget_file(corpus);
    LH_TRY(lh_file_read_all(i->path, &text, &bytes));
    if (lh_digest_content(0, text, bytes) != i->content) {
        free(text);
        return refuse_changed(i);
    }
    corpus->loaded = (loaded_file){.text = text, .bytes = bytes, .content = i->content};
    return LH_OK;
}

/* Whether the document behind this one is of the same file. */
static bool file_goes_on(const item_list *list, const item *i) {
    const item *next = i + 1;
    return next < list->at + list->count && next->path != NULL && next->content == i->content;
}

/* Reads a file once for all of its pieces in order: each is a copy, but the last takes the block.
 * Its size was told, and may be that of before it was digested. */
static lh_status load_text(lh_corpus *corpus, lh_split split, item *i) {
    loaded_file *file = &corpus->loaded;
    LH_TRY(load_file(corpus, i));
    if (i->begin + i->bytes > file->bytes) return refuse_changed(i);
    i->goes_on = is_inside_word(file->text, i->begin);
    if (!file_goes_on(&corpus->split[split], i)) {
        memmove(file->text, file->text + i->begin, i->bytes);
        i->text = file->text;
        *file = (loaded_file){0};
        return LH_OK;
    }
    i->text = lh_allocate(i->bytes + 1);
    if (i->text == NULL) return LH_EMEMORY;
    memcpy(i->text, file->text + i->begin, i->bytes);
    return LH_OK;
}

/* What lies in a file can be read again. */
static void release_text(item *i) {
    if (i->path == NULL) return;
    free(i->text);
    i->text = NULL;
}

/* Leaves out a character that was cut through: neither piece has its bytes. */
static void keep_characters(item *i) {
    const size_t rest = i->cut_before ? lh_utf8_rest(i->text, i->bytes) : 0;
    i->begin += rest;
    i->bytes -= rest;
    memmove(i->text, i->text + rest, i->bytes);
    if (i->cut_after) i->bytes -= lh_utf8_begun(i->text, i->bytes);
}

/* How many tokens the first `bytes` of a text are. */
static lh_status count_tokens(const lh_tokenizer *tokenizer, const char *text, size_t bytes,
                              int64_t *count) {
    int32_t *tokens = NULL;
    LH_TRY(lh_tokenizer_encode(tokenizer, text, bytes, &tokens, count));
    free(tokens);
    return LH_OK;
}

/* Whether the first `count` tokens of an item give the beginning of its text back, of *bytes. */
static lh_status come_back(const lh_tokenizer *tokenizer, const item *i, int64_t count,
                           size_t *bytes, bool *back) {
    char *text = NULL;
    LH_TRY(lh_tokenizer_decode(tokenizer, i->tokens, count, &text, bytes));
    *back = *bytes <= i->bytes && memcmp(text, i->text, *bytes) == 0;
    free(text);
    return LH_OK;
}

/* The bytes of an item's text that its first `count` tokens stand for. Of tokens that do not give
 * the text back these are the longest beginning of it that has no more tokens. */
static lh_status find_cut(const lh_tokenizer *tokenizer, const item *i, int64_t count,
                          size_t *bytes) {
    size_t high = i->bytes;
    bool back = false;
    LH_TRY(come_back(tokenizer, i, count, bytes, &back));
    if (back) return LH_OK;
    for (size_t low = 0; high - low > 1;) {
        const size_t middle = low + (high - low) / 2;
        int64_t found = 0;
        *bytes = middle - lh_utf8_begun(i->text, middle);
        LH_TRY(count_tokens(tokenizer, i->text, *bytes, &found));
        if (found > count) {
            high = middle;
        } else {
            low = middle;
        }
    }
    *bytes = high - 1 - lh_utf8_begun(i->text, high - 1);
    return LH_OK;
}

/* Keeps the first tokens, and counts the text that they stand for. */
static lh_status cut_tokens(const lh_corpus *corpus, item *i, int64_t count) {
    size_t bytes = 0;
    if (count == 0 || i->read.count <= count) return LH_OK;
    LH_TRY(find_cut(corpus->tokenizer, i, count, &bytes));
    i->read.count = count;
    i->read.bytes = (int64_t)bytes;
    i->read.words = count_words(corpus, i, bytes);
    return LH_OK;
}

/* Bits over the bytes or words of a split say nothing where a token of no spelling stands in for
 * too many of them. Nobody counts what is trained on. */
static int64_t count_unspelled(const lh_corpus *corpus, lh_split split, const item *i) {
    if (split == LH_TRAIN) return 0;
    return lh_tokenizer_unspelled(corpus->tokenizer, i->text, (size_t)i->read.bytes, i->tokens,
                                  i->read.count);
}

static lh_status encode(lh_corpus *corpus, lh_split split, item *i) {
    const lh_status before = lh_error_get()->status;
    if (i->text == NULL) LH_TRY(load_text(corpus, split, i));
    if (lh_tokenizer_reads_characters(corpus->tokenizer)) keep_characters(i);
    i->read.words = count_words(corpus, i, i->bytes);
    i->read.bytes = (int64_t)i->bytes;
    LH_TRY(lh_tokenizer_encode(corpus->tokenizer, i->text, i->bytes, &i->tokens, &i->read.count));
    if (split == LH_VALID) LH_TRY(cut_tokens(corpus, i, corpus->valid_tokens));
    i->read.unspelled = count_unspelled(corpus, split, i);
    LH_TRY(lh_error_since(before, LH_OK));
    i->read.tokens = i->tokens;
    corpus->encoded_bytes += (int64_t)i->bytes;
    release_text(i);
    return LH_OK;
}

/* ---- kept tokens ---- */

static int64_t count_items(const lh_corpus *corpus, int splits) {
    int64_t count = 0;
    for (int s = 0; s < splits; ++s)
        count += corpus->split[s].count;
    return count;
}

/* Of all that the tokens of its documents follow from; 0: they are not worth keeping. */
static uint64_t key_of_tokens(const lh_corpus *corpus) {
    const uint64_t tokenizer = corpus->tokenizer != NULL ? lh_tokenizer_key(corpus->tokenizer) : 0;
    const uint64_t parts[] = {corpus->digest, tokenizer, (uint64_t)corpus->valid_tokens,
                              corpus->lines_count, COUNTS_VERSION};
    return tokenizer != 0 ? lh_digest_mix(0, parts, sizeof parts) : 0;
}

static lh_encoded find_kept(lh_corpus *corpus, lh_split split, int64_t index) {
    const uint64_t key = corpus->looked ? 0 : key_of_tokens(corpus);
    if (key != 0) corpus->kept = lh_token_cache_open(key, count_items(corpus, LH_SPLITS));
    corpus->looked = true;
    if (corpus->kept == NULL) return (lh_encoded){0};
    return lh_token_cache_find(corpus->kept, count_items(corpus, (int)split) + index);
}

static void keep_tokens(const lh_corpus *corpus) {
    const int64_t documents = count_items(corpus, LH_SPLITS);
    const uint64_t key = key_of_tokens(corpus);
    if (key == 0 || corpus->encoded_bytes < LEAST_KEPT_BYTES) return;
    const lh_status before = lh_error_get()->status;
    lh_encoded *all = lh_allocate((size_t)documents * sizeof *all), *next = all;
    for (int s = 0; all != NULL && s < LH_SPLITS; ++s)
        for (int64_t i = 0; i < corpus->split[s].count; ++i)
            *next++ = corpus->split[s].at[i].read;
    if (all != NULL) lh_token_cache_keep(key, all, documents);
    free(all);
    lh_error_survive(before);
}

/* ---- the end ---- */

void lh_corpus_destroy(lh_corpus *corpus) {
    if (corpus == NULL) return;
    keep_tokens(corpus);
    for (int s = 0; s < LH_SPLITS; ++s) {
        item_list *list = &corpus->split[s];
        for (int64_t i = 0; i < list->count; ++i)
            item_clear(&list->at[i]);
        free(list->at);
    }
    lh_token_cache_close(corpus->kept);
    lh_digests_destroy(corpus->digests);
    forget_file(corpus);
    lh_tokenizer_destroy(corpus->tokenizer);
    free(corpus->source);
    free(corpus->file);
    free(corpus->notes.data);
    free(corpus);
}

/* ---- what readers ask for ---- */

lh_status lh_corpus_show_text(lh_corpus *corpus, lh_split split, int64_t index,
                              lh_text_visit *visit, void *to) {
    item *i = &corpus->split[split].at[index];
    if (i->text == NULL) LH_TRY(load_text(corpus, split, i));
    const lh_status status = visit(to, i->text, i->bytes);
    release_text(i);
    return status;
}

lh_status lh_corpus_document(lh_corpus *corpus, lh_split split, int64_t index, lh_document *out) {
    item_list *list = &corpus->split[split];
    if (index < 0 || index >= list->count) {
        return lh_fail(LH_EOPTION, "document %lld of %lld", (long long)index,
                       (long long)list->count);
    }
    item *i = &list->at[index];
    if (i->read.tokens == NULL) i->read = find_kept(corpus, split, index);
    if (i->read.tokens == NULL) {
        const lh_status status = encode(corpus, split, i);
        if (status != LH_OK) {
            lh_note("document %s", i->name);
            free(i->tokens);
            i->tokens = NULL;
        }
        LH_TRY(status);
    }
    *out = (lh_document){.name = i->name,
                         .tokens = i->read.tokens,
                         .count = i->read.count,
                         .bytes = (double)i->read.bytes,
                         .words = (double)i->read.words,
                         .unspelled = (double)i->read.unspelled};
    return LH_OK;
}

const lh_tokenizer *lh_corpus_tokenizer(const lh_corpus *corpus) {
    return corpus->tokenizer;
}

const char *lh_corpus_source(const lh_corpus *corpus) {
    return corpus->source != NULL ? corpus->source : "";
}

uint64_t lh_corpus_digest(const lh_corpus *corpus) {
    return corpus->digest;
}

int64_t lh_corpus_documents(const lh_corpus *corpus, lh_split split) {
    return corpus->split[split].count;
}
