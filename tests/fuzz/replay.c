/* The main of a fuzz program where the compiler has no fuzzer: feeds it each file named on the
 * command line; behind -changed also cut after each of its first bytes, and with each of them
 * changed. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_BYTES = 1 << 20, TRIED_BYTES = 2048 };

/* A copy of exactly this size, so that the address sanitizer sees a read past its end. */
static int try_bytes(const uint8_t *data, size_t size) {
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy) return 1;
    for (size_t i = 0; i < size; i++) {
        copy[i] = data[i];
    }
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
    return 0;
}

static int try_file(const char *path, bool changed) {
    static uint8_t data[MAX_BYTES];
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        return 1;
    }
    const size_t size = fread(data, 1, sizeof data, file);
    fclose(file);
    int failed = try_bytes(data, size);
    for (size_t i = 0; changed && i < size && i < TRIED_BYTES && !failed; i++) {
        const uint8_t byte = data[i];
        failed = try_bytes(data, i);
        data[i] = (uint8_t)(byte ^ (1u << (i % 8)));
        failed = failed || try_bytes(data, size);
        data[i] = byte;
    }
    return failed;
}

int main(int count, char **arguments) {
    const bool changed = count > 1 && strcmp(arguments[1], "-changed") == 0;
    int failed = 0;
    for (int i = changed ? 2 : 1; i < count; i++) {
        failed += try_file(arguments[i], changed);
    }
    return failed > 0;
}
