/* Launching a kernel, and its shared memory: what kernels/cuda/launch.cuh uses in place of CUDA's
 * own syntax. */
#ifndef LH_TESTS_CUDASIM_LAUNCH_H
#define LH_TESTS_CUDASIM_LAUNCH_H

#include <memory>
#include <tuple>
#include <type_traits>

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
/* Whether a kernel may be given this pointer. Those within structs are not looked at: what stands
 * in the gaps between their fields may well be an address. */
void cudasim_check_pointer(const char *kernel, const void *pointer);

template <typename type> void cudasim_check_argument(const char *kernel, const type &argument) {
    if constexpr (std::is_pointer_v<type>) cudasim_check_pointer(kernel, argument);
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
