/* A build without oneDNN, or in double. */
#include "kernels/product.h"

const char *lh_product_lacks_bf16(void) {
#ifdef LH_REAL_DOUBLE
    return "a build in float (this one computes in double)";
#else
    return "oneDNN: install libdnnl-dev and make again";
#endif
}

int64_t lh_product_shortest_bf16(void) {
    return 1;
}

bool lh_product_suits_reals(const lh_product *product) {
    (void)product;
    return false;
}

lh_status lh_product_run(const lh_product *product, const void *a, const void *b, void *c) {
    (void)product;
    (void)a;
    (void)b;
    (void)c;
    return LH_EOPTION;
}
