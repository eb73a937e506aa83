# glint neurons: tables, files and JSON, of models of other programs and of runs; what is refused.
glint=$1
source "$2/tests/cli/check.sh"
families=$2/tests/golden/families
cd "$work" || exit 1

run neurons "$families/qwen3" --threads 1 --json
expect_code 0
cp "$work/out" "$work/one"
expect_json "j['schema'] == 'glint-neurons/1' and j['layers'] == len(j['of_layers'])"
expect_json "all(sum(l['counts'].values()) == l['neurons'] == len(l['cos_up_down']) for l in j['of_layers'])"
expect_json "all(-1 <= c <= 1 for l in j['of_layers'] for c in l['cos_gate_down']) and all(c >= 0 for l in j['of_layers'] for c in l['cos_gate_up'])"
run neurons "$families/qwen3" --threads 2 --json
cmp -s "$work/out" "$work/one" || fail "the cosines depend on the number of threads"
[ -s qwen3-reading/neurons.csv ] && [ -s qwen3-reading/figures/neurons.svg ] || fail "no files: $(ls -R qwen3-reading)"

COLUMNS=80 "$glint" neurons "$families/tiny/tiny.bin" --quiet >"$work/narrow" || fail "glint neurons tiny.bin"
[ "$(LC_ALL=C.UTF-8 wc -L <"$work/narrow")" -le 80 ] || fail "wider than 80 columns: $(cat "$work/narrow")"
grep -q "strength.*orthogonal.*weak" "$work/narrow" || fail "no classes: $(cat "$work/narrow")"
run neurons "$families/tiny/tiny.bin" --layer 2 --out "$work/second" --no-figures
expect_code 0
[ -s second/neurons-layer-2.csv ] || fail "no file: $(ls second)"
[ ! -d second/figures ] || fail "figures although --no-figures"

run tokenize --tales 200 --vocab 300 --out "$work/stories" --quiet
run train tales --data "$work/stories" --layers 2 --d-model 16 --d-hidden 24 --heads 2 --context 32 --batch 64 --epochs 1 \
  --out "$work/text" --quiet
run neurons "$work/text"
expect_code 0
expect_out "orthogonal"
[ -s text/neurons.csv ] || fail "no file in the run"

refused "from 1 to 2" neurons "$work/text" --layer 3
run train quick --epochs 1 --d-model 8 --out "$work/image" --quiet
run neurons "$work/image"
expect_code 3
expect_err "language model"
finish
