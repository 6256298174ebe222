#!/usr/bin/env bash
# All style checks, offline: format, includes, requires, sizes, comments, words, reference results, Lua syntax,
# shell scripts, C as clang reads it.
# Prints one line per offence and "lint: clean" when there is none.
set -u
bad=0

# Names the check that failed; its own lines are above.
check() {
    local name=$1
    shift
    "$@" || {
        echo "lint: $name failed"
        bad=1
    }
}

# luac crashes on several files at once in 5.4.4, so one call each.
lua_syntax() {
    local file good=0
    while IFS= read -r file; do
        "$luac" -p "$file" || good=1
    done < <(find harness experiments datasets tests plots -name '*.lua' 2>/dev/null)
    return "$good"
}

c_format() {
    find kernels harness models datasets tests \
        \( -name '*.[ch]' -o -name '*.cc' -o -name '*.cu' -o -name '*.cuh' \) -print0 |
        xargs -0 -r "$clang_format" --dry-run -Werror
}

shell_scripts() {
    find scripts tests .ci -type f \( -name '*.sh' -o -name 'commit-msg' -o -path '.ci/run' \) -print0 |
        xargs -0 -r shellcheck -x -e SC2317
}

second_compiler() {
    MAKEFLAGS="" make CC=clang syntax
}

# All but the meta files, which scripts/annotate.lua writes.
lua_lint() {
    local found
    found=$(find harness experiments datasets tests plots scripts -name '*.lua' -print0 |
        xargs -0 -r "$luacheck" --quiet --codes --no-color) || {
        printf '%s\n' "$found"
        return 1
    }
}

# The rule stands since this commit.
commit_messages() {
    tests/lint/commits.sh 08e6408
}

first_of() {
    command -v "$@" 2>/dev/null | head -n 1
}

lua=$(first_of lua5.4 lua)
luacheck=$(first_of luacheck)
luac=$(first_of luac5.4 luac)
clang_format=$(first_of clang-format-14 clang-format)
for script in includes requires models size docs tested words papers decisions paths machine_code; do
    check "$script" "$lua" "tests/lint/$script.lua"
done
check "what can be relied on in results/reference" "$lua" scripts/check-reference.lua
check "the texts of mutants" "$lua" tests/mutants/run.lua check
# run TOOL CHECK: a tool that is not there is named, and its check left out.
run() {
    if [ -n "$1" ]; then check "${2//_/ }" "$2"; else echo "lint: no tool for $2, left out"; fi
}
run "$luac" lua_syntax
run "$luacheck" lua_lint
run "$(first_of git)" commit_messages
run "$clang_format" c_format
run "$(first_of shellcheck)" shell_scripts
run "$(first_of clang)" second_compiler
if [ $bad -eq 0 ]; then echo "lint: clean"; fi
exit $bad
