/* What the splits are called. */
#include "harness/engine/split.h"

const char *const lh_split_names[LH_SPLITS + 1] = {"train", "valid", "test"};

const char *const lh_split_words[LH_SPLITS] = {"training", "validation", "test"};
