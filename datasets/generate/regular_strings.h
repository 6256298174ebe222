/* Regular languages over two letters, sampled and labelled as the formal-language benchmark of
 * Bhattamishra et al. 2020 does (arXiv:2009.11264, and its released generators): Parity, the
 * bounded brackets D_1 to D_12, Tomita's grammars 1 to 7, and counting modulo 2 and 4. */
#ifndef LH_DATASETS_REGULAR_STRINGS_H
#define LH_DATASETS_REGULAR_STRINGS_H

#include "harness/engine/error.h"
#include "kernels/random.h"

typedef enum lh_regular_language {
    LH_PARITY,  /* an even number of 1s */
    LH_D2,      /* D_n = (a D_{n-1} b)*, D_1 = (ab)* */
    LH_D4,      /* the same, four brackets deep */
    LH_TOMITA3, /* no odd run of 1s that an odd run of 0s follows */
    LH_TOMITA5, /* even numbers of 0s and of 1s */
    LH_TOMITA6, /* as many 0s as 1s, modulo 3 */
    LH_TOMITA1, /* 1* */
    LH_TOMITA2, /* (10)* */
    LH_TOMITA4, /* no 000 */
    LH_TOMITA7, /* 0*1*0*1* */
    LH_D1,
    LH_D3,
    LH_D5,
    LH_D6,
    LH_D7,
    LH_D8,
    LH_D9,
    LH_D10,
    LH_D11,
    LH_D12,
    LH_AA,   /* (aa)* */
    LH_AAAA, /* (aaaa)* */
    LH_ABAB, /* (abab)* */
    LH_REGULAR_LANGUAGES
} lh_regular_language;

/* "parity", "d2" ... "tomita1" ... "aa", "aaaa", "abab", NULL. */
extern const char *const lh_regular_language_names[LH_REGULAR_LANGUAGES + 1];

/* Letters: 0 is '0' or 'a', 1 is '1' or 'b'. */
enum { LH_LETTERS = 2 };

/* See lh_digest_generated. */
enum { LH_REGULAR_LANGUAGE_VERSION = 1 };

/* The n of D_n, 0 of another language. */
int64_t lh_regular_language_depth(lh_regular_language language);

/* Whether the string letters [length], 0 and 1, is in the language; the empty one is read, too. */
bool lh_regular_language_has(lh_regular_language language, const uint8_t *letters, int64_t length);

/* What is to be told after each letter, as a 0 or 1 for both outputs: label [length][LH_LETTERS].
 * D_n and Tomita 1 to 4 and 7: which letters may follow. Parity, Tomita 5 and 6, (aa)*, (aaaa)* and
 * (abab)*: {0, 1} where the string so far is in the language, else {1, 0}. In Tomita 3 an odd run
 * of 0s after an odd run of 1s counts as lost although one more 0 repairs it: so the released
 * labels have it. */
void lh_regular_language_label(lh_regular_language language, const uint8_t *letters, int64_t length,
                               real *label);

/* Strings of a language. */
typedef struct lh_strings {
    int64_t count, longest;
    int64_t distinct;
    int64_t *length; /* [count] */
    uint8_t *letter; /* [count][longest] */
} lh_strings;

/* Draws `count` strings of `shortest` (at least 1) to `longest` letters by the language's released
 * rule (see the .c file). A string that was drawn before is drawn again; once 1000 draws in a row
 * bring nothing new, strings may repeat (the rule of D_2 reaches a few hundred). The same key gives
 * the same strings. Fills *out; clear it, even after a failure. Fails: LH_EOPTION when no string of
 * the language has such a length. */
lh_status lh_strings_draw(lh_regular_language language, int64_t shortest, int64_t longest,
                          int64_t count, lh_random_key key, lh_strings *out);
void lh_strings_clear(lh_strings *strings);

/* String `index` of *strings. Lends. */
static inline const uint8_t *lh_strings_at(const lh_strings *strings, int64_t index) {
    return strings->letter + index * strings->longest;
}

#endif
