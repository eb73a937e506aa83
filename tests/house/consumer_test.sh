#!/usr/bin/env bash
# An installed glint can be found and used by another project, and nothing of it points back into the build tree.
# What is built already is installed: the consumer is one small file. GLINT_FULL_TESTS=1 compiles every header alone.
set -euo pipefail
source_dir=$2
build_dir=$3
if grep -q '^GLINT_SANITIZE:STRING=.' "$build_dir/CMakeCache.txt"; then
  echo "a sanitized library needs a sanitized consumer"
  exit 77
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
prefix=$scratch/prefix

cmake --install "$build_dir" --prefix "$prefix" >"$scratch/install.log"
[[ "$("$prefix/bin/glint" --version)" == *[0-9].[0-9]* ]] || { echo "the installed program does not say its version"; exit 1; }
if grep -rlF -e "$build_dir" -e "$source_dir/" "$prefix/lib" "$prefix/include" --include='*.cmake' --include='*.h'; then
  echo "these installed files name the build or source folder"
  exit 1
fi
# The headers need nothing but the installed folder: all in one file, which takes seconds; each on its own, minutes.
compiler=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$build_dir/CMakeCache.txt")
headers() { (cd "$prefix/include" && find . -name '*.h' | sort); }
check_headers() { "$compiler" -std=c++20 -fsyntax-only -Wall -Wextra -I"$prefix/include" "$1" >"$scratch/header.log" 2>&1; }
headers | sed 's|^\./\(.*\)|#include "\1"|' >"$scratch/all.cc"
[[ $(wc -l <"$scratch/all.cc") -gt 50 ]] || { echo "only these headers were installed:"; headers; exit 1; }
check_headers "$scratch/all.cc" || { echo "the installed headers do not compile:"; cat "$scratch/header.log"; exit 1; }
if [[ "${GLINT_FULL_TESTS:-0}" == 1 ]]; then
  while read -r include; do
    echo "$include" >"$scratch/one.cc"
    check_headers "$scratch/one.cc" || { echo "$include does not compile alone:"; cat "$scratch/header.log"; exit 1; }
  done <"$scratch/all.cc"
fi

cmake -S "$source_dir/tests/house/consumer" -B "$scratch/build" -DCMAKE_PREFIX_PATH="$prefix" \
  -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Release >"$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }
cmake --build "$scratch/build" >"$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }
"$scratch/build/consumer"

# The examples of the repository, each at most 40 lines, built against the installed library and run.
for example in "$source_dir"/examples/*.cc; do
  [[ $(wc -l <"$example") -le 40 ]] || { echo "$example is longer than 40 lines"; exit 1; }
done
cmake -S "$source_dir/examples" -B "$scratch/examples" -DCMAKE_PREFIX_PATH="$prefix" \
  -DCMAKE_CXX_COMPILER="$compiler" >"$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }
cmake --build "$scratch/examples" >"$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }
says() {  # what it must print, then the program with its arguments
  local wanted=$1
  shift
  "$@" >"$scratch/out" 2>&1 || { echo "failed: $*"; cat "$scratch/out"; exit 1; }
  grep -q -- "$wanted" "$scratch/out" || { echo "'$wanted' is not in the output of $*:"; cat "$scratch/out"; exit 1; }
}
says '^test accuracy 9[0-9]' "$scratch/examples/train_arrays"
says '^class 3: eigenvalues' "$scratch/examples/read_spectrum" "$scratch/run"
says 'the model says' "$scratch/examples/explain_image" "$scratch/run" 7
says '^once upon a time' "$scratch/examples/generate_story" "$scratch/tales"

# Asking for a version that this is not must fail at configuration, for that reason, not at run time. The version is
# looked at first: no compiler is needed for it.
cp -r "$source_dir/tests/house/consumer" "$scratch/other"
sed -i 's/find_package(glint 0.1/find_package(glint 9.9/; s/LANGUAGES CXX/LANGUAGES NONE/' "$scratch/other/CMakeLists.txt"
if cmake -S "$scratch/other" -B "$scratch/build2" -DCMAKE_PREFIX_PATH="$prefix" >"$scratch/log" 2>&1; then
  echo "find_package(glint 9.9) was satisfied"
  exit 1
fi
tr -s ' \n' ' ' <"$scratch/log" | grep -q 'compatible with requested version "9.9"' ||
  { echo "find_package(glint 9.9) failed for another reason:"; cat "$scratch/log"; exit 1; }
