/* What the splits are called. */
#include "harness/engine/split.h"

const char *const lh_split_names[LH_SPLITS + 1] = {"train", "valid", "test"};
