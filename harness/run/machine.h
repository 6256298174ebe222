/* The machine and the build, for the provenance columns of every result row. */
#ifndef LH_RUN_MACHINE_H
#define LH_RUN_MACHINE_H

#include "harness/engine/error.h"

typedef struct lh_machine {
    char cpu[128];       /* "AMD EPYC" */
    char system[160];    /* "Linux 6.1.0 x86_64" */
    char blas[128];      /* "OpenBLAS 0.3.21 Cooperlake" */
    const char *kernels; /* "cpu-avx512" */
    int cores, threads;
    int64_t memory_bytes;
} lh_machine;

lh_status lh_machine_describe(lh_machine *out);

/* The version of this source tree ("git describe"), and the compiler that built it. Lend static
 * storage. */
const char *lh_version(void);
const char *lh_compiler(void);
/* Where `make install` put the scripts, templates and published values. */
const char *lh_share_folder(void);

#endif
