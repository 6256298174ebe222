/* What every number of ranks has in common, a run of one process included. */
#include "harness/train/communicator.h"

lh_share lh_share_of(const lh_communicator *ranks, int64_t all) {
    if (ranks == NULL) return (lh_share){.count = all, .all = all};
    const int64_t first = all * ranks->rank / ranks->size;
    const int64_t end = all * (ranks->rank + 1) / ranks->size;
    return (lh_share){.first = first, .count = end - first, .all = all};
}

lh_share lh_share_part(lh_share rows, int64_t index, int64_t count) {
    const int64_t first = rows.count * index / count, end = rows.count * (index + 1) / count;
    return (lh_share){.first = rows.first + first, .count = end - first, .all = rows.all};
}

lh_status lh_ranks_sum(lh_communicator *ranks, double *x, int64_t count) {
    return ranks != NULL ? ranks->sum(ranks, x, count) : LH_OK;
}

lh_status lh_ranks_merge(lh_communicator *ranks, void *x, size_t bytes) {
    return ranks != NULL ? ranks->merge(ranks, x, bytes) : LH_OK;
}

lh_status lh_ranks_any(lh_communicator *ranks, bool *flag) {
    unsigned char byte = *flag;
    LH_TRY(lh_ranks_merge(ranks, &byte, 1));
    *flag = byte != 0;
    return LH_OK;
}

lh_status lh_ranks_alone(lh_communicator *ranks, lh_status status) {
    if (ranks != NULL && status != LH_OK) ranks->lost = true;
    return status;
}

bool lh_ranks_is_first(const lh_communicator *ranks) {
    return ranks == NULL || ranks->rank == 0;
}
