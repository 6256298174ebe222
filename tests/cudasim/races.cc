/* What the thread sanitizer is told, in a build that looks for races (`make test-races`): each GPU
 * thread is a thread of its own. Barriers and __syncwarp order those that meet there, a launch
 * comes after all before it; nothing else orders anything: neither exchanges within a warp nor its
 * products, and no block comes before another of the SETS - 1 that ran last. Only kernels/cuda is
 * instrumented. */
#include "tests/cudasim/simulator.h"

#ifdef LH_CUDASIM_RACES

#include <algorithm>
#include <array>
#include <sanitizer/tsan_interface.h>
#include <stdlib.h>
#include <sys/mman.h>

/* The sanitizer's calls for a language that manages its own memory: what is taken is new. */
extern "C" {
void __tsan_java_init(unsigned long begin, unsigned long size);
void __tsan_java_alloc(unsigned long begin, unsigned long size);
void __tsan_java_free(unsigned long begin, unsigned long size);
}

namespace {

/* To make a thread known costs the sanitizer a millisecond and half a megabyte, and at a barrier
 * each looks at what it knows of every other. So a block takes the threads of the block SETS
 * before, which it therefore seems to follow; one of more than a quarter of KNOWN, of fewer. */
enum { SETS = 4, KNOWN = 1024 };

const size_t MEMORY = (size_t)1 << 30, PAGE = 4096, MEETINGS = RACE_MEETINGS * 8;

char *memory;
size_t taken;
void *host;
int set;
auto &known = *new std::array<std::vector<void *>, SETS>(); /* outlives every test */
char *meetings, began, ended; /* the addresses by which the sanitizer knows who meets */

unsigned long address(const void *at) {
    return reinterpret_cast<unsigned long>(at);
}

} // namespace

void *race_memory(size_t bytes) {
    if (memory == nullptr) {
        memory = static_cast<char *>(mmap(nullptr, MEMORY, PROT_READ | PROT_WRITE,
                                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
        if (memory == MAP_FAILED) abort();
        __tsan_java_init(address(memory), MEMORY);
    }
    char *begin = memory + taken;
    taken += (bytes + PAGE - 1) / PAGE * PAGE;
    if (taken > MEMORY) abort();
    return begin;
}

void race_renew(void *begin, size_t bytes) {
    __tsan_java_free(address(begin), bytes);
    __tsan_java_alloc(address(begin), bytes);
}

void race_begin_launch(void) {
    host = __tsan_get_current_fiber();
    if (meetings == nullptr) meetings = static_cast<char *>(race_memory(MEETINGS));
}

void race_end_launch(void) {
    __tsan_acquire(&ended);
}

void race_begin_block(void) {
    race_renew(meetings, MEETINGS);
    set = (set + 1) % std::clamp(KNOWN / running.count, 1, (int)SETS);
}

void race_begin_thread(thread &t) {
    const size_t index = (size_t)(&t - running.threads.data());
    std::vector<void *> &ours = known[set];
    if (index >= ours.size()) ours.resize(index + 1);
    if (ours[index] == nullptr) ours[index] = __tsan_create_fiber(0);
    t.race = ours[index];
    __tsan_release(&began);
}

void race_start_thread(void) {
    __tsan_acquire(&began);
}

void race_end_thread(void) {
    __tsan_release(&ended);
}

void race_enter(const thread &t) {
    __tsan_switch_to_fiber(t.race, __tsan_switch_to_fiber_no_sync);
}

void race_leave(void) {
    __tsan_switch_to_fiber(host, __tsan_switch_to_fiber_no_sync);
}

void race_arrive(int meeting) {
    __tsan_release(meetings + meeting * 8);
}

void race_depart(int meeting) {
    __tsan_acquire(meetings + meeting * 8);
}

#endif
