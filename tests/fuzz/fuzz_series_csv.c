/* Any bytes as a CSV file of a time series: refused with a message, or a table of finite numbers.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "datasets/series/series_csv.h"
#include "harness/engine/error.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_table(const lh_series_table *table) {
    if (table->rows < 2 || table->channels < 1 || table->step <= 0) abort();
    for (int64_t i = 0; i < table->rows * table->channels; ++i)
        if (!isfinite(table->values[i])) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[64];
    (void)snprintf(path, sizeof path, "/tmp/longhaul-fuzz-series-%ld.csv", (long)getpid());
    FILE *stream = fopen(path, "wb");
    if (stream == NULL) abort();
    (void)fwrite(data, 1, size, stream);
    (void)fclose(stream);
    lh_series_table table = {0};
    const lh_status status = lh_series_read_csv(path, NULL, &table);
    if (status == LH_OK) check_table(&table);
    if (status != LH_OK && lh_error_get()->message[0] == '\0') abort();
    lh_series_table_clear(&table);
    lh_error_clear();
    (void)unlink(path);
    return 0;
}
