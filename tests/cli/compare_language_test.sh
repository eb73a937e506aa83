#!/usr/bin/env bash
# glint compare and glint page for language models: glint's own and those of other programs, one or two of them.
set -uo pipefail
glint=$1
export GLINT_RECIPES=$2/recipes
source "$2/tests/cli/check.sh"
families=$2/tests/golden/families
tiny=$families/tiny/tiny.bin
cd "$work" || exit 1

run tokenize --tales 200 --vocab 512 --no-byte-fallback --out stories --quiet
expect_code 0
for seed in 0 1; do
  run train tales --data stories --layers 2 --d-model 32 --d-hidden 24 --heads 2 --context 32 --batch 64 --epochs 2 --lr 3e-3 --seed $seed --out run-$seed --quiet
  expect_code 0
done
run train tales --data stories --layers 2 --d-model 16 --d-hidden 24 --heads 2 --context 32 --batch 64 --epochs 1 --out narrow --quiet
expect_code 0

# A model with itself is itself, in both spaces and as a function; another seed is not.
for space in tokens input; do
  run compare run-0 run-0 --token happy,sad --layer 1 --space $space --show 3 --json --no-figures
  expect_code 0
  expect_json "j['space'] == '$space' and [t['name'] for t in j['tokens']] == ['·happy', '·sad']"
  expect_json "all(abs(r['mean'] - 1) < 1e-9 for m in j['by_rank']['both'].values() for r in m)"
  expect_json "abs(j['functional']['pairs'][0]['all'] - 1) < 1e-9 and j['pairs'][0]['a']['layer'] == 1"
  expect_json "j['control']['kind'] == 'random' and j['control']['by_rank']['both']['rank_matched'][0]['mean'] < 0.9"
  expect_json "0 < j['pairs'][0]['a']['r2'] <= 1 and 'linear' in j['pairs'][0]['a']['controls']"
done
run compare run-0 run-1 --token happy,sad --layer 1 --show 3 --json --no-figures
expect_code 0
expect_json "j['by_rank']['both']['rank_matched'][0]['mean'] < 0.999 and abs(j['functional']['pairs'][0]['all']) < 0.999"
cp out one
run compare run-0 run-1 --token happy,sad --layer 1 --show 3 --json --no-figures --threads 2
cmp -s out one || fail "a comparison depends on the number of threads"
run compare run-0 run-1 --show 3
expect_code 0
for part in "tokens that both vocabularies have" "untrained R2" "linear map R2" "all tokens" "random orthonormal"; do expect_out "$part"; done
COLUMNS=80 "$glint" compare run-0 run-1 --show 3 --no-figures >narrow.txt 2>/dev/null
awk 'length($0) > 80' narrow.txt | grep -q . && fail "wider than 80 columns: $(awk 'length($0) > 80' narrow.txt)"
[ -f run-0/figures/compare.svg ] || fail "no figure"

# Models of any width, in the space of tokens; not at their input.
run compare run-0 narrow --token happy --show 3 --json --no-figures
expect_code 0
refused "different width, 32 and 16" compare run-0 narrow --token happy --space input
refused "no pixels" compare run-0 run-1 --space pixels
refused "is for image models" compare run-0 run-1 --unit 3
refused "not one piece" compare run-0 run-1 --token happy,xyzzy

# Another program's, with itself through another format.
run export "$tiny" --hf tiny-hf --quiet
expect_code 0
run compare "$tiny" tiny-hf --token cat,dog --show 2 --json --no-figures
expect_code 0
expect_json "all(r['mean'] > 1 - 1e-5 for r in j['by_rank']['both']['rank_matched'])"
refused "has no token" compare run-0 "$tiny" --token happy --show 2

# The page of readings: layers, tokens, passages, and what was left out.
for i in $(seq 60); do printf 'the cat sat a dog<|endoftext|>so the dog sat<|endoftext|>'; done >text.txt
run page "$tiny" --layers 1,2 --token cat,dog --text text.txt --out tiny.html --json
expect_code 0
expect_json "j['bytes'] < 10e6 and [l['layer'] for f in j['runs'][0]['forms'].values() for l in f] == [1, 2]"
grep -q 'Left out: the other layers and tokens' tiny.html || fail "the page does not say what was left out"
run page "$tiny" --text text.txt
expect_code 0
[ -f tiny-reading/explorer.html ] || fail "no page: $(ls)"
run page run-0 run-1 --out two.html --token happy,sad
expect_code 0
run page run-0 --out live.html
expect_code 0
grep -q '"kind":"readings"' live.html && fail "a run by itself is packed in whole"
refused "no layer 3" page "$tiny" --layers 3 --text text.txt --out none.html
refused "at most" page "$tiny" --layers 1 --token cat --text text.txt --out none.html --limit 100000
[ ! -e none.html ] || fail "a refused page was written"
finish
