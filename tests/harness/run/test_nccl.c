/* Sums over GPUs where a rank is lost: NCCL and CUDA answer what a test says (tests/nccl), and what
 * they were asked for is noted in order. A call that could wait for another rank is not among those
 * that they know. */
#include <string.h>

/* The program has a stand-in of the same names (nccl_none.c). */
#define lh_nccl_open       tested_open
#define lh_nccl_start      tested_start
#define lh_nccl_poll       tested_poll
#define lh_nccl_is_summing tested_is_summing
#define lh_nccl_close      tested_close
#include "harness/run/nccl.c"

#include "tests/test.h"

static struct {
    ncclResult_t meeting, state; /* of the call that opens a communicator; of the communicator */
    cudaError_t work;            /* of its stream */
    bool blocking;
    char calls[256];
} fake;

static void note(const char *call) {
    strncat(fake.calls, call, sizeof fake.calls - strlen(fake.calls) - 1);
    strncat(fake.calls, " ", sizeof fake.calls - strlen(fake.calls) - 1);
}

/* ---- what is asked ---- */

static char communicator_memory, stream_memory, event_memory, device_memory;

ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
    id->internal[0] = 'n';
    note("id");
    return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *communicator, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t *config) {
    CHECK(rank < ranks && id.internal[0] == 'n');
    fake.blocking = config->blocking != 0;
    if (fake.meeting == ncclSuccess || fake.meeting == ncclInProgress)
        *communicator = (ncclComm_t)(void *)&communicator_memory;
    note("meet");
    return fake.meeting;
}

ncclResult_t ncclCommAbort(ncclComm_t communicator) {
    CHECK(communicator == (void *)&communicator_memory);
    note("abort");
    return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t communicator, ncclResult_t *state) {
    CHECK(communicator == (void *)&communicator_memory);
    *state = fake.state;
    return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void *from, void *to, size_t count, ncclDataType_t type,
                           ncclRedOp_t operation, ncclComm_t communicator, cudaStream_t stream) {
    CHECK(from == to && count == 3 && operation == ncclSum);
    CHECK(type == (sizeof(real) == sizeof(float) ? ncclFloat32 : ncclFloat64));
    CHECK(communicator == (void *)&communicator_memory && stream == (void *)&stream_memory);
    note("sum");
    return ncclInProgress;
}

const char *ncclGetErrorString(ncclResult_t result) {
    return result == ncclRemoteError ? "a peer has gone" : "a call was wrong";
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) {
    CHECK_EQ_INT(flags, cudaStreamNonBlocking);
    *stream = (cudaStream_t)(void *)&stream_memory;
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    CHECK(stream == (void *)&stream_memory);
    note("stream-gone");
    return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
    CHECK(stream == (void *)&stream_memory);
    note("query");
    return fake.work;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
    CHECK(stream == (void *)&stream_memory && event == (void *)&event_memory && flags == 0);
    note("after-gradients");
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags) {
    CHECK_EQ_INT(flags, cudaEventDisableTiming);
    *event = (cudaEvent_t)(void *)&event_memory;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    CHECK(event == (void *)&event_memory && stream == (void *)&device_memory);
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
    CHECK(event == (void *)&event_memory);
    note("event-gone");
    return cudaSuccess;
}

const char *cudaGetErrorString(cudaError_t error) {
    return error == cudaErrorIllegalAddress ? "an address is wrong" : "no error";
}

/* ---- a rank ---- */

/* Has from rank 0 what it did not make itself. */
static lh_status merge(lh_communicator *ranks, void *x, size_t bytes) {
    if (ranks->rank > 0 && bytes > 0) *(char *)x = 'n';
    return LH_OK;
}

static lh_nccl *open_rank(int rank) {
    lh_communicator ranks = {.rank = rank, .size = 2, .merge = merge};
    lh_nccl *nccl = NULL;
    memset(&fake, 0, sizeof fake);
    fake.meeting = ncclInProgress;
    fake.state = ncclSuccess;
    fake.blocking = true;
    CHECK_OK(tested_open(&ranks, &nccl));
    return nccl;
}

static void start_sum(lh_nccl *nccl) {
    static real x[3];
    void *stream = &device_memory;
    lh_device device = {.stream = &stream};
    CHECK_OK(tested_start(nccl, &device, x, 3));
}

TEST(ranks_meet_without_waiting) {
    bool done = true;
    for (int rank = 0; rank < 2; ++rank) {
        lh_nccl *nccl = open_rank(rank);
        CHECK(!fake.blocking);
        CHECK_STR(fake.calls, rank == 0 ? "id meet " : "meet ");
        fake.state = ncclInProgress;
        CHECK_OK(tested_poll(nccl, false, &done));
        CHECK(!done);
        fake.state = ncclSuccess;
        CHECK_OK(tested_poll(nccl, false, &done));
        CHECK(done);
        tested_close(nccl);
    }
}

TEST(sums_are_there_when_their_stream_is_done) {
    bool done = true;
    lh_nccl *nccl = open_rank(1);
    CHECK(!tested_is_summing(nccl));
    start_sum(nccl);
    CHECK(tested_is_summing(nccl));
    fake.work = cudaErrorNotReady;
    CHECK_OK(tested_poll(nccl, true, &done));
    CHECK(!done && tested_is_summing(nccl));
    fake.work = cudaSuccess;
    CHECK_OK(tested_poll(nccl, true, &done));
    CHECK(done && !tested_is_summing(nccl));
    CHECK_STR(fake.calls, "meet after-gradients sum query query ");
    tested_close(nccl);
}

/* Else a backward pass that frees memory, or starts a kernel for the first time, would wait for the
 * part of a rank that is lost. */
TEST(the_first_steps_wait_for_each_sum) {
    bool done = true;
    lh_nccl *nccl = open_rank(1);
    for (int sums = 0; sums < 4; ++sums) {
        start_sum(nccl);
        fake.work = cudaErrorNotReady;
        CHECK_OK(tested_poll(nccl, false, &done));
        CHECK(!done);
        fake.work = cudaSuccess;
        CHECK_OK(tested_poll(nccl, false, &done));
        CHECK(done);
        CHECK_OK(tested_poll(nccl, true, &done));
        CHECK(done);
    }
    start_sum(nccl);
    fake.work = cudaErrorNotReady;
    CHECK_OK(tested_poll(nccl, false, &done));
    CHECK(done);
    CHECK_OK(tested_poll(nccl, true, &done));
    CHECK(!done);
    tested_close(nccl);
}

/* The others' part never comes, so that the stream is never done: who waits for it, or lets it go
 * before its sums are given up, hangs. */
TEST(a_lost_rank_is_told_and_its_sums_are_given_up) {
    bool done = true;
    lh_nccl *nccl = open_rank(1);
    start_sum(nccl);
    fake.work = cudaErrorNotReady;
    fake.state = ncclRemoteError;
    CHECK_FAILS(tested_poll(nccl, true, &done), LH_EDEVICE, "NCCL: a peer has gone");
    tested_close(nccl);
    CHECK_STR(fake.calls, "meet after-gradients sum abort event-gone stream-gone ");
}

TEST(a_meeting_that_fails_leaves_nothing) {
    lh_communicator ranks = {.rank = 1, .size = 2, .merge = merge};
    lh_nccl *nccl = NULL;
    memset(&fake, 0, sizeof fake);
    fake.meeting = ncclInvalidUsage;
    CHECK_FAILS(tested_open(&ranks, &nccl), LH_EDEVICE, "NCCL: a call was wrong");
    CHECK(nccl == NULL);
    CHECK_STR(fake.calls, "meet event-gone stream-gone ");
}

TEST(what_cuda_says_of_the_sums_is_told) {
    bool done = true;
    lh_nccl *nccl = open_rank(1);
    start_sum(nccl);
    fake.work = cudaErrorIllegalAddress;
    CHECK_FAILS(tested_poll(nccl, true, &done), LH_EDEVICE, "CUDA: an address is wrong");
    tested_close(nccl);
}
