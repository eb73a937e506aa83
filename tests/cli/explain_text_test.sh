#!/usr/bin/env bash
# Language models: why this next token, with parts that add up to the logit, and the passages in which eigenvectors are
# strongest; for runs of glint and a model of another program.
set -uo pipefail
glint=$1
export GLINT_RECIPES=$2/recipes
source "$(dirname "$0")/check.sh"
foreign=$2/tests/golden/families/tiny/tiny.bin
cd "$work" || exit 1

run train tales --layers 2 --d-model 32 --d-hidden 24 --heads 2 --context 48 --epochs 1 --out run --quiet
expect_code 0

# The parts are the logit, the numbers of a layer its share, the terms their eigenvectors. Three texts, both models.
sums="
p = j['parts']
total = p['embedding'] + sum(p['attention']) + sum(p['glu']) + p['constant']
layers = j['layers']"
json_setup=$sums
words=(happy sad)
for model in run "$foreign"; do
  [ "$model" = run ] || words=(cat dog)
  for form in auto weights scaled calibrated local; do
    run explain "$model" --prompt "the cat sat" --layer all --form $form --json --no-figures
    expect_code 0
    expect_json "j['schema'] == 'glint-explain-token/1' and abs(total - p['logit']) < 1e-4 and abs(p['sum'] - total) < 1e-9"
    expect_json "len(layers) == 2 and all(abs(l['eigenvectors'] + l['linear'] + l['constant'] + l['rest'] - l['share']) < 1e-9 for l in layers)"
    expect_json "all(abs(l['share'] - p['glu'][l['layer'] - 1]) < 1e-9 for l in layers)"
    expect_json "all(abs(t['contribution'] - l['scale'] * t['eigenvalue'] * t['projection'] ** 2) < 1e-9 * (1 + abs(t['contribution'])) for l in layers for t in l['terms'])"
    [ $form != local ] || expect_json "all(abs(l['rest']) < 1e-4 for l in layers)"
    expect_json "j['token']['place'] == 1 and j['against'] is None"
  done
  run explain "$model" --prompt "the cat sat" --token "${words[0]}" --against "${words[1]}" --position 1 --json --no-figures
  expect_code 0
  expect_json "abs(total - (j['token']['logit'] - j['against']['logit'])) < 1e-4 and j['position'] == 1 and len(layers) == 1"
done
run explain run --prompt "once upon a time"
expect_code 0
for words in "after: token" "model: expects" "attention" "the same but for rounding" "Direct path" "rest: what the form leaves out" "R2" "linear map"; do expect_out "$words"; done
[ "$(ls run/figures/explain-*.svg | wc -l)" -eq 1 ] || fail "no figure of the explanation"

refused "nothing to explain: a language model needs --prompt" explain run
refused "is for image models" explain run --index 3
refused "--prompt" explain run --text "once upon a" # a file is wanted there
refused "is not one piece" explain run --prompt "once" --token zyzzyva
refused "no token 99" explain run --prompt "once" --position 99
refused "no layer 3" explain run --prompt "once" --layer 3

# Passages: each with its tokens, the strongest among them, and a page. With marks where there are no colours.
json_setup="
responses = [r for u in j['units'] for r in u.get('responses', [])]
passages = [(r, p) for r in responses for p in r['passages']]"
for model in run "$foreign"; do
  words=(happy)
  [ "$model" = run ] || words=(cat)
  run spectrum "$model" --token "${words[0]}" --layer 1 --show 2 --passages 3 --out reading --json
  expect_code 0
  expect_json "len(responses) >= 2 and all(r['passages'] for r in responses)"
  expect_json "all(abs(p['value'] - r['value'] * p['tokens'][p['strongest']]['shown'] ** 2) < 1e-9 * (1 + abs(p['value'])) for r, p in passages)"
  expect_json "all(abs(p['value']) >= abs(q['value']) for r in responses for p, q in zip(r['passages'], r['passages'][1:]))"
  expect_json "all(max(abs(t['strength']) for t in p['tokens']) <= 1 and ''.join(t['text'] for t in p['tokens']) == p['text'] for r, p in passages)"
  expect_json "j['passages']['text']['tokens'] > 100"
done
page=$(ls reading/figures/passages-*.html | head -1)
[ -s "$page" ] || fail "no page of passages"
grep -q "Content-Security-Policy" "$page" && ! grep -qE "(src|href)=\"?http" "$page" || fail "the page needs the network"
run spectrum run --token happy --layer 1 --show 1 --passages 1 --no-figures --out reading
expect_code 0
expect_out "times the mean"
grep -qE '\[[^]]+\]' "$work/out" || fail "no word is marked: $(cat "$work/out")"
grep -q $'\x1b' "$work/out" && fail "colours without a terminal"
printf 'the happy cat<|endoftext|>a sad dog sat' >text.txt
run spectrum run --hidden 3 --layer 1 --passages 2 --text text.txt --no-figures --out reading --json
expect_code 0
expect_json "j['passages']['text']['stories'] == 2 and [r['name'] for r in responses[-2:]] == ['hidden unit 3, above 0', 'hidden unit 3, below 0']"
expect_json "all(p['value'] > 0 for p in responses[-2]['passages']) and all(p['value'] < 0 for p in responses[-1]['passages'])"

# The same bytes with any number of threads.
for threads in 1 3; do
  run spectrum run --token happy --layer 2 --passages 2 --no-figures --out reading --json --threads $threads
  cp "$work/out" "spectrum.$threads"
  run explain run --prompt "once upon a time" --no-figures --json --threads $threads
  cp "$work/out" "explain.$threads"
done
cmp spectrum.1 spectrum.3 || fail "passages depend on the number of threads"
cmp explain.1 explain.3 || fail "explanations depend on the number of threads"

finish
