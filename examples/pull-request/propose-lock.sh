#!/bin/sh
# Moves skills.lock of this repository and pushes it to a branch. The text of the pull request goes to BODY.
# See docs/pinning-and-review.md. Run it in a clean clone, with push access to origin:
#
#   BODY=body.md sh propose-lock.sh
#
# BRANCH is the branch of the pull request, which this script owns and overwrites. SKILLSYNCD is the command to run.
# It prints "proposed", or "unchanged" if there is nothing to propose.
set -eu
: "${BODY:?}" "${BRANCH:=skills-lock}" "${SKILLSYNCD:=skillsyncd}"

base=$(git rev-parse --abbrev-ref HEAD)
if [ "$base" = "$BRANCH" ]; then
  echo "the branch of the pull request is checked out; check out the one that it is merged into" >&2
  exit 2
fi

# 3: something waits for a person, which the text says. 1: a source failed, and the others have moved.
status=0
$SKILLSYNCD --config ./skillsyncd.yaml update --pr --lock ./skills.lock >"$BODY" || status=$?
if [ "$status" -ne 0 ] && [ "$status" -ne 1 ] && [ "$status" -ne 3 ]; then exit "$status"; fi

git add -- skills.lock
git add -- skills.lock.*.tlog-proof 2>/dev/null || true
if git diff --cached --quiet; then
  echo unchanged
  # A failed source that moved nothing fails the job.
  if [ "$status" -eq 1 ]; then exit 1; fi
  exit 0
fi

# The same lock again must not end the approvals of the open pull request.
if git fetch --quiet origin "$BRANCH" 2>/dev/null &&
  [ "$(git rev-parse FETCH_HEAD^)" = "$(git rev-parse HEAD)" ] &&
  [ "$(git rev-parse FETCH_HEAD^{tree})" = "$(git write-tree)" ]; then
  echo proposed
  exit 0
fi

git checkout --quiet -B "$BRANCH"
# No text of a skill is in the message: a git host reads commands and mentions there.
git commit --quiet -m 'Update skills.lock'
git push --quiet --force origin "$BRANCH"
echo proposed
