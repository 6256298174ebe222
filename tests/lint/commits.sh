#!/usr/bin/env bash
# Commit messages since BASE, each by tests/lint/commit-msg.
#   tests/lint/commits.sh BASE     says nothing where the history does not reach back to BASE
set -u
base=$1
git rev-parse -q --verify "$base^{commit}" >/dev/null 2>&1 || exit 0
bad=0
while read -r commit; do
    fault=$(git log -1 --format=%B "$commit" | "${0%/*}/commit-msg" /dev/stdin) && continue
    echo "commit ${commit:0:7}: $fault"
    bad=1
done < <(git rev-list --no-merges "$base..HEAD")
exit $bad
