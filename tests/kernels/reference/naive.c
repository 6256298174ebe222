/* The same loops in the type of the kernels: how far off plain arithmetic is. */
#include "tests/kernels/conformance.h"

#include <fenv.h>
#include <tgmath.h>

/* The operand of a matrix product, rounded as the rest of the arithmetic is at present. */
static real rounded(real x, lh_precision precision) {
    const int dropped = precision == LH_PRECISION_BF16   ? 16
                        : precision == LH_PRECISION_TF32 ? 13
                                                         : 0;
    if (dropped == 0 || isnan(x)) return x;
    const float from = (float)x;
    uint32_t bits = 0;
    memcpy(&bits, &from, sizeof bits);
    const uint32_t unit = (uint32_t)1 << dropped, rest = bits & (unit - 1);
    const bool odd = (bits & unit) != 0;
    const bool up = fegetround() == FE_TONEAREST ? rest + odd > unit / 2
                                                 : fegetround() == FE_UPWARD && rest > 0;
    bits = bits - rest + (up ? unit : 0);
    float to = 0;
    memcpy(&to, &bits, sizeof to);
    return (real)to;
}

#define ROUNDED(x, precision) rounded(x, precision)
#define number                real
#define wide                  double
#define REFERENCE(kernel)     naive_##kernel

#include "tests/kernels/reference/all.inc"
