#!/usr/bin/env bash
# Finds out what this machine can build, by compiling, linking and running tiny programs.
#
#   scripts/configure.sh OUTPUT     writes the make variables to OUTPUT, prints a tick or a cross
#                                   per part; INSTALL=yes first installs missing packages
#   scripts/configure.sh --missing  prints the Debian packages that are missing, nothing else
#
# Reads CC, CXX, CURL, GNUPLOT, ... from the environment. Each part can be forced there:
# BLAS=no leaves a part out, BLAS="-L/opt/lib -lfoo" takes these flags untested.
set -u
case ${1:-} in
--missing) ;;
'' | -*) echo "usage: scripts/configure.sh OUTPUT | --missing" >&2 && exit 2 ;;
esac

cc=${CC:-cc}
cxx=${CXX:-c++}
deps_flags=
if [ -n "${DEPS:-}" ]; then
    deps_flags="-I$DEPS/include -L$DEPS/lib -Wl,--disable-new-dtags,-rpath,$DEPS/lib"
fi

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

cppflags="${DEPS:+-I$DEPS/include}"
ldflags="${DEPS:+-L$DEPS/lib -Wl,--disable-new-dtags,-rpath,$DEPS/lib}"
ldlibs=
missing=
required_missing=
lines=

say() {
    lines="$lines$1"$'\n'
}

# found MARK PART DETAIL
found() {
    say "$(printf '  %s %-14s %s' "$1" "$2" "$3")"
}

# want LIST PACKAGES: each of them stands in the list once
want() {
    local -n list=$1
    local package
    for package in $2; do
        case "$list " in *" $package "*) ;; *) list="$list $package" ;; esac
    done
}

# lacks PART PACKAGES CONSEQUENCE [required]
lacks() {
    found "✗" "$1" "install $2; without it: $3"
    want missing "$2"
    if [ "${4:-}" = required ]; then want required_missing "$2"; fi
}

# Compiles and links the program on standard input: links FLAGS < program
links() {
    cat >"$work/probe.c"
    # shellcheck disable=SC2086  # flags are lists of words
    $cc -std=c11 $deps_flags "$work/probe.c" -o "$work/probe" $1 >/dev/null 2>&1
}

# The same, and runs it too.
runs() {
    links "$1" && "$work/probe" >"$work/answer" 2>/dev/null
}

# Does the compiler take these flags without a warning, for a file it does not run?
accepts() {
    echo 'int main(void) { return 0; }' >"$work/flag.c"
    # shellcheck disable=SC2086
    $cc -Werror $1 -c "$work/flag.c" -o "$work/flag.o" >/dev/null 2>&1
}

# Sorts the flags of a library into what the compiler and what the linker reads.
use() {
    local flag
    for flag in $1; do
        case $flag in
        -I* | -D*) cppflags="$cppflags $flag" ;;
        *) ldlibs="$ldlibs $flag" ;;
        esac
    done
}

flags_of() {
    pkg-config --cflags --libs "$1" 2>/dev/null
}

# library PART FORCED PACKAGE CONSEQUENCE required|optional CANDIDATE... < program
# Takes the first candidate whose program runs; succeeds when the part is there.
library() {
    local part=$1 forced=$2 package=$3 consequence=$4 need=$5 program candidate
    shift 5
    program=$(cat)
    case $forced in
    no | 0)
        found "-" "$part" "left out as asked; without it: $consequence"
        if [ "$need" = required ]; then want required_missing "$package"; fi
        return 1
        ;;
    ?*)
        use "$forced"
        found "✓" "$part" "as given: $forced"
        return 0
        ;;
    esac
    for candidate in "$@"; do
        if [ -n "$candidate" ] && runs "$candidate" <<<"$program"; then
            use "$candidate"
            found "✓" "$part" "$(head -n 1 "$work/answer")"
            return 0
        fi
    done
    lacks "$part" "$package" "$consequence" "$need"
    return 1
}

# program PART FORCED COMMAND PACKAGE CONSEQUENCE [required]: a command that is run, not linked.
program() {
    local part=$1 forced=$2 command=$3 package=$4 consequence=$5 need=${6:-} version
    case $forced in
    no | 0)
        found "-" "$part" "left out as asked; without it: $consequence"
        return 1
        ;;
    ?*) command=$forced ;;
    esac
    version=$({ "$command" --version || "$command" -v; } 2>/dev/null | head -n 1)
    if [ -n "$version" ]; then
        version=${version%% (*}
        found "✓" "$part" "${version%% Copyright*}"
        return 0
    fi
    if [ -n "$package" ]; then lacks "$part" "$package" "$consequence" "$need"; else
        found "✗" "$part" "$consequence"
    fi
    return 1
}

probe_compiler() {
    compiler=gcc
    if ! runs "" <<<'int main(void) { return 0; }'; then
        lacks "C compiler" "build-essential" "nothing can be built ($cc does not work)" required
        return
    fi
    if $cc -dM -E -x c /dev/null 2>/dev/null | grep -q __clang__; then compiler=clang; fi
    found "✓" "C compiler" "$($cc --version | head -n 1)"
}

# There are a hundred and fifty test programs, and the usual linker takes half a second for each.
probe_linker() {
    local name
    test_linker=
    for name in lld gold; do
        if runs "-fuse-ld=$name" <<<'int main(void) { return 0; }'; then
            test_linker=" -fuse-ld=$name"
            found "✓" "linker" "of tests: $name"
            return
        fi
    done
}

probe_openmp() {
    local flag package=build-essential
    if [ "$compiler" = clang ]; then package=libomp-dev; fi
    openmp=-fopenmp-simd
    case ${OPENMP:-} in
    no | 0)
        found "-" OpenMP "left out as asked; without it: one thread only"
        return
        ;;
    ?*)
        openmp=$OPENMP
        found "✓" OpenMP "as given: $OPENMP"
        return
        ;;
    esac
    for flag in -fopenmp -fopenmp=libomp; do
        if runs $flag <<'C'; then
#include <omp.h>
#include <stdio.h>
int main(void) { int n = 0;
#pragma omp parallel reduction(+ : n)
n += 1;
return printf("%d threads here\n", n) < 0 || n != omp_get_max_threads(); }
C
            openmp=$flag
            found "✓" OpenMP "$(cat "$work/answer")"
            return
        fi
    done
    lacks OpenMP "$package" "one thread only"
}

# The instruction sets that kernels/cpu is compiled for; which of them runs is decided at start-up.
# Tests run those that this processor has.
probe_instruction_sets() {
    isas=scalar
    isas_here=scalar
    avx2="-mavx2 -mfma -mf16c"
    avx512="-march=x86-64-v4"
    if runs "" <<'C'; then
#include <stdio.h>
int main(void) { __builtin_cpu_init(); puts("scalar");
if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) puts("avx2");
if (__builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512cd")) puts("avx512");
return 0; }
C
        isas_here=$(paste -sd ' ' "$work/answer")
        if accepts "$avx512 -mprefer-vector-width=512"; then
            avx512="$avx512 -mprefer-vector-width=512"
        fi
        if accepts "$avx2"; then isas="$isas avx2"; fi
        if accepts "$avx512"; then isas="$isas avx512"; fi
    fi
    found "✓" "CPU kernels" "$isas; this processor has $isas_here"
}

probe_libraries() {
    library OpenBLAS "${BLAS:-}" libopenblas-dev "no matrix products" required \
        "$(flags_of openblas)" "-lopenblas" "-I/usr/include/openblas -lopenblas" <<'C'
#include <cblas.h>
#include <stdio.h>
int main(void) { float a = 2, b = 3, c = 0;
cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 1, 1, 1, 1, &a, 1, &b, 1, 0, &c, 1);
return printf("%s, core %s\n", openblas_get_config(), openblas_get_corename()) < 0 || c < 5; }
C
    library Lua "${LUA:-}" liblua5.4-dev "no scripts" required \
        "$(flags_of lua5.4)" "$(flags_of lua-5.4)" "$(flags_of lua)" \
        "-I/usr/include/lua5.4 -llua5.4" "-llua -lm -ldl" <<'C'
#include <lauxlib.h>
#include <stdio.h>
int main(void) { lua_State *L = luaL_newstate();
int version = L ? (int)lua_version(L) : 0; lua_close(L);
return puts(LUA_RELEASE) < 0 || version != 504; }
C
    library libcsv "${CSV:-}" libcsv-dev "no CSV files" required "$(flags_of libcsv)" "-lcsv" <<'C'
#include <csv.h>
#include <stdio.h>
int main(void) { struct csv_parser p; int bad = csv_init(&p, CSV_STRICT); csv_free(&p);
return printf("%d.%d.%d\n", CSV_MAJOR, CSV_MINOR, CSV_RELEASE) < 0 || bad; }
C
    library cJSON "${CJSON:-}" libcjson-dev "no weight files" required \
        "$(flags_of libcjson)" "-lcjson" "-I/usr/include/cjson -lcjson" <<'C'
#include <cjson/cJSON.h>
#include <stdio.h>
int main(void) { cJSON *j = cJSON_Parse("[1]"); int bad = !j; cJSON_Delete(j);
return puts(cJSON_Version()) < 0 || bad; }
C
    library zlib "${ZLIB:-}" zlib1g-dev "no compressed corpora" required "$(flags_of zlib)" "-lz" <<'C'
#include <stdio.h>
#include <zlib.h>
int main(void) { return puts(zlibVersion()) < 0 || crc32(0, (const unsigned char *)"a", 1) != 0xe8b7be43; }
C
    library xxHash "${XXHASH:-}" libxxhash-dev "no run identities" required \
        "$(flags_of libxxhash)" "-lxxhash" <<'C'
#include <stdio.h>
#include <xxhash.h>
int main(void) { unsigned v = XXH_versionNumber();
return printf("%u.%u.%u\n", v / 10000, v / 100 % 100, v % 100) < 0 || XXH64("", 0, 0) == 0; }
C
}

# Products in bf16 share their threads with OpenMP; whether the processor has the instructions is
# asked when a run wants them.
probe_onednn() {
    local consequence="no precision=bf16 on the processor"
    onednn=no
    if [ "$openmp" = -fopenmp-simd ] && [ "${ONEDNN:-}" != no ]; then
        found "-" oneDNN "needs OpenMP; without it: $consequence"
        return
    fi
    if library oneDNN "${ONEDNN:-}" libdnnl-dev "$consequence" optional \
        "$(flags_of dnnl)" "-ldnnl" <<'C'; then onednn=yes; fi
#include <oneapi/dnnl/dnnl.h>
#include <stdio.h>
int main(void) { const dnnl_version_t *v = dnnl_version(); unsigned isa = dnnl_get_effective_cpu_isa();
const char *has = (isa & dnnl_cpu_isa_avx512_core_amx) == dnnl_cpu_isa_avx512_core_amx ? "AMX" :
(isa & dnnl_cpu_isa_avx512_core_bf16) == dnnl_cpu_isa_avx512_core_bf16 ? "avx512_bf16" : "no bf16";
return printf("%d.%d.%d; this processor has %s\n", v->major, v->minor, v->patch, has) < 0 || v->major != 2; }
C
}

probe_pcre2() {
    pcre2=no
    if library PCRE2 "${PCRE2:-}" libpcre2-dev "no BPE vocabularies" optional \
        "$(flags_of libpcre2-8)" "-lpcre2-8" <<'C'; then pcre2=yes; fi
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdio.h>
int main(void) { unsigned unicode = 0; int bad = pcre2_config(PCRE2_CONFIG_UNICODE, &unicode) < 0;
return printf("%d.%d\n", PCRE2_MAJOR, PCRE2_MINOR) < 0 || bad || !unicode; }
C
}

# SentencePiece has a C++ interface, so its probe needs the C++ compiler.
probe_sentencepiece() {
    local consequence="no sub-word vocabularies, bytes only"
    sentencepiece=no
    case ${SENTENCEPIECE:-} in
    no | 0)
        found "-" SentencePiece "left out as asked; without it: $consequence"
        return
        ;;
    esac
    cat >"$work/probe.cc" <<'C'
#include <sentencepiece_processor.h>
int main(int, char **argv) { sentencepiece::SentencePieceProcessor p; return p.Load(argv[1]).ok(); }
C
    local flags=${SENTENCEPIECE:--lsentencepiece -lsentencepiece_train}
    # shellcheck disable=SC2086
    if $cxx -std=c++17 $deps_flags "$work/probe.cc" -o "$work/probe" $flags >/dev/null 2>&1 &&
        "$work/probe" "$work/none" >/dev/null 2>&1; then
        sentencepiece=yes
        use "$flags"
        found "✓" SentencePiece "sub-word vocabularies"
        return
    fi
    lacks SentencePiece "libsentencepiece-dev" "$consequence"
}

# The fuzzer that comes with clang; without it the fuzz programs only replay their corpus.
probe_fuzzer() {
    fuzzer=no
    if links "-fsanitize=fuzzer" <<'C'; then fuzzer=yes; fi
#include <stddef.h>
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) { return !data && size; }
C
}

probe_programs() {
    program lua5.4 "" lua5.4 lua5.4 "the Lua half of the library cannot be embedded" required
    program gnuplot "${GNUPLOT:-}" gnuplot gnuplot-nox "tables, but no charts"
    program curl "${CURL:-}" curl curl "no download of public corpora"
}

# Flags that link a library of CUDA's by its file: that of the toolkit in folder $2, of a distribution, or of pip's
# wheels, which have no file for the linker's -l.
cuda_library() {
    local file folder wheels
    wheels=$(python3 -c 'import nvidia; print(*nvidia.__path__)' 2>/dev/null)
    for file in $(compgen -G "$2/lib*/lib$1.so") $(compgen -G "$2/lib/*/lib$1.so") \
        $(compgen -G "${wheels:-/nowhere}/*/lib/lib$1.so.[0-9]*"); do
        folder=${file%/*}
        echo "-L$folder -Wl,-rpath,$folder -l:${file##*/}"
        return
    done
    return 1
}

# Sets nvcc to $1 where it can be used, else `why` to what it lacks.
try_nvcc() {
    local home=${1%/bin/nvcc} library headers flags=''
    release=$("$1" --version 2>/dev/null | grep -o 'release [0-9.]*') || return
    release=${release#release }
    if [ "${release%%.*}" -lt 12 ]; then
        why="$1 is release $release, and CUDA 12 or later is needed"
        return
    fi
    for library in cublas cublasLt cudart; do
        if ! flags+=" $(cuda_library $library "$home")"; then
            why="no lib$library.so in lib*/ and lib/*/ of $home, nor lib$library.so.* in nvidia/*/lib/ of python3"
            return
        fi
    done
    nvcc=$1
    cuda_ldlibs=$flags
    headers=${flags# -L}
    headers=${headers%% *}/../include # of a wheel
    if [ ! -e "$home/include/cublas_v2.h" ] && [ -e "$headers/cublas_v2.h" ]; then cuda_cppflags=" -I$headers"; fi
}

# nvcc and cuBLAS; whether they are used is the Makefile's CUDA=.
probe_cuda() {
    local wanted=${NVCC:-} candidate release='' why="no nvcc"
    nvcc=
    cuda_ldlibs=
    cuda_cppflags=
    gpu=no
    case $wanted in
    no | 0)
        found "-" CUDA "left out as asked; without it: kernels on the CPU only"
        return
        ;;
    esac
    for candidate in ${wanted:-nvcc /usr/local/cuda/bin/nvcc}; do
        candidate=$(command -v "$candidate") || continue
        try_nvcc "$(realpath "$candidate")"
        if [ -n "$nvcc" ]; then break; fi
    done
    if [ -e /dev/nvidia0 ]; then gpu=yes; fi
    if [ -z "$nvcc" ]; then
        found "✗" CUDA "$why; without it: kernels on the CPU only"
    elif [ $gpu = yes ]; then
        found "✓" CUDA "nvcc release $release, and a GPU"
    else
        found "✓" CUDA "nvcc release $release, no GPU: built on demand (make CUDA=1)"
    fi
}

# Several processes train one run together; MPI's own compiler knows its flags. It is run, not only
# linked, but not initialised: that is a launcher's business.
probe_scale_out() {
    local consequence="one process trains a run"
    mpi=no
    nccl=no
    if library MPI "${MPI:-}" "libopenmpi-dev openmpi-bin" "$consequence" optional \
        "$(flags_of ompi-c)" "$(mpicc --showme:compile 2>/dev/null) $(mpicc --showme:link 2>/dev/null)" \
        "$(mpicc -compile_info 2>/dev/null | cut -d' ' -f2-)" <<'C'; then mpi=yes; fi
#include <mpi.h>
#include <stdio.h>
#include <string.h>
int main(void) { char text[MPI_MAX_LIBRARY_VERSION_STRING]; int n = 0;
int bad = MPI_Get_library_version(text, &n) != MPI_SUCCESS;
return printf("%.*s\n", (int)strcspn(text, ","), text) < 0 || bad; }
C
    if [ -z "$nvcc" ] || [ $mpi = no ]; then return; fi
    local flags="-I${nvcc%/bin/nvcc}/include -L${nvcc%/bin/nvcc}/lib64 -L${nvcc%/bin/nvcc}/lib -lnccl"
    if links "$flags" <<'C'; then nccl=yes; fi
#include <nccl.h>
int main(void) { int version = 0; return ncclGetVersion(&version); }
C
    if [ $nccl = yes ]; then
        found "✓" NCCL "several GPUs train a run (make CUDA=1)"
    else
        found "✗" NCCL "no libnccl-dev; without it: a run trains on one GPU"
    fi
}

probe_all() {
    lines=
    missing=
    required_missing=
    cppflags="${DEPS:+-I$DEPS/include}"
    ldflags="${DEPS:+-L$DEPS/lib -Wl,--disable-new-dtags,-rpath,$DEPS/lib}"
    ldlibs=
    probe_compiler
    probe_linker
    probe_openmp
    probe_instruction_sets
    probe_libraries
    probe_onednn
    probe_pcre2
    probe_sentencepiece
    probe_fuzzer
    probe_programs
    probe_cuda
    probe_scale_out
}

write_config() {
    mkdir -p "$(dirname "$1")"
    cat >"$1.new" <<MAKE
# Written by scripts/configure.sh.
COMPILER = $compiler
TEST_LINKER =$test_linker
OPENMP_FLAGS = $openmp
CPU_ISAS = $isas
CPU_ISAS_HERE = $isas_here
CPU_FLAGS_scalar =
CPU_FLAGS_avx2 = $avx2
CPU_FLAGS_avx512 = $avx512
LIB_CPPFLAGS =$cppflags
LIB_LDFLAGS = $ldflags
LIB_LDLIBS =$ldlibs
ONEDNN_FOUND = $onednn
PCRE2_FOUND = $pcre2
SENTENCEPIECE_FOUND = $sentencepiece
FUZZER_FOUND = $fuzzer
MPI_FOUND = $mpi
NCCL_FOUND = $nccl
NVCC_PATH = $nvcc
CUDA_CPPFLAGS =$cuda_cppflags
CUDA_LDLIBS =$cuda_ldlibs
GPU_FOUND = $gpu
MISSING_PACKAGES =$missing
MAKE
    mv "$1.new" "$1"
}

probe_all
if [ "$1" = --missing ]; then
    # shellcheck disable=SC2086
    echo $missing
    exit 0
fi
output=$1
if [ -n "$missing" ] && [ "${INSTALL:-}" = yes ]; then
    # shellcheck disable=SC2086
    "$(dirname "$0")/install-packages.sh" $missing && probe_all
fi
printf 'configure: %s\n%s' "$output" "$lines"
if [ -n "$required_missing" ]; then
    printf 'longhaul cannot be built yet. On Debian or Ubuntu:\n  apt-get install%s\n' \
        "$required_missing" >&2
    exit 1
fi
write_config "$output"
