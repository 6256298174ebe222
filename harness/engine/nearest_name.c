/* Edit distance, and the sentence that every message about a wrong name ends with. */
#include "harness/engine/nearest_name.h"

#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { WORD_BYTES = 64, SHORTEST_PART = 3 /* letters of a word that are looked for in names */ };

static bool alike(char a, char b) {
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static int smaller(int a, int b) {
    return a < b ? a : b;
}

/* Letters added, left out, replaced, or two neighbours swapped (Damerau 1964), by three rows of the
 * table; long words are never near. */
static int edit_distance(const char *a, const char *b) {
    const size_t m = strlen(a), n = strlen(b);
    int rows[3][WORD_BYTES];
    if (m >= WORD_BYTES || n >= WORD_BYTES) return INT_MAX;
    for (size_t j = 0; j <= n; ++j)
        rows[0][j] = (int)j;
    for (size_t i = 1; i <= m; ++i) {
        int *row = rows[i % 3];
        const int *above = rows[(i - 1) % 3], *before = rows[(i + 1) % 3];
        row[0] = (int)i;
        for (size_t j = 1; j <= n; ++j) {
            const bool swapped =
                i > 1 && j > 1 && alike(a[i - 1], b[j - 2]) && alike(a[i - 2], b[j - 1]);
            row[j] = smaller(above[j], row[j - 1]) + 1;
            row[j] = smaller(row[j], above[j - 1] + !alike(a[i - 1], b[j - 1]));
            if (swapped) row[j] = smaller(row[j], before[j - 2] + 1);
        }
    }
    return rows[m % 3][n];
}

/* How far into `name` the word stands; -1 where it does not. */
static int place_in(const char *name, const char *word) {
    const size_t length = strlen(word), whole = strlen(name);
    for (size_t at = 0; at + length <= whole; ++at) {
        size_t same = 0;
        while (same < length && alike(name[at + same], word[same]))
            ++same;
        if (same == length) return (int)at;
    }
    return -1;
}

/* The name with the word in it, the earlier the better: "walk" is short for random_walk. */
static const char *name_with(const char *word, const char *const *names) {
    const char *found = NULL;
    int best = INT_MAX;
    for (int i = 0; names[i] != NULL; ++i) {
        const int place = place_in(names[i], word);
        if (place < 0 || place >= best) continue;
        best = place;
        found = names[i];
    }
    return found;
}

/* How many letters of a word may be wrong: a third of a long one, of a short one half. */
static int most_edits(const char *word) {
    const int length = (int)strlen(word);
    return smaller(length / 2, (length + 2) / 3);
}

const char *lh_nearest_name(const char *word, const char *const *names) {
    const char *nearest = NULL;
    int best = most_edits(word) + 1;
    for (int i = 0; names[i] != NULL; ++i) {
        const int distance = edit_distance(word, names[i]);
        if (distance < best) {
            best = distance;
            nearest = names[i];
        }
    }
    const size_t length = strlen(word);
    const bool is_part = length >= SHORTEST_PART && length < WORD_BYTES;
    return nearest == NULL && is_part ? name_with(word, names) : nearest;
}

/* A list is told whole or not at all: a short one beside the nearest name, a longer one alone. */
enum { SHORT_LIST_BYTES = 400, LIST_BYTES = 1000 };

/* Bytes of the names with ", " between them; more than LIST_BYTES where there are more. */
static size_t list_bytes(const char *const *names) {
    size_t bytes = 0;
    for (int i = 0; names[i] != NULL && bytes <= LIST_BYTES; ++i)
        bytes += strlen(names[i]) + 2;
    return bytes;
}

const char *lh_did_you_mean(const char *word, const char *const *names) {
    static _Thread_local char text[WORD_BYTES + LIST_BYTES + 64];
    const char *nearest = lh_nearest_name(word, names);
    const size_t most = nearest != NULL ? SHORT_LIST_BYTES : LIST_BYTES, bytes = list_bytes(names);
    size_t used = 0;
    text[0] = '\0';
    if (nearest != NULL)
        used = (size_t)snprintf(text, sizeof text, " (did you mean '%s'?)", nearest);
    if (bytes == 0 || bytes > most) return text;
    for (int i = 0; names[i] != NULL; ++i)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s",
                                 i > 0 ? ", " : "; there are: ", names[i]);
    return text;
}
