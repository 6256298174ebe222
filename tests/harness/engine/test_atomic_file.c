#include "harness/engine/atomic_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include "tests/test.h"

static char path[64], partial[96];

/* Stands in for the C library's: what has been asked to reach the disk, in order. */
static struct {
    int files, folders;
    bool renamed_before_file;
} synced;

static bool replaced(void) {
    return access(partial, F_OK) != 0;
}

int fsync(int descriptor) {
    struct stat about;
    if (fstat(descriptor, &about) != 0) return -1;
    if (S_ISDIR(about.st_mode)) {
        synced.folders += replaced();
    } else {
        synced.files += 1;
        synced.renamed_before_file = replaced() || about.st_size == 0;
    }
    return 0;
}

/* Programs of several builds may run side by side. */
__attribute__((constructor)) static void name_files(void) {
    snprintf(path, sizeof path, "/tmp/longhaul-test-atomic-%ld", (long)getpid());
    snprintf(partial, sizeof partial, "%s.partial", path);
}

static void check_contents(const char *expected) {
    void *data = NULL;
    size_t bytes = 0;
    REQUIRE_OK(lh_file_read_all(path, &data, &bytes));
    CHECK_STR(data, expected);
    CHECK_EQ_INT(bytes, strlen(expected));
    free(data);
}

static void replace_contents(const char *text) {
    lh_atomic_file *file = NULL;
    REQUIRE_OK(lh_atomic_file_open(path, &file));
    CHECK_OK(lh_atomic_file_write(file, text, strlen(text)));
    CHECK_OK(lh_atomic_file_commit(file));
}

TEST(a_commit_replaces_the_file) {
    replace_contents("first");
    check_contents("first");
    replace_contents("");
    check_contents("");
    unlink(path);
}

/* A power cut leaves the old file or the new one: the contents are on the disk before the name, and
 * the name is before the call returns. */
TEST(a_commit_is_durable) {
    memset(&synced, 0, sizeof synced);
    replace_contents("lasting");
    CHECK_EQ_INT(synced.files, 1);
    CHECK(!synced.renamed_before_file);
    CHECK_EQ_INT(synced.folders, 1);
    unlink(path);
}

TEST(the_old_file_stands_until_the_commit) {
    replace_contents("old");
    lh_atomic_file *file = NULL;
    REQUIRE_OK(lh_atomic_file_open(path, &file));
    CHECK_OK(lh_atomic_file_write(file, "half", 4));
    check_contents("old");
    lh_atomic_file_abandon(file);
    check_contents("old");
    CHECK(access(partial, F_OK) != 0);
    unlink(path);
}

TEST(a_stale_partial_file_is_no_hindrance) {
    FILE *stale = fopen(partial, "w");
    REQUIRE(stale != NULL);
    fputs("longer than what follows", stale);
    fclose(stale);
    replace_contents("new");
    check_contents("new");
    unlink(path);
}

TEST(failures_name_the_file) {
    lh_atomic_file *file = NULL;
    void *data = NULL;
    size_t bytes = 0;
    CHECK_FAILS(lh_atomic_file_open("/tmp/longhaul-none/file", &file), LH_EIO, "longhaul-none");
    CHECK_FAILS(lh_atomic_file_open("/tmp", &file), LH_EIO, "/tmp: not a plain file");
    CHECK_FAILS(lh_atomic_file_open("/dev/null", &file), LH_EIO, "/dev/null: not a plain file");
    CHECK(file == NULL);
    CHECK_FAILS(lh_file_read_all("/tmp/longhaul-none/file", &data, &bytes), LH_EIO,
                "longhaul-none");
    CHECK_FAILS(lh_file_read_all("/tmp", &data, &bytes), LH_EIO, "not a plain file");
    CHECK(data == NULL);
    lh_atomic_file_abandon(NULL);
}
