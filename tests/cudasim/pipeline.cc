/* Copies to shared memory: a thread keeps what it asked for until it waits for it. */
#include "tests/cudasim/include/cuda_pipeline_primitives.h"

#include "tests/cudasim/simulator.h"

#include <algorithm>
#include <string.h>

void __pipeline_memcpy_async(void *to, const void *from, size_t bytes, size_t zeros) {
    if ((uintptr_t)to % bytes != 0 || (uintptr_t)from % bytes != 0)
        trap("a copy of %zu bytes to shared memory is not aligned to them", bytes);
    running.threads[(size_t)running.current].asked.push_back({to, from, bytes, zeros, 0});
}

void __pipeline_commit(void) {
    thread &self = running.threads[(size_t)running.current];
    ++self.commits;
    for (async_copy &one : self.asked)
        if (one.commit == 0) one.commit = self.commits;
}

void __pipeline_wait_prior(size_t later) {
    thread &self = running.threads[(size_t)running.current];
    const auto due = [&](const async_copy &one) {
        return one.commit > 0 && one.commit + later <= self.commits;
    };
    for (const async_copy &one : self.asked) {
        if (!due(one)) continue;
        memcpy(one.to, one.from, one.bytes - one.zeros);
        memset(static_cast<char *>(one.to) + one.bytes - one.zeros, 0, one.zeros);
    }
    self.asked.erase(std::remove_if(self.asked.begin(), self.asked.end(), due), self.asked.end());
}
