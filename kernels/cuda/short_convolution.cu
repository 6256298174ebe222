/* The causal convolution of each channel: a thread for each element. */
#include "kernels/cuda/column_sums.cuh"

/* Element of token t of a batch row, from 1 - kernel on; of either direction's arguments. */
template <typename arguments>
__device__ static inline real token(const arguments &a, int64_t batch, int64_t t, int64_t channel) {
    const real *from = t >= 0 ? a.x + (batch * a.length + t) * a.width
                              : a.before + (batch * (a.kernel - 1) + a.kernel - 1 + t) * a.width;
    return from[channel];
}

size_t lh_cuda_short_convolution_forward_workspace(const lh_short_convolution_forward_args *args) {
    (void)args;
    return 0;
}

lh_status lh_cuda_short_convolution_forward(const lh_launch *launch,
                                            const lh_short_convolution_forward_args *args) {
    const lh_short_convolution_forward_args a = *args;
    return lh_each(launch, a.batch * a.length * a.width, [=] __device__(int64_t i) {
        const int64_t channel = i % a.width, row = i / a.width;
        const int64_t first = row % a.length - a.kernel + 1;
        real sum = a.bias != NULL ? a.bias[channel] : 0;
        for (int64_t j = 0; j < a.kernel; ++j)
            sum += a.weight[channel * a.kernel + j] * token(a, row / a.length, first + j, channel);
        a.y[i] = sum;
    });
}

/* ---- Backward ---- */

size_t
lh_cuda_short_convolution_backward_workspace(const lh_short_convolution_backward_args *args) {
    return lh_column_workspace(args->batch * args->length, args->width * args->kernel);
}

static lh_status weight_gradients(const lh_launch *launch,
                                  const lh_short_convolution_backward_args &a) {
    return lh_column_sums(launch, a.batch * a.length, a.width * a.kernel, launch->workspace,
                          a.dweight, a.dweight_write, [=] __device__(int64_t row, int64_t column) {
                              const int64_t channel = column / a.kernel;
                              const int64_t t = row % a.length - a.kernel + 1 + column % a.kernel;
                              return a.dy[row * a.width + channel] *
                                     token(a, row / a.length, t, channel);
                          });
}

lh_status lh_cuda_short_convolution_backward(const lh_launch *launch,
                                             const lh_short_convolution_backward_args *args) {
    const lh_short_convolution_backward_args a = *args;
    if (a.dweight != NULL) LH_CUDA_TRY(weight_gradients(launch, a));
    if (a.dbias != NULL)
        LH_CUDA_TRY(lh_column_sums(launch, a.batch * a.length, a.width, launch->workspace, a.dbias,
                                   a.dbias_write, [=] __device__(int64_t row, int64_t channel) {
                                       return a.dy[row * a.width + channel];
                                   }));
    if (a.dx == NULL) return LH_OK;
    return lh_each(launch, a.batch * a.length * a.width, [=] __device__(int64_t i) {
        const int64_t channel = i % a.width, t = i / a.width % a.length;
        real sum = 0;
        for (int64_t j = lh_max(0, t + a.kernel - a.length); j < a.kernel; ++j)
            sum += a.weight[channel * a.kernel + j] * a.dy[i + (a.kernel - 1 - j) * a.width];
        lh_store(&a.dx[i], a.dx_write, sum);
    });
}
