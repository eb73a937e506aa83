#!/usr/bin/env bash
# Builds the fuzz targets and runs each for a few seconds from its seeds: no crash, no hang, no leak, no more memory
# than promised. Longer runs: cmake --preset fuzz, then build/fuzz/tests/fuzz/NAME_fuzz FOLDER.
set -euo pipefail
source_dir=$2
build_dir=$3
fuzz_dir=$(dirname "$build_dir")/fuzz

command -v clang++ >/dev/null || { echo "skipped: no clang++"; exit 77; }
command -v cmake >/dev/null || { echo "skipped: no cmake"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' > "$work/probe.cc"
clang++ -fsanitize=fuzzer,address "$work/probe.cc" -o "$work/probe" 2>/dev/null ||
  { echo "skipped: clang++ has no libFuzzer"; exit 77; }

cmake -S "$source_dir" --preset fuzz -B "$fuzz_dir" >"$work/configure.log" 2>&1 || { cat "$work/configure.log"; exit 1; }
cmake --build "$fuzz_dir" --target fuzzers -j "$(nproc)" >"$work/build.log" 2>&1 || { cat "$work/build.log"; exit 1; }

# Two at a time: the run takes half as long, and two cores are everywhere.
run() {
  local name=$1 target=$2
  mkdir -p "$work/$name"
  local seeds=()
  if [ -d "$source_dir/tests/fuzz/corpus/$name" ]; then seeds=("$source_dir/tests/fuzz/corpus/$name"); fi
  # The first folder takes what the fuzzer finds, so that the seeds stay as they are.
  (cd "$work/$name" && "$target" -max_total_time=8 -rss_limit_mb=512 -timeout=5 -max_len=65536 -print_final_stats=1 \
      -artifact_prefix="$work/$name/" . "${seeds[@]}") >"$work/$name.log" 2>&1 || touch "$work/$name.failed"
}
running=0
for source in "$source_dir"/tests/fuzz/*_fuzz.cc; do
  name=$(basename "$source" _fuzz.cc)
  run "$name" "$fuzz_dir/tests/fuzz/${name}_fuzz" &
  running=$((running + 1))
  if [ $((running % 2)) = 0 ]; then wait; fi
done
wait

failed=0
for source in "$source_dir"/tests/fuzz/*_fuzz.cc; do
  name=$(basename "$source" _fuzz.cc)
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$work/$name.log")
  if [ -e "$work/$name.failed" ] || [ "${runs:-0}" -lt 100 ]; then
    echo "$name: FAILED"
    tail -40 "$work/$name.log"
    for found in "$work/$name"/{crash,leak,timeout,oom}-*; do
      [ -e "$found" ] && { echo "input, base64:"; base64 "$found"; }
    done
    failed=1
  else
    echo "$name: $runs inputs, nothing found"
  fi
done
exit $failed
