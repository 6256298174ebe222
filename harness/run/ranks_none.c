/* A build without MPI: it trains alone. */
#include <stdlib.h>

#include "harness/run/ranks.h"

lh_status lh_ranks_open(void) {
    static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS"};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
        const char *text = getenv(sizes[i]);
        const long size = text != NULL ? strtol(text, NULL, 10) : 1;
        if (size > 1)
            return lh_fail(LH_EDEVICE,
                           "started as one of %ld ranks, but this build has no MPI: install "
                           "libopenmpi-dev and make again",
                           size);
    }
    return LH_OK;
}

lh_communicator *lh_ranks(void) {
    return NULL;
}

lh_status lh_ranks_close(bool well) {
    (void)well;
    return LH_OK;
}
