/* Documents of the generators by number: those of each split are far from the others. */
#include "datasets/text/corpus_generated.h"

#include <stdio.h>
#include <string.h>

#include "datasets/generate/generate.h"
#include "harness/engine/nearest_name.h"

const char *const lh_corpus_generators[] = {"books", "latex", "code", NULL};

/* Valid and test documents begin where no training document can reach. */
enum { EVALUATED = 10 };
static const uint64_t valid_first = (uint64_t)1 << 32, test_first = (uint64_t)2 << 32;

bool lh_corpus_has_generator(const char *kind) {
    for (int i = 0; lh_corpus_generators[i] != NULL; ++i) {
        if (strcmp(lh_corpus_generators[i], kind) == 0) return true;
    }
    return false;
}

static lh_status generate(lh_corpus *corpus, lh_split split, int kind,
                          const lh_corpus_config *config, uint64_t first, int64_t count) {
    const uint64_t seed = (uint64_t)config->data_seed;
    const size_t target = (size_t)config->document_bytes;
    for (int64_t i = 0; i < count; ++i) {
        char name[64], *text = NULL;
        size_t bytes = 0;
        (void)snprintf(name, sizeof name, "%s/%llu", lh_corpus_generators[kind],
                       (unsigned long long)(first + (uint64_t)i));
        LH_TRY(lh_generate_document((lh_text_kind)kind, seed, first + (uint64_t)i, target, &text,
                                    &bytes));
        LH_TRY(lh_corpus_add_text(corpus, split, name, text, bytes));
    }
    return LH_OK;
}

lh_status lh_corpus_read_generated(lh_corpus *corpus, const char *kind,
                                   const lh_corpus_config *config) {
    int index = 0;
    while (lh_corpus_generators[index] != NULL && strcmp(lh_corpus_generators[index], kind) != 0)
        index += 1;
    if (lh_corpus_generators[index] == NULL) {
        return lh_fail(LH_EOPTION, "no generator '%s'%s", kind,
                       lh_did_you_mean(kind, lh_corpus_generators));
    }
    LH_TRY(generate(corpus, LH_TRAIN, index, config, 0, config->documents));
    LH_TRY(generate(corpus, LH_VALID, index, config, valid_first, EVALUATED));
    return generate(corpus, LH_TEST, index, config, test_first, EVALUATED);
}
