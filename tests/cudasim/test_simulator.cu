/* The simulator must see what a GPU would punish: each test makes one mistake. */
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/mma.cuh"
#include "tests/cudasim/cudasim.h"

#include <initializer_list>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern "C" {
#include "harness/engine/error.h"
}
#include "tests/test.h"

/* Gives what cudaGetLastError gives; the text of a mistake stays with cudaGetErrorString. */
#define RUN(kernel, grid, block, shared_bytes, ...)                                                \
    (LH_LAUNCH_SYNTAX(kernel, grid, block, shared_bytes, nullptr, __VA_ARGS__), cudaGetLastError())
#define CHECK_STOPPED(error, text)                                                                 \
    do {                                                                                           \
        CHECK_EQ_INT(error, cudaErrorLaunchFailure);                                               \
        CHECK_CONTAINS(cudaGetErrorString(cudaErrorLaunchFailure), text);                          \
    } while (0)

enum { COUNT = 256 };

static float *device_floats(int count) {
    void *memory = nullptr;
    CHECK_EQ_INT(cudaMalloc(&memory, (size_t)count * sizeof(float)), cudaSuccess);
    return static_cast<float *>(memory);
}

static void fetch(float *host, const float *device, int count) {
    CHECK_EQ_INT(cudaMemcpy(host, device, (size_t)count * sizeof(float), cudaMemcpyDeviceToHost),
                 cudaSuccess);
}

static void release(float *device) {
    CHECK_EQ_INT(cudaFree(device), cudaSuccess);
}

/* ---- Barriers ---- */

__global__ void reverse(float *x) {
    LH_SHARED(float, row, [COUNT]);
    row[threadIdx.x] = (float)threadIdx.x;
    __syncthreads();
    x[threadIdx.x] = row[COUNT - 1 - threadIdx.x];
}

TEST(a_barrier_holds_in_every_order) {
    float *x = device_floats(COUNT), host[COUNT];
    for (int order = 0; order < CUDASIM_ORDERS; order++) {
        cudasim_set_order((cudasim_order)order);
        CHECK_EQ_INT(RUN(reverse, 1, COUNT, 0, x), cudaSuccess);
        fetch(host, x, COUNT);
        for (int i = 0; i < COUNT; i++)
            CHECK_NEAR(host[i], COUNT - 1 - i, 0);
    }
    cudasim_set_order(CUDASIM_ASCENDING);
    release(x);
}

__global__ void reverse_at_once(float *x) {
    LH_SHARED(float, row, [COUNT]);
    row[threadIdx.x] = (float)threadIdx.x;
    x[threadIdx.x] = row[COUNT - 1 - threadIdx.x];
}

TEST(without_a_barrier_the_order_shows_and_shared_memory_is_poison) {
    float *x = device_floats(COUNT), ascending[COUNT], descending[COUNT];
    CHECK_EQ_INT(RUN(reverse_at_once, 1, COUNT, 0, x), cudaSuccess);
    fetch(ascending, x, COUNT);
    cudasim_set_order(CUDASIM_DESCENDING);
    CHECK_EQ_INT(RUN(reverse_at_once, 1, COUNT, 0, x), cudaSuccess);
    fetch(descending, x, COUNT);
    cudasim_set_order(CUDASIM_ASCENDING);
    CHECK(isnan(ascending[0]) && !isnan(descending[0]));
    CHECK(!isnan(ascending[COUNT - 1]) && isnan(descending[COUNT - 1]));
    release(x);
}

__global__ void some_leave(int staying) {
    if ((int)threadIdx.x >= staying) return;
    __syncthreads();
}

__global__ void two_barriers(int border) {
    if ((int)threadIdx.x < border)
        __syncthreads();
    else
        __syncthreads();
}

TEST(diverging_barriers_are_reported) {
    CHECK_STOPPED(RUN(some_leave, 2, 64, 0, 40), "has left the kernel");
    CHECK_STOPPED(RUN(two_barriers, 1, 64, 0, 32), "divergence in block (0, 0, 0)");
    CHECK_EQ_INT(RUN(some_leave, 2, 64, 0, 64), cudaSuccess);
}

/* ---- Warps ---- */

__global__ void warp_sums(float *x) {
    float sum = (float)threadIdx.x;
    for (int step = LH_WARP / 2; step > 0; step /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, step);
    const unsigned odd = __ballot_sync(0xffffffffu, threadIdx.x % 2);
    x[threadIdx.x] = odd == 0xaaaaaaaau ? sum : -1.0f;
}

TEST(lanes_exchange_and_vote) {
    float *x = device_floats(COUNT), host[COUNT];
    CHECK_EQ_INT(RUN(warp_sums, 1, COUNT, 0, x), cudaSuccess);
    fetch(host, x, COUNT);
    for (int i = 0; i < COUNT; i++)
        CHECK_NEAR(host[i], 496 + i / 32 * 32 * 32, 0);
    release(x);
}

__global__ void lonely_exchange(unsigned mask) {
    if (threadIdx.x > 0) return;
    __shfl_sync(mask, 1.0f, 0);
}

TEST(a_mask_must_name_the_lanes_that_come) {
    CHECK_STOPPED(RUN(lonely_exchange, 1, 32, 0, 0xffffffffu), "waits for its warp");
    CHECK_STOPPED(RUN(lonely_exchange, 1, 32, 0, 2u), "is not in its own mask");
    CHECK_STOPPED(RUN(lonely_exchange, 1, 8, 0, 0xffffffffu), "does not have");
    CHECK_EQ_INT(RUN(lonely_exchange, 1, 32, 0, 1u), cudaSuccess);
}

/* ---- Matrices of a warp ---- */

enum { SIDE = 16, MATRIX_PITCH = 24, MATRIX = SIDE * MATRIX_PITCH };

/* c [16][8] = a [16][16] b, where b is [16][8], or the upper half of its transposed [16][16]. */
__global__ void multiply(const float *a, const float *b, float *c, bool transposed, int shift) {
    LH_SHARED(lh_bf16_run, left, [MATRIX / LH_RUN]);
    LH_SHARED(lh_bf16_run, right, [MATRIX / LH_RUN + LH_RUN]);
    __nv_bfloat16 *of_left = left[0].at, *of_right = right[0].at + shift;
    for (int i = (int)threadIdx.x; i < SIDE * SIDE; i += LH_WARP) {
        of_left[i / SIDE * MATRIX_PITCH + i % SIDE] = __float2bfloat16_rn(a[i]);
        of_right[i / SIDE * MATRIX_PITCH + i % SIDE] = __float2bfloat16_rn(b[i]);
    }
    __syncwarp();
    const int lane = (int)threadIdx.x;
    lh_mma_left operand;
    unsigned others[4];
    lh_mma_sums sums = {1, 1, 1, 1};
    lh_load_matrices(operand, lh_row_downwards(of_left, MATRIX_PITCH, lane), false);
    lh_load_matrices(others,
                     transposed ? lh_row_across(of_right, MATRIX_PITCH, lane)
                                : lh_row_downwards(of_right, MATRIX_PITCH, lane),
                     !transposed);
    lh_multiply_add(sums, operand, others[0], others[1]);
    for (int n = 0; n < LH_MMA_SUMS; ++n)
        c[lh_mma_row(lane, n) * 8 + lh_mma_column(lane, n)] = sums[n];
}

TEST(a_product_of_a_warp_is_that_of_its_matrices) {
    enum { ELEMENTS = SIDE * SIDE };
    float *x = device_floats(3 * ELEMENTS), host[2 * ELEMENTS], c[ELEMENTS];
    for (int i = 0; i < 2 * ELEMENTS; i++)
        host[i] = (float)(i * 37 % 101 - 50); /* in bf16 as they are */
    CHECK_EQ_INT(cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice), cudaSuccess);
    for (int transposed = 0; transposed < 2; transposed++) {
        CHECK_EQ_INT(RUN(multiply, 1, LH_WARP, 0, x, x + ELEMENTS, x + 2 * ELEMENTS, transposed, 0),
                     cudaSuccess);
        fetch(c, x + 2 * ELEMENTS, SIDE * 8);
        for (int i = 0; i < SIDE; i++) {
            for (int j = 0; j < 8; j++) {
                const float *b = host + ELEMENTS;
                float sum = 1;
                for (int l = 0; l < SIDE; l++)
                    sum += host[i * SIDE + l] * (transposed ? b[j * SIDE + l] : b[l * SIDE + j]);
                CHECK_NEAR(c[i * 8 + j], sum, 0);
            }
        }
    }
    CHECK_STOPPED(RUN(multiply, 1, LH_WARP, 0, x, x + ELEMENTS, x + 2 * ELEMENTS, false, 4),
                  "is not aligned to 16 bytes");
    release(x);
}

/* ---- Launches ---- */

__global__ void nothing(int) {
}

__global__ void use_dynamic(float *x) {
    LH_SHARED_DYNAMIC(float, row);
    row[threadIdx.x] = 2.0f;
    __syncthreads();
    x[threadIdx.x] = row[blockDim.x - 1 - threadIdx.x];
}

TEST(a_launch_beyond_the_limits_fails) {
    CHECK_EQ_INT(RUN(nothing, 1, 1025, 0, 0), cudaErrorInvalidConfiguration);
    CHECK_EQ_INT(RUN(nothing, 0, 32, 0, 0), cudaErrorInvalidConfiguration);
    CHECK_EQ_INT(RUN(nothing, dim3(1, 65536), 32, 0, 0), cudaErrorInvalidConfiguration);
    CHECK_EQ_INT(RUN(nothing, 1, 32, (48 << 10) + 1, 0), cudaErrorInvalidConfiguration);
    CHECK_EQ_INT(RUN(nothing, 1, 1024, 48 << 10, 0), cudaSuccess);
}

TEST(more_dynamic_memory_must_be_asked_for) {
    float *x = device_floats(32), host[32];
    const size_t bytes = 64 << 10;
    CHECK_EQ_INT(RUN(use_dynamic, 1, 32, bytes, x), cudaErrorInvalidConfiguration);
    CHECK_EQ_INT(
        cudaFuncSetAttribute(use_dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes),
        cudaSuccess);
    CHECK_EQ_INT(RUN(use_dynamic, 1, 32, bytes, x), cudaSuccess);
    fetch(host, x, 32);
    CHECK_NEAR(host[31], 2, 0);
    release(x);
}

TEST(an_unchecked_launch_is_reported_by_the_next) {
    LH_LAUNCH_SYNTAX(nothing, 1, 32, 0, nullptr, 0);
    CHECK_STOPPED(RUN(nothing, 1, 32, 0, 0), "nobody checked the launch");
    CHECK_EQ_INT(RUN(nothing, 1, 32, 0, 0), cudaSuccess);
}

/* ---- Memory ---- */

__global__ void write_at(float *x, int index) {
    x[index] = 1.0f;
}

__global__ void write_shared_at(int index) {
    LH_SHARED(float, row, [8]);
    row[index] = 1.0f;
}

TEST(copies_and_arguments_keep_to_their_side) {
    float *x = device_floats(4), host[8] = {0};
    CHECK_EQ_INT(cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    CHECK_EQ_INT(cudaMemcpy(host, x, 16, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    CHECK_EQ_INT(cudaMemcpy(host, x, 16, cudaMemcpyDeviceToHost), cudaSuccess);
    CHECK(isnan(host[0]));
    CHECK(RUN(write_at, 1, 1, 0, host, 0) != cudaSuccess);
    CHECK_EQ_INT(cudaFree(host), cudaErrorInvalidValue);
    release(x);
}

typedef struct pointers {
    int32_t first; /* a gap follows */
    float *x;
    int32_t last; /* and here */
} pointers;

__global__ void take_pointers(pointers p) {
    if (p.first > 0) p.x[0] = 1.0f;
}

TEST(an_address_of_the_host_in_an_argument_is_found) {
    float *x = device_floats(1), host = 0;
    CHECK_EQ_INT(RUN(take_pointers, 1, 1, 0, (pointers{1, x, 0})), cudaSuccess);
    CHECK_EQ_INT(RUN(take_pointers, 1, 1, 0, (pointers{0, x + 1, 0})), cudaSuccess);
    release(x);
    CHECK_EQ_INT(RUN(take_pointers, 1, 1, 0, (pointers{0, &host, 0})), cudaErrorInvalidValue);
    CHECK_EQ_INT(RUN(take_pointers, 1, 1, 0, (pointers{0, nullptr, 0})), cudaSuccess);
}

/* The gap behind `last` holds the upper half of an address, and `last` happens to be the lower. */
TEST(an_address_in_a_gap_between_fields_is_no_mistake) {
    const float host = 0, *const address = &host;
    pointers p;
    memset(&p, 0, sizeof p);
    memcpy(&p.last, &address, sizeof address);
    cudasim_check_argument("take_pointers", p);
    CHECK_EQ_INT(cudaGetLastError(), cudaSuccess);
}

typedef struct sources {
    pointers source[3];
    pointers behind;
} sources;

/* Where something is mapped at the beginning of four gigabytes, whatever the machine chooses. */
TEST(a_small_number_and_a_gap_behind_an_array_are_no_mistake) {
    enum { PAGE = 4096, SMALL = 2 };
    void *const wanted = reinterpret_cast<void *>((uintptr_t)0x5fff << 32);
    char *page = static_cast<char *>(
        mmap(wanted, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0));
    REQUIRE(page == wanted);
    const char *const address = page + SMALL;
    sources s;
    memset(&s, 0, sizeof s);
    memcpy(&s.behind.last, &address, sizeof address);
    cudasim_check_argument("take_sources", s);
    CHECK_EQ_INT(cudaGetLastError(), cudaSuccess);
    munmap(page, PAGE);
}

/* A thread asks for four floats, and for none, and waits for them or not. */
__global__ void copy_later(const float *from, float *to, bool wait_first, bool wait_last) {
    LH_SHARED(float4, row, [2]);
    lh_copy_later(&row[0], from, true);
    lh_copy_later(&row[1], from, false);
    if (wait_first) lh_await_copies();
    to[0] = row[0].w;
    to[1] = row[1].w;
    if (wait_last) lh_await_copies();
}

TEST(a_copy_to_shared_memory_is_there_after_its_wait_alone) {
    float *x = device_floats(8), host[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    CHECK_EQ_INT(cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice), cudaSuccess);
    CHECK_EQ_INT(RUN(copy_later, 1, 1, 0, x, x + 4, true, true), cudaSuccess);
    CHECK_EQ_INT(cudaMemcpy(host, x + 4, 8, cudaMemcpyDeviceToHost), cudaSuccess);
    CHECK(host[0] == 4 && host[1] == 0);
    CHECK_EQ_INT(RUN(copy_later, 1, 1, 0, x, x + 4, false, true), cudaSuccess);
    CHECK_EQ_INT(cudaMemcpy(host, x + 4, 8, cudaMemcpyDeviceToHost), cudaSuccess);
    CHECK(isnan(host[0]) && isnan(host[1]));
    CHECK_STOPPED(RUN(copy_later, 1, 1, 0, x, x + 4, false, false),
                  "without what it asked to copy");
    CHECK_STOPPED(RUN(copy_later, 1, 1, 0, x + 1, x + 4, true, true), "is not aligned");
    release(x);
}

/* A copy is asked for over what is still to be read. */
__global__ void copy_over(const float *from, float *to) {
    LH_SHARED(float4, row, [1]);
    row[0] = {1, 2, 3, 4};
    lh_copy_later(&row[0], from, true);
    to[0] = row[0].w;
    lh_await_copies();
}

TEST(a_copy_to_shared_memory_takes_its_place_at_once) {
    float *x = device_floats(8), host[8] = {0};
    CHECK_EQ_INT(cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice), cudaSuccess);
    CHECK_EQ_INT(RUN(copy_over, 1, 1, 0, x, x + 4), cudaSuccess);
    CHECK_EQ_INT(cudaMemcpy(host, x + 4, 4, cudaMemcpyDeviceToHost), cudaSuccess);
    CHECK(isnan(host[0]));
    release(x);
}

TEST(memory_runs_out_and_devices_go) {
    void *memory = nullptr;
    cudasim_set_memory(1 << 20);
    CHECK_EQ_INT(cudaMalloc(&memory, 2 << 20), cudaErrorMemoryAllocation);
    cudasim_set_memory((size_t)1 << 30);
    lh_device *device = nullptr;
    cudasim_set_devices(0);
    CHECK_EQ_INT(lh_device_open("cuda", &device), LH_EDEVICE);
    CHECK_CONTAINS(lh_device_error(), "no CUDA-capable device");
    cudasim_set_devices(1);
    CHECK_EQ_INT(lh_device_open("cuda", &device), LH_OK);
    lh_device_close(device);
}

/* ---- Graphs ---- */

/* Captures a launch of the kernel on one element. */
static cudaGraph_t captured(cudaStream_t stream, void (*kernel)(float *, int), float *x, int at) {
    cudaGraph_t graph = nullptr;
    CHECK_EQ_INT(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), cudaSuccess);
    LH_LAUNCH_SYNTAX(kernel, 1, 1, 0, stream, x, at);
    CHECK_EQ_INT(cudaGetLastError(), cudaSuccess);
    CHECK_EQ_INT(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    return graph;
}

__global__ void erase_at(float *x, int index) {
    x[index] = 0.0f;
}

TEST(a_graph_runs_when_it_is_launched_and_takes_new_arguments) {
    float *x = device_floats(4), host[4];
    cudaStream_t stream = nullptr;
    cudaGraphExec_t executable = nullptr;
    cudaGraphExecUpdateResultInfo info;
    CHECK_EQ_INT(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    const cudaGraph_t first = captured(stream, write_at, x, 1);
    const cudaGraph_t second = captured(stream, write_at, x, 2);
    const cudaGraph_t other = captured(stream, erase_at, x, 3);
    CHECK_EQ_INT(cudaGraphInstantiate(&executable, first, 0), cudaSuccess);
    fetch(host, x, 4);
    CHECK(isnan(host[1]));
    CHECK_EQ_INT(cudaGraphLaunch(executable, stream), cudaSuccess);
    CHECK_EQ_INT(cudaGraphExecUpdate(executable, second, &info), cudaSuccess);
    CHECK_EQ_INT(cudaGraphExecUpdate(executable, other, &info), cudaErrorGraphExecUpdateFailure);
    CHECK_EQ_INT(cudaStreamSynchronize(stream), cudaSuccess);
    fetch(host, x, 4);
    CHECK_NEAR(host[1], 1, 0);
    CHECK(isnan(host[2]));
    CHECK_EQ_INT(cudaGraphLaunch(executable, stream), cudaSuccess);
    CHECK_EQ_INT(cudaStreamSynchronize(stream), cudaSuccess);
    fetch(host, x, 4);
    CHECK_NEAR(host[2], 1, 0);
    CHECK_EQ_INT(cudaGraphExecDestroy(executable), cudaSuccess);
    for (const cudaGraph_t graph : {first, second, other})
        CHECK_EQ_INT(cudaGraphDestroy(graph), cudaSuccess);
    CHECK_EQ_INT(cudaStreamDestroy(stream), cudaSuccess);
    release(x);
}

TEST(a_captured_stream_refuses_what_would_wait_or_be_gone) {
    float *x = device_floats(4), host[4] = {0};
    void *pinned = nullptr;
    cudaStream_t stream = nullptr;
    cudaGraph_t graph = nullptr;
    CHECK_EQ_INT(cudaMallocHost(&pinned, sizeof host), cudaSuccess);
    CHECK_EQ_INT(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    CHECK_EQ_INT(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), cudaSuccess);
    CHECK_EQ_INT(cudaMemcpyAsync(x, host, sizeof host, cudaMemcpyHostToDevice, stream),
                 cudaErrorStreamCaptureUnsupported);
    CHECK_EQ_INT(cudaMemcpyAsync(x, pinned, sizeof host, cudaMemcpyHostToDevice, stream),
                 cudaSuccess);
    CHECK_EQ_INT(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported);
    CHECK_EQ_INT(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    CHECK_EQ_INT(cudaGraphDestroy(graph), cudaSuccess);
    CHECK_EQ_INT(cudaStreamDestroy(stream), cudaSuccess);
    CHECK_EQ_INT(cudaFreeHost(pinned), cudaSuccess);
    release(x);
}

/* What a copy on one stream finds of a kernel on another, whose event it waits for or not. */
static float copied_beside(bool waits) {
    float *x = device_floats(4), *pinned = nullptr;
    cudaStream_t stream = nullptr, beside = nullptr;
    cudaEvent_t written = nullptr;
    CHECK_EQ_INT(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    CHECK_EQ_INT(cudaStreamCreateWithFlags(&beside, cudaStreamNonBlocking), cudaSuccess);
    CHECK_EQ_INT(cudaEventCreateWithFlags(&written, cudaEventDisableTiming), cudaSuccess);
    CHECK_EQ_INT(cudaMallocHost((void **)&pinned, 4 * sizeof *pinned), cudaSuccess);
    LH_LAUNCH_SYNTAX(write_at, 1, 1, 0, stream, x, 2);
    CHECK_EQ_INT(cudaGetLastError(), cudaSuccess);
    CHECK_EQ_INT(cudaEventRecord(written, stream), cudaSuccess);
    if (waits) CHECK_EQ_INT(cudaStreamWaitEvent(beside, written, 0), cudaSuccess);
    CHECK_EQ_INT(cudaMemcpyAsync(pinned, x, 4 * sizeof *pinned, cudaMemcpyDeviceToHost, beside),
                 cudaSuccess);
    CHECK_EQ_INT(cudaStreamSynchronize(beside), cudaSuccess);
    const float found = pinned[2];
    CHECK_EQ_INT(cudaEventSynchronize(written), cudaSuccess);
    CHECK_EQ_INT(cudaEventDestroy(written), cudaSuccess);
    CHECK_EQ_INT(cudaStreamDestroy(beside), cudaSuccess);
    CHECK_EQ_INT(cudaStreamDestroy(stream), cudaSuccess);
    CHECK_EQ_INT(cudaFreeHost(pinned), cudaSuccess);
    release(x);
    return found;
}

TEST(streams_wait_for_each_other_by_events_alone) {
    CHECK_NEAR(copied_beside(true), 1, 0);
    CHECK(isnan(copied_beside(false)));
}

TEST(a_copy_fetches_pinned_memory_as_late_as_it_may) {
    float *x = device_floats(1), host = 1, found = 0, *pinned = nullptr;
    cudaStream_t stream = nullptr;
    CHECK_EQ_INT(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    CHECK_EQ_INT(cudaMallocHost((void **)&pinned, sizeof *pinned), cudaSuccess);
    *pinned = 1;
    CHECK_EQ_INT(cudaMemcpyAsync(x, pinned, sizeof *x, cudaMemcpyHostToDevice, stream),
                 cudaSuccess);
    *pinned = 2; /* too early */
    CHECK_EQ_INT(cudaStreamSynchronize(stream), cudaSuccess);
    fetch(&found, x, 1);
    CHECK_NEAR(found, 2, 0);
    CHECK_EQ_INT(cudaMemcpyAsync(x, &host, sizeof *x, cudaMemcpyHostToDevice, stream), cudaSuccess);
    host = 3; /* pageable memory was fetched before */
    CHECK_EQ_INT(cudaStreamSynchronize(stream), cudaSuccess);
    fetch(&found, x, 1);
    CHECK_NEAR(found, 1, 0);
    CHECK_EQ_INT(cudaFreeHost(pinned), cudaSuccess);
    CHECK_EQ_INT(cudaStreamDestroy(stream), cudaSuccess);
    release(x);
}

/* A capture of `stream` that forks to `beside` and gives it a copy; whether it waits for that. */
static cudaError_t capture_with_fork(cudaStream_t stream, cudaStream_t beside, float *x,
                                     bool joins) {
    cudaEvent_t forked = nullptr, joined = nullptr;
    cudaGraph_t graph = nullptr;
    CHECK_EQ_INT(cudaEventCreateWithFlags(&forked, cudaEventDisableTiming), cudaSuccess);
    CHECK_EQ_INT(cudaEventCreateWithFlags(&joined, cudaEventDisableTiming), cudaSuccess);
    CHECK_EQ_INT(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), cudaSuccess);
    CHECK_EQ_INT(cudaEventRecord(forked, stream), cudaSuccess);
    CHECK_EQ_INT(cudaStreamWaitEvent(beside, forked, 0), cudaSuccess);
    CHECK_EQ_INT(cudaEventRecord(joined, beside), cudaSuccess);
    CHECK_EQ_INT(cudaMemsetAsync(x, 0, sizeof *x, beside), cudaSuccess);
    if (joins) CHECK_EQ_INT(cudaEventRecord(joined, beside), cudaSuccess);
    CHECK_EQ_INT(cudaStreamWaitEvent(stream, joined, 0),
                 cudaSuccess); /* too early, or late enough */
    const cudaError_t ended = cudaStreamEndCapture(stream, &graph);
    if (graph != nullptr) CHECK_EQ_INT(cudaGraphDestroy(graph), cudaSuccess);
    CHECK_EQ_INT(cudaEventDestroy(forked), cudaSuccess);
    CHECK_EQ_INT(cudaEventDestroy(joined), cudaSuccess);
    return ended;
}

TEST(what_forks_from_a_capture_has_to_be_joined) {
    cudaStream_t stream = nullptr, beside = nullptr;
    cudaEvent_t before = nullptr;
    float *x = device_floats(1);
    cudaGraph_t graph = nullptr;
    CHECK_EQ_INT(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    CHECK_EQ_INT(cudaStreamCreateWithFlags(&beside, cudaStreamNonBlocking), cudaSuccess);
    CHECK_EQ_INT(cudaEventCreateWithFlags(&before, cudaEventDisableTiming), cudaSuccess);
    CHECK_EQ_INT(capture_with_fork(stream, beside, x, true), cudaSuccess);
    CHECK_EQ_INT(capture_with_fork(stream, beside, x, false), cudaErrorStreamCaptureUnjoined);
    CHECK_EQ_INT(capture_with_fork(stream, beside, x, true), cudaSuccess);
    CHECK_EQ_INT(cudaEventRecord(before, beside), cudaSuccess);
    CHECK_EQ_INT(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), cudaSuccess);
    CHECK_EQ_INT(cudaStreamWaitEvent(stream, before, 0), cudaErrorStreamCaptureIsolation);
    CHECK_EQ_INT(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    CHECK_EQ_INT(cudaGraphDestroy(graph), cudaSuccess);
    CHECK_EQ_INT(cudaEventDestroy(before), cudaSuccess);
    CHECK_EQ_INT(cudaStreamDestroy(beside), cudaSuccess);
    CHECK_EQ_INT(cudaStreamDestroy(stream), cudaSuccess);
    release(x);
}

TEST(a_page_of_host_memory_is_pinned_once) {
    enum { PAGE = 4096 };
    alignas(PAGE) static char pages[2 * PAGE];
    char *const second = pages + PAGE;
    CHECK_EQ_INT(cudaHostRegister(pages, 64, cudaHostRegisterDefault), cudaSuccess);
    CHECK_EQ_INT(cudaHostRegister(pages + 64, 64, cudaHostRegisterDefault),
                 cudaErrorHostMemoryAlreadyRegistered);
    CHECK_EQ_INT(cudaHostRegister(second - 1, 2, cudaHostRegisterDefault),
                 cudaErrorHostMemoryAlreadyRegistered);
    CHECK_EQ_INT(cudaHostRegister(second, 64, cudaHostRegisterDefault), cudaSuccess);
    CHECK_EQ_INT(cudaHostUnregister(second), cudaSuccess);
    CHECK_EQ_INT(cudaHostUnregister(pages), cudaSuccess);
}

TEST(host_memory_is_pinned_once) {
    float host[4] = {1, 2, 3, 4}, *x = device_floats(4);
    CHECK_EQ_INT(cudaHostRegister(host, sizeof host, cudaHostRegisterDefault), cudaSuccess);
    CHECK_EQ_INT(cudaHostRegister(host, sizeof host, cudaHostRegisterDefault),
                 cudaErrorHostMemoryAlreadyRegistered);
    CHECK_EQ_INT(cudaHostRegister(x, sizeof host, cudaHostRegisterDefault), cudaErrorInvalidValue);
    CHECK_EQ_INT(cudaHostUnregister(host), cudaSuccess);
    CHECK_EQ_INT(cudaHostUnregister(host), cudaErrorInvalidValue);
    release(x);
}

#if defined(__SANITIZE_ADDRESS__)

/* Whether the mistake ends the process. */
template <typename mistake> static bool is_fatal(mistake make) {
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        (void)!freopen("/dev/null", "w", stderr);
        make();
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status != 0;
}

TEST(the_sanitizer_sees_access_out_of_bounds) {
    float *x = device_floats(4);
    CHECK(!is_fatal([=] { (void)RUN(write_at, 1, 1, 0, x, 3); }));
    CHECK(is_fatal([=] { (void)RUN(write_at, 1, 1, 0, x, 4); }));
    CHECK(is_fatal([=] { (void)RUN(write_at, 1, 1, 0, x, -1); }));
    CHECK(!is_fatal([=] { (void)RUN(write_shared_at, 1, 1, 0, 7); }));
    CHECK(is_fatal([=] { (void)RUN(write_shared_at, 1, 1, 0, 8); }));
    CHECK(is_fatal([=] { (void)RUN(use_dynamic, 1, 32, 31 * sizeof(float), x); }));
    CHECK(is_fatal([=] { x[0] = 1.0f; })); /* the host in device memory */
    release(x);
}

#endif
