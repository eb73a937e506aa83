#!/usr/bin/env bash
# scripts/fuzz, which `make fuzz` calls: every target starts from its seeds and leaves them alone, a finding is a failure.
set -euo pipefail
source_dir=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "$1"; exit 1; }

# Programs that stand for targets: each notes what it was called with.
mkdir "$work/targets"
for source in "$source_dir"/tests/fuzz/*_fuzz.cc; do
  name=$(basename "$source" _fuzz.cc)
  printf '#!/bin/sh\nprintf "%%s\\n" "$@" >"%s"\n' "$work/$name.called" >"$work/targets/${name}_fuzz"
  chmod +x "$work/targets/${name}_fuzz"
done
"$source_dir/scripts/fuzz" "$work/targets" "$work/found" 7 >"$work/log" 2>&1 || fail "$(cat "$work/log")"
for source in "$source_dir"/tests/fuzz/*_fuzz.cc; do
  name=$(basename "$source" _fuzz.cc)
  grep -qx -e "-max_total_time=7" "$work/$name.called" || fail "$name: does not run for the time that was asked for"
  mapfile -t folders < <(grep -v '^-' "$work/$name.called")
  [[ ${#folders[@]} == 2 && "${folders[0]}" == "$work/found/$name" && -d "${folders[0]}" ]] ||
    fail "$name: what is found does not go to its own folder: ${folders[*]}"
  [[ "$(realpath "${folders[1]}")" == "$(realpath "$source_dir/tests/fuzz/corpus/$name")" ]] || fail "$name: not from its seeds"
  [[ -n "$(ls -A "${folders[1]}")" ]] || fail "$name: no seeds"
done

printf '#!/bin/sh\nexit 77\n' >"$work/targets/json_fuzz"
if "$source_dir/scripts/fuzz" "$work/targets" "$work/found" 7 >"$work/log" 2>&1; then fail "a finding passed"; fi
mkdir "$work/none"
if "$source_dir/scripts/fuzz" "$work/none" "$work/found" 7 >"$work/log" 2>&1; then fail "no targets passed"; fi
grep -q 'scripts/fuzz build/fuzz/tests/fuzz' "$source_dir/Makefile" || fail "make fuzz does not call scripts/fuzz"
