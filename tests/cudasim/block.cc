/* One block after the other; in a block, each thread until it waits or ends. */
#include "tests/cudasim/simulator.h"

#include <algorithm>
#include <stdio.h>

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;
block running;

static cudasim_order order_wanted;

void cudasim_set_order(cudasim_order order) {
    order_wanted = order;
}

/* A step that shares no factor with `count` visits everything once. */
static int64_t stride_over(int64_t count) {
    int64_t step = count * 5 / 8 + 1;
    while (std::__gcd(step, count) != 1)
        step++;
    return step;
}

int64_t place_in_order(int64_t place, int64_t count) {
    if (order_wanted == CUDASIM_ASCENDING) return place;
    if (order_wanted == CUDASIM_DESCENDING) return count - 1 - place;
    return (place * stride_over(count) + count / 3) % count;
}

static void go_on_with(int t) {
    running.current = t;
    threadIdx = running.index[(size_t)t];
}

/* Starts the next thread that has not been. */
static bool start_next(cudasim::fiber *fiber) {
    if (running.next == running.count) return false;
    const int t = running.order[(size_t)running.next++];
    running.threads[(size_t)t].fiber = fiber;
    go_on_with(t);
    return true;
}

static void leave_kernel(void) {
    thread &self = running.threads[(size_t)running.current];
    if (!self.asked.empty()) trap("a thread leaves the kernel without what it asked to copy");
    self.at = stand::done;
}

/* What a fiber does: run threads to their ends, as many as can be had; where races are looked for,
 * one, since those that share a stack would seem to come one after the other. */
static void run_threads(void) {
    cudasim::fiber *self = running.threads[(size_t)running.current].fiber;
    do {
        race_start_thread();
        running.call->run(running.call->arguments);
        leave_kernel();
        race_end_thread();
    } while (!LOOKS_FOR_RACES && start_next(self));
    race_leave(); /* what follows is the scheduler's */
    cudasim::fiber_return(self);
    cudasim::fiber_leave();
}

int cudasim_barrier(cudasim_vote vote, int predicate, const char *file, int line) {
    thread &self = running.threads[(size_t)running.current];
    const int meeting = running.barriers % 2;
    self.predicate = predicate != 0;
    race_arrive(meeting);
    block_wait(stand::barrier, file, line);
    race_depart(meeting);
    if (vote == CUDASIM_AND) return running.vote == running.count;
    return vote == CUDASIM_OR ? running.vote != 0 : running.vote;
}

/* Lets every thread that can go on do so; false when none could. */
static bool pass(void) {
    bool any = false;
    for (int i = 0; i < running.count && !faulted(); i++) {
        const int t = running.order[(size_t)i];
        thread &one = running.threads[(size_t)t];
        if (one.at == stand::unstarted && i == running.next) {
            start_next(cudasim::fiber_take(run_threads));
            race_begin_thread(one);
        } else if (one.at == stand::ready) {
            go_on_with(t);
        } else {
            continue;
        }
        any = true;
        race_enter(one);
        cudasim::fiber_enter(one.fiber);
        race_leave();
    }
    return any;
}

static void describe(char *text, size_t size, int t) {
    const thread &one = running.threads[(size_t)t];
    const uint3 at = running.index[(size_t)t];
    if (one.at == stand::done)
        snprintf(text, size, "thread (%u, %u, %u) has left the kernel", at.x, at.y, at.z);
    else
        snprintf(text, size, "thread (%u, %u, %u) waits %s at %s:%d", at.x, at.y, at.z,
                 one.at == stand::warp ? "for its warp" : "for the block", one.file, one.line);
}

/* Nobody can go on, and not all wait for the same: says who is where. */
static void report_divergence(void) {
    const thread *first = nullptr;
    int a = 0, b = 0;
    for (int t = 0; t < running.count; t++)
        if (running.threads[(size_t)t].at != stand::done && first == nullptr)
            first = &running.threads[(size_t)(a = t)];
    for (int t = 0; t < running.count; t++) {
        const thread &one = running.threads[(size_t)t];
        if (one.at != first->at || one.line != first->line || one.file != first->file) b = t;
    }
    char one[200], other[200];
    describe(one, sizeof one, a);
    describe(other, sizeof other, b);
    fault(cudaErrorLaunchFailure, "%s: divergence in block (%u, %u, %u): %s, but %s",
          running.call->name, blockIdx.x, blockIdx.y, blockIdx.z, one, other);
}

static bool same_barrier(const thread &a, const thread &b) {
    return a.at == stand::barrier && a.line == b.line && strcmp(a.file, b.file) == 0;
}

/* Opens the barrier when all are at it; false when the block is done or stuck. */
static bool open_barrier(void) {
    int waiting = 0, done = 0, vote = 0;
    for (const thread &one : running.threads) {
        done += one.at == stand::done;
        waiting += same_barrier(one, running.threads[0]);
        vote += one.predicate;
    }
    if (done == running.count) return false;
    if (waiting < running.count) {
        report_divergence();
        return false;
    }
    running.vote = vote;
    running.barriers++;
    for (thread &one : running.threads) {
        one.at = stand::ready;
        one.predicate = 0;
    }
    return true;
}

/* Fibers whose threads did not end are taken back with what is on them. */
static void abandon(void) {
    for (const thread &one : running.threads)
        if (one.at != stand::unstarted && one.at != stand::done) cudasim::fiber_return(one.fiber);
}

static void run_one_block(void) {
    running.next = 0;
    running.vote = 0;
    running.barriers = 0;
    memset(running.meetings, 0, sizeof running.meetings);
    memset(running.waiting, 0, sizeof running.waiting);
    std::fill(running.threads.begin(), running.threads.end(), thread());
    race_begin_block();
    shared_open(running.call->shared_bytes);
    do {
        while (pass())
            ;
    } while (!faulted() && open_barrier());
    if (faulted()) abandon();
}

static void lay_out(const cudasim_call &call) {
    const int count = (int)(call.block.x * call.block.y * call.block.z);
    running.call = &call;
    running.count = count;
    running.threads.resize((size_t)count);
    running.index.resize((size_t)count);
    running.order.resize((size_t)count);
    for (int t = 0; t < count; t++) {
        const unsigned row = (unsigned)t / call.block.x;
        running.index[(size_t)t] =
            uint3{(unsigned)t % call.block.x, row % call.block.y, row / call.block.y};
        running.order[(size_t)t] = (int)place_in_order(t, count);
    }
}

void block_run(const cudasim_call &call) {
    gridDim = call.grid;
    blockDim = call.block;
    lay_out(call);
    const int64_t blocks = (int64_t)call.grid.x * call.grid.y * call.grid.z;
    race_begin_launch();
    for (int64_t i = 0; i < blocks && !faulted(); i++) {
        const int64_t b = place_in_order(i, blocks);
        const int64_t row = b / call.grid.x;
        blockIdx = uint3{(unsigned)(b % call.grid.x), (unsigned)(row % call.grid.y),
                         (unsigned)(row / call.grid.y)};
        run_one_block();
    }
    race_end_launch();
}
