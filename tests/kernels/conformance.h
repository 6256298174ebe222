/* The conformance program: every kernel of kernels.def, in every table of this build, against a
 * plain reference.
 *
 * A kernel brings three things: loops that are obviously right (reference/<kernel>.c), cases
 * (cases/<kernel>.c: sizes, flags, inputs) and the shapes worth timing (also there). A case
 * describes its buffers; the driver does the rest: guard bands, poisoned outputs, bounds, write
 * modes, threads, misaligned views, differences for gradients, timing.
 *
 *   static void lean(suite *s, int64_t count) {
 *       lh_fill_args args = {.count = count, .value = LH_R(0.5)};
 *       case_open(s, &args, sizeof args, "count %" PRId64, count);
 *       case_out(s, "x", &args.x, count, LH_SET);
 *       case_run(s);
 *   } */
#ifndef LH_TESTS_KERNELS_CONFORMANCE_H
#define LH_TESTS_KERNELS_CONFORMANCE_H

#include "kernels/device.h"
#include "kernels/kernels.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the reference computes in: one step more precise than `real`. */
#ifdef LH_REAL_DOUBLE
typedef long double precise;
#else
typedef double precise;
#endif

typedef struct suite suite;

typedef enum suite_mode {
    MODE_TEST,
    MODE_SELF_TEST, /* every result is corrupted, every case must go red */
    MODE_GRADIENT,
    MODE_BENCH,
    MODE_COVERAGE /* counts cases, runs nothing */
} suite_mode;

/* One kernel as the driver sees it. */
typedef struct kernel_entry {
    lh_kernel_id id;
    const char *name;
    lh_status (*run)(const lh_kernels *, const lh_launch *, const void *args);
    size_t (*workspace)(const lh_kernels *, const void *args); /* NULL: needs none */
    bool (*present)(const lh_kernels *);
    void (*precise)(const void *args); /* the pointers in args lead to arrays of `precise` */
    void (*naive)(const void *args);   /* the same loops in `real` */
    void (*cases)(suite *);
    void (*gradients)(suite *); /* NULL: not differentiated */
    void (*bench)(suite *);
} kernel_entry;

/* The mode of fenv.h that the plain loops run in, since asking the library for it at every operand
 * took a third of the suite; and how many operands were rounded by turns in it. */
extern int suite_rounding, suite_roundings;

extern const kernel_entry kernel_entries[];
extern const int kernel_entry_count;

/* A kernel without reference, cases or shapes does not link. gradients_<name> checks the gradients
 * of a backward kernel, or of one whose gradient is made of other kernels. */
#define LH_KERNEL(k, dtypes)                                                                       \
    void precise_##k(const void *args);                                                            \
    void naive_##k(const void *args);                                                              \
    void cases_##k(suite *s);                                                                      \
    __attribute__((weak)) void gradients_##k(suite *s);                                            \
    void bench_##k(suite *s);
#define LH_KERNEL_W(k, dtypes) LH_KERNEL(k, dtypes)
#include "kernels/kernels.def"
#undef LH_KERNEL
#undef LH_KERNEL_W

typedef enum buffer_type { TYPE_REAL, TYPE_BF16, TYPE_DOUBLE, TYPE_I32, TYPE_BYTES } buffer_type;
typedef enum buffer_role { ROLE_IN, ROLE_OUT, ROLE_IN_OUT } buffer_role;

/* A piece of memory that the arguments of a case point to. */
typedef struct buffer {
    const char *name;
    size_t field; /* where in the arguments the pointer lies */
    buffer_type type;
    buffer_role role;
    int64_t count;
    size_t bytes;
    int shares;         /* the buffer whose memory the kernel sees here, or -1 */
    void *initial;      /* what it holds before the call */
    char *block;        /* guard, data, guard: the host's copy */
    char *data;         /* in it */
    void *device_block; /* the same on the device; what the kernel gets lies in it */
    void *kept;         /* the outcome of the first run */
    void *precise;      /* what the reference gets */
    void *naive;
    precise scale; /* of the numbers that make the results; at least that of the results */
    precise off;   /* the error of the naive loops */
} buffer;

/* Runs the forward kernel from the arguments of the backward one; gives sum of cotangent times
 * output. */
typedef double (*objective)(suite *s, const void *args);

enum { CASE_BUFFERS = 40, CASE_PAIRS = 16, CASE_NAME = 320 };

/* An input and the gradient that belongs to it. */
typedef struct gradient_pair {
    const char *name;
    real *input;
    const real *gradient;
    int64_t count;
} gradient_pair;

struct suite {
    /* the options */
    suite_mode mode;
    uint64_t seed;
    int only_case; /* -1: all */
    int sample;    /* about one case of so many; 0: all */
    bool quiet;
    /* what is under test */
    const char *program;
    lh_device *device;
    const lh_kernels *table;
    const kernel_entry *kernel;
    lh_dtype dtype; /* of the activations of its cases */
    /* the case that is being described */
    int ordinal;
    char name[CASE_NAME];
    void *args;
    size_t args_size;
    buffer buffers[CASE_BUFFERS];
    int buffer_count;
    lh_status expected;
    bool outputs_defined, exact;
    double flops;
    void *device_args; /* the arguments, with pointers into the device's memory */
    char *workspace;   /* with its guards, on the host */
    void *device_workspace;
    size_t workspace_bytes;
    objective loss;
    int pair_input[CASE_PAIRS], pair_gradient[CASE_PAIRS], pair_count;
    void (*canonical_precise)(const void *args), (*canonical_real)(const void *args);
    uint64_t random;
    /* what came of it, for this kernel and table */
    int passed, failed, in_place, adding, misses;
    int refusals; /* cases in bf16 that were refused as they must be: one check of a kernel */
};

/* Counts a case of any mode (case.c). */
void case_verdict(suite *s, bool good);

/* ---- Describing a case (case.c) ---- */

/* Starts a case. `args` stays the caller's; the buffers fill its pointers. */
__attribute__((format(printf, 4, 5))) void case_open(suite *s, void *args, size_t size,
                                                     const char *format, ...);

/* An input of standard normal numbers; returns them for changes before the case runs. `field` is
 * the address of the pointer in the arguments, or of the lh_act that it begins; until then that
 * leads there, too. */
real *case_in(suite *s, const char *name, const void *field, int64_t count);
/* Uniform over [0, below). */
int32_t *case_in_i32(suite *s, const char *name, const void *field, int64_t count, int64_t below);
double *case_in_double(suite *s, const char *name, const void *field, int64_t count);
/* A struct, copied. */
void case_in_bytes(suite *s, const char *name, const void *field, const void *from, size_t bytes);
/* LH_SET: poisoned before the call; LH_ADD: random numbers. */
real *case_out(suite *s, const char *name, const void *field, int64_t count, lh_write write);
void case_out_i32(suite *s, const char *name, const void *field, int64_t count);
void case_out_double(suite *s, const char *name, const void *field, int64_t count, lh_write write);
/* Read and written whatever the write mode. */
real *case_in_out(suite *s, const char *name, const void *field, int64_t count);
int32_t *case_in_out_i32(suite *s, const char *name, const void *field, int64_t count,
                         int64_t below);

/* The reals of this activation, or what is written there, lie in memory as `dtype` says: last of
 * all that is said of it. The references go on in their own type from the rounded inputs. A kernel
 * that does not take bf16 must refuse it. One without memory is passed over, and in the suite's
 * pass over bf16 a case that has none. */
void case_dtype(suite *s, const void *field, lh_dtype dtype);
/* The kernel gets the input's memory for this output, too. */
void case_in_place(suite *s, const void *out_field, const void *in_field);
/* The results are to be equal, not just near. */
void case_exact(suite *s);
/* The results are differences of numbers of this size. */
void case_scale(suite *s, const void *field, double scale);
/* The call must fail like this; the outputs are then compared only when `outputs_defined`. */
void case_expect(suite *s, lh_status status, bool outputs_defined);
/* A case of arguments that break the contract, given as the fields of their struct that are not 0:
 * a call must fail like this, whatever the backend. */
#define CASE_REFUSED(s, status, type, ...)                                                         \
    case_refused((s), (status), &(type){__VA_ARGS__}, sizeof(type), #__VA_ARGS__)
void case_refused(suite *s, lh_status status, void *args, size_t size, const char *fields);
/* Brings results whose order is free into one order before they are compared. */
void case_canonical(suite *s, void (*in_precise)(const void *), void (*in_real)(const void *));
/* For gradient mode. */
void case_loss(suite *s, objective loss);
void case_pair(suite *s, const void *input_field, const void *gradient_field);
void case_flops(suite *s, double flops);

/* Checks, differentiates, times or counts the case, as the mode asks; ends it. */
void case_run(suite *s);

/* ---- Random numbers and sizes (data.c) ---- */

uint64_t suite_random(suite *s);
double suite_uniform(suite *s); /* [0, 1) */
double suite_normal(suite *s);
int64_t suite_integer(suite *s, int64_t count); /* 0 .. count-1 */
/* Row `row` of 8 gives every pair of values to any two of the factors 0 .. 6. */
bool suite_flag(int row, int factor);
enum { SUITE_FLAG_ROWS = 8 };

/* 0, 1, 2, primes, neighbours of block sizes. */
extern const int64_t suite_sizes[];
extern const int suite_size_count;
/* Rows and widths that belong together, small ones and ones that make several blocks. */
typedef struct suite_box {
    int64_t rows, width;
} suite_box;
extern const suite_box suite_boxes[];
extern const int suite_box_count;

/* Whether this shape and row of flags are tried: all, but on the simulator, which is slow, every
 * other one. */
bool suite_tries(const suite *s, int shape, int row);

/* Whether the table under test multiplies in this precision: on the CPU in f32, and in bf16 where
 * the build and the processor have it. */
bool suite_has_precision(const suite *s, lh_precision precision);

/* bf16 is the upper half of a float; to nearest, ties to even. */
uint16_t to_bf16(float x);
float from_bf16(uint16_t x);

void scale_reals(real *x, int64_t count, double factor);
/* Keeps the sign and moves every element at least `distance` from 0. */
void avoid_zero(real *x, int64_t count, double distance);
/* Down to multiples of a power of two, so that sums of products are exact and no rounding decides
 * which is largest. Coarse ones tie often. */
void round_to(real *x, int64_t count, double unit);
/* The elements that a view of so many tokens spans. */
int64_t heads_span(const lh_heads *view, int64_t batch, int64_t heads, int64_t head_width,
                   int64_t tokens);
/* Strides of such a view, dense or a part of wider rows; gives what it spans. */
int64_t heads_pad(lh_heads *view, int64_t batch, int64_t heads, int64_t head_width, int64_t tokens,
                  bool padded);
lh_write write_of(bool add);
double largest(const real *x, int64_t count); /* absolute */
real *scratch(int64_t count);                 /* zeroed; free it */
double dot(const real *a, const real *b, int64_t count);
lh_act act_of(real *x); /* as an argument of a kernel, read or written */

/* Puts the nearest keys of a result of knn_attention_forward into one order (reference). */
void precise_knn_order(const void *args);
void naive_knn_order(const void *args);

/* ---- Running one (call.c, check.c, gradient.c, bench.c) ---- */

/* Runs any kernel of the table under test with workspace of its own. */
#define LH_KERNEL(k, dtypes)   lh_status launch_##k(suite *s, const lh_##k##_args *args);
#define LH_KERNEL_W(k, dtypes) LH_KERNEL(k, dtypes)
#include "kernels/kernels.def"
#undef LH_KERNEL
#undef LH_KERNEL_W

/* What fills an output of this type before a call: a NaN, or an unlikely integer. */
int poison_of(buffer_type type);
bool is_poison(const void *element, buffer_type type);
size_t element_size(buffer_type type);

/* Lays the buffers of the case out, on the host and on the device; the arguments lead to the
 * host's, a copy of them to the device's. */
void call_prepare(suite *s, bool misaligned);
/* Runs the kernel on what call_prepare laid out, and waits for it. On the simulated GPU the number
 * of threads stands for the order in which its threads run. */
lh_status call_kernel(suite *s, int threads);
/* Brings what the device holds to the host. */
void call_fetch(suite *s);
/* Whether the kernel writes an output into this buffer's memory. */
bool call_shared(const suite *s, const buffer *b);
/* NULL, or what the last call touched that it must not. */
const char *call_trespass(suite *s);
void call_release(suite *s);
/* Gives every buffer its initial content again, here and on the device. */
void call_restore(suite *s);
/* What the output holds now. */
const void *call_result(const suite *s, const buffer *b);

/* Whether the cost of the call that was laid out (kernels/cost/) fits what it did: it launched so
 * many CUDA kernels (-1: unknown). */
bool cost_good(suite *s, int64_t launched);
/* Kernels launched so far on the simulated GPU; -1 where nobody counts. */
int64_t call_launches(const suite *s);

void check_case(suite *s);
void self_test_case(suite *s);
void bench_case(suite *s);
void gradient_case(suite *s);

/* Compares gradients with central differences of `loss`; reports and counts like a case. */
void gradient_check(suite *s, const gradient_pair *pairs, int count, objective loss,
                    const void *args);
/* Counts a red case and says what, unless enough was said; false. */
__attribute__((format(printf, 2, 3))) bool case_fails(suite *s, const char *format, ...);

/* The rate of one large matrix product of the machine's BLAS on all threads, in flops a second. */
double bench_product_rate(void);

#endif
