/* The ranks that a launcher (mpirun, srun) started together with this process: MPI between
 * processes and for sums on processors, NCCL for sums on GPUs. */
#ifndef LH_RUN_RANKS_H
#define LH_RUN_RANKS_H

#include "harness/train/communicator.h"

/* Once, before threads and GPUs are in use; does nothing in a process that no launcher started.
 * Fails: LH_EDEVICE when there are several ranks but this build cannot join them. */
lh_status lh_ranks_open(void);

/* What lh_ranks_open joined; NULL for a process alone. */
lh_communicator *lh_ranks(void);

/* Ends the program's part. `well`: waits for the other ranks, which end well, too; else leaves them
 * to find this one gone. Fails: LH_EDEVICE when one of them ends otherwise. */
lh_status lh_ranks_close(bool well);

#endif
