/* Sizes, boxes and random values for the cases. */
#include "kernels/product.h"
#include "tests/kernels/conformance.h"

const int64_t suite_sizes[] = {0,  1,  2,  3,  5,  7,   8,   9,   13,  15,  16,  17,  31,
                               32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 509, 1021};
const int suite_size_count = sizeof suite_sizes / sizeof *suite_sizes;

const suite_box suite_boxes[] = {{0, 5},   {5, 0},    {1, 1},   {1, 2},   {2, 1},    {3, 7},
                                 {7, 8},   {5, 9},    {2, 15},  {4, 16},  {3, 17},   {16, 31},
                                 {17, 32}, {31, 33},  {33, 63}, {8, 64},  {64, 65},  {65, 127},
                                 {9, 128}, {13, 129}, {129, 3}, {257, 1}, {6, 1021}, {301, 67}};
const int suite_box_count = sizeof suite_boxes / sizeof *suite_boxes;

/* splitmix64 */
uint64_t suite_random(suite *s) {
    uint64_t z = s->random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

double suite_uniform(suite *s) {
    return (double)(suite_random(s) >> 11) * 0x1p-53;
}

/* The sum of four uniform numbers is near enough, and has no far tails. */
double suite_normal(suite *s) {
    const double sum = suite_uniform(s) + suite_uniform(s) + suite_uniform(s) + suite_uniform(s);
    return (sum - 2.0) * 1.7320508075688772;
}

int64_t suite_integer(suite *s, int64_t count) {
    return (int64_t)(suite_random(s) % (uint64_t)count);
}

/* The parity of the common bits is an orthogonal array. */
bool suite_flag(int row, int factor) {
    int common = row & (factor + 1);
    common ^= common >> 2;
    return (common ^ (common >> 1)) & 1;
}

bool suite_tries(const suite *s, int shape, int row) {
#ifdef LH_CUDASIM
    return s->device->kind == LH_CPU || (shape + row) % 2 == 0;
#else
    (void)s, (void)shape, (void)row;
    return true;
#endif
}

bool suite_has_precision(const suite *s, lh_precision precision) {
    if (precision == LH_PRECISION_F32 || s->device->kind == LH_CUDA) return true;
    return precision == LH_PRECISION_BF16 && lh_product_lacks_bf16() == NULL;
}

uint16_t to_bf16(float x) {
    uint32_t bits = 0;
    memcpy(&bits, &x, sizeof bits);
    return isnan(x) ? 0x7fc0 : (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float from_bf16(uint16_t x) {
    const uint32_t bits = (uint32_t)x << 16;
    float wide = 0;
    memcpy(&wide, &bits, sizeof wide);
    return wide;
}

void scale_reals(real *x, int64_t count, double factor) {
    for (int64_t i = 0; i < count; i++)
        x[i] *= (real)factor;
}

void avoid_zero(real *x, int64_t count, double distance) {
    for (int64_t i = 0; i < count; i++)
        x[i] += x[i] < 0 ? -(real)distance : (real)distance;
}

void round_to(real *x, int64_t count, double unit) {
    for (int64_t i = 0; i < count; i++)
        x[i] = (real)(floor((double)x[i] / unit) * unit);
}

int64_t heads_span(const lh_heads *view, int64_t batch, int64_t heads, int64_t head_width,
                   int64_t tokens) {
    if (batch == 0 || heads == 0 || head_width == 0 || tokens == 0) return 0;
    return (batch - 1) * view->batch_stride + (tokens - 1) * view->token_stride +
           (heads - 1) * view->head_stride + head_width;
}

int64_t heads_pad(lh_heads *view, int64_t batch, int64_t heads, int64_t head_width, int64_t tokens,
                  bool padded) {
    view->head_stride = head_width + (padded ? 5 : 0);
    view->token_stride = heads * view->head_stride + (padded ? 11 : 0);
    view->batch_stride = tokens * view->token_stride;
    return heads_span(view, batch, heads, head_width, tokens);
}

double largest(const real *x, int64_t count) {
    double most = 0;
    for (int64_t i = 0; i < count; i++)
        if (fabs((double)x[i]) > most) most = fabs((double)x[i]);
    return most;
}

lh_write write_of(bool add) {
    return add ? LH_ADD : LH_SET;
}

real *scratch(int64_t count) {
    real *memory = calloc((size_t)count + 1, sizeof *memory);
    if (memory == NULL) abort();
    return memory;
}

double dot(const real *a, const real *b, int64_t count) {
    long double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += (long double)a[i] * (long double)b[i];
    return (double)sum;
}

lh_act act_of(real *x) {
    return (lh_act){.data = x, .dtype = LH_REAL};
}
