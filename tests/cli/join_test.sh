#!/usr/bin/env bash
# Many runs by many workers: shares, job arrays, lists of commands, and workers that join on one folder and are killed.
set -uo pipefail
glint=$1
export GLINT_RECIPES=$2/recipes
source "$2/tests/cli/check.sh"
source "$2/tests/cli/train_runs.sh"
cd "$work" || exit 1
idx_set data
plan=(sweep --data data --d-model 16 --batch 32 --epochs 150 --gate sqs,identity,relu --lr 1e-3,2e-3 --seeds 0..1)
runs=12

run "${plan[@]}" --threads 2 --out alone
expect_code 0
run_list() { (cd "$1/runs" && find . -name run.json | sort); }
[ "$(run_list alone | wc -l)" -eq $runs ] || fail "the plan has $(run_list alone | wc -l) runs"

# same_plan FOLDER: every run has the bytes of the plan that was run alone.
same_plan() {
  local directory
  [ "$(run_list "$1")" = "$(run_list alone)" ] || fail "other runs in $1: $(run_list "$1")"
  for directory in $(cd alone/runs && find . -name run.json -printf '%h\n'); do
    same_run "alone/runs/$directory" "$1/runs/$directory"
  done
}

# Six workers on one folder; whoever is killed is replaced. A run is finished once: each worker says what it trained.
worker() { exec "$glint" "${plan[@]}" --threads 1 --join --out joined </dev/null; }
for i in 1 2 3 4 5 6; do worker >"out-$i" 2>"err-$i" & pids[i]=$!; done
killed=0
finished() { grep -l '"state": "finished"' joined/runs/*/*/run.json 2>/dev/null | wc -l; }
while [ "$(finished)" -lt $runs ] && [ "$SECONDS" -lt 1800 ]; do
  i=$((1 + RANDOM % 6))
  sleep 0.05
  if [ $killed -lt 8 ] && [ -n "$(ls joined/runs/*/*.lease 2>/dev/null)" ]; then
    kill -9 "${pids[i]}" 2>/dev/null && killed=$((killed + 1))
    wait "${pids[i]}" 2>/dev/null
    worker >>"out-$i" 2>>"err-$i" & pids[i]=$!
  fi
done
for i in 1 2 3 4 5 6; do wait "${pids[i]}"; done
[ $killed -gt 0 ] || fail "no worker was killed: the test has shown nothing"
[ "$(finished)" -eq $runs ] || fail "$(finished) of $runs runs are finished: $(cat err-*)"
run "${plan[@]}" --threads 1 --join --wait --out joined
expect_code 0
expect_out "Choose "
same_plan joined
[ -z "$(find joined -name '*.lease')" ] || fail "leases are left: $(find joined -name '*.lease')"
python3 - <<'EOT' || fail "the results differ"
import csv
def rows(name):  # but for times
    return [{k: v for k, v in row.items() if "seconds" not in k} for row in csv.DictReader(open(name + "/sweep.csv"))]
assert len(rows("alone")) == 6 and rows("alone") == rows("joined")
EOT
# Nobody trained a run that another had finished: a worker names a run when it has finished it.
[ "$(cat err-* | grep -c ' loss ')" -le $runs ] || fail "runs were trained twice: $(cat err-* | grep ' loss ')"

# Shares, fixed and from a job array that counts from 10 in steps of 5.
run "${plan[@]}" --shard 1/3 --out shares
expect_code 0
expect_out "Share 1 of 3 is trained"
for id in 15 20; do
  SLURM_ARRAY_TASK_ID=$id SLURM_ARRAY_TASK_COUNT=3 SLURM_ARRAY_TASK_MIN=10 SLURM_ARRAY_TASK_STEP=5 run "${plan[@]}" --out shares
  expect_code 0
  expect_out "Share $((id / 5 - 1)) of 3 is trained"
done
same_plan shares
SLURM_ARRAY_TASK_ID=3 SLURM_ARRAY_TASK_COUNT=3 SLURM_ARRAY_TASK_MIN=10 refused "is none of the 3 tasks" "${plan[@]}" --out shares
refused "--shard" "${plan[@]}" --shard 4/3 --out shares
refused "exclude each other" "${plan[@]}" --shard 1/3 --join --out shares
refused "--wait needs --join" "${plan[@]}" --wait --out shares

# A command per line, which trains just that run.
run reproduce formulas --quick --list --out listed
expect_code 0
run reproduce choice --quick --data glyphs --seeds 1 --list --out listed
expect_code 0
[ "$(wc -l <"$work/out")" -gt 2 ] || fail "few commands: $(cat "$work/out")"
grep -qv '^glint train ' "$work/out" && fail "not a command: $(grep -v '^glint train ' "$work/out")"
"$glint" reproduce choice --quick --data glyphs --seeds 1 --list --shard 1/2 --out listed >half || fail "no half of the list"
[ "$(wc -l <half)" -lt "$(wc -l <"$work/out")" ] || fail "a share of the list is not shorter"
finish
