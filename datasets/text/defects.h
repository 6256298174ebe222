/* C functions and whether each of them has a defect: Devign (Zhou et al. 2019) as CodeXGLUE (Lu et
 * al. 2021) splits it. */
#ifndef LH_DATASETS_DEFECTS_H
#define LH_DATASETS_DEFECTS_H

#include "harness/engine/error.h"
#include "harness/engine/split.h"

typedef struct lh_defects lh_defects;

typedef struct lh_defects_spec {
    const char *name;          /* of a data folder, or a folder with a slash in its path */
    const char *tokens;        /* tokenizer */
    int64_t most_tokens;       /* of a function, its begin and end included; the rest is cut off */
    int64_t counts[LH_SPLITS]; /* how many the embedded generator makes */
    int64_t limits[LH_SPLITS]; /* how many to use, the first ones; 0: all */
    uint64_t data_seed;        /* of the generator */
} lh_defects_spec;

/* Ids with a meaning: the vocabulary's own <pad>, <s>, </s>, "false" and "true" where these are
 * single tokens, else ids behind it. The table has T5's 100 rows for such ids. */
typedef struct lh_defects_ids {
    int64_t vocabulary; /* rows of the embedding table */
    int32_t pad;        /* also what a decoder starts from */
    int32_t begin, end;
    int32_t answer[2]; /* clean, defective */
} lh_defects_ids;

/* Begin, tokens, end. */
typedef struct lh_function {
    const int32_t *tokens;
    int64_t count;
    bool defective;
} lh_function;

/* Reads train.jsonl, valid.jsonl and test.jsonl, or the same with .gz, whose lines have the fields
 * `func` (text) and `target` (0 or 1). The words of a function are joined by single blanks. Where
 * the name is "devign" and no folder is there the embedded generator serves. Gives; destroy it.
 * Fails: LH_EIO naming where it looked; LH_EFORMAT naming file, line and field or column. */
lh_status lh_defects_open(const lh_defects_spec *spec, lh_defects **out);
void lh_defects_destroy(lh_defects *defects);
const lh_defects_ids *lh_defects_ids_of(const lh_defects *defects);
int64_t lh_defects_count(const lh_defects *defects, lh_split split);
/* Lends until the next call. */
lh_status lh_defects_function(lh_defects *defects, lh_split split, int64_t index, lh_function *out);
/* "devign (27318 functions in the data folder)": for the CSV column `data`. */
const char *lh_defects_source(const lh_defects *defects);
uint64_t lh_defects_digest(const lh_defects *defects);

#endif
