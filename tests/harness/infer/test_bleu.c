/* BLEU against sacreBLEU (tests/oracles/bleu.py): counts to the unit, scores to nine digits. */
#include "harness/infer/bleu.h"

#include "tests/test.h"

static const char sentences[] = "tests/golden/bleu/bleu_sentences.tsv",
                  scores[] = "tests/golden/bleu/bleu_scores.csv";

enum { LINE = 4096 };

/* Adds the sentences of one corpus. */
static bool add_corpus(lh_bleu *bleu, const char *corpus) {
    char line[LINE];
    int added = 0;
    FILE *file = fopen(sentences, "r");
    if (!CHECK(file != NULL)) return false;
    while (fgets(line, sizeof line, file) != NULL) {
        char *hypothesis = strchr(line, '\t');
        char *reference = hypothesis != NULL ? strchr(hypothesis + 1, '\t') : NULL;
        if (!CHECK(reference != NULL)) break;
        *hypothesis++ = *reference++ = '\0';
        reference[strcspn(reference, "\n")] = '\0';
        if (strcmp(line, corpus) != 0) continue;
        CHECK_OK(lh_bleu_add(bleu, hypothesis, strlen(hypothesis), reference, strlen(reference)));
        added += 1;
    }
    (void)fclose(file);
    return CHECK(added > 0);
}

/* A row of the scores: corpus,words,lowercase, ten counts, two scores. */
typedef struct expected {
    char corpus[32], words[8];
    int lowercase;
    lh_bleu_counts counts;
    double exp, unsmoothed;
} expected;

static bool read_row(const char *line, expected *row) {
    char *at = NULL;
    int64_t *const fields[] = {&row->counts.hypothesis_words, &row->counts.reference_words,
                               &row->counts.correct[0],       &row->counts.correct[1],
                               &row->counts.correct[2],       &row->counts.correct[3],
                               &row->counts.total[0],         &row->counts.total[1],
                               &row->counts.total[2],         &row->counts.total[3]};
    int used = 0;
    if (sscanf(line, "%31[^,],%7[^,],%d%n", row->corpus, row->words, &row->lowercase, &used) != 3)
        return false;
    line += used;
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; ++i, line = at)
        *fields[i] = strtoll(line + 1, &at, 10);
    return sscanf(line, ",%lf,%lf", &row->exp, &row->unsmoothed) == 2;
}

static void check_row(const expected *row) {
    const bool intl = strcmp(row->words, "intl") == 0;
    lh_bleu *bleu = NULL;
    REQUIRE_OK(lh_bleu_create(intl ? LH_BLEU_INTL : LH_BLEU_13A, row->lowercase != 0, &bleu));
    REQUIRE(add_corpus(bleu, row->corpus));
    const lh_bleu_counts *counts = lh_bleu_get(bleu);
    const double smooth = lh_bleu_score(counts, LH_BLEU_EXP);
    test_check(memcmp(counts, &row->counts, sizeof *counts) == 0 &&
                   fabs(smooth - row->exp) < 1e-9 &&
                   fabs(lh_bleu_score(counts, LH_BLEU_UNSMOOTHED) - row->unsmoothed) < 1e-9,
               __FILE__, __LINE__, "%s %s lowercase %d: BLEU %.9g of %lld words, expected %.9g",
               row->corpus, row->words, row->lowercase, smooth, (long long)counts->hypothesis_words,
               row->exp);
    lh_bleu_destroy(bleu);
}

TEST(counts_and_scores_are_those_of_sacrebleu) {
#ifndef LH_HAVE_PCRE2
    SKIP("built without pcre2");
#endif
    char line[LINE];
    int rows = 0;
    FILE *file = fopen(scores, "r");
    REQUIRE(file != NULL && fgets(line, sizeof line, file) != NULL);
    for (; fgets(line, sizeof line, file) != NULL; ++rows) {
        expected row;
        REQUIRE(read_row(line, &row));
        check_row(&row);
    }
    (void)fclose(file);
    CHECK_EQ_INT(rows, 36);
}

/* A model of bytes may write one. */
TEST(a_nul_byte_ends_no_sentence) {
#ifndef LH_HAVE_PCRE2
    SKIP("built without pcre2");
#endif
    static const char said[] = "a b\0c d e", wanted[] = "a b\0c d e f";
    lh_bleu *bleu = NULL;
    REQUIRE_OK(lh_bleu_create(LH_BLEU_13A, false, &bleu));
    REQUIRE_OK(lh_bleu_add(bleu, said, sizeof said - 1, wanted, sizeof wanted - 1));
    const lh_bleu_counts *counts = lh_bleu_get(bleu);
    CHECK(counts->hypothesis_words == 4 && counts->reference_words == 5);
    CHECK_EQ_INT(counts->correct[0], 4);
    lh_bleu_destroy(bleu);
}

TEST(text_that_is_not_utf8_is_refused) {
#ifndef LH_HAVE_PCRE2
    SKIP("built without pcre2");
#endif
    lh_bleu *bleu = NULL;
    REQUIRE_OK(lh_bleu_create(LH_BLEU_13A, true, &bleu));
    CHECK_FAILS(lh_bleu_add(bleu, "good", 4,
                            "b\xe4"
                            "d",
                            3),
                LH_EFORMAT, "not UTF-8");
    CHECK_NEAR(lh_bleu_score(lh_bleu_get(bleu), LH_BLEU_EXP), 0, 0);
    lh_bleu_destroy(bleu);
}
