/* Any bytes as a CSV file of a time series: refused with a message, or a table of finite numbers.
 */
#include <math.h>
#include <stdlib.h>

#include "datasets/series/series_csv.h"
#include "harness/engine/error.h"
#include "tests/fuzz/scratch.h"

static void check_table(const lh_series_table *table) {
    if (table->rows < 2 || table->channels < 1 || table->step <= 0) abort();
    for (int64_t i = 0; i < table->rows * table->channels; ++i)
        if (!isfinite(table->values[i])) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    lh_series_table table = {0};
    const lh_status status =
        lh_series_read_csv(scratch_write("series.csv", data, size), NULL, &table);
    if (status == LH_OK) check_table(&table);
    if (status != LH_OK && lh_error_get()->message[0] == '\0') abort();
    lh_series_table_clear(&table);
    lh_error_clear();
    return 0;
}
