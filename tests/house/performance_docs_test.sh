#!/usr/bin/env bash
# docs/performance.md and the results in README.md are what bench/write_performance.py makes of docs/results, not edited.
set -euo pipefail
source=$2
command -v python3 >/dev/null || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bench"
cp "$source/bench/write_performance.py" "$work/bench/"
cp -r "$source/docs" "$source/README.md" "$work/"
python3 "$work/bench/write_performance.py" >/dev/null
for file in docs/performance.md README.md; do
  diff -u "$source/$file" "$work/$file" >&2 || { echo "$file is not what bench/write_performance.py writes" >&2; exit 1; }
done
