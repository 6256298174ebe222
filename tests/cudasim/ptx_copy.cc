/* Copies to shared memory: a thread keeps what it asked for until it waits for it. */
#include "tests/cudasim/include/ptx_copy.h"

#include "tests/cudasim/simulator.h"

#include <string.h>

enum { BYTES = 16 };

void cudasim_copy_later(void *to, const void *from, bool there) {
    if ((uintptr_t)to % BYTES != 0 || (uintptr_t)from % BYTES != 0)
        trap("a copy to shared memory is not aligned to %d bytes", BYTES);
    running.threads[(size_t)running.current].asked.push_back({to, there ? from : nullptr});
}

void cudasim_await_copies(void) {
    thread &self = running.threads[(size_t)running.current];
    for (const async_copy &one : self.asked) {
        if (one.from != nullptr)
            memcpy(one.to, one.from, BYTES);
        else
            memset(one.to, 0, BYTES);
    }
    self.asked.clear();
}
