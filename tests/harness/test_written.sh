#!/usr/bin/env bash
# Scripts that make takes files from fail where a file did not come to the disk: the next make would take what is there.
. tests/test.sh
scripts=$PWD/scripts
cd "$scratch" || exit 1
mkdir -p harness/lua/longhaul
echo 'return 1' >harness/lua/longhaul/one.lua
cat >one.h <<'C'
/* One kernel. */
typedef struct lh_one_args {
    int x;
} lh_one_args;
LH_KERNEL(one, LH_REAL)
C
quietly 0 "Lua files as C" lua5.4 "$scripts/embed.lua" embedded.c harness/lua/longhaul/one.lua
fails 1 "on a full disk" "No space left" lua5.4 "$scripts/embed.lua" /dev/full harness/lua/longhaul/one.lua
quietly 0 "what headers say of kernels" lua5.4 "$scripts/kernels-module.lua" kernels.lua one.h
fails 1 "on a full disk, too" "No space left" lua5.4 "$scripts/kernels-module.lua" /dev/full one.h
mkdir reference
printf 'folder,reason,wrong\nmachine/gone,old,1 dirty\n' >reference/legacy.csv
ln -s /dev/full reference/legacy.csv.new
fails 1 "the list of what waits" "No space left" lua5.4 "$scripts/check-reference.lua" reference shrink
succeeds "which stays as it was" "machine/gone,old,1 dirty" cat reference/legacy.csv
finish
