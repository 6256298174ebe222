# shellcheck shell=bash
# Checks for shell tests, run from the root of the tree:
#
#   . tests/test.sh
#   succeeds "prints its version" "longhaul" "$LONGHAUL_BIN" version
#   fails 2 "names the option" "unknown option" "$LONGHAUL_BIN" run --nonsense
#   finish
#
# Each check runs a command and wants an exit code and a part of its output (both streams). An empty part
# would be in every output, so it fails; `quietly` wants a command that says nothing, like cmp and test:
#
#   quietly 0 "the same numbers" cmp a b
#
# until_true SECONDS COMMAND... waits for a condition, so that no test has to guess how long something
# takes. skips REASON says what this machine cannot test. $scratch is a folder that goes away, $longhaul the
# program from any folder; finish prints "N skipped", where some were, then "N passed, N failed", and exits.
set -u
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
# Data, plug-ins and the cache of whoever runs the tests stay out of them.
unset LONGHAUL_DATA LONGHAUL_PLUGINS
export XDG_CACHE_HOME=$scratch/cache
# shellcheck disable=SC2034  # the tests use it
longhaul=${LONGHAUL_BIN:+$(realpath "$LONGHAUL_BIN")}
tests_passed=0
tests_failed=0
tests_skipped=0

# verdict STATUS FORMAT WORDS...: counts a check; the message is printed where it failed.
verdict() {
    local status=$1
    shift
    if [ "$status" -eq 0 ]; then
        tests_passed=$((tests_passed + 1))
    else
        tests_failed=$((tests_failed + 1))
        # shellcheck disable=SC2059  # the format is the caller's
        printf "$@"
    fi
}

# fails EXIT_CODE NAME PART COMMAND...
fails() {
    local expected=$1 name=$2 part=$3 output status
    shift 3
    output=$("$@" 2>&1)
    status=$?
    if [ -z "$part" ]; then
        verdict 1 '%s: expects no text: name a part of the output, or use quietly\n' "$name"
        return
    fi
    [ "$status" -eq "$expected" ] && [[ $output == *"$part"* ]]
    verdict $? '%s: exit code %d, expected %d with "%s" in:\n%s\n' \
        "$name" "$status" "$expected" "$part" "$output"
}

# succeeds NAME PART COMMAND...
succeeds() {
    fails 0 "$@"
}

# quietly EXIT_CODE NAME COMMAND...
quietly() {
    local expected=$1 name=$2 output status
    shift 2
    output=$("$@" 2>&1)
    status=$?
    [ "$status" -eq "$expected" ] && [ -z "$output" ]
    verdict $? '%s: exit code %d, expected %d and no output, but:\n%s\n' "$name" "$status" "$expected" "$output"
}

# until_true SECONDS COMMAND...: fails when the condition has not come by then.
until_true() {
    local last=$((EPOCHSECONDS + $1))
    shift
    until "$@" 2>/dev/null; do
        [ $EPOCHSECONDS -lt "$last" ] || return 1
        sleep 0.01
    done
}

skips() {
    printf 'skipped: %s\n' "$1"
    tests_skipped=$((tests_skipped + 1))
}

finish() {
    if [ "$tests_skipped" -gt 0 ]; then printf '%d skipped\n' "$tests_skipped"; fi
    printf '%d passed, %d failed\n' "$tests_passed" "$tests_failed"
    [ "$tests_failed" -eq 0 ] && [ $((tests_passed + tests_skipped)) -gt 0 ]
    exit
}
