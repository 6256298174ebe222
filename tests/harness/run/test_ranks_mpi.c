/* Sums on GPUs that are under way when memory is taken or given back: what NCCL answers is a test's
 * say, so that neither GPUs nor other ranks are needed. */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The program has these, too, and a stand-in for NCCL (nccl_none.c). */
#define lh_ranks           tested_ranks
#define lh_ranks_open      tested_ranks_open
#define lh_ranks_close     tested_ranks_close
#define lh_nccl_open       fake_open
#define lh_nccl_start      fake_start
#define lh_nccl_poll       fake_poll
#define lh_nccl_is_summing fake_is_summing
#define lh_nccl_close      fake_close
#include "harness/run/ranks_mpi.c"

#include "tests/test.h"

enum { NEVER = -1 };

struct lh_nccl {
    int left; /* polls of sums until they are there, or NEVER */
    bool fails, summing;
    int starts, polls, closes;
};

static lh_nccl fake;

/* ---- what is asked ---- */

lh_status fake_open(lh_communicator *ranks, lh_nccl **out) {
    (void)ranks;
    *out = &fake;
    return LH_OK;
}

/* Loading its kernel takes memory. */
lh_status fake_start(lh_nccl *nccl, lh_device *device, real *x, int64_t count) {
    CHECK(x != NULL && count == 3);
    CHECK(device->settle != NULL);
    nccl->starts += 1;
    nccl->summing = true;
    return LH_OK;
}

lh_status fake_poll(lh_nccl *nccl, bool sums, bool *done) {
    *done = !sums || nccl->left == 0;
    if (!sums) return LH_OK;
    nccl->polls += 1;
    if (nccl->fails) return lh_fail(LH_EDEVICE, "NCCL: a peer has gone");
    if (nccl->left > 0) nccl->left -= 1;
    if (*done) nccl->summing = false;
    return LH_OK;
}

bool fake_is_summing(const lh_nccl *nccl) {
    return nccl->summing;
}

void fake_close(lh_nccl *nccl) {
    nccl->closes += 1;
}

/* ---- a rank ---- */

/* The first of two ranks, which have met: its GPU adds up. */
static lh_device sum_on_gpu(void) {
    static real x[3];
    lh_device gpu = {.kind = LH_CUDA};
    memset(&fake, 0, sizeof fake);
    memset(&world, 0, sizeof world);
    world.base.size = 2;
    world.nccl = &fake;
    CHECK_OK(start(&world.base, &gpu, x, 3));
    CHECK_EQ_INT(fake.starts, 1);
    return gpu;
}

static void check_given_up(lh_device *gpu) {
    real x[3] = {0};
    CHECK(world.base.lost && world.nccl == NULL);
    CHECK_EQ_INT(fake.closes, 1);
    gpu->settle(gpu);
    CHECK_EQ_INT(fake.closes, 1);
    lh_error_clear();
    CHECK_FAILS(start(&world.base, gpu, x, 3), LH_EDEVICE, "a rank was lost before");
}

TEST(memory_waits_until_the_sums_are_there) {
    lh_device gpu = sum_on_gpu();
    fake.left = 2;
    gpu.settle(&gpu);
    CHECK_EQ_INT(fake.polls, 3);
    CHECK(!fake.summing && !world.base.lost && world.nccl == &fake);
    gpu.settle(&gpu); /* with nothing under way */
    CHECK_EQ_INT(fake.polls, 3);
    CHECK_EQ_INT(fake.closes, 0);
}

/* Its part never comes: whoever took memory would wait for it for ever. */
TEST(sums_with_a_rank_that_has_ended_are_given_up) {
    lh_device gpu = sum_on_gpu();
    const pid_t child = fork();
    if (child == 0) _exit(0);
    REQUIRE(child > 0 && waitpid(child, NULL, 0) == child);
    member members[] = {{.machine = "here", .process = (int64_t)getpid()},
                        {.machine = "here", .process = (int64_t)child}};
    world.members = members;
    fake.left = NEVER;
    gpu.settle(&gpu);
    CHECK(strstr(lh_error_text(), "rank 1 of 2 (process ") != NULL);
    check_given_up(&gpu);
    world.members = NULL;
}

TEST(sums_that_fail_are_given_up) {
    lh_device gpu = sum_on_gpu();
    fake.fails = true;
    gpu.settle(&gpu);
    CHECK_EQ_INT(fake.polls, 1);
    CHECK(strstr(lh_error_text(), "a peer has gone") != NULL);
    check_given_up(&gpu);
}
