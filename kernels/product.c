/* Products through oneDNN's matmul. Its kernels are compiled for a shape when they are first
 * asked for (about half a millisecond), so each thread keeps those that it has met; oneDNN's own
 * cache makes them once for all threads. The library would cut a product over threads of its own,
 * as many as OpenMP has at the time: it is told that there is one, and our tiles are the
 * parallelism, as with OpenBLAS. */
#include "kernels/product.h"

#include <omp.h>
#include <oneapi/dnnl/dnnl.h>
#include <signal.h>
#include <string.h>

#include "kernels/device.h"

/* Kernels that a thread keeps. A shape has one place; two that share it take turns. */
enum { PLACES = 1024 };

typedef struct entry {
    lh_product product;
    dnnl_primitive_t primitive; /* NULL: the place is free */
    dnnl_memory_t a, b, c;
    bool below_stack; /* no signal may arrive while it runs */
} entry;

/* What a thread works with: oneDNN's objects are for one thread at a time. */
static _Thread_local dnnl_engine_t engine;
static _Thread_local dnnl_stream_t stream;
static _Thread_local entry entries[PLACES];

const char *lh_product_lacks_bf16(void) {
    const unsigned isa = dnnl_get_effective_cpu_isa(), wanted = dnnl_cpu_isa_avx512_core_bf16;
    return (isa & wanted) == wanted ? NULL : "a processor with avx512_bf16 or AMX";
}

int64_t lh_product_shortest_bf16(void) {
    enum { AMX_SUM = 32 };
    const unsigned isa = dnnl_get_effective_cpu_isa(), amx = dnnl_cpu_isa_avx512_core_amx;
    return (isa & amx) == amx ? AMX_SUM : 1;
}

/* The BLAS of Debian packs both operands of every tile, which on Intel's processors with AVX-512
 * costs it a fifth at the widths of our models; on AMD's it is at its best. A shape that the data
 * decide may come once and never again, and a kernel takes half a millisecond: whole registers. */
static bool has_fast_reals(void) {
#ifdef __x86_64__
    const unsigned isa = dnnl_get_effective_cpu_isa(), wanted = dnnl_cpu_isa_avx512_core;
    return (isa & wanted) == wanted && __builtin_cpu_is("intel");
#else
    return false;
#endif
}

bool lh_product_suits_reals(const lh_product *p) {
    enum { REGISTER = 16, LEAST_WORK = 1 << 17 };
    const bool whole = p->m % REGISTER == 0 && p->n % REGISTER == 0 && p->k % REGISTER == 0;
    return whole && p->alpha == 1 && p->m * p->n * p->k >= LEAST_WORK && has_fast_reals();
}

#define TRY(call)                                                                                  \
    do {                                                                                           \
        const dnnl_status_t tried = (call);                                                        \
        if (tried != dnnl_success) return tried;                                                   \
    } while (0)

static bool same(const lh_product *x, const lh_product *y) {
    return x->m == y->m && x->n == y->n && x->k == y->k && x->a_leading == y->a_leading &&
           x->b_leading == y->b_leading && x->c_leading == y->c_leading &&
           x->transpose_a == y->transpose_a && x->transpose_b == y->transpose_b &&
           x->alpha == y->alpha && x->dtype == y->dtype && x->c_dtype == y->c_dtype &&
           x->write == y->write;
}

static entry *place_of(const lh_product *p) {
    const uint64_t factor = UINT64_C(0x9e3779b97f4a7c15);
    const int64_t part[] = {p->m, p->n, p->k, p->a_leading, p->b_leading, p->c_leading};
    const int flags = p->transpose_a + 2 * p->transpose_b + 4 * (int)p->c_dtype + 16 * p->write +
                      32 * (int)p->dtype;
    uint64_t hash = (uint64_t)flags;
    for (size_t i = 0; i < sizeof part / sizeof *part; ++i)
        hash = (hash ^ (uint64_t)part[i]) * factor;
    return &entries[(hash >> 32) % PLACES];
}

static void forget(entry *e) {
    dnnl_primitive_destroy(e->primitive);
    dnnl_memory_destroy(e->a);
    dnnl_memory_destroy(e->b);
    dnnl_memory_destroy(e->c);
    *e = (entry){.primitive = NULL};
}

/* A matrix of [rows][columns] that lies in memory row by row, or column by column. */
static dnnl_status_t describe(int64_t rows, int64_t columns, int64_t leading, bool transposed,
                              dnnl_data_type_t type, dnnl_memory_desc_t *out) {
    const dnnl_dims_t sizes = {rows, columns};
    const dnnl_dims_t strides = {transposed ? 1 : leading, transposed ? leading : 1};
    return dnnl_memory_desc_init_by_strides(out, 2, sizes, type, strides);
}

static dnnl_status_t set_attributes(const lh_product *p, dnnl_primitive_attr_t attributes) {
    if (p->alpha != 1) TRY(dnnl_primitive_attr_set_output_scales(attributes, 1, 0, &p->alpha));
    if (p->write == LH_SET) return dnnl_success;
    dnnl_post_ops_t add = NULL;
    TRY(dnnl_post_ops_create(&add));
    dnnl_status_t status = dnnl_post_ops_append_sum(add, 1);
    if (status == dnnl_success) status = dnnl_primitive_attr_set_post_ops(attributes, add);
    dnnl_post_ops_destroy(add);
    return status;
}

/* oneDNN's older kernels, "gemm:jit", keep data farther below the stack than the 128 bytes that a
 * signal's frame spares: one that arrives leaves the heap in ruins. The newer, "brg", do not. */
static bool works_below_stack(const_dnnl_primitive_desc_t kind) {
    const char *name = NULL;
    const dnnl_status_t status =
        dnnl_primitive_desc_query(kind, dnnl_query_impl_info_str, 0, (void *)&name);
    return status != dnnl_success || strncmp(name, "brg", 3) != 0;
}

static dnnl_status_t make_primitive(const lh_product *p, const dnnl_matmul_desc_t *matmul,
                                    entry *e) {
    dnnl_primitive_attr_t attributes = NULL;
    dnnl_primitive_desc_t kind = NULL;
    TRY(dnnl_primitive_attr_create(&attributes));
    dnnl_status_t status = set_attributes(p, attributes);
    if (status == dnnl_success)
        status = dnnl_primitive_desc_create(&kind, matmul, attributes, engine, NULL);
    if (status == dnnl_success) status = dnnl_primitive_create(&e->primitive, kind);
    if (status == dnnl_success) e->below_stack = works_below_stack(kind);
    dnnl_primitive_desc_destroy(kind);
    dnnl_primitive_attr_destroy(attributes);
    return status;
}

static dnnl_data_type_t type_of(lh_dtype dtype) {
    return dtype == LH_BF16 ? dnnl_bf16 : dnnl_f32;
}

static dnnl_status_t make(const lh_product *p, entry *e) {
    const dnnl_data_type_t type = type_of(p->dtype);
    dnnl_memory_desc_t a, b, c;
    dnnl_matmul_desc_t matmul;
    TRY(describe(p->m, p->k, p->a_leading, p->transpose_a, type, &a));
    TRY(describe(p->k, p->n, p->b_leading, p->transpose_b, type, &b));
    TRY(describe(p->m, p->n, p->c_leading, false, type_of(p->c_dtype), &c));
    TRY(dnnl_matmul_desc_init(&matmul, &a, &b, NULL, &c));
    TRY(dnnl_memory_create(&e->a, &a, engine, DNNL_MEMORY_NONE));
    TRY(dnnl_memory_create(&e->b, &b, engine, DNNL_MEMORY_NONE));
    TRY(dnnl_memory_create(&e->c, &c, engine, DNNL_MEMORY_NONE));
    TRY(make_primitive(p, &matmul, e));
    e->product = *p;
    return dnnl_success;
}

static dnnl_status_t find(const lh_product *p, entry **out) {
    entry *e = *out = place_of(p);
    if (e->primitive != NULL && same(&e->product, p)) return dnnl_success;
    if (engine == NULL) TRY(dnnl_engine_create(&engine, dnnl_cpu, 0));
    if (stream == NULL) TRY(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags));
    if (e->primitive != NULL) forget(e);
    const dnnl_status_t status = make(p, e);
    if (status != dnnl_success) forget(e);
    return status;
}

/* What oneDNN only reads, it takes as it takes what it writes. */
static void *place(const void *x) {
    return (void *)(uintptr_t)x;
}

static dnnl_status_t multiply(const lh_product *p, const void *a, const void *b, void *c) {
    entry *e = NULL;
    TRY(find(p, &e));
    TRY(dnnl_memory_set_data_handle_v2(e->a, place(a), stream));
    TRY(dnnl_memory_set_data_handle_v2(e->b, place(b), stream));
    TRY(dnnl_memory_set_data_handle_v2(e->c, c, stream));
    const dnnl_exec_arg_t arguments[] = {
        {DNNL_ARG_SRC, e->a}, {DNNL_ARG_WEIGHTS, e->b}, {DNNL_ARG_DST, e->c}};
    sigset_t all, before;
    if (!e->below_stack) return dnnl_primitive_execute(e->primitive, stream, 3, arguments);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, &before);
    const dnnl_status_t status = dnnl_primitive_execute(e->primitive, stream, 3, arguments);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status;
}

lh_status lh_product_run(const lh_product *product, const void *a, const void *b, void *c) {
    const int threads = omp_get_max_threads();
    omp_set_num_threads(1);
    const dnnl_status_t status = multiply(product, a, b, c);
    omp_set_num_threads(threads);
    if (status == dnnl_success) return LH_OK;
    if (status == dnnl_out_of_memory) return LH_EMEMORY;
    lh_device_explain("oneDNN: a product failed with status %d", (int)status);
    return LH_EDEVICE;
}
