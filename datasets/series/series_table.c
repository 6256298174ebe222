/* The columns' names, and the values row by row. */
#include "datasets/series/series_table.h"

#include <stdlib.h>

#include "harness/engine/array.h"

void lh_series_table_clear(lh_series_table *table) {
    for (int64_t i = 0; i < table->channels; ++i)
        free(table->name[i]);
    free(table->name);
    free(table->values);
    *table = (lh_series_table){0};
}

lh_status lh_series_table_add_channel(lh_series_table *table, const char *name) {
    LH_TRY(lh_array_reserve(&table->name, &table->name_capacity, table->channels + 1,
                            sizeof *table->name));
    table->name[table->channels] = lh_duplicate_text(name);
    if (table->name[table->channels] == NULL) return LH_EMEMORY;
    table->channels += 1;
    return LH_OK;
}

lh_status lh_series_table_reserve(lh_series_table *table) {
    return lh_array_reserve(&table->values, &table->capacity, table->rows + 1,
                            (size_t)table->channels * sizeof *table->values);
}
