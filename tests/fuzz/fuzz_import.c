/* Any bytes as what data import is given; what may come of it, import.lua says. */
#include "tests/fuzz/scratch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    scratch_call("tests/fuzz/import.lua", data, size);
    return 0;
}
