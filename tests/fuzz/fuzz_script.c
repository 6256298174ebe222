/* Any bytes as an experiment script of a stranger; what may come of it, script.lua says. */
#include "tests/fuzz/scratch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    scratch_call("tests/fuzz/script.lua", data, size);
    return 0;
}
