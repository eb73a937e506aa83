# glint ablate: the same numbers at any number of threads, a bilinear model does what its reading says, the saved run is
# the changed model, clear errors.
glint=$1
source "$2/tests/cli/check.sh"
cd "$2" || exit 1 # the recipes are there

run train quick --epochs 3 --quiet --out "$work/run"
expect_code 0
run train quick --epochs 2 --gate identity --norm rms --quiet --out "$work/bilinear"
expect_code 0

for threads in 1 2; do
  run ablate "$work/run" --json --threads $threads --remove 1..2
  expect_code 0
  cp "$work/out" "$work/json-$threads"
done
cmp -s "$work/json-1" "$work/json-2" || fail "the numbers depend on the number of threads"
expect_json "len(j['each']) == 10 and len(j['all']['removed']) == 20 and j['all']['dimensions'] == 20"
# Each class's own eigenvectors do more to it than to the others.
expect_json "sum(e['classes'][e['own_class']]['before']['accuracy'] - e['classes'][e['own_class']]['after']['accuracy'] for e in j['each']) > sum(j['before']['accuracy'] - e['after']['accuracy'] for e in j['each'])"
expect_json "all(0 < e['r'] <= 1 for e in j['each'])"

# A bilinear model, also behind a norm: the reading says exactly what happens.
run ablate "$work/bilinear" --form weights --json --unit 3,8
expect_code 0
expect_json "all(abs(e['r'] - 1) < 1e-6 and abs(e['slope'] - 1) < 1e-3 for e in j['each'] + [j['all']])"
expect_json "all(abs(c['r'] - 1) < 1e-6 for c in j['all']['classes'])"

run ablate "$work/run" --unit 3 --remove 1,4
expect_code 0
for part in "2 eigenvectors of 3: 2 dimensions of 128" "Before → after" "slope" "accuracy:"; do expect_out "$part"; done
run ablate "$work/run" --unit 3,4 --scale 0.5
expect_code 0
for part in "scaled by 0.5" "Each direction by itself" "All of them together"; do expect_out "$part"; done
COLUMNS=80 "$glint" ablate "$work/run" 2>&1 | grep -v '^run:' >"$work/out"
[ "$(LC_ALL=C.UTF-8 wc -L <"$work/out")" -le 80 ] || fail "wider than 80 columns: $(cat "$work/out")"

# The changed model as a run.
run ablate "$work/run" --unit 3 --remove 1..3 --save "$work/without" --json
expect_code 0
cp "$work/out" "$work/told"
run eval "$work/without" --json
expect_code 0
[ ! -s "$work/err" ] || fail "a saved run has something to say: $(cat "$work/err")"
python3 -c "
import json, sys
told, found = (json.load(open(f)) for f in sys.argv[1:3])
assert told['all']['after']['accuracy'] == found['accuracy'] and abs(told['all']['after']['loss'] - found['loss']) < 1e-6
made = json.load(open(sys.argv[3]))['identity']['ablations'][0]
assert made['of'] == 'run' and len(made['removed']) == 3 and made['layer'] == 1, made
" "$work/told" "$work/out" "$work/without/run.json" || fail "the saved run is not the changed model"
run spectrum "$work/without" --no-figures
expect_code 0
run page "$work/run" "$work/without" --out "$work/both.html"
expect_code 0
refused "other files" ablate "$work/run" --save "$work/without"
refused "$work/without" train quick --epochs 3 --out "$work/without"
# Damage is noticed, with the way out.
printf 'x' | dd of="$work/without/model.safetensors" bs=1 seek=4096 conv=notrunc 2>/dev/null
run eval "$work/without"
expect_code 3
expect_err "glint ablate"

# Deeper models, biases, a residual.
run train quick --epochs 1 --layers 2 --bias --d-model 24 --quiet --out "$work/deep"
run ablate "$work/deep" --layer 1 --via 2 --unit 0,1 --json
expect_code 0
expect_json "j['layer'] == 1 and all(c['r'] is None for c in j['all']['classes']) and all(-1 <= e['r'] <= 1 for e in j['each'])"
run train quick --epochs 1 --layers 2 --residual --norm rms --gate identity --d-model 24 --quiet --out "$work/residual"
run ablate "$work/residual" --form weights --unit 4 --json
expect_code 0
expect_json "abs(j['all']['r'] - 1) < 1e-6"

# A language model.
run tokenize --tales 300 --vocab 512 --no-byte-fallback --out "$work/stories" --quiet
run train tales --data "$work/stories" --layers 2 --d-model 32 --d-hidden 24 --heads 2 --context 32 --batch 64 --epochs 2 --lr 3e-3 \
  --out "$work/text" --quiet
expect_code 0
run ablate "$work/text" --token happy,sad --layer 1 --remove 1..2 --json --save "$work/text-without"
expect_code 0
expect_json "j['kind'] == 'language' and [c['name'] for c in j['all']['classes']] == ['·happy', '·sad']"
expect_json "j['all']['after']['loss'] != j['before']['loss'] and j['all']['classes'][0]['before']['accuracy'] is None"
run eval "$work/text-without"
expect_code 0
run ablate "$work/text" --token happy
expect_code 0
for part in "tokens" "where the token comes next" "·happy"; do expect_out "$part"; done

refused "--token" ablate "$work/text"
refused "is for image models" ablate "$work/text" --unit 3
refused "is for language models" ablate "$work/run" --token happy
refused "--remove" ablate "$work/run" --remove 0
refused "--remove" ablate "$work/run" --top 2
refused "--remove" ablate "$work/run" --remove 129
refused "--scale" ablate "$work/run" --scale -1
refused "--form" ablate "$work/run" --form local
run ablate "$work/nowhere"
expect_code 3
finish
