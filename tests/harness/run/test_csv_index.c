/* The index of a CSV file: it says what the file says, is used for that very file alone, and no
 * bytes in its place do harm. */
#include "harness/run/csv_index.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "harness/engine/file.h"
#include "harness/engine/hash.h"
#include "tests/test.h"

enum { ROWS = 50000 };

static char path[64], name[80], other[80];

/* Programs of several builds may run side by side. */
__attribute__((constructor)) static void name_files(void) {
    snprintf(path, sizeof path, "/tmp/longhaul-test-index-%ld", (long)getpid());
    snprintf(name, sizeof name, "%s.index", path);
    snprintf(other, sizeof other, "%s.other", path);
}

__attribute__((destructor)) static void remove_files(void) {
    unlink(path);
    unlink(name);
    unlink(other);
}

/* Stands in for the C library's: how old files are. */
static time_t later = 10;

time_t time(time_t *to) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (to != NULL) *to = now.tv_sec + later;
    return now.tv_sec + later;
}

/* One column of one text, one of few, one of different ones, one with quotes; `tail` behind. */
static void fill(const char *tail) {
    FILE *file = fopen(path, "wb");
    REQUIRE(file != NULL);
    fprintf(file, "id,same,few,quoted\n");
    for (int i = 0; i < ROWS; ++i)
        fprintf(file,
                "%d,all of them are alike and so are their texts which are long to have bytes,"
                "%d,\"a, %d\"\n",
                i, i % 7 * (i % 7) % 7, i);
    fprintf(file, "%s", tail);
    fclose(file);
}

static bool make(void) {
    lh_csv_table table;
    unlink(name);
    if (!CHECK_OK(lh_csv_table_read(path, &table))) return false;
    CHECK_OK(lh_csv_index_write(path, &table));
    lh_csv_table_free(&table);
    return lh_file_exists(name);
}

static bool is_read(void) {
    lh_csv_index index;
    const bool good = lh_csv_index_read(path, &index);
    CHECK_EQ_INT(lh_error_get()->status, LH_OK);
    lh_csv_index_free(&index);
    return good;
}

/* How many fields of the index are not those of the table. */
static int64_t differences(const lh_csv_index *index, const lh_csv_table *t) {
    int64_t count = index->columns != t->columns || index->rows + 1 != t->rows;
    for (int64_t c = 0; c < index->columns && count == 0; ++c) {
        const lh_csv_column column = lh_csv_index_column(index, c);
        const char **texts = calloc((size_t)column.different, sizeof *texts);
        const char *next = column.texts;
        for (int64_t i = 0; i < column.different; ++i, next += strlen(next) + 1)
            texts[i] = next;
        count += strcmp(column.name, lh_csv_table_field(t, 0, c)) != 0;
        for (int64_t r = 0; r < index->rows; ++r) {
            const uint32_t code = column.code != NULL ? column.code[r] : 0;
            count += strcmp(texts[code], lh_csv_table_field(t, r + 1, c)) != 0;
        }
        free((void *)texts);
    }
    return count;
}

TEST(an_index_says_what_its_file_says) {
    lh_csv_table table;
    lh_csv_index index;
    fill("");
    CHECK(!is_read());
    REQUIRE(make());
    REQUIRE(lh_csv_index_read(path, &index));
    REQUIRE_OK(lh_csv_table_read(path, &table));
    CHECK_EQ_INT(differences(&index, &table), 0);
    CHECK_EQ_INT(index.end, table.end);
    CHECK_EQ_INT(lh_csv_index_column(&index, 1).different, 1);
    CHECK(lh_csv_index_column(&index, 1).code == NULL);
    CHECK_EQ_INT(lh_csv_index_column(&index, 2).different, 4); /* squares modulo 7 */
    CHECK(index.bytes < table.end / 2);
    lh_csv_table_free(&table);
    lh_csv_index_free(&index);
}

TEST(only_for_the_very_file) {
    const struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    fill("");
    REQUIRE(make());
    CHECK(is_read());
    fill("7,x,y,z\n");
    CHECK(!is_read());
    REQUIRE(make());
    CHECK(is_read());
    CHECK(utimensat(AT_FDCWD, path, old, 0) == 0);
    CHECK(!is_read());
    REQUIRE(make());
    CHECK(is_read());
    /* the same bytes and times in another file */
    fill("7,x,y,z\n");
    CHECK(rename(path, other) == 0);
    fill("7,x,y,z\n");
    CHECK(utimensat(AT_FDCWD, path, old, 0) == 0);
    CHECK(!is_read());
    unlink(other);
}

TEST(not_of_a_file_that_may_change_unseen) {
    fill("");
    later = 1;
    CHECK(!make());
    later = 10;
    CHECK(make());
    fill("\x18,half");
    CHECK(!make());
    fill("7,x,y,z\r\n");
    CHECK(!make());
    FILE *file = fopen(path, "wb");
    fprintf(file, "small\n1\n");
    fclose(file);
    CHECK(!make());
}

/* The index's bytes, to be changed; free(). */
static char *bytes_of_index(size_t *bytes) {
    void *data = NULL;
    CHECK_OK(lh_file_read_all(name, &data, bytes));
    return data;
}

static void put(const char *data, size_t bytes) {
    FILE *file = fopen(name, "wb");
    CHECK(file != NULL && fwrite(data, 1, bytes, file) == bytes);
    if (file != NULL) fclose(file);
}

TEST(a_torn_or_damaged_index_is_none) {
    size_t bytes = 0;
    fill("");
    REQUIRE(make());
    char *data = bytes_of_index(&bytes);
    for (size_t at = 0; at < bytes; at += 1 + (at < 300 ? 0 : bytes / 50)) {
        data[at] ^= 1;
        put(data, bytes);
        CHECK(!is_read());
        data[at] ^= 1;
        put(data, at);
        CHECK(!is_read());
    }
    put(data, bytes);
    CHECK(is_read());
    /* another version */
    data[7] += 1;
    put(data, bytes);
    CHECK(!is_read());
    free(data);
}

/* With the right digest, whatever else the words are: refused, or read within its bounds. */
TEST(a_hostile_index_does_no_harm) {
    enum { FIRST = 16, WORDS = 24 };
    static const uint64_t wild[] = {0, 1, 7, 1u << 20, UINT32_MAX, UINT64_MAX, UINT64_MAX - 7};
    size_t bytes = 0;
    lh_csv_table table;
    fill("");
    REQUIRE(make());
    REQUIRE_OK(lh_csv_table_read(path, &table));
    char *data = bytes_of_index(&bytes);
    int64_t taken = 0;
    for (size_t at = FIRST; at < FIRST + 8 * WORDS; at += 8) {
        for (size_t i = 0; i < sizeof wild / sizeof *wild; ++i) {
            uint64_t kept = 0;
            lh_csv_index index;
            memcpy(&kept, data + at, sizeof kept);
            memcpy(data + at, &wild[i], sizeof kept);
            const uint64_t digest = lh_hash_text(data + FIRST, bytes - FIRST);
            memcpy(data + 8, &digest, sizeof digest);
            put(data, bytes);
            if (lh_csv_index_read(path, &index)) {
                CHECK(differences(&index, &table) >= 0);
                taken += 1;
            }
            lh_csv_index_free(&index);
            memcpy(data + at, &kept, sizeof kept);
        }
    }
    CHECK(taken > 0); /* the digest was right */
    free(data);
    lh_csv_table_free(&table);
}

TEST(what_is_no_plain_file_is_left_alone) {
    struct stat about;
    fill("");
    FILE *file = fopen(other, "wb");
    fprintf(file, "of somebody else");
    fclose(file);
    unlink(name);
    CHECK(symlink(other, name) == 0);
    CHECK(!is_read());
    lh_csv_table table;
    REQUIRE_OK(lh_csv_table_read(path, &table));
    CHECK_OK(lh_csv_index_write(path, &table));
    CHECK(stat(other, &about) == 0 && about.st_size == 16);
    unlink(name);
    CHECK(mkdir(name, 0777) == 0);
    CHECK(!is_read());
    CHECK_OK(lh_csv_index_write(path, &table));
    CHECK(!is_read());
    rmdir(name);
    CHECK_OK(lh_csv_index_write(path, &table));
    CHECK(stat(name, &about) == 0 && (about.st_mode & 0777) == 0600);
    CHECK(is_read());
    lh_csv_table_free(&table);
}
