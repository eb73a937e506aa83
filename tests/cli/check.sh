# Shared by the command-line tests: `source` it with the program's path in $glint.
# Each check says what it saw; the script ends with `finish`.
failures=0
export COLUMNS=160  # rows of tables stay whole; report/Table tests how they break
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "FAILED: $*" >&2
  failures=$((failures + 1))
}

# run ARGUMENTS...: sets $code, and leaves the streams in $work/out and $work/err.
run() {
  code=0
  "$glint" "$@" >"$work/out" 2>"$work/err" </dev/null || code=$?
  command_line="glint $*"
}

expect_code() { [ "$code" -eq "$1" ] || fail "$command_line: exit code $code, expected $1: $(cat "$work/err")"; }
expect_out() { grep -qF -e "$1" "$work/out" || fail "$command_line: stdout lacks '$1': $(cat "$work/out")"; }
expect_err() { grep -qF -e "$1" "$work/err" || fail "$command_line: stderr lacks '$1': $(cat "$work/err")"; }
expect_no_out() { [ ! -s "$work/out" ] || fail "$command_line: stdout is not empty: $(cat "$work/out")"; }

# expect_json EXPRESSION: stdout is JSON, and the Python expression over it, `j`, is true. $json_setup is run before:
# it may give names to parts of `j`.
json_setup=""
expect_json() {
  python3 -c "
import json, math, sys
j = json.load(open(sys.argv[1]))
$json_setup
assert $1, j
" "$work/out" || fail "$command_line: $1"
}

# refused EXPECTED ARGUMENTS...: a usage error that names EXPECTED and prints no result.
refused() {
  local expected=$1
  shift
  run "$@"
  expect_code 2
  expect_no_out
  expect_err "glint: error: "
  expect_err "$expected"
}

# The verbs, as the overview lists them.
verbs() { "$glint" --help | sed -n 's/^  \([a-z][a-z-]*\)  .*/\1/p'; }

finish() {
  [ "$failures" -eq 0 ] || exit 1
  exit 0
}
