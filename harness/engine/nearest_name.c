/* Edit distance, and the sentence that every message about a wrong name ends with. */
#include "harness/engine/nearest_name.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { WORD_BYTES = 64 };

/* Levenshtein 1966 by one row of the table; long words are never near. */
static int edit_distance(const char *a, const char *b) {
    const size_t n = strlen(b);
    int row[WORD_BYTES];
    if (strlen(a) >= WORD_BYTES || n >= WORD_BYTES) return INT_MAX;
    for (size_t j = 0; j <= n; ++j)
        row[j] = (int)j;
    for (size_t i = 0; a[i] != '\0'; ++i) {
        int diagonal = row[0];
        row[0] = (int)i + 1;
        for (size_t j = 0; j < n; ++j) {
            const int replaced =
                diagonal + (tolower((unsigned char)a[i]) != tolower((unsigned char)b[j]));
            diagonal = row[j + 1];
            const int shorter = (row[j] < diagonal ? row[j] : diagonal) + 1;
            row[j + 1] = replaced < shorter ? replaced : shorter;
        }
    }
    return row[n];
}

const char *lh_nearest_name(const char *word, const char *const *names) {
    const char *nearest = NULL;
    int best = (int)strlen(word) / 2 + 1;
    for (int i = 0; names[i] != NULL; ++i) {
        const int distance = edit_distance(word, names[i]);
        if (distance < best) {
            best = distance;
            nearest = names[i];
        }
    }
    return nearest;
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
