#!/usr/bin/env bash
# A bundle of what is linked builds the program: the libraries that it loads and the headers that it
# was compiled with are the bundle's, though the system's are there.
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
finish
