/* Sentence pairs of the embedded generator. */
#ifndef LH_DATASETS_GENERATE_PAIRS_H
#define LH_DATASETS_GENERATE_PAIRS_H

#include "kernels/base.h"

/* Writes pair `index` of `seed`: English of a small grammar and its only German translation, with
 * cases, genders, the verb second in main clauses and last in others. UTF-8. */
enum { LH_PAIR_BYTES = 1024 };
void lh_generate_pair(uint64_t seed, uint64_t index, char source[LH_PAIR_BYTES],
                      char target[LH_PAIR_BYTES]);

#endif
