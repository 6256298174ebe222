/* The option table of a task is its own rows and those of the data that it reads. */
#ifndef LH_TRAIN_OPTION_TABLES_H
#define LH_TRAIN_OPTION_TABLES_H

#include "harness/engine/options.h"

enum { LH_OPTION_ROWS = 64 };

/* Writes `count` own rows and then those of `data` into `out` [LH_OPTION_ROWS], which starts
 * zeroed; on every call the same. Returns out. */
const lh_option *lh_option_tables_join(const lh_option *own, int count, const lh_option *data,
                                       lh_option *out);

/* Copies what is set of the data's rows, which stand behind `own` others in the table of `from`. */
lh_status lh_option_tables_copy(const lh_options *from, int own, const lh_option *data,
                                lh_options *to);

#endif
