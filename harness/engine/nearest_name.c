/* Edit distance, and the sentence that every message about a wrong name ends with. */
#include "harness/engine/nearest_name.h"

#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
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

/* Edits from the word to the nearest of the names; more than most_edits where none is near. */
static int fewest_edits(const char *word, const char *const *names) {
    int best = most_edits(word) + 1;
    for (int i = 0; names[i] != NULL; ++i)
        best = smaller(best, edit_distance(word, names[i]));
    return best;
}

/* Names that are equally near; the first `most` of them, and how many. */
static int names_near(const char *word, const char *const *names, int most, const char **near) {
    const int best = fewest_edits(word, names);
    const size_t length = strlen(word);
    int count = 0;
    for (int i = 0; names[i] != NULL && count < most && best <= most_edits(word); ++i)
        if (edit_distance(word, names[i]) == best) near[count++] = names[i];
    if (count > 0 || length < SHORTEST_PART || length >= WORD_BYTES) return count;
    near[0] = name_with(word, names);
    return near[0] != NULL;
}

const char *lh_nearest_name(const char *word, const char *const *names) {
    const char *nearest = NULL;
    return names_near(word, names, 1, &nearest) > 0 ? nearest : NULL;
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

/* Adds to a text of `used` bytes what fits of another; the bytes used then. */
static size_t add(char *text, size_t room, size_t used, const char *more) {
    const size_t length = strlen(more), fits = room - used - 1,
                 taken = length < fits ? length : fits;
    memcpy(text + used, more, taken);
    text[used + taken] = '\0';
    return used + taken;
}

const char *lh_did_you_mean(const char *word, const char *const *names) {
    enum { MOST_NEAR = 3, ROOM = MOST_NEAR * (WORD_BYTES + 8) + LIST_BYTES + 64 };
    static _Thread_local char text[ROOM];
    const char *near[MOST_NEAR];
    const int count = names_near(word, names, MOST_NEAR, near);
    const size_t most = count > 0 ? SHORT_LIST_BYTES : LIST_BYTES, bytes = list_bytes(names);
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < count; ++i) {
        used = add(text, ROOM, used, i == 0 ? " (did you mean '" : " or '");
        used = add(text, ROOM, used, near[i]);
        used = add(text, ROOM, used, i == count - 1 ? "'?)" : "'");
    }
    if (bytes == 0 || bytes > most) return text;
    for (int i = 0; names[i] != NULL; ++i) {
        used = add(text, ROOM, used, i > 0 ? ", " : "; there are: ");
        used = add(text, ROOM, used, names[i]);
    }
    return text;
}
