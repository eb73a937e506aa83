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
while kill -0 $pid 2>/dev/null; do
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
happy=$work/one/spectra-_happy-scaled-layer-1.safetensors
cp "$happy" "$work/first"
run spectrum "$work/one" --token happy --layer 1 --no-figures --threads 1
cmp -s "$work/first" "$happy" || fail "other spectra with one thread"
# Another direction, another form: files of their own.
run spectrum "$work/one" --direction "happy - sad" --layer 1
expect_code 0
run spectrum "$work/one" --token happy --layer 1 --form weights
expect_code 0
cmp -s "$work/first" "$happy" || fail "'happy - sad' overwrote 'happy'"
for name in spectra-_happy-minus-_sad-scaled-layer-1 spectra-_happy-weights-layer-1; do
  [ -s "$work/one/$name.safetensors" ] || fail "no $name: $(ls "$work/one")"
  [ -s "$work/one/figures/${name/spectra/spectrum}.svg" ] || fail "no figure of $name: $(ls "$work/one/figures")"
done
run spectrum "$work/one" --direction "happy - sad" --json --no-figures
expect_code 0
python3 - "$work/out" <<'PYTHON' || fail "JSON of a token's spectrum"
import json, sys
j = json.load(open(sys.argv[1]))
values = j["units"][0]["eigenvalues"]
assert len(values) == 32 and values == sorted(values, reverse=True)
assert j["units"][0]["vectors"][0]["along"][0]["cosine"] > 0
assert j["fidelity"]["calibrated"]["r2"] >= j["fidelity"]["weights"]["r2"]
assert j["form"] == "scaled" and j["fidelity"]["scaled"]["r2"] == j["fidelity"]["scaled"]["eigenvectors_r2"]
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

# Text that is not tokenized yet: the answer has the two commands, for every recipe that needs a corpus.
export XDG_DATA_HOME=$work/home
unset GLINT_DATA
checked=0
for recipe in "$2"/recipes/*.toml; do
  grep -q '^heads' "$recipe" || continue
  grep -q '^data = "tales"' "$recipe" && continue
  name=$(basename "$recipe" .toml)
  refused "glint tokenize TRAIN.txt --valid VALID.txt --out corpus && glint train $name --data corpus" train "$name" --out "$work/x"
  expect_err "scripts/fetch-data tinystories"
  checked=$((checked + 1))
done
[ "$checked" -ge 2 ] || fail "only $checked recipes for a corpus"
mkdir -p "$work/sets/tinystories"
for part in train valid; do cp "$work/text.txt" "$work/sets/tinystories/TinyStories-$part.txt"; done
at=$work/sets/tinystories/TinyStories
refused "glint tokenize $at-train.txt --valid $at-valid.txt --out corpus && glint train tinystories-small --data corpus" \
  train tinystories-small --data-dir "$work/sets" --out "$work/x"
for name in text.txt text.txt.gz text.txt.xz; do
  [ -e "$work/$name" ] || cp "$work/text.txt" "$work/$name"
  refused "glint tokenize $work/$name --out corpus && glint train tinystories-small --data corpus" train --data "$work/$name" --out "$work/x"
done
run train --data "$work/none.txt" --out "$work/x"
expect_code 3
expect_err "no such file"
refused "glint tokenize TEXT --out stories" train tinystories-small --data stories --out "$work/x"
refused "did you mean tales?" train --data talez --out "$work/x"

# Keys of a recipe for the other kind of data are refused with their names and the line.
refused "heads, context, micro-batch are for stories, but glyphs holds images" train tinystories-small --data glyphs --out "$work/x"
expect_err "tinystories-small.toml, line "
expect_err "the recipe quick"
run tokenize --tales 120 --vocab 300 --out "$work/corpus" --quiet
expect_code 0
refused "noise-std, noise-prob are for images" train mnist-4.1 --data "$work/corpus" --out "$work/x"
expect_err "mnist-4.1.toml, line "
expect_err "the recipe tinystories-small"
[ ! -e "$work/x" ] || fail "a refused training left something behind"
refused "from 2 to 16384" train tales --context 1 --out "$work/x"
refused "from 2 to 16384" train tales --context 16385 --out "$work/x"

# What does not fit together is refused.
cp -r "$work/one" "$work/damaged"
head -c 1000 "$work/one/tokenizer.model" >"$work/damaged/tokenizer.model"
run eval "$work/damaged"
expect_code 3
finish
