#!/usr/bin/env bash
# The targets of `make help` that build or measure, each in its smallest form: in a copy of the tree that has one test of
# each kind, so that `make test` there is the way through it and not its length.
. tests/test.sh
unset LONGHAUL_BIN MAKEFLAGS MFLAGS MAKELEVEL
export OMP_NUM_THREADS=1 LH_TEST_TIMEOUT=600

tree=$scratch/tree
mkdir "$tree"
git ls-files -z -- . ':!results/reference/*/*/curves.csv' | xargs -0 cp --parents -t "$tree" 2>/dev/null
cd "$tree" || exit 1

# One C test, one in Lua, one shell script, one that takes long, one of gradients, one fuzz program, few kernels.
keep='tests/harness/engine/test_npy\.c|tests/lua/test_store\.lua|tests/lua/runs\.lua|tests/harness/test_configure\.sh|tests/harness/long_nothing\.sh'
find tests -name 'test_*' -o -name 'long_*' | grep -vE "^($keep)$|^tests/(kernels|gradients|cudasim|lint)/" | xargs rm -f
printf '#!/bin/sh\necho "1 passed, 0 failed"\n' >tests/harness/long_nothing.sh
chmod +x tests/harness/long_nothing.sh
find tests/fuzz -name 'fuzz_*.c' | sort | tail -n +2 | xargs rm -f
find tests/gradients -name 'test_*.c' | sort | tail -n +2 | xargs rm -f
for script in tests/faults.sh tests/soak/soak.sh tests/threads/threads.sh tests/cudasim/races.sh; do
    printf '#!/bin/sh\necho "1 passed, 0 failed"\n' >$script
done
rm tests/mutants/list/*.lua
cat >tests/mutants/list/lua.lua <<'LUA'
return { { file = "harness/run/csv.lua", tests = "tests/lua/test_store.lua",
  { "function csv.read(path", "function csv.write(path", "what reads CSV is not there" } } }
LUA
git init -q . && git add -A
for script in sim_train shared; do
    printf '#!/bin/sh\necho "1 passed, 0 failed"\n' >tests/cudasim/$script.sh
done

# runs TARGET PART SETTING...: the target succeeds and says PART (nothing where it is empty).
runs() {
    local name=$1 part=$2
    shift 2
    if [ -z "$part" ]; then
        quietly 0 "make $name" make "$@" "$name"
    else
        succeeds "make $name" "$part" make "$@" "$name"
    fi
}

# refuses TARGET PART SETTING...: it fails and says PART.
refuses() {
    local name=$1 part=$2
    shift 2
    fails 2 "make $name" "$part" make "$@" "$name"
}
runs conformance " 0 failed" BACKEND=cpu KERNEL=copy
runs conformance " 0 failed" BACKEND=cudasim KERNEL=copy
refuses conformance "there are cpu, cudasim and cuda" BACKEND=gpu
runs test " 0 failed"
runs test-long "tests/cudasim/races.sh build/sim-thread planted"
runs test-double " 0 failed"
runs test-sanitize " 0 failed"
runs test-faults "1 passed, 0 failed"
runs test-soak "1 passed, 0 failed"
runs test-threads "1 passed, 0 failed"
runs test-races "1 passed, 0 failed"
runs fuzz "failed" FUZZ_SECONDS=1
runs mutants "1 caught, 0 survived of 1" JOBS=1
runs bench "bench.csv"
runs deps-bundle "deps.tar.gz"
if command -v dpkg-shlibdeps >/dev/null; then
    runs deb ".deb"
fi
runs lint "lint: clean"
if command -v nvcc >/dev/null; then
    runs cuda "LINK" CUOBJDUMP="$(command -v cuobjdump || echo no)"
else
    refuses cuda "install the CUDA toolkit"
fi
cp -r . "$scratch/formatted"
if command -v clang-format-14 >/dev/null || command -v clang-format >/dev/null; then
    runs format ""
    quietly 0 "which changes nothing" diff -r --exclude=build . "$scratch/formatted"
fi
finish
