/* What a corpus is opened from: its name, its tokenizer, and how much of it is used. */
#ifndef LH_DATASETS_CORPUS_CONFIG_H
#define LH_DATASETS_CORPUS_CONFIG_H

#include "harness/engine/options.h"

/* What lh_corpus_open opens; bound to the options of the same names. */
typedef struct lh_corpus_config {
    /* "books", "latex", "code", "enwik8", "text8", "wikitext-103", "wikitext-103-raw", "pg19",
     * "generate:books", "generate:latex", "generate:code", "plugin:NAME", or a folder or file with
     * a slash. */
    const char *name;
    const char *tokens;                           /* tokenizer */
    int64_t documents, document_bytes, data_seed; /* of the generators */
    int64_t split_bytes;                          /* 0: documents stay whole */
    int64_t limit_bytes, limit_documents;         /* of the train split; 0: all */
    int64_t limit_eval_bytes, valid_tokens;       /* of the others; 0: all */
    const char *field;                            /* of JSON lines; "": "text" */
} lh_corpus_config;

extern const lh_option lh_corpus_config_options[];

#endif
