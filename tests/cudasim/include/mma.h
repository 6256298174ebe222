/* nvcuda::wmma for 16 x 16 x 16 products: a fragment's 256 elements are dealt out to the lanes, 8
 * each, in an order that no card has, so that a kernel which takes one for granted fails. */
#ifndef LH_TESTS_CUDASIM_MMA_H
#define LH_TESTS_CUDASIM_MMA_H

#include "tests/cudasim/include/cuda_bf16.h"

/* The lane that runs, and whether a pointer and a pitch suit a fragment; a mistake stops the launch
 * with its place. */
int cudasim_lane(void);
void cudasim_check_fragment(const void *memory, unsigned pitch, size_t element, const char *file,
                            int line);

/* Of the running warp: a lane shows its operands, one multiplies, each reads sums off. */
void cudasim_show(const __nv_bfloat16 *left, const __nv_bfloat16 *right);
void cudasim_multiply(void);
float cudasim_sum(int place);

/* Element `index` of lane `lane`: row * 16 + column. */
static inline int cudasim_place(int lane, int index) {
    return (index * 32 + lane) * 37 % 256;
}

namespace nvcuda {
namespace wmma {

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
enum layout_t { mem_row_major, mem_col_major };

template <typename use, int m, int n, int k, typename type, typename layout = void>
struct fragment {
    static_assert(m == 16 && n == 16 && k == 16, "this shape is not simulated");
    enum { num_elements = 8 };
    type x[num_elements];
};

template <typename use, typename type, typename layout>
void fill_fragment(fragment<use, 16, 16, 16, type, layout> &f, type value) {
    for (type &x : f.x)
        x = value;
}

template <typename fragment_type, typename type>
void cudasim_load(fragment_type &f, const type *from, unsigned pitch, bool by_rows,
                  const char *file, int line) {
    cudasim_check_fragment(from, pitch, sizeof *from, file, line);
    cudasim_warp(CUDASIM_MEET, 0xffffffffu, 0, 0, warpSize, file, line);
    for (int i = 0; i < f.num_elements; i++) {
        const int place = cudasim_place(cudasim_lane(), i), row = place / 16, column = place % 16;
        f.x[i] = from[by_rows ? (size_t)row * pitch + (size_t)column
                              : (size_t)column * pitch + (size_t)row];
    }
}

template <typename use, typename type>
void load_matrix_sync(fragment<use, 16, 16, 16, type, row_major> &f, const type *from,
                      unsigned pitch, CUDASIM_PLACE) {
    cudasim_load(f, from, pitch, true, file, line);
}

template <typename use, typename type>
void load_matrix_sync(fragment<use, 16, 16, 16, type, col_major> &f, const type *from,
                      unsigned pitch, CUDASIM_PLACE) {
    cudasim_load(f, from, pitch, false, file, line);
}

template <typename type>
void load_matrix_sync(fragment<accumulator, 16, 16, 16, type> &f, const type *from, unsigned pitch,
                      layout_t layout, CUDASIM_PLACE) {
    cudasim_load(f, from, pitch, layout == mem_row_major, file, line);
}

template <typename type>
void store_matrix_sync(type *to, const fragment<accumulator, 16, 16, 16, type> &f, unsigned pitch,
                       layout_t layout, CUDASIM_PLACE) {
    cudasim_check_fragment(to, pitch, sizeof *to, file, line);
    cudasim_warp(CUDASIM_MEET, 0xffffffffu, 0, 0, warpSize, file, line);
    for (int i = 0; i < f.num_elements; i++) {
        const int place = cudasim_place(cudasim_lane(), i), row = place / 16, column = place % 16;
        to[layout == mem_row_major ? (size_t)row * pitch + (size_t)column
                                   : (size_t)column * pitch + (size_t)row] = f.x[i];
    }
}

template <typename left_layout, typename right_layout>
void mma_sync(fragment<accumulator, 16, 16, 16, float> &d,
              const fragment<matrix_a, 16, 16, 16, __nv_bfloat16, left_layout> &a,
              const fragment<matrix_b, 16, 16, 16, __nv_bfloat16, right_layout> &b,
              const fragment<accumulator, 16, 16, 16, float> &c, CUDASIM_PLACE) {
    cudasim_show(a.x, b.x);
    cudasim_warp(CUDASIM_MEET, 0xffffffffu, 0, 0, warpSize, file, line);
    if (cudasim_lane() == 0) cudasim_multiply();
    cudasim_warp(CUDASIM_MEET, 0xffffffffu, 0, 0, warpSize, file, line);
    for (int i = 0; i < d.num_elements; i++)
        d.x[i] = c.x[i] + cudasim_sum(cudasim_place(cudasim_lane(), i));
}

} // namespace wmma
} // namespace nvcuda

#endif
