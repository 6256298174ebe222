/* Words of a sentence by the rules of either tokenisation, n-grams counted, the score of the
 * counts. A build without pcre2 has the score alone. */
#include "harness/infer/bleu.h"

#include <math.h>

double lh_bleu_score(const lh_bleu_counts *counts, lh_bleu_smoothing smoothing) {
    const double hypothesis = (double)counts->hypothesis_words;
    const double reference = (double)counts->reference_words;
    double logs = 0.0, unmatched = 1.0;
    if (counts->correct[0] == 0) return 0.0;
    for (int n = 0; n < LH_BLEU_ORDER; ++n) {
        double matches = (double)counts->correct[n];
        if (counts->total[n] == 0) return 0.0;
        if (counts->correct[n] == 0) {
            if (smoothing == LH_BLEU_UNSMOOTHED) return 0.0;
            unmatched *= 2.0;
            matches = 1.0 / unmatched;
        }
        logs += log(matches / (double)counts->total[n]) / LH_BLEU_ORDER;
    }
    const double brevity = hypothesis < reference ? 1.0 - reference / hypothesis : 0.0;
    return 100.0 * exp(brevity + logs);
}

#ifdef LH_HAVE_PCRE2

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "harness/engine/array.h"
#include "harness/engine/text.h"

/* ---- from text to words: substitutions, one after the other ---- */

typedef struct step {
    const char *pattern, *replacement;
} step;

static const step lowercase_steps[] = {{"(?s).+", "\\L$0"}, {NULL, NULL}};

/* mteval-v13a.pl. */
static const step steps_13a[] = {
    {"\\s+\\z", ""},
    {"<skipped>", ""},
    {"-\\n", ""},
    {"\\n", " "},
    {"&quot;", "\""},
    {"&amp;", "&"},
    {"&lt;", "<"},
    {"&gt;", ">"},
    {"\\A|\\z", " "},
    {"[{-~\\[-` -&(-+:-@/]", " $0 "},
    {"([^0-9])([.,])", "$1 $2 "}, /* unless a digit comes before */
    {"([.,])([^0-9])", " $1 $2"}, /* unless a digit comes behind */
    {"([0-9])(-)", "$1 $2 "},
    {NULL, NULL},
};

/* mteval-v14.pl with --international-tokenization. */
static const step steps_intl[] = {
    {"\\s+\\z", ""},
    {"(\\P{N})(\\p{P})", "$1 $2 "},
    {"(\\p{P})(\\P{N})", " $1 $2"},
    {"\\p{S}", " $0 "},
    {NULL, NULL},
};

static const step last_steps[] = {{"\\s+", " "}, {NULL, NULL}};

enum { STEPS = 24 };

/* Words of a sentence, known by number: equal words have equal ones. */
typedef struct sentence {
    int32_t *word;
    int64_t count, capacity;
} sentence;

struct lh_bleu {
    pcre2_code *code[STEPS];
    const char *replacement[STEPS];
    int steps;
    lh_text now, next;
    sentence hypothesis, reference;
    lh_text seen[2]; /* the sentences' words, separated by blanks */
    lh_bleu_counts counts;
};

static lh_status add_steps(lh_bleu *bleu, const step *table) {
    for (int i = 0; table[i].pattern != NULL; ++i) {
        int error = 0;
        PCRE2_SIZE at = 0;
        pcre2_code *code = pcre2_compile((PCRE2_SPTR)table[i].pattern, PCRE2_ZERO_TERMINATED,
                                         PCRE2_UTF | PCRE2_UCP, &error, &at, NULL);
        if (code == NULL) return lh_fail(LH_EINTERNAL, "bleu: pattern %s", table[i].pattern);
        bleu->code[bleu->steps] = code;
        bleu->replacement[bleu->steps++] = table[i].replacement;
    }
    return LH_OK;
}

lh_status lh_bleu_create(lh_bleu_words words, bool lowercase, lh_bleu **out) {
    *out = NULL;
    lh_bleu *bleu = lh_allocate_zeroed(1, sizeof *bleu);
    if (bleu == NULL) return LH_EMEMORY;
    lh_status status = lowercase ? add_steps(bleu, lowercase_steps) : LH_OK;
    if (status == LH_OK) status = add_steps(bleu, words == LH_BLEU_13A ? steps_13a : steps_intl);
    if (status == LH_OK) status = add_steps(bleu, last_steps);
    if (status != LH_OK) {
        lh_bleu_destroy(bleu);
        return status;
    }
    *out = bleu;
    return LH_OK;
}

void lh_bleu_destroy(lh_bleu *bleu) {
    if (bleu == NULL) return;
    for (int i = 0; i < bleu->steps; ++i)
        pcre2_code_free(bleu->code[i]);
    free(bleu->now.data);
    free(bleu->next.data);
    free(bleu->seen[0].data);
    free(bleu->seen[1].data);
    free(bleu->hypothesis.word);
    free(bleu->reference.word);
    free(bleu);
}

/* One substitution, from `now` to `next`. */
static int substitute(lh_bleu *bleu, int i, size_t *length) {
    *length = (size_t)bleu->next.capacity;
    return pcre2_substitute(bleu->code[i], (PCRE2_SPTR)bleu->now.data, bleu->now.bytes, 0,
                            PCRE2_SUBSTITUTE_GLOBAL | PCRE2_SUBSTITUTE_EXTENDED |
                                PCRE2_SUBSTITUTE_OVERFLOW_LENGTH,
                            NULL, NULL, (PCRE2_SPTR)bleu->replacement[i], PCRE2_ZERO_TERMINATED,
                            (PCRE2_UCHAR *)bleu->next.data, length);
}

static lh_status apply_step(lh_bleu *bleu, int i) {
    size_t length = 0;
    LH_TRY(lh_text_reserve(&bleu->next, 2 * bleu->now.bytes + 16));
    int found = substitute(bleu, i, &length);
    if (found == PCRE2_ERROR_NOMEMORY) {
        LH_TRY(lh_text_reserve(&bleu->next, length));
        found = substitute(bleu, i, &length);
    }
    if (found < 0) return lh_fail(LH_EFORMAT, "bleu: a sentence is not UTF-8");
    const lh_text swapped = bleu->now;
    bleu->now = bleu->next;
    bleu->next = swapped;
    bleu->now.bytes = length;
    return LH_OK;
}

/* Words separated by single blanks, in *out. */
static lh_status split_words(lh_bleu *bleu, const char *text, size_t bytes, lh_text *out) {
    bleu->now.bytes = 0;
    LH_TRY(lh_text_add(&bleu->now, text, bytes));
    for (int i = 0; i < bleu->steps; ++i)
        LH_TRY(apply_step(bleu, i));
    out->bytes = 0;
    return lh_text_add(out, bleu->now.data, bleu->now.bytes);
}

/* ---- n-grams ---- */

/* The next word from *at on; NULL at the end. */
static const char *next_word(const lh_text *t, size_t *at, size_t *length) {
    while (*at < t->bytes && t->data[*at] == ' ')
        *at += 1;
    const char *word = t->data + *at;
    const char *end = *at < t->bytes ? memchr(word, ' ', t->bytes - *at) : NULL;
    *length = end != NULL ? (size_t)(end - word) : t->bytes - *at;
    *at += *length;
    return *length > 0 ? word : NULL;
}

/* Where in all texts up to `last` the word stands first: its number. */
static int32_t number_of(const lh_bleu *bleu, int last, const char *word, size_t length) {
    int32_t number = 0;
    for (int t = 0; t <= last; ++t) {
        size_t at = 0, size = 0;
        const char *other = NULL;
        while ((other = next_word(&bleu->seen[t], &at, &size)) != NULL) {
            if (size == length && memcmp(other, word, length) == 0) return number;
            number += 1;
        }
    }
    return number;
}

static lh_status number_words(const lh_bleu *bleu, int which, sentence *out) {
    size_t at = 0, length = 0;
    const char *word = NULL;
    out->count = 0;
    while ((word = next_word(&bleu->seen[which], &at, &length)) != NULL) {
        LH_TRY(lh_array_reserve(&out->word, &out->capacity, out->count + 1, sizeof *out->word));
        out->word[out->count++] = number_of(bleu, which, word, length);
    }
    return LH_OK;
}

/* How often the n-gram stands in the first `count` words of a sentence. */
static int64_t occurrences(const int32_t *gram, int64_t n, const int32_t *words, int64_t count) {
    int64_t found = 0;
    for (int64_t i = 0; i + n <= count; ++i)
        found += memcmp(gram, words + i, (size_t)n * sizeof *gram) == 0;
    return found;
}

/* An n-gram counts as often as the reference has it. */
static void count_matches(lh_bleu *bleu, int64_t n) {
    const sentence *h = &bleu->hypothesis, *r = &bleu->reference;
    for (int64_t i = 0; i + n <= h->count; ++i) {
        const int32_t *gram = h->word + i;
        const int64_t before = occurrences(gram, n, h->word, i + n);
        bleu->counts.correct[n - 1] += before <= occurrences(gram, n, r->word, r->count);
        bleu->counts.total[n - 1] += 1;
    }
}

lh_status lh_bleu_add(lh_bleu *bleu, const char *hypothesis, size_t hypothesis_bytes,
                      const char *reference, size_t reference_bytes) {
    LH_TRY(split_words(bleu, hypothesis, hypothesis_bytes, &bleu->seen[0]));
    LH_TRY(split_words(bleu, reference, reference_bytes, &bleu->seen[1]));
    LH_TRY(number_words(bleu, 0, &bleu->hypothesis));
    LH_TRY(number_words(bleu, 1, &bleu->reference));
    bleu->counts.hypothesis_words += bleu->hypothesis.count;
    bleu->counts.reference_words += bleu->reference.count;
    for (int64_t n = 1; n <= LH_BLEU_ORDER; ++n)
        count_matches(bleu, n);
    return LH_OK;
}

const lh_bleu_counts *lh_bleu_get(const lh_bleu *bleu) {
    return &bleu->counts;
}

#else

lh_status lh_bleu_create(lh_bleu_words words, bool lowercase, lh_bleu **out) {
    (void)words;
    (void)lowercase;
    *out = NULL;
    return lh_fail(LH_EOPTION, "BLEU needs the pcre2 library, which this build lacks");
}

void lh_bleu_destroy(lh_bleu *bleu) {
    (void)bleu;
}

lh_status lh_bleu_add(lh_bleu *bleu, const char *hypothesis, size_t hypothesis_bytes,
                      const char *reference, size_t reference_bytes) {
    (void)bleu;
    (void)hypothesis;
    (void)hypothesis_bytes;
    (void)reference;
    (void)reference_bytes;
    return LH_EINTERNAL;
}

const lh_bleu_counts *lh_bleu_get(const lh_bleu *bleu) {
    (void)bleu;
    return NULL;
}

#endif
