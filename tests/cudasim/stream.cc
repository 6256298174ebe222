/* Streams do nothing until somebody waits for them, so that what a kernel or a copy finds is what
 * is there as late as a GPU may look: a buffer that changed too early, an event that nobody waited
 * for. */
#include "tests/cudasim/simulator.h"

#include <algorithm>

static std::vector<cudaStream_t> &streams = *new std::vector<cudaStream_t>();

static void run_first(cudaStream_t stream) {
    const cudasim_work first = std::move(stream->waiting.front());
    stream->waiting.pop_front();
    const cudaError_t error = first.run();
    if (error != cudaSuccess && !faulted()) fault(error, "work of a stream failed");
}

void submit(cudaStream_t stream, const void *what, std::function<cudaError_t()> run) {
    if (capturing(stream)) {
        keep(stream, what, std::move(run));
    } else if (stream != nullptr) {
        stream->waiting.push_back({what, std::move(run)});
    } else if (const cudaError_t error = run(); error != cudaSuccess && !faulted()) {
        fault(error, "work of the first stream failed");
    }
}

void drain(cudaStream_t stream) {
    while (!stream->waiting.empty())
        run_first(stream);
}

void drain_all(void) {
    for (const cudaStream_t stream : streams)
        drain(stream);
}

cudaError_t cudaDeviceSynchronize(void) {
    drain_all();
    return cudaPeekAtLastError();
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned) {
    *stream = new cudasim_stream();
    streams.push_back(*stream);
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    drain(stream);
    streams.erase(std::find(streams.begin(), streams.end(), stream));
    delete stream;
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    if (capturing(stream)) return cudaErrorStreamCaptureUnsupported;
    if (stream != nullptr) drain(stream);
    return cudaPeekAtLastError();
}

/* ---- events ---- */

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned) {
    *event = new cudasim_event{nullptr, std::make_shared<bool>(true), nullptr, 0};
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
    delete event;
    return cudaSuccess;
}

/* Works on until the stream has come so far. */
static void reach(cudaStream_t stream, const std::shared_ptr<bool> &done) {
    while (!*done && !stream->waiting.empty())
        run_first(stream);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    const auto done = std::make_shared<bool>(false);
    *event = {stream, done, nullptr, 0};
    if (capturing(stream)) {
        event->captured = stream->captured;
        event->given = stream->given;
        return cudaSuccess;
    }
    submit(stream, reinterpret_cast<const void *>(cudaEventRecord), [done] {
        *done = true;
        return cudaSuccess;
    });
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    if (event->of != nullptr) reach(event->of, event->done);
    return cudaPeekAtLastError();
}

/* Of a captured event: the stream comes into the capture, or the capture waits for another stream.
 */
static cudaError_t wait_captured(cudaStream_t stream, cudaEvent_t event) {
    if (stream == nullptr) return cudaErrorStreamCaptureUnsupported;
    if (!capturing(stream)) {
        fork_capture(stream, event->captured);
    } else if (stream->captured != event->captured) {
        return cudaErrorStreamCaptureIsolation;
    } else if (event->of != stream) {
        event->of->joined = event->given;
    }
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    if (event->captured != nullptr) return wait_captured(stream, event);
    if (capturing(stream)) return cudaErrorStreamCaptureIsolation;
    const cudaStream_t of = event->of;
    const std::shared_ptr<bool> done = event->done;
    submit(stream, reinterpret_cast<const void *>(cudaStreamWaitEvent), [of, done] {
        if (of != nullptr) reach(of, done);
        return cudaSuccess;
    });
    return cudaSuccess;
}
