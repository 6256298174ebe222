/* Launching a kernel, and its shared memory: what kernels/cuda/launch.cuh uses in place of CUDA's
 * own syntax. */
#ifndef LH_TESTS_CUDASIM_LAUNCH_H
#define LH_TESTS_CUDASIM_LAUNCH_H

#include <memory>
#include <tuple>
#include <type_traits>

#ifdef __has_builtin
#if __has_builtin(__builtin_clear_padding)
#define LH_CUDASIM_CLEARS_GAPS
#endif
#endif

struct cudasim_call {
    const char *name;
    const void *kernel;
    dim3 grid, block;
    size_t shared_bytes;
    void (*run)(const void *arguments); /* one thread */
    const void *arguments;
};

/* Runs every block, or keeps the call where the stream is captured; a mistake is what
 * cudaGetLastError gives next. `arguments` are those of the call. */
void cudasim_run(const cudasim_call &call, cudaStream_t stream,
                 std::shared_ptr<const void> arguments);
/* Whether a kernel may be given this pointer, and what else it is given: a word that is an address
 * of the host is a mistake, too. */
void cudasim_check_pointer(const char *kernel, const void *pointer);
void cudasim_check_words(const char *kernel, const void *argument, size_t bytes);

/* In the gaps between fields stands what the stack left there, which may well be an address: they
 * are cleared in a copy. A compiler that cannot do that looks at pointers alone. */
template <typename type> void cudasim_check_argument(const char *kernel, const type &argument) {
    if constexpr (std::is_pointer_v<type>) {
        cudasim_check_pointer(kernel, argument);
    } else if constexpr (std::is_trivially_copyable_v<type>) {
#ifdef LH_CUDASIM_CLEARS_GAPS
        type copy = argument;
        __builtin_clear_padding(&copy);
        cudasim_check_words(kernel, &copy, sizeof copy);
#endif
    }
}

template <typename... parameters> struct cudasim_arguments {
    void (*kernel)(parameters...);
    std::tuple<parameters...> values;
};

template <typename... parameters> void cudasim_run_thread(const void *context) {
    const auto *arguments = static_cast<const cudasim_arguments<parameters...> *>(context);
    std::apply(arguments->kernel, arguments->values);
}

template <typename... parameters, typename... given>
void cudasim_launch(const char *name, void (*kernel)(parameters...), dim3 grid, dim3 block,
                    size_t shared_bytes, cudaStream_t stream, const given &...values) {
    const auto arguments = std::make_shared<const cudasim_arguments<parameters...>>(
        cudasim_arguments<parameters...>{kernel, {parameters(values)...}});
    std::apply([&](const auto &...each) { (cudasim_check_argument(name, each), ...); },
               arguments->values);
    cudasim_run({name, reinterpret_cast<const void *>(kernel), grid, block, shared_bytes,
                 cudasim_run_thread<parameters...>, arguments.get()},
                stream, arguments);
}

/* The block's own memory for one declaration, named by function and line; the same for every thread
 * of the block. Poisoned before the block starts. */
void *cudasim_shared(const char *function, int line, size_t bytes, size_t alignment);
void *cudasim_shared_dynamic(void);

#define LH_LAUNCH_SYNTAX(kernel, grid, block, shared_bytes, stream, ...)                           \
    cudasim_launch(#kernel, kernel, grid, block, shared_bytes, stream, __VA_ARGS__)
#define LH_SHARED(type, name, dimensions)                                                          \
    type(&name) dimensions = *static_cast<type(*) dimensions>(                                     \
        cudasim_shared(__PRETTY_FUNCTION__, __LINE__, sizeof(type dimensions), alignof(type)))
#define LH_SHARED_DYNAMIC(type, name) type *name = static_cast<type *>(cudasim_shared_dynamic())

#endif
