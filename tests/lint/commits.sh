#!/usr/bin/env bash
# Commit messages since BASE: a subject of at most 72 characters, and a body that says why.
#   tests/lint/commits.sh BASE     says nothing where the history does not reach back to BASE
set -u
base=$1
git rev-parse -q --verify "$base^{commit}" >/dev/null 2>&1 || exit 0
bad=0
while read -r commit; do
    subject=$(git log -1 --format=%s "$commit")
    if [ ${#subject} -gt 72 ]; then
        echo "commit ${commit:0:7}: a subject of ${#subject} characters, at most 72: $subject"
        bad=1
    fi
    if [ -z "$(git log -1 --format=%b "$commit" | tr -d '[:space:]')" ]; then
        echo "commit ${commit:0:7}: no body that says why: $subject"
        bad=1
    fi
done < <(git rev-list --no-merges "$base..HEAD")
exit $bad
