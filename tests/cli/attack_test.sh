# glint attack: strength 0 changes nothing, the masks do more than their controls, clear errors.
glint=$1
source "$2/tests/cli/check.sh"
cd "$2" || exit 1 # the recipes are there

run train quick --epochs 3 --quiet --out "$work/run"
expect_code 0
for threads in 1 2; do
  run attack "$work/run" --json --threads $threads --images 300 --strengths 0,2,6 --out "$work/figs-$threads"
  expect_code 0
  cp "$work/out" "$work/json-$threads"
done
sed -i "s/figs-1/figs-2/" "$work/json-1"
cmp -s "$work/json-1" "$work/json-2" || fail "the numbers depend on the number of threads"
cmp -s "$work/figs-1/figures/attack-masks.svg" "$work/figs-2/figures/attack-masks.svg" || fail "the masks depend on the threads"
expect_json "len(j['classes']) == 10 and j['strengths'] == [0, 2, 6]"
expect_json "all(p[0]['success'] == 0 for goal in j['all'].values() for p in goal.values())"
expect_json "len({p[0]['accuracy'] for p in j['all']['away'].values()}) == 1"
# What it is for: the eigenvectors do much more than noise of the same length.
expect_json "j['all']['away']['eigen'][2]['success'] > j['all']['away']['random'][2]['success'] + 0.2"
expect_json "j['all']['away']['eigen'][2]['success'] > j['all']['away']['shuffled'][2]['success'] + 0.2"
expect_json "j['all']['towards']['eigen'][2]['success'] > j['all']['towards']['random'][2]['success'] + 0.1"
expect_json "0 < j['controls']['linear']['agreement'] <= 1 and list(j['controls']['untrained']) == [j['form']]"
for f in attack-curve attack-masks attack-examples; do
  for ending in svg csv; do [ -s "$work/figs-1/figures/$f.$ending" ] || fail "no $f.$ending"; done
done

# The accuracy without a mask is that of eval.
run eval "$work/run" --json
python3 -c "
import json, sys
e, a = json.load(open(sys.argv[1])), json.load(open(sys.argv[2]))
assert all(abs(c['away']['eigen'][0]['accuracy'] - e['classes'][c['class']]['recall']) < 1e-9 for c in a['classes'])
" "$work/out" "$work/json-2" || fail "the accuracy without a mask is not that of eval"

run attack "$work/run" --unit 3,7 --show 1 --strengths 4 --draw ascii --no-figures --form weights
expect_code 0
for part in "of an image" "shuffled" "random" "with the mask" "fidelity:" "controls: the best linear map" "untrained model" "mirror images"; do expect_out "$part"; done

# Deeper models, with biases, a residual and a norm.
run train quick --epochs 3 --layers 2 --bias --d-model 48 --gate identity --quiet --out "$work/deep"
run attack "$work/deep" --json --images 200 --strengths 6 --no-figures
expect_code 0
expect_json "j['all']['away']['eigen'][0]['success'] > j['all']['away']['random'][0]['success'] + 0.1"
run train quick --epochs 1 --layers 2 --residual --norm rms --d-model 24 --quiet --out "$work/norm"
run attack "$work/norm" --json --images 50 --strengths 0,6 --no-figures --unit 1
expect_code 0

refused "--strengths" attack "$work/run" --strengths 1,-2
refused "--unit" attack "$work/run" --unit 10
refused "--form" attack "$work/run" --form local
run attack "$work"
expect_code 3
finish
