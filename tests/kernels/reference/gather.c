/* Table rows by index, zeros for an index outside; and the sum back into the table. */
#include "tests/kernels/reference/loops.h"

void REFERENCE(gather)(const void *arguments) {
    const lh_gather_args *args = arguments;
    const number *table = (const void *)args->table;
    number *y = args->y.data;
    for (int64_t r = 0; r < args->rows; r++) {
        const int64_t entry = args->index[r];
        const bool valid = entry >= 0 && entry < args->entries;
        for (int64_t i = 0; i < args->width; i++)
            y[r * args->width + i] = valid ? table[entry * args->width + i] : 0;
    }
}

void REFERENCE(scatter_add)(const void *arguments) {
    const lh_scatter_add_args *args = arguments;
    const number *x = args->x.data;
    number *y = (void *)args->y;
    for (int64_t e = 0; e < args->entries; e++) {
        for (int64_t i = 0; i < args->width; i++) {
            number sum = 0;
            for (int64_t r = 0; r < args->rows; r++)
                if (args->index[r] == e) sum += x[r * args->width + i];
            store(&y[e * args->width + i], args->write, sum);
        }
    }
}
