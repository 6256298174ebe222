# shellcheck shell=bash
# Checks for shell tests, run from the root of the tree:
#
#   . tests/test.sh
#   succeeds "prints its version" "longhaul" "$LONGHAUL_BIN" version
#   fails 2 "names the option" "unknown option" "$LONGHAUL_BIN" run --nonsense
#   finish
#
# Each check runs a command and wants an exit code and a part of its output (both streams; "" is in
# every output). $scratch is a folder that goes away; finish prints "N passed, N failed" and exits.
set -u
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
tests_passed=0
tests_failed=0

# fails EXIT_CODE NAME PART COMMAND...
fails() {
    local expected=$1 name=$2 part=$3 output status
    shift 3
    output=$("$@" 2>&1)
    status=$?
    if [ "$status" -eq "$expected" ] && [[ $output == *"$part"* ]]; then
        tests_passed=$((tests_passed + 1))
        return
    fi
    tests_failed=$((tests_failed + 1))
    printf '%s: exit code %d, expected %d with "%s" in:\n%s\n' \
        "$name" "$status" "$expected" "$part" "$output"
}

# succeeds NAME PART COMMAND...
succeeds() {
    fails 0 "$@"
}

finish() {
    printf '%d passed, %d failed\n' "$tests_passed" "$tests_failed"
    [ "$tests_failed" -eq 0 ] && [ "$tests_passed" -gt 0 ]
    exit
}
