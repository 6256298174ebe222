/* Copies to shared memory may land at any time from when they are asked for to when they are waited
 * for: what was there is gone at once, and what is copied comes when the thread waits. */
#include "tests/cudasim/include/ptx_copy.h"

#include "tests/cudasim/simulator.h"

#include <string.h>

enum { BYTES = 16, NO_NUMBER = 0xff }; /* of such bytes, in bf16 as in f32 */

/* Called and never written out, so that the thread sanitizer sees what is read and written. */
static void *(*const volatile copy)(void *, const void *, size_t) = memcpy;
static void *(*const volatile set)(void *, int, size_t) = memset;

void cudasim_copy_later(void *to, const void *from, bool there) {
    if ((uintptr_t)to % BYTES != 0 || (uintptr_t)from % BYTES != 0)
        trap("a copy to shared memory is not aligned to %d bytes", BYTES);
    set(to, NO_NUMBER, BYTES);
    running.threads[(size_t)running.current].asked.push_back({to, there ? from : nullptr});
}

void cudasim_await_copies(void) {
    thread &self = running.threads[(size_t)running.current];
    static const char zeros[BYTES] = {0};
    for (const async_copy &one : self.asked)
        copy(one.to, one.from != nullptr ? one.from : zeros, BYTES);
    self.asked.clear();
}
