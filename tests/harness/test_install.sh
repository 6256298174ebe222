#!/usr/bin/env bash
# What `make install` brings suffices: a moved prefix is used from an empty folder, with nothing of the tree.
. tests/test.sh
export OMP_NUM_THREADS=1
unset MAKEFLAGS MFLAGS MAKELEVEL
program=$(realpath "$LONGHAUL_BIN")
prefix=$scratch/moved/usr
# the program that is tested, not one that make would build anew
install=(make -s -o "$program" program="$program" PREFIX=/usr DESTDIR="$scratch/root")
quietly 0 "it is installed" "${install[@]}" install
mkdir "$scratch/moved" "$scratch/empty"
cp -r "$scratch/root/usr" "$scratch/moved/"

tree=$PWD
cd "$scratch/empty" || exit 1
installed() { env -i PATH="$prefix/bin:/usr/bin:/bin" HOME="$scratch/home" OMP_NUM_THREADS=1 "$@"; }
succeeds "an experiment that comes with it" "bits/byte" installed longhaul run experiments/examples/sweep.lua --scale smoke \
    --only "16 none" --set train.steps=2 --no-timing
quietly 0 "leaves its results here" test -s results/window-sweep/table.csv
if command -v gnuplot >/dev/null; then
    quietly 0 "and its charts, by the templates" test -s results/window-sweep/lines.svg
fi
succeeds "a table beside published values" "Slide:13L" installed longhaul list experiments/brt/table1.lua --scale smoke
succeeds "what a script includes" "RSA-Informer" installed longhaul list experiments/rsa/figure3.lua --scale smoke
cp "$prefix/share/longhaul/experiments/examples/sweep.lua" mine.lua
succeeds "a script of one's own" "16 none" installed longhaul list mine.lua
quietly 0 "headers" test -s "$prefix/include/longhaul/kernels/kernels.h"
quietly 0 "documents" test -s "$prefix/share/doc/longhaul/docs/lua.md"
library=$(sed -n 's/.*"workspace.library": \["\(.*\)"\].*/\1/p' "$prefix/share/longhaul/.luarc.json")
quietly 0 "what an editor completes" test -s "$prefix/share/longhaul/${library:-nowhere}/longhaul.lua"

page=$prefix/share/man/man1/longhaul.1
succeeds "the manual page has every command" "$(installed longhaul help | sed -n '/^COMMANDS/,/^$/p' | grep -c '^    ')" grep -c '^\.SS ' "$page"
succeeds "and its options" '\fB\-\-fail\-fast\fR' cat "$page"
if command -v groff >/dev/null; then
    quietly 0 "troff finds nothing wrong" sh -c "groff -man -Tutf8 -ww '$page' 2>&1 >/dev/null"
fi

# complete WORDS...: what bash proposes for the last of them.
complete_words() {
    # shellcheck disable=SC2016  # for the other shell
    env -i PATH="$prefix/bin:/usr/bin:/bin" HOME="$scratch/home" bash -c '
        . "$0"; compopt() { :; }
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _longhaul; printf "%s\n" "${COMPREPLY[@]}"' \
        "$prefix/share/bash-completion/completions/longhaul" longhaul "$@"
}
succeeds "commands" "describe" complete_words des
succeeds "options of a command" "--fail-fast" complete_words run mine.lua --fa
succeeds "values of an option" "valid" complete_words eval --split va
succeeds "and of no other" "--json" complete_words query --js
quietly 0 "which has none such" test -z "$(complete_words run --js | tr -d '\n')"
succeeds "values that are known" "smoke" complete_words run mine.lua --scale sm
succeeds "models" "memorizing" complete_words train --model mem
succeeds "scripts" "mine.lua" complete_words run mi
succeeds "what can be described, a kernel too" "layer_norm_forward" complete_words describe layer_norm_f
succeeds "words of a command" "verify" complete_words data ver
succeeds "what can be fetched" "wikitext-103-raw" complete_words data fetch wikitext-103-
succeeds "behind an option and its value, too" "plugin" complete_words new --kind task plug
quietly 0 "no second name to describe" test -z "$(complete_words describe brt "" | tr -d '\n')"
succeeds "a path where one follows" "mine.lua" complete_words data import mi
succeeds "commands to be helped with" "dilation" complete_words help dil
quietly 0 "zsh has a line for each command" test "$(grep -c ') _arguments ' "$prefix/share/zsh/site-functions/_longhaul")" = "$(installed longhaul completion words help | wc -l)"
succeeds "fish has options and values" "-l scale -xa 'smoke small" cat "$prefix/share/fish/vendor_completions.d/longhaul.fish"
# bash reads that grammar, too: quotes that do not close are found without zsh
quietly 0 "whose quotes close" bash -n "$prefix/share/zsh/site-functions/_longhaul"
if command -v zsh >/dev/null; then quietly 0 "zsh reads it" zsh -n "$prefix/share/zsh/site-functions/_longhaul"; fi
if command -v fish >/dev/null; then
    quietly 0 "fish reads it" fish -n "$prefix/share/fish/vendor_completions.d/longhaul.fish"
    # shellcheck disable=SC2016  # for the other shell
    fish_words() { env -i PATH="$prefix/bin:/usr/bin:/bin" HOME="$scratch/home" fish -c 'source $argv[1]; complete -C $argv[2]' \
        "$prefix/share/fish/vendor_completions.d/longhaul.fish" "$1"; }
    succeeds "and completes what can be fetched" "gpt2-xl" fish_words "longhaul data fetch gp"
fi
fails 2 "no shell" "no shell 'bsh' (did you mean 'bash' or 'zsh'?)" installed longhaul completion bsh

cd "$tree" || exit 1
quietly 0 "it is taken away" "${install[@]}" uninstall
quietly 0 "and nothing is left" test -z "$(find "$scratch/root" -type f)"
finish
