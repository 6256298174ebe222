/* Fibers: their stacks, the switch from one to another, and what the address sanitizer is told of
 * it. */
#include "tests/cudasim/fiber.h"

#include "tests/cudasim/race_memory.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#endif

#ifdef WITH_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace cudasim {

enum {
    STACK = 256 << 10,
    PAGE = 4096,
    COLOURS = 63,
    COLOUR = 192,
    STACK_USED = 24 << 10 /* as far as kernels go */
};

#if defined(__x86_64__)

typedef void *context;

/* Keeps what a function must keep on the one stack, and goes on with the other. */
extern "C" void cudasim_switch(context *save, context load);

asm(R"(
    .text
    .globl cudasim_switch
    .type cudasim_switch, @function
cudasim_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size cudasim_switch, .-cudasim_switch
)");

static void exchange(context *save, context *load) {
    cudasim_switch(save, *load);
}

/* Stacks begin at different places of their pages, else all of them compete for the same lines of
 * the cache. */
static size_t colour() {
    static size_t count;
    return count++ % COLOURS * COLOUR;
}

/* As if `start` had been called from an empty frame. */
static void prepare(context *c, char *stack, void (*start)(void)) {
    enum { SAVED_REGISTERS = 6 };
    uintptr_t *top = reinterpret_cast<uintptr_t *>(stack + STACK - colour()) - 2;
    top[0] = reinterpret_cast<uintptr_t>(start);
    top[1] = 0;
    for (int i = 1; i <= SAVED_REGISTERS; i++)
        top[-i] = 0;
    *c = top - SAVED_REGISTERS;
}

#else

} // namespace cudasim
#include <ucontext.h>
namespace cudasim {

typedef ucontext_t context;

static void exchange(context *save, context *load) {
    swapcontext(save, load);
}

static void prepare(context *c, char *stack, void (*start)(void)) {
    getcontext(c);
    c->uc_stack.ss_sp = stack;
    c->uc_stack.ss_size = STACK;
    c->uc_link = nullptr;
    makecontext(c, start, 0);
}

#endif

struct fiber {
    char *stack;
    context registers;
    void *fake_stack;
    void (*body)(void);
};

static context scheduler;
static void *scheduler_fake_stack;
static const void *scheduler_bottom;
static size_t scheduler_size;
static fiber *current;
static std::vector<fiber *> &idle = *new std::vector<fiber *>(); /* outlives every test */

/* The sanitizer must know which stack is in use. */
static void announce(void **fake_stack, const void *bottom, size_t size) {
#ifdef WITH_ASAN
    __sanitizer_start_switch_fiber(fake_stack, bottom, size);
#else
    (void)fake_stack, (void)bottom, (void)size;
#endif
}

static void arrived(void *fake_stack, const void **bottom, size_t *size) {
#ifdef WITH_ASAN
    __sanitizer_finish_switch_fiber(fake_stack, bottom, size);
#else
    (void)fake_stack, (void)bottom, (void)size;
#endif
}

static void begin(void) {
    arrived(nullptr, &scheduler_bottom, &scheduler_size);
    for (;;)
        current->body();
}

static fiber *create() {
    void *memory = race_memory(STACK + PAGE);
    if (memory == nullptr)
        memory = mmap(nullptr, STACK + PAGE, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, PAGE, PROT_NONE) != 0) abort();
    return new fiber{static_cast<char *>(memory) + PAGE, context(), nullptr, nullptr};
}

fiber *fiber_take(void (*body)(void)) {
    fiber *f = idle.empty() ? create() : idle.back();
    if (!idle.empty()) idle.pop_back();
    race_renew(f->stack + STACK - STACK_USED, STACK_USED);
#ifdef WITH_ASAN
    __asan_unpoison_memory_region(f->stack, STACK);
#endif
    f->body = body;
    f->fake_stack = nullptr;
    prepare(&f->registers, f->stack, begin);
    return f;
}

void fiber_return(fiber *f) {
    idle.push_back(f);
}

void fiber_enter(fiber *f) {
    current = f;
    announce(&scheduler_fake_stack, f->stack, STACK);
    exchange(&scheduler, &f->registers);
    arrived(scheduler_fake_stack, nullptr, nullptr);
}

void fiber_leave(void) {
    fiber *self = current;
    announce(&self->fake_stack, scheduler_bottom, scheduler_size);
    exchange(&self->registers, &scheduler);
    arrived(self->fake_stack, &scheduler_bottom, &scheduler_size);
}

} // namespace cudasim
