# glint compare: similarity 1 of a run with itself, pairs by seed, the control that is named, clear errors.
glint=$1
source "$2/tests/cli/check.sh"
source "$2/tests/cli/train_runs.sh"
cd "$2" || exit 1 # the recipes are there

json_setup="both = j['by_rank']['both']"

quick="quick --epochs 1 --quiet"
# shellcheck disable=SC2086
for gate in sqs identity; do
  run train $quick --d-model 24 --gate $gate --seeds 0..2 --out "$work/$gate"
  expect_code 0
done
# shellcheck disable=SC2086
run train $quick --gate identity --seed 5 --d-model 32 --layers 2 --out "$work/wide"
expect_code 0

# The same run twice is like itself in every measure; the control is random and says so.
run compare "$work/sqs/seed-0" "$work/sqs/seed-0" --json --show 4 --out "$work/figs"
expect_code 0
expect_json "all(abs(r['min'] - 1) < 1e-9 for m in both.values() for r in m)"
expect_json "len(both['subspace']) == 4 and j['control']['kind'] == 'random'"
expect_json "abs(j['functional']['pairs'][0]['all'] - 1) < 1e-9 and j['functional']['control'] == []"
expect_json "j['control']['by_rank']['both']['rank_matched'][0]['mean'] < 0.9"
expect_err "the control is random"

# Seed by seed: three pairs, and the bilinear runs among each other as control.
for threads in 1 2; do
  run compare "$work/sqs" "$work/identity" --json --show 5 --threads $threads --out "$work/figs-$threads"
  expect_code 0
  cp "$work/out" "$work/json-$threads"
done
sed -i "s/figs-1/figs-2/" "$work/json-1"
cmp -s "$work/json-1" "$work/json-2" || fail "the numbers depend on the number of threads"
cmp -s "$work/figs-1/figures/compare.svg" "$work/figs-2/figures/compare.svg" || fail "the figure depends on the threads"
expect_json "[(p['a']['seed'], p['b']['seed']) for p in j['pairs']] == [(0, 0), (1, 1), (2, 2)]"
expect_json "j['control']['kind'] == 'runs' and j['control']['pairs'] == 3"
expect_json "len(j['functional']['pairs']) == len(j['functional']['control']) == 3 and len(j['functional']['pairs'][0]['classes']) == 10"
expect_json "all(abs(f['all']) < 1 for side in ('pairs', 'control') for f in j['functional'][side])"
expect_json "both['rank_matched'][0]['n'] == 3 * 10 * 2 and len(j['classes']) == 10"
expect_json "all(b['mean'] + 1e-12 >= 0 and b['min'] <= b['mean'] + 1e-12 for m in both.values() for b in m)"
# The matching that is best in sum is no worse than rank by rank; a line's first subspace is the vector.
expect_json "all(sum(x['mean'] for x in p['by_rank']['both']['best_matched']) >= sum(x['mean'] for x in p['by_rank']['both']['rank_matched']) - 1e-9 for p in j['pairs'])"
expect_json "abs(both['subspace'][0]['mean'] - both['rank_matched'][0]['mean']) < 1e-9"
# A bilinear model's form is the model.
expect_json "all(abs(p['b']['agreement'] - 1) < 1e-3 and p['b']['r2'] > 0.999999 for p in j['pairs'])"
# Controls stand beside every fidelity; an untrained model is the same for all seeds.
expect_json "all(0 < m['controls']['linear']['agreement'] < 1 and list(m['controls']['untrained']) == ['weights'] for p in j['pairs'] for m in (p['a'], p['b']))"
expect_json "len({p['a']['controls']['untrained']['weights']['r2'] for p in j['pairs']}) == 1 and len({p['a']['controls']['linear']['r2'] for p in j['pairs']}) == 3"
for f in compare.svg compare.csv compare-matrix.svg compare-matrix.csv; do
  [ -s "$work/figs-1/figures/$f" ] || fail "no $f"
done

run compare "$work/sqs" "$work/identity" --form calibrated --pairs --unit 3..4 --no-figures
expect_code 0
for part in "3 pairs of bilinear runs with different seeds" "3 pairs of the same seed: 0 1 2" "never below .5" \
  "rank-matched" "top-k subspace" "as functions" "2 classes" "sqs/seed-1"; do expect_out "$part"; done

# auto is the form that each run is read through; --refine improves the scaled one.
run compare "$work/sqs/seed-0" "$work/identity/seed-0" --form auto --json --no-figures
expect_code 0
expect_json "j['form'] == 'scaled' and j['pairs'][0]['a']['form'] == 'scaled' and list(j['pairs'][0]['a']['controls']['untrained']) == ['scaled']"
expect_json "all(j['pairs'][0][s]['mirrored']['agreement'] == j['pairs'][0][s]['agreement'] for s in 'ab')"
cp "$work/out" "$work/plain"
run compare "$work/sqs/seed-0" "$work/identity/seed-0" --form auto --refine --json --no-figures
expect_code 0
python3 -c "
import json, sys
p, r = (json.load(open(f))['pairs'][0] for f in sys.argv[1:])
assert r['a']['r2'] != p['a']['r2'] and r['b']['r2'] == p['b']['r2'], 'SQS alone is refined'
" "$work/plain" "$work/out" || fail "--refine does not do what it says"
run compare "$work/sqs/seed-0" "$work/identity/seed-0" --form auto --refine --no-figures
for part in "form scaled (refined)" "linear map" "untrained" "on -x"; do expect_out "$part"; done
refused "nothing to refine" compare "$work/sqs/seed-0" "$work/identity/seed-0" --refine

# Consecutive pairs, a control by hand, and models of any width and depth as pictures.
run compare "$work/sqs/seed-0" "$work/identity/seed-1" "$work/sqs/seed-1" "$work/identity/seed-0" --json --no-figures \
  --control "$work/identity/seed-0,$work/identity/seed-2"
expect_code 0
expect_json "len(j['pairs']) == 2 and j['control']['pairs'] == 1 and 'figures' not in j"
run compare "$work/wide" "$work/sqs/seed-0" --json --no-figures --show 3
expect_code 0
run compare "$work/wide" "$work/sqs/seed-0" --space input
expect_code 2
expect_err "--space pixels"

# What cannot be compared.
refused "no runs are given" compare
refused "only one run" compare "$work/sqs/seed-0"
refused "odd number" compare "$work/sqs/seed-0" "$work/sqs/seed-1" "$work/sqs/seed-2"
refused "cannot be paired" compare "$work/sqs" "$work/identity/seed-0"
refused "--unit" compare "$work/sqs" "$work/identity" --unit 11
refused "a control needs two runs" compare "$work/sqs" "$work/identity" --control "$work/wide"
run compare "$work/nowhere" "$work/sqs/seed-0"
expect_code 3
expect_err "no such run directory"
idx_set "$work/data"
# shellcheck disable=SC2086
run train $quick --d-model 24 --data "$work/data" --batch 32 --out "$work/small"
expect_code 0
refused "different size" compare "$work/sqs/seed-0" "$work/small"

# A weight beyond all sense.
cp -r "$work/sqs/seed-0" "$work/nan"
printf '\xff\xff\xff\x7f' | dd of="$work/nan/model.safetensors" bs=1 seek=4096 conv=notrunc 2>/dev/null
rm -r "$work/nan/checkpoints" && python3 "$2/tests/cli/reseal.py" "$work/nan" # no copy, and no damage
run compare "$work/nan" "$work/sqs/seed-0"
expect_code 4
expect_no_out
expect_err "a weight is no number"
finish
