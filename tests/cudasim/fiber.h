/* Threads of a block as fibers: stacks that the scheduler enters and that give control back.
 *
 * The switch itself is inline. A processor predicts where a function returns to by who called it,
 * so one that is called on one stack and returns on another is mispredicted, and with it every
 * function round it. */
#ifndef LH_TESTS_CUDASIM_FIBER_H
#define LH_TESTS_CUDASIM_FIBER_H

#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__)
#define CUDASIM_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CUDASIM_ASAN 1
#endif
#endif

#ifdef CUDASIM_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

/* The vector registers that may hold something are named below. */
#if defined(__x86_64__) && !defined(__AVX512F__)
#define CUDASIM_X86_SWITCH 1
#else
#include <ucontext.h>
#endif

namespace cudasim {

#ifdef CUDASIM_X86_SWITCH

/* The stack, on which lie where to go on and what rbx and rbp were. */
typedef void *context;

/* Goes on with `load`; returns when somebody goes on with `save`. */
__attribute__((always_inline)) static inline void exchange(context *save, context *load) {
    asm volatile("leaq -128(%%rsp), %%rsp\n\t" /* what functions that call none keep below it */
                 "pushq %%rbp\n\t"
                 "pushq %%rbx\n\t"
                 "leaq 1f(%%rip), %%rax\n\t"
                 "pushq %%rax\n\t"
                 "movq %%rsp, (%0)\n\t"
                 "movq (%1), %%rsp\n\t"
                 "popq %%rax\n\t"
                 "jmpq *%%rax\n"
                 "1:\n\t"
                 "popq %%rbx\n\t"
                 "popq %%rbp\n\t"
                 "leaq 128(%%rsp), %%rsp"
                 : "+D"(save), "+S"(load)
                 :
                 : "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
                   "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
                   "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "memory", "cc");
}

#else

typedef ucontext_t context;

static inline void exchange(context *save, context *load) {
    swapcontext(save, load);
}

#endif

struct fiber {
    char *stack;
    context registers;
    void *fake_stack; /* of the address sanitizer */
    void (*body)(void);
};

enum { FIBER_STACK = 256 << 10 };

/* Who entered the fiber that runs. */
struct scheduler {
    context registers;
    void *fake_stack;
    const void *bottom;
    size_t size;
};

extern fiber *current;
extern scheduler above;

/* The sanitizer must know which stack is in use. */
static inline void announce(void **fake_stack, const void *bottom, size_t size) {
#ifdef CUDASIM_ASAN
    __sanitizer_start_switch_fiber(fake_stack, bottom, size);
#else
    (void)fake_stack, (void)bottom, (void)size;
#endif
}

static inline void arrived(void *fake_stack, const void **bottom, size_t *size) {
#ifdef CUDASIM_ASAN
    __sanitizer_finish_switch_fiber(fake_stack, bottom, size);
#else
    (void)fake_stack, (void)bottom, (void)size;
#endif
}

/* An idle fiber that calls body() when it is entered, over and over: `body` returns by fiber_leave
 * only. */
fiber *fiber_take(void (*body)(void));

/* The scheduler's side: runs the fiber until it leaves. */
static inline void fiber_enter(fiber *f) {
    current = f;
    announce(&above.fake_stack, f->stack, FIBER_STACK);
    exchange(&above.registers, &f->registers);
    arrived(above.fake_stack, nullptr, nullptr);
}

/* The fiber's side: back to the scheduler; returns when entered again. */
static inline void fiber_leave(void) {
    fiber *self = current;
    announce(&self->fake_stack, above.bottom, above.size);
    exchange(&self->registers, &above.registers);
    arrived(self->fake_stack, &above.bottom, &above.size);
}

/* Gives a fiber that left for good back for fiber_take, whatever is on its stack. */
void fiber_return(fiber *f);

} // namespace cudasim

#endif
