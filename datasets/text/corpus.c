/* Documents and their tokenizer together: a vocabulary that is there is opened first, so that a
 * wrong name costs no reading; one that is to be trained needs the documents. */
#include "datasets/text/corpus.h"

#include "datasets/text/corpus_read.h"
#include "datasets/text/vocabulary.h"
#include "datasets/tokens/trained_tokens.h"

static lh_status fill(lh_corpus *corpus, const lh_corpus_config *config) {
    const bool trained = lh_tokens_are_trained(config->tokens);
    if (config->valid_tokens > 0 && config->split_bytes > 0)
        return lh_fail(LH_EOPTION, "options 'valid_tokens' and 'split_bytes' exclude each other: "
                                   "every piece would keep first tokens of its own");
    if (!trained) LH_TRY(lh_corpus_open_tokens(corpus, config->tokens));
    LH_TRY(lh_corpus_fill(corpus, config));
    return trained ? lh_corpus_open_tokens(corpus, config->tokens) : LH_OK;
}

lh_status lh_corpus_open(const lh_corpus_config *config, lh_corpus **out) {
    lh_corpus *corpus = NULL;
    LH_TRY(lh_corpus_create(config, &corpus));
    const lh_status status = fill(corpus, config);
    if (status != LH_OK) {
        lh_corpus_destroy(corpus);
        return status;
    }
    *out = corpus;
    return LH_OK;
}
