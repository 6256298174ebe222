/* What a recurrence encoding head multiplies its state by, the same text for C and CUDA.
 *
 * With w = lambda or gamma e^(i theta), y_i = sum_{1 <= t <= K} w^t v_{i-t} obeys
 *   y_i = w (y_{i-1} + v_{i-1}) - w^(K+1) v_{i-1-K},
 * and its derivative y' by w obeys
 *   y'_i = w y'_{i-1} + y_{i-1} + v_{i-1} - (K+1) w^K v_{i-1-K}.
 * Real and imaginary part of y are the cosine and the sine head. Neither divides by w, so that
 * lambda may be 0 or negative. */
#ifndef LH_KERNELS_REM_FACTOR_H
#define LH_KERNELS_REM_FACTOR_H

#include <math.h>

#include "kernels/contract/rem.h"
#include "kernels/random.h"

typedef struct lh_complex {
    double re, im;
} lh_complex;

typedef struct lh_rem_factor {
    lh_complex w;
    lh_complex end;            /* w^(K+1) */
    lh_complex end_derivative; /* (K+1) w^K */
    double decay_derivative;   /* of lambda by eta: 1 - lambda^2; gamma'(nu) / gamma: 1 - gamma */
    int64_t reach; /* powers beyond are 0: the cutoff, or where |w|^t is next to nothing */
    bool cut;      /* the reach is the cutoff: what passes it is taken out */
} lh_rem_factor;

LH_INLINE double lh_rem_gate(double x) {
    return 1.0 / (1.0 + exp(-x));
}

LH_INLINE lh_complex lh_complex_product(lh_complex a, lh_complex b) {
    const lh_complex product = {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
    return product;
}

/* By squaring: whole powers, whatever the sign of the base. */
LH_INLINE lh_complex lh_complex_power(lh_complex base, int64_t power) {
    lh_complex result = {1.0, 0.0};
    for (; power > 0; power /= 2) {
        if (power % 2 == 1) result = lh_complex_product(result, base);
        base = lh_complex_product(base, base);
    }
    return result;
}

/* Below this a power adds nothing to a sum of `real`, and its products would soon be denormal. */
LH_INLINE double lh_rem_least(void) {
    return sizeof(real) == sizeof(float) ? 1e-30 : 1e-280;
}

LH_INLINE void lh_rem_set_end(lh_rem_factor *f, int64_t cutoff) {
    const double size = sqrt(f->w.re * f->w.re + f->w.im * f->w.im);
    const double powers = size < 1.0 ? log(lh_rem_least()) / log(size) : (double)LH_FAR;
    f->cut = (double)cutoff <= powers;
    f->reach = f->cut ? cutoff : 1 + (int64_t)powers;
    f->end_derivative = lh_complex_power(f->w, cutoff);
    f->end = lh_complex_product(f->end_derivative, f->w);
    f->end_derivative.re *= (double)(cutoff + 1);
    f->end_derivative.im *= (double)(cutoff + 1);
}

LH_INLINE lh_rem_factor lh_rem_factor_of(const lh_rem_spec *spec, const lh_rem_head *head) {
    lh_rem_factor f;
    if (head->kind == LH_REM_REGULAR) {
        f.w.re = tanh((double)spec->eta[head->decay]);
        f.w.im = 0.0;
        f.decay_derivative = 1.0 - f.w.re * f.w.re;
    } else {
        const double gamma = lh_rem_gate((double)spec->nu[head->decay]);
        const double theta =
            head->angle < 0 ? 0.78539816339744831 : (double)spec->theta[head->angle];
        f.w.re = gamma * cos(theta);
        f.w.im = gamma * sin(theta);
        f.decay_derivative = 1.0 - gamma;
    }
    lh_rem_set_end(&f, head->cutoff);
    return f;
}

/* d(P V . dout) by eta, or by nu and theta, from the sums over rows of dout times the real and the
 * imaginary part of y'. */
typedef struct lh_rem_slope {
    double decay, angle;
} lh_rem_slope;

LH_INLINE lh_rem_slope lh_rem_slope_of(lh_rem_kind kind, const lh_rem_factor *f, lh_complex sum) {
    lh_rem_slope slope = {0.0, 0.0};
    if (kind == LH_REM_REGULAR) {
        slope.decay = f->decay_derivative * sum.re;
        return slope;
    }
    /* dw/dnu = (1 - gamma) w, dw/dtheta = i w. */
    const lh_complex turned = {sum.re * f->w.re - sum.im * f->w.im,
                               sum.re * f->w.im + sum.im * f->w.re};
    slope.decay = f->decay_derivative * (kind == LH_REM_COSINE ? turned.re : turned.im);
    slope.angle = kind == LH_REM_COSINE ? -turned.im : turned.re;
    return slope;
}

#endif
