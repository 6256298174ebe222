/* The options of a corpus, each bound to its field. */
#include "datasets/text/corpus_config.h"

#include "datasets/tokens/tokenizer.h"

const lh_option lh_corpus_config_options[] = {
    LH_TEXT("name", lh_corpus_config, name, "books",
            "books, latex, code, generate:KIND, plugin:NAME, a name that `longhaul data list` "
            "shows, or a folder or a file (text, JSON lines) with a slash in its path"),
    LH_TEXT("tokens", lh_corpus_config, tokens, "bytes",
            "tokenizer: " LH_TOKENIZERS "; :NAME+NAME behind SIZE: trained on those corpora"),
    LH_INTEGER("documents", lh_corpus_config, documents, 200, 1, 1e7,
               "generator: documents to train on, beside ten each to validate and to test"),
    LH_INTEGER("document_bytes", lh_corpus_config, document_bytes, 32768, 256, 1e9,
               "generator: size of a document"),
    LH_INTEGER("split_bytes", lh_corpus_config, split_bytes, 0, 0, 1e15,
               "cut longer documents into pieces of this size, documents of their own; 0: whole"),
    LH_INTEGER("limit_bytes", lh_corpus_config, limit_bytes, 0, 0, 1e15,
               "bytes of the train split to use; 0: all"),
    LH_INTEGER("limit_eval_bytes", lh_corpus_config, limit_eval_bytes, 0, 0, 1e15,
               "bytes of valid and of test to use; 0: all"),
    LH_INTEGER(
        "limit_documents", lh_corpus_config, limit_documents, 0, 0, 1e12,
        "documents of the train split to use, the first by name, before they are cut; 0: all"),
    LH_INTEGER("valid_tokens", lh_corpus_config, valid_tokens, 0, 0, 1e12,
               "first tokens of every validation document to use; 0: all"),
    LH_INTEGER("data_seed", lh_corpus_config, data_seed, 1, 0, 9e15,
               "generator: seed of the documents"),
    LH_TEXT("field", lh_corpus_config, field, "",
            "JSON lines: the field that holds a document; empty: text"),
    {0}};
