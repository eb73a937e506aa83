#!/usr/bin/env bash
# An installed glint can be found and used by another project, and nothing of it points back into the build tree.
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
# Every header stands on its own for a C++20 compiler that knows only the installed folder.
compiler=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$build_dir/CMakeCache.txt")
find "$prefix/include" -name '*.h' -print0 |
  xargs -0 -n 1 -P "$(nproc)" "$compiler" -std=c++20 -fsyntax-only -Wall -Wextra -Wno-pragma-once-outside-header \
    -I"$prefix/include" -x c++ >"$scratch/header.log" 2>&1 ||
  { echo "an installed header does not compile alone:"; cat "$scratch/header.log"; exit 1; }

cmake -S "$source_dir/tests/house/consumer" -B "$scratch/build" -DCMAKE_PREFIX_PATH="$prefix" \
  -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Release >"$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }
cmake --build "$scratch/build" >"$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }
"$scratch/build/consumer"

# Asking for a version that this is not must fail at configuration, not at run time.
cp -r "$source_dir/tests/house/consumer" "$scratch/other"
sed -i 's/find_package(glint 0.1/find_package(glint 9.9/' "$scratch/other/CMakeLists.txt"
if cmake -S "$scratch/other" -B "$scratch/build2" -DCMAKE_PREFIX_PATH="$prefix" >"$scratch/log" 2>&1; then
  echo "find_package(glint 9.9) was satisfied"
  exit 1
fi
