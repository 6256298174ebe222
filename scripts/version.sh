#!/bin/sh
# Which source this tree is, for the provenance of results: prints "COMMIT DIRTY".
#
#   scripts/version.sh        0123456789ab no
#
# DIRTY is yes where a tracked file differs from the commit; what measuring writes under
# results/reference is no source. A tree without a repository of its own is "unknown unknown".
inside=$(git rev-parse --show-prefix 2>/dev/null) || { echo unknown unknown; exit; }
commit=$(git rev-parse --short=12 --verify HEAD 2>/dev/null)
if [ -n "$inside" ] || [ -z "$commit" ]; then
    echo unknown unknown
elif git diff --quiet HEAD -- . ':(exclude)results/reference' 2>/dev/null; then
    echo "$commit no"
else
    echo "$commit yes"
fi
