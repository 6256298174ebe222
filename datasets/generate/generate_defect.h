/* C functions with and without a defect, of the embedded generator. */
#ifndef LH_DATASETS_GENERATE_DEFECT_H
#define LH_DATASETS_GENERATE_DEFECT_H

#include "kernels/base.h"

/* Writes function `index` of `seed` and returns whether it has a defect, which every other one has
 * on average: one of its pointers is used before it is checked or after it was freed. All of them
 * have the same statements, so that only their order tells. */
enum { LH_FUNCTION_BYTES = 2048 };
bool lh_generate_function(uint64_t seed, uint64_t index, char text[LH_FUNCTION_BYTES]);

#endif
