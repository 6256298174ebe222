/* Any bytes as timings.csv, a curve and probes; what may come of it, timings.lua says. */
#include "tests/fuzz/scratch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    scratch_call("tests/fuzz/timings.lua", data, size);
    return 0;
}
