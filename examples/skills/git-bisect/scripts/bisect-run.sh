#!/bin/sh
# Finds the first bad commit unattended, in a work tree of its own, after proving that the test tells good from bad.
set -eu

usage() {
  cat <<'TEXT'
Usage: bisect-run.sh --good REV --bad REV [options] -- TEST [ARG...]

Runs TEST at chosen commits and prints the first one at which it fails. TEST runs in the top folder of a
temporary work tree; the caller's files, index and branch are not touched. TEST exits with 0 where all is
well, with 125 where it cannot tell (the commit is skipped), with anything else where the fault shows.

  --setup COMMAND     shell command run before TEST at each commit (install, build); if it fails, the commit
                      is skipped
  --runs N            run TEST up to N times; one failure makes the commit bad (default 1; for flaky failures)
  --timeout SECONDS   a run of TEST that takes longer counts as failed (needs the program "timeout")
  --first-parent      look only at the commits of the main line, not inside merged branches
  --path PATH         look only at commits that touch PATH
  --log FILE          keep the log, which "git bisect replay FILE" understands
  --help              this text

Exit status: 0 found, 1 the two ends are not as claimed or the search broke off, 2 wrong usage,
3 only skipped commits are left (they are printed).
TEXT
}

say() { echo "bisect-run.sh: $1" >&2; }
fail() { say "$1"; exit "${2:-2}"; }

# At each commit git calls this very script as the judge; what it needs comes in by BISECT_* variables.
judge() {
  here=$(git rev-parse --short HEAD)
  if [ -n "$BISECT_SETUP" ] && ! sh -c "$BISECT_SETUP" >"$BISECT_SCRATCH/setup.log" 2>&1 </dev/null; then
    say "setup failed at $here, so it is skipped; its last lines:"
    tail -n 5 "$BISECT_SCRATCH/setup.log" >&2
    return 125
  fi
  run=0
  while [ "$run" -lt "$BISECT_RUNS" ]; do
    run=$((run + 1))
    status=0
    ${BISECT_TIMEOUT:+timeout "$BISECT_TIMEOUT"} "$@" </dev/null || status=$?
    case $status in
      0) ;;
      125) return 125 ;;
      # The test itself is missing or not executable here: that says nothing about the fault.
      126 | 127) say "cannot start \"$1\" at $here"; return 125 ;;
      # git would stop the whole search at 128 and above; a crash of the test is an answer.
      *) return 1 ;;
    esac
  done
}

if [ "${BISECT_ROLE:-}" = judge ]; then
  verdict=0
  judge "$@" || verdict=$?
  # Tracked files that a build or test rewrote would keep git from going to the next commit.
  git reset --quiet --hard
  exit "$verdict"
fi

good='' bad='' log='' path='' first_parent='' BISECT_SETUP='' BISECT_RUNS=1 BISECT_TIMEOUT=''
while [ $# -gt 0 ]; do
  case $1 in
    --help) usage; exit 0 ;;
    --first-parent) first_parent=--first-parent; shift; continue ;;
    --) shift; break ;;
    --good | --bad | --setup | --runs | --timeout | --path | --log) [ $# -ge 2 ] || fail "$1 needs a value" ;;
    *) fail "unknown argument \"$1\"; the test comes after --, see --help" ;;
  esac
  case $1 in
    --good) good=$2 ;;
    --bad) bad=$2 ;;
    --setup) BISECT_SETUP=$2 ;;
    --runs) BISECT_RUNS=$2 ;;
    --timeout) BISECT_TIMEOUT=$2 ;;
    --path) path=$2 ;;
    --log) log=$2 ;;
  esac
  shift 2
done

[ $# -gt 0 ] || fail 'no test given after --; see --help'
[ -n "$good" ] || fail '--good is missing; see --help'
[ -n "$bad" ] || fail '--bad is missing; see --help'
case $BISECT_RUNS in '' | 0 | *[!0-9]*) fail "--runs must be a whole number above 0, not \"$BISECT_RUNS\"" ;; esac
case $BISECT_TIMEOUT in *[!0-9]*) fail "--timeout must be whole seconds, not \"$BISECT_TIMEOUT\"" ;; esac
[ -z "$BISECT_TIMEOUT" ] || command -v timeout >/dev/null 2>&1 || fail 'the program "timeout" is not installed'

git rev-parse --git-dir >/dev/null 2>&1 || fail 'not inside a git repository'
good_id=$(git rev-parse --verify --quiet "$good^{commit}") || fail "no commit \"$good\""
bad_id=$(git rev-parse --verify --quiet "$bad^{commit}") || fail "no commit \"$bad\""
git merge-base --is-ancestor "$good_id" "$bad_id" ||
  fail "\"$good\" is not an ancestor of \"$bad\"; try their merge base as --good: git merge-base $good $bad"

BISECT_SCRATCH=$(mktemp -d "${TMPDIR:-/tmp}/bisect.XXXXXX")
tree=$BISECT_SCRATCH/tree
home=$(pwd)
cleanup() {
  cd "$home"
  git worktree remove --force "$tree" >/dev/null 2>&1 || true
  rm -rf "$BISECT_SCRATCH"
  git worktree prune
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' HUP TERM

BISECT_ROLE=judge
export BISECT_ROLE BISECT_SCRATCH BISECT_SETUP BISECT_RUNS BISECT_TIMEOUT
self=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)/$(basename -- "$0")
case $1 in */*) [ ! -f "$1" ] || say "note: \"$1\" is taken from each commit; give an absolute path to use one version throughout" ;; esac

verdict_at() {
  commit=$1
  shift
  git -C "$tree" checkout --quiet --force --detach "$commit"
  (cd "$tree" && "$self" "$@") >"$BISECT_SCRATCH/end.log" 2>&1 && return 0 || return $?
}

show_end() { tail -n 20 "$BISECT_SCRATCH/end.log" >&2; }

git worktree add --quiet --detach "$tree" "$good_id"

# git bisect believes what it is told of both ends. A test that fails everywhere would blame an innocent commit.
verdict=0
verdict_at "$good_id" "$@" || verdict=$?
[ "$verdict" -eq 0 ] || { show_end; fail "the test does not pass at the good end, \"$good\"" 1; }
verdict_at "$bad_id" "$@" || verdict=$?
[ "$verdict" -eq 1 ] || { show_end; fail "the test does not fail at the bad end, \"$bad\"" 1; }
say "both ends are as claimed; $(git rev-list --count $first_parent "$good_id..$bad_id" ${path:+-- "$path"}) commits to search"

git -C "$tree" bisect start $first_parent "$bad_id" "$good_id" -- ${path:+"$path"} >/dev/null
outcome=0
git -C "$tree" bisect run "$self" "$@" >"$BISECT_SCRATCH/run.log" 2>&1 || outcome=$?
[ -z "$log" ] || git -C "$tree" bisect log >"$log"

if grep -q "is the first bad commit" "$BISECT_SCRATCH/run.log"; then
  echo 'First bad commit:'
  git -C "$tree" --no-pager show --stat --no-color refs/bisect/bad
elif grep -q "only 'skip'ped commits left" "$BISECT_SCRATCH/run.log"; then
  echo 'Cannot tell: every commit that is left was skipped. The first bad commit is one of:'
  sed -n "/^The first bad commit could be any of:/,\$p" "$BISECT_SCRATCH/run.log" | grep -E '^[0-9a-f]{40,64}$' | while read -r id; do
    git --no-pager log -1 --no-color --format='%H %s' "$id"
  done
  exit 3
else
  tail -n 20 "$BISECT_SCRATCH/run.log" >&2
  fail "git bisect broke off with status $outcome" 1
fi
