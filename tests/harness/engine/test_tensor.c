/* Tensors: who owns what, what lies where, and what a gradient slot does with contributions. */
#include "harness/engine/tensor.h"

#include "harness/engine/gradient.h"
#include "harness/engine/storage.h"
#include "tests/test.h"

typedef struct bench {
    lh_device *device;
    lh_pool *pool;
} bench;

static bool begin(bench *b) {
    return CHECK_OK(lh_device_open("cpu", &b->device)) &&
           CHECK_OK(lh_pool_create(b->device, &b->pool));
}

/* All memory has come back by then. */
static void end(bench *b) {
    CHECK_EQ_INT(lh_pool_get_stats(b->pool).used_bytes, 0);
    lh_pool_destroy(b->pool);
    lh_device_close(b->device);
}

/* [2][3] with the elements first, first + 1 ... */
static lh_tensor *counting(lh_pool *pool, double first) {
    const int64_t shape[] = {2, 3};
    lh_tensor *made = NULL;
    if (lh_tensor_create(pool, LH_REAL, 2, shape, &made) != LH_OK) return NULL;
    for (int i = 0; i < 6; ++i)
        lh_tensor_real(made)[i] = LH_R(first + i);
    return made;
}

TEST(references_keep_a_tensor_and_its_memory) {
    bench b;
    REQUIRE(begin(&b));
    lh_tensor *x = counting(b.pool, 0);
    REQUIRE(x != NULL);
    const int64_t used = lh_pool_get_stats(b.pool).used_bytes;
    CHECK(lh_tensor_retain(x) == x);
    lh_tensor *view = lh_tensor_detached(x);
    CHECK(lh_tensor_real(view) == lh_tensor_real(x));
    lh_tensor_release(x);
    lh_tensor_release(x);
    CHECK_EQ_INT(lh_pool_get_stats(b.pool).used_bytes, used);
    CHECK_NEAR(lh_tensor_real(view)[5], 5, 0);
    lh_tensor_release(view);
    lh_tensor_release(NULL);
    end(&b);
}

TEST(shapes_are_compared_and_shown) {
    bench b;
    const int64_t other_shape[] = {3, 2}, negative[] = {2, -1};
    lh_tensor *other = NULL, *scalar = NULL, *none = NULL;
    REQUIRE(begin(&b));
    lh_tensor *x = counting(b.pool, 0), *y = counting(b.pool, 1);
    REQUIRE_OK(lh_tensor_create_zero(b.pool, LH_REAL, 2, other_shape, &other));
    REQUIRE_OK(lh_tensor_create_zero(b.pool, LH_I32, 0, NULL, &scalar));
    CHECK(lh_tensor_same_shape(x, y) && !lh_tensor_same_shape(x, other));
    CHECK(!lh_tensor_same_shape(x, scalar));
    CHECK_EQ_INT(lh_tensor_count(x), 6);
    CHECK_EQ_INT(lh_tensor_count(scalar), 1);
    CHECK_EQ_INT(*lh_tensor_integer(scalar), 0);
    CHECK_STR(lh_shape_text(x), "[2][3]");
    CHECK(lh_tensor_is_contiguous(x));
    x->stride[0] = 4;
    CHECK(!lh_tensor_is_contiguous(x));
    x->stride[0] = 3;
    CHECK_STATUS(lh_tensor_create(b.pool, LH_REAL, 2, negative, &none), LH_ESHAPE);
    CHECK_STATUS(lh_tensor_create(b.pool, LH_REAL, LH_MAX_RANK + 1, other_shape, &none), LH_ESHAPE);
    lh_tensor_release(x);
    lh_tensor_release(y);
    lh_tensor_release(other);
    lh_tensor_release(scalar);
    end(&b);
}

/* A product of sizes that wraps would ask for little memory. */
TEST(a_shape_counts_to_its_limit) {
    static const int64_t at[] = {3, 4}, none[] = {INT64_MAX, 0}, wraps[] = {(int64_t)1 << 62, 4},
                         negative[] = {-1, 0};
    bench b;
    int64_t count = 0;
    lh_tensor *made = NULL;
    REQUIRE(begin(&b));
    CHECK(lh_shape_count(2, at, 12, &count) && count == 12);
    CHECK(!lh_shape_count(2, at, 11, &count));
    CHECK(lh_shape_count(0, NULL, 1, &count) && count == 1);
    CHECK(lh_shape_count(2, none, 1, &count) && count == 0);
    CHECK(!lh_shape_count(2, wraps, INT64_MAX, &count));
    CHECK(!lh_shape_count(2, negative, INT64_MAX, &count));
    CHECK_FAILS(lh_tensor_create(b.pool, LH_REAL, 2, wraps, &made), LH_ESHAPE, "2^48 elements");
    end(&b);
}

/* bf16 is read as reals. */
TEST(host_bytes_are_those_that_reading_fills) {
    static const int64_t shape[] = {2, 3};
    static const struct {
        lh_dtype dtype;
        size_t bytes;
    } cases[] = {{LH_REAL, sizeof(real)}, {LH_I32, sizeof(int32_t)}, {LH_BF16, sizeof(real)}};
    bench b;
    REQUIRE(begin(&b));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        lh_tensor *x = NULL;
        unsigned char host[6 * sizeof(real) + 1];
        memset(host, 0xaa, sizeof host);
        REQUIRE_OK(lh_tensor_create_zero(b.pool, cases[i].dtype, 2, shape, &x));
        const size_t bytes = lh_tensor_host_bytes(x);
        CHECK_EQ_INT(bytes, 6 * cases[i].bytes);
        CHECK_OK(lh_tensor_read(x, host, 6));
        CHECK(host[bytes - 1] == 0 && host[bytes] == 0xaa);
        lh_tensor_release(x);
    }
    end(&b);
}

TEST(contents_are_copied_and_cleared) {
    bench b;
    real host[6];
    REQUIRE(begin(&b));
    lh_tensor *x = counting(b.pool, 1), *y = counting(b.pool, 100);
    CHECK_OK(lh_tensor_copy(y, x));
    CHECK_OK(lh_tensor_clear(x));
    CHECK_OK(lh_tensor_read(y, host, 6));
    for (int i = 0; i < 6; ++i)
        CHECK(lh_tensor_real(x)[i] == 0 && (double)host[i] == 1 + i);
    CHECK_STATUS(lh_tensor_read(y, host, 5), LH_ESHAPE);
    const lh_act act = lh_tensor_activation(y), later = lh_act_from(act, 4);
    CHECK(act.dtype == LH_REAL && act.data == lh_tensor_real(y));
    CHECK((real *)later.data == lh_tensor_real(y) + 4);
    lh_tensor_release(x);
    lh_tensor_release(y);
    end(&b);
}

TEST(storage_is_counted_evicted_and_restored) {
    bench b;
    REQUIRE(begin(&b));
    lh_storage *storage = lh_storage_create(b.pool, 1000);
    REQUIRE(storage != NULL && storage->data != NULL);
    const int64_t used = lh_pool_get_stats(b.pool).used_bytes;
    lh_storage_evict(b.pool, storage);
    CHECK(storage->data == NULL);
    CHECK_EQ_INT(lh_pool_get_stats(b.pool).used_bytes, 0);
    CHECK_OK(lh_storage_restore(b.pool, storage));
    const void *there = storage->data;
    CHECK_OK(lh_storage_restore(b.pool, storage));
    CHECK(there != NULL && storage->data == there);
    CHECK_EQ_INT(lh_pool_get_stats(b.pool).used_bytes, used);
    storage->references += 1;
    lh_storage_release(b.pool, storage);
    CHECK_EQ_INT(lh_pool_get_stats(b.pool).used_bytes, used);
    lh_storage_release(b.pool, storage);
    end(&b);
}

TEST(the_first_contribution_sets_and_others_add) {
    bench b;
    REQUIRE(begin(&b));
    lh_gradient *slot = lh_gradient_create(b.pool, LH_REAL, 6);
    REQUIRE(slot != NULL);
    real *to = NULL;
    lh_write write = LH_ADD;
    CHECK(!lh_gradient_is_present(slot) && lh_gradient_read_real(slot) == NULL);
    CHECK_OK(lh_gradient_write_real(slot, &to, &write));
    CHECK_EQ_INT(write, LH_SET);
    CHECK(lh_gradient_is_present(slot) && lh_gradient_read_real(slot) == to);
    CHECK_OK(lh_gradient_write_real(slot, &to, &write));
    CHECK_EQ_INT(write, LH_ADD);
    real *const before = to;
    CHECK_OK(lh_gradient_write_real(NULL, &to, &write));
    CHECK(to == before && write == LH_ADD);
    lh_gradient_clear(slot);
    CHECK(!lh_gradient_is_present(slot));
    CHECK_OK(lh_gradient_settle(slot));
    for (int i = 0; i < 6; ++i)
        CHECK_NEAR(lh_gradient_read_real(slot)[i], 0, 0);
    CHECK(lh_gradient_root(slot) == slot && lh_gradient_root(NULL) == NULL);
    CHECK(lh_gradient_retain(slot) == slot && lh_gradient_retain(NULL) == NULL);
    lh_gradient_release(slot);
    lh_gradient_release(slot);
    end(&b);
}

/* What was given first is shared until something is added: the giver's own tensor stays as it is.
 */
TEST(a_tensor_that_is_given_is_shared_until_more_comes) {
    bench b;
    REQUIRE(begin(&b));
    lh_gradient *slot = lh_gradient_create(b.pool, LH_REAL, 6);
    lh_tensor *x = counting(b.pool, 1), *y = counting(b.pool, 10);
    REQUIRE(slot != NULL && x != NULL && y != NULL);
    CHECK_OK(lh_gradient_give(slot, x));
    CHECK(lh_gradient_read_real(slot) == lh_tensor_real(x));
    CHECK(!lh_gradient_is_exclusive(slot));
    CHECK_OK(lh_gradient_give(slot, y));
    CHECK(lh_gradient_is_exclusive(slot));
    for (int i = 0; i < 6; ++i) {
        CHECK_NEAR(lh_gradient_read_real(slot)[i], 11 + 2 * i, 0);
        CHECK_NEAR(lh_tensor_real(x)[i], 1 + i, 0);
    }
    lh_gradient_release(slot);
    lh_tensor_release(x);
    lh_tensor_release(y);
    end(&b);
}

TEST(a_slice_writes_into_the_buffer_of_its_root) {
    bench b;
    REQUIRE(begin(&b));
    lh_gradient *root = lh_gradient_create(b.pool, LH_REAL, 6),
                *slice = root != NULL ? lh_gradient_create_slice(root, 2, 3, false) : NULL;
    REQUIRE(slice != NULL);
    CHECK(lh_gradient_root(slice) == root);
    lh_act to = {0};
    lh_write write = LH_SET;
    CHECK_OK(lh_gradient_write(slice, &to, &write));
    CHECK_EQ_INT(write, LH_ADD); /* the rest of the root has zeros by then */
    ((real *)to.data)[0] = LH_R(7);
    CHECK(lh_gradient_is_present(root));
    CHECK(to.data == lh_gradient_read(slice).data);
    CHECK_NEAR(lh_gradient_read_real(root)[2], 7, 0);
    CHECK_NEAR(lh_gradient_read_real(root)[0], 0, 0);
    lh_gradient_release(slice);
    lh_gradient_release(root);
    end(&b);
}

TEST(inputs_that_share_a_gradient_all_add_to_it) {
    bench b;
    REQUIRE(begin(&b));
    lh_gradient *shared = lh_gradient_create(b.pool, LH_REAL, 6),
                *alone = lh_gradient_create(b.pool, LH_REAL, 6);
    REQUIRE(shared != NULL && alone != NULL);
    lh_gradient *const inputs[] = {NULL, shared, alone, NULL, shared};
    CHECK_OK(lh_gradient_settle_shared(inputs, 3));
    CHECK(!lh_gradient_is_present(shared));
    CHECK_OK(lh_gradient_settle_shared(inputs, 5));
    CHECK(lh_gradient_is_present(shared) && !lh_gradient_is_present(alone));
    CHECK_NEAR(lh_gradient_read_real(shared)[5], 0, 0);
    lh_gradient_release(shared);
    lh_gradient_release(alone);
    end(&b);
}

TEST(slots_that_overlap_and_one_apart) {
    bench b;
    REQUIRE(begin(&b));
    lh_gradient *whole = lh_gradient_create(b.pool, LH_REAL, 12),
                *other = lh_gradient_create(b.pool, LH_REAL, 12);
    REQUIRE(whole != NULL && other != NULL);
    lh_gradient *first = lh_gradient_create_slice(whole, 0, 4, false),
                *next = lh_gradient_create_slice(whole, 4, 4, false),
                *between = lh_gradient_create_slice(whole, 2, 4, false),
                *left = lh_gradient_create_slice(whole, 0, 6, true),
                *right = lh_gradient_create_slice(whole, 2, 6, true),
                *apart = lh_gradient_create_apart(right);
    REQUIRE(first != NULL && next != NULL && between != NULL && left != NULL && right != NULL &&
            apart != NULL);
    CHECK(lh_gradient_overlaps(whole, next) && lh_gradient_overlaps(first, between) &&
          lh_gradient_overlaps(between, next) && lh_gradient_overlaps(left, next) &&
          lh_gradient_overlaps(left, left));
    CHECK(!lh_gradient_overlaps(first, next) && !lh_gradient_overlaps(left, right) &&
          !lh_gradient_overlaps(whole, other) && !lh_gradient_overlaps(NULL, whole) &&
          !lh_gradient_overlaps(apart, right));
    CHECK(apart->offset == 2 && apart->count == 6 && apart->strided && apart->root->count == 12);
    lh_gradient *const all[] = {first, next, between, left, right, apart, whole, other};
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        lh_gradient_release(all[i]);
    end(&b);
}
