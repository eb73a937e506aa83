#!/usr/bin/env bash
# One flipped bit at many places of every file that the verbs read: it is named with exit code 3, or the result is the one
# of the whole run (weights have a copy in the checkpoints) and nothing is written.
set -uo pipefail
glint=$1
source "$2/tests/cli/check.sh"
source "$2/tests/cli/train_runs.sh"
export GLINT_RECIPES=$2/recipes
cd "$work" || exit 1
idx_set data

# flip FILE PLACE: one bit at PLACE hundredths of the file; the bit depends on the place.
flip() {
  python3 - "$1" "$2" <<'PYTHON'
import sys
path, place = sys.argv[1], int(sys.argv[2])
data = bytearray(open(path, "rb").read())
data[(len(data) - 1) * place // 100] ^= 1 << (place * 3 % 8)
open(path, "wb").write(data)
PYTHON
}
places="0 3 11 24 37 50 63 76 89 97 100"
listing() { (cd "$1" && find . -type f ! -name .lock -print0 | sort -z | xargs -0 sha256sum); }

# named FILE VERB...: every flip in run/FILE is named; the verb gets the damaged run as its argument.
named() {
  local file=$1 place
  shift
  for place in $places; do
    rm -rf bad && cp -r run bad && flip "bad/$file" "$place"
    listing bad >before
    run "$@"
    command_line="$command_line, $file flipped at $place %"
    expect_code 3
    expect_no_out
    expect_err "bad/$file"
    listing bad >after
    cmp -s before after || fail "$command_line: files were changed: $(diff before after)"
  done
}

run train --data data --d-model 12 --batch 32 --epochs 2 --out run --quiet
expect_code 0
run spectrum run --no-figures --quiet
expect_code 0
run explain run --index 3 --out figures --json
expect_code 0
named run.json eval bad
named config.json eval bad
named calibration.safetensors explain bad --index 3 --out figures
named spectra.safetensors export bad --npy arrays
named metrics.jsonl page bad --out page.html
[ ! -e arrays ] && [ ! -e page.html ] || fail "a refused verb left its output"

# The weights have a copy.
run eval run --json
cp "$work/out" good
for place in $places; do
  rm -rf bad && cp -r run bad && flip bad/model.safetensors "$place"
  listing bad >before
  run eval bad --json
  command_line="$command_line, weights flipped at $place %"
  expect_code 0
  expect_err "bad/model.safetensors is damaged"
  expect_err "checkpoints/step-"
  cmp -s <(sed 's/"run": "bad"/"run": "run"/' "$work/out") good || fail "$command_line: another result"
  listing bad >after
  cmp -s before after || fail "$command_line: files were changed"
done
for place in $places; do
  rm -rf bad && cp -r run bad && flip bad/model.safetensors "$place" && rm -r bad/checkpoints
  run eval bad
  expect_code 3
  expect_no_out
  expect_err "bad/model.safetensors"
done
# A checkpoint that is damaged, too, is no copy.
rm -rf bad && cp -r run bad && flip bad/model.safetensors 50
for file in bad/checkpoints/*; do flip "$file" 60; done
run eval bad
expect_code 3
expect_err "bad/model.safetensors"

# train repairs: then every file is as it was, and the readers say nothing.
for file in run.json config.json model.safetensors calibration.safetensors spectra.safetensors; do
  rm -rf bad && cp -r run bad && flip "bad/$file" 50
  run train --data data --d-model 12 --batch 32 --epochs 2 --out bad
  expect_code 0
  expect_err "bad/$file is damaged"
  same_run run bad
  run eval bad --json
  expect_code 0
  [ ! -s "$work/err" ] || fail "eval after the repair of $file: $(cat "$work/err")"
  cmp -s <(sed 's/"run": "bad"/"run": "run"/' "$work/out") good || fail "another result after the repair of $file"
done

# A resumed run whose metrics are lost.
rm -rf bad && cp -r run bad && rm bad/metrics.jsonl
run train --data data --d-model 12 --batch 32 --epochs 2 --out bad
expect_code 0
expect_err "metrics.jsonl has no line of the last step"
if grep -q " 0\.0000" "$work/out"; then fail "a false result: $(cat "$work/out")"; fi

# Circles of links, permissions.
for file in run.json config.json model.safetensors metrics.jsonl calibration.safetensors; do
  rm -rf bad && cp -r run bad && rm "bad/$file" && ln -s "$file" "bad/$file"
  run page bad --out page.html
  expect_code 3
  expect_err "bad/$file"
  if grep -q "unexpected failure" "$work/err"; then fail "$file in a circle: $(cat "$work/err")"; fi
done
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
  chmod 755 "$work" && rm -rf bad && cp -r run bad && chmod 000 bad/config.json
  code=0
  setpriv --reuid 65534 --regid 65534 --clear-groups "$glint" eval bad >"$work/out" 2>"$work/err" || code=$?
  command_line="glint eval of a file that may not be read"
  expect_code 1
  expect_err "Permission denied"
fi

# The tokenizer of a language model.
rm -rf run
run train tales --d-model 16 --layers 1 --heads 2 --batch 64 --epochs 1 --out run --quiet
expect_code 0
named tokenizer.model generate bad --prompt "once"
rm -rf bad && cp -r run bad && flip bad/tokenizer.model 40
run train tales --d-model 16 --layers 1 --heads 2 --batch 64 --epochs 1 --out bad
expect_code 0
expect_err "bad/tokenizer.model is damaged"
cmp -s run/tokenizer.model bad/tokenizer.model || fail "the tokenizer was not put right"
finish
