/* Any bytes as runs.csv; what may come of it, runs_csv.lua says. */
#include "tests/fuzz/scratch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    scratch_call("tests/fuzz/runs_csv.lua", data, size);
    return 0;
}
