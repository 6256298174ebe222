/* The list of kernels as the driver sees it, made from kernels.def. */
#include "tests/kernels/conformance.h"

enum { WORKSPACE_ALIGNMENT = 64 };

typedef lh_status (*runner)(const lh_kernels *, const lh_launch *, const void *);
typedef size_t (*sizer)(const lh_kernels *, const void *);

static lh_status launch(const suite *s, runner run, sizer workspace, const void *args) {
    const size_t bytes = workspace == NULL ? 0 : workspace(s->table, args);
    const size_t units = bytes / WORKSPACE_ALIGNMENT + 1;
    void *memory = aligned_alloc(WORKSPACE_ALIGNMENT, units * WORKSPACE_ALIGNMENT);
    if (memory == NULL) abort();
    const lh_launch with = {.workspace = memory};
    const lh_status status = run(s->table, &with, args);
    free(memory);
    return status;
}

/* The typed entries of the table behind untyped ones. */
#define LH_KERNEL(k, dtypes)                                                                       \
    static lh_status run_##k(const lh_kernels *table, const lh_launch *with, const void *args) {   \
        return table->k(with, args);                                                               \
    }                                                                                              \
    static bool present_##k(const lh_kernels *table) {                                             \
        return table->k != NULL;                                                                   \
    }
#define LH_KERNEL_W(k, dtypes)                                                                     \
    LH_KERNEL(k, dtypes)                                                                           \
    static size_t workspace_##k(const lh_kernels *table, const void *args) {                       \
        return table->k##_workspace(args);                                                         \
    }
#include "kernels/kernels.def"
#undef LH_KERNEL
#undef LH_KERNEL_W

#define LH_KERNEL(k, dtypes)                                                                       \
    lh_status launch_##k(suite *s, const lh_##k##_args *args) {                                    \
        return launch(s, run_##k, NULL, args);                                                     \
    }
#define LH_KERNEL_W(k, dtypes)                                                                     \
    lh_status launch_##k(suite *s, const lh_##k##_args *args) {                                    \
        return launch(s, run_##k, workspace_##k, args);                                            \
    }
#include "kernels/kernels.def"
#undef LH_KERNEL
#undef LH_KERNEL_W

#define ENTRY(k, sized)                                                                            \
    {.id = LH_KERNEL_##k,                                                                          \
     .name = #k,                                                                                   \
     .run = run_##k,                                                                               \
     .workspace = sized,                                                                           \
     .present = present_##k,                                                                       \
     .precise = precise_##k,                                                                       \
     .naive = naive_##k,                                                                           \
     .cases = cases_##k,                                                                           \
     .gradients = gradients_##k,                                                                   \
     .bench = bench_##k},
#define LH_KERNEL(k, dtypes)   ENTRY(k, NULL)
#define LH_KERNEL_W(k, dtypes) ENTRY(k, workspace_##k)
const kernel_entry kernel_entries[] = {
#include "kernels/kernels.def"
};
#undef LH_KERNEL
#undef LH_KERNEL_W

const int kernel_entry_count = sizeof kernel_entries / sizeof *kernel_entries;
