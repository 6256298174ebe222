#include "harness/run/machine.h"

const char *lh_version(void) {
    return LH_VERSION;
}

const char *lh_compiler(void) {
    return __VERSION__;
}

const char *lh_share_folder(void) {
    return LH_DATA_DIR;
}
