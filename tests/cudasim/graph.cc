/* Streams that are being captured keep what they are given as a list; a graph is such a list, and
 * starting it runs down the list. A stream that waits for a captured event is captured as well,
 * until the end, by which somebody must have waited for all that it was given. */
#include "tests/cudasim/simulator.h"

struct cudasim_graph {
    std::vector<cudasim_work> work;
    std::vector<cudaStream_t> forks;
};

struct cudasim_executable {
    std::vector<cudasim_work> work;
};

bool capturing(cudaStream_t stream) {
    return stream != nullptr && stream->captured != nullptr;
}

void keep(cudaStream_t stream, const void *what, std::function<cudaError_t()> run) {
    stream->captured->work.push_back({what, std::move(run)});
    stream->given++;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
    if (stream == nullptr || capturing(stream)) return cudaErrorStreamCaptureUnsupported;
    stream->captured = new cudasim_graph();
    return cudaSuccess;
}

static void leave(cudaStream_t stream) {
    stream->captured = nullptr;
    stream->forked = false;
    stream->given = stream->joined = 0;
}

/* Lets go of all streams; whether each was joined. */
static bool release_forks(cudasim_graph *graph) {
    bool joined = true;
    for (const cudaStream_t fork : graph->forks) {
        joined = joined && fork->joined == fork->given;
        leave(fork);
    }
    graph->forks.clear();
    return joined;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) {
    if (!capturing(stream) || stream->forked) return cudaErrorStreamCaptureUnsupported;
    cudasim_graph *captured = stream->captured;
    leave(stream);
    *graph = nullptr;
    if (!release_forks(captured)) {
        delete captured;
        return cudaErrorStreamCaptureUnjoined;
    }
    *graph = captured;
    return cudaSuccess;
}

void fork_capture(cudaStream_t stream, cudasim_graph *graph) {
    stream->captured = graph;
    stream->forked = true;
    stream->given = 1;
    stream->joined = 0;
    graph->forks.push_back(stream);
}

static int graphs_made;
static bool room_for_graphs = true;

int cudasim_graphs(void) {
    return graphs_made;
}

void cudasim_make_graphs(bool made) {
    room_for_graphs = made;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph,
                                 unsigned long long) {
    if (!room_for_graphs) return cudaErrorMemoryAllocation;
    graphs_made++;
    *executable = new cudasim_executable{graph->work};
    return cudaSuccess;
}

/* Arguments may change, the sequence of kernels and copies may not (on a GPU a kernel may). */
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo *) {
    if (executable->work.size() != graph->work.size()) return cudaErrorGraphExecUpdateFailure;
    for (size_t i = 0; i < graph->work.size(); i++)
        if (executable->work[i].what != graph->work[i].what) return cudaErrorGraphExecUpdateFailure;
    executable->work = graph->work;
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
    if (capturing(stream)) return cudaErrorStreamCaptureUnsupported;
    for (const cudasim_work &one : executable->work)
        submit(stream, one.what, one.run);
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    delete graph;
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
    delete executable;
    return cudaSuccess;
}
