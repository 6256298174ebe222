/* The public data sets, their splits, and the standardised values that tasks read. */
#include "datasets/series/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "datasets/digest.h"
#include "datasets/generate/generate_series.h"
#include "datasets/locate.h"
#include "datasets/series/series_csv.h"
#include "harness/engine/file.h"
#include "harness/engine/nearest_name.h"
#include "harness/engine/text.h"

static const char *const border_names[] = {"informer", "months", "calendar", "shares", NULL};

static const char *const frequency_names[] = {"h", "t", NULL};

const lh_option lh_series_config_options[] = {
    LH_TEXT("name", lh_series_config, name, "ETTh1",
            "ETTh1, ETTh2, ETTm1, Weather, generate:seasonal, a series in a data folder (`longhaul "
            "data import`), or a CSV file with a slash in its path"),
    LH_CHOICE(
        "borders", lh_series_config, borders, LH_BORDERS_INFORMER, border_names,
        "rows of the splits: months (12/4/4 for ETT, 28/10/10 for Weather) of 30 days or by the "
        "calendar, shares 70/10/20; informer: as its code has it, months for ETT and shares else"),
    LH_CHOICE("freq", lh_series_config, freq, LH_HOURLY, frequency_names,
              "time features: h (hour, weekday, day, day of the year), t (the minute, too)"),
    LH_INTEGER("series_rows", lh_series_config, series_rows, 17420, 100, 1e8, "generator: rows"),
    LH_INTEGER("channels", lh_series_config, channels, 7, 1, 1e4, "generator: channels"),
    LH_INTEGER("data_seed", lh_series_config, data_seed, 1, 0, 9e15, "generator: seed"),
    {0}};

/* A public data set; its rows and step are what the generator stands in for. */
typedef struct known {
    const char *name, *file;
    const char *const *columns;
    int64_t rows, step, months[LH_SPLITS];
    bool has_months; /* Informer's code splits it by them */
    double first;    /* of the first of its columns, in the first row; 0: unchecked */
} known;

static const char *const transformer[] = {"HUFL", "HULL", "MUFL", "MULL",
                                          "LUFL", "LULL", "OT",   NULL};
static const char *const weather[] = {"Visibility",
                                      "DryBulbFarenheit",
                                      "DryBulbCelsius",
                                      "WetBulbFarenheit",
                                      "DewPointFarenheit",
                                      "DewPointCelsius",
                                      "RelativeHumidity",
                                      "WindSpeed",
                                      "WindDirection",
                                      "StationPressure",
                                      "Altimeter",
                                      "WetBulbCelsius",
                                      NULL};

/* ETTm1 and ETTm2 were exchanged upstream in March 2021; the first cell tells them apart. */
static const known knowns[] = {
    {"ETTh1", "ETTh1", transformer, 17420, 3600, {12, 4, 4}, true, 0},
    {"ETTh2", "ETTh2", transformer, 17420, 3600, {12, 4, 4}, true, 0},
    {"ETTm1", "ETTm1", transformer, 69680, 900, {12, 4, 4}, true, 5.827},
    {"Weather", "WTH", weather, 35064, 3600, {28, 10, 10}, false, 0},
};
enum { KNOWNS = sizeof knowns / sizeof knowns[0] };

struct lh_series {
    lh_series_table table;
    const known *known; /* NULL: another file, or the generator */
    int64_t times;
    lh_series_range split[LH_SPLITS];
    real *values, *features; /* [rows][channels], [rows][times] */
    char *source, *path;     /* path NULL: of the generator */
    uint64_t digest;
};

/* ---- splits ---- */

/* The first row at or after a moment. */
static int64_t row_at(const lh_series *series, int64_t moment) {
    const lh_series_table *table = &series->table;
    return (moment - table->first + table->step - 1) / table->step;
}

static lh_status split_by_months(lh_series *series, bool calendar) {
    const lh_series_table *table = &series->table;
    if (series->known == NULL)
        return lh_fail(LH_EOPTION, "option 'borders': only ETTh1, ETTh2, ETTm1 and Weather are "
                                   "split by months; take shares");
    int64_t begin = 0, months = 0;
    for (int s = 0; s < LH_SPLITS; ++s) {
        months += series->known->months[s];
        const int64_t moment = calendar ? lh_date_add_months(table->first, months)
                                        : table->first + months * 30 * 86400;
        const int64_t end = row_at(series, moment);
        if (end > table->rows)
            return lh_fail(
                LH_EFORMAT, "%s: %lld rows, but the %s split ends at row %lld: is the file whole?",
                series->source, (long long)table->rows, lh_split_words[s], (long long)end);
        series->split[s] = (lh_series_range){begin, end};
        begin = end;
    }
    return LH_OK;
}

/* int(0.7 N) rows to train on, the last int(0.2 N) to test, what is left between to validate. */
static lh_status split_by_shares(lh_series *series) {
    const int64_t rows = series->table.rows, train = rows * 7 / 10, test = rows * 2 / 10;
    series->split[LH_TRAIN] = (lh_series_range){0, train};
    series->split[LH_VALID] = (lh_series_range){train, rows - test};
    series->split[LH_TEST] = (lh_series_range){rows - test, rows};
    return LH_OK;
}

static lh_status split_rows(lh_series *series, lh_series_borders how) {
    const bool months = series->known != NULL && series->known->has_months;
    if (how == LH_BORDERS_SHARES || (how == LH_BORDERS_INFORMER && !months))
        return split_by_shares(series);
    return split_by_months(series, how == LH_BORDERS_CALENDAR);
}

/* ---- standardisation ---- */

typedef struct scale {
    double mean, deviation;
} scale;

static scale scale_of(const lh_series *series, int64_t channel) {
    const lh_series_table *table = &series->table;
    const int64_t rows = series->split[LH_TRAIN].end;
    double sum = 0.0, squares = 0.0;
    bool constant = true;
    for (int64_t i = 0; i < rows; ++i) {
        const double value = table->values[i * table->channels + channel];
        constant = constant && value == table->values[channel];
        sum += value;
    }
    const double mean = rows > 0 ? sum / (double)rows : 0.0;
    for (int64_t i = 0; i < rows; ++i) {
        const double apart = table->values[i * table->channels + channel] - mean;
        squares += apart * apart;
    }
    /* The mean of a constant is rounded, so that its deviation need not be 0. */
    const double deviation = rows > 0 && !constant ? sqrt(squares / (double)rows) : 0.0;
    return (scale){mean, deviation > 0.0 ? deviation : 1.0};
}

#define FARTHEST 1e18 /* whose square still is a float */

/* Of a file: what is generated is near. */
static lh_status refuse_far(const lh_series *series, int64_t index, double deviation) {
    const lh_series_table *table = &series->table;
    char date[LH_DATE_TEXT];
    lh_date_format(table->first + index / table->channels * table->step, date);
    return lh_fail(LH_EFORMAT,
                   "%s: %s is %g on %s, too far from its training rows, whose deviation is %g: "
                   "leave the channel out, or mend it",
                   series->path, table->name[index % table->channels], table->values[index], date,
                   deviation);
}

static lh_status standardise_channel(lh_series *series, int64_t channel) {
    const lh_series_table *table = &series->table;
    const scale of = scale_of(series, channel);
    for (int64_t i = channel; i < table->rows * table->channels; i += table->channels) {
        const double value = (table->values[i] - of.mean) / of.deviation;
        if (fabs(value) > FARTHEST) return refuse_far(series, i, of.deviation);
        series->values[i] = (real)value;
    }
    return LH_OK;
}

static lh_status standardise(lh_series *series) {
    const lh_series_table *table = &series->table;
    const size_t channels = (size_t)table->channels, rows = (size_t)table->rows;
    series->values = lh_allocate(rows * channels * sizeof *series->values);
    series->features = lh_allocate(rows * (size_t)series->times * sizeof *series->features);
    if (series->values == NULL || series->features == NULL) return LH_EMEMORY;
    for (int64_t c = 0; c < table->channels; ++c)
        LH_TRY(standardise_channel(series, c));
    return LH_OK;
}

/* The minute is the first feature, and only that of data by minutes. */
static void find_features(lh_series *series) {
    const int64_t skip = LH_TIME_FEATURES - series->times;
    for (int64_t i = 0; i < series->table.rows; ++i) {
        real all[LH_TIME_FEATURES];
        lh_time_features(series->table.first + i * series->table.step, all);
        memcpy(series->features + i * series->times, all + skip,
               (size_t)series->times * sizeof *all);
    }
}

/* ---- opening ---- */

static const known *find_known(const char *name) {
    for (int i = 0; i < KNOWNS; ++i)
        if (strcmp(knowns[i].name, name) == 0) return &knowns[i];
    return NULL;
}

static lh_status generate(lh_series *series, const lh_series_config *config) {
    lh_series_table *table = &series->table;
    const known *like = series->known;
    int64_t first = 0;
    (void)lh_date_parse("2016-07-01 00:00", &first);
    table->first = first;
    table->step = like != NULL ? like->step : 3600;
    const int64_t channels = config->channels;
    for (int64_t c = 0; like != NULL ? like->columns[c] != NULL : c < channels; ++c) {
        char *name = lh_format("channel %lld", (long long)(c + 1));
        if (name == NULL) return LH_EMEMORY;
        const lh_status status =
            lh_series_table_add_channel(table, like != NULL ? like->columns[c] : name);
        free(name);
        LH_TRY(status);
    }
    for (const int64_t rows = like != NULL ? like->rows : config->series_rows; table->rows < rows;
         ++table->rows)
        LH_TRY(lh_series_table_reserve(table));
    const lh_generated_series shape = {table->rows, table->channels, table->step};
    lh_generate_series((uint64_t)config->data_seed, &shape, table->values);
    return lh_source_generated(&series->source, like != NULL ? like->name : "seasonal");
}

/* How many values of a file an import carried forward, as it noted beside it; 0 without a note. */
static lh_status count_carried(const char *path, long long *count) {
    void *data = NULL;
    size_t bytes = 0;
    char *note = lh_format("%s.carried", path), *end = NULL;
    *count = 0;
    lh_status status = note != NULL ? LH_OK : LH_EMEMORY;
    if (status == LH_OK && lh_file_exists(note)) {
        status = lh_file_read_all(note, &data, &bytes);
        if (status == LH_OK) *count = strtoll(data, &end, 10);
        if (status == LH_OK && (end == data || *count < 1))
            status = lh_fail(LH_EFORMAT, "%s: says no number of values", note);
    }
    free(note);
    free(data);
    return status;
}

/* "17420 rows", and what an import filled in. Gives; NULL after LH_EMEMORY. */
static char *describe_rows(int64_t rows, long long carried) {
    if (carried == 0) return lh_format("%lld rows", (long long)rows);
    return lh_format("%lld rows with %lld value%s carried forward", (long long)rows, carried,
                     carried == 1 ? "" : "s");
}

/* Whether the first row has what a public data set begins with; a file may have its columns in any
 * order. */
static lh_status check_first(const lh_series *series, const char *path) {
    const known *of = series->known;
    const lh_series_table *table = &series->table;
    int64_t column = 0;
    if (of == NULL || of->first == 0) return LH_OK;
    while (strcmp(table->name[column], of->columns[0]) != 0)
        column += 1;
    if (fabs(table->values[column] - of->first) < 1e-3) return LH_OK;
    return lh_fail(LH_EFORMAT,
                   "%s: %s is %g in the first row, where %s has %g; older copies have ETTm1 and "
                   "ETTm2 exchanged",
                   path, of->columns[0], table->values[column], of->name, of->first);
}

static lh_status read_file(lh_series *series, const char *name, const char *path) {
    long long carried = 0;
    const known *of = series->known;
    series->path = lh_duplicate_text(path);
    if (series->path == NULL) return LH_EMEMORY;
    LH_TRY(lh_series_read_csv(path, of != NULL ? of->columns : NULL, &series->table));
    LH_TRY(count_carried(path, &carried));
    char *rows = describe_rows(series->table.rows, carried);
    if (rows == NULL) return LH_EMEMORY;
    const lh_status status = lh_source_found(&series->source, name, rows, path);
    free(rows);
    return status == LH_OK ? check_first(series, path) : status;
}

/* The file of a data set in one of the data folders; NULL when there is none. Gives. */
static lh_status find_file(const char *name, const char *file, char **path) {
    static const char *const endings[] = {".csv", ".csv.gz"};
    *path = NULL;
    for (int i = 0; i < 2; ++i) {
        char *place[] = {lh_format("series/%s%s", file, endings[i]),
                         lh_format("%s/%s%s", name, file, endings[i]),
                         lh_format("%s%s", file, endings[i])};
        lh_status status = LH_OK;
        for (int p = 0; p < 3; ++p) {
            if (status == LH_OK && *path == NULL)
                status = place[p] != NULL ? lh_data_find(place[p], path) : LH_EMEMORY;
            free(place[p]);
        }
        if (status != LH_OK || *path != NULL) return status;
    }
    return LH_OK;
}

static lh_status refuse_name(const char *name) {
    const char *names[KNOWNS + 2] = {"generate:seasonal"};
    for (int i = 0; i < KNOWNS; ++i)
        names[i + 1] = knowns[i].name;
    return lh_fail(LH_EIO,
                   "no time series '%s'%s; the data folders have no %s/%s.csv "
                   "(`longhaul data import FILE.csv --kind series`), and a path has a slash in it",
                   name, lh_did_you_mean(name, names), name, name);
}

static lh_status read_table(lh_series *series, const lh_series_config *config) {
    char *path = NULL;
    const char *name = config->name;
    series->known = find_known(name);
    const char *file = series->known != NULL ? series->known->file : name;
    if (strcmp(name, "generate:seasonal") == 0) return generate(series, config);
    if (strchr(name, '/') != NULL) return read_file(series, name, name);
    LH_TRY(find_file(name, file, &path));
    if (path == NULL) LH_TRY(find_file(name, name, &path)); /* as `data import` calls it */
    if (path == NULL) return series->known != NULL ? generate(series, config) : refuse_name(name);
    const lh_status status = read_file(series, name, path);
    free(path);
    return status;
}

static uint64_t digest_of(const lh_series *series) {
    const lh_series_table *table = &series->table;
    const int64_t shape[] = {table->rows, table->channels, table->first, table->step};
    uint64_t digest = lh_digest_mix(0, series->split, sizeof series->split);
    digest = lh_digest_mix(digest, shape, sizeof shape);
    for (int64_t c = 0; c < table->channels; ++c)
        digest = lh_digest_text(digest, table->name[c]);
    return lh_digest_mix(digest, table->values,
                         (size_t)(table->rows * table->channels) * sizeof *table->values);
}

static lh_status fill(lh_series *series, const lh_series_config *config) {
    const bool minutes = config->freq == LH_BY_MINUTES;
    series->times = minutes ? LH_TIME_FEATURES : LH_TIME_FEATURES - 1;
    LH_TRY(read_table(series, config));
    LH_TRY(split_rows(series, config->borders));
    LH_TRY(standardise(series));
    find_features(series);
    series->digest = digest_of(series);
    return LH_OK;
}

lh_status lh_series_open(const lh_series_config *config, lh_series **out) {
    *out = NULL;
    lh_series *series = lh_allocate_zeroed(1, sizeof *series);
    if (series == NULL) return LH_EMEMORY;
    const lh_status status = fill(series, config);
    if (status != LH_OK) {
        lh_series_destroy(series);
        return status;
    }
    *out = series;
    return LH_OK;
}

void lh_series_destroy(lh_series *series) {
    if (series == NULL) return;
    lh_series_table_clear(&series->table);
    free(series->values);
    free(series->features);
    free(series->source);
    free(series->path);
    free(series);
}

/* ---- what others may know ---- */

int64_t lh_series_channels(const lh_series *series) {
    return series->table.channels;
}

int64_t lh_series_times(const lh_series *series) {
    return series->times;
}

const real *lh_series_values(const lh_series *series, int64_t row) {
    return series->values + row * series->table.channels;
}

const real *lh_series_features(const lh_series *series, int64_t row) {
    return series->features + row * series->times;
}

lh_series_range lh_series_split(const lh_series *series, lh_split split) {
    return series->split[split];
}

const char *lh_series_source(const lh_series *series) {
    return series->source;
}

/* The public data set that a file given by its path is called like and split otherwise; NULL: none.
 */
static const known *called_like(const lh_series *series) {
    if (series->known != NULL || series->path == NULL) return NULL;
    const char *slash = strrchr(series->path, '/'),
               *name = slash != NULL ? slash + 1 : series->path;
    for (int i = 0; i < KNOWNS; ++i) {
        const size_t length = strlen(knowns[i].file);
        if (!knowns[i].has_months || strncmp(name, knowns[i].file, length) != 0) continue;
        const char *rest = name + length;
        if (strcmp(rest, ".csv") == 0 || strcmp(rest, ".csv.gz") == 0) return &knowns[i];
    }
    return NULL;
}

lh_status lh_series_remark(const lh_series *series, char **out) {
    const lh_series_range *split = series->split;
    const known *like = called_like(series);
    *out = NULL;
    if (series->path == NULL) return LH_OK;
    *out = lh_format("rows: %lld to train on, %lld to validate, %lld to test%s%s%s",
                     (long long)(split[LH_TRAIN].end - split[LH_TRAIN].begin),
                     (long long)(split[LH_VALID].end - split[LH_VALID].begin),
                     (long long)(split[LH_TEST].end - split[LH_TEST].begin),
                     like != NULL ? "; the name " : "", like != NULL ? like->name : "",
                     like != NULL ? " instead of a path gives the published splits" : "");
    return *out != NULL ? LH_OK : LH_EMEMORY;
}

uint64_t lh_series_digest(const lh_series *series) {
    return series->digest;
}
