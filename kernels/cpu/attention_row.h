/* The loops over one row of scores, all over the visible columns only. They are most of what an
 * attention costs beside its matrix products, so each is one vector loop without branches. */
#ifndef LH_KERNELS_CPU_ATTENTION_ROW_H
#define LH_KERNELS_CPU_ATTENTION_ROW_H

#include "kernels/cpu/vector_math.h"

/* score += bias, and the maximum of the scores and `maximum`; a NaN is passed over. */
static inline real lh_row_bias(real *score, const real *bias, int64_t count, real maximum) {
    enum { LANES = 16 };
    real lane[LANES];
    for (int l = 0; l < LANES; ++l)
        lane[l] = maximum;
    int64_t c = 0;
    for (; c + LANES <= count; c += LANES)
        for (int l = 0; l < LANES; ++l) {
            const real x = bias ? score[c + l] + bias[c + l] : score[c + l];
            score[c + l] = x;
            lane[l] = x > lane[l] ? x : lane[l];
        }
    for (; c < count; ++c) {
        score[c] += bias ? bias[c] : 0;
        lane[0] = score[c] > lane[0] ? score[c] : lane[0];
    }
    for (int l = 1; l < LANES; ++l)
        lane[0] = lane[l] > lane[0] ? lane[l] : lane[0];
    return lane[0];
}

/* score = exp(score - shift); the sum. */
static inline real lh_row_exp(real *score, int64_t count, real shift) {
    real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t c = 0; c < count; ++c) {
        const real p = lh_exp(score[c] - shift);
        score[c] = p;
        sum += p;
    }
    return sum;
}

/* score *= keep * scale. */
static inline void lh_row_drop(real *score, const uint8_t *keep, int64_t count, real scale) {
#pragma omp simd
    for (int64_t c = 0; c < count; ++c)
        score[c] *= (real)keep[c] * scale;
}

/* On entry the scores without bias and the gradient of the kept probabilities; on exit the kept
 * probabilities themselves and the gradient of the scores:
 *   p = exp(score + bias - lse),  gradient = p * (keep * gradient - delta),  score = keep * p. */
static inline void lh_row_gradient(real *score, real *gradient, int64_t count, real lse,
                                   real delta) {
#pragma omp simd
    for (int64_t c = 0; c < count; ++c) {
        const real p = lh_exp(score[c] - lse);
        score[c] = p;
        gradient[c] = p * (gradient[c] - delta);
    }
}

static inline void lh_row_gradient_biased(real *score, real *gradient, const real *bias,
                                          int64_t count, real lse, real delta) {
#pragma omp simd
    for (int64_t c = 0; c < count; ++c) {
        const real p = lh_exp(score[c] + bias[c] - lse);
        score[c] = p;
        gradient[c] = p * (gradient[c] - delta);
    }
}

static inline void lh_row_gradient_dropped(real *score, real *gradient, const uint8_t *keep,
                                           real scale, int64_t count, real lse, real delta) {
#pragma omp simd
    for (int64_t c = 0; c < count; ++c) {
        const real p = lh_exp(score[c] - lse);
        const real kept = (real)keep[c] * scale;
        score[c] = p * kept;
        gradient[c] = p * (gradient[c] * kept - delta);
    }
}

static inline void lh_row_add(real *sum, const real *x, int64_t count) {
#pragma omp simd
    for (int64_t c = 0; c < count; ++c)
        sum[c] += x[c];
}

static inline void lh_row_zero(real *x, int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c)
        x[c] = 0;
}

#endif
