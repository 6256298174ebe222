#!/usr/bin/env bash
# What an editor completes is what the option tables say.
. tests/test.sh
quietly 0 "annotations are fresh" "$LONGHAUL_BIN" lua scripts/annotate.lua check
fails 1 "a misspelt word writes nothing" "takes \`check\` or nothing, not 'chekc'" "$LONGHAUL_BIN" lua scripts/annotate.lua chekc
quietly 1 "and whole" grep -q -r '\.\.\.$' harness/lua/meta
finish
