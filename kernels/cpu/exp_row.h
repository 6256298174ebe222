/* The two passes that every softmax begins with: the largest of a row, and exp of what is below it.
 */
#ifndef LH_KERNELS_CPU_EXP_ROW_H
#define LH_KERNELS_CPU_EXP_ROW_H

#include <float.h>
#include <math.h>

#include "kernels/cpu/isa.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/vector_math.h"

/* The same one by one, for rows without a finite element: a vector reduction may begin at the
 * smallest finite number instead of -infinity (clang's does). */
static inline real lh_row_max_plain(int64_t width, const real *x) {
    real most = -(real)INFINITY;
    for (int64_t i = 0; i < width; ++i)
        most = x[i] > most ? x[i] : most;
    return most;
}

/* -infinity for an empty row; NaN when an element is. */
static inline real lh_row_max(int64_t width, const real *x) {
    real most = -(real)INFINITY;
    int unordered = 0;
#pragma omp simd reduction(max : most) reduction(| : unordered)
    for (int64_t i = 0; i < width; ++i) {
        most = x[i] > most ? x[i] : most;
        unordered |= x[i] != x[i];
    }
    if (unordered != 0) return (real)NAN;
    const real smallest = sizeof(real) == sizeof(float) ? (real)-FLT_MAX : (real)-DBL_MAX;
    return most > smallest ? most : lh_row_max_plain(width, x);
}

/* Elements whose exponentials are summed in the compute type, before double: few enough that
 * sixteen lanes add no error to speak of. */
enum { LH_EXP_BLOCK = 256 };

/* y[i] = exp(scale * (x[i] - most)), not kept when y is NULL; returns their sum. y may be x. */
LH_SPECIALIZED double lh_exp_sum(int64_t width, const real *x, real scale, real most, real *y) {
    double sum = 0;
    for (int64_t begin = 0; begin < width; begin += LH_EXP_BLOCK) {
        const int64_t end = lh_min(width, begin + LH_EXP_BLOCK);
        real part = 0;
#pragma omp simd reduction(+ : part)
        for (int64_t i = begin; i < end; ++i) {
            const real e = lh_exp(scale * (x[i] - most));
            if (y != NULL) y[i] = e;
            part += e;
        }
        sum += (double)part;
    }
    return sum;
}

#endif
