#!/usr/bin/env bash
# glint train as a user meets it: results, resuming after signals, and every way to be refused with its exit code.
set -uo pipefail
glint=$1
source "$2/tests/cli/check.sh"
source "$2/tests/cli/train_runs.sh"
export GLINT_RECIPES=$2/recipes
cd "$work" || exit 1

mounted=
trap '[ -z "$mounted" ] || umount "$mounted"; rm -rf "$work"' EXIT
idx_set "$work/data"
small=(--data "$work/data" --d-model 16 --batch 32)

# A whole run, and again: nothing is done twice.
run train "${small[@]}" --epochs 2 --out whole --json
expect_code 0
expect_out '"state": "finished"'
for name in run.json metrics.jsonl config.json model.safetensors; do [ -s "whole/$name" ] || fail "no $name"; done
run train "${small[@]}" --epochs 2 --out whole
expect_code 0
expect_out "done before"

# Any number of threads, seeds side by side or alone.
for threads in 2 3 7; do
  run train "${small[@]}" --epochs 2 --threads "$threads" --out "threads-$threads"
  expect_code 0
  same_run whole "threads-$threads"
done
run train "${small[@]}" --epochs 2 --seeds 0..2 --threads 2 --out seeds
expect_code 0
expect_out "mean of 3 seeds"
same_run whole seeds/seed-0
run train "${small[@]}" --epochs 2 --seed 2 --out alone-2
same_run alone-2 seeds/seed-2
run train "${small[@]}" --epochs 2 --seed 1 --out alone-1
same_run alone-1 seeds/seed-1
cmp -s alone-1/model.safetensors alone-2/model.safetensors && fail "two seeds gave the same weights"

# A program that was moved, linked to or started elsewhere has its recipes with it; a folder of one's own wins.
mkdir -p "$work/moved/bin" "$work/moved/here/recipes" "$work/moved/there"
cp "$glint" "$work/moved/bin/glint"
ln -s "$work/moved/bin/glint" "$work/moved/linked"
printf 'epochs = 1\nbatch = 32\nd-model = 8\nseed = 77\n' >"$work/moved/here/recipes/quick.toml"
(
  unset GLINT_RECIPES
  cd "$work/moved/there" || exit 1
  "$work/moved/bin/glint" train quick --epochs 1 --d-model 8 --out run --quiet >/dev/null || exit 1
  "$work/moved/linked" train quick --epochs 1 --d-model 8 --out run --quiet >/dev/null || exit 1
  cd ../here && ../bin/glint train quick --out run --quiet >/dev/null
) || fail "a program elsewhere does not find the recipe quick"
grep -q '"noise-std": 0.3' "$work/moved/there/run/run.json" || fail "not the built-in recipe"
grep -q '"seed": 77' "$work/moved/here/run/run.json" || fail "the recipe of one's own did not win"

# Hostile recipes: bounded in size, depth and memory, and the code is that of a bad file. Sanitizers need the address
# space.
room=400000
! grep -q '^GLINT_SANITIZE:STRING=.' "$3/CMakeCache.txt" || room=unlimited
hostile() { # EXPECTED TEXT
  printf '%s' "$2" >"$work/hostile.toml"
  code=0
  (ulimit -v "$room" && "$glint" train "$work/hostile.toml" --out "$work/hostile" >"$work/out" 2>"$work/err") || code=$?
  command_line="glint train hostile.toml"
  expect_code "${3:-3}"
  expect_err "$1"
  [ ! -e "$work/hostile" ] || fail "a hostile recipe made a run"
}
dots=$(head -c 60000 /dev/zero | tr '\0' '.' | sed 's/\./a./g')
hostile "too large" "${dots}a=1"
hostile "no keys with dots" "${dots:0:60000}a=1"
hostile "a list is no value" "a=$(head -c 60000 /dev/zero | tr '\0' '[')"
hostile "no tables" "[[${dots:0:60000}a]]"
hostile "needs at least" $'d-model = 16384\nd-hidden = 16384\nepochs = 1\n' 1

# Flags override the recipe; the aliases of gates mean the same.
run train quick "${small[@]}" --epochs 1 --gate bilinear --out recipe
expect_code 0
grep -q '"batch": 32' recipe/run.json || fail "--batch did not override the recipe"
grep -q '"noise-std": 0.3' recipe/run.json || fail "the recipe's noise is gone"
grep -q '"gate": "identity"' recipe/run.json || fail "bilinear is not identity"
run train quick "${small[@]}" --epochs 1 --gate identity --out recipe
expect_out "done before"
run train "${small[@]}" --epochs 1 --gate swiglu --out swiglu
grep -q '"gate": "silu"' swiglu/run.json || fail "swiglu is not silu"
# wrong_recipe CONTENT EXPECTED...: what is wrong inside a file has the exit code of a file.
wrong_recipe() {
  printf "$1" >wrong.toml
  shift
  run train wrong.toml --out x
  expect_code 3
  expect_no_out
  for text in "$@"; do expect_err "$text"; done
}
wrong_recipe 'layers = 1\nbacth = 3\n' "wrong.toml, line 2" "did you mean batch?"
wrong_recipe 'layers = "two"\n' "wrong.toml, line 1"
wrong_recipe 'layers = 1\nlr = 11\n' "wrong.toml, line 2"
wrong_recipe 'layers = [1\n' "wrong.toml, line"
wrong_recipe 'layers \0\377' "wrong.toml"
refused "quick" train qick --out x
refused "relu" train --gate rellu --out x
refused "--lr" train --lr 11 --out x
refused "--seeds" train --seeds 3..1 --out x
refused "exclude each other" train --seeds 0..1 --seed 1 --out x
refused "--residual" train "${small[@]}" --residual --d-hidden 8 --out x
run train --data "$work/nowhere" --out x
[ "$code" -eq 2 ] || [ "$code" -eq 3 ] || fail "a missing data folder: exit code $code"
[ ! -e x ] || fail "a refused run left its directory"

# Directories that hold something else.
refused "another run" train "${small[@]}" --epochs 2 --gate relu --out whole
expect_err "--force"
mkdir mine && echo "years of work" >mine/thesis.tex
refused "no run of glint" train "${small[@]}" --epochs 2 --out mine
refused "no run of glint" train "${small[@]}" --epochs 2 --out mine --force
[ "$(cat mine/thesis.tex)" = "years of work" ] || fail "foreign file touched"
echo x >file
run train "${small[@]}" --epochs 1 --out file
expect_code 1
expect_err "file"
run train "${small[@]}" --epochs 2 --seed 1 --out swiglu --force
expect_code 0
same_run alone-1 swiglu

# Numbers that run away: the same message at a second try, and the checkpoints stay.
for attempt in 1 2; do
  run train "${small[@]}" --epochs 2 --lr 10 --gate bilinear --layers 2 --schedule constant --checkpoint-every 1 --out away
  expect_code 4
  expect_no_out
  grep '^glint: error' "$work/err" >"$work/away-$attempt"
  expect_err "--lr"
done
cmp -s "$work/away-1" "$work/away-2" || fail "two messages for one divergence: $(cat "$work"/away-?)"
[ -n "$(ls away/checkpoints)" ] || fail "the checkpoints of the diverging run are gone"
[ ! -e away/model.safetensors ] || fail "a diverged run left a model"

# A signal saves, and the same command goes on to the same bytes. A long run, so that the signal finds it at work.
long=(train "${small[@]}" --epochs 400)
run "${long[@]}" --out long
expect_code 0
for signal in INT TERM; do
  "$glint" "${long[@]}" --out "stop-$signal" >"$work/out" 2>"$work/err" &
  pid=$!
  wait_for 30 test -s "stop-$signal/metrics.jsonl"
  kill -"$signal" "$pid"
  code=0
  wait "$pid" || code=$?
  command_line="glint train stopped by SIG$signal"
  expect_code 130
  expect_err "interrupted; saved at step"
  expect_err "the same command goes on from there"
  expect_no_out
  step=$(newest_step "stop-$signal")
  [ "$step" -gt 0 ] || fail "nothing saved at SIG$signal"
  run "${long[@]}" --out "stop-$signal"
  expect_code 0
  expect_err "goes on after step $step"
  same_run long "stop-$signal"
done

# Two trainers on one directory.
"$glint" train "${small[@]}" --epochs 100000 --out both >"$work/first.out" 2>"$work/first.err" &
pid=$!
wait_for 30 test -s both/metrics.jsonl
run train "${small[@]}" --epochs 100000 --out both
expect_code 1
expect_err "another process is training in this directory"
kill -0 "$pid" || fail "the first trainer is gone: $(cat "$work/first.err")"
kill -INT "$pid"
code=0
wait "$pid" || code=$?
[ "$code" -eq 130 ] || fail "the first trainer: exit code $code"

# A damaged newest checkpoint: the one before is used, and it says so.
"$glint" "${long[@]}" --out damaged --checkpoint-every 50 >/dev/null 2>&1 &
pid=$!
wait_for 30 test -s damaged/metrics.jsonl
two() { [ "$(find damaged/checkpoints -name '*.safetensors' | wc -l)" -ge 2 ]; }
wait_for 30 two
kill -9 "$pid"
wait "$pid" 2>/dev/null
newest=$(find damaged/checkpoints -name '*.safetensors' | sort | tail -1)
printf 'garbage' | dd of="$newest" bs=1 seek=900 conv=notrunc 2>/dev/null
run "${long[@]}" --out damaged
expect_code 0
expect_err "$newest cannot be used"
expect_err "trying the one before"
same_run long damaged

# A real disk that is full, then has room again; one that is read-only.
mkdir disk
if mount -t tmpfs -o size=420k tmpfs disk 2>/dev/null; then
  mounted=$work/disk
  wide=(train --data "$work/data" --d-model 64 --batch 32 --epochs 2 --checkpoint-every 5)
  run "${wide[@]}" --out roomy
  expect_code 0
  run "${wide[@]}" --out disk/run
  expect_code 1
  expect_err "No space left on device"
  expect_err "free some space"
  [ "$(newest_step disk/run)" -gt 0 ] || fail "no checkpoint survived the full disk"
  [ -z "$(find disk -name '*.tmp')" ] || fail "half-written file left on the full disk"
  step=$(newest_step disk/run)
  mount -o remount,ro disk
  run "${wide[@]}" --out disk/run
  expect_code 1
  expect_err "Read-only file system"
  run "${wide[@]}" --out disk/other
  expect_code 1
  expect_err "Read-only file system"
  mount -o remount,rw,size=4m disk
  run "${wide[@]}" --out disk/run
  expect_code 0
  expect_err "goes on after step $step"
  same_run roomy disk/run
else
  echo "left out: no permission to mount a small disk"
fi
finish
