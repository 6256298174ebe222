/* Byte-level BPE as GPT-2 has it (Radford et al. 2019, section 2.2): text is cut into pieces by a
 * pattern, and in every piece the neighbours of the lowest rank are merged until none has a rank.
 *
 * Every byte is a token, so that nothing is unknown and any bytes come back. Bytes that are no
 * UTF-8 are pieces of their own. Two files make a vocabulary: a JSON object of tokens and their
 * ids, and the merges in the order of their ranks; both write bytes as printable characters. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "datasets/bpe.h"
#include "datasets/corpus.h"
#include "datasets/digest.h"
#include "datasets/tokenizer.h"
#include "datasets/unpack.h"

enum {
    NOTHING = -1,
    CACHE_SLOTS = 1 << 15, /* pieces that were encoded before, found by their hash */
    CACHE_BYTES = 24       /* longer pieces are rare */
};

typedef struct token {
    unsigned char *bytes;
    int32_t length;
} token;

/* Two neighbours that become one. An empty slot has left NOTHING. */
typedef struct merge {
    int32_t left, right, rank, merged;
} merge;

typedef struct cached_piece {
    int32_t length, count; /* length 0: empty */
    unsigned char bytes[CACHE_BYTES];
    int32_t ids[CACHE_BYTES];
} cached_piece;

typedef struct bpe {
    int32_t count;  /* of tokens */
    token *tokens;  /* by id */
    int32_t *index; /* open addressing: id by bytes */
    uint32_t index_mask;
    merge *merges; /* open addressing by (left, right) */
    uint32_t merge_mask;
    int32_t byte[LH_BPE_BYTES]; /* id of each byte */
    lh_bpe_pattern *pattern;
    cached_piece *cache; /* so an instance belongs to one thread */
} bpe;

/* ---- finding ---- */

static bool is_token(const token *t, const unsigned char *bytes, int32_t length) {
    return t->length == length && memcmp(t->bytes, bytes, (size_t)length) == 0;
}

/* Slot of a token in the index: its own, or the empty one where it would stand. */
static uint32_t token_slot(const bpe *b, const unsigned char *bytes, int32_t length) {
    uint32_t slot = lh_bpe_hash_bytes(bytes, (size_t)length) & b->index_mask;
    while (b->index[slot] != NOTHING && !is_token(&b->tokens[b->index[slot]], bytes, length))
        slot = (slot + 1) & b->index_mask;
    return slot;
}

static int32_t token_id(const bpe *b, const unsigned char *bytes, int32_t length) {
    return b->index[token_slot(b, bytes, length)];
}

static merge *merge_slot(const bpe *b, int32_t left, int32_t right) {
    uint32_t slot = lh_bpe_hash_pair(left, right) & b->merge_mask;
    while (b->merges[slot].left != NOTHING &&
           !(b->merges[slot].left == left && b->merges[slot].right == right))
        slot = (slot + 1) & b->merge_mask;
    return &b->merges[slot];
}

/* ---- bytes as printable characters ---- */

/* Turns characters back into bytes, in place; -1 for one that stands for none. */
static int32_t restore_bytes(unsigned char *text, size_t length) {
    static const uint32_t last = 0x143; /* of the 68 bytes that do not print */
    uint32_t character[LH_BPE_BYTES];
    unsigned char byte_of[0x144];
    size_t at = 0, out = 0;
    lh_bpe_characters(character);
    memset(byte_of, 0, sizeof byte_of);
    for (uint32_t b = 0; b < LH_BPE_BYTES; ++b)
        byte_of[character[b]] = (unsigned char)b;
    while (at < length) {
        uint32_t c = text[at++];
        if (c >= 0x80) { /* they all have two bytes */
            if (c < 0xC2 || c > 0xC5 || at == length || (text[at] & 0xC0) != 0x80) return NOTHING;
            c = (c & 0x1F) << 6 | (text[at++] & 0x3F);
        }
        if (c > last || character[byte_of[c]] != c) return NOTHING;
        text[out++] = byte_of[c];
    }
    return (int32_t)out;
}

/* ---- reading a vocabulary ---- */

typedef struct reader {
    bpe *b;
    char path[LH_PATH_BYTES]; /* of the file being read */
    int64_t line;
} reader;

static lh_status add_token(reader *r, const cJSON *entry) {
    bpe *b = r->b;
    const double id = entry->valuedouble;
    if (!cJSON_IsNumber(entry) || !(id >= 0 && id < b->count) || id != (double)(int32_t)id)
        return lh_fail(LH_EFORMAT, "%s: token '%s' needs an id from 0 to %d", r->path,
                       entry->string, (int)b->count - 1);
    token *t = &b->tokens[(int32_t)id];
    if (t->bytes != NULL)
        return lh_fail(LH_EFORMAT, "%s: id %d belongs to two tokens, '%s' is the second", r->path,
                       (int)id, entry->string);
    t->bytes = (unsigned char *)lh_duplicate_text(entry->string);
    if (t->bytes == NULL) return LH_EMEMORY;
    t->length = restore_bytes(t->bytes, strlen(entry->string));
    if (t->length < 1)
        return lh_fail(LH_EFORMAT, "%s: token '%s' (id %d) is not written in byte characters",
                       r->path, entry->string, (int)id);
    const uint32_t slot = token_slot(b, t->bytes, t->length);
    if (b->index[slot] != NOTHING)
        return lh_fail(LH_EFORMAT, "%s: token '%s' stands there twice", r->path, entry->string);
    b->index[slot] = (int32_t)id;
    return LH_OK;
}

static lh_status find_bytes(reader *r) {
    for (int value = 0; value < LH_BPE_BYTES; ++value) {
        const unsigned char byte = (unsigned char)value;
        r->b->byte[value] = token_id(r->b, &byte, 1);
        if (r->b->byte[value] == NOTHING)
            return lh_fail(LH_EFORMAT, "%s: byte 0x%02x has no token", r->path, value);
    }
    return LH_OK;
}

static lh_status add_tokens(reader *r, const cJSON *vocabulary) {
    bpe *b = r->b;
    if (!cJSON_IsObject(vocabulary))
        return lh_fail(LH_EFORMAT, "%s: not a JSON object of tokens and ids", r->path);
    b->count = cJSON_GetArraySize(vocabulary);
    const uint32_t size = lh_bpe_table_size(b->count);
    b->index_mask = size - 1;
    b->tokens = lh_allocate_zeroed((size_t)b->count + 1, sizeof *b->tokens);
    b->index = lh_allocate(size * sizeof *b->index);
    if (b->tokens == NULL || b->index == NULL) return LH_EMEMORY;
    for (uint32_t i = 0; i < size; ++i)
        b->index[i] = NOTHING;
    for (const cJSON *entry = vocabulary->child; entry != NULL; entry = entry->next)
        LH_TRY(add_token(r, entry));
    return find_bytes(r);
}

static lh_status read_tokens(reader *r) {
    char *text = NULL;
    size_t bytes = 0;
    LH_TRY(lh_file_unpack(r->path, &text, &bytes));
    cJSON *vocabulary = cJSON_ParseWithLength(text, bytes);
    const lh_status status = vocabulary != NULL
                                 ? add_tokens(r, vocabulary)
                                 : lh_fail(LH_EFORMAT, "%s: not valid JSON near byte %lld", r->path,
                                           (long long)(cJSON_GetErrorPtr() - text));
    cJSON_Delete(vocabulary);
    free(text);
    return status;
}

/* One half of a merge: text up to `end`, as an id. */
static lh_status read_half(const reader *r, char *begin, const char *end, int32_t *id) {
    const int32_t length = restore_bytes((unsigned char *)begin, (size_t)(end - begin));
    *id = length > 0 ? token_id(r->b, (unsigned char *)begin, length) : NOTHING;
    if (*id != NOTHING) return LH_OK;
    return lh_fail(LH_EFORMAT, "%s:%lld: '%.*s' is no token of the vocabulary", r->path,
                   (long long)r->line, (int)(end - begin < 60 ? end - begin : 60), begin);
}

static lh_status add_merge(reader *r, char *line, char *end, int32_t rank) {
    bpe *b = r->b;
    char *blank = memchr(line, ' ', (size_t)(end - line));
    merge m = {.rank = rank};
    if (blank == NULL || memchr(blank + 1, ' ', (size_t)(end - blank - 1)) != NULL)
        return lh_fail(LH_EFORMAT, "%s:%lld: expected two tokens and a blank between them", r->path,
                       (long long)r->line);
    LH_TRY(read_half(r, line, blank, &m.left));
    LH_TRY(read_half(r, blank + 1, end, &m.right));
    const token *left = &b->tokens[m.left], *right = &b->tokens[m.right];
    const int32_t length = left->length + right->length;
    unsigned char *joined = lh_allocate((size_t)length + 1);
    if (joined == NULL) return LH_EMEMORY;
    memcpy(joined, left->bytes, (size_t)left->length);
    memcpy(joined + left->length, right->bytes, (size_t)right->length);
    m.merged = token_id(b, joined, length);
    free(joined);
    if (m.merged == NOTHING)
        return lh_fail(LH_EFORMAT, "%s:%lld: what the merge makes is no token of the vocabulary",
                       r->path, (long long)r->line);
    merge *slot = merge_slot(b, m.left, m.right);
    if (slot->left != NOTHING)
        return lh_fail(LH_EFORMAT, "%s:%lld: this merge stands there twice", r->path,
                       (long long)r->line);
    *slot = m;
    return LH_OK;
}

static lh_status make_merge_table(bpe *b, const char *text, size_t bytes) {
    int64_t lines = 1;
    for (size_t i = 0; i < bytes; ++i)
        lines += text[i] == '\n';
    const uint32_t size = lh_bpe_table_size(lines);
    b->merge_mask = size - 1;
    b->merges = lh_allocate(size * sizeof *b->merges);
    if (b->merges == NULL) return LH_EMEMORY;
    for (uint32_t i = 0; i < size; ++i)
        b->merges[i].left = NOTHING;
    return LH_OK;
}

static lh_status add_merges(reader *r, char *text, size_t bytes) {
    int32_t rank = 0;
    LH_TRY(make_merge_table(r->b, text, bytes));
    for (size_t at = 0; at < bytes;) {
        char *line = text + at, *end = memchr(line, '\n', bytes - at);
        if (end == NULL) end = text + bytes;
        at = (size_t)(end - text) + 1;
        r->line += 1;
        if (end > line && end[-1] == '\r') end -= 1;
        const bool heading = r->line == 1 && strncmp(line, "#version", 8) == 0;
        if (heading || end == line) continue;
        LH_TRY(add_merge(r, line, end, rank++));
    }
    return LH_OK;
}

static lh_status read_merges(reader *r) {
    char *text = NULL;
    size_t bytes = 0;
    LH_TRY(lh_file_unpack(r->path, &text, &bytes));
    const lh_status status = add_merges(r, text, bytes);
    free(text);
    return status;
}

/* ---- finding a vocabulary ---- */

/* Both names that each file goes by; codet5's carry the model's. */
static const char *const token_files[] = {"vocab.json", "encoder.json", "codet5-vocab.json", NULL};
static const char *const merge_files[] = {"merges.txt", "vocab.bpe", "codet5-merges.txt", NULL};

static bool find_in(const char *folder, const char *const *names, char path[LH_PATH_BYTES]) {
    for (int i = 0; names[i] != NULL; ++i) {
        struct stat about;
        const int length = snprintf(path, LH_PATH_BYTES, "%s/%s", folder, names[i]);
        if (length > 0 && length < LH_PATH_BYTES && stat(path, &about) == 0) return true;
    }
    return false;
}

/* "gpt2" is a folder gpt2 or gpt2-bpe of the data folders, anything with a slash a path. */
static lh_status find_folder(const char *argument, char folder[LH_PATH_BYTES]) {
    char name[LH_PATH_BYTES];
    bool found = false;
    if (strchr(argument, '/') != NULL && strlen(argument) < LH_PATH_BYTES) {
        (void)snprintf(folder, LH_PATH_BYTES, "%s", argument);
        return LH_OK;
    }
    for (int i = 0; i < 2; ++i) {
        char path[LH_PATH_BYTES];
        (void)snprintf(name, sizeof name, "%s%s", argument, i == 0 ? "" : "-bpe");
        LH_TRY(lh_data_find(name, folder, &found));
        if (found && find_in(folder, merge_files, path)) return LH_OK;
    }
    return lh_fail(LH_EIO,
                   "no BPE vocabulary '%s': expected a path, or a folder %s or %s-bpe of the data "
                   "folders (`longhaul data fetch %s`)",
                   argument, argument, argument, argument);
}

static lh_status read_vocabulary(reader *r, const char *folder, uint64_t *digest) {
    if (!find_in(folder, token_files, r->path))
        return lh_fail(LH_EIO, "%s: has neither vocab.json nor encoder.json", folder);
    LH_TRY(lh_digest_file(r->path, digest));
    LH_TRY(read_tokens(r));
    if (!find_in(folder, merge_files, r->path))
        return lh_fail(LH_EIO, "%s: has neither merges.txt nor vocab.bpe", folder);
    LH_TRY(lh_digest_file(r->path, digest));
    return read_merges(r);
}

static void close_vocabulary(void *instance) {
    bpe *b = instance;
    if (b == NULL) return;
    for (int32_t i = 0; b->tokens != NULL && i < b->count; ++i)
        free(b->tokens[i].bytes);
    free(b->tokens);
    free(b->index);
    free(b->merges);
    free(b->cache);
    lh_bpe_pattern_close(b->pattern);
    free(b);
}

static lh_status open_vocabulary(const char *argument, uint64_t *digest, void **instance) {
    char folder[LH_PATH_BYTES];
    LH_TRY(find_folder(argument, folder));
    bpe *b = lh_allocate_zeroed(1, sizeof *b);
    if (b == NULL) return LH_EMEMORY;
    reader r = {.b = b};
    b->cache = lh_allocate_zeroed(CACHE_SLOTS, sizeof *b->cache);
    lh_status status = b->cache != NULL ? lh_bpe_pattern_open(&b->pattern) : LH_EMEMORY;
    if (status == LH_OK) status = read_vocabulary(&r, folder, digest);
    if (status != LH_OK) {
        close_vocabulary(b);
        return status;
    }
    *instance = b;
    return LH_OK;
}

static int64_t vocabulary(const void *instance) {
    return ((const bpe *)instance)->count;
}

static int32_t find(const void *instance, const char *text) {
    return token_id(instance, (const unsigned char *)text, (int32_t)strlen(text));
}

/* ---- merging a piece ---- */

/* A possible merge, in a heap ordered by rank, then place. */
typedef struct candidate {
    int32_t rank, at, left, right, merged;
} candidate;

/* A piece as a list of tokens; a place that was merged away has id NOTHING. */
typedef struct piece {
    int32_t length, heap_count;
    int32_t *id, *next, *previous; /* by place, NOTHING at the ends */
    candidate *heap;
} piece;

static bool goes_before(const candidate *a, const candidate *b) {
    return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
}

static void push(piece *p, candidate c) {
    int32_t hole = p->heap_count++;
    for (int32_t up; hole > 0 && goes_before(&c, &p->heap[up = (hole - 1) / 2]); hole = up)
        p->heap[hole] = p->heap[up];
    p->heap[hole] = c;
}

static candidate pop(piece *p) {
    const candidate first = p->heap[0], last = p->heap[--p->heap_count];
    int32_t hole = 0;
    for (int32_t down = 1; down < p->heap_count; down = 2 * hole + 1) {
        if (down + 1 < p->heap_count && goes_before(&p->heap[down + 1], &p->heap[down])) down += 1;
        if (!goes_before(&p->heap[down], &last)) break;
        p->heap[hole] = p->heap[down];
        hole = down;
    }
    p->heap[hole] = last;
    return first;
}

/* Offers the merge of the tokens at `at` and after it. */
static void offer(const bpe *b, piece *p, int32_t at) {
    if (at == NOTHING || p->next[at] == NOTHING) return;
    const int32_t left = p->id[at], right = p->id[p->next[at]];
    const merge *m = merge_slot(b, left, right);
    if (m->left == NOTHING) return;
    push(p, (candidate){m->rank, at, left, right, m->merged});
}

static void merge_all(const bpe *b, piece *p) {
    for (int32_t at = 0; at < p->length; ++at)
        offer(b, p, at);
    while (p->heap_count > 0) {
        const candidate c = pop(p);
        const int32_t right = p->id[c.at] == c.left ? p->next[c.at] : NOTHING;
        if (right == NOTHING || p->id[right] != c.right) continue; /* one of them has changed */
        p->id[c.at] = c.merged;
        p->id[right] = NOTHING;
        p->next[c.at] = p->next[right];
        if (p->next[right] != NOTHING) p->previous[p->next[right]] = c.at;
        offer(b, p, p->previous[c.at]);
        offer(b, p, c.at);
    }
}

/* Each merge takes a place away and offers two more: 3 * length candidates at most. */
static lh_status piece_begin(const bpe *b, const unsigned char *bytes, int32_t length, piece *p) {
    const size_t size = (size_t)length;
    *p = (piece){.length = length, .id = lh_allocate(3 * size * sizeof(int32_t))};
    p->heap = lh_allocate(3 * size * sizeof *p->heap);
    if (p->id == NULL || p->heap == NULL) return LH_EMEMORY;
    p->next = p->id + size;
    p->previous = p->next + size;
    for (int32_t at = 0; at < length; ++at) {
        p->id[at] = b->byte[bytes[at]];
        p->next[at] = at + 1 < length ? at + 1 : NOTHING;
        p->previous[at] = at - 1;
    }
    return LH_OK;
}

/* Writes at most `length` ids; *count says how many. */
static lh_status encode_piece(const bpe *b, const unsigned char *bytes, int32_t length,
                              int32_t *ids, int32_t *count) {
    piece p;
    lh_status status = piece_begin(b, bytes, length, &p);
    *count = 0;
    if (status == LH_OK) merge_all(b, &p);
    for (int32_t at = 0; status == LH_OK && at != NOTHING; at = p.next[at])
        ids[(*count)++] = p.id[at];
    free(p.id);
    free(p.heap);
    return status;
}

/* The same through the cache. */
static lh_status encode_cached(const bpe *b, const unsigned char *bytes, int32_t length,
                               int32_t *ids, int32_t *count) {
    if (length > CACHE_BYTES) return encode_piece(b, bytes, length, ids, count);
    cached_piece *slot = &b->cache[lh_bpe_hash_bytes(bytes, (size_t)length) & (CACHE_SLOTS - 1)];
    if (slot->length != length || memcmp(slot->bytes, bytes, (size_t)length) != 0) {
        slot->length = 0;
        LH_TRY(encode_piece(b, bytes, length, slot->ids, &slot->count));
        memcpy(slot->bytes, bytes, (size_t)length);
        slot->length = length;
    }
    memcpy(ids, slot->ids, (size_t)slot->count * sizeof *ids);
    *count = slot->count;
    return LH_OK;
}

/* ---- text ---- */

typedef struct encoding {
    const bpe *b;
    int32_t *tokens;
    int64_t count;
} encoding;

static lh_status add_piece(void *to, const char *text, size_t bytes) {
    encoding *e = to;
    int32_t added = 0;
    LH_TRY(encode_cached(e->b, (const unsigned char *)text, (int32_t)bytes, e->tokens + e->count,
                         &added));
    e->count += added;
    return LH_OK;
}

static lh_status encode(const void *instance, const char *text, size_t bytes, int32_t **tokens,
                        int64_t *count) {
    if (bytes > INT32_MAX)
        return lh_fail(LH_EFORMAT, "BPE: a document of %lld bytes is too long", (long long)bytes);
    const bpe *b = instance;
    /* A text has at most as many tokens as bytes. */
    encoding e = {.b = b, .tokens = lh_allocate((bytes + 1) * sizeof *e.tokens)};
    if (e.tokens == NULL) return LH_EMEMORY;
    const lh_status status = lh_bpe_each_piece(b->pattern, text, bytes, add_piece, &e);
    if (status != LH_OK) {
        free(e.tokens);
        return status;
    }
    int32_t *fitting = lh_reallocate(e.tokens, ((size_t)e.count + 1) * sizeof *e.tokens);
    *tokens = fitting != NULL ? fitting : e.tokens;
    *count = e.count;
    return LH_OK;
}

static lh_status decode(const void *instance, const int32_t *tokens, int64_t count, char **text,
                        size_t *bytes) {
    const bpe *b = instance;
    size_t size = 0;
    for (int64_t i = 0; i < count; ++i) {
        if (tokens[i] < 0 || tokens[i] >= b->count)
            return lh_fail(LH_EOPTION, "token %d is outside the vocabulary of %d", (int)tokens[i],
                           (int)b->count);
        size += (size_t)b->tokens[tokens[i]].length;
    }
    char *made = lh_allocate(size + 1);
    if (made == NULL) return LH_EMEMORY;
    *text = made;
    *bytes = size;
    for (int64_t i = 0; i < count; ++i) {
        const token *t = &b->tokens[tokens[i]];
        memcpy(made, t->bytes, (size_t)t->length);
        made += t->length;
    }
    *made = '\0';
    return LH_OK;
}

const lh_tokenizer_class lh_tokens_bpe = {
    .prefix = "bpe:",
    .find = find,
    .open = open_vocabulary,
    .close = close_vocabulary,
    .vocabulary = vocabulary,
    .encode = encode,
    .decode = decode,
};
