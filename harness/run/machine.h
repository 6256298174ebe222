/* The machine and the build, for the provenance columns of every result row. */
#ifndef LH_RUN_MACHINE_H
#define LH_RUN_MACHINE_H

#include "harness/engine/error.h"

typedef struct lh_machine {
    char cpu[128];       /* "AMD EPYC" */
    char host[72];       /* "node7" */
    char system[160];    /* "Linux 6.1.0 x86_64" */
    char blas[128];      /* "OpenBLAS 0.3.21 Cooperlake" */
    const char *kernels; /* "cpu-avx512" */
    int cores, threads;
    int64_t memory_bytes;
} lh_machine;

/* The machine that this process runs on, with its CPU kernels and the threads that they now take.
 * Fails: LH_EIO where the system does not say what it is; what opening the CPU fails with. */
lh_status lh_machine_describe(lh_machine *out);

/* Processes that ran or waited to run, mean of the last minute, this program's among them; NaN
 * where the system does not say. */
double lh_load_average(void);

/* Bytes that processes may still ask for: what the system calls available, within the limit of the
 * control group that holds this process where it shows as the root of the tree, as in a container;
 * all memory where neither is told. */
int64_t lh_memory_available(void);

/* The commit of the source tree that this program was built from, and whether tracked files
 * differed from it, "yes" or "no" (scripts/version.sh); both "unknown" for a tree without a
 * repository. Then the compiler and the flags that change what it makes. Lend static storage. */
const char *lh_version(void);
const char *lh_version_dirty(void);
const char *lh_compiler(void);       /* "gcc 12.2.0" */
const char *lh_compiler_flags(void); /* "-O3 -fopenmp" */
/* Where `make install` put the scripts, templates and published values. */
const char *lh_share_folder(void);

#endif
