/* CSV files as tables, by the scan and by libcsv alike; and rows that are appended, whatever
 * happens meanwhile. */
#include "harness/run/csv_append.h"
#include "harness/run/csv_table.h"

#include <malloc.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/engine/file.h"
#include "tests/test.h"

static char path[64], other[80];

/* Programs of several builds may run side by side. */
__attribute__((constructor)) static void name_files(void) {
    snprintf(path, sizeof path, "/tmp/longhaul-test-csv-%ld", (long)getpid());
    snprintf(other, sizeof other, "%s-other", path);
}

__attribute__((destructor)) static void remove_files(void) {
    unlink(path);
    unlink(other);
}

/* Stands in for the C library's: dies or fails once so many bytes were written. */
static struct {
    long left; /* negative: never */
    bool fails;
} disk = {.left = -1};

ssize_t pwrite(int file, const void *bytes, size_t count, off_t at) {
    size_t wanted = count;
    if (disk.left >= 0 && (size_t)disk.left < wanted) wanted = (size_t)disk.left;
    if (disk.left >= 0) disk.left -= (long)wanted;
    if (lseek(file, at, SEEK_SET) != at || write(file, bytes, wanted) != (ssize_t)wanted) return -1;
    if (wanted < count && !disk.fails) _exit(0);
    return wanted > 0 ? (ssize_t)wanted : -1;
}

/* Stands in for the C library's: has no room for more bytes than these. */
static size_t most_bytes = SIZE_MAX;

void *realloc(void *old, size_t bytes) {
    void *block = bytes <= most_bytes ? malloc(bytes) : NULL;
    const size_t had = old != NULL ? malloc_usable_size(old) : 0;
    if (block == NULL) return NULL;
    if (had > 0) memcpy(block, old, had < bytes ? had : bytes);
    free(old);
    return block;
}

static void fill(const char *text, size_t bytes) {
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL && fwrite(text, 1, bytes, file) == bytes);
    if (file != NULL) fclose(file);
}

/* The fields of all rows with | between them, a row a line. */
static void check_fields(const char *text, const char *expected, bool scanned) {
    char read[512] = "";
    size_t used = 0;
    lh_csv_table t;
    fill(text, strlen(text));
    REQUIRE_OK(lh_csv_table_read(path, &t));
    for (int64_t r = 0; r < t.rows; ++r) {
        for (int64_t c = 0; c < t.columns; ++c) {
            used += (size_t)snprintf(read + used, sizeof read - used, "%s%c",
                                     lh_csv_table_field(&t, r, c), c + 1 < t.columns ? '|' : '\n');
        }
    }
    CHECK_STR(read, expected);
    CHECK_EQ_INT(t.end > 0, scanned);
    lh_csv_table_free(&t);
}

TEST(what_this_program_writes_is_scanned) {
    check_fields("a,b\n1,2\n", "a|b\n1|2\n", true);
    check_fields("a,b\n,\n", "a|b\n|\n", true);
    check_fields("a,b\n\"x, y\",\"two\nlines\"\n", "a|b\nx, y|two\nlines\n", true);
    check_fields("a,b\n\"\",\"\"\"\"\n", "a|b\n|\"\n", true);
    check_fields("a,b\n\"say \"\"hi\"\"\",a b\n", "a|b\nsay \"hi\"|a b\n", true);
    check_fields("\xEF\xBB\xBF"
                 "a,b\n1,2\n",
                 "a|b\n1|2\n", true);
    check_fields("a,b\n\"\x18\",2\n", "a|b\n\x18|2\n", true);
}

TEST(what_others_write_goes_through_libcsv) {
    check_fields("a,b\r\n1,2\r\n", "a|b\n1|2\n", false);
    check_fields("a,b\n1,2", "a|b\n1|2\n", false);
    check_fields("a,b\n\n1,2\n", "a|b\n1|2\n", false);
    check_fields("a,b\n 1 ,\t2\n", "a|b\n1|2\n", false);
    check_fields("a,b\n\"1\" ,2\n", "a|b\n1|2\n", false);
    check_fields("a,b\n1,", "a|b\n1|\n", false);
    check_fields("", "", false);
}

TEST(what_is_wrong_is_said_with_its_place) {
    static const struct {
        const char *text, *message;
    } wrong[] = {
        {"a,b\n1,2\n3\n", ":3: 1 fields, but the header has 2"},
        {"a,b\n1,2,3\n", ":2: 3 fields, but the header has 2"},
        {"a,b\n\n1,2\n \n1,2,3\n", ":5: 3 fields, but the header has 2"},
        {"a,b\r\n\"1\r\n\n\",2\r\n\"1\n\n\",2,3\r\n", ":5: 3 fields, but the header has 2"},
        {"a,b\n1,\"2\n", ":3:1: a quote is never closed"},
        {"a,b\n1,2\"2\n", ":2:"},
        {"a;b\n1;2\n", "parted by ';'"},
        {"a;b\n1,5;2\n", "parted by ';'"},
        {"a\tb\n1\t2\n", "parted by"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        lh_csv_table t;
        fill(wrong[i].text, strlen(wrong[i].text));
        CHECK_FAILS(lh_csv_table_read(path, &t), LH_EFORMAT, wrong[i].message);
    }
    lh_csv_table t;
    fill("a,b\n1,\0002\n", 9);
    CHECK_FAILS(lh_csv_table_read(path, &t), LH_EFORMAT, ":2:3: a NUL byte");
    fill("a,b\n1,\"\0002\"\n", 11);
    CHECK_FAILS(lh_csv_table_read(path, &t), LH_EFORMAT, ":2:4: a NUL byte");
    unlink(path);
    CHECK_STATUS(lh_csv_table_read(path, &t), LH_EIO);
}

/* libcsv needs room for the longest field. */
TEST(too_little_memory_is_no_wrong_quote) {
    char text[1100];
    lh_csv_table t;
    snprintf(text, sizeof text, "a,b\r\n1,2\r\n%01000d,2", 1);
    fill(text, strlen(text));
    most_bytes = 512;
    CHECK_FAILS(lh_csv_table_read(path, &t), LH_EMEMORY, ": out of memory");
    most_bytes = SIZE_MAX;
    REQUIRE_OK(lh_csv_table_read(path, &t));
    CHECK_EQ_INT(t.rows, 3);
    lh_csv_table_free(&t);
}

TEST(a_row_begins_on_its_line) {
    static const char text[] = "\xEF\xBB\xBF"
                               "a,b\r\n\r\n\"1\n\"\"\n\",2\r\n \t\n3,4";
    static const int lines[] = {1, 3, 7};
    for (int row = 0; row < 3; ++row)
        CHECK_EQ_INT(lh_csv_line_of(text, sizeof text - 1, row), lines[row]);
}

TEST(a_last_row_that_was_cut_is_left_out) {
    static const char *const cut[] = {"a,b\n1,2\n3", "a,b\n1,2\n3,\"x", "a,b\n1,2\n\"3"};
    for (size_t i = 0; i < sizeof cut / sizeof *cut; ++i) {
        lh_csv_table t;
        check_fields(cut[i], "a|b\n1|2\n", false);
        REQUIRE_OK(lh_csv_table_read(path, &t));
        CHECK_EQ_INT(t.cut, 3);
        CHECK_EQ_INT(lh_error_get()->status, LH_OK);
        lh_csv_table_free(&t);
    }
    lh_csv_table t;
    fill("a,b\n1\n3", 7);
    CHECK_FAILS(lh_csv_table_read(path, &t), LH_EFORMAT, ":2: 1 fields");
    fill("a,b\n1,\"2\n3,4\n5", 14); /* a stray quote takes no rows with it */
    CHECK_FAILS(lh_csv_table_read(path, &t), LH_EFORMAT, "a quote is never closed");
}

TEST(an_unfinished_row_is_none) {
    check_fields("a,b\n1,2\n\x18", "a|b\n1|2\n", true);
    check_fields("a,b\n1,2\n\x18,\"x\ny", "a|b\n1|2\n", true);
    check_fields("a,b\n1,2\n\x18,4\n", "a|b\n1|2\n", true);
    check_fields("a,b\r\n1,2\r\n\x18,\"x", "a|b\n1|2\n", false);
    check_fields("a,b\n1,\"x\n\x18y\"\n", "a|b\n1|x\n\x18y\n", true);
    check_fields("a,b\r\n1,\"x\n\x18y\"\r\n", "a|b\n1|x\n\x18y\n", false);
}

static const char before[] = "a,b\n1,2\n", row[] = "3,\"x\ny\"\n";

static int64_t rows_there(void) {
    lh_csv_table t;
    if (!CHECK_OK(lh_csv_table_read(path, &t))) return -1;
    const int64_t rows = t.rows - 1;
    lh_csv_table_free(&t);
    return rows;
}

static bool append(size_t size) {
    bool done = false;
    CHECK_OK(lh_csv_append(path, size, row, &done));
    return done;
}

TEST(a_row_is_appended) {
    fill(before, strlen(before));
    CHECK(append(strlen(before)));
    CHECK_EQ_INT(rows_there(), 2);
    check_fields("a,b\n1,2\n3,\"x\ny\"\n", "a|b\n1|2\n3|x\ny\n", true);
}

TEST(a_kill_after_any_byte_leaves_the_row_whole_or_none) {
    const long bytes = (long)strlen(row) + 1;
    for (disk.left = 0; disk.left <= bytes; ++disk.left) {
        fill(before, strlen(before));
        const pid_t child = fork();
        if (child == 0) _exit(append(strlen(before)) ? 7 : 8);
        int state = 0;
        waitpid(child, &state, 0);
        const bool whole = disk.left == bytes;
        CHECK_EQ_INT(WEXITSTATUS(state), whole ? 7 : 0);
        CHECK_EQ_INT(rows_there(), whole ? 2 : 1);
    }
    disk.left = -1;
}

TEST(a_full_disk_is_an_error_and_loses_nothing) {
    disk.fails = true;
    for (long left = 0; left <= (long)strlen(row); ++left) {
        bool done = false;
        fill(before, strlen(before));
        disk.left = left;
        CHECK_FAILS(lh_csv_append(path, strlen(before), row, &done), LH_EIO, "cannot write");
        disk.left = -1;
        CHECK(!done);
        CHECK_EQ_INT(rows_there(), 1);
        /* what is there is no place to append to */
        CHECK_EQ_INT(append(strlen(before)), left == 0);
    }
    disk.fails = false;
}

TEST(where_a_file_is_not_as_expected_nothing_is_written) {
    fill(before, strlen(before));
    CHECK(!append(strlen(before) - 1));
    CHECK(!append(strlen(before) + 1));
    CHECK(link(path, other) == 0);
    CHECK(!append(strlen(before)));
    unlink(other);
    CHECK_EQ_INT(rows_there(), 1);
    CHECK(append(strlen(before)));
    unlink(path);
    CHECK(!append(0));
    CHECK(!lh_file_exists(path));
}

TEST(links_and_modes_stay) {
    struct stat about;
    fill(before, strlen(before));
    CHECK(chmod(path, 0640) == 0 && rename(path, other) == 0 && symlink(other, path) == 0);
    CHECK(append(strlen(before)));
    CHECK(lstat(path, &about) == 0 && S_ISLNK(about.st_mode));
    CHECK(stat(path, &about) == 0 && (about.st_mode & 0777) == 0640);
    CHECK_EQ_INT(rows_there(), 2);
    unlink(path);
}
