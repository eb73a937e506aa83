#!/usr/bin/env bash
# Object files compiled for newer instructions define nothing that the linker could share. An inline function or a
# template that is compiled in several objects becomes a weak symbol, and the linker keeps one copy for all callers. If
# that copy came from an AVX-512 object, code that never asked for AVX-512 would stop with an illegal instruction on
# older processors. So these objects may define no weak or unique symbols, and external ones only in their own namespace.
set -euo pipefail
build_dir=$3
command -v nm >/dev/null || exit 77
if grep -q '^GLINT_SANITIZE:STRING=.' "$build_dir/CMakeCache.txt"; then
  echo "sanitizers add symbols of their own"
  exit 77
fi

# Prints what OBJECT defines but may not; PREFIX is how its external symbols must begin.
violations() {
  # DW.ref.__gxx_personality_v0 is a pointer for exception tables: the same data in every object, no code.
  nm -C --defined-only "$1" | sed -E 's/^[0-9a-f]+ //' | awk -v prefix="$2" '
    $1 ~ /^[WVu]$/ && $2 !~ /^DW\.ref\./ { print "weak:     " $0 }
    $1 ~ /^[A-TX-Z]$/ && index(substr($0, 3), prefix) != 1 { print "external: " $0 }'
}

# First that it can fail: a weak function, a stray external one, and a good file.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
compiler=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$build_dir/CMakeCache.txt")
compile() { printf '%s\n' "$1" | "$compiler" -std=c++20 -O2 -fPIC -x c++ -c - -o "$scratch/a.o"; }
compile '[[gnu::noinline]] inline int weak(int x) { return x * 3; } namespace glint::isa_v3 { int f(int x) { return weak(x); } }'
[[ "$(violations "$scratch/a.o" glint::isa_v3::)" == *"weak:"*"weak(int)"* ]] || { echo "a weak symbol was not caught"; exit 1; }
compile 'namespace glint { int stray(int x) { return x; } }'
[[ "$(violations "$scratch/a.o" glint::isa_v3::)" == *"external:"*"glint::stray(int)"* ]] || { echo "a stray symbol was not caught"; exit 1; }
compile 'namespace glint::isa_v3 { static int g(int x) { return x; } int f(int x) { return g(x); } }'
[[ -z "$(violations "$scratch/a.o" glint::isa_v3::)" ]] || { echo "a good file was refused"; exit 1; }

checked=0
bad=0
look_at() {
  local found
  found=$(violations "$1" "$2")
  checked=$((checked + 1))
  [[ -z "$found" ]] && return
  bad=1
  echo "${1#"$build_dir/"} must define only $2...:"
  echo "$found"
}
for level in v3 v4; do
  folder=$build_dir/CMakeFiles/glint_isa_$level.dir
  [[ -d "$folder" ]] || continue
  while read -r object; do look_at "$object" "glint::isa_$level::"; done < <(find "$folder" -name '*.o')
done
# The bf16 products are compiled with flags of their own inside the library.
for object in "$build_dir"/CMakeFiles/glint_lib.dir/glint/kernels/bf16_{amx,avx512}*.o; do
  [[ ! -f "$object" ]] || look_at "$object" "glint::"
done
if [[ $checked == 0 ]]; then
  grep -qE '^CMAKE_SYSTEM_PROCESSOR.*(x86_64|AMD64)|x86-64-v3' "$build_dir/build.ninja" "$build_dir/CMakeCache.txt" || exit 77
  echo "no object files of the instruction-set levels in $build_dir"
  exit 1
fi
[[ $bad == 0 ]] || { echo "make the functions static, always_inline, or put them into an anonymous namespace"; exit 1; }
echo "$checked object files define only their own symbols"
