#!/usr/bin/env bash
# kill -9 at random moments of a run: it is always resumable, what was saved stays saved, and the end is the same bytes.
# 50 kills; 500 with GLINT_FULL_TESTS=1. A failure names the seed: GLINT_TEST_SEED=N repeats it.
set -uo pipefail
glint=$1
source "$2/tests/cli/check.sh"
source "$2/tests/cli/train_runs.sh"

kills=50
[ "${GLINT_FULL_TESTS:-0}" = 1 ] && kills=500
seed=${GLINT_TEST_SEED:-$(date +%s)}
RANDOM=$((seed % 32768))
echo "seed $seed"
idx_set "$work/data"
arguments=(train --data "$work/data" --d-model 16 --batch 32 --epochs 6 --eval-steps 12 --checkpoint-every 3 --threads 1)

begin=$(date +%s%N)
run "${arguments[@]}" --out "$work/whole"
expect_code 0
took=$(($(date +%s%N) - begin)) # nanoseconds

# One directory is killed until it is finished, then the next begins: starts, middles and ends are all hit.
done_kills=0 runs=0
while [ "$done_kills" -lt "$kills" ] && [ "$failures" -eq 0 ]; do
  runs=$((runs + 1))
  out=$work/run-$runs
  saved=0
  while [ "$done_kills" -lt "$kills" ]; do
    "$glint" "${arguments[@]}" --out "$out" >"$work/log" 2>&1 &
    pid=$!
    # Up to 0.6 of a whole run: most runs are killed two or three times.
    nap=$((RANDOM * (took / 32768) * 6 / 10))
    sleep "$((nap / 1000000000)).$(printf %09d $((nap % 1000000000)))"
    kill -9 "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
    code=$?
    [ "$code" -eq 0 ] && break
    [ "$code" -eq 137 ] || fail "seed $seed: exit code $code after $done_kills kills: $(cat "$work/log")"
    done_kills=$((done_kills + 1))
    now=$(newest_step "$out")
    [ "$now" -ge "$saved" ] || fail "seed $seed: checkpoint $saved was there, now the newest is $now"
    saved=$now
    grep -q "cannot be used" "$work/log" && fail "seed $seed: a checkpoint was damaged: $(cat "$work/log")"
    [ "$failures" -eq 0 ] || break
  done
  run "${arguments[@]}" --out "$out"
  expect_code 0
  same_run "$work/whole" "$out"
  [ -z "$(find "$out" -name '*.tmp')" ] || fail "left behind: $(find "$out" -name '*.tmp')"
  [ "$(find "$out/checkpoints" -type f | wc -l)" -eq 2 ] || fail "not two checkpoints: $(ls "$out/checkpoints")"
  rm -rf "$out"
done
echo "$done_kills kills in $runs runs; a whole run takes $((took / 1000000)) ms"
[ "$failures" -eq 0 ] || echo "repeat with GLINT_TEST_SEED=$seed" >&2
finish
