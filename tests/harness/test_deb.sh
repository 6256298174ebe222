#!/usr/bin/env bash
# The Debian package: its fields, its files, and that what it unpacks to is the program with all that it brings.
. tests/test.sh
export OMP_NUM_THREADS=1
unset MAKEFLAGS MFLAGS MAKELEVEL
if ! command -v dpkg-shlibdeps >/dev/null; then
    skips "there is no dpkg-dev"
    finish
fi
program=$(realpath "$LONGHAUL_BIN")
make -s -o "$program" program="$program" DESTDIR="$scratch/root" PREFIX=/usr install
package=$(scripts/deb.sh "$scratch/root" "0~20260101.abc" "$scratch/out")
succeeds "is called by version and architecture" "longhaul_0~20260101.abc_$(dpkg --print-architecture).deb" echo "$package"

field() { dpkg-deb -f "$package" "$1"; }
succeeds "depends on what the program is linked with" "libopenblas" field Depends
succeeds "Lua" "liblua5.4" field Depends
succeeds "recommends what draws" "gnuplot" field Recommends
succeeds "belongs to root" "root/root" dpkg-deb -c "$package"
quietly 0 "all of it" sh -c "! dpkg-deb -c '$package' | grep -v root/root"

dpkg-deb -x "$package" "$scratch/unpacked"
cd "$scratch" || exit 1
unpacked() { env -i PATH="$scratch/unpacked/usr/bin:/usr/bin:/bin" HOME="$scratch/home" OMP_NUM_THREADS=1 "$@"; }
succeeds "runs an experiment that comes with it" "bits/byte" unpacked longhaul run experiments/examples/sweep.lua --scale smoke \
    --only "16 none" --set train.steps=2 --no-timing
quietly 0 "brings its manual page" gzip -t unpacked/usr/share/man/man1/longhaul.1.gz
quietly 0 "completions where zsh looks" test -s unpacked/usr/share/zsh/vendor-completions/_longhaul
cd "$OLDPWD" || exit 1
echo >"$scratch/root/usr/bin/longhaul"
fails 1 "a file that is no program" "found no package" scripts/deb.sh "$scratch/root" 1 "$scratch/other"
finish
