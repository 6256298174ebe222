/* The references in a type more precise than the kernels': what is right. */
#include "tests/kernels/conformance.h"

#include <tgmath.h>

/* `real` scalars among the arguments widen, as they should. */
#pragma GCC diagnostic ignored "-Wdouble-promotion"

#define ROUNDED(x, precision) (x)
#define number                precise
#define wide                  long double
#define REFERENCE(kernel)     precise_##kernel

#include "tests/kernels/reference/all.inc"
