/* Copies to shared memory: a thread keeps what it asked for until it waits for it. */
#include "tests/cudasim/include/ptx_copy.h"

#include "tests/cudasim/simulator.h"

#include <string.h>

enum { BYTES = 16 };

/* Called and never written out, so that the thread sanitizer sees what is read and written. */
static void *(*const volatile copy)(void *, const void *, size_t) = memcpy;

void cudasim_copy_later(void *to, const void *from, bool there) {
    if ((uintptr_t)to % BYTES != 0 || (uintptr_t)from % BYTES != 0)
        trap("a copy to shared memory is not aligned to %d bytes", BYTES);
    running.threads[(size_t)running.current].asked.push_back({to, there ? from : nullptr});
}

void cudasim_await_copies(void) {
    thread &self = running.threads[(size_t)running.current];
    static const char zeros[BYTES] = {0};
    for (const async_copy &one : self.asked)
        copy(one.to, one.from != nullptr ? one.from : zeros, BYTES);
    self.asked.clear();
}
