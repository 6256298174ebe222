/* Adafactor (Shazeer and Stern 2018): means of rows and columns, update clipped by its root mean
 * square. */
#include "tests/kernels/reference/loops.h"

static number squared(const lh_adafactor_args *args, int64_t i) {
    const number *factor = (const void *)args->factor, *g = (const void *)args->g;
    const number gradient = (factor == NULL ? 1 : *factor) * g[i];
    return gradient * gradient + (number)1e-30L;
}

/* Moves the row and column means of one matrix of the tensor. */
static void update_factors(const lh_adafactor_args *args, int64_t o, number beta2, number rest) {
    const int64_t rows = args->rows, columns = args->columns;
    number *row = (number *)(void *)args->row + o * rows;
    number *column = (number *)(void *)args->column + o * columns;
    for (int64_t r = 0; r < rows; r++) {
        number sum = 0;
        for (int64_t c = 0; c < columns; c++)
            sum += squared(args, (o * rows + r) * columns + c);
        row[r] = beta2 * row[r] + rest * sum / (number)columns;
    }
    for (int64_t c = 0; c < columns; c++) {
        number sum = 0;
        for (int64_t r = 0; r < rows; r++)
            sum += squared(args, (o * rows + r) * columns + c);
        column[c] = beta2 * column[c] + rest * sum / (number)rows;
    }
}

/* The second moment of one element. */
static number second_moment(const lh_adafactor_args *args, int64_t i) {
    if (!args->factored) return ((const number *)(const void *)args->v)[i];
    const int64_t rows = args->rows, columns = args->columns;
    const int64_t o = i / (rows * columns), r = i / columns % rows, c = i % columns;
    const number *row = (const number *)(const void *)args->row + o * rows;
    const number *column = (const number *)(const void *)args->column + o * columns;
    number mean = 0;
    for (int64_t k = 0; k < rows; k++)
        mean += row[k] / (number)rows;
    return row[r] / mean * column[c];
}

static number root_mean_square(const number *x, int64_t count) {
    number sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += x[i] * x[i];
    return sqrt(sum / (number)count);
}

static void update_moments(const lh_adafactor_args *args, int64_t count) {
    const double beta2 = 1 - pow((double)args->step->step + 1, -args->decay);
    const number kept = (number)beta2, rest = (number)(1 - beta2);
    number *v = (void *)args->v;
    for (int64_t o = 0; o < args->outer && args->factored; o++)
        update_factors(args, o, kept, rest);
    for (int64_t i = 0; i < count && !args->factored; i++)
        v[i] = kept * v[i] + rest * squared(args, i);
}

void REFERENCE(adafactor)(const void *arguments) {
    const lh_adafactor_args *args = arguments;
    const int64_t count = args->outer * args->rows * args->columns;
    const number *factor = (const void *)args->factor, *g = (const void *)args->g;
    const number momentum = (number)args->momentum, fresh = (number)(1 - args->momentum);
    number *x = (void *)args->x, *m = (void *)args->m;
    if (count == 0) return;
    update_moments(args, count);
    number *y = malloc((size_t)count * sizeof *y);
    if (y == NULL) abort();
    for (int64_t i = 0; i < count; i++)
        y[i] = (factor == NULL ? 1 : *factor) * g[i] / sqrt(second_moment(args, i));
    const number excess = root_mean_square(y, count) / (number)args->clip;
    const number scale = root_mean_square(x, count), least = (number)1e-3L;
    number rate = (number)args->step->rate / (excess > 1 ? excess : 1);
    if (args->parameter_scale) rate *= scale > least ? scale : least;
    for (int64_t i = 0; i < count; i++) {
        number move = rate * y[i];
        if (m != NULL) move = m[i] = momentum * m[i] + fresh * move;
        x[i] -= move;
    }
    free(y);
}

void REFERENCE(adafactor_all)(const void *arguments) {
    const lh_adafactor_all_args *args = arguments;
    for (int64_t t = 0; t < args->count; t++)
        REFERENCE(adafactor)(&args->tensor[t]);
}
