#!/usr/bin/env bash
# The page of readings of language models in a real browser: one model of another program with a sentence, and two runs side by side. Skipped
# where there is no node, no Chromium or no playwright-core.
source "$2/tests/web/browser.sh"

mkdir "$work/pages"
tiny=$2/tests/golden/families/tiny/tiny.bin
for i in $(seq 60); do printf 'the cat sat a dog<|endoftext|>so the dog sat<|endoftext|>'; done >"$work/text.txt"
run page "$tiny" --layers 1,2 --token cat,dog --text "$work/text.txt" --sentence "the cat" --out "$work/pages/one.html" --quiet
expect_code 0
refused "sentence" page "$tiny" --sentence ""
run explain "$tiny" --prompt "the cat" --text "$work/text.txt" --layer all --json --no-figures
expect_code 0
cp "$work/out" "$work/pages/sentence.json"
run spectrum "$tiny" --layer 2 --token dog --text "$work/text.txt" --json --no-figures --out "$work/spectrum"
expect_code 0
cp "$work/out" "$work/pages/one.json"
run tokenize --tales 400 --vocab 1024 --no-byte-fallback --out "$work/corpus" --quiet
expect_code 0
for seed in 0 1; do
  run train tales --data "$work/corpus" --epochs 1 --layers 2 --d-model 32 --seed $seed --out "$work/run-$seed" --quiet
  expect_code 0
done
run page "$work/run-0" "$work/run-1" --token happy,sad --out "$work/pages/two.html" --quiet
expect_code 0
[ "$failures" -eq 0 ] || finish

node "$web/readings_test.mjs" "$work/pages"
code=$?
[ "$code" -eq 77 ] && exit 77
[ "$code" -eq 0 ] || fail "the page fails in the browser"
finish
