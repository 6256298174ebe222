/* A data folder of the test's own, its files, and the folder that a user gave. */
#include "tests/datasets/data_root.h"

#include <sys/stat.h>
#include <unistd.h>

#define LH_TEST_HELPER
#include "tests/config.h"
#include "tests/test.h"

char data_root[DATA_ROOT_BYTES];

const char *given_data(void) {
    static char given[DATA_ROOT_BYTES];
    static bool asked;
    const char *folder = getenv("LONGHAUL_DATA");
    if (!asked && folder != NULL) (void)snprintf(given, sizeof given, "%s", folder);
    asked = true;
    return given;
}

bool make_root(void) {
    const char *temporary = getenv("TMPDIR");
    (void)given_data();
    (void)snprintf(data_root, sizeof data_root, "%.400s/longhaul-data-XXXXXX",
                   temporary != NULL ? temporary : "/tmp");
    if (mkdtemp(data_root) == NULL) return CHECK(false);
    return CHECK(setenv("LONGHAUL_DATA", data_root, 1) == 0);
}

void write_text(const char *name, const void *text, size_t bytes) {
    char path[2 * DATA_ROOT_BYTES];
    (void)snprintf(path, sizeof path, "%s/%s", data_root, name);
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0777);
        *slash = '/';
    }
    FILE *file = fopen(path, "wb");
    if (!CHECK(file != NULL)) return;
    CHECK(fwrite(text, 1, bytes, file) == bytes);
    (void)fclose(file);
}

long long bytes_read(void) {
    long long bytes = -1;
    FILE *file = fopen("/proc/self/io", "r");
    if (file == NULL) return -1;
    if (fscanf(file, "rchar: %lld", &bytes) != 1) bytes = -1;
    (void)fclose(file);
    return bytes;
}

lh_status open_corpus(const char *text, lh_corpus **out) {
    lh_options *options = NULL;
    lh_corpus_config config;
    lh_status status = parse_config(lh_corpus_config_options, text, &config, &options);
    if (status == LH_OK) status = lh_corpus_open(&config, out);
    lh_options_destroy(options);
    return status;
}
