#!/usr/bin/env bash
# All style checks, offline: format, includes, sizes, comments, words, reference results, Lua syntax, shell scripts.
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
        \( -name '*.c' -o -name '*.h' -o -name '*.cc' \) -print0 |
        xargs -0 -r "$clang_format" --dry-run -Werror
}

shell_scripts() {
    find scripts tests .ci -type f \( -name '*.sh' -o -path '.ci/run' \) -print0 |
        xargs -0 -r shellcheck -x -e SC2317
}

first_of() {
    command -v "$@" 2>/dev/null | head -n 1
}

lua=$(first_of lua5.4 lua)
luac=$(first_of luac5.4 luac)
clang_format=$(first_of clang-format-14 clang-format)
for script in includes size docs words; do
    check "$script" "$lua" "tests/lint/$script.lua"
done
check "what can be relied on in results/reference" "$lua" scripts/check-reference.lua
# run TOOL CHECK: a tool that is not there is named, and its check left out.
run() {
    if [ -n "$1" ]; then check "${2//_/ }" "$2"; else echo "lint: no tool for $2, left out"; fi
}
run "$luac" lua_syntax
run "$clang_format" c_format
run "$(first_of shellcheck)" shell_scripts
if [ $bad -eq 0 ]; then echo "lint: clean"; fi
exit $bad
