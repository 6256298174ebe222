/* What one call of a kernel asks of a GPU, told by its arguments alone: a function beside each
 * kernel of the contract, so that one without it does not link. No pointer is followed; one that is
 * NULL switches its part off, as in the kernel. What a time is made of this stands in
 * harness/run/cost.lua.
 *
 * Bytes are those that go through device memory when every operand of a launch is read once and
 * every result written once: what the launches of one call pass to each other counts both ways,
 * what one launch reads again is taken to lie in a cache. */
#ifndef LH_KERNELS_COST_COST_H
#define LH_KERNELS_COST_COST_H

#include "kernels/kernels.h"

/* What decides how near to its limits a kernel comes. */
typedef enum lh_cost_class {
    LH_COST_STREAM,         /* element by element or row by row: memory */
    LH_COST_PRODUCT,        /* matrix products of the library */
    LH_COST_TILE,           /* attention on tensor cores */
    LH_COST_STRIPE,         /* of it, without position vectors, in tf32 */
    LH_COST_FORWARD,        /* the same in bf16, forward */
    LH_COST_BACKWARD,       /* and backward */
    LH_COST_FORWARD_BIASED, /* with a bias for each distance */
    LH_COST_BACKWARD_BIASED,
    LH_COST_REFERENCE, /* products without tensor cores, element by element */
    LH_COST_REGISTERS, /* the same, of many sums at a time in registers */
    LH_COST_CLASSES
} lh_cost_class;

typedef struct lh_cost {
    lh_cost_class kind;
    lh_precision precision; /* of `products` */
    double products;        /* FLOPs of matrix products, with those that are done again */
    double flops;           /* other FLOPs, about: a function of a number counts as several */
    double read, written;   /* bytes of device memory */
    double serial;          /* of these, bytes that one block moves while the others wait for it */
    int64_t launches;       /* of CUDA kernels, a product of cuBLAS being one */
} lh_cost;

#define LH_KERNEL(k, dtypes)   lh_cost lh_cost_##k(const lh_##k##_args *args);
#define LH_KERNEL_W(k, dtypes) LH_KERNEL(k, dtypes)
#include "kernels/kernels.def"
#undef LH_KERNEL
#undef LH_KERNEL_W

/* Floating-point operations of the products of an attention's forward pass over the pairs that see
 * each other: scores, mixing and position vectors, 2 for each element of head_width. */
double lh_attention_products(const lh_attention_spec *spec);

/* Those of attention by hashing of one batch row and head, without the hash: a token meets half of
 * its own chunk and all of the one before. */
double lh_lsh_products(int64_t rounds, int64_t length, int64_t chunk, int64_t head_width);

/* ---- for the functions above ---- */

enum { LH_COST_REAL = 4, LH_COST_INTEGER = 4, LH_COST_DOUBLE = 8 }; /* bytes on a GPU */

/* FLOPs that take as long as a random word with what it decides, where those of a block of four are
 * all used: an H200 dropped 12.6 million numbers in 38 microseconds, and attention took 300 more
 * for 100 million. */
enum { LH_COST_WORD = 80, LH_COST_WORDS = 4 };

/* Bytes of `count` elements; 0 where there is nothing. */
double lh_cost_bytes(lh_act act, double count);
double lh_cost_reals(const void *data, double count);

/* Writes so many bytes; adding to what is there reads them, too. */
void lh_cost_write(lh_cost *cost, double bytes, lh_write write);

/* A launch over `count` of something, where there is any. */
void lh_cost_launch(lh_cost *cost, int64_t count);

/* The sums over rows of kernels/cuda/column_sums.cuh, of what takes `read` bytes; none without y.
 */
void lh_cost_column_sums(lh_cost *cost, int64_t rows, int64_t width, double read, const real *y,
                         lh_write write);

#endif
