/* Words stand in the order in which they came; a hash table finds them. */
#include "datasets/tokens/words.h"

#include <stdlib.h>
#include <string.h>

#include "harness/engine/array.h"
#include "harness/engine/atomic_file.h"
#include "harness/engine/file.h"
#include "harness/engine/hash.h"

typedef struct word {
    char *text;
    size_t bytes;
    int64_t count;
    int32_t id; /* in order of appearance */
} word;

/* Somebody else's word. */
typedef struct span {
    const char *text;
    size_t bytes;
} span;

struct lh_words {
    word *word; /* by id */
    int64_t count, capacity;
    lh_hash ids;
};

static const char end[] = "<eos>", unknown[] = "<unk>";

/* ---- the table ---- */

static bool is_word(const void *words, int32_t id, const void *wanted) {
    const word *w = (const word *)words + id;
    const span *s = wanted;
    return w->bytes == s->bytes && memcmp(w->text, s->text, s->bytes) == 0;
}

/* Adds a word that is not there. */
static lh_status add(lh_words *words, const char *text, size_t bytes) {
    const int32_t id = (int32_t)words->count;
    LH_TRY(lh_array_reserve(&words->word, &words->capacity, words->count + 1, sizeof(word)));
    char *copy = lh_allocate(bytes + 1);
    if (copy == NULL) return LH_EMEMORY;
    memcpy(copy, text, bytes);
    copy[bytes] = '\0';
    words->word[words->count++] = (word){.text = copy, .bytes = bytes, .id = id};
    return lh_hash_add(&words->ids, lh_hash_text(text, bytes), id);
}

lh_status lh_words_create(lh_words **out) {
    lh_words *words = lh_allocate_zeroed(1, sizeof *words);
    if (words == NULL) return LH_EMEMORY;
    const lh_status status = add(words, end, sizeof end - 1);
    if (status != LH_OK) {
        lh_words_destroy(words);
        return status;
    }
    *out = words;
    return LH_OK;
}

void lh_words_destroy(lh_words *words) {
    if (words == NULL) return;
    for (int64_t i = 0; i < words->count; ++i)
        free(words->word[i].text);
    free(words->word);
    lh_hash_clear(&words->ids);
    free(words);
}

int64_t lh_words_size(const lh_words *words) {
    return words->count;
}

int32_t lh_words_find(const lh_words *words, const char *text, size_t bytes) {
    const span wanted = {text, bytes};
    return lh_hash_find_item(&words->ids, lh_hash_text(text, bytes), is_word, words->word, &wanted);
}

const char *lh_words_text(const lh_words *words, int32_t id, size_t *bytes) {
    *bytes = words->word[id].bytes;
    return words->word[id].text;
}

/* ---- texts ---- */

static bool is_blank(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

lh_status lh_words_each(const char *text, size_t bytes, lh_words_visit *visit, void *to) {
    for (size_t at = 0; at < bytes;) {
        size_t length = 0;
        while (at + length < bytes && !is_blank(text[at + length]))
            length += 1;
        if (length > 0) LH_TRY(visit(to, text + at, length));
        at += length;
        if (at < bytes && text[at] == '\n') LH_TRY(visit(to, end, sizeof end - 1));
        at += 1;
    }
    return LH_OK;
}

static lh_status count_word(void *to, const char *text, size_t bytes) {
    lh_words *words = to;
    if (lh_words_find(words, text, bytes) < 0) LH_TRY(add(words, text, bytes));
    words->word[lh_words_find(words, text, bytes)].count += 1;
    return LH_OK;
}

lh_status lh_words_count(void *words, const char *text, size_t bytes) {
    return lh_words_each(text, bytes, count_word, words);
}

/* ---- files ---- */

static int by_count(const void *a, const void *b) {
    const word *x = a, *y = b;
    if (x->count != y->count) return x->count < y->count ? 1 : -1;
    return x->id < y->id ? -1 : 1;
}

static lh_status write_word(lh_atomic_file *file, const char *text, size_t bytes) {
    LH_TRY(lh_atomic_file_write(file, text, bytes));
    return lh_atomic_file_write(file, "\n", 1);
}

/* The words but <eos>, sorted; free(). */
static word *sorted_words(const lh_words *words) {
    const size_t count = (size_t)words->count - 1;
    word *sorted = lh_allocate((count + 1) * sizeof *sorted);
    if (sorted == NULL) return NULL;
    memcpy(sorted, words->word + 1, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_count);
    return sorted;
}

static lh_status write_words(const word *sorted, int64_t count, int64_t size,
                             lh_atomic_file *file) {
    bool there = false;
    int64_t kept = lh_min(count, size - 1);
    for (int64_t i = 0; i < kept; ++i)
        there = there || strcmp(sorted[i].text, unknown) == 0;
    if (!there && kept == size - 1) kept -= 1;
    LH_TRY(write_word(file, end, sizeof end - 1));
    for (int64_t i = 0; i < kept; ++i)
        LH_TRY(write_word(file, sorted[i].text, sorted[i].bytes));
    return there ? LH_OK : write_word(file, unknown, sizeof unknown - 1);
}

lh_status lh_words_write(const lh_words *words, int64_t size, const char *path) {
    lh_atomic_file *file = NULL;
    word *sorted = sorted_words(words);
    if (sorted == NULL) return LH_EMEMORY;
    lh_status status = lh_atomic_file_open(path, &file);
    if (status == LH_OK) {
        status = write_words(sorted, words->count - 1, size, file);
        if (status == LH_OK) {
            status = lh_atomic_file_commit(file);
        } else {
            lh_atomic_file_abandon(file);
        }
    }
    free(sorted);
    return status;
}

static lh_status read_lines(lh_words *words, const char *path, const char *data, size_t bytes) {
    long long line = 1;
    for (size_t at = 0; at < bytes; ++line) {
        const char *stop = memchr(data + at, '\n', bytes - at);
        const size_t length = stop != NULL ? (size_t)(stop - data) - at : bytes - at;
        const int32_t id = lh_words_find(words, data + at, length);
        if (length == 0 || (id >= 0 && (line > 1 || id != 0)))
            return lh_fail(LH_EFORMAT, "%s:%lld: a word is empty or stands twice", path, line);
        if (line == 1 && id != 0)
            return lh_fail(LH_EFORMAT, "%s:1: the first word must be %s", path, end);
        if (line > 1) LH_TRY(add(words, data + at, length));
        at += length + 1;
    }
    if (lh_words_find(words, unknown, sizeof unknown - 1) >= 0) return LH_OK;
    return lh_fail(LH_EFORMAT, "%s: no line is %s", path, unknown);
}

lh_status lh_words_read(const char *path, lh_words **out) {
    void *data = NULL;
    size_t bytes = 0;
    lh_words *words = NULL;
    LH_TRY(lh_file_read_all(path, &data, &bytes));
    lh_status status = lh_words_create(&words);
    if (status == LH_OK) status = read_lines(words, path, data, bytes);
    free(data);
    if (status != LH_OK) {
        lh_words_destroy(words);
        return status;
    }
    *out = words;
    return LH_OK;
}
