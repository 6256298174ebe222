/* The errors that kernels/cpu/vector_math.h states, against libm in double. */
#include <math.h>

#include "kernels/cpu/vector_math.h"
#include "tests/test.h"

enum { POINTS = 200000 };

/* The largest relative error over [low, high], in units of a real's last place. */
static double worst(real (*f)(real), double (*exact)(double), double low, double high) {
    const double unit = sizeof(real) == sizeof(float) ? 0x1p-23 : 0x1p-52;
    double most = 0;
    for (int i = 0; i <= POINTS; ++i) {
        const real x = (real)(low + (high - low) * i / POINTS);
        const double want = exact((double)x), off = fabs((double)f(x) - want) / fabs(want);
        if (!(off <= most)) most = off;
    }
    return most / unit;
}

static real of_exp(real x) {
    return lh_exp(x);
}

static real of_tanh(real x) {
    return lh_tanh(x);
}

static real of_sigmoid(real x) {
    return lh_sigmoid(x);
}

static real of_normal(real x) {
    return lh_normal_below(x, lh_exp(LH_R(-0.5) * x * x));
}

static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

static double normal_below(double x) {
    return 0.5 * erfc(-x * sqrt(0.5));
}

static void within(double error, double limit, const char *what) {
    test_check(error <= limit, __FILE__, __LINE__, "%s: off by %.2f units, not %.2f", what, error,
               limit);
}

TEST(errors_are_those_stated) {
    within(worst(of_exp, exp, -86, 88), 1.1, "exp");
    within(worst(of_tanh, tanh, 1e-6, 20), 2.5, "tanh");
    within(worst(of_tanh, tanh, -20, -1e-6), 2.5, "tanh below 0");
    within(worst(of_sigmoid, sigmoid, -80, 80), 2.5, "the logistic function");
    within(worst(of_normal, normal_below, -1, 13), 3.5, "the normal distribution");
    within(worst(of_normal, normal_below, -9, -1), 20, "its tail");
}

TEST(nothing_and_everything) {
    CHECK(lh_exp((real)-INFINITY) == 0);
    CHECK(isinf((double)lh_exp((real)INFINITY)));
    CHECK(isnan((double)lh_exp((real)NAN)));
    CHECK(lh_tanh((real)INFINITY) == 1);
    CHECK(lh_sigmoid((real)-INFINITY) == 0);
    CHECK(of_normal(LH_R(40)) == 1);
    CHECK(of_normal(LH_R(-40)) < LH_R(1e-37));
    CHECK(of_normal(0) > LH_R(0.4999999) && of_normal(0) < LH_R(0.5000001));
    CHECK(isnan((double)of_normal((real)NAN)));
}
