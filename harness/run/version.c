/* What the build system says of this program (version.h, written by the Makefile). */
#include "harness/run/machine.h"

/* The Makefile tells, in build/version.h, at each make. */
const char *lh_version(void) {
    return LH_VERSION;
}

const char *lh_version_dirty(void) {
    return LH_DIRTY;
}

const char *lh_compiler(void) {
#ifdef __clang__
    return __VERSION__; /* "Clang 14.0.6" */
#else
    return "gcc " __VERSION__;
#endif
}

const char *lh_compiler_flags(void) {
    return LH_BUILD_FLAGS;
}

const char *lh_share_folder(void) {
    return LH_DATA_DIR;
}
