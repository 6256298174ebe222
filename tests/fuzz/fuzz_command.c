/* Any bytes as a file that a command reads; what may come of it, command.lua says. */
#include "tests/fuzz/scratch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    scratch_call("tests/fuzz/command.lua", data, size);
    return 0;
}
