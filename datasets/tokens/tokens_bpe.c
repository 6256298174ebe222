/* Byte-level BPE as GPT-2 has it (Radford et al. 2019, section 2.2): text is cut into pieces by a
 * pattern, and in every piece the neighbours of the lowest rank are merged until none has a rank.
 *
 * Every byte is a token, so that nothing is unknown and any bytes come back. Bytes that are no
 * UTF-8 are pieces of their own. Two files make a vocabulary: a JSON object of tokens and their
 * ids, and the merges in the order of their ranks; both write bytes as printable characters. */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "datasets/digest.h"
#include "datasets/locate.h"
#include "datasets/tokens/bpe.h"
#include "datasets/tokens/tokenizer_class.h"
#include "datasets/unpack.h"
#include "harness/engine/file.h"
#include "harness/engine/hash.h"
#include "harness/engine/json.h"

enum {
    NOTHING = LH_HASH_NONE,
    CACHE_SLOTS = 1 << 15, /* pieces that were encoded before, found by their hash */
    CACHE_BYTES = 24       /* longer pieces are rare */
};

/* What two neighbours become; merges stand in the order of their ranks. */
typedef struct merge {
    int32_t left, right, merged;
} merge;

typedef struct cached_piece {
    int32_t length, count; /* length 0: empty */
    unsigned char bytes[CACHE_BYTES];
    int32_t ids[CACHE_BYTES];
} cached_piece;

typedef struct bpe {
    int32_t count;              /* of tokens */
    lh_bpe_token *tokens;       /* by id */
    lh_hash by_bytes;           /* ids of tokens */
    merge *merges;              /* by rank */
    lh_hash by_halves;          /* ranks of merges, by (left, right) */
    int32_t byte[LH_BPE_BYTES]; /* id of each byte */
    lh_bpe_pattern *pattern;
    cached_piece *cache; /* so an instance belongs to one thread */
} bpe;

/* ---- finding ---- */

static uint64_t key_of(const unsigned char *bytes, int32_t length) {
    return lh_hash_text(bytes, (size_t)length);
}

/* NOTHING when there is none. */
static int32_t token_id(const bpe *b, const unsigned char *bytes, int32_t length) {
    return lh_bpe_find(&b->by_bytes, b->tokens, (lh_bpe_span){bytes, length});
}

/* ---- reading a vocabulary ---- */

enum {
    CHARACTERS = 0x144
}; /* the last one stands for the last of the 68 bytes that do not print */

typedef struct reader {
    bpe *b;
    char *path; /* of the file being read */
    int64_t line;
    int16_t byte_of[CHARACTERS]; /* what a printable character stands for, or NOTHING */
} reader;

static void fill_bytes(int16_t byte_of[CHARACTERS]) {
    uint32_t character[LH_BPE_BYTES];
    lh_bpe_characters(character);
    for (int c = 0; c < CHARACTERS; ++c)
        byte_of[c] = NOTHING;
    for (int16_t b = 0; b < LH_BPE_BYTES; ++b)
        byte_of[character[b]] = b;
}

/* Turns characters back into bytes, in place; NOTHING where one stands for none. */
static int32_t restore_bytes(const reader *r, unsigned char *text, size_t length) {
    size_t at = 0, out = 0;
    while (at < length) {
        uint32_t c = text[at++];
        if (c >= 0x80) { /* they all have two bytes */
            if (c < 0xC2 || c > 0xC5 || at == length || (text[at] & 0xC0) != 0x80) return NOTHING;
            c = (c & 0x1F) << 6 | (text[at++] & 0x3F);
        }
        if (c >= CHARACTERS || r->byte_of[c] == NOTHING) return NOTHING;
        text[out++] = (unsigned char)r->byte_of[c];
    }
    return (int32_t)out;
}

static lh_status add_token(reader *r, const cJSON *entry) {
    bpe *b = r->b;
    const double id = entry->valuedouble;
    if (!cJSON_IsNumber(entry) || !(id >= 0 && id < b->count) || id != (double)(int32_t)id)
        return lh_fail(LH_EFORMAT, "%s: token '%s' needs an id from 0 to %d", r->path,
                       entry->string, (int)b->count - 1);
    lh_bpe_token *t = &b->tokens[(int32_t)id];
    if (t->bytes != NULL)
        return lh_fail(LH_EFORMAT, "%s: id %d belongs to two tokens, '%s' is the second", r->path,
                       (int)id, entry->string);
    t->bytes = (unsigned char *)lh_duplicate_text(entry->string);
    if (t->bytes == NULL) return LH_EMEMORY;
    t->length = restore_bytes(r, t->bytes, strlen(entry->string));
    if (t->length < 1)
        return lh_fail(LH_EFORMAT, "%s: token '%s' (id %d) is not written in byte characters",
                       r->path, entry->string, (int)id);
    if (token_id(b, t->bytes, t->length) != NOTHING)
        return lh_fail(LH_EFORMAT, "%s: token '%s' stands there twice", r->path, entry->string);
    return lh_hash_add(&b->by_bytes, key_of(t->bytes, t->length), (int32_t)id);
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
    b->tokens = lh_allocate_zeroed((size_t)b->count + 1, sizeof *b->tokens);
    if (b->tokens == NULL) return LH_EMEMORY;
    for (const cJSON *entry = vocabulary->child; entry != NULL; entry = entry->next)
        LH_TRY(add_token(r, entry));
    return find_bytes(r);
}

static lh_status parse_tokens(reader *r, const lh_text *text) {
    lh_json_defect defect;
    cJSON *vocabulary = lh_json_parse(text->data, text->bytes, &defect);
    if (vocabulary == NULL)
        return lh_fail(LH_EFORMAT, "%s: %s at byte %zu", r->path, defect.what, defect.offset + 1);
    const lh_status status = add_tokens(r, vocabulary);
    cJSON_Delete(vocabulary);
    return status;
}

static lh_status read_tokens(reader *r) {
    lh_text text;
    LH_TRY(lh_file_unpack(r->path, &text));
    const lh_status status = parse_tokens(r, &text);
    free(text.data);
    return status;
}

/* One half of a merge: text up to `end`, as an id. */
static lh_status read_half(const reader *r, char *begin, const char *end, int32_t *id) {
    const int32_t length = restore_bytes(r, (unsigned char *)begin, (size_t)(end - begin));
    *id = length > 0 ? token_id(r->b, (unsigned char *)begin, length) : NOTHING;
    if (*id != NOTHING) return LH_OK;
    return lh_fail(LH_EFORMAT, "%s:%lld: '%.*s' is no token of the vocabulary", r->path,
                   (long long)r->line, (int)(end - begin < 60 ? end - begin : 60), begin);
}

static lh_status add_merge(reader *r, char *line, char *end, int32_t rank) {
    bpe *b = r->b;
    char *blank = memchr(line, ' ', (size_t)(end - line));
    merge m = {0};
    if (blank == NULL || memchr(blank + 1, ' ', (size_t)(end - blank - 1)) != NULL)
        return lh_fail(LH_EFORMAT, "%s:%lld: expected two tokens and a blank between them", r->path,
                       (long long)r->line);
    LH_TRY(read_half(r, line, blank, &m.left));
    LH_TRY(read_half(r, blank + 1, end, &m.right));
    const lh_bpe_token *left = &b->tokens[m.left], *right = &b->tokens[m.right];
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
    const uint64_t key = lh_hash_pair(m.left, m.right);
    if (lh_hash_find(&b->by_halves, key) != NOTHING)
        return lh_fail(LH_EFORMAT, "%s:%lld: this merge stands there twice", r->path,
                       (long long)r->line);
    b->merges[rank] = m;
    return lh_hash_add(&b->by_halves, key, rank);
}

static lh_status make_merge_table(bpe *b, const char *text, size_t bytes) {
    size_t lines = 1;
    for (size_t i = 0; i < bytes; ++i)
        lines += text[i] == '\n';
    b->merges = lh_allocate(lines * sizeof *b->merges);
    return b->merges != NULL ? LH_OK : LH_EMEMORY;
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
    lh_text text;
    LH_TRY(lh_file_unpack(r->path, &text));
    const lh_status status = add_merges(r, text.data, text.bytes);
    free(text.data);
    return status;
}

/* ---- finding a vocabulary ---- */

/* Both names that each file goes by; codet5's carry the model's. */
static const char *const token_files[] = {"vocab.json", "encoder.json", "codet5-vocab.json", NULL};
static const char *const merge_files[] = {"merges.txt", "vocab.bpe", "codet5-merges.txt", NULL};

/* The folder of the data folders with this name that has merges; NULL when there is none; gives. */
static lh_status find_named(const char *name, char **folder) {
    char *found = NULL, *merges = NULL;
    *folder = NULL;
    LH_TRY(lh_data_find(name, &found));
    lh_status status = found != NULL ? lh_file_find(found, merge_files, &merges) : LH_OK;
    if (merges != NULL) *folder = found;
    if (merges == NULL) free(found);
    free(merges);
    return status;
}

/* "gpt2" is a folder gpt2 or gpt2-bpe of the data folders, anything with a slash a path. Gives. */
static lh_status find_folder(const char *argument, char **folder) {
    if (strchr(argument, '/') != NULL) {
        *folder = lh_duplicate_text(argument);
        return *folder != NULL ? LH_OK : LH_EMEMORY;
    }
    LH_TRY(find_named(argument, folder));
    if (*folder != NULL) return LH_OK;
    char *longer = lh_format("%s-bpe", argument);
    if (longer == NULL) return LH_EMEMORY;
    const lh_status status = find_named(longer, folder);
    free(longer);
    if (status != LH_OK || *folder != NULL) return status;
    return lh_fail(LH_EIO,
                   "no BPE vocabulary '%s': expected a path, or a folder %s or %s-bpe of the data "
                   "folders; `longhaul data fetch %s` downloads it if `longhaul data list` has it",
                   argument, argument, argument, argument);
}

/* Reads the first of `names` that is in the folder. */
static lh_status read_first(reader *r, const char *folder, const char *const *names,
                            uint64_t *digest, lh_status (*read)(reader *r)) {
    LH_TRY(lh_file_find(folder, names, &r->path));
    if (r->path == NULL)
        return lh_fail(LH_EIO, "%s: has neither %s nor %s", folder, names[0], names[1]);
    lh_status status = lh_digest_file(r->path, digest);
    if (status == LH_OK) status = read(r);
    free(r->path);
    return status;
}

static lh_status read_vocabulary(reader *r, const char *folder, uint64_t *digest) {
    LH_TRY(read_first(r, folder, token_files, digest, read_tokens));
    return read_first(r, folder, merge_files, digest, read_merges);
}

static void close_vocabulary(void *instance) {
    bpe *b = instance;
    if (b == NULL) return;
    for (int32_t i = 0; b->tokens != NULL && i < b->count; ++i)
        free(b->tokens[i].bytes);
    free(b->tokens);
    lh_hash_clear(&b->by_bytes);
    lh_hash_clear(&b->by_halves);
    free(b->merges);
    free(b->cache);
    lh_bpe_pattern_close(b->pattern);
    free(b);
}

static lh_status open_folder(const char *folder, uint64_t *digest, void **instance) {
    bpe *b = lh_allocate_zeroed(1, sizeof *b);
    if (b == NULL) return LH_EMEMORY;
    reader r = {.b = b};
    fill_bytes(r.byte_of);
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

static lh_status open_vocabulary(const char *argument, uint64_t *digest, void **instance) {
    char *folder = NULL;
    LH_TRY(find_folder(argument, &folder));
    const lh_status status = open_folder(folder, digest, instance);
    free(folder);
    return status;
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
    const int32_t rank = lh_hash_find(&b->by_halves, lh_hash_pair(left, right));
    if (rank != NOTHING) push(p, (candidate){rank, at, left, right, b->merges[rank].merged});
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
    cached_piece *slot = &b->cache[key_of(bytes, length) & (CACHE_SLOTS - 1)];
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
    /* Returns what is left over, where it can: no failure if not. */
    const lh_status before = lh_error_get()->status;
    int32_t *fitting = lh_reallocate(e.tokens, ((size_t)e.count + 1) * sizeof *e.tokens);
    if (fitting == NULL) lh_error_survive(before);
    *tokens = fitting != NULL ? fitting : e.tokens;
    *count = e.count;
    return LH_OK;
}

static lh_status decode(const void *instance, const int32_t *tokens, int64_t count, char **text,
                        size_t *bytes) {
    const bpe *b = instance;
    size_t size = 0;
    for (int64_t i = 0; i < count; ++i)
        size += (size_t)b->tokens[tokens[i]].length;
    char *made = lh_allocate(size + 1);
    if (made == NULL) return LH_EMEMORY;
    *text = made;
    *bytes = size;
    for (int64_t i = 0; i < count; ++i) {
        const lh_bpe_token *t = &b->tokens[tokens[i]];
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
