/* The pool: exact counts, memory that is used again, and what happens when there is none. */
#include "harness/engine/pool.h"
#include "harness/engine/tensor.h"
#include "kernels/kernels.h"
#include "kernels/product.h"
#include "tests/test.h"

typedef struct bench {
    lh_device *device;
    lh_pool *pool;
} bench;

static bool begin(bench *b) {
    return CHECK_OK(lh_pool_open_device("cpu", &b->device)) &&
           CHECK_OK(lh_pool_create(b->device, &b->pool));
}

static void end(bench *b) {
    lh_pool_destroy(b->pool);
    lh_device_close(b->device);
}

TEST(a_size_that_came_back_is_handed_out_again) {
    bench b;
    void *first = NULL, *again = NULL, *other = NULL;
    REQUIRE(begin(&b));
    REQUIRE_OK(lh_pool_take(b.pool, 1000, &first));
    CHECK((uintptr_t)first % 64 == 0);
    lh_pool_return(b.pool, first, 1000);
    const int64_t before = lh_pool_get_stats(b.pool).device_allocations;
    REQUIRE_OK(lh_pool_take(b.pool, 1000, &again));
    CHECK(again == first);
    CHECK_EQ_INT(lh_pool_get_stats(b.pool).device_allocations, before);
    REQUIRE_OK(lh_pool_take(b.pool, 5000, &other));
    CHECK_EQ_INT(lh_pool_get_stats(b.pool).device_allocations, before + 1);
    lh_pool_return(b.pool, again, 1000);
    lh_pool_return(b.pool, other, 5000);
    lh_pool_return(b.pool, NULL, 77);
    end(&b);
}

TEST(counts_of_bytes_are_exact) {
    bench b;
    void *block[50];
    REQUIRE(begin(&b));
    int64_t used = 0;
    for (int i = 0; i < 50; ++i) {
        REQUIRE_OK(lh_pool_take(b.pool, (size_t)i * 300, &block[i]));
        memset(block[i], i, (size_t)i * 300);
        used += i == 0 ? 256 : (i * 300 + 255) / 256 * 256;
        CHECK_EQ_INT(lh_pool_get_stats(b.pool).used_bytes, used);
    }
    CHECK_EQ_INT(lh_pool_get_stats(b.pool).peak_bytes, used);
    for (int i = 0; i < 50; ++i)
        lh_pool_return(b.pool, block[i], (size_t)i * 300);
    CHECK_EQ_INT(lh_pool_get_stats(b.pool).used_bytes, 0);
    CHECK_EQ_INT(lh_pool_get_stats(b.pool).peak_bytes, used);
    lh_pool_reset_peak(b.pool);
    CHECK_EQ_INT(lh_pool_get_stats(b.pool).peak_bytes, 0);
    end(&b);
}

static int settled;

static void settle(lh_device *device) {
    (void)device;
    settled += 1;
}

/* The driver would wait there for what may never end. */
TEST(work_is_settled_before_memory_is_taken_or_given_back) {
    bench b;
    void *memory = NULL;
    REQUIRE(begin(&b));
    b.device->settle = settle;
    settled = 0;
    REQUIRE_OK(lh_pool_take(b.pool, 1000, &memory));
    CHECK_EQ_INT(settled, 1);
    lh_pool_return(b.pool, memory, 1000);
    REQUIRE_OK(lh_pool_take(b.pool, 1000, &memory));
    CHECK_EQ_INT(settled, 1); /* used again, so that nobody waits */
    lh_pool_return(b.pool, memory, 1000);
    lh_pool_destroy(b.pool);
    CHECK_EQ_INT(settled, 2);
    lh_device_close(b.device);
}

TEST(too_much_is_refused_and_the_pool_goes_on) {
    bench b;
    void *memory = NULL, *kept = NULL;
    REQUIRE(begin(&b));
    REQUIRE_OK(lh_pool_take(b.pool, 4096, &kept));
    CHECK_FAILS(lh_pool_take(b.pool, (size_t)1 << 60, &memory), LH_EMEMORY, "4096 are in use");
    CHECK_FAILS(lh_pool_workspace(b.pool, (size_t)1 << 60, &memory), LH_EMEMORY, "workspace");
    CHECK(!lh_pool_prepare(b.pool, (size_t)1 << 60));
    lh_error_clear();
    CHECK_EQ_INT(lh_pool_get_stats(b.pool).used_bytes, 4096);
    REQUIRE_OK(lh_pool_take(b.pool, 64, &memory));
    lh_pool_return(b.pool, memory, 64);
    lh_pool_return(b.pool, kept, 4096);
    end(&b);
}

TEST(the_workspace_is_one_block_that_grows) {
    bench b;
    void *small = NULL, *same = NULL, *large = NULL;
    REQUIRE(begin(&b));
    REQUIRE_OK(lh_pool_workspace(b.pool, 1000, &small));
    REQUIRE_OK(lh_pool_workspace(b.pool, 10, &same));
    CHECK(same == small);
    REQUIRE_OK(lh_pool_workspace(b.pool, 100000, &large));
    memset(large, 1, 100000);
    CHECK(lh_pool_launch(b.pool)->workspace == large);
    CHECK(lh_pool_get_stats(b.pool).peak_bytes == 0); /* that of what is taken alone */
    CHECK_EQ_INT(lh_pool_get_stats(b.pool).workspace_bytes, 125184);
    CHECK(lh_pool_prepare(b.pool, 50000));
    CHECK(lh_pool_launch(b.pool)->workspace == large);
    end(&b);
}

/* A device of so many bytes. */
enum { CAPACITY = 8192 };
static lh_device *whole;
static size_t in_use;

static lh_status allocate_within(lh_device *device, size_t bytes, void **out) {
    (void)device;
    if (in_use + bytes > CAPACITY) return LH_EMEMORY;
    in_use += bytes;
    return whole->allocate(whole, bytes, out);
}

/* The only block that comes back in this test is the waiting one. */
static void release_waiting(lh_device *device, void *memory) {
    (void)device;
    in_use = 0;
    whole->release(whole, memory);
}

TEST(the_workspace_grows_into_memory_that_waits_for_reuse) {
    bench b;
    void *memory = NULL;
    REQUIRE(begin(&b));
    lh_device small = *b.device;
    lh_pool *pool = NULL;
    whole = b.device;
    small.allocate = allocate_within;
    small.release = release_waiting;
    REQUIRE_OK(lh_pool_create(&small, &pool));
    REQUIRE_OK(lh_pool_take(pool, 6144, &memory));
    lh_pool_return(pool, memory, 6144);
    CHECK_OK(lh_pool_workspace(pool, 4096, &memory));
    CHECK_FAILS(lh_pool_workspace(pool, 16384, &memory), LH_EMEMORY, "of workspace");
    lh_pool_destroy(pool);
    end(&b);
}

TEST(cells_are_of_one_size_and_used_again) {
    enum { MANY = 2000 };
    static unsigned char *cell[MANY];
    bench b;
    REQUIRE(begin(&b));
    for (int i = 0; i < MANY; ++i) {
        cell[i] = lh_pool_take_cell(b.pool);
        REQUIRE(cell[i] != NULL);
        memset(cell[i], i % 250, LH_POOL_CELL);
    }
    int wrong = 0;
    for (int i = 0; i < MANY; ++i)
        for (int k = 0; k < LH_POOL_CELL; ++k)
            wrong += cell[i][k] != i % 250;
    CHECK_EQ_INT(wrong, 0);
    void *last = cell[MANY - 1];
    for (int i = 0; i < MANY; ++i)
        lh_pool_return_cell(b.pool, cell[i]);
    CHECK(lh_pool_take_cell(b.pool) == last);
    end(&b);
}

TEST(the_processor_computes_in_the_precisions_that_it_has) {
    bench b;
    REQUIRE(begin(&b));
    CHECK(lh_pool_device(b.pool) == b.device);
    CHECK(lh_pool_kernels(b.pool) == b.device->kernels);
    CHECK_EQ_INT(lh_pool_precision(b.pool), LH_PRECISION_F32);
    CHECK_EQ_INT(lh_pool_activation(b.pool), LH_REAL);
    CHECK_FAILS(lh_pool_set_precision(b.pool, LH_PRECISION_TF32), LH_EOPTION, "needs a GPU");
    CHECK_EQ_INT(lh_pool_precision(b.pool), LH_PRECISION_F32);
    const char *lacks = lh_product_lacks_bf16();
    if (lacks != NULL) {
        CHECK_FAILS(lh_pool_set_precision(b.pool, LH_PRECISION_BF16), LH_EOPTION, lacks);
        CHECK_EQ_INT(lh_pool_precision(b.pool), LH_PRECISION_F32);
    } else {
        CHECK_OK(lh_pool_set_precision(b.pool, LH_PRECISION_BF16));
        CHECK_EQ_INT(lh_pool_activation(b.pool), LH_BF16);
    }
    CHECK_OK(lh_pool_set_precision(b.pool, LH_PRECISION_F32));
    end(&b);
}

TEST(a_kernel_that_refuses_is_named) {
    CHECK_OK(lh_pool_launched("softmax", LH_OK));
    CHECK_FAILS(lh_pool_launched("softmax", LH_ESHAPE), LH_ESHAPE,
                "kernel softmax refused its arguments (shape)");
    lh_device *device = NULL;
    CHECK_FAILS(lh_pool_open_device("abacus", &device), LH_EDEVICE, "device abacus");
}

/* ---- a device that fails, as a GPU does after a kernel that went wrong ---- */

static lh_status fail_late(void) {
    lh_device_explain("cudaMemcpyAsync: an illegal memory access was encountered");
    return LH_EDEVICE;
}

static lh_status no_allocation(lh_device *device, size_t bytes, void **out) {
    (void)device, (void)bytes, (void)out;
    return fail_late();
}

static lh_status no_download(lh_device *device, void *host, const void *from, size_t bytes) {
    (void)device, (void)host, (void)from, (void)bytes;
    return fail_late();
}

static lh_status no_upload(lh_device *device, void *to, const void *host, size_t bytes) {
    (void)device, (void)to, (void)host, (void)bytes;
    return fail_late();
}

TEST(what_a_device_fails_at_is_told_once) {
    bench b;
    lh_tensor *x = NULL;
    real value[4] = {0};
    const int64_t shape[] = {4};
    void *memory = NULL;
    REQUIRE(begin(&b));
    REQUIRE_OK(lh_tensor_create(b.pool, LH_REAL, 1, shape, &x));
    b.device->download = no_download;
    b.device->upload = no_upload;
    CHECK_FAILS(lh_tensor_read(x, value, 4), LH_EDEVICE, "download: cudaMemcpyAsync: an illegal");
    CHECK_FAILS(lh_tensor_write(x, value, 4), LH_EDEVICE, "upload: cudaMemcpyAsync: an illegal");
    b.device->allocate = no_allocation;
    CHECK_FAILS(lh_pool_take(b.pool, 1 << 20, &memory), LH_EDEVICE, "allocate: cudaMemcpyAsync");
    CHECK_FAILS(lh_pool_launched("matmul", LH_EMEMORY), LH_EMEMORY, "kernel matmul: cudaMemcpy");
    CHECK_OK(lh_pool_called("synchronize", LH_OK));
    lh_tensor_release(x);
    end(&b);
}
