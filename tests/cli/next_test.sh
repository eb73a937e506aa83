#!/usr/bin/env bash
# What to do next is said to a person at a terminal, and to nobody else.
set -uo pipefail
glint=$1
source "$2/tests/cli/check.sh"
run train quick --epochs 1 --out "$work/run" --quiet
expect_code 0
run eval "$work/run" --worst 0
expect_code 0
grep -q '^next:' "$work/out" && fail "a pipe is told what to do next"

# at_terminal ARGUMENTS...: what a person sees, in $work/seen.
at_terminal() {
  python3 - "$glint" "$@" >"$work/seen" <<'PY'
import os, pty, sys
glint, *arguments = sys.argv[1:]
try:
    pid, terminal = pty.fork()
except OSError:
    sys.exit("no terminals here")
if pid == 0:
    os.execv(glint, [glint, *arguments])
text = b""
try:
    while part := os.read(terminal, 4096):
        text += part
except OSError:  # the end of a terminal
    pass
os.waitpid(pid, 0)
sys.stdout.write(text.decode().replace("\r\n", "\n"))
PY
}
if ! at_terminal eval "$work/run" --worst 0; then
  echo "skipped: no pseudo-terminals"
  exit 77
fi
grep -qF "next:  glint explain $work/run --index 0" "$work/seen" || fail "no next command at a terminal: $(cat "$work/seen")"
at_terminal explain "$work/run" --index 0 --no-figures
grep -qF "glint help reading" "$work/seen" || fail "explain does not say what its tables are: $(cat "$work/seen")"
at_terminal spectrum "$work/run" --no-figures
grep -qF "glint help reading" "$work/seen" || fail "spectrum does not say what its tables are: $(cat "$work/seen")"
finish
