#!/usr/bin/env bash
# Language models from training to reading: the same bytes at any thread count and across a stop, evaluation, spectra of tokens.
set -uo pipefail
glint=$1
export GLINT_RECIPES=$2/recipes
source "$(dirname "$0")/check.sh"

small=(--layers 2 --d-model 32 --d-hidden 32 --heads 2 --context 48 --batch 64 --epochs 1 --lr 3e-3)

run train tales "${small[@]}" --threads 1 --out "$work/one"
expect_code 0
expect_out "perplexity"
for threads in 2 3; do
  run train tales "${small[@]}" --threads $threads --out "$work/more-$threads"
  expect_code 0
  cmp -s "$work/one/model.safetensors" "$work/more-$threads/model.safetensors" || fail "other weights with $threads threads"
done

# A run that is stopped goes on to the same bytes.
"$glint" train tales "${small[@]}" --threads 1 --checkpoint-every 4 --out "$work/stopped" >/dev/null 2>"$work/err" &
pid=$!
for _ in $(seq 200); do
  ls "$work/stopped/checkpoints" 2>/dev/null | grep -q . && break
  sleep 0.05
done
kill -INT $pid 2>/dev/null
wait $pid
run train tales "${small[@]}" --threads 2 --out "$work/stopped"
expect_code 0
cmp -s "$work/one/model.safetensors" "$work/stopped/model.safetensors" || fail "other weights after a stop"

# Quarters of the training are evaluated, with a perplexity that is exp of the loss.
python3 - "$work/one/metrics.jsonl" <<'PYTHON' || fail "metrics of a language model"
import json, math, sys
lines = [json.loads(l) for l in open(sys.argv[1])]
assert len(lines) == 4, len(lines)
for l in lines:
    assert abs(l["test_perplexity"] - math.exp(l["test_loss"])) < 1e-9 * l["test_perplexity"], l
assert lines[-1]["test_loss"] < min(lines[0]["test_loss"], math.log(512)), lines
PYTHON

run eval "$work/one" --json
expect_code 0
python3 - "$work/out" "$work/one/metrics.jsonl" <<'PYTHON' || fail "eval differs from the last evaluation"
import json, sys
measured = json.load(open(sys.argv[1]))
last = json.loads(open(sys.argv[2]).read().splitlines()[-1])
assert abs(measured["loss"] - last["test_loss"]) < 1e-6, (measured["loss"], last["test_loss"])
assert sum(p["tokens"] for p in measured["positions"]) == measured["tokens"]
PYTHON
printf 'once upon a time there was a cat.\n<|endoftext|>\nthe end.\n' >"$work/text.txt"
run eval "$work/one" --text "$work/text.txt"
expect_code 0
expect_out "2 stories"
: >"$work/empty.txt"
run eval "$work/one" --text "$work/empty.txt"
expect_code 3

run spectrum "$work/one" --token happy --layer 1 --no-figures
expect_code 0
expect_out "calibrated"
cp "$work/one/spectra.safetensors" "$work/first"
run spectrum "$work/one" --token happy --layer 1 --no-figures --threads 1
cmp -s "$work/first" "$work/one/spectra.safetensors" || fail "other spectra with one thread"
run spectrum "$work/one" --direction "happy - sad" --json --no-figures
expect_code 0
python3 - "$work/out" <<'PYTHON' || fail "JSON of a token's spectrum"
import json, sys
j = json.load(open(sys.argv[1]))
values = j["units"][0]["eigenvalues"]
assert len(values) == 32 and values == sorted(values, reverse=True)
assert j["units"][0]["vectors"][0]["along"][0]["cosine"] > 0
assert j["fidelity"]["calibrated"]["r2"] >= j["fidelity"]["weights"]["r2"]
PYTHON
run spectrum "$work/one" --scan
expect_code 0
[ "$(wc -l <"$work/one/scan-layer-2.csv")" -eq 513 ] || fail "the scan has not a line for every token"

refused "--token WORD" spectrum "$work/one"
refused "is not one piece" spectrum "$work/one" --token xylophones
refused "cannot read the direction" spectrum "$work/one" --direction "happy sad"
refused "from 1 to 2" spectrum "$work/one" --token happy --layer 3
refused "is for images" train tales --noise-std 1 --out "$work/x"
refused "is for stories" train quick --heads 2 --out "$work/x"

# What does not fit together is refused.
cp -r "$work/one" "$work/damaged"
head -c 1000 "$work/one/tokenizer.model" >"$work/damaged/tokenizer.model"
run eval "$work/damaged"
expect_code 3
finish
