/* Columns as codes, and rows parted by them. */
#include "harness/run/csv_column.h"

#include <string.h>
#include <unistd.h>

#include "harness/engine/file.h"
#include "tests/test.h"

enum { ROWS = 6 };

static lh_csv_table table;

/* One column of few texts, empty ones among them, one of a single text, one of different ones. */
static void read_table(void) {
    static const char text[] = "few,same,each\nb,x,0\n,x,1\nb,x,2\na,x,3\n,x,4\nb,x,5\n";
    char path[64];
    snprintf(path, sizeof path, "/tmp/longhaul-test-column-%ld", (long)getpid());
    FILE *file = fopen(path, "wb");
    REQUIRE(file != NULL);
    REQUIRE(fwrite(text, 1, sizeof text - 1, file) == sizeof text - 1);
    REQUIRE(fclose(file) == 0);
    REQUIRE_OK(lh_csv_table_read(path, &table));
    unlink(path);
}

static void check_codes(const lh_csv_column *column, const uint32_t *wanted) {
    for (int i = 0; i < ROWS; ++i)
        CHECK_EQ_INT(column->code[i], wanted[i]);
}

TEST(texts_are_coded_in_the_order_in_which_rows_have_them) {
    static const uint32_t few[ROWS] = {0, 1, 0, 2, 1, 0}, same[ROWS] = {0};
    lh_csv_coder coder = {0};
    read_table();
    REQUIRE_OK(lh_csv_coder_fill(&coder, &table, 0));
    lh_csv_column column = lh_csv_coder_column(&coder);
    CHECK(strcmp(column.name, "few") == 0);
    CHECK_EQ_INT(column.different, 3);
    CHECK(memcmp(column.texts, "b\0\0a", sizeof "b\0\0a") == 0);
    check_codes(&column, few);
    lh_csv_coder_free(&coder);
    REQUIRE_OK(lh_csv_coder_fill(&coder, &table, 1));
    column = lh_csv_coder_column(&coder);
    CHECK_EQ_INT(column.different, 1);
    check_codes(&column, same);
    lh_csv_coder_free(&coder);
    lh_csv_table_free(&table);
}

/* As an index is made: row after row, of all columns. */
TEST(a_column_grows_with_its_rows) {
    lh_csv_coder coder = {0};
    read_table();
    REQUIRE_OK(lh_csv_coder_begin(&coder, &table, 2));
    CHECK_EQ_INT(lh_csv_coder_column(&coder).different, 0);
    for (int i = 0; i < ROWS; ++i) {
        REQUIRE_OK(lh_csv_coder_add(&coder, i, lh_csv_table_field(&table, i + 1, 2)));
        CHECK_EQ_INT(lh_csv_coder_column(&coder).different, i + 1);
        CHECK_EQ_INT(coder.code[i], i);
    }
    lh_csv_coder_free(&coder);
    lh_csv_table_free(&table);
}

TEST(rows_are_parted_by_every_column) {
    static const uint32_t first[ROWS] = {5, 9, 5, 5, 9, 5}, second[ROWS] = {1, 1, 0, 1, 0, 0};
    static const int32_t by_first[ROWS] = {0, 1, 0, 0, 1, 0}, by_both[ROWS] = {0, 1, 2, 0, 3, 2};
    int32_t part[ROWS] = {0}, parts = 1;
    REQUIRE_OK(lh_csv_part(first, ROWS, part, &parts));
    CHECK_EQ_INT(parts, 2);
    CHECK(memcmp(part, by_first, sizeof part) == 0);
    REQUIRE_OK(lh_csv_part(second, ROWS, part, &parts));
    CHECK_EQ_INT(parts, 4);
    CHECK(memcmp(part, by_both, sizeof part) == 0);
    REQUIRE_OK(lh_csv_part(first, ROWS, part, &parts)); /* says nothing new */
    CHECK_EQ_INT(parts, 4);
    CHECK(memcmp(part, by_both, sizeof part) == 0);
}
