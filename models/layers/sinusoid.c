#include "models/layers/sinusoid.h"

#include <math.h>
#include <stdlib.h>

/* Columns i and, where there is one, i + 1: the angle grows by `rate` from row to row, so that one
 * rotation a row does for a sine and a cosine (its error grows by a rounding of double a row). */
static void write_pair(real *values, int64_t length, int64_t width, int64_t i) {
    const double rate = pow(10000.0, -(double)i / (double)width);
    const double turn_sine = sin(rate), turn_cosine = cos(rate);
    double sine = 0.0, cosine = 1.0;
    for (int64_t t = 0; t < length; ++t) {
        const double before = sine;
        values[t * width + i] = (real)sine;
        if (i + 1 < width) values[t * width + i + 1] = (real)cosine;
        sine = sine * turn_cosine + cosine * turn_sine;
        cosine = cosine * turn_cosine - before * turn_sine;
    }
}

lh_tensor *lh_sinusoids(lh_tape *tape, int64_t length, int64_t width) {
    const int64_t shape[] = {length, width};
    real *values = lh_allocate((size_t)(length * width) * sizeof *values);
    if (values == NULL) return NULL;
    for (int64_t i = 0; i < width; i += 2)
        write_pair(values, length, width, i);
    lh_tensor *y = lh_reals(tape, 2, shape, values);
    free(values);
    return y;
}
