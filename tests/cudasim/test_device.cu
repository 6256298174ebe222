/* The GPU as a device, over the simulator: which one it is, and how often a step's graph is made.
 */
#include "kernels/cuda/launch.cuh"
#include "kernels/device.h"
#include "tests/cudasim/cudasim.h"
#include "tests/cudasim/include/cuda_runtime.h"

extern "C" {
#include "harness/engine/error.h"
}
#include "tests/test.h"

static lh_device *open_device(void) {
    lh_device *device = nullptr;
    CHECK_EQ_INT(lh_device_open("cuda", &device), LH_OK);
    return device;
}

static int current_gpu(void) {
    int number = -1;
    CHECK_EQ_INT(cudaGetDevice(&number), cudaSuccess);
    return number;
}

TEST(ranks_take_the_gpus_in_turn) {
    cudasim_set_devices(3);
    for (int place = 0; place < 5; ++place) {
        lh_device_choose_gpu(place);
        lh_device *device = open_device();
        CHECK_EQ_INT(current_gpu(), place % 3);
        lh_device_close(device);
    }
    cudasim_set_devices(1);
    lh_device_choose_gpu(4);
    lh_device_close(open_device());
    CHECK_EQ_INT(current_gpu(), 0);
    lh_device_choose_gpu(0);
}

/* A step that uploads so much and changes it on the device. */
static void step(lh_device *device, void *memory, char value, size_t bytes) {
    char *host = (char *)malloc(bytes), first = 0;
    memset(host, value, bytes);
    CHECK_EQ_INT(device->begin_step(device), LH_OK);
    CHECK_EQ_INT(device->upload(device, memory, host, bytes), LH_OK);
    CHECK_EQ_INT(device->end_step(device), LH_OK);
    CHECK_EQ_INT(device->download(device, &first, (char *)memory + bytes - 1, 1), LH_OK);
    CHECK_EQ_INT(first, value);
    free(host);
}

TEST(a_step_that_repeats_is_made_a_graph_once) {
    static const size_t sizes[] = {100, 3 << 20}; /* less and more than room that was taken first */
    for (const size_t bytes : sizes) {
        lh_device *device = open_device();
        const int before = cudasim_graphs();
        void *memory = nullptr;
        CHECK_EQ_INT(device->allocate(device, bytes, &memory), LH_OK);
        for (char i = 1; i <= 8; ++i)
            step(device, memory, i, bytes);
        CHECK_EQ_INT(cudasim_graphs() - before, 1);
        CHECK_EQ_INT(device->graphs_made, 1);
        device->release(device, memory);
        lh_device_close(device);
    }
}

/* A step with another sequence of copies makes the driver refuse the update. */
TEST(a_graph_that_is_made_anew_is_counted) {
    lh_device *device = open_device();
    void *memory = nullptr;
    CHECK_EQ_INT(device->allocate(device, 64, &memory), LH_OK);
    for (char i = 1; i <= 4; ++i)
        step(device, memory, i, 64);
    CHECK_EQ_INT(device->graphs_made, 1);
    CHECK_EQ_INT(device->begin_step(device), LH_OK);
    for (int i = 0; i < 2; ++i)
        CHECK_EQ_INT(device->upload(device, memory, "ab", 2), LH_OK);
    CHECK_EQ_INT(device->end_step(device), LH_OK);
    CHECK_EQ_INT(device->graphs_made, 2);
    device->release(device, memory);
    lh_device_close(device);
}

/* Memory goes back to the GPU where there is little, too little maybe for the graph of what was
 * held back until then, which is lost; releasing cannot tell. */
TEST(a_step_whose_work_was_lost_fails) {
    lh_device *device = open_device();
    void *memory = nullptr, *other = nullptr;
    CHECK_EQ_INT(device->allocate(device, 64, &memory), LH_OK);
    for (char i = 1; i <= 2; ++i)
        step(device, memory, i, 64);
    CHECK_EQ_INT(device->allocate(device, 64, &other), LH_OK);
    CHECK_EQ_INT(device->begin_step(device), LH_OK);
    CHECK_EQ_INT(device->upload(device, memory, "a", 1), LH_OK);
    cudasim_make_graphs(false);
    device->release(device, other);
    cudasim_make_graphs(true);
    CHECK_EQ_INT(device->upload(device, memory, "b", 1), LH_OK);
    CHECK_EQ_INT(device->synchronize(device), LH_EMEMORY);
    CHECK_EQ_INT(device->end_step(device), LH_EMEMORY);
    CHECK_CONTAINS(lh_device_error(), "cudaGraphInstantiate");
    step(device, memory, 'c', 64);
    device->release(device, memory);
    lh_device_close(device);
}

/* The runtime keeps an error until somebody asks for the last one, which a launch does. */
TEST(an_error_that_was_told_is_none_of_the_next_launch) {
    lh_device *device = open_device();
    void *memory = nullptr;
    CHECK_EQ_INT(LH_CUDA(cudaMalloc(&memory, (size_t)1 << 40)), LH_EMEMORY);
    CHECK_CONTAINS(lh_device_error(), "cudaErrorMemoryAllocation");
    CHECK_EQ_INT(cudaPeekAtLastError(), cudaSuccess);
    lh_device_close(device);
}

__global__ void use_shared(float *x) {
    LH_SHARED_DYNAMIC(float, memory);
    memory[threadIdx.x] = (float)threadIdx.x;
    x[threadIdx.x] = memory[threadIdx.x];
}

static lh_status launch_with(const lh_launch *launch, float *x, unsigned bytes) {
    return LH_LAUNCH(use_shared, 1, 32, bytes, launch, x);
}

static cudaFuncAttributes attributes_of_use_shared(void) {
    return cudasim_attributes(reinterpret_cast<const void *>(use_shared));
}

/* A launch that a graph holds may need what a later one does not. */
TEST(shared_memory_that_was_asked_for_stays) {
    lh_device *device = open_device();
    lh_launch launch = {};
    void *memory = nullptr;
    launch.stream = device->stream;
    CHECK_EQ_INT(device->allocate(device, 32 * sizeof(float), &memory), LH_OK);
    CHECK_EQ_INT(launch_with(&launch, (float *)memory, 49152), LH_OK);
    CHECK_EQ_INT(attributes_of_use_shared().preferredShmemCarveout, cudaSharedmemCarveoutDefault);
    CHECK_EQ_INT(launch_with(&launch, (float *)memory, 65536), LH_OK);
    CHECK_EQ_INT(launch_with(&launch, (float *)memory, 1024), LH_OK);
    CHECK_EQ_INT(launch_with(&launch, (float *)memory, 60000), LH_OK);
    CHECK_EQ_INT(attributes_of_use_shared().maxDynamicSharedSizeBytes, 65536);
    CHECK_EQ_INT(attributes_of_use_shared().preferredShmemCarveout, cudaSharedmemCarveoutMaxShared);
    CHECK_EQ_INT(device->synchronize(device), LH_OK);
    device->release(device, memory);
    lh_device_close(device);
}

/* C = relu(A [2][8] B [8][8] + bias), of what lies there. */
static lh_status multiply_with_relu(lh_device *device, float *const *memory) {
    lh_launch launch = {};
    lh_matmul_args args = {};
    launch.stream = device->stream;
    args.batch = 1;
    args.m = 2;
    args.n = args.k = args.a_leading = args.b_leading = args.c_leading = 8;
    args.alpha = 1;
    args.a = {memory[0], LH_REAL};
    args.b = {memory[1], LH_REAL};
    args.c = {memory[2], LH_REAL};
    args.bias = memory[3];
    args.activation = LH_UNARY_RELU;
    return lh_cuda_matmul(&launch, &args);
}

static void check_product(long launches, long epilogues) {
    lh_device *device = open_device();
    float half[64], first = 0, *memory[4];
    for (float &x : half)
        x = 0.5f;
    for (float *&one : memory) {
        CHECK_EQ_INT(device->allocate(device, sizeof half, (void **)&one), LH_OK);
        CHECK_EQ_INT(device->upload(device, one, half, sizeof half), LH_OK);
    }
    const long launched = cudasim_launches(), taken = cudasim_epilogues();
    CHECK_EQ_INT(multiply_with_relu(device, memory), LH_OK);
    CHECK_EQ_INT(cudasim_launches() - launched, launches);
    CHECK_EQ_INT(cudasim_epilogues() - taken, epilogues);
    CHECK_EQ_INT(device->download(device, &first, memory[2], sizeof first), LH_OK);
    CHECK_NEAR(first, 2.5, 0);
    for (float *one : memory)
        device->release(device, one);
    lh_device_close(device);
}

/* Where cuBLASLt has no algorithm, and where nobody wants one, a pass of our own follows. */
TEST(a_product_takes_along_what_follows_it) {
    check_product(1, 1);
    cudasim_find_epilogues(false);
    check_product(2, 0);
    cudasim_find_epilogues(true);
    setenv("LH_EPILOGUES", "0", 1);
    check_product(2, 0);
    unsetenv("LH_EPILOGUES");
}

/* On a GPU such a product would fault, later than it was asked for. */
TEST(operands_of_products_lie_on_the_device) {
    lh_device *device = open_device();
    float *memory[4];
    alignas(16) float host[8] = {};
    for (float *&one : memory)
        CHECK_EQ_INT(device->allocate(device, 64 * sizeof(float), (void **)&one), LH_OK);
    float *const with_host_bias[] = {memory[0], memory[1], memory[2], host};
    CHECK_EQ_INT(multiply_with_relu(device, with_host_bias), LH_OK);
    CHECK_EQ_INT(cudaGetLastError(), cudaErrorInvalidValue);
    for (float *one : memory)
        device->release(device, one);
    lh_device_close(device);
}
