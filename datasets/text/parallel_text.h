/* Parallel text: sentences in two languages, line by line, in three splits. */
#ifndef LH_DATASETS_PARALLEL_TEXT_H
#define LH_DATASETS_PARALLEL_TEXT_H

#include "datasets/tokens/tokenizer.h"
#include "harness/engine/options.h"
#include "harness/engine/split.h"

typedef struct lh_parallel lh_parallel;

/* What lh_parallel_open opens; bound to the options of the same names. */
typedef struct lh_parallel_config {
    const char *name;
    const char *source, *target; /* the files' endings */
    const char *tokens; /* one vocabulary for both languages, trained on both where it says so */
    int64_t pairs, evaluate_pairs, max_tokens, data_seed;
} lh_parallel_config;

extern const lh_option lh_parallel_config_options[];

/* Reads train.<source>, train.<target> and so on for valid and test, compressed with gzip or not,
 * from the data folder <name>, or the folder of that name with a slash in it. Line n of one file is
 * the translation of line n of the other; a pair with an empty line is left out. Where the name is
 * "wmt14-en-de" and no folder is there the embedded generator serves. Gives; destroy it. Fails:
 * LH_EIO naming where it looked; LH_EFORMAT naming file and line of what is not UTF-8, and both
 * files where one has more lines; LH_EOPTION for a vocabulary without an end. */
lh_status lh_parallel_open(const lh_parallel_config *config, lh_parallel **out);
void lh_parallel_destroy(lh_parallel *parallel);

/* Both sides end with the vocabulary's end. `text` is the translation as it was written. */
typedef struct lh_pair {
    const int32_t *source, *target;
    int64_t source_count, target_count;
    const char *text;
    int64_t text_bytes;
} lh_pair;

/* Pairs of a split, those of training without what was too long. */
int64_t lh_parallel_pairs(const lh_parallel *parallel, lh_split split);
lh_pair lh_parallel_pair(const lh_parallel *parallel, lh_split split, int64_t index); /* lends */
const lh_tokenizer *lh_parallel_tokenizer(const lh_parallel *parallel);
/* For the CSV column `data`. */
const char *lh_parallel_source(const lh_parallel *parallel);
uint64_t lh_parallel_digest(const lh_parallel *parallel);

#endif
