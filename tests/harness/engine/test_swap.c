/* Parameters that visit the device compute what those that stay do, bit for bit; on a device that
 * copies at once, and on one whose copies happen as late as they may. */
#include "harness/engine/swap.h"

#include "harness/engine/record.h"
#include "harness/engine/tape.h"
#include "harness/ops/ops.h"
#include "tests/test.h"

#include <unistd.h>

enum { WIDTH = 5, SQUARE = WIDTH * WIDTH, PARAMS = 5, GRAIN = 256 };

/* ---- a device whose copies wait until they are joined ---- */

enum { WAITING = 64 };

typedef struct late_copy {
    void *to;
    const void *from;
    size_t bytes;
} late_copy;

static struct {
    late_copy waiting[WAITING];
    int count, most, pinned;
    char *host[2];
    size_t host_bytes[2];
} late;

/* As a GPU's driver does it: whole pages, none of them twice. */
static lh_status late_pin(lh_device *device, void *host, size_t bytes) {
    (void)device;
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    if (!CHECK(late.pinned < 2) || !CHECK_EQ_INT((uintptr_t)host % page, 0)) return LH_ESTATE;
    if (late.pinned == 1) CHECK((uintptr_t)host / page != (uintptr_t)late.host[0] / page);
    late.host[late.pinned] = host;
    late.host_bytes[late.pinned++] = bytes;
    return LH_OK;
}

static void late_unpin(lh_device *device, void *host) {
    (void)device;
    CHECK(host == late.host[0] || host == late.host[1]);
    late.pinned -= 1;
}

static bool is_pinned(const char *host, size_t bytes) {
    for (int i = 0; i < 2; ++i) {
        const bool begins = host >= late.host[i];
        if (begins && host + bytes <= late.host[i] + late.host_bytes[i]) return true;
    }
    return false;
}

static lh_status put_off(void *to, const void *from, size_t bytes) {
    if (!CHECK(late.count < WAITING)) return LH_ESTATE;
    late.waiting[late.count++] = (late_copy){to, from, bytes};
    late.most = late.count > late.most ? late.count : late.most;
    return LH_OK;
}

static lh_status late_in(lh_device *device, void *to, const void *host, size_t bytes) {
    (void)device;
    CHECK(is_pinned(host, bytes));
    return put_off(to, host, bytes);
}

static lh_status late_out(lh_device *device, void *host, const void *from, size_t bytes) {
    (void)device;
    CHECK(is_pinned(host, bytes));
    return put_off(host, from, bytes);
}

static lh_status late_join(lh_device *device) {
    (void)device;
    for (int i = 0; i < late.count; ++i)
        memcpy(late.waiting[i].to, late.waiting[i].from, late.waiting[i].bytes);
    late.count = 0;
    return LH_OK;
}

static const lh_device_copies late_copies = {late_pin, late_unpin, late_in, late_out, late_join};

/* ---- a model ---- */

typedef enum placement { PLAIN, SWAPPED, SWAPPED_LATE } placement;

typedef struct bench {
    lh_device *device, *processor;
    lh_pool *pool, *host;
    lh_tape *tape;
    lh_params *params;
    lh_swap *swap; /* NULL: PLAIN */
    lh_tensor *input;
    int64_t resting; /* bytes of the pool before a pass */
} bench;

static bool declare(bench *b) {
    static const int64_t square[] = {WIDTH, WIDTH};
    static const int begins[PARAMS] = {0, 1, 0, 1, 2}; /* 1: a group, 2: no group */
    const lh_init init = {.kind = LH_INIT_NORMAL, .deviation = 0.4};
    for (int i = 0; i < PARAMS; ++i) {
        if (begins[i] == 1) lh_params_begin_group(b->params);
        if (begins[i] == 2) lh_params_end_group(b->params);
        if (lh_params_declare(b->params, init, 2, square, "p%d", i) != i) return false;
    }
    return true;
}

/* What lies in memory that is taken afterwards. */
static bool leave_rubbish(lh_pool *pool) {
    static const int64_t sizes[] = {32, 64, 128};
    lh_tensor *x[3] = {NULL};
    bool good = true;
    for (int i = 0; i < 3; ++i) {
        good = good && CHECK_OK(lh_tensor_create(pool, LH_REAL, 1, &sizes[i], &x[i]));
        for (int64_t j = 0; good && j < sizes[i]; ++j)
            lh_tensor_real(x[i])[j] = LH_R(1e3);
    }
    for (int i = 0; i < 3; ++i)
        lh_tensor_release(x[i]);
    return good;
}

static bool open_bench(bench *b, placement where) {
    static const int64_t shape[] = {3, WIDTH};
    static const real values[] = {1, -2, 3, 2, -1, 1, 1, -1, 2, 4, -3, 1, -1, 2, 1};
    *b = (bench){0};
    bool good =
        CHECK_OK(lh_device_open("cpu", &b->device)) && CHECK_OK(lh_cpu_open_pages(&b->processor));
    if (good && where == SWAPPED_LATE) b->device->copies = &late_copies;
    good = good && CHECK_OK(lh_pool_create(b->device, &b->pool)) &&
           CHECK_OK(lh_pool_create(b->processor, &b->host)) && leave_rubbish(b->pool) &&
           CHECK_OK(lh_tape_create(b->pool, &b->tape)) && CHECK_OK(lh_params_create(&b->params)) &&
           CHECK(declare(b)) &&
           CHECK_OK(lh_params_allocate(b->params, where == PLAIN ? b->pool : b->host)) &&
           CHECK_OK(lh_params_initialize(b->params, 3));
    if (good && where != PLAIN) {
        good = CHECK_OK(lh_swap_create(b->params, b->pool, &b->swap));
        lh_tape_set_swap(b->tape, b->swap);
    }
    if (!good || !CHECK_OK(lh_tensor_create(b->pool, LH_REAL, 2, shape, &b->input))) return false;
    b->resting = lh_pool_get_stats(b->pool).used_bytes;
    return CHECK_OK(lh_tensor_write(b->input, values, 3 * WIDTH));
}

static void close_bench(bench *b) {
    lh_tensor_release(b->input);
    lh_tape_destroy(b->tape);
    lh_swap_destroy(b->swap);
    lh_params_destroy(b->params);
    CHECK_EQ_INT(lh_pool_get_stats(b->pool).used_bytes, 0);
    CHECK_EQ_INT(lh_pool_get_stats(b->host).used_bytes, 0);
    lh_pool_destroy(b->pool);
    lh_pool_destroy(b->host);
    lh_device_close(b->device);
    lh_device_close(b->processor);
}

static lh_tensor *param(const bench *b, int index) {
    return b->swap != NULL ? lh_swap_param(b->swap, index) : lh_params_get(b->params, index);
}

static lh_tensor *layer(const bench *b, int index, lh_tensor *x) {
    if (lh_tape_need(b->tape, param(b, index)) != LH_OK) return NULL;
    return lh_linear(b->tape, x, param(b, index), NULL, LH_UNARY_TANH);
}

/* Parameters 1 and 2, the first group. */
static lh_tensor *first_group(lh_tape *tape, void *context, lh_tensor *x) {
    (void)tape;
    return layer(context, 2, layer(context, 1, x));
}

static lh_tensor *second_group(lh_tape *tape, void *context, lh_tensor *x) {
    (void)tape;
    return layer(context, 3, x);
}

static lh_status region(lh_tape *tape, void *context, lh_tensor *const *inputs,
                        lh_tensor **outputs) {
    outputs[0] = first_group(tape, *(void **)context, inputs[0]);
    return outputs[0] != NULL ? LH_OK : lh_error_get()->status;
}

/* Reversible blocks and a checkpoint share the first group, so that its gradients come home several
 * times; the second one is used outside of a region, too. */
static lh_tensor *run(bench *b) {
    const lh_reversible_block block = {first_group, second_group, b, b};
    const lh_reversible_block blocks[] = {block, block, block};
    void *context = b;
    lh_tensor *y1 = NULL, *y2 = NULL, *x = layer(b, 0, b->input), *z = NULL;
    if (lh_reversible(b->tape, blocks, 3, x, x, &y1, &y2) != LH_OK) return NULL;
    x = lh_add(b->tape, y1, y2);
    if (lh_checkpoint(b->tape, region, &context, sizeof context, &x, 1, &z, 1) != LH_OK)
        return NULL;
    return layer(b, 4, layer(b, 3, z));
}

/* A training step: y, and all gradients with the padding between them. */
static bool step(bench *b, real *y, real *gradients) {
    lh_tape_begin(b->tape, true, 1, 0);
    lh_params_clear_gradients(b->params);
    const lh_scope scope = lh_scope_open(b->tape);
    if (b->swap != NULL && !CHECK_OK(lh_swap_begin(b->swap))) return false;
    lh_tensor *last = run(b);
    bool good = CHECK(last != NULL) && CHECK_OK(lh_tensor_read(last, y, 3 * WIDTH)) &&
                CHECK_OK(lh_tape_backward_from(b->tape, last, b->input));
    if (good && b->swap != NULL) good = CHECK_OK(lh_swap_collect(b->swap));
    lh_scope_close(b->tape, scope, NULL);
    const lh_tensor *block = lh_params_gradients(b->params);
    return good && CHECK_OK(lh_params_settle_gradients(b->params)) &&
           CHECK_OK(lh_tensor_read(block, gradients, lh_tensor_count(block)));
}

enum { BLOCK = 32 * PARAMS };

/* Whatever lies at home before a pass is no gradient of it, in the padding either. */
static void spoil_home(const bench *b) {
    const lh_tensor *block = lh_params_gradients(b->params);
    for (int64_t i = 0; i < lh_tensor_count(block); ++i)
        lh_tensor_real(block)[i] = LH_R(1e3);
}

static void check_equal(placement where) {
    static bench plain, swapped;
    real y[2][3 * WIDTH], gradients[2][BLOCK];
    REQUIRE(open_bench(&plain, PLAIN) && open_bench(&swapped, where));
    CHECK_EQ_INT(lh_tensor_count(lh_params_gradients(plain.params)), BLOCK);
    for (int i = 0; i < 3; ++i) {
        spoil_home(&swapped);
        REQUIRE(step(&plain, y[0], gradients[0]) && step(&swapped, y[1], gradients[1]));
        CHECK(memcmp(y[0], y[1], sizeof y[0]) == 0);
        CHECK(memcmp(gradients[0], gradients[1], sizeof gradients[0]) == 0);
        for (int p = 0; p < PARAMS; ++p)
            CHECK(fabs((double)gradients[1][32 * p]) > 0);
        CHECK_EQ_INT(lh_pool_get_stats(swapped.pool).used_bytes, swapped.resting);
        real changed[SQUARE]; /* an update at home reaches the next pass */
        REQUIRE_OK(lh_tensor_read(lh_params_get(plain.params, 1 + i), changed, SQUARE));
        changed[i] += LH_R(0.25);
        REQUIRE_OK(lh_tensor_write(lh_params_get(plain.params, 1 + i), changed, SQUARE));
        REQUIRE_OK(lh_tensor_write(lh_params_get(swapped.params, 1 + i), changed, SQUARE));
    }
    close_bench(&plain);
    close_bench(&swapped);
}

TEST(gradients_are_those_of_parameters_that_stay) {
    check_equal(SWAPPED);
}

/* Several copies wait at a time: the next group's values beside the gradients of the one before. */
TEST(copies_beside_the_work_keep_their_order) {
    late.most = 0;
    check_equal(SWAPPED_LATE);
    CHECK(late.most >= 2);
    CHECK(late.pinned == 0 && late.count == 0);
}

/* A step of a rank that has none of a batch's few rows: its share of the sum is 0. */
TEST(without_a_pass_gradients_are_zeros) {
    static bench b;
    real y[3 * WIDTH], gradients[BLOCK];
    REQUIRE(open_bench(&b, SWAPPED));
    REQUIRE(step(&b, y, gradients));
    CHECK(fabs((double)gradients[0]) > 0 && fabs((double)gradients[32]) > 0);
    lh_params_clear_gradients(b.params);
    REQUIRE_OK(lh_swap_collect(b.swap));
    REQUIRE_OK(lh_params_settle_gradients(b.params));
    const lh_tensor *block = lh_params_gradients(b.params);
    REQUIRE_OK(lh_tensor_read(block, gradients, lh_tensor_count(block)));
    for (int i = 0; i < BLOCK; ++i)
        CHECK_NEAR((double)gradients[i], 0, 0);
    close_bench(&b);
}

TEST(only_what_is_needed_is_there) {
    static bench b;
    REQUIRE(open_bench(&b, SWAPPED));
    const int64_t one = GRAIN; /* 25 elements */
    const int64_t pair = (2 * 32 * (int64_t)sizeof(real) + GRAIN - 1) / GRAIN * GRAIN;
    CHECK_EQ_INT(b.resting, 5 * one); /* two that stay, with gradients, and the input */
    CHECK_EQ_INT(lh_swap_resting_bytes(b.swap), 2 * 32 * (int64_t)sizeof(real));
    lh_tape_begin(b.tape, false, 1, 0);
    REQUIRE_OK(lh_swap_begin(b.swap));
    REQUIRE_OK(lh_tape_need(b.tape, param(&b, 0)));
    CHECK_EQ_INT(lh_pool_get_stats(b.pool).used_bytes, b.resting);
    REQUIRE_OK(lh_tape_need(b.tape, param(&b, 1)));
    REQUIRE_OK(lh_tape_need(b.tape, param(&b, 2)));
    CHECK_EQ_INT(lh_pool_get_stats(b.pool).used_bytes, b.resting + pair);
    CHECK_EQ_INT(lh_swap_visits(b.swap), 1);
    REQUIRE_OK(lh_tape_need(b.tape, param(&b, 3)));
    CHECK_EQ_INT(lh_pool_get_stats(b.pool).used_bytes, b.resting + pair + one);
    REQUIRE_OK(lh_swap_leave(b.swap, 1));
    CHECK_EQ_INT(lh_pool_get_stats(b.pool).used_bytes, b.resting + pair);
    REQUIRE_OK(lh_swap_begin(b.swap)); /* a pass that failed leaves its visitors behind */
    CHECK_EQ_INT(lh_pool_get_stats(b.pool).used_bytes, b.resting);
    close_bench(&b);
}

/* The same group again brings nothing; a tensor of none never does. */
TEST(gradients_come_where_they_are_wanted_and_begin_with_zeros) {
    static bench b;
    real value[SQUARE], home[SQUARE];
    REQUIRE(open_bench(&b, SWAPPED));
    const int64_t pair = (2 * 32 * (int64_t)sizeof(real) + GRAIN - 1) / GRAIN * GRAIN;
    REQUIRE_OK(lh_swap_begin(b.swap));
    REQUIRE_OK(lh_swap_need(b.swap, b.input, true));
    CHECK_EQ_INT(lh_swap_visits(b.swap), 0);
    for (int i = 0; i < 2; ++i) {
        REQUIRE_OK(lh_swap_need(b.swap, param(&b, 1 + i), false));
        CHECK_EQ_INT(lh_pool_get_stats(b.pool).used_bytes, b.resting + pair);
    }
    REQUIRE_OK(lh_tensor_read(param(&b, 2), value, SQUARE));
    REQUIRE_OK(lh_tensor_read(lh_params_get(b.params, 2), home, SQUARE));
    CHECK(memcmp(value, home, sizeof home) == 0);
    for (int i = 0; i < 2; ++i) {
        REQUIRE_OK(lh_swap_need(b.swap, param(&b, 2 - i), true));
        CHECK_EQ_INT(lh_pool_get_stats(b.pool).used_bytes, b.resting + 2 * pair);
    }
    CHECK_EQ_INT(lh_swap_visits(b.swap), 1);
    for (int i = 0; i < SQUARE; ++i)
        CHECK_NEAR(lh_tensor_real(param(&b, 2)->gradient->value)[i], 0, 0);
    close_bench(&b);
}

TEST(a_region_sends_away_only_those_that_came_in_it) {
    static bench b;
    REQUIRE(open_bench(&b, SWAPPED));
    lh_tape_begin(b.tape, true, 1, 0);
    REQUIRE_OK(lh_swap_begin(b.swap));
    CHECK_EQ_INT(lh_tape_visits(b.tape), 0);
    REQUIRE_OK(lh_tape_need(b.tape, param(&b, 1)));
    const int64_t outside = lh_pool_get_stats(b.pool).used_bytes;
    const int mark = lh_tape_visits(b.tape);
    REQUIRE_OK(lh_tape_need(b.tape, param(&b, 3)));
    CHECK(mark == 1 && lh_tape_visits(b.tape) == 2);
    REQUIRE_OK(lh_tape_end_visits(b.tape, mark));
    CHECK_EQ_INT(lh_tape_visits(b.tape), 1);
    CHECK_EQ_INT(lh_pool_get_stats(b.pool).used_bytes, outside);
    REQUIRE_OK(lh_tape_end_visits(b.tape, 0));
    CHECK_EQ_INT(lh_pool_get_stats(b.pool).used_bytes, b.resting);
    lh_tape_set_swap(b.tape, NULL); /* parameters that all stay: nobody visits */
    CHECK_OK(lh_tape_need(b.tape, param(&b, 1)));
    CHECK_EQ_INT(lh_tape_visits(b.tape), 0);
    CHECK_OK(lh_tape_end_visits(b.tape, 0));
    close_bench(&b);
}
