/* The head and its cross entropy with a vocabulary whose rows tensor cores would be slow with, on
 * every device that this build has, beside the processor in f32. */
#include "harness/ops/ops.h"

#include "tests/test.h"
#ifdef LH_CUDASIM
#include "tests/cudasim/cudasim.h"
#endif

enum { ROWS = 6, WIDTH = 16, WORDS = 101, LEAVES = 3, MOST = WORDS * WIDTH };

static const int64_t shapes[LEAVES][2] = {{ROWS, WIDTH}, {WORDS, WIDTH}, {WORDS, 1}};

/* What one head gives: its loss, and the gradients of hidden states, table and bias. */
typedef struct outcome {
    real loss, gradient[LEAVES][MOST];
} outcome;

static int64_t count_of(int leaf) {
    return shapes[leaf][0] * shapes[leaf][1];
}

static bool make_leaf(lh_pool *pool, int i, lh_tensor **leaf) {
    real values[MOST];
    for (int64_t n = 0; n < count_of(i); ++n)
        values[n] = (real)(n * 7 % 23 - 11) / 16; /* the same in bf16 */
    return CHECK_OK(lh_tensor_create(pool, LH_REAL, i == 2 ? 1 : 2, shapes[i], leaf)) &&
           CHECK_OK(lh_tensor_write(*leaf, values, count_of(i))) &&
           CHECK_OK(lh_tensor_require_gradient(*leaf));
}

/* In chunks of four rows and of two. */
static bool differentiate(lh_tape *tape, lh_tensor **leaf, bool biased, outcome *out) {
    lh_tape_begin(tape, true, 7, 3);
    lh_tensor *target = lh_integers(tape, 1, (int64_t[]){ROWS}, (int32_t[]){2, 100, 3, 1, 0, 64});
    const lh_cross_entropy head = {.weight = leaf[1],
                                   .bias = biased ? leaf[2] : NULL,
                                   .scale = 1,
                                   .target = target,
                                   .gradient_scale = 1,
                                   .chunk = 4};
    lh_tensor *loss = lh_linear_cross_entropy(tape, &head, leaf[0]);
    if (!CHECK(loss != NULL) || !CHECK_OK(lh_tensor_read(loss, &out->loss, 1)) ||
        !CHECK_OK(lh_tape_backward(tape, loss)))
        return false;
    for (int i = 0; i < LEAVES; ++i) {
        const lh_tensor *gradient = lh_tensor_gradient(leaf[i]);
        if (gradient != NULL && !CHECK_OK(lh_tensor_read(gradient, out->gradient[i], count_of(i))))
            return false;
    }
    return true;
}

/* False where there is no such device or precision. */
static bool run(const char *device_name, lh_precision precision, bool biased, outcome *out) {
    lh_device *device = NULL;
    lh_pool *pool = NULL;
    lh_tape *tape = NULL;
    lh_tensor *leaf[LEAVES] = {NULL};
    *out = (outcome){0};
    if (lh_device_open(device_name, &device) != LH_OK) return false;
    bool done = CHECK_OK(lh_pool_create(device, &pool)) && CHECK_OK(lh_tape_create(pool, &tape)) &&
                lh_pool_set_precision(pool, precision) == LH_OK;
    for (int i = 0; i < LEAVES; ++i)
        done = done && make_leaf(pool, i, &leaf[i]);
    done = done && differentiate(tape, leaf, biased, out);
    for (int i = 0; i < LEAVES; ++i)
        lh_tensor_release(leaf[i]);
    lh_tape_destroy(tape);
    lh_pool_destroy(pool);
    lh_device_close(device);
    return done;
}

static void compare(const outcome *one, const outcome *other, double bound) {
    CHECK_NEAR(one->loss, other->loss, bound * fabs((double)other->loss));
    for (int i = 0; i < LEAVES; ++i)
        for (int64_t n = 0; n < count_of(i); ++n)
            CHECK_NEAR(one->gradient[i][n], other->gradient[i][n], bound);
}

static void check_head(bool biased) {
    outcome plain, other;
    REQUIRE(run("cpu", LH_PRECISION_F32, biased, &plain));
    if (run("cpu", LH_PRECISION_BF16, biased, &other)) compare(&other, &plain, 2e-2);
    if (run("cuda", LH_PRECISION_F32, biased, &other)) compare(&other, &plain, 1e-5);
    if (run("cuda", LH_PRECISION_TF32, biased, &other)) compare(&other, &plain, 2e-2);
    if (run("cuda", LH_PRECISION_BF16, biased, &other)) compare(&other, &plain, 2e-2);
}

TEST(heads_of_odd_vocabularies_agree_on_all_devices) {
    check_head(false);
    check_head(true);
}

#ifdef LH_CUDASIM
TEST(tensor_cores_read_aligned_rows_whatever_the_vocabulary) {
    outcome out;
    const long before = cudasim_unaligned_operands();
    CHECK(run("cuda", LH_PRECISION_BF16, false, &out));
    CHECK(run("cuda", LH_PRECISION_BF16, true, &out));
    CHECK_EQ_INT(cudasim_unaligned_operands() - before, 0);
}
#endif
