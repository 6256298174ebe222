#!/usr/bin/env bash
# The probes say what is missing and what that costs; the installer never acts without need.
. tests/test.sh
unset CC CXX DEPS BLAS ONEDNN GNUPLOT INSTALL MAKEFLAGS WERROR REAL SANITIZE

configure=scripts/configure.sh
succeeds "finds what this build needed" "✓ OpenBLAS" $configure "$scratch/config.mk"
succeeds "writes make variables" "CPU_ISAS = scalar" cat "$scratch/config.mk"
succeeds "a linker of tests that works, or the usual one" "TEST_LINKER =" \
    grep -E '^TEST_LINKER =( -fuse-ld=(lld|gold))?$' "$scratch/config.mk"

fails 1 "names the package of a required part" "apt-get install libopenblas-dev" \
    env BLAS=no $configure "$scratch/without.mk"
quietly 1 "writes nothing when a required part is missing" test -e "$scratch/without.mk"
fails 1 "names the package of the compiler" "build-essential" \
    env CC=false $configure "$scratch/no.mk"
succeeds "goes on without an optional part" "without it: tables, but no charts" \
    env GNUPLOT=/nonexistent $configure "$scratch/plain.mk"
succeeds "and without oneDNN" "no precision=bf16 on the processor" \
    env ONEDNN=no $configure "$scratch/f32.mk"
succeeds "which it notes" "ONEDNN_FOUND = no" cat "$scratch/f32.mk"
fails 2 "a misspelt option" "usage: scripts/configure.sh OUTPUT | --missing" $configure --missng
succeeds "lists what is missing" "gnuplot-nox" env GNUPLOT=/nonexistent $configure --missing
succeeds "each package once" "0" \
    bash -c "env CC=false CXX=false '$configure' --missing | tr ' ' '\n' | sort | uniq -d | wc -l"
succeeds "takes flags as given" "as given: -lblas_of_mine" \
    env BLAS=-lblas_of_mine $configure "$scratch/given.mk"
succeeds "and passes them on" "-lblas_of_mine" cat "$scratch/given.mk"

# A toolkit as conda or pip lay it out, with libraries in lib/ alone, is found and linked with.
toolkit=$(realpath "$scratch")/toolkit
mkdir -p "$toolkit/bin" "$toolkit/lib" "$scratch/wheel"
nvcc_of() { printf '#!/bin/sh\necho "release %s"\n' "$1" >"$toolkit/bin/nvcc" && chmod +x "$toolkit/bin/nvcc"; }
with_toolkit() { env MPI=no NVCC="$toolkit/bin/nvcc" "$@"; }
link_line() {
    make -n -o "$scratch/cuda.mk" config="$scratch/cuda.mk" O="$scratch/build" CUDA=1 "$scratch/build/longhaul"
}
nvcc_of 13.0
succeeds "what an nvcc lacks is named, and where" "no libcublas.so in lib*/ and lib/*/ of $toolkit, nor libcublas.so.*" \
    with_toolkit $configure "$scratch/cuda.mk"
touch "$toolkit"/lib/lib{cublas,cublasLt,cudart}.so
succeeds "finds CUDA libraries in lib/" "nvcc release 13.0" with_toolkit $configure "$scratch/cuda.mk"
succeeds "with which the program is linked" "-L$toolkit/lib " link_line
nvcc_of 11.8
succeeds "CUDA 11 is not taken" "$toolkit/bin/nvcc is release 11.8, and CUDA 12 or later is needed" \
    with_toolkit $configure "$scratch/cuda.mk"
# pip's wheel of cuBLAS has one file name and its own headers.
nvcc_of 13.0
rm "$toolkit"/lib/libcublas{,Lt}.so
wheel=$(realpath "$scratch/wheel")
mkdir -p "$wheel/nvidia/cu13/lib" "$wheel/nvidia/cu13/include"
touch "$wheel"/nvidia/cu13/lib/libcublas{,Lt}.so.13 "$wheel/nvidia/cu13/include/cublas_v2.h"
PYTHONPATH=$wheel succeeds "finds cuBLAS among python3's wheels" "nvcc release 13.0" \
    with_toolkit $configure "$scratch/cuda.mk"
succeeds "by the name of its file" "-Wl,-rpath,$wheel/nvidia/cu13/lib -l:libcublas.so.13" link_line
succeeds "and cuBLASLt beside it" "-l:libcublasLt.so.13" link_line
succeeds "with its headers" "-I$wheel/nvidia/cu13/lib/../include" link_line

# A machine whose package manager only notes what it was asked; not every user may use it.
mkdir "$scratch/bin"
printf '#!/bin/sh\necho "apt-get $*" >>"%s/asked"\n' "$scratch" >"$scratch/bin/apt-get"
printf '#!/bin/sh\necho "%sFAKE_USER"\n' '$' >"$scratch/bin/id"
printf '#!/bin/sh\nexit 1\n' >"$scratch/bin/sudo"
chmod +x "$scratch"/bin/*
as_user() {
    FAKE_USER=$1 PATH="$scratch/bin:$PATH" "${@:2}"
}
fails 1 "tells an ordinary user what to run" "apt-get install one two" \
    as_user 1000 scripts/install-packages.sh one two
quietly 1 "and installs nothing" test -e "$scratch/asked"
succeeds "installs as root" "Installing one two" as_user 0 scripts/install-packages.sh one two
succeeds "exactly these" "--no-install-recommends one two" cat "$scratch/asked"

# Another distribution: nothing of that name on the path.
mkdir "$scratch/elsewhere"
for tool in bash dirname; do ln -s "$(command -v "$tool")" "$scratch/elsewhere/$tool"; done
fails 1 "elsewhere it names them" "please install what your system has for them" \
    env PATH="$scratch/elsewhere" bash scripts/install-packages.sh one two

finish
