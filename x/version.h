#define LH_VERSION "43c330e4fb65"
#define LH_DIRTY "yes"
#define LH_BUILD_FLAGS "-O3 -fno-math-errno -fno-trapping-math -ffp-contract=fast -fopenmp -DLH_REAL_DOUBLE"
#define LH_DATA_DIR "/usr/local/share/longhaul"
