/* The loops over the lanes of one key's scores: a lane is a query, and queries are independent, so
 * all of this runs along the vector registers. Each takes the number of lanes, a multiple of
 * LH_ATTENTION_VECTOR; callers pass it as a constant where they can. */
#ifndef LH_KERNELS_CPU_ATTENTION_LANE_H
#define LH_KERNELS_CPU_ATTENTION_LANE_H

#include "kernels/cpu/attention_inside.h"
#include "kernels/cpu/vector_math.h"

LH_SPECIALIZED void lh_lane_fill(int64_t lanes, real *x, real value) {
#pragma omp simd
    for (int64_t l = 0; l < lanes; ++l)
        x[l] = value;
}

/* score = alpha * score + bias, -infinity in the lanes outside `seen`; maximum follows, a NaN is
 * passed over. */
LH_SPECIALIZED void lh_lane_mask(int64_t lanes, real alpha, real *score, const real *bias,
                                 lh_range seen, real *maximum) {
    const int begin = (int)seen.begin, end = (int)seen.end;
    if (begin == 0 && end == lanes) {
#pragma omp simd
        for (int l = 0; l < (int)lanes; ++l) {
            const real x = alpha * score[l] + bias[l];
            score[l] = x;
            maximum[l] = x > maximum[l] ? x : maximum[l];
        }
        return;
    }
#pragma omp simd
    for (int l = 0; l < (int)lanes; ++l) {
        const real biased = alpha * score[l] + bias[l];
        const bool visible = (l >= begin) & (l < end);
        const real x = visible ? biased : -LH_R(INFINITY);
        score[l] = x;
        maximum[l] = x > maximum[l] ? x : maximum[l];
    }
}

/* score = exp(score - shift), and its sum. */
LH_SPECIALIZED void lh_lane_exp(int64_t lanes, real *score, const real *shift, real *sum) {
#pragma omp simd
    for (int64_t l = 0; l < lanes; ++l) {
        const real p = lh_exp(score[l] - shift[l]);
        score[l] = p;
        sum[l] += p;
    }
}

/* What dropout multiplies each lane by: `scale` where its bit of `keep` is set, else 0. */
LH_SPECIALIZED void lh_lane_kept(int64_t lanes, uint64_t keep, real scale, real *kept) {
    for (int64_t begin = 0; begin < lanes; begin += LH_ATTENTION_VECTOR) {
        const uint32_t bits = (uint32_t)(keep >> begin);
#pragma omp simd
        for (int l = 0; l < LH_ATTENTION_VECTOR; ++l)
            kept[begin + l] = (bits >> l & 1u) != 0 ? scale : 0;
    }
}

LH_SPECIALIZED void lh_lane_add(int64_t lanes, real *x, const real *y) {
#pragma omp simd
    for (int64_t l = 0; l < lanes; ++l)
        x[l] += y[l];
}

/* x *= kept: dropout of some keys, [keys][lanes]. */
LH_SPECIALIZED void lh_lane_drop(int64_t lanes, int64_t keys, const uint64_t *keep, real scale,
                                 real *x) {
    for (int64_t key = 0; key < keys; ++key) {
        real kept[LH_ATTENTION_ROWS];
        lh_lane_kept(lanes, keep[key], scale, kept);
#pragma omp simd
        for (int64_t l = 0; l < lanes; ++l)
            x[key * lanes + l] *= kept[l];
    }
}

/* moment += gradient * score, for lanes in `seen`. */
LH_SPECIALIZED void lh_lane_moment(int64_t lanes, const real *score, const real *gradient,
                                   lh_range seen, real *moment) {
    const int begin = (int)seen.begin, end = (int)seen.end;
#pragma omp simd
    for (int l = 0; l < (int)lanes; ++l) {
        const bool visible = (l >= begin) & (l < end);
        moment[l] += visible ? gradient[l] * score[l] : 0;
    }
}

/* On entry the scores without factor and bias and the gradients of the weights; on exit the weights
 * and the gradients of the scores, zeros outside `seen`:
 *   p = exp(alpha * score + bias - lse),  gradient = p * (gradient - delta),  score = p */
LH_SPECIALIZED void lh_lane_gradient(int64_t lanes, real alpha, real *score, real *gradient,
                                     const real *bias, lh_range seen, const real *lse,
                                     const real *delta) {
    const int begin = (int)seen.begin, end = (int)seen.end;
    if (begin == 0 && end == lanes) {
#pragma omp simd
        for (int l = 0; l < (int)lanes; ++l) {
            const real p = lh_exp(alpha * score[l] + bias[l] - lse[l]);
            gradient[l] = p * (gradient[l] - delta[l]);
            score[l] = p;
        }
        return;
    }
#pragma omp simd
    for (int l = 0; l < (int)lanes; ++l) {
        const bool visible = (l >= begin) & (l < end);
        const real p = lh_exp(alpha * score[l] + bias[l] - lse[l]);
        const real slope = p * (gradient[l] - delta[l]);
        gradient[l] = visible ? slope : 0;
        score[l] = visible ? p : 0;
    }
}

#endif
