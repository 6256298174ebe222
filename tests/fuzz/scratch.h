/* What fuzz programs share: a folder of the process's own for the files that readers read, and Lua
 * readers. What goes wrong here, and what a reader must not do, ends the program. */
#ifndef TESTS_FUZZ_SCRATCH_H
#define TESTS_FUZZ_SCRATCH_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The path of a file of this name in the folder, which goes with the process. Lends until the next
 * call but seven. */
const char *scratch_path(const char *name);

/* The same, with these bytes in the file. */
const char *scratch_write(const char *name, const void *data, size_t size);

/* Calls the function that the Lua file gives with (bytes, folder). It may fail with a text that
 * begins with the path of something in the folder, or with one that the function itself lets
 * through by catching it; anything else is a mistake. Lines that run count as coverage. */
void scratch_call(const char *script, const uint8_t *data, size_t size);

#endif
