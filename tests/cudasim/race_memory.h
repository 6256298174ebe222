/* Memory of blocks in a build that looks for races (races.cc); in others nothing is done. */
#ifndef LH_TESTS_CUDASIM_RACE_MEMORY_H
#define LH_TESTS_CUDASIM_RACE_MEMORY_H

#include <stddef.h>

#ifdef LH_CUDASIM_RACES

/* Memory that can be renewed. nullptr in other builds: take your own. */
void *race_memory(size_t bytes);

/* What lies there is new to whoever takes it: a stack that another thread has left, the shared
 * memory of another block. */
void race_renew(void *begin, size_t bytes);

#else

static inline void *race_memory(size_t) {
    return nullptr;
}
static inline void race_renew(void *, size_t) {
}

#endif

#endif
