# glint readability: the same numbers at any number of threads, seeds found by themselves, language models, clear errors.
glint=$1
source "$2/tests/cli/check.sh"
cd "$2" || exit 1 # the recipes are there

run train quick --epochs 2 --d-model 64 --seeds 0..2 --quiet --out "$work/sqs"
expect_code 0
run train quick --epochs 2 --d-model 64 --gate identity --quiet --out "$work/bilinear"
expect_code 0
for threads in 1 2; do
  run readability "$work/sqs" "$work/bilinear" --json --threads $threads
  expect_code 0
  cp "$work/out" "$work/json-$threads"
done
cmp -s "$work/json-1" "$work/json-2" || fail "the numbers depend on the number of threads"
expect_json "len(j['runs']) == 4 and j['groups'] == [[0, 1, 2]]"
expect_json "all(r['pictures'] == 30 and 1 < r['distinct_pictures'] < 30 and 0.5 < r['auc'] <= 1 for r in j['runs'])"
expect_json "all(0 < r['stability_seeds'] < 1 and r['other_seeds'] == 2 and 0.5 < r['stability_halves'] <= 1 for r in j['runs'][:3])"
# A bilinear model is what its reading says, and nothing is fitted; there is no other seed of it.
expect_json "abs(j['runs'][3]['ablation_r'] - 1) < 1e-3 and abs(j['runs'][3]['ablation_slope'] - 1) < 2e-2"
expect_json "j['runs'][3]['stability_halves'] is None and j['runs'][3]['stability_seeds'] is None"
expect_json "all(len(r['directions']) == 10 and 'auc' in r['directions'][0] for r in j['runs'])"

run readability "$work/sqs" "$work/bilinear" --form weights
expect_code 0
for part in "sqs/seed-1" "bilinear" "pictures" "AUC" "mean ± sd over n seeds" "More is better"; do expect_out "$part"; done
COLUMNS=80 "$glint" readability "$work/sqs" >"$work/out" 2>&1
[ "$(LC_ALL=C.UTF-8 wc -L <"$work/out")" -le 80 ] || fail "wider than 80 columns: $(cat "$work/out")"

run tokenize --tales 300 --vocab 512 --no-byte-fallback --out "$work/stories" --quiet
run train tales --data "$work/stories" --layers 2 --d-model 32 --d-hidden 24 --heads 2 --context 32 --batch 64 --epochs 2 --lr 3e-3 \
  --seeds 0..1 --out "$work/text" --quiet
expect_code 0
run readability "$work/text" --layer 1 --json
expect_code 0
expect_json "len(j['runs']) == 2 and all(r['auc'] is None and r['distinct_pictures'] is None and len(r['directions']) == 12 for r in j['runs'])"
expect_json "all(0 < r['ablation_r'] <= 1 and 0 < r['stability_seeds'] < 1 and 0 < r['stability_halves'] <= 1 for r in j['runs'])"
run readability "$work/text" --token happy
expect_code 0
expect_out "no classes and no pictures"

refused "RUN" readability
refused "--form" readability "$work/sqs" --form local
refused "is for language models" readability "$work/bilinear" --direction 3-5
run readability "$work/nowhere"
expect_code 3
expect_err "no such run directory"
finish
