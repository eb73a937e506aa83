#!/usr/bin/env bash
# Every source file compiles by itself: without the headers that are precompiled, and without the files that it is
# compiled with at once. Minutes: GLINT_FULL_TESTS=1 alone. Only the syntax is checked, and BUILD/alone remembers what was.
set -euo pipefail
source_dir=$2
build_dir=$3
[[ "${GLINT_FULL_TESTS:-0}" == 1 ]] || { echo "compiles every file: GLINT_FULL_TESTS=1"; exit 77; }
dir=$build_dir/alone
mkdir -p "$dir"
value() { sed -n "s/^$1:[A-Z]*=//p" "$build_dir/CMakeCache.txt"; }
cmake -S "$source_dir" -B "$dir" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_COMPILER="$(value CMAKE_CXX_COMPILER)" \
  -DGLINT_PYTHON="$(value GLINT_PYTHON)" -DCMAKE_UNITY_BUILD=OFF -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON \
  -DCMAKE_CXX_LINK_EXECUTABLE='touch <TARGET>' -DCMAKE_GTEST_DISCOVER_TESTS_DISCOVERY_MODE=PRE_TEST \
  -DCMAKE_CXX_COMPILE_OBJECT='<CMAKE_CXX_COMPILER> <DEFINES> <INCLUDES> <FLAGS> -fsyntax-only <SOURCE> && touch <OBJECT>' \
  >"$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }

# First that it can fail: a file that takes a header from others is refused, with the flags of a real one.
flags=$(sed -n 's/.*"command": "\(.*\) -fsyntax-only [^ ]*glint\/data\/tokenizer.cc .*/\1/p' "$dir/compile_commands.json")
whole='bool has(const glint::Json& j) { return j.contains("x"); }'
refuses() { (cd "$dir" && ! echo "$1" | $flags -fsyntax-only -x c++ - >"$dir/one.log" 2>&1); }
refuses $'#include "glint/io/json_fwd.h"\n'"$whole" || { echo "an incomplete type was not noticed"; exit 1; }
if refuses $'#include "glint/io/json.h"\n'"$whole"; then cat "$dir/one.log"; exit 1; fi

missing=0
while read -r file; do
  grep -qF "\"file\": \"$source_dir/$file\"" "$dir/compile_commands.json" || { echo "$file is not compiled by itself"; missing=1; }
done < <(cd "$source_dir" && find glint tests/*/ -name '*.cc' ! -path 'glint/mpi/*' ! -path 'tests/house/*')
[[ $missing == 0 ]] || exit 1

ninja -C "$dir" -t targets all | sed -n 's/^\([^:]*\.o\): CXX_COMPILER.*/\1/p' >"$dir/objects"
count=$(wc -l <"$dir/objects")
[[ $count -gt 400 ]] || { echo "only $count files: the search is broken"; exit 1; }
xargs ninja -C "$dir" -k 0 -j "$(nproc)" <"$dir/objects" >"$dir/log" 2>&1 || { grep -vE '^\[[0-9]' "$dir/log"; exit 1; }
echo "$count files compile by themselves"
