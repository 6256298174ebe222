/* Fibers: their stacks, and where one begins. */
#include "tests/cudasim/fiber.h"

#include "tests/cudasim/race_memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <vector>

#ifdef CUDASIM_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace cudasim {

enum { PAGE = 4096, STACK_USED = 24 << 10 /* as far as kernels go */ };

fiber *current;
scheduler above;

static std::vector<fiber *> &idle = *new std::vector<fiber *>(); /* outlives every test */

#ifdef CUDASIM_X86_SWITCH

/* Stacks begin at different places of their pages, else all of them compete for the same lines of
 * the cache. */
static size_t colour() {
    enum { COLOURS = 63, COLOUR = 192 };
    static size_t count;
    return count++ % COLOURS * COLOUR;
}

/* As if `start` had been called from an empty frame. */
static void prepare(context *c, char *stack, void (*start)(void)) {
    uintptr_t *top = reinterpret_cast<uintptr_t *>(stack + FIBER_STACK - colour()) - 2;
    top[0] = reinterpret_cast<uintptr_t>(start);
    top[1] = 0;
    *c = top;
}

#else

static void prepare(context *c, char *stack, void (*start)(void)) {
    getcontext(c);
    c->uc_stack.ss_sp = stack;
    c->uc_stack.ss_size = FIBER_STACK;
    c->uc_link = nullptr;
    makecontext(c, start, 0);
}

#endif

static void begin(void) {
    arrived(nullptr, &above.bottom, &above.size);
    for (;;)
        current->body();
}

static fiber *create() {
    void *memory = race_memory(FIBER_STACK + PAGE);
    if (memory == nullptr)
        memory = mmap(nullptr, FIBER_STACK + PAGE, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, PAGE, PROT_NONE) != 0) abort();
    return new fiber{static_cast<char *>(memory) + PAGE, context(), nullptr, nullptr};
}

fiber *fiber_take(void (*body)(void)) {
    fiber *f = idle.empty() ? create() : idle.back();
    if (!idle.empty()) idle.pop_back();
    race_renew(f->stack + FIBER_STACK - STACK_USED, STACK_USED);
#ifdef CUDASIM_ASAN
    __asan_unpoison_memory_region(f->stack, FIBER_STACK);
#endif
    f->body = body;
    f->fake_stack = nullptr;
    prepare(&f->registers, f->stack, begin);
    return f;
}

void fiber_return(fiber *f) {
    idle.push_back(f);
}

} // namespace cudasim
