#!/usr/bin/env bash
# The JSON of every schema against its golden, also with other instructions and linear algebra. First that it can fail.
set -uo pipefail
glint=$1
golden=$2/tests/golden
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cp -r "$golden" "$work/golden"
sed -i 's/"r2_scaled": 0\.9/"r2_scaled": 0.8/' "$work/golden/schemas/read.json"
if python3 "$work/golden/make_schemas.py" "$glint" --check read >"$work/out" 2>&1; then echo "FAILED: a changed number is not seen"; exit 1; fi
grep -q '^read\.fidelity\.weights\.r2_scaled: 0\.96.*, golden 0\.86' "$work/out" ||
  { echo "FAILED: the key of a changed number is not named: $(cat "$work/out")"; exit 1; }
python3 "$golden/make_schemas.py" "$glint" --check || exit 1
python3 "$golden/make_schemas.py" "$glint" --check -- --isa baseline --linalg eigen || exit 1
