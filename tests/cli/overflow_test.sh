#!/usr/bin/env bash
# Numbers that leave what a float or a double holds: exit code 4 and no result where something overflows, "inf" where a
# number is infinite, and never an abort.
set -uo pipefail
glint=$1
source "$2/tests/cli/check.sh"
source "$2/tests/cli/train_runs.sh"
tests=$2/tests/cli
cd "$work" || exit 1
idx_set data

# scaled RUN FACTOR [NAME]: `bad` is the run with its weights multiplied, its checksums in order, without a copy.
scaled() {
  rm -rf bad && cp -r "$1" bad && rm -rf bad/checkpoints
  python3 "$tests/scale_tensors.py" bad/model.safetensors "$2" "${3:-}" && python3 "$tests/reseal.py" bad
}
listing() { (cd "$1" && find . -type f ! -name .lock -print0 | sort -z | xargs -0 sha256sum); }
# overflows VERB...: exit code 4, no result, and nothing written.
overflows() {
  listing bad >before
  rm -rf made
  run "$@"
  expect_code 4
  expect_no_out
  expect_err "overflow"
  listing bad >after
  cmp -s before after || fail "$command_line: files were written: $(diff before after)"
  if [ -n "$(find made -name 'manifest.json' -o -name '*.html' -o -name '*.svg' 2>/dev/null)" ]; then fail "$command_line left $(ls made)"; fi
}

# Images.
run train --data data --d-model 12 --batch 32 --epochs 2 --out image --quiet
expect_code 0
run train --data data --d-model 12 --batch 32 --epochs 2 --gate bilinear --out bilinear --quiet
expect_code 0
for factor in 1e14 1e20 1e38; do
  scaled image "$factor"
  overflows eval bad
  overflows eval bad --json
  overflows spectrum bad
  overflows explain bad --index 3 --out made
  overflows compare bad bilinear --no-figures
  overflows attack bad --no-figures --out made
  overflows page bad --out made.html
  [ ! -e made.html ] || fail "page left its file"
  overflows export bad --npy made
done
# Large and finite is no error: the number has a short text, and JSON has it whole.
scaled image 1e8
run eval bad
expect_code 0
grep -Eq '^loss: +[0-9.]+e\+[0-9]+$' "$work/out" || fail "no short loss: $(head -4 "$work/out")"
run eval bad --json
expect_code 0
python3 -c "import json, math, sys; assert math.isfinite(json.load(sys.stdin)['loss'])" <"$work/out" || fail "no loss in the JSON"
# f16 does not hold these weights, but the page is small enough for f32.
scaled image 1e6 embed
run page bad --out page.html
expect_code 0
run page bad --out small.html --limit 200000
[ "$code" -ne 0 ] && [ ! -e small.html ] || fail "a page with infinite weights"

# A training loss that nobody knows any more is null in JSON, as the documents say.
rm -rf bad && cp -r image bad && : >bad/metrics.jsonl
python3 - <<'PYTHON'
import json
run = json.load(open("bad/run.json"))
del run["result"]
json.dump(run, open("bad/run.json", "w"))
PYTHON
python3 "$tests/reseal.py" bad
run train --data data --d-model 12 --batch 32 --epochs 2 --out bad --json
expect_code 0
expect_out '"train_loss": null'

# A calibration with gains beyond all sense.
run spectrum image --no-figures --quiet
expect_code 0
for factor in 1e160 1e300; do
  rm -rf bad && cp -r image bad && python3 "$tests/scale_tensors.py" bad/calibration.safetensors "$factor" gain:1
  overflows explain bad --index 3 --out made
  overflows spectrum bad --no-figures
  overflows page bad --out made.html
done

# Language models: the norms would hide it.
run train tales --d-model 16 --layers 2 --heads 2 --batch 64 --epochs 1 --out text --quiet
expect_code 0
for factor in 1e10 1e20 1e38; do
  scaled text "$factor"
  overflows eval bad
  overflows eval bad --json
  overflows generate bad --tokens 5 --json
  overflows spectrum bad --token happy
  overflows spectrum bad --scan --form calibrated
  overflows page bad --out made.html
done
scaled text 1e30 transformer.wte
overflows eval bad
overflows generate bad --tokens 5 --json

# A loss of thousands has an infinite perplexity: "inf", and null in JSON with a note.
scaled text 1e5 lm_head
run eval bad
expect_code 0
grep -Eq '^perplexity: inf$' "$work/out" || fail "the perplexity is not inf: $(head -5 "$work/out")"
run eval bad --json
expect_code 0
expect_out '"perplexity": null'
expect_err "the perplexity is infinite"
# One weight as a flipped bit leaves it.
scaled text 1e36 lm_head:1
run eval bad
[ "$code" -eq 0 ] || [ "$code" -eq 4 ] || fail "$command_line: exit code $code: $(cat "$work/err")"

# A line of metrics that says so.
rm -rf bad && cp -r text bad && sed -i 's/"test_loss":[0-9.]*/"test_loss":800/' bad/metrics.jsonl && python3 "$tests/reseal.py" bad
run train tales --d-model 16 --layers 2 --heads 2 --batch 64 --epochs 1 --out bad
expect_code 0
expect_out " inf "
run page bad --out page.html
expect_code 0

# A training whose validation loss passes 709: the same end at every try, and what was saved stays.
away=(train tales --d-model 64 --layers 1 --heads 2 --batch 16 --epochs 2 --lr 10 --weight-decay 0 --schedule constant
  --checkpoint-every 4)
for attempt in 1 2; do
  run "${away[@]}" --out away
  expect_code 4
  expect_err "diverged"
  expect_err "the checkpoint of step $(newest_step away) is kept"
  grep -q '"state": "diverged"' away/run.json || fail "run.json: $(grep state away/run.json)"
  [ ! -e away/model.safetensors ] || fail "a diverged run left a model"
done
expect_err "diverged before"
finish
