#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "datasets/bpe.h"
#include "datasets/corpus.h"
#include "harness/engine/atomic_file.h"

enum { NOTHING = -1, CHARACTER_BYTES = 2 };

/* A distinct piece of the text. Its bytes, and later its symbols, are `length` from `begin` on. */
typedef struct word {
    int64_t count;
    size_t begin;
    int32_t length;
} word;

/* Neighbours in some word, and the list of the words that had them when it was last looked. */
typedef struct pair {
    int32_t left, right, uses;
} pair;

typedef struct use {
    int32_t word, before;
} use;

typedef struct token {
    unsigned char *bytes;
    int32_t length;
} token;

/* An array that grows. */
typedef struct list {
    void *at;
    int64_t count, capacity;
} list;

struct lh_bpe_trainer {
    lh_bpe_pattern *pattern;
    list text;   /* of unsigned char: the bytes of all words */
    list words;  /* of word */
    list pairs;  /* of pair */
    list counts; /* of int64_t: of each pair, apart so that a scan for the largest is quick */
    list uses;   /* of use */
    list tokens; /* of token */
    list merges; /* of pair, in order of rank */
    int32_t *word_index, *pair_index, *token_index; /* open addressing */
    uint32_t word_mask, pair_mask, token_mask;
    int32_t *symbols; /* of all words */
};

/* ---- tables ---- */

static lh_status reserve(list *l, int64_t more, size_t size) {
    if (l->count + more <= l->capacity) return LH_OK;
    int64_t capacity = l->capacity == 0 ? 1024 : 2 * l->capacity;
    if (capacity < l->count + more) capacity = l->count + more;
    void *at = lh_reallocate(l->at, (size_t)capacity * size);
    if (at == NULL) return LH_EMEMORY;
    l->at = at;
    l->capacity = capacity;
    return LH_OK;
}

static word *words_of(const lh_bpe_trainer *t) {
    return t->words.at;
}

static pair *pairs_of(const lh_bpe_trainer *t) {
    return t->pairs.at;
}

static token *tokens_of(const lh_bpe_trainer *t) {
    return t->tokens.at;
}

static unsigned char *bytes_of(const lh_bpe_trainer *t, const word *w) {
    return (unsigned char *)t->text.at + w->begin;
}

static lh_status empty_index(int32_t **index, uint32_t *mask, int64_t entries) {
    const uint32_t size = lh_bpe_table_size(entries);
    int32_t *fresh = lh_allocate(size * sizeof *fresh);
    if (fresh == NULL) return LH_EMEMORY;
    memset(fresh, 0xff, size * sizeof *fresh);
    free(*index);
    *index = fresh;
    *mask = size - 1;
    return LH_OK;
}

static uint32_t word_slot(const lh_bpe_trainer *t, const unsigned char *bytes, int32_t length) {
    uint32_t slot = lh_bpe_hash_bytes(bytes, (size_t)length) & t->word_mask;
    for (; t->word_index[slot] != NOTHING; slot = (slot + 1) & t->word_mask) {
        const word *w = &words_of(t)[t->word_index[slot]];
        if (w->length == length && memcmp(bytes_of(t, w), bytes, (size_t)length) == 0) break;
    }
    return slot;
}

static uint32_t pair_slot(const lh_bpe_trainer *t, int32_t left, int32_t right) {
    uint32_t slot = lh_bpe_hash_pair(left, right) & t->pair_mask;
    for (; t->pair_index[slot] != NOTHING; slot = (slot + 1) & t->pair_mask) {
        const pair *p = &pairs_of(t)[t->pair_index[slot]];
        if (p->left == left && p->right == right) break;
    }
    return slot;
}

static uint32_t token_slot(const lh_bpe_trainer *t, const unsigned char *bytes, int32_t length) {
    uint32_t slot = lh_bpe_hash_bytes(bytes, (size_t)length) & t->token_mask;
    for (; t->token_index[slot] != NOTHING; slot = (slot + 1) & t->token_mask) {
        const token *k = &tokens_of(t)[t->token_index[slot]];
        if (k->length == length && memcmp(k->bytes, bytes, (size_t)length) == 0) break;
    }
    return slot;
}

/* ---- counting words ---- */

static lh_status grow_word_index(lh_bpe_trainer *t) {
    LH_TRY(empty_index(&t->word_index, &t->word_mask, 2 * t->words.count + 1024));
    for (int32_t i = 0; i < t->words.count; ++i) {
        const word *w = &words_of(t)[i];
        t->word_index[word_slot(t, bytes_of(t, w), w->length)] = i;
    }
    return LH_OK;
}

static lh_status add_word(void *to, const char *piece, size_t bytes) {
    lh_bpe_trainer *t = to;
    if (2 * t->words.count >= (int64_t)t->word_mask) LH_TRY(grow_word_index(t));
    const uint32_t slot = word_slot(t, (const unsigned char *)piece, (int32_t)bytes);
    if (t->word_index[slot] != NOTHING) {
        words_of(t)[t->word_index[slot]].count += 1;
        return LH_OK;
    }
    LH_TRY(reserve(&t->words, 1, sizeof(word)));
    LH_TRY(reserve(&t->text, (int64_t)bytes, 1));
    const word made = {.count = 1, .begin = (size_t)t->text.count, .length = (int32_t)bytes};
    memcpy((char *)t->text.at + t->text.count, piece, bytes);
    t->text.count += (int64_t)bytes;
    t->word_index[slot] = (int32_t)t->words.count;
    words_of(t)[t->words.count++] = made;
    return LH_OK;
}

lh_status lh_bpe_trainer_add(lh_bpe_trainer *trainer, const char *text, size_t bytes) {
    if (bytes > INT32_MAX)
        return lh_fail(LH_EFORMAT, "BPE: a document of %lld bytes is too long", (long long)bytes);
    return lh_bpe_each_piece(trainer->pattern, text, bytes, add_word, trainer);
}

/* ---- counting pairs ---- */

static lh_status grow_pair_index(lh_bpe_trainer *t) {
    LH_TRY(empty_index(&t->pair_index, &t->pair_mask, 2 * t->pairs.count + 1024));
    for (int32_t i = 0; i < t->pairs.count; ++i)
        t->pair_index[pair_slot(t, pairs_of(t)[i].left, pairs_of(t)[i].right)] = i;
    return LH_OK;
}

static lh_status find_pair(lh_bpe_trainer *t, int32_t left, int32_t right, int32_t *found) {
    if (2 * t->pairs.count >= (int64_t)t->pair_mask) LH_TRY(grow_pair_index(t));
    int32_t *slot = &t->pair_index[pair_slot(t, left, right)];
    if (*slot == NOTHING) {
        LH_TRY(reserve(&t->pairs, 1, sizeof(pair)));
        LH_TRY(reserve(&t->counts, 1, sizeof(int64_t)));
        *slot = (int32_t)t->pairs.count;
        pairs_of(t)[t->pairs.count++] = (pair){left, right, NOTHING};
        ((int64_t *)t->counts.at)[t->counts.count++] = 0;
    }
    *found = *slot;
    return LH_OK;
}

/* Adds `sign` times the word's pairs. Those with `fresh` in them (all, if NOTHING) note the word.
 */
static lh_status count_pairs(lh_bpe_trainer *t, int32_t index, int sign, int32_t fresh) {
    const word *w = &words_of(t)[index];
    const int32_t *symbol = t->symbols + w->begin;
    for (int32_t i = 0; i + 1 < w->length; ++i) {
        int32_t at = NOTHING;
        LH_TRY(find_pair(t, symbol[i], symbol[i + 1], &at));
        ((int64_t *)t->counts.at)[at] += sign * w->count;
        const bool known = fresh != NOTHING && symbol[i] != fresh && symbol[i + 1] != fresh;
        if (sign < 0 || known) continue;
        LH_TRY(reserve(&t->uses, 1, sizeof(use)));
        ((use *)t->uses.at)[t->uses.count] = (use){index, pairs_of(t)[at].uses};
        pairs_of(t)[at].uses = (int32_t)t->uses.count++;
    }
    return LH_OK;
}

static lh_status count_all_pairs(lh_bpe_trainer *t) {
    t->symbols = lh_allocate(((size_t)t->text.count + 1) * sizeof *t->symbols);
    if (t->symbols == NULL) return LH_EMEMORY;
    for (int64_t i = 0; i < t->text.count; ++i) {
        const unsigned char *byte = (unsigned char *)t->text.at + i;
        t->symbols[i] = t->token_index[token_slot(t, byte, 1)];
    }
    for (int32_t i = 0; i < t->words.count; ++i)
        LH_TRY(count_pairs(t, i, 1, NOTHING));
    return LH_OK;
}

/* ---- merging ---- */

/* The most frequent pair, of equal ones that of the lowest ids; NOTHING when none occurs twice. */
static int32_t best_pair(const lh_bpe_trainer *t) {
    const int64_t *count = t->counts.at;
    const pair *p = t->pairs.at;
    int64_t most = 1;
    int32_t best = NOTHING;
    for (int32_t i = 0; i < t->pairs.count; ++i) {
        if (count[i] < most || count[i] < 2) continue;
        const bool lower = best == NOTHING || p[i].left < p[best].left ||
                           (p[i].left == p[best].left && p[i].right < p[best].right);
        if (count[i] == most && !lower) continue;
        most = count[i];
        best = i;
    }
    return best;
}

/* Takes `bytes` over. A token that is there already is found again. */
static lh_status add_token(lh_bpe_trainer *t, unsigned char *bytes, int32_t length, int32_t *id) {
    const uint32_t slot = token_slot(t, bytes, length);
    *id = t->token_index[slot];
    const lh_status status = *id == NOTHING ? reserve(&t->tokens, 1, sizeof(token)) : LH_OK;
    if (status != LH_OK || *id != NOTHING) {
        free(bytes);
        return status;
    }
    *id = t->token_index[slot] = (int32_t)t->tokens.count;
    tokens_of(t)[t->tokens.count++] = (token){bytes, length};
    return LH_OK;
}

static lh_status join_tokens(lh_bpe_trainer *t, int32_t left, int32_t right, int32_t *id) {
    const token a = tokens_of(t)[left], b = tokens_of(t)[right];
    unsigned char *bytes = lh_allocate((size_t)(a.length + b.length));
    if (bytes == NULL) return LH_EMEMORY;
    memcpy(bytes, a.bytes, (size_t)a.length);
    memcpy(bytes + a.length, b.bytes, (size_t)b.length);
    return add_token(t, bytes, a.length + b.length, id);
}

/* Merges the pair from left to right. */
static void merge_word(lh_bpe_trainer *t, word *w, pair p, int32_t made) {
    int32_t *symbol = t->symbols + w->begin, length = 0;
    for (int32_t i = 0; i < w->length; ++i) {
        const bool here = symbol[i] == p.left && i + 1 < w->length && symbol[i + 1] == p.right;
        symbol[length++] = here ? made : symbol[i];
        i += here;
    }
    w->length = length;
}

static bool has_pair(const lh_bpe_trainer *t, const word *w, pair p) {
    const int32_t *symbol = t->symbols + w->begin;
    for (int32_t i = 0; i + 1 < w->length; ++i)
        if (symbol[i] == p.left && symbol[i + 1] == p.right) return true;
    return false;
}

static lh_status merge_pair(lh_bpe_trainer *t, pair p) {
    int32_t made = NOTHING;
    LH_TRY(reserve(&t->merges, 1, sizeof(pair)));
    LH_TRY(join_tokens(t, p.left, p.right, &made));
    ((pair *)t->merges.at)[t->merges.count++] = p;
    for (int32_t at = p.uses; at != NOTHING; at = ((use *)t->uses.at)[at].before) {
        const int32_t index = ((use *)t->uses.at)[at].word;
        if (!has_pair(t, &words_of(t)[index], p)) continue;
        LH_TRY(count_pairs(t, index, -1, NOTHING));
        merge_word(t, &words_of(t)[index], p, made);
        LH_TRY(count_pairs(t, index, 1, made));
    }
    return LH_OK;
}

/* Bytes come first, in the order of their characters, as in GPT-2's vocabulary. */
static lh_status add_bytes(lh_bpe_trainer *t) {
    uint32_t character[LH_BPE_BYTES];
    lh_bpe_characters(character);
    for (int part = 0; part < 2; ++part) {
        for (int b = 0; b < LH_BPE_BYTES; ++b) {
            int32_t id = NOTHING;
            if ((character[b] >= LH_BPE_BYTES) != (part == 1)) continue;
            unsigned char *byte = lh_allocate(1);
            if (byte == NULL) return LH_EMEMORY;
            *byte = (unsigned char)b;
            LH_TRY(add_token(t, byte, 1, &id));
        }
    }
    return LH_OK;
}

static lh_status merge_all(lh_bpe_trainer *t, int64_t size) {
    LH_TRY(empty_index(&t->token_index, &t->token_mask, size));
    LH_TRY(add_bytes(t));
    LH_TRY(count_all_pairs(t));
    for (int32_t best; t->tokens.count < size && (best = best_pair(t)) != NOTHING;)
        LH_TRY(merge_pair(t, pairs_of(t)[best]));
    return LH_OK;
}

/* ---- writing ---- */

/* The token in printable characters, all of one or two bytes; `text` has room for them. */
static void token_text(const token *k, const uint32_t character[LH_BPE_BYTES], char *text) {
    for (int32_t i = 0; i < k->length; ++i) {
        const uint32_t c = character[k->bytes[i]];
        if (c >= 0x80) *text++ = (char)(0xC0 | c >> 6);
        *text++ = (char)(c >= 0x80 ? 0x80 | (c & 0x3F) : c);
    }
    *text = '\0';
}

/* All tokens as text: an array of pointers, in one block; free(). */
static char **all_texts(const lh_bpe_trainer *t) {
    uint32_t character[LH_BPE_BYTES];
    size_t bytes = 0;
    lh_bpe_characters(character);
    for (int64_t i = 0; i < t->tokens.count; ++i)
        bytes += CHARACTER_BYTES * (size_t)tokens_of(t)[i].length + 1;
    char **texts = lh_allocate((size_t)t->tokens.count * sizeof *texts + bytes);
    if (texts == NULL) return NULL;
    char *next = (char *)(texts + t->tokens.count);
    for (int64_t i = 0; i < t->tokens.count; ++i) {
        texts[i] = next;
        token_text(&tokens_of(t)[i], character, next);
        next += strlen(next) + 1;
    }
    return texts;
}

static lh_status write_file(const char *folder, const char *name, const char *text) {
    char path[LH_PATH_BYTES];
    lh_atomic_file *file = NULL;
    (void)snprintf(path, sizeof path, "%.4000s/%s", folder, name);
    LH_TRY(lh_atomic_file_open(path, &file));
    const lh_status status = lh_atomic_file_write(file, text, strlen(text));
    if (status == LH_OK) return lh_atomic_file_commit(file);
    lh_atomic_file_abandon(file);
    return status;
}

static lh_status write_tokens(const lh_bpe_trainer *t, char **texts, const char *folder) {
    cJSON *object = cJSON_CreateObject();
    bool whole = object != NULL;
    for (int64_t i = 0; whole && i < t->tokens.count; ++i)
        whole = cJSON_AddNumberToObject(object, texts[i], (double)i) != NULL;
    char *json = whole ? cJSON_PrintUnformatted(object) : NULL;
    const lh_status status = json != NULL
                                 ? write_file(folder, "vocab.json", json)
                                 : lh_fail(LH_EMEMORY, "out of memory for a vocabulary as JSON");
    cJSON_free(json);
    cJSON_Delete(object);
    return status;
}

static lh_status write_merges(const lh_bpe_trainer *t, char **texts, const char *folder) {
    static const char heading[] = "#version: 0.2\n";
    const pair *merges = t->merges.at;
    size_t bytes = sizeof heading, at = sizeof heading - 1;
    for (int64_t i = 0; i < t->merges.count; ++i)
        bytes += strlen(texts[merges[i].left]) + strlen(texts[merges[i].right]) + 2;
    char *text = lh_allocate(bytes);
    if (text == NULL) return LH_EMEMORY;
    memcpy(text, heading, sizeof heading);
    for (int64_t i = 0; i < t->merges.count; ++i)
        at += (size_t)snprintf(text + at, bytes - at, "%s %s\n", texts[merges[i].left],
                               texts[merges[i].right]);
    const lh_status status = write_file(folder, "merges.txt", text);
    free(text);
    return status;
}

lh_status lh_bpe_trainer_write(lh_bpe_trainer *trainer, int64_t size, const char *folder) {
    LH_TRY(merge_all(trainer, size));
    char **texts = all_texts(trainer);
    if (texts == NULL) return LH_EMEMORY;
    lh_status status = write_tokens(trainer, texts, folder);
    if (status == LH_OK) status = write_merges(trainer, texts, folder);
    free(texts);
    return status;
}

/* ---- beginning and end ---- */

lh_status lh_bpe_trainer_create(lh_bpe_trainer **out) {
    lh_bpe_trainer *t = lh_allocate_zeroed(1, sizeof *t);
    if (t == NULL) return LH_EMEMORY;
    lh_status status = lh_bpe_pattern_open(&t->pattern);
    if (status == LH_OK) status = grow_word_index(t);
    if (status == LH_OK) status = grow_pair_index(t);
    if (status != LH_OK) {
        lh_bpe_trainer_destroy(t);
        return status;
    }
    *out = t;
    return LH_OK;
}

void lh_bpe_trainer_destroy(lh_bpe_trainer *trainer) {
    if (trainer == NULL) return;
    for (int64_t i = 0; i < trainer->tokens.count; ++i)
        free(tokens_of(trainer)[i].bytes);
    free(trainer->text.at);
    free(trainer->words.at);
    free(trainer->pairs.at);
    free(trainer->counts.at);
    free(trainer->uses.at);
    free(trainer->tokens.at);
    free(trainer->merges.at);
    free(trainer->word_index);
    free(trainer->pair_index);
    free(trainer->token_index);
    free(trainer->symbols);
    lh_bpe_pattern_close(trainer->pattern);
    free(trainer);
}
