#!/usr/bin/env bash
# scripts/step: the log is whole, a failure is shown with its exit code, and a terminal sees the counter of a build.
set -uo pipefail
step=$2/scripts/step
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
  echo "FAILED: $*" >&2
  exit 1
}

out=$("$step" "$work/log" "a build" printf '%s\n' "[1/2] one" "[2/2] two") || fail "exit code $?"
[ "$out" = "a build (log: $work/log)" ] || fail "not on a terminal it says: $out"
[ "$(cat "$work/log")" = $'[1/2] one\n[2/2] two' ] || fail "the log is not whole"

code=0
printf '%s\n' 'echo "1/2 Test #1: good ... Passed 0.1 sec"' 'echo wrong' 'exit 7' >"$work/bad"
"$step" "$work/log" "a test" bash "$work/bad" >/dev/null 2>"$work/err" || code=$?
[ "$code" -eq 7 ] || fail "exit code $code, expected 7"
grep -q '^wrong$' "$work/err" || fail "the log of a failure is not shown"
if grep -q Passed "$work/err"; then fail "passed tests are shown"; fi

script -qec true /dev/null </dev/null >/dev/null 2>&1 || exit 0  # not every container has pseudo-terminals
cat >"$work/build" <<'SCRIPT'
printf '%s\n' '[1/2] one' ' 2/2 Test #2: two ... Passed'
exit "$1"
SCRIPT
script -qec "'$step' '$work/log' build bash '$work/build' 0" /dev/null </dev/null >"$work/tty" || fail "exit code $? on a terminal"
for counter in 1/2 2/2; do grep -q "  $counter" "$work/tty" || fail "the counter $counter is not shown: $(cat "$work/tty")"; done
[ "$(wc -l <"$work/log")" -eq 2 ] || fail "the log is not whole on a terminal"
code=0
script -qec "'$step' '$work/log' build bash '$work/build' 5" /dev/null </dev/null >"$work/tty" || code=$?
[ "$code" -eq 5 ] || fail "exit code $code on a terminal, expected 5"
