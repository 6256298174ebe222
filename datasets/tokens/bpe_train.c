/* Training keeps, for every pair of neighbours, how often it occurs and in which words, so that a
 * merge touches only those words. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "datasets/tokens/bpe.h"
#include "harness/engine/array.h"
#include "harness/engine/atomic_file.h"
#include "harness/engine/hash.h"
#include "harness/engine/text.h"

enum { NOTHING = LH_HASH_NONE, CHARACTER_BYTES = 2 };

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

struct lh_bpe_trainer {
    lh_bpe_pattern *pattern;
    lh_text text; /* the bytes of all words */
    word *word;
    pair *pair;
    int64_t *count; /* of each pair, apart so that a scan for the largest is quick */
    use *use;
    lh_bpe_token *token;
    pair *merge; /* in order of rank */
    int64_t words, pairs, uses, tokens, merges;
    int64_t word_room, pair_room, count_room, use_room, token_room, merge_room;
    lh_hash word_ids, pair_ids, token_ids;
    int32_t *symbols; /* of all words */
};

/* ---- tables ---- */

static unsigned char *bytes_of(const lh_bpe_trainer *t, const word *w) {
    return (unsigned char *)t->text.data + w->begin;
}

static bool is_word(const void *trainer, int32_t id, const void *wanted) {
    const lh_bpe_trainer *t = trainer;
    const lh_bpe_span *s = wanted;
    const word *w = &t->word[id];
    return w->length == s->length && memcmp(bytes_of(t, w), s->bytes, (size_t)s->length) == 0;
}

static int32_t find_token(const lh_bpe_trainer *t, const unsigned char *bytes, int32_t length) {
    return lh_bpe_find(&t->token_ids, t->token, (lh_bpe_span){bytes, length});
}

/* ---- counting words ---- */

static lh_status add_word(void *to, const char *piece, size_t bytes) {
    lh_bpe_trainer *t = to;
    const lh_bpe_span wanted = {(const unsigned char *)piece, (int32_t)bytes};
    const uint64_t key = lh_hash_text(piece, bytes);
    const int32_t known = lh_hash_find_item(&t->word_ids, key, is_word, t, &wanted);
    if (known != NOTHING) {
        t->word[known].count += 1;
        return LH_OK;
    }
    LH_TRY(lh_array_reserve(&t->word, &t->word_room, t->words + 1, sizeof *t->word));
    t->word[t->words] = (word){.count = 1, .begin = t->text.bytes, .length = (int32_t)bytes};
    LH_TRY(lh_text_add(&t->text, piece, bytes));
    LH_TRY(lh_hash_add(&t->word_ids, key, (int32_t)t->words));
    t->words += 1;
    return LH_OK;
}

lh_status lh_bpe_trainer_add(lh_bpe_trainer *trainer, const char *text, size_t bytes) {
    if (bytes > INT32_MAX)
        return lh_fail(LH_EFORMAT, "BPE: a document of %lld bytes is too long", (long long)bytes);
    return lh_bpe_each_piece(trainer->pattern, text, bytes, add_word, trainer);
}

/* ---- counting pairs ---- */

static lh_status find_pair(lh_bpe_trainer *t, int32_t left, int32_t right, int32_t *found) {
    const uint64_t key = lh_hash_pair(left, right);
    *found = lh_hash_find(&t->pair_ids, key);
    if (*found != NOTHING) return LH_OK;
    LH_TRY(lh_array_reserve(&t->pair, &t->pair_room, t->pairs + 1, sizeof *t->pair));
    LH_TRY(lh_array_reserve(&t->count, &t->count_room, t->pairs + 1, sizeof *t->count));
    LH_TRY(lh_hash_add(&t->pair_ids, key, (int32_t)t->pairs));
    t->pair[t->pairs] = (pair){left, right, NOTHING};
    t->count[t->pairs] = 0;
    *found = (int32_t)t->pairs++;
    return LH_OK;
}

/* Notes the word where the pair's list does not begin with it: a long word has many of the pair. */
static lh_status note_use(lh_bpe_trainer *t, pair *of, int32_t index) {
    if (of->uses != NOTHING && t->use[of->uses].word == index) return LH_OK;
    LH_TRY(lh_array_reserve(&t->use, &t->use_room, t->uses + 1, sizeof *t->use));
    t->use[t->uses] = (use){index, of->uses};
    of->uses = (int32_t)t->uses++;
    return LH_OK;
}

/* Adds `sign` times the word's pairs. Those with `fresh` in them (all, if NOTHING) note the word.
 */
static lh_status count_pairs(lh_bpe_trainer *t, int32_t index, int sign, int32_t fresh) {
    const word *w = &t->word[index];
    const int32_t *symbol = t->symbols + w->begin;
    for (int32_t i = 0; i + 1 < w->length; ++i) {
        int32_t at = NOTHING;
        LH_TRY(find_pair(t, symbol[i], symbol[i + 1], &at));
        t->count[at] += sign * w->count;
        const bool known = fresh != NOTHING && symbol[i] != fresh && symbol[i + 1] != fresh;
        if (sign > 0 && !known) LH_TRY(note_use(t, &t->pair[at], index));
    }
    return LH_OK;
}

static lh_status count_all_pairs(lh_bpe_trainer *t) {
    t->symbols = lh_allocate((t->text.bytes + 1) * sizeof *t->symbols);
    if (t->symbols == NULL) return LH_EMEMORY;
    for (size_t i = 0; i < t->text.bytes; ++i)
        t->symbols[i] = find_token(t, (const unsigned char *)t->text.data + i, 1);
    for (int32_t i = 0; i < t->words; ++i)
        LH_TRY(count_pairs(t, i, 1, NOTHING));
    return LH_OK;
}

/* ---- merging ---- */

/* The most frequent pair, of equal ones that of the lowest ids; NOTHING when none occurs twice. */
static int32_t best_pair(const lh_bpe_trainer *t) {
    const int64_t *count = t->count;
    const pair *p = t->pair;
    int64_t most = 1;
    int32_t best = NOTHING;
    for (int32_t i = 0; i < t->pairs; ++i) {
        if (count[i] < most || count[i] < 2) continue;
        const bool lower = best == NOTHING || p[i].left < p[best].left ||
                           (p[i].left == p[best].left && p[i].right < p[best].right);
        if (count[i] == most && !lower) continue;
        most = count[i];
        best = i;
    }
    return best;
}

static lh_status keep_token(lh_bpe_trainer *t, lh_bpe_token made, int32_t *id) {
    LH_TRY(lh_array_reserve(&t->token, &t->token_room, t->tokens + 1, sizeof *t->token));
    LH_TRY(lh_hash_add(&t->token_ids, lh_hash_text(made.bytes, (size_t)made.length),
                       (int32_t)t->tokens));
    *id = (int32_t)t->tokens;
    t->token[t->tokens++] = made;
    return LH_OK;
}

/* Takes `bytes` over. A token that is there already is found again. */
static lh_status add_token(lh_bpe_trainer *t, unsigned char *bytes, int32_t length, int32_t *id) {
    *id = find_token(t, bytes, length);
    const bool known = *id != NOTHING;
    const lh_status status = known ? LH_OK : keep_token(t, (lh_bpe_token){bytes, length}, id);
    if (known || status != LH_OK) free(bytes);
    return status;
}

static lh_status join_tokens(lh_bpe_trainer *t, int32_t left, int32_t right, int32_t *id) {
    const lh_bpe_token a = t->token[left], b = t->token[right];
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
    LH_TRY(lh_array_reserve(&t->merge, &t->merge_room, t->merges + 1, sizeof *t->merge));
    LH_TRY(join_tokens(t, p.left, p.right, &made));
    t->merge[t->merges++] = p;
    for (int32_t at = p.uses; at != NOTHING; at = t->use[at].before) {
        const int32_t index = t->use[at].word;
        if (!has_pair(t, &t->word[index], p)) continue;
        LH_TRY(count_pairs(t, index, -1, NOTHING));
        merge_word(t, &t->word[index], p, made);
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
    LH_TRY(add_bytes(t));
    LH_TRY(count_all_pairs(t));
    for (int32_t best; t->tokens < size && (best = best_pair(t)) != NOTHING;)
        LH_TRY(merge_pair(t, t->pair[best]));
    return LH_OK;
}

/* ---- writing ---- */

/* The token in printable characters, all of one or two bytes; `text` has room for them. */
static void token_text(const lh_bpe_token *k, const uint32_t character[LH_BPE_BYTES], char *text) {
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
    for (int64_t i = 0; i < t->tokens; ++i)
        bytes += CHARACTER_BYTES * (size_t)t->token[i].length + 1;
    char **texts = lh_allocate((size_t)t->tokens * sizeof *texts + bytes);
    if (texts == NULL) return NULL;
    char *next = (char *)(texts + t->tokens);
    for (int64_t i = 0; i < t->tokens; ++i) {
        texts[i] = next;
        token_text(&t->token[i], character, next);
        next += strlen(next) + 1;
    }
    return texts;
}

static lh_status write_file(const char *folder, const char *name, const char *text) {
    char *path = lh_format("%s/%s", folder, name);
    if (path == NULL) return LH_EMEMORY;
    const lh_status status = lh_atomic_file_put(path, text, strlen(text));
    free(path);
    return status;
}

static lh_status write_tokens(const lh_bpe_trainer *t, char **texts, const char *folder) {
    cJSON *object = cJSON_CreateObject();
    bool whole = object != NULL;
    for (int64_t i = 0; whole && i < t->tokens; ++i)
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
    const pair *merges = t->merge;
    size_t bytes = sizeof heading, at = sizeof heading - 1;
    for (int64_t i = 0; i < t->merges; ++i)
        bytes += strlen(texts[merges[i].left]) + strlen(texts[merges[i].right]) + 2;
    char *text = lh_allocate(bytes);
    if (text == NULL) return LH_EMEMORY;
    memcpy(text, heading, sizeof heading);
    for (int64_t i = 0; i < t->merges; ++i)
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
    if (status != LH_OK) {
        lh_bpe_trainer_destroy(t);
        return status;
    }
    *out = t;
    return LH_OK;
}

void lh_bpe_trainer_destroy(lh_bpe_trainer *trainer) {
    if (trainer == NULL) return;
    for (int64_t i = 0; i < trainer->tokens; ++i)
        free(trainer->token[i].bytes);
    free(trainer->text.data);
    free(trainer->word);
    free(trainer->pair);
    free(trainer->count);
    free(trainer->use);
    free(trainer->token);
    free(trainer->merge);
    lh_hash_clear(&trainer->word_ids);
    lh_hash_clear(&trainer->pair_ids);
    lh_hash_clear(&trainer->token_ids);
    free(trainer->symbols);
    lh_bpe_pattern_close(trainer->pattern);
    free(trainer);
}
