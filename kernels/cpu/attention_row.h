/* The loops over one row of scores. They are most of what an attention costs beside its matrix
 * products. Those with an exponential run over whole rows, padded to full vectors, with -infinity
 * where a score is masked: a few columns in vain are cheaper than a ragged end per row. */
#ifndef LH_KERNELS_CPU_ATTENTION_ROW_H
#define LH_KERNELS_CPU_ATTENTION_ROW_H

#include "kernels/cpu/vector_math.h"

/* Rows are padded to a multiple of this. */
enum { LH_ROW_LANES = 16 };

static inline int64_t lh_row_padded(int64_t count) {
    return (count + LH_ROW_LANES - 1) / LH_ROW_LANES * LH_ROW_LANES;
}

static inline void lh_row_fill(real *x, int64_t begin, int64_t end, real value) {
    for (int64_t c = begin; c < end; ++c)
        x[c] = value;
}

static inline void lh_row_add(real *sum, const real *x, int64_t count) {
#pragma omp simd
    for (int64_t c = 0; c < count; ++c)
        sum[c] += x[c];
}

/* x *= keep * scale. */
static inline void lh_row_drop(real *x, const uint8_t *keep, int64_t count, real scale) {
#pragma omp simd
    for (int64_t c = 0; c < count; ++c)
        x[c] *= (real)keep[c] * scale;
}

/* The largest of a padded row and `maximum`; a NaN is passed over. */
static inline real lh_row_maximum(const real *x, int64_t padded, real maximum) {
    real lane[LH_ROW_LANES];
    for (int l = 0; l < LH_ROW_LANES; ++l)
        lane[l] = maximum;
    for (int64_t c = 0; c < padded; c += LH_ROW_LANES)
        for (int l = 0; l < LH_ROW_LANES; ++l)
            lane[l] = x[c + l] > lane[l] ? x[c + l] : lane[l];
    for (int l = 1; l < LH_ROW_LANES; ++l)
        lane[0] = lane[l] > lane[0] ? lane[l] : lane[0];
    return lane[0];
}

/* score = exp(score - shift) over a padded row; the sum. */
static inline real lh_row_exp(real *score, int64_t padded, real shift) {
    real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t c = 0; c < padded; ++c) {
        const real p = lh_exp(score[c] - shift);
        score[c] = p;
        sum += p;
    }
    return sum;
}

/* Over a padded row: score becomes the probability p = exp(score - lse), and gradient, which
 * enters as that of p, leaves as that of the score: p * (gradient - delta). Masked columns get
 * zeros even where lse, gradient or delta is NaN. */
static inline void lh_row_gradient(real *score, real *gradient, int64_t padded, real lse,
                                   real delta) {
#pragma omp simd
    for (int64_t c = 0; c < padded; ++c) {
        const bool masked = score[c] == -LH_R(INFINITY);
        const real p = lh_exp(score[c] - lse);
        const real slope = p * (gradient[c] - delta);
        score[c] = masked ? 0 : p;
        gradient[c] = masked ? 0 : slope;
    }
}

#endif
