/* BLEU over a corpus with one reference per sentence (Papineni et al. 2002), as sacreBLEU computes
 * it (Post 2018): which tokenisation, case and smoothing were used belongs to the number. */
#ifndef LH_INFER_BLEU_H
#define LH_INFER_BLEU_H

#include "harness/engine/error.h"

enum { LH_BLEU_ORDER = 4 };

typedef enum lh_bleu_words {
    LH_BLEU_13A, /* mteval-v13a, WMT's: ASCII punctuation stands alone */
    LH_BLEU_INTL /* mteval-v14 international: Unicode punctuation and symbols do */
} lh_bleu_words;

typedef enum lh_bleu_smoothing {
    LH_BLEU_UNSMOOTHED,
    LH_BLEU_EXP /* sacreBLEU's default: the k-th order without a match counts as 1 / 2^k matches */
} lh_bleu_smoothing;

/* What the corpus has come to. */
typedef struct lh_bleu_counts {
    int64_t correct[LH_BLEU_ORDER], total[LH_BLEU_ORDER]; /* n-grams of the hypotheses */
    int64_t hypothesis_words, reference_words;
} lh_bleu_counts;

typedef struct lh_bleu lh_bleu;

/* lowercase: both sides, by Unicode's rules. Gives; destroy it. Fails: LH_EOPTION in a build
 * without the pcre2 library. */
lh_status lh_bleu_create(lh_bleu_words words, bool lowercase, lh_bleu **out);
void lh_bleu_destroy(lh_bleu *bleu);

/* Adds a sentence and its reference, which may hold NUL bytes. Fails: LH_EFORMAT for text that is
 * not UTF-8. */
lh_status lh_bleu_add(lh_bleu *bleu, const char *hypothesis, size_t hypothesis_bytes,
                      const char *reference, size_t reference_bytes);

const lh_bleu_counts *lh_bleu_get(const lh_bleu *bleu);

/* 0 to 100. */
double lh_bleu_score(const lh_bleu_counts *counts, lh_bleu_smoothing smoothing);

#endif
