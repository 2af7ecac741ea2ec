#!/bin/sh
# A gate for skillsyncd: refuses a candidate in which a new or changed skill contains invisible characters, and lets
# one that removes skills wait until a person approves it. See docs/pinning-and-review.md. It needs jq.
#
#   gate: { command: /etc/skillsyncd/refuse-unseen-text.sh }
set -eu

candidate=$(cat)

hidden=$(printf '%s' "$candidate" | jq -r '
  [ .skills[]
    | select(.change == "added" or .change == "changed")
    | select(any(.findings[]; .rule == "hidden-unicode"))
    | .path ] | join(", ")')
if [ -n "$hidden" ]; then
  echo "invisible characters in: $hidden"
  exit 1
fi

removed=$(printf '%s' "$candidate" | jq '[.skills[] | select(.change == "removed")] | length')
if [ "$removed" -gt 0 ]; then
  echo "$removed skills would be removed"
  exit 3
fi
