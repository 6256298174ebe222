/* Products of a warp: what its lanes hold is put together, multiplied and dealt out again. */
#include "tests/cudasim/include/mma.h"

#include "tests/cudasim/simulator.h"

enum { FRAGMENT_ALIGNMENT = 32, PITCH_BYTES = 16 };

int cudasim_lane(void) {
    return running.current % WARP;
}

void cudasim_check_fragment(const void *memory, unsigned pitch, size_t element, const char *file,
                            int line) {
    if ((uintptr_t)memory % FRAGMENT_ALIGNMENT != 0)
        trap("a fragment is not aligned to %d bytes at %s:%d", FRAGMENT_ALIGNMENT, file, line);
    if (pitch * element % PITCH_BYTES != 0)
        trap("a pitch of %u elements at %s:%d", pitch, file, line);
}

namespace {

struct product {
    const __nv_bfloat16 *left[WARP], *right[WARP];
    float sum[256];
};

product products[MOST_THREADS / WARP];

product &own_product(void) {
    return products[running.current / WARP];
}

} // namespace

void cudasim_show(const __nv_bfloat16 *left, const __nv_bfloat16 *right) {
    own_product().left[cudasim_lane()] = left;
    own_product().right[cudasim_lane()] = right;
}

float cudasim_sum(int place) {
    return own_product().sum[place];
}

static void collect(const __nv_bfloat16 *const *shown, float *matrix) {
    for (int lane = 0; lane < WARP; lane++)
        for (int i = 0; i < 8; i++)
            matrix[cudasim_place(lane, i)] = __bfloat162float(shown[lane][i]);
}

void cudasim_multiply(void) {
    product &product = own_product();
    float left[256], right[256];
    collect(product.left, left);
    collect(product.right, right);
    memset(product.sum, 0, sizeof product.sum);
    for (int i = 0; i < 16; i++)
        for (int l = 0; l < 16; l++)
            for (int j = 0; j < 16; j++)
                product.sum[i * 16 + j] += left[i * 16 + l] * right[l * 16 + j];
}
