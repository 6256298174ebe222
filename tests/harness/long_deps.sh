#!/usr/bin/env bash
# A bundle of what is linked builds the program: the libraries that it loads and the headers that it
# was compiled with are the bundle's, though the system's are there; and where the system has none.
. tests/test.sh

bundle=$scratch/bundle
succeeds "a bundle is made" "deps.tar.gz" make O="$scratch/first" deps-bundle
mkdir "$bundle"
quietly 0 "it unpacks" tar -xzf "$scratch/first/deps.tar.gz" -C "$bundle"
bundle=$bundle/deps
succeeds "the program builds from it" "LINK" make O="$scratch/second" DEPS="$bundle"
succeeds "and runs" "brt" "$scratch/second/longhaul" describe

program=$scratch/second/longhaul
for library in "$bundle"/lib/*.so.*; do
    name=$(basename "$library")
    succeeds "$name is the bundle's" "$name => $bundle/lib/$name" ldd "$program"
done
for header in cblas.h lua.h csv.h cjson/cJSON.h xxhash.h; do
    succeeds "$header is the bundle's" "$bundle/include/$header" grep -rh "/$header" "$scratch/second" --include='*.d'
    quietly 1 "$header is not the system's" grep -rhE "/usr/[^ ]*/$header" "$scratch/second" --include='*.d'
done
succeeds "Lua files were embedded by the bundle's Lua" "Lua 5.4" "$bundle/bin/lua5.4" -v

# bare COMMAND...: in a view of the file system that has nothing of what the bundle has but the libraries that the
# compiler and the shell's tools load themselves. What is taken away there stays where it is for all others.
bare() {
    # shellcheck disable=SC2016  # the inner shell's words
    unshare -m bash -euc '
        bundle=$1 && shift
        over=$(mktemp -d)
        mount -t tmpfs none "$over"
        mkdir "$over/changes" "$over/work"
        mount -t overlay overlay -o "lowerdir=/usr,upperdir=$over/changes,workdir=$over/work" /usr
        tools=$(type -P as ld make bash grep sed awk git || true)
        kept=$(ldd "$(gcc -print-prog-name=cc1)" "$(gcc -print-prog-name=cc1plus)" $tools | sed -n "s/^\t\([^ ]*\) => .*/\1/p")
        (cd "$bundle/include" && find . -type f) | sed "s/^[.]//" >"$over/headers"
        find /usr/include /usr/local/include | grep -Ff "$over/headers" | xargs rm -f
        for library in "$bundle"/lib/*.so.*; do
            name=${library##*/}
            rm -f /usr/lib/{,*/,*/*/}"${name%%.so*}".{a,so} /usr/bin/lua*
            grep -qxF "$name" <<<"$kept" || rm -f /usr/lib/{,*/,*/*/}"$name"
        done
        exec "$@"' bare "$bundle" "$@"
}
if [ "$(id -u)" -eq 0 ] && bare true 2>/dev/null; then
    fails 1 "a bare machine has no header" "xxhash.h: No such file" bare gcc -E -include xxhash.h -x c /dev/null
    fails 1 "and no library" "cannot find -lopenblas" bare gcc -shared -o "$scratch/none.so" -lopenblas
    succeeds "the program builds there" "LINK" bare make O="$scratch/third" DEPS="$bundle" MPI=no NVCC=no
    succeeds "and trains" "bits_per_token" bare "$scratch/third/longhaul" train --model lstm --options 'layers=1 width=8 hidden=8' \
        --task-options 'name=generate:books documents=4 segment=16 batch=2 evaluate_batches=1' --train steps=2
else
    skips "no view of the file system without the system's libraries (needs root, unshare and overlay)"
fi
finish
