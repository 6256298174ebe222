/* Checkpoint files: everything that a run needs to go on bit for bit.
 *
 * Layout, in the machine's byte order: magic "LHSNAP01", u32 version, u32 size of `real`, u64 bytes
 * of the body, the body, u64 XXH3 digest of all before it. Body: identity text, record, cursor,
 * tensors; each with its length before it. */
#ifndef LH_TRAIN_SNAPSHOT_H
#define LH_TRAIN_SNAPSHOT_H

#include "harness/train/communicator.h"
#include "harness/train/early_stopping.h"
#include "harness/train/task.h"

/* Numbers of the trainer. */
typedef struct lh_snapshot_record {
    int64_t step, tokens; /* trained on */
    double seconds;
    double interval_nats, interval_weight; /* losses since the last point of the curve */
    double interval_tokens, interval_seconds;
    double gradient_norm; /* of the last step; NaN: no point was due after it */
    int64_t owes_point;   /* 1: a signal ended this step's evaluation, its point is not told yet */
    lh_evaluations evaluations;
    int64_t peak_memory_bytes; /* so far, over restarts */
} lh_snapshot_record;

/* One tensor of the file, borrowed. Where ranks share its rows (rows.all > 0), the file has those
 * of all ranks: `whole` when it is written, and a reader takes its own. */
typedef struct lh_snapshot_part {
    lh_tensor *tensor;
    lh_share rows;
    void *whole; /* NULL: the tensor is all there is */
} lh_snapshot_part;

/* In the file; and where this rank's rows begin there. */
size_t lh_snapshot_part_bytes(const lh_snapshot_part *part);
size_t lh_snapshot_part_offset(const lh_snapshot_part *part);

/* What is written, or what a reader expects and gets. The identity text, lines of "name=value",
 * says which run it is. */
typedef struct lh_snapshot {
    const char *identity;
    const lh_task *task; /* for a reader: its stream goes to the cursor; NULL: none does */
    lh_snapshot_record record;
    int cursor_count;
    int64_t cursor[LH_CURSOR_WORDS];
    lh_snapshot_part *part;
    int part_count;
} lh_snapshot;

/* Atomic. Fails: LH_EIO, LH_EMEMORY. */
lh_status lh_snapshot_write(const lh_snapshot *snapshot, const char *path);

/* Fills record and cursor, sets the task's stream and writes the tensors, after the whole file has
 * been found sound: a refusal changes nothing. Fails: LH_EIO; LH_EFORMAT for a truncated or corrupt
 * file, another precision, another identity (the message names the first line that differs), other
 * tensors, a record or cursor that no run has. */
lh_status lh_snapshot_read(lh_snapshot *snapshot, const char *path);

#endif
