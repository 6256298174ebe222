#!/usr/bin/env bash
# scripts/machine-code.lua finds what got worse, by a stand-in for cuobjdump; without one `make machine-code` fails.
# A table that is older than its sources is seen without nvcc.
. tests/test.sh

# code REGISTERS STACK LINES: what cuobjdump says of the one kernel of tile.o, in blocks of 128 threads.
printf '%s\n' '' .nv.info._Z12attend_tilesPf '	Attribute:	EIATTR_MAX_THREADS' '	Format:	EIFMT_SVAL' '	Value:	0x40 0x2 0x1 ' '' '' >"$scratch/elf"
code() {
    printf '%s\n' " Function _Z12attend_tilesPf:" "  REG:$1 STACK:$2 SHARED:512 LOCAL:0 CONSTANT[0]:400" >"$scratch/usage"
    { printf '\t\tFunction : _Z12attend_tilesPf\n' && printf '        /*0000*/  %s ;\n' "${@:3}" && printf '\t\t.....\n'; } >"$scratch/sass"
}
cat >"$scratch/cuobjdump" <<SH2
#!/bin/sh
case \$3 in -res-usage) cat '$scratch/usage' ;; -sass) cat '$scratch/sass' ;; -elf) cat '$scratch/elf' ;; esac
SH2
chmod +x "$scratch/cuobjdump"
tile=('HMMA.16816.F32.BF16 R4, R8, R12, R4' 'LDSM.16.M88.4 R8, [R2]' 'LDGSTS.E.BYPASS.128 [R3], [R6.64]' 'LDG.E R5, [R6]')
table=$scratch/table.csv dynamic=$scratch/dynamic.csv
printf 'kernel,bytes\nattend_tiles,1024\n' >"$dynamic"
check() { lua5.4 scripts/machine-code.lua "$scratch/cuobjdump" sm_90 "${RELEASE:-13.0}" "$table" "$dynamic" "$scratch/tile.o"; }

code 128 0 "${tile[@]}"
printf '# nvcc 13.0\n' >"$table"
check >"$scratch/new.csv" 2>"$scratch/told"
succeeds "a kernel is in no table" "tile: attend_tiles: no line of the table" cat "$scratch/told"
mv "$scratch/new.csv" "$table"
succeeds "what was made is the table" "tile,attend_tiles,128,128,16,0,512,1024,1,1,1,0,0" check

code 129 0 "${tile[@]}"
fails 1 "more registers" "129 of registers, 128 in the table" check
fails 1 "and fewer warps beside each other for them" "12 of warps, 16 in the table" check
RELEASE=13.1 succeeds "another compiler's are not compared" "registers and spills are not compared: the table is of nvcc 13.0, this is 13.1" check
printf 'kernel,bytes\nattend_tiles,%d\n' $((75 << 10)) >"$scratch/more.csv"
code 128 0 "${tile[@]}"
dynamic=$scratch/more.csv fails 1 "more memory at its launch" "76800 of dynamic, 1024 in the table" check
dynamic=$scratch/more.csv fails 1 "which leaves room for fewer blocks" "12 of warps, 16 in the table" check
dynamic=/dev/null RELEASE=13.1 fails 1 "or nobody told of" "tile: attend_tiles: no line of /dev/null" check
code 128 32 "${tile[@]}"
fails 1 "a spill" "32 of stack, 0 in the table" check
code 128 0 "${tile[@]}" 'LD.E R5, [R6]'
fails 1 "a generic load" "1 generic loads or stores" check
code 128 0 "${tile[@]}" 'MOVM.16.MT88 R4, R5'
RELEASE=13.1 fails 1 "an exchange, whatever the compiler" "1 MOVM" check
code 128 0 "${tile[@]}" 'VIMNMX.RELU R15, P2, P2, R4, 0x40, PT'
RELEASE=13.1 fails 1 "a predicate that does not hold, whatever the compiler" "1 VIMNMX.RELU with a predicate" check
code 128 0 "${tile[@]}" 'VIMNMX.RELU R15, R4, 0x40, PT'
succeeds "without one it may be there" "tile,attend_tiles" check
code 128 0 "${tile[0]}" "${tile[2]}"
fails 1 "operands that no longer come by LDSM" "0 of ldsm, 1 in the table" check
code 128 0 "${tile[0]}" "${tile[1]}"
fails 1 "copies that are waited for" "0 of ldgsts, 1 in the table" check
code 128 168 "${tile[@]}"
sed 's/,16,0,512,/,16,168,512,/' "$table" >"$scratch/renewed.csv"
table=$scratch/renewed.csv fails 1 "a spill that a renewed table has" "168 of stack, 160 at most on tensor cores" check
RELEASE=13.1 fails 1 "or another compiler makes" "168 of stack, 160 at most on tensor cores" check
code 128 168 "${tile[@]:1}"
table=$scratch/renewed.csv succeeds "off them it may be worth it" "tile,attend_tiles,128,128,16,168" check
printf '%s\n' 'tile,another,1,32,64,0,0,0,0,0,0,0,0' >>"$table"
code 128 0 "${tile[@]}"
fails 1 "a kernel that is gone" "tile: another: in the table, but not there" check

# A tree of two kernels, of which one includes a header and by way of it another, and a table that was made there.
tree=$scratch/tree
mkdir -p "$tree"/{kernels/cuda,harness/run,tests}
cp -r scripts "$tree" && cp -r tests/lint "$tree/tests" && cp harness/run/lists.lua "$tree/harness/run"
part() { cat >"$tree/kernels/cuda/$1"; }
printf '#include "kernels/cuda/tile.cuh"\n/* Attends. */\nint a;\n' | part tile.cu
printf '#include "kernels/base.h"\n' | part tile.cuh
printf 'int b; // of tokens\n' | part other.cu
printf '#define BASE 1\n' >"$tree/kernels/base.h"
printf 'a := 1\nnvccflags := -O3 \\\n    -lineinfo\nb := 2\n' >"$tree/Makefile"
made() { (cd "$tree" && lua5.4 scripts/machine-code.lua true sm_90 13.0 /dev/null /dev/null) 2>/dev/null; }
made >"$tree/kernels/cuda/machine_code.csv"
in_time() { (cd "$tree" && lua5.4 tests/lint/machine_code.lua); }
quietly 0 "a table is of its sources" in_time
printf '#include "kernels/cuda/tile.cuh"\n/* Attends to\n * tiles. */\n\nint  a; // of them\n' | part tile.cu
printf 'int b;\n' | part other.cu
printf 'nvccflags := -O3 -lineinfo\nc := 3\n' >"$tree/Makefile"
quietly 0 "a changed comment asks for nothing, nor does another line of the Makefile" in_time
printf 'int c;\n' | part other.cu
fails 1 "a changed kernel does" "kernels/cuda/other.cu:1: changed since machine_code.csv was made" in_time
printf 'int b;\n' | part other.cu
printf '#define BASE 2\n' >"$tree/kernels/base.h"
fails 1 "so does a header that is included by way of another" "kernels/base.h:1: changed since" in_time
made >"$tree/kernels/cuda/machine_code.csv"
quietly 0 "until the table is made again" in_time
printf 'int d;\n' | part third.cu
fails 1 "a kernel that the table is too old for" "kernels/cuda/third.cu:1: new since" in_time
printf 'nvccflags := -O3 \\\n    -lineinfo -use_fast_math\n' >"$tree/Makefile"
fails 1 "nvcc's flags do" "Makefile:nvccflags:1: changed since" in_time
rm "$tree"/kernels/cuda/{third,other}.cu
fails 1 "and one that is gone" "kernels/cuda/other.cu:1: gone since" in_time

# The target of the Makefile, with no kernels and a compiler that tells its release. What configure would find is put
# down, as of a day to come, so that it is not looked for.
mkdir -p "$scratch/cuda/bin" "$scratch/build"
printf '#!/bin/sh\necho "Cuda compilation tools, release 13.0, V13.0.1"\n' >"$scratch/cuda/bin/nvcc"
chmod +x "$scratch/cuda/bin/nvcc"
echo "NVCC_PATH = $scratch/cuda/bin/nvcc" >"$scratch/build/config.mk"
touch -d tomorrow "$scratch/build/config.mk"
target() { make CUDA=1 O="$scratch/build" cuda_sources= "$@" machine-code; }
fails 2 "no cuobjdump is a failure" "machine code was not checked: no cuobjdump in $scratch/cuda/bin or in the path" target PATH=/nowhere
succeeds "unless it was left out" "machine code is not checked, as asked" target CUOBJDUMP=no
fails 2 "one that is named is taken" "in the table, but not there" target CUOBJDUMP="$scratch/cuobjdump"
finish
