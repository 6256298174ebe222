/* The main of a fuzz program where the compiler has no fuzzer: feeds it each file named on the
 * command line, cut after each of its first bytes, and with each of them changed. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

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

static int try_file(const char *path) {
    static uint8_t data[MAX_BYTES];
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        return 1;
    }
    const size_t size = fread(data, 1, sizeof data, file);
    fclose(file);
    int failed = try_bytes(data, size);
    for (size_t i = 0; i < size && i < TRIED_BYTES && !failed; i++) {
        const uint8_t byte = data[i];
        failed = try_bytes(data, i);
        data[i] = (uint8_t)(byte ^ (1u << (i % 8)));
        failed = failed || try_bytes(data, size);
        data[i] = byte;
    }
    return failed;
}

int main(int count, char **arguments) {
    int failed = 0;
    for (int i = 1; i < count; i++) {
        failed += try_file(arguments[i]);
    }
    return failed > 0;
}
