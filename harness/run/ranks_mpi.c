/* Ranks through MPI. Every wait polls: that moves the data, and it notices a rank that has ended.
 */
#include "harness/run/ranks.h"

#include <errno.h>
#include <mpi.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "harness/run/nccl.h"

enum { REQUESTS = 64, NAME_BYTES = 64 };

/* Who a rank is, for those on the same machine. */
typedef struct member {
    char machine[NAME_BYTES];
    int64_t process;
    int64_t space; /* of process numbers: containers have their own */
} member;

typedef struct group {
    lh_communicator base; /* first, so that an lh_communicator leads here */
    MPI_Request request[REQUESTS];
    int requests;
    member *members;
    lh_nccl *nccl; /* from the first sum on a GPU on */
} group;

/* One per process, as MPI itself. */
static group world;

/* ---- failures ---- */

static lh_status check(int code) {
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    if (code == MPI_SUCCESS) return LH_OK;
    world.base.lost = true;
    (void)MPI_Error_string(code, text, &length);
    return lh_fail(LH_EDEVICE, "rank %d of %d: MPI: %s", world.base.rank, world.base.size, text);
}

static bool has_ended(const member *own, const member *other) {
    const bool near = strcmp(own->machine, other->machine) == 0 && own->space == other->space;
    return near && kill((pid_t)other->process, 0) != 0 && errno == ESRCH;
}

/* Launchers end what is left of a run on all machines, but they give no reason to it. */
static lh_status look_for_ranks(void) {
    const member *own = &world.members[world.base.rank];
    for (int i = 0; i < world.base.size; ++i) {
        if (!has_ended(own, &world.members[i])) continue;
        world.base.lost = true;
        return lh_fail(LH_EDEVICE,
                       "rank %d of %d (process %lld on %s) has ended, and the others cannot go on "
                       "without it; the same command goes on from the last checkpoint",
                       i, world.base.size, (long long)world.members[i].process, own->machine);
    }
    return LH_OK;
}

/* ---- waiting ---- */

static double now(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static lh_status poll(bool *done) {
    int all = 0;
    LH_TRY(check(MPI_Testall(world.requests, world.request, &all, MPI_STATUSES_IGNORE)));
    *done = all != 0;
    if (*done) world.requests = 0;
    return LH_OK;
}

static lh_status await(void) {
    const double patience = 0.05;
    double looked = now();
    bool done = false;
    while (true) {
        LH_TRY(poll(&done));
        if (done) return LH_OK;
        (void)sched_yield();
        if (world.members == NULL || now() - looked < patience) continue;
        LH_TRY(look_for_ranks());
        looked = now();
    }
}

static lh_status usable(void) {
    if (!world.base.lost) return LH_OK;
    return lh_fail(LH_EDEVICE, "rank %d of %d: a rank was lost before", world.base.rank,
                   world.base.size);
}

/* Messages count in int. */
static lh_status start_reduction(void *x, int64_t count, MPI_Datatype type, MPI_Op op) {
    const int64_t most = INT32_MAX / 2;
    size_t element = type == MPI_DOUBLE ? sizeof(double) : type == MPI_FLOAT ? sizeof(float) : 1;
    for (int64_t at = 0; at < count; at += most) {
        const int part = (int)(count - at < most ? count - at : most);
        if (world.requests == REQUESTS) LH_TRY(await());
        LH_TRY(check(MPI_Iallreduce(MPI_IN_PLACE, (char *)x + (size_t)at * element, part, type, op,
                                    MPI_COMM_WORLD, &world.request[world.requests])));
        world.requests += 1;
    }
    return LH_OK;
}

/* ---- the table ---- */

static lh_status start(lh_communicator *ranks, lh_device *device, real *x, int64_t count) {
    LH_TRY(usable());
    if (device->kind != LH_CPU) {
        if (world.nccl == NULL) LH_TRY(lh_nccl_open(ranks, &world.nccl));
        return lh_nccl_start(world.nccl, device, x, count);
    }
    return start_reduction(x, count, sizeof(real) == sizeof(double) ? MPI_DOUBLE : MPI_FLOAT,
                           MPI_SUM);
}

static lh_status progress(lh_communicator *ranks) {
    (void)ranks;
    bool done = false;
    return world.requests > 0 ? poll(&done) : LH_OK;
}

static lh_status finish(lh_communicator *ranks, lh_device *device) {
    (void)ranks;
    if (device->kind != LH_CPU) return lh_nccl_finish(world.nccl, device);
    return await();
}

static lh_status sum(lh_communicator *ranks, double *x, int64_t count) {
    (void)ranks;
    LH_TRY(usable());
    LH_TRY(start_reduction(x, count, MPI_DOUBLE, MPI_SUM));
    return await();
}

static lh_status merge(lh_communicator *ranks, void *x, size_t bytes) {
    (void)ranks;
    LH_TRY(usable());
    LH_TRY(start_reduction(x, (int64_t)bytes, MPI_BYTE, MPI_BOR));
    return await();
}

/* ---- life ---- */

/* Whether a launcher started this process: MPI alone would start helpers of its own. */
static bool was_launched(void) {
    static const char *const marks[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"};
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; ++i) {
        if (getenv(marks[i]) != NULL) return true;
    }
    return false;
}

static lh_status introduce(void) {
    char name[MPI_MAX_PROCESSOR_NAME] = "";
    int length = 0;
    struct stat space = {0};
    member *members = lh_allocate_zeroed((size_t)world.base.size, sizeof *members);
    if (members == NULL) return LH_EMEMORY;
    member *own = &members[world.base.rank];
    (void)MPI_Get_processor_name(name, &length);
    (void)snprintf(own->machine, sizeof own->machine, "%s", name);
    (void)stat("/proc/self/ns/pid", &space);
    own->process = (int64_t)getpid();
    own->space = (int64_t)space.st_ino;
    const lh_status status = merge(&world.base, members, (size_t)world.base.size * sizeof *members);
    world.members = members;
    return status;
}

/* Ranks of a machine share its GPUs in turn, unless the launcher has dealt them out. */
static lh_status choose_gpu(void) {
    MPI_Comm near = MPI_COMM_NULL;
    char text[16];
    int place = 0;
    LH_TRY(
        check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &near)));
    LH_TRY(check(MPI_Comm_rank(near, &place)));
    LH_TRY(check(MPI_Comm_free(&near)));
    (void)snprintf(text, sizeof text, "%d", place);
    (void)setenv("CUDA_VISIBLE_DEVICES", text, 0);
    return LH_OK;
}

lh_status lh_ranks_open(void) {
    int level = 0;
    if (!was_launched()) return LH_OK;
    LH_TRY(check(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level)));
    LH_TRY(check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)));
    LH_TRY(check(MPI_Comm_rank(MPI_COMM_WORLD, &world.base.rank)));
    LH_TRY(check(MPI_Comm_size(MPI_COMM_WORLD, &world.base.size)));
    world.base.start = start;
    world.base.progress = progress;
    world.base.finish = finish;
    world.base.sum = sum;
    world.base.merge = merge;
    if (world.base.size == 1) return LH_OK;
    LH_TRY(choose_gpu());
    return introduce();
}

lh_communicator *lh_ranks(void) {
    return world.base.size > 1 ? &world.base : NULL;
}

void lh_ranks_close(bool well) {
    if (world.base.size == 0) return;
    if (well && !world.base.lost) {
        if (world.nccl != NULL) lh_nccl_close(world.nccl);
        (void)MPI_Finalize();
    }
    free(world.members);
    world.members = NULL;
}
