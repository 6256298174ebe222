/* What the parts of the simulator tell each other. */
#ifndef LH_TESTS_CUDASIM_SIMULATOR_H
#define LH_TESTS_CUDASIM_SIMULATOR_H

#include "tests/cudasim/cudasim.h"
#include "tests/cudasim/fiber.h"
#include "tests/cudasim/include/cuda_runtime.h"

#include <functional>
#include <vector>

enum {
    WARP = 32,
    MOST_THREADS = 1024,
    STATIC_SHARED = 48 << 10, /* bytes a block has without asking */
    MOST_SHARED = 99 << 10    /* with asking, on every card from 8.0 on */
};

/* ---- Threads of the block that runs (block.cc) ---- */

enum class stand { unstarted, ready, barrier, warp, done };

struct thread {
    stand at;
    cudasim::fiber *fiber;
    const char *file; /* where it waits */
    int line;
    int predicate; /* at a barrier */
    /* in a warp */
    cudasim_exchange kind;
    unsigned mask;
    uint64_t value, result;
    int argument, width;
};

struct block {
    const cudasim_call *call;
    int count;
    std::vector<thread> threads;
    std::vector<uint3> index; /* of each thread */
    std::vector<int> order;
    int next;                              /* place in `order` of the next thread to start */
    int current;                           /* the thread that runs */
    int vote;                              /* the last barrier's result */
    unsigned waiting[MOST_THREADS / WARP]; /* lanes of each warp that wait for others of it */
};

extern block running;

/* Puts the running thread to sleep until something makes it ready. */
void block_wait(stand at, const char *file, int line);
void block_run(const cudasim_call &call);

/* ---- Mistakes (runtime.cc) ---- */

/* Stops the launch from within a kernel: the text is what cudaGetErrorString then gives. */
[[noreturn]] void trap(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same outside of a kernel. */
void fault(cudaError_t error, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A mistake of the launch, if any; recorded. */
bool faulted(void);

/* ---- Shared memory (shared.cc) ---- */

void shared_open(size_t dynamic_bytes);

/* ---- Graphs (graph.cc) ---- */

/* Something that a captured stream was given. */
struct cudasim_work {
    const void *what; /* the kernel, or the call */
    std::function<cudaError_t()> run;
};

struct cudasim_stream {
    cudasim_graph *captured; /* nullptr while work is done at once */
};

bool capturing(cudaStream_t stream);
void keep(cudaStream_t stream, const void *what, std::function<cudaError_t()> run);

/* ---- Device memory (memory.cc) ---- */

/* While one of these lives, device memory may be touched. */
struct device_scope {
    device_scope();
    ~device_scope();
};

/* ---- Order (block.cc) ---- */

/* The place-th of `count` things to run. */
int64_t place_in_order(int64_t place, int64_t count);

#endif
