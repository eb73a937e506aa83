#!/usr/bin/env bash
# A scan shared by workers on one file system, with workers killed at random, gives the bytes of one; so does a reading of
# all layers at any number of threads.
set -uo pipefail
glint=$1
export GLINT_RECIPES=$2/recipes
source "$2/tests/cli/check.sh"
source "$2/tests/cli/train_runs.sh"
cd "$work" || exit 1
run train tales --layers 3 --d-model 16 --d-hidden 16 --heads 2 --context 32 --batch 64 --epochs 1 --out tales
expect_code 0

run spectrum tales --scan --threads 1 --out alone
expect_code 0
# What a process that was killed left of results goes away.
mkdir -p alone/figures
touch alone/layers-_the.csv.0123456789abcdef.tmp alone/figures/layers-_the.png.0123456789abcdef.tmp
run spectrum tales --all-layers --token the --threads 1 --out alone
expect_code 0
[ -z "$(find alone -name '*.tmp')" ] || fail "left behind: $(find alone -name '*.tmp')"
expect_out "layer"
[ -s alone/figures/layers-_the.svg ] || fail "no figure of the layers"
ls -d alone/*-????????????  2>/dev/null && fail "pieces are left over"

# A worker that finds all pieces taken or done ends; the last of them leaves nothing to do.
same_results() {
  for file in scan-layer-3.csv layers-_the.csv; do
    cmp "alone/$file" "$1/$file" || fail "$1/$file differs"
  done
}
workers=()
for i in 1 2 3; do
  "$glint" spectrum tales --scan --join --threads 1 --out joined >"$work/worker-$i" 2>&1 </dev/null &
  workers+=($!)
done
# One is killed as soon as there is a piece, whoever made it; its lease goes with its process.
some_piece() { ls joined/scan-layer-3-*/piece-* >/dev/null 2>&1 || ! kill -0 "${workers[0]}" 2>/dev/null; }
wait_for 60 some_piece
kill -9 "${workers[0]}" 2>/dev/null
wait "${workers[@]}" 2>/dev/null
run spectrum tales --scan --join --wait --threads 1 --out joined
expect_code 0
run spectrum tales --all-layers --token the --threads 2 --out joined
expect_code 0
same_results joined
# Without --join what the workers left is used and cleared away.
run spectrum tales --scan --threads 1 --out joined
expect_code 0
same_results joined
ls -d joined/scan-layer-3-* 2>/dev/null && fail "pieces are left over"

# A piece that is damaged is made again.
"$glint" spectrum tales --scan --join --threads 1 --out damaged >/dev/null 2>&1
piece=$(ls damaged/scan-layer-3-*/piece-0)
printf 'nonsense' >"$piece"
run spectrum tales --scan --threads 1 --out damaged
expect_code 0
cmp alone/scan-layer-3.csv damaged/scan-layer-3.csv || fail "a damaged piece was used"

run spectrum tales --join
expect_code 2
expect_err "--join shares the tokens of a scan"
run spectrum tales --scan --all-layers
expect_code 2
finish
