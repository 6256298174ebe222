/* Time series: dates, CSV files good and bad, splits, standardisation, the generator. */
#include "datasets/series/series.h"

#include <unistd.h>

#include "tests/config.h"
#include "tests/test.h"

enum { PATH = 128 };

static const char *path_of(const char *name) {
    static char path[PATH];
    (void)snprintf(path, sizeof path, "/tmp/longhaul-series-%ld-%s", (long)getpid(), name);
    return path;
}

static lh_status open_series(const char *text, lh_series **out) {
    lh_options *options = NULL;
    lh_series_config config;
    lh_status status = parse_config(lh_series_config_options, text, &config, &options);
    if (status == LH_OK) status = lh_series_open(&config, out);
    lh_options_destroy(options);
    return status;
}

/* Opens a file with this content. */
static lh_status open_text(const void *content, size_t bytes, lh_series **out) {
    char text[PATH + 32];
    const char *path = path_of("text.csv");
    FILE *file = fopen(path, "wb");
    if (!CHECK(file != NULL)) return LH_EIO;
    CHECK(fwrite(content, 1, bytes, file) == bytes);
    (void)fclose(file);
    (void)snprintf(text, sizeof text, "name='%s'", path);
    const lh_status status = open_series(text, out);
    (void)unlink(path);
    return status;
}

static lh_status open_string(const char *content, lh_series **out) {
    return open_text(content, strlen(content), out);
}

/* ---- dates ---- */

TEST(dates_in_both_styles) {
    static const struct {
        const char *text, *year_first;
        lh_date_style style;
    } good[] = {{"2016-07-01 00:15:00", "2016-07-01 00:15:00", LH_DATE_YEAR_FIRST},
                {"2016-07-01 23:59", "2016-07-01 23:59:00", LH_DATE_YEAR_FIRST},
                {"7/1/2016 0:00", "2016-07-01 00:00:00", LH_DATE_MONTH_FIRST},
                {"12/31/2013 23:00:59", "2013-12-31 23:00:59", LH_DATE_MONTH_FIRST},
                {"2000-02-29 12:00", "2000-02-29 12:00:00", LH_DATE_YEAR_FIRST},
                {"1969-12-31 23:00", "1969-12-31 23:00:00", LH_DATE_YEAR_FIRST},
                {"2020-01-01T01:02:03", "2020-01-01 01:02:03", LH_DATE_YEAR_FIRST},
                {"2020-01-01T01:02", "2020-01-01 01:02:00", LH_DATE_YEAR_FIRST},
                {"2020-01-01T01:02:03Z", "2020-01-01 01:02:03", LH_DATE_YEAR_FIRST},
                {"2020-01-01", "2020-01-01 00:00:00", LH_DATE_YEAR_FIRST},
                {"1/2/2020", "2020-01-02 00:00:00", LH_DATE_MONTH_FIRST}};
    static const char *const bad[] = {"",
                                      "2016-07",
                                      "2016-07-01 ",
                                      "2016-07-01T",
                                      "2016-07-01Z",
                                      "7/1/2016T0:00",
                                      "2016-07-01T00:00:00ZZ",
                                      "2015-02-29 00:00",
                                      "2016-13-01 00:00",
                                      "2016-00-01 00:00",
                                      "13/1/2010 0:00",
                                      "2016-07-01 24:00",
                                      "2016-07-01 00:60",
                                      "2016-07-01 00:00:00x",
                                      "-016-07-01 00:00",
                                      "12/31/98 0:00", /* a Thursday in 1998, not in 2098 or 98 */
                                      "98-12-31 00:00",
                                      "1/2/020"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; ++i) {
        int64_t moment = 0;
        char text[LH_DATE_TEXT];
        CHECK_EQ_INT(lh_date_parse(good[i].text, &moment), good[i].style);
        lh_date_format(moment, text);
        CHECK_STR(text, good[i].year_first);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        int64_t moment = 0;
        CHECK_EQ_INT(lh_date_parse(bad[i], &moment), LH_DATE_NONE);
    }
}

TEST(moments_are_seconds_and_months_those_of_the_calendar) {
    int64_t a = 0, b = 0;
    CHECK(lh_date_parse("1970-01-02 00:00:01", &a) != LH_DATE_NONE);
    CHECK_EQ_INT(a, 86401);
    CHECK(lh_date_parse("2010-01-01 00:00", &a) != LH_DATE_NONE);
    CHECK(lh_date_parse("2012-05-01 00:00", &b) != LH_DATE_NONE);
    CHECK_EQ_INT(lh_date_add_months(a, 28), b);
}

/* 2016-07-01 was a Friday, day 183 of a leap year; 2017-12-31 a Sunday, day 365. */
TEST(time_features_are_informers) {
    static const struct {
        const char *date;
        double feature[LH_TIME_FEATURES];
    } cases[] = {{"2016-07-01 05:45:00", {45.0 / 59, 5.0 / 23, 4.0 / 6, 0, 182.0 / 365}},
                 {"2017-12-31 23:00:00", {0, 1, 1, 1, 364.0 / 365}}};
    for (size_t i = 0; i < 2; ++i) {
        int64_t moment = 0;
        real feature[LH_TIME_FEATURES];
        REQUIRE(lh_date_parse(cases[i].date, &moment) != LH_DATE_NONE);
        lh_time_features(moment, feature);
        for (int f = 0; f < LH_TIME_FEATURES; ++f)
            CHECK_NEAR(feature[f], cases[i].feature[f] - 0.5, 1e-6);
    }
}

/* ---- files ---- */

#define HEADER "date,a,b\n"
#define FIRST  "2020-01-01 00:00:00,1,10\n"
#define ROWS   FIRST "2020-01-01 01:00:00,2,-10.5\n2020-01-01 02:00:00,3e0,0.25\n"

/* A file is good in spite of Windows line ends, a byte order mark, blank lines, quotes, and a last
 * line without an end. */
TEST(what_a_file_may_look_like) {
    static const char *const good[] = {
        HEADER ROWS,
        "date,a,b\r\n2020-01-01 00:00:00,1,10\r\n2020-01-01 01:00:00,2,-10.5\r\n"
        "2020-01-01 02:00:00,3e0,0.25\r\n",
        "\xef\xbb\xbf" HEADER ROWS "\n\n",
        "timestamp,a,b\n2020-01-01T00:00:00,1,10\n2020-01-01T01:00:00,2,-10.5\n"
        "2020-01-01T02:00:00,3,0.25\n",
        ",a,b\n2020-01-01,1,10\n2020-01-01 01:00,2,-10.5\n2020-01-01T02:00Z,3,0.25\n",
        "date,\"a\",b\n1/1/2020 0:00,\"1\", 10\n\n1/1/2020 1:00,2,-10.5\n1/1/2020 2:00,3,0.25"};
    uint64_t digest = 0;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; ++i) {
        lh_series *series = NULL;
        REQUIRE_OK(open_string(good[i], &series));
        digest = i > 0 ? digest : lh_series_digest(series);
        CHECK(lh_series_digest(series) == digest); /* of names, times and values */
        CHECK_EQ_INT(lh_series_split(series, LH_TEST).end, 3);
        CHECK_EQ_INT(lh_series_channels(series), 2);
        /* 70 % of 3 rows are 2: mean 1.5, deviation 0.5; -0.25 and 10.25. */
        CHECK_NEAR(lh_series_values(series, 2)[0], 3.0, 1e-6);
        CHECK_NEAR(lh_series_values(series, 2)[1], 0.5 / 10.25, 1e-6);
        CHECK_NEAR(lh_series_features(series, 2)[0], 2.0 / 23 - 0.5, 1e-6);
        lh_series_destroy(series);
    }
}

TEST(what_is_wrong_with_a_file_is_said_with_its_place) {
    static const struct {
        const char *content, *message;
    } bad[] = {
        {"", "0 rows"},
        {HEADER, "0 rows"},
        {"date\n2020-01-01 00:00:00\n",
         "line 1: the header names no channel behind the first column"},
        {"date\tload\n2020-01-01 00:00:00\t1\n", "separated by commas, not by '\\t'"},
        {"date|load\n2020-01-01 00:00:00|1\n", "separated by commas, not by '|'"},
        {"\xff\xfe"
         "d",
         "the file is UTF-16: write it as UTF-8"},
        {"date,a\n1/2/2020,1\n2/2/2020,2\n3/2/2020,3\n", "dates with slashes have the month first"},
        {HEADER "2020-01-01T00:00+02:00,1,2\n", "without a zone but Z"},
        {HEADER "2020-01-01 00:00:00,0x10,2\n", "column 2 (a): '0x10' is no number"},
        {HEADER "2020-01-01 00:00:00,-2e30,2\n", "'-2e30' is beyond 1e+30: take another unit"},
        {HEADER "2020-01-01 00:00:00,,2\n", "fills cells (--missing)"},
        {"date;load\n2020-01-01 00:00:00;1\n", "no channel: fields are separated by commas, not"},
        {ROWS, "line 1, column 1: the date '2020-01-01 00:00:00' where a header is to name"},
        {"a,b\n1,10\n2,20\n", "line 2, column 1: '1' is no date like 2016-07-01 00:00:00"},
        {"month,a\n2020-01-01,1\n2020-02-01,2\n2020-03-01,3\n",
         "2678400 seconds apart; months and years are no equal steps"},
        {"date,a,\n" ROWS, "line 1, column 3: a channel without a name"},
        {"date,a,a\n" ROWS, "line 1, column 3: a second channel 'a'"},
        {HEADER "2020-01-01 00:00:00,1\n", "line 2, column 3 (b): the line ends after 2 of 3"},
        {HEADER ROWS "2020-01-01 03:00:00,1", "line 5, column 3 (b): the file is cut off after 2"},
        {HEADER "2020-01-01 00:00:00,1,2,3\n", "line 2, column 4: a field more"},
        {HEADER "2020-01-01 00:00:00,1,x\n", "line 2, column 3 (b): 'x' is no number"},
        {HEADER "2020-01-01 00:00:00,1.5e,2\n", "line 2, column 2 (a): '1.5e' is no number"},
        {HEADER "2020-01-01 00:00:00,,2\n", "line 2, column 2 (a): an empty cell"},
        {HEADER ROWS "2020-01-01 03:00:00,nan,2\n", "line 5, column 2 (a): 'nan' is not finite"},
        {HEADER "2020-01-01 00:00:00,1,-inf\n", "line 2, column 3 (b): '-inf' is not finite"},
        {HEADER "2020-01-01 00:00:00,1,1e400\n", "line 2, column 3 (b): '1e400' is not finite"},
        {HEADER "yesterday,1,2\n", "line 2, column 1: 'yesterday' is no date"},
        {HEADER ROWS "1/1/2020 3:00,1,2\n", "line 5, column 1: '1/1/2020 3:00' is written in"},
        {HEADER ROWS "2020-01-01 04:00:00,1,2\n",
         "line 5, column 1: a gap: 2020-01-01 04:00:00 follows 2020-01-01 02:00:00, but rows are "
         "3600 seconds apart; write the rows in between"},
        {HEADER ROWS "2020-01-01 02:00:00,1,2\n", "line 5, column 1: 2020-01-01 02:00:00 does not"},
        {HEADER "2020-01-01 01:00:00,1,2\n2020-01-01 00:00:00,1,2\n", "line 3, column 1: 2020"},
        {HEADER FIRST FIRST, "line 3, column 1: 2020-01-01 00:00:00 does not come after"},
        {"date,a,b\r\r\n2020-01-01 00:00:00,1,2\r2020-01-01 01:00:00,x,2\r",
         "line 4, column 2 (a): 'x' is no number"},
        {HEADER "2020-01-01 00:00:00,1,\"2\n", "a quote inside a field or never closed"},
        {HEADER "2020-01-01 00:00:00,1,2\"\n", "a quote inside a field or never closed"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        lh_series *series = NULL;
        CHECK_FAILS(open_string(bad[i].content, &series), LH_EFORMAT, bad[i].message);
        CHECK(series == NULL);
    }
}

TEST(a_nul_byte_is_part_of_no_cell) {
    static const char value[] = HEADER "2020-01-01 00:00:00,1\0007,2\n",
                      date[] = HEADER "2020-01-01\00000:00,1,2\n2020-01-02,1,2\n",
                      name[] = "date,a\000c,b\n" ROWS, wide[] = "d\0a\0t\0e\0,\0a\0\n\0";
    lh_series *series = NULL;
    CHECK_FAILS(open_text(value, sizeof value - 1, &series), LH_EFORMAT, "column 2: a NUL byte");
    CHECK_FAILS(open_text(date, sizeof date - 1, &series), LH_EFORMAT, "line 2, column 1: a NUL");
    CHECK_FAILS(open_text(name, sizeof name - 1, &series), LH_EFORMAT, "line 1, column 2: a NUL");
    CHECK_FAILS(open_text(wide, sizeof wide - 1, &series), LH_EFORMAT, "file of UTF-16 is to be");
}

TEST(names_and_options_that_do_not_fit) {
    lh_series *series = NULL;
    CHECK_FAILS(open_series("name=ETTh3", &series), LH_EIO, "did you mean 'ETTh");
    CHECK_FAILS(open_series("name=/nowhere/at-all.csv", &series), LH_EIO, "/nowhere/at-all.csv");
    CHECK_FAILS(open_series("name=generate:seasonal borders=months", &series), LH_EOPTION,
                "take shares");
    CHECK_FAILS(open_series("freq=d", &series), LH_EOPTION, "freq");
}

/* Squares of what is farther are no floats, and a loss of them tells of a rate that is too high. */
TEST(a_value_far_beyond_the_training_rows_is_refused) {
    lh_series *series = NULL;
    CHECK_FAILS(
        open_string("date,a,b\n2020-01-01,1,0\n2020-01-02,1,1e-20\n2020-01-03,1,5\n", &series),
        LH_EFORMAT,
        "b is 5 on 2020-01-03 00:00:00, too far from its training rows, whose "
        "deviation is 5e-21");
    REQUIRE_OK(
        open_string("date,a,b\n2020-01-01,1,0\n2020-01-02,1,1\n2020-01-03,1,1e17\n", &series));
    lh_series_destroy(series);
}

TEST(a_constant_channel_keeps_its_scale) {
    lh_series *series = NULL;
    REQUIRE_OK(open_string("date,a\n2020-01-01 00:00,7\n2020-01-01 00:15,7\n2020-01-01 00:30,9\n",
                           &series));
    CHECK_NEAR(lh_series_values(series, 2)[0], 2.0, 0);
    lh_series_destroy(series);
}

/* The mean of six times 0.1 is not 0.1. */
TEST(a_constant_channel_keeps_its_scale_though_its_mean_is_rounded) {
    lh_series *series = NULL;
    REQUIRE_OK(open_string("date,a\n2020-01-01 00:00,0.1\n2020-01-01 00:15,0.1\n"
                           "2020-01-01 00:30,0.1\n2020-01-01 00:45,0.1\n2020-01-01 01:00,0.1\n"
                           "2020-01-01 01:15,0.1\n2020-01-01 01:30,0.1\n2020-01-01 01:45,0.1\n"
                           "2020-01-01 02:00,2.1\n",
                           &series));
    CHECK_NEAR(lh_series_values(series, 8)[0], 2.0, 1e-6);
    lh_series_destroy(series);
}

/* ---- public data in a data folder of our own ---- */

static lh_status open_named(const char *file, const char *content, const char *options,
                            lh_series **out) {
    char folder[] = "/tmp/longhaul-series-XXXXXX", path[PATH];
    char *given = getenv("LONGHAUL_DATA");
    char *kept = given != NULL ? lh_duplicate_text(given) : NULL;
    if (!CHECK(mkdtemp(folder) != NULL)) return LH_EIO;
    (void)snprintf(path, sizeof path, "%s/%s", folder, file);
    FILE *stream = fopen(path, "wb");
    if (!CHECK(stream != NULL)) return LH_EIO;
    (void)fputs(content, stream);
    (void)fclose(stream);
    (void)setenv("LONGHAUL_DATA", folder, 1);
    const lh_status status = open_series(options, out);
    if (kept != NULL) (void)setenv("LONGHAUL_DATA", kept, 1);
    if (kept == NULL) (void)unsetenv("LONGHAUL_DATA");
    free(kept);
    (void)unlink(path);
    (void)rmdir(folder);
    return status;
}

#define ETT_ROW(hour, first) "2016-07-01 " hour ":00:00," first ",1,1,1,1,1,1\n"

TEST(a_series_is_found_by_its_name_in_a_data_folder) {
    static const char text[] = "date,load\n2020-01-01,1\n2020-01-02,2\n2020-01-03,3\n";
    lh_series *series = NULL;
    REQUIRE_OK(open_named("mine.csv", text, "name=mine", &series));
    CHECK(strstr(lh_series_source(series), "mine (3 rows in mine.csv)") != NULL);
    lh_series_destroy(series);
    series = NULL;
    CHECK_FAILS(open_named("other.csv", text, "name=mine", &series), LH_EIO, "no mine/mine.csv");
}

/* Weather is WTH.csv where it is fetched; an import of it is called as its user says. */
TEST(an_import_of_a_public_name_is_no_generator) {
    static const char header[] =
        "date,Visibility,DryBulbFarenheit,DryBulbCelsius,WetBulbFarenheit,DewPointFarenheit,"
        "DewPointCelsius,RelativeHumidity,WindSpeed,WindDirection,StationPressure,Altimeter,"
        "WetBulbCelsius\n";
    char text[1024];
    lh_series *series = NULL;
    (void)snprintf(
        text, sizeof text, "%s%s%s%s", header, "2010-01-01 00:00,1,2,3,4,5,6,7,8,9,1,2,3\n",
        "2010-01-01 01:00,1,2,3,4,5,6,7,8,9,1,2,3\n", "2010-01-01 02:00,1,2,3,4,5,6,7,8,9,1,2,3\n");
    REQUIRE_OK(open_named("Weather.csv", text, "name=Weather", &series));
    CHECK_CONTAINS(lh_series_source(series), "Weather (3 rows in Weather.csv)");
    lh_series_destroy(series);
    series = NULL;
    CHECK_FAILS(open_named("Weather.csv", "date,load\n2020-01-01,1\n2020-01-02,2\n", "name=Weather",
                           &series),
                LH_EFORMAT, "line 1: the column 'Visibility' is missing");
}

TEST(public_data_must_be_what_their_name_says) {
    lh_series *series = NULL;
    CHECK_FAILS(open_named("ETTh1.csv",
                           "date,HUFL,HULL,MUFL,MULL,LUFL,LULL\n"
                           "2016-07-01 00:00:00,1,1,1,1,1,1\n"
                           "2016-07-01 01:00:00,1,1,1,1,1,1\n",
                           "name=ETTh1", &series),
                LH_EFORMAT, "line 1: the column 'OT' is missing");
    CHECK_FAILS(open_named("ETTh1.csv",
                           "date,HUFL,HULL,MUFL,MULL,LUFL,LULL,OT,T\n"
                           "2016-07-01 00:00:00,1,1,1,1,1,1,1,1\n"
                           "2016-07-01 01:00:00,1,1,1,1,1,1,1,1\n",
                           "name=ETTh1", &series),
                LH_EFORMAT, "line 1, column 9: an unknown column 'T'");
    CHECK_FAILS(open_named("ETTh1.csv", "\r\n\ndate,HUFL,OT\n", "name=ETTh1", &series), LH_EFORMAT,
                "line 3: the column 'HULL' is missing");
    CHECK_FAILS(open_named("ETTm1.csv",
                           "date,HUFL,HULL,MUFL,MULL,LUFL,LULL,OT\n" ETT_ROW("00", "41.13")
                               ETT_ROW("01", "41.13"),
                           "name=ETTm1", &series),
                LH_EFORMAT, "HUFL is 41.13 in the first row, where ETTm1 has 5.827; older copies");
    CHECK_FAILS(open_named("ETTm1.csv",
                           "date,OT,HULL,MUFL,MULL,LUFL,LULL,HUFL\n"
                           "2016-07-01 00:00:00,1,1,1,1,1,1,5.827\n"
                           "2016-07-01 00:15:00,1,1,1,1,1,1,1\n",
                           "name=ETTm1", &series),
                LH_EFORMAT, "2 rows, but the training split ends at row 34560");
    CHECK_FAILS(open_named("ETTh1.csv",
                           "date,HUFL,HULL,MUFL,MULL,LUFL,LULL,OT\n" ETT_ROW("00", "5.8")
                               ETT_ROW("01", "5.7"),
                           "name=ETTh1", &series),
                LH_EFORMAT, "2 rows, but the training split ends at row 8640");
}

static void check_remark(const char *file, const char *said) {
    char folder[] = "/tmp/longhaul-series-XXXXXX", path[PATH], options[PATH + 32], *remark = NULL;
    lh_series *series = NULL;
    REQUIRE(mkdtemp(folder) != NULL);
    (void)snprintf(path, sizeof path, "%s/%s", folder, file);
    (void)snprintf(options, sizeof options, "name='%s'", path);
    FILE *stream = fopen(path, "wb");
    REQUIRE(stream != NULL);
    (void)fputs("date,HUFL\n", stream);
    for (int i = 0; i < 10; ++i)
        (void)fprintf(stream, "2016-07-01 %02d:00:00,%d\n", i, i);
    (void)fclose(stream);
    REQUIRE_OK(open_series(options, &series));
    REQUIRE_OK(lh_series_remark(series, &remark));
    CHECK_STR(remark, said);
    free(remark);
    lh_series_destroy(series);
    (void)unlink(path);
    (void)rmdir(folder);
}

#define SPLIT "rows: 7 to train on, 1 to validate, 2 to test"
TEST(a_public_file_by_its_path_is_said_to_be_split_otherwise) {
    lh_series *series = NULL;
    char *remark = NULL;
    check_remark("ETTh1.csv",
                 SPLIT "; the name ETTh1 instead of a path gives the published splits");
    check_remark("ETTh1-mine.csv", SPLIT);
    check_remark("ETTh1.csv.mine", SPLIT);
    check_remark("a", SPLIT);       /* shorter than any public name */
    check_remark("WTH.csv", SPLIT); /* which Informer's code splits by shares, too */
    REQUIRE_OK(open_series("name=generate:seasonal", &series));
    REQUIRE_OK(lh_series_remark(series, &remark));
    CHECK(remark == NULL);
    lh_series_destroy(series);
}

/* int(0.7 N) to train on, the last int(0.2 N) to test. */
TEST(shares_are_of_seven_one_and_two_tenths) {
    static const struct {
        const char *options;
        int64_t rows, train, valid;
    } sets[] = {
        {"name=generate:seasonal series_rows=1000 borders=shares", 1000, 700, 800},
        {"name=generate:seasonal series_rows=1009 borders=shares", 1009, 706, 808},
        {"name=generate:seasonal series_rows=17420", 17420, 12194, 13936},
    };
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; ++i) {
        lh_series *series = NULL;
        REQUIRE_OK(open_series(sets[i].options, &series));
        const lh_series_range train = lh_series_split(series, LH_TRAIN),
                              valid = lh_series_split(series, LH_VALID),
                              test = lh_series_split(series, LH_TEST);
        CHECK_EQ_INT(train.begin, 0);
        CHECK_EQ_INT(train.end, sets[i].train);
        CHECK_EQ_INT(valid.begin, sets[i].train);
        CHECK_EQ_INT(valid.end, sets[i].valid);
        CHECK_EQ_INT(test.begin, sets[i].valid);
        CHECK_EQ_INT(test.end, sets[i].rows);
        lh_series_destroy(series);
    }
}

/* Means and deviations of the training rows as others have computed them. */
TEST(the_real_data_where_they_are) {
    static const struct {
        const char *options;
        const char *rows;
        int64_t channel;
        double mean, deviation, first, late; /* in rows 0 and 8999 of the file */
        int64_t train, valid, test;
    } sets[] = {
        {"name=ETTh1", "(17420 rows", 6, 17.128262, 9.176491, 30.5310001, 19.0639992, 8640, 11520,
         14400},
        {"name=ETTh2", "(17420 rows", 0, 41.536835, 10.448841, 41.1300011, 33.9259987, 8640, 11520,
         14400},
        {"name=ETTm1", "(69680 rows", 0, 0, 0, 0, 0, 34560, 46080, 57600},
        {"name=Weather", "(35064 rows", 11, 1.406686, 6.788106, -10.3, -20.6, 24544, 28052, 35064},
        {"name=Weather borders=calendar", "(35064 rows", 0, 0, 0, 0, 0, 20424, 27720, 35064},
        {"name=Weather borders=months", "(35064 rows", 0, 0, 0, 0, 0, 20160, 27360, 34560},
    };
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; ++i) {
        lh_series *series = NULL;
        REQUIRE_OK(open_series(sets[i].options, &series));
        if (strstr(lh_series_source(series), "embedded generator") != NULL) {
            lh_series_destroy(series);
            SKIP("the series are not in LONGHAUL_DATA");
        }
        CHECK_CONTAINS(lh_series_source(series), sets[i].rows);
        CHECK_EQ_INT(lh_series_split(series, LH_TRAIN).end, sets[i].train);
        CHECK_EQ_INT(lh_series_split(series, LH_VALID).end, sets[i].valid);
        CHECK_EQ_INT(lh_series_split(series, LH_TEST).end, sets[i].test);
        CHECK_EQ_INT(lh_series_split(series, LH_TEST).begin, sets[i].valid);
        if (sets[i].deviation > 0) {
            CHECK_NEAR(lh_series_values(series, 0)[sets[i].channel],
                       (sets[i].first - sets[i].mean) / sets[i].deviation, 1e-6);
            CHECK_NEAR(lh_series_values(series, 8999)[sets[i].channel],
                       (sets[i].late - sets[i].mean) / sets[i].deviation, 1e-6);
        }
        lh_series_destroy(series);
    }
}

/* ---- the generator ---- */

static double correlation(const lh_series *series, int64_t channel, int64_t lag) {
    double xy = 0, xx = 0, yy = 0;
    for (int64_t i = lag; i < lh_series_split(series, LH_TEST).end; ++i) {
        const double x = (double)lh_series_values(series, i)[channel];
        const double y = (double)lh_series_values(series, i - lag)[channel];
        xy += x * y;
        xx += x * x;
        yy += y * y;
    }
    return xy / sqrt(xx * yy);
}

TEST(the_generator_has_seasons_and_is_deterministic) {
    lh_series *a = NULL, *b = NULL, *other = NULL;
    REQUIRE_OK(open_series("name=generate:seasonal series_rows=2000 channels=4", &a));
    REQUIRE_OK(open_series("name=generate:seasonal series_rows=2000 channels=4", &b));
    REQUIRE_OK(
        open_series("name=generate:seasonal series_rows=2000 channels=4 data_seed=2", &other));
    CHECK(lh_series_digest(a) == lh_series_digest(b));
    CHECK(lh_series_digest(a) != lh_series_digest(other));
    CHECK_CONTAINS(lh_series_source(a), "embedded generator");
    for (int64_t c = 0; c < 4; ++c)
        CHECK(correlation(a, c, 24) > correlation(a, c, 17) + 0.05);
    lh_series_destroy(a);
    lh_series_destroy(b);
    lh_series_destroy(other);
}

TEST(a_known_name_without_data_is_made_in_its_shape) {
    lh_series *series = NULL;
    REQUIRE_OK(open_named("nothing", "", "name=Weather", &series));
    CHECK_STR(lh_series_source(series), "embedded generator (Weather)");
    CHECK_EQ_INT(lh_series_split(series, LH_TEST).end, 35064);
    CHECK_EQ_INT(lh_series_channels(series), 12);
    lh_series_destroy(series);
}
