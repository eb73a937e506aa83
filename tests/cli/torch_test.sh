#!/usr/bin/env bash
# Runs of `glint train` load into PyTorch, and PyTorch finds the loss and the accuracy that the run reports.
set -uo pipefail
glint=$1
source "$2/tests/cli/check.sh"
source "$2/tests/cli/train_runs.sh"
/usr/bin/python3 -c 'import torch, numpy' 2>/dev/null || { echo "skipped: no PyTorch"; exit 77; }
export GLINT_RECIPES=$2/recipes
cd "$work" || exit 1

idx_set "$work/data"
n=0
for flags in "--gate sqs" "--gate relu --layers 2 --bias --residual" "--gate gelu --layers 2 --d-hidden 24 --norm rms" \
  "--gate bilinear --bias" "--gate swiglu --norm rms --residual" "--gate sqs --c -0.2 --lambda 1.5 --p 3"; do
  n=$((n + 1))
  # shellcheck disable=SC2086
  run train quick --data "$work/data" --d-model 40 --batch 32 --epochs 5 $flags --out "run-$n"
  expect_code 0
done
/usr/bin/python3 "$2/tests/golden/check_torch.py" run-* --data "$work/data" || fail "PyTorch disagrees"
# It can disagree: other weights, and the loss is another.
tail -c 4000 run-4/model.safetensors | head -c 40 >part
dd if=part of=run-4/model.safetensors bs=1 seek=2000 conv=notrunc 2>/dev/null
/usr/bin/python3 "$2/tests/golden/check_torch.py" run-4 --data "$work/data" >/dev/null 2>&1 && fail "a changed model went unnoticed"
finish
