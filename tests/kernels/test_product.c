/* Products through oneDNN while signals arrive: some of its kernels keep data below the stack. */
#include "kernels/product.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>

#include "tests/test.h"

enum { M = 512, N = 512, K = 256, LEADING = 1024, PRODUCTS = 400, SIGNALS = 200 };

static volatile sig_atomic_t arrived;

static void count(int signal_number) {
    (void)signal_number;
    arrived = arrived + 1;
}

static void set_timer(long microseconds) {
    const struct sigaction action = {.sa_handler = count, .sa_flags = SA_RESTART};
    const struct timeval often = {.tv_usec = microseconds};
    const struct itimerval timer = {often, often};
    REQUIRE(sigaction(SIGALRM, &action, NULL) == 0);
    REQUIRE(setitimer(ITIMER_REAL, &timer, NULL) == 0);
}

/* A [M][K], B [K][LEADING] and C [M][LEADING] of small whole numbers, whose sums are exact. */
static void *create(int64_t rows, int64_t columns, bool bf16) {
    void *matrix = calloc((size_t)(rows * columns), sizeof(real));
    for (int64_t i = 0; matrix != NULL && i < rows * columns; ++i) {
        const real value = (real)(i % 7 - 3);
        if (bf16)
            ((lh_bf16 *)matrix)[i] = lh_bf16_round(value);
        else
            ((real *)matrix)[i] = value;
    }
    return matrix;
}

static void multiply_often(const lh_product *p) {
    const bool bf16 = p->dtype == LH_BF16;
    void *a = create(M, K, bf16), *b = create(K, LEADING, bf16);
    real *c = create(M, LEADING, false), *first = create(M, LEADING, false);
    REQUIRE(a != NULL && b != NULL && c != NULL && first != NULL);
    REQUIRE(lh_product_run(p, a, b, first) == LH_OK);
    CHECK(first[LEADING + 1] != c[LEADING + 1]);
    arrived = 0;
    set_timer(200);
    int wrong = 0;
    /* However fast the processor and coarse the timer, there are signals enough. */
    for (int i = 0; i < PRODUCTS || arrived < SIGNALS; ++i) {
        void *block = malloc((size_t)(i % PRODUCTS + 1) * 1000); /* notices a heap in ruins */
        wrong += lh_product_run(p, a, b, c) != LH_OK;
        wrong += memcmp(c, first, M * LEADING * sizeof *c) != 0;
        free(block);
    }
    set_timer(0);
    CHECK_EQ_INT(wrong, 0);
    free(a);
    free(b);
    free(c);
    free(first);
}

static lh_product product_of(lh_dtype dtype) {
    return (lh_product){.m = M,
                        .n = N,
                        .k = K,
                        .a_leading = K,
                        .b_leading = LEADING,
                        .c_leading = LEADING,
                        .alpha = 1,
                        .dtype = dtype,
                        .c_dtype = LH_REAL,
                        .write = LH_SET};
}

TEST(signals_do_not_disturb_products_of_reals) {
    const lh_product product = product_of(LH_REAL);
    if (!lh_product_suits_reals(&product)) SKIP("products of reals do not go through oneDNN here");
    multiply_often(&product);
}

TEST(signals_do_not_disturb_products_of_bf16) {
    const lh_product product = product_of(LH_BF16);
    if (lh_product_lacks_bf16() != NULL) SKIP(lh_product_lacks_bf16());
    multiply_often(&product);
}
