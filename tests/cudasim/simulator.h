/* What the parts of the simulator tell each other. */
#ifndef LH_TESTS_CUDASIM_SIMULATOR_H
#define LH_TESTS_CUDASIM_SIMULATOR_H

#include "tests/cudasim/cudasim.h"
#include "tests/cudasim/fiber.h"
#include "tests/cudasim/include/cuda_runtime.h"
#include "tests/cudasim/race_memory.h"

#include <deque>
#include <functional>
#include <memory>
#include <vector>

enum {
    WARP = 32,
    MOST_THREADS = 1024,
    STATIC_SHARED = 48 << 10, /* bytes a block has without asking */
    LEAST_SHARED = 99 << 10,  /* with asking, on every card from 8.0 on */
    MOST_SHARED = 163 << 10   /* of this card, for a program that asked how much it has */
};

/* ---- Threads of the block that runs (block.cc) ---- */

enum class stand { unstarted, ready, barrier, warp, done };

/* What a thread asked for in shared memory, of nullptr zeros (ptx_copy.cc). */
struct async_copy {
    void *to;
    const void *from;
};

struct thread {
    stand at;
    cudasim::fiber *fiber;
    const char *file; /* where it waits */
    int line;
    int predicate; /* at a barrier */
    void *race;    /* to the thread sanitizer */
    /* in a warp */
    cudasim_exchange kind;
    unsigned mask;
    uint64_t value, result;
    int argument, width;
    std::vector<async_copy> asked; /* and not waited for */
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
    int barriers;                          /* that were opened */
    int meetings[MOST_THREADS / WARP];     /* that a warp has had */
};

extern block running;

/* Puts the running thread to sleep until something makes it ready; inline, as the switch is
 * (fiber.h). */
static inline void block_wait(stand at, const char *file, int line) {
    thread &self = running.threads[(size_t)running.current];
    self.at = at;
    self.file = file;
    self.line = line;
    cudasim::fiber_leave();
}

void block_run(const cudasim_call &call);

/* What cudasim_launches tells (runtime.cc). */
void count_launch(void);

/* ---- Mistakes (runtime.cc) ---- */

/* Stops the launch from within a kernel: the text is what cudaGetErrorString then gives. */
[[noreturn]] void trap(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same outside of a kernel. */
void fault(cudaError_t error, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A mistake of the launch, if any; recorded. */
bool faulted(void);

/* ---- Shared memory (shared.cc) ---- */

void shared_open(size_t dynamic_bytes);

/* ---- Races (races.cc): nothing is done, but in a build that looks for them ---- */

enum { RACE_MEETINGS = 2 + 2 * (MOST_THREADS / WARP) };

#ifdef LH_CUDASIM_RACES

enum { LOOKS_FOR_RACES = 1 };

void race_begin_launch(void);
void race_end_launch(void);
void race_begin_block(void);
void race_begin_thread(thread &t);
/* By the thread itself. */
void race_start_thread(void);
void race_end_thread(void);
/* Round the switch to a thread. */
void race_enter(const thread &t);
void race_leave(void);
/* What threads did before they arrive comes before what any does after it has departed. Of two
 * meetings in a row: the block's are 0 and 1, those of warp w 2 + 2 w and 3 + 2 w. */
void race_arrive(int meeting);
void race_depart(int meeting);

#else

enum { LOOKS_FOR_RACES = 0 };

static inline void race_begin_launch(void) {
}
static inline void race_end_launch(void) {
}
static inline void race_begin_block(void) {
}
static inline void race_begin_thread(thread &) {
}
static inline void race_start_thread(void) {
}
static inline void race_end_thread(void) {
}
static inline void race_enter(const thread &) {
}
static inline void race_leave(void) {
}
static inline void race_arrive(int) {
}
static inline void race_depart(int) {
}

#endif

/* ---- Matrices of a warp (ptx_mma.cc): all 32 lanes have come ---- */

/* For one lane, which elements its address and those of the others lead it to. */
void find_matrices(const thread *lanes, int lane, bool transposed);
void multiply_matrices(const thread *lanes);

/* ---- Streams and graphs (stream.cc, graph.cc) ---- */

/* Something that a stream was given. */
struct cudasim_work {
    const void *what; /* the kernel, or the call */
    std::function<cudaError_t()> run;
};

struct cudasim_stream {
    std::deque<cudasim_work> waiting;
    cudasim_graph *captured; /* nullptr while it works */
    bool forked;             /* it came into a capture that another stream began */
    int64_t given, joined; /* work while it is captured, and how much of it the capture waits for */
};

struct cudasim_event {
    cudasim_stream *of;
    std::shared_ptr<bool> done; /* whether `of` has come to where it was recorded last */
    cudasim_graph *captured;    /* in which it was recorded, */
    int64_t given;              /* after so much work */
};

/* Gives a stream work, which is done when somebody waits for it; nullptr: at once. */
void submit(cudaStream_t stream, const void *what, std::function<cudaError_t()> run);
/* Does all that waits, of one stream and of all. */
void drain(cudaStream_t stream);
void drain_all(void);

bool capturing(cudaStream_t stream);
/* Takes another stream into a capture. */
void fork_capture(cudaStream_t stream, cudasim_graph *graph);
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
