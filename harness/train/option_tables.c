#include "harness/train/option_tables.h"

const lh_option *lh_option_tables_join(const lh_option *own, int count, const lh_option *data,
                                       lh_option *out) {
    for (int i = 0; i < count; ++i)
        out[i] = own[i];
    for (int i = 0; data[i].name != NULL && count + i < LH_OPTION_ROWS - 1; ++i)
        out[count + i] = data[i];
    return out;
}

lh_status lh_option_tables_copy(const lh_options *from, int own, const lh_option *data,
                                lh_options *to) {
    for (int i = 0; data[i].name != NULL; ++i) {
        if (!lh_options_is_set(from, data[i].name)) continue;
        LH_TRY(lh_options_set(to, data[i].name, lh_options_value(from, own + i)));
    }
    return LH_OK;
}
