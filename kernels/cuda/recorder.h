/* The work of a training step, captured while the host describes it and started as one graph, so
 * that the GPU goes from kernel to kernel without waiting for the host.
 *
 * Every step is captured anew and the graph of the step before is updated to it: arguments may
 * change from step to step, only another sequence of kernels makes a new graph. What the host
 * uploads waits in pinned memory until the graph fetches it. A call that must wait for the GPU ends
 * the graph, and what follows makes another. */
#ifndef LH_KERNELS_CUDA_RECORDER_H
#define LH_KERNELS_CUDA_RECORDER_H

#include <cuda_runtime.h>

#include "kernels/base.h"

enum {
    LH_RECORDER_GRAPHS = 16, /* of a step; what comes after them is started at once */
    LH_RECORDER_TURNS = 2,   /* steps under way: one on the GPU, one on the host */
    LH_RECORDER_EAGER = 2    /* steps that load kernels and fill the memory pool first */
};

/* Uploads of a step; `done` when the GPU has fetched them. */
typedef struct lh_cuda_staging {
    char *memory;
    size_t used, size;
    cudaEvent_t done;
} lh_cuda_staging;

typedef struct lh_cuda_recorder {
    cudaStream_t stream;
    bool wanted;    /* unless LH_GRAPHS=0 */
    bool active;    /* between begin and end */
    bool capturing; /* the stream keeps what it is given */
    lh_status lost; /* why work of this step was captured but could not be started */
    int64_t steps;
    size_t uploaded, most_uploaded; /* bytes since the step began, and of the step with most: so
                                       much room is there before a step is captured */
    int graph;                      /* which one is being captured */
    int64_t made;                   /* executables so far; an update makes none */
    cudaGraphExec_t executable[LH_RECORDER_GRAPHS];
    lh_cuda_staging staging[LH_RECORDER_TURNS];
} lh_cuda_recorder;

/* Zeroed before; close also after a failure. */
lh_status lh_cuda_recorder_open(lh_cuda_recorder *recorder, cudaStream_t stream);
void lh_cuda_recorder_close(lh_cuda_recorder *recorder);

/* Round a step. */
lh_status lh_cuda_recorder_begin(lh_cuda_recorder *recorder);
lh_status lh_cuda_recorder_end(lh_cuda_recorder *recorder);

/* Round a call that waits for the GPU, or takes memory from it. Once work of a step is lost, every
 * pause fails until its end, which does, too: releasing memory cannot tell. */
lh_status lh_cuda_recorder_pause(lh_cuda_recorder *recorder);
lh_status lh_cuda_recorder_resume(lh_cuda_recorder *recorder);

/* Copies from the host; `host` may change when it returns. */
lh_status lh_cuda_recorder_upload(lh_cuda_recorder *recorder, void *device, const void *host,
                                  size_t bytes);

#endif
