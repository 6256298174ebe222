/* The part of a model's check that divides what is read, for the files of this folder alone. */
#ifndef LH_INFER_CHECK_SEGMENTS_H
#define LH_INFER_CHECK_SEGMENTS_H

#include "harness/infer/check_bench.h"

/* Whether a class that declares LH_ABLE_STATE gives the same outputs however a document is divided
 * into segments: in one, and in shorter ones, where the model takes them. They may differ by what
 * rounding makes of another order: 1e-3 of what is usual in outputs, in double 1e-9. */
lh_status lh_check_segments(lh_check_bench *bench, lh_finding *out);

#endif
