/* The shared memory of the block that runs. Each declaration lies between red zones and holds NaN,
 * or -1, until it is written. */
#include "tests/cudasim/simulator.h"

#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define __asan_poison_memory_region(address, bytes)   ((void)(address), (void)(bytes))
#define __asan_unpoison_memory_region(address, bytes) ((void)(address), (void)(bytes))
#endif

namespace {

enum { RED_ZONE = 64, MOST_DECLARATIONS = 64, POISON = 0xff };

struct declaration {
    const char *function;
    int line;
    void *memory;
};

enum { ARENA = MOST_SHARED + (MOST_DECLARATIONS + 2) * 2 * RED_ZONE };

char *arena;
declaration declared[MOST_DECLARATIONS];
int declared_count;
size_t used;         /* of the arena, red zones included */
size_t static_bytes; /* asked for */
void *dynamic;

/* By a loop, since a thread does it and the thread sanitizer would take memset for its own write.
 */
void poison(void *memory, size_t bytes) {
    volatile char *at = static_cast<volatile char *>(memory);
    size_t i = 0;
    for (; i + sizeof(uint64_t) <= bytes; i += sizeof(uint64_t))
        *reinterpret_cast<volatile uint64_t *>(at + i) = UINT64_MAX;
    for (; i < bytes; i++)
        at[i] = (char)POISON;
}

void *take(size_t bytes, size_t alignment) {
    const size_t begin = (used + RED_ZONE + alignment - 1) / alignment * alignment;
    used = (begin + bytes + 7) / 8 * 8;
    void *memory = arena + begin;
    __asan_unpoison_memory_region(memory, bytes);
    poison(memory, bytes);
    return memory;
}

void open_arena(void) {
    arena = static_cast<char *>(race_memory(ARENA));
    if (arena == nullptr && posix_memalign(reinterpret_cast<void **>(&arena), 128, ARENA) != 0)
        abort();
}

} // namespace

void shared_open(size_t dynamic_bytes) {
    if (arena == nullptr) open_arena();
    const size_t taken = used == 0 ? (size_t)ARENA : used;
    __asan_poison_memory_region(arena, taken);
    race_renew(arena, taken);
    used = 0;
    static_bytes = 0;
    declared_count = 0;
    dynamic = take(dynamic_bytes, 32);
}

void *cudasim_shared_dynamic(void) {
    return dynamic;
}

void *cudasim_shared(const char *function, int line, size_t bytes, size_t alignment) {
    for (int i = 0; i < declared_count; i++)
        if (declared[i].function == function && declared[i].line == line) return declared[i].memory;
    static_bytes += bytes;
    if (static_bytes > STATIC_SHARED || static_bytes + running.call->shared_bytes > MOST_SHARED)
        trap("%zu bytes of shared memory declared beside %zu dynamic ones; a block has %d",
             static_bytes, running.call->shared_bytes, STATIC_SHARED);
    if (declared_count == MOST_DECLARATIONS) trap("more than %d declarations", MOST_DECLARATIONS);
    declaration &fresh = declared[declared_count++];
    fresh = {function, line, take(bytes, alignment < 16 ? 16 : alignment)};
    return fresh.memory;
}
