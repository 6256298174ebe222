/* Ranks through MPI. Every wait polls: that moves the data, and it notices a rank that has ended or
 * says nothing for too long. */
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

#include "harness/engine/clock.h"
#include "harness/run/nccl.h"

enum { REQUESTS = 64, NAME_BYTES = 64, NOTICE = 1, STANDARD_LIMIT = 1800, FEW_BYTES = 4096 };

/* Who a rank is. */
typedef struct member {
    char machine[NAME_BYTES];
    int64_t process;
    int64_t space; /* of process numbers: containers have their own */
} member;

/* What is known of a rank's waits, which are numbered alike on all ranks. */
typedef struct presence {
    int64_t waits;       /* it has told us that it waits there, or has got further */
    int64_t told;        /* what we tell it */
    MPI_Request telling; /* under way */
} presence;

typedef struct group {
    lh_communicator base; /* first, so that an lh_communicator leads here */
    MPI_Request request[REQUESTS];
    int requests;
    member *members;
    presence *presences;
    int64_t wait;  /* the number of the current one */
    double limit;  /* seconds of waiting for a rank that says nothing; 0: no end */
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

/* ---- silence ---- */

/* Who waits for long tells the others, so that each knows who has not come. A message that a rank
 * does not take is not sent again. */
static lh_status tell(void) {
    for (int i = 0; i < world.base.size; ++i) {
        presence *p = &world.presences[i];
        int free_again = 0;
        if (i == world.base.rank) continue;
        LH_TRY(check(MPI_Test(&p->telling, &free_again, MPI_STATUS_IGNORE)));
        if (!free_again) continue;
        p->told = world.wait;
        LH_TRY(check(MPI_Isend(&p->told, 1, MPI_INT64_T, i, NOTICE, MPI_COMM_WORLD, &p->telling)));
    }
    return LH_OK;
}

static lh_status listen(void) {
    while (true) {
        int any = 0;
        int64_t waits = 0;
        MPI_Status from;
        LH_TRY(check(MPI_Iprobe(MPI_ANY_SOURCE, NOTICE, MPI_COMM_WORLD, &any, &from)));
        if (!any) return LH_OK;
        LH_TRY(check(MPI_Recv(&waits, 1, MPI_INT64_T, from.MPI_SOURCE, NOTICE, MPI_COMM_WORLD,
                              MPI_STATUS_IGNORE)));
        world.presences[from.MPI_SOURCE].waits = waits;
    }
}

/* Whether nobody has heard that the rank waits where we do. */
static bool is_silent(int rank) {
    return rank != world.base.rank && world.presences[rank].waits < world.wait;
}

static lh_status name_silent(void) {
    int first = 0, count = 0;
    world.base.lost = true;
    for (int i = world.base.size - 1; i >= 0; --i) {
        if (!is_silent(i)) continue;
        first = i;
        count += 1;
    }
    if (count == 0)
        return lh_fail(LH_EDEVICE,
                       "all ranks wait for each other, and MPI has moved nothing for %g seconds",
                       world.limit);
    return lh_fail(LH_EDEVICE,
                   "rank %d of %d (process %lld on %s)%s has said nothing for %g seconds, and the "
                   "others cannot go on without it; the same command goes on from the last "
                   "checkpoint, and LONGHAUL_RANK_SECONDS sets how long they wait",
                   first, world.base.size, (long long)world.members[first].process,
                   world.members[first].machine, count > 1 ? ", among others," : "", world.limit);
}

/* What a look at the others after `waited` seconds in the current wait shows. */
static lh_status watch(double waited, bool *told) {
    LH_TRY(look_for_ranks());
    if (world.limit <= 0) return LH_OK;
    if (!*told && waited > world.limit / 4) {
        *told = true;
        LH_TRY(tell());
    }
    LH_TRY(listen());
    return waited > world.limit ? name_silent() : LH_OK;
}

/* ---- waiting ---- */

static lh_status poll_messages(bool *done) {
    int all = 0;
    LH_TRY(check(MPI_Testall(world.requests, world.request, &all, MPI_STATUSES_IGNORE)));
    *done = all != 0;
    if (*done) world.requests = 0;
    return LH_OK;
}

static lh_status poll_nccl(bool *taken) {
    return lh_nccl_poll(world.nccl, false, taken);
}

static lh_status poll_sums(bool *done) {
    return lh_nccl_poll(world.nccl, true, done);
}

/* Leaves the processor to whoever is waited for. */
static void rest(void) {
    const struct timespec pause = {.tv_nsec = 1000000};
    (void)nanosleep(&pause, NULL);
}

/* Time in which this process was stopped itself is no time of waiting: it comes in one piece. Who
 * waits for `few` bytes rests when that takes long: a rank may measure meanwhile, alone. More of
 * them need every poll to get on. */
static lh_status await(lh_status (*poll)(bool *done), bool few) {
    const double patience = 0.05, most = 1;
    double looked = lh_clock_seconds(), waited = 0;
    bool done = false, told = false;
    world.wait += 1;
    while (true) {
        LH_TRY(poll(&done));
        if (done) return LH_OK;
        (void)sched_yield();
        if (few && waited > 0) rest();
        const double passed = lh_clock_seconds() - looked;
        if (world.members == NULL || passed < patience) continue;
        looked += passed;
        waited += passed < most ? passed : most;
        LH_TRY(watch(waited, &told));
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
        if (world.requests == REQUESTS) LH_TRY(await(poll_messages, false));
        LH_TRY(check(MPI_Iallreduce(MPI_IN_PLACE, (char *)x + (size_t)at * element, part, type, op,
                                    MPI_COMM_WORLD, &world.request[world.requests])));
        world.requests += 1;
    }
    return LH_OK;
}

/* ---- the table ---- */

static lh_status merge(lh_communicator *ranks, void *x, size_t bytes) {
    (void)ranks;
    LH_TRY(usable());
    LH_TRY(start_reduction(x, (int64_t)bytes, MPI_BYTE, MPI_BOR));
    return await(poll_messages, bytes <= FEW_BYTES);
}

static lh_status refuse_shared(int first, int second, const lh_device *device) {
    return lh_fail(LH_EDEVICE,
                   "ranks %d and %d have one GPU between them (%s on %s), and each needs its own: "
                   "start no more ranks on a machine than it has GPUs",
                   first, second, device->name, world.members[second].machine);
}

/* NCCL takes one rank a GPU. Only the GPUs themselves tell: a launcher may show each rank no more
 * than its own, as the first one. All ranks see the same, so that none waits for another. */
static lh_status check_gpus(lh_communicator *ranks, const lh_device *device) {
    const size_t bytes = sizeof device->uuid;
    unsigned char *all = lh_allocate_zeroed((size_t)ranks->size, bytes);
    if (all == NULL) return LH_EMEMORY;
    memcpy(all + (size_t)ranks->rank * bytes, device->uuid, bytes);
    lh_status status = merge(ranks, all, (size_t)ranks->size * bytes);
    for (int i = 1; i < ranks->size && status == LH_OK; ++i) {
        for (int j = 0; j < i && status == LH_OK; ++j) {
            if (memcmp(all + (size_t)i * bytes, all + (size_t)j * bytes, bytes) == 0)
                status = refuse_shared(j, i, device);
        }
    }
    free(all);
    return status;
}

/* A GPU that still adds up would wait for the others for ever, and whoever frees its memory with
 * it. The next sum makes another communicator. */
static void abandon(lh_communicator *ranks) {
    (void)ranks;
    if (world.nccl != NULL) lh_nccl_close(world.nccl);
    world.nccl = NULL;
}

/* Memory is about to be taken or given back, inside the driver, where nobody would look for lost
 * ranks: sums under way are waited for here, or given up. */
static void settle(lh_device *device) {
    (void)device;
    if (world.nccl == NULL || !lh_nccl_is_summing(world.nccl)) return;
    if (await(poll_sums, false) == LH_OK) return;
    world.base.lost = true;
    abandon(&world.base);
}

static lh_status start_on_gpu(lh_communicator *ranks, lh_device *device, real *x, int64_t count) {
    if (world.nccl == NULL) {
        LH_TRY(check_gpus(ranks, device));
        LH_TRY(lh_nccl_open(ranks, &world.nccl));
        LH_TRY(await(poll_nccl, false));
    }
    device->settle = settle;
    LH_TRY(lh_nccl_start(world.nccl, device, x, count));
    return await(poll_nccl, false);
}

static lh_status start(lh_communicator *ranks, lh_device *device, real *x, int64_t count) {
    LH_TRY(usable());
    if (device->kind != LH_CPU) return start_on_gpu(ranks, device, x, count);
    return start_reduction(x, count, sizeof(real) == sizeof(double) ? MPI_DOUBLE : MPI_FLOAT,
                           MPI_SUM);
}

static lh_status progress(lh_communicator *ranks) {
    (void)ranks;
    bool done = false;
    return world.requests > 0 ? poll_messages(&done) : LH_OK;
}

static lh_status finish(lh_communicator *ranks, lh_device *device) {
    (void)ranks;
    LH_TRY(usable());
    if (device->kind == LH_CPU) return await(poll_messages, false);
    return world.nccl != NULL ? await(poll_sums, false) : LH_OK;
}

static lh_status sum(lh_communicator *ranks, double *x, int64_t count) {
    (void)ranks;
    LH_TRY(usable());
    LH_TRY(start_reduction(x, count, MPI_DOUBLE, MPI_SUM));
    return await(poll_messages, count <= FEW_BYTES / (int64_t)sizeof *x);
}

/* ---- life ---- */

/* Whether a launcher started this process: MPI alone would start helpers of its own. A worker
 * (process.h) has the environment of the process that the launcher started. */
static bool was_launched(void) {
    static const char *const marks[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"};
    if (getenv("LONGHAUL_WORKER") != NULL) return false;
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; ++i) {
        if (getenv(marks[i]) != NULL) return true;
    }
    return false;
}

/* Seconds that a rank may say nothing. */
static lh_status read_limit(double *limit) {
    const double most = 1e6;
    const char *text = getenv("LONGHAUL_RANK_SECONDS");
    char *end = NULL;
    *limit = text != NULL ? strtod(text, &end) : STANDARD_LIMIT;
    if (text == NULL || (end != text && *end == '\0' && *limit >= 0 && *limit <= most))
        return LH_OK;
    return lh_fail(LH_EOPTION,
                   "LONGHAUL_RANK_SECONDS takes seconds up to %g, 0 for no end, not '%s'", most,
                   text);
}

static lh_status introduce(void) {
    char name[MPI_MAX_PROCESSOR_NAME] = "";
    int length = 0;
    struct stat space = {0};
    member *members = lh_allocate_zeroed((size_t)world.base.size, sizeof *members);
    world.presences = lh_allocate_zeroed((size_t)world.base.size, sizeof *world.presences);
    if (members == NULL || world.presences == NULL) {
        free(members);
        return LH_EMEMORY;
    }
    for (int i = 0; i < world.base.size; ++i)
        world.presences[i].telling = MPI_REQUEST_NULL;
    member *own = &members[world.base.rank];
    (void)MPI_Get_processor_name(name, &length);
    (void)snprintf(own->machine, sizeof own->machine, "%.*s", (int)sizeof own->machine - 1, name);
    (void)stat("/proc/self/ns/pid", &space);
    own->process = (int64_t)getpid();
    own->space = (int64_t)space.st_ino;
    const lh_status status = merge(&world.base, members, (size_t)world.base.size * sizeof *members);
    world.members = members;
    return status;
}

/* Ranks of a machine take the GPUs that CUDA shows them in turn. */
static lh_status choose_gpu(void) {
    MPI_Comm near = MPI_COMM_NULL;
    int place = 0;
    LH_TRY(
        check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &near)));
    LH_TRY(check(MPI_Comm_rank(near, &place)));
    LH_TRY(check(MPI_Comm_free(&near)));
    lh_device_choose_gpu(place);
    return LH_OK;
}

static lh_status join(void) {
    int level = 0;
    LH_TRY(check(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level)));
    LH_TRY(check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)));
    LH_TRY(check(MPI_Comm_rank(MPI_COMM_WORLD, &world.base.rank)));
    LH_TRY(check(MPI_Comm_size(MPI_COMM_WORLD, &world.base.size)));
    world.base.start = start;
    world.base.progress = progress;
    world.base.finish = finish;
    world.base.abandon = abandon;
    world.base.sum = sum;
    world.base.merge = merge;
    if (world.base.size == 1) return LH_OK;
    LH_TRY(choose_gpu());
    return introduce();
}

/* ---- MPI's own beginning and end, which wait for all ranks; nobody but the clock watches them
 * ---- */

static void end_at_once(int signal_number) {
    static const char message[] =
        "longhaul: a rank said nothing at the start or the end of the others\n";
    (void)signal_number;
    (void)!write(STDERR_FILENO, message, sizeof message - 1);
    _exit(1);
}

static void start_clock(void) {
    const struct sigaction ends = {.sa_handler = end_at_once};
    if (world.limit <= 0) return;
    (void)sigaction(SIGALRM, &ends, NULL);
    (void)alarm((unsigned)world.limit + 1);
}

static void stop_clock(void) {
    (void)alarm(0);
}

lh_status lh_ranks_open(void) {
    if (!was_launched()) return LH_OK;
    LH_TRY(read_limit(&world.limit));
    start_clock();
    const lh_status status = join();
    stop_clock();
    return status;
}

static lh_status end_mpi(void) {
    start_clock();
    const lh_status status = check(MPI_Finalize());
    stop_clock();
    return status;
}

/* All have come to their end, and nothing that anybody told is on its way. */
static lh_status part(void) {
    if (world.base.size == 1) return LH_OK;
    LH_TRY(check(MPI_Ibarrier(MPI_COMM_WORLD, &world.request[world.requests++])));
    LH_TRY(await(poll_messages, true));
    return listen();
}

lh_communicator *lh_ranks(void) {
    return world.base.size > 1 ? &world.base : NULL;
}

lh_status lh_ranks_close(bool well) {
    lh_status status = LH_OK;
    if (well && world.base.size > 0 && !world.base.lost) {
        status = part();
        if (world.nccl != NULL) lh_nccl_close(world.nccl);
        if (status == LH_OK) status = end_mpi();
    }
    free(world.members);
    free(world.presences);
    world.members = NULL;
    world.presences = NULL;
    return status;
}
