/* The same loops in the type of the kernels: how far off plain arithmetic is. */
#include "tests/kernels/conformance.h"

#include <tgmath.h>

#define number            real
#define wide              double
#define REFERENCE(kernel) naive_##kernel

#include "tests/kernels/reference/all.inc"
