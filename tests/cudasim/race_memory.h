/* Memory of blocks in a build that looks for races (races.cc). */
#ifndef LH_TESTS_CUDASIM_RACE_MEMORY_H
#define LH_TESTS_CUDASIM_RACE_MEMORY_H

#include <stddef.h>

/* Memory that every block finds new, as far as its last `used` bytes. nullptr in other builds: take
 * your own. */
void *race_memory(size_t bytes, size_t used);

/* What was taken so is new once more: a stack that a thread of the same block left. */
void race_renew(void *memory, size_t bytes, size_t used);

#endif
