# glint convert and train --init: models of other programs that go on learning, with their gate or another; what they
# become for other programs; what is refused.
glint=$1
source "$2/tests/cli/check.sh"
golden=$2/tests/golden
tiny=$golden/families/tiny/tiny.bin
cd "$work" || exit 1
same() { cmp -s "$1" "$2" || fail "$1 and $2 differ"; }

# From its own stories: the same bytes at any number of threads, and after a stop.
run convert "$tiny" --out a --tokens-trained 3000 --threads 1 --json
expect_code 0
cp "$work/out" a.json
expect_json "j['schema'] == 'glint-convert/1' and j['gate_before'] == 'silu' and j['gate_after'] == 'sqs'"
expect_json "j['text'] == 'its own stories' and j['stories'] > 1 and j['steps'] > 1"
expect_json "all(j[k] > 0 for k in ('loss_original', 'loss_swapped', 'loss_converted'))"
expect_json "{l['layer'] for l in j['layers']} == {1, 2} and len(j['curve']) >= 4"
[ -s a-text/stories.txt ] || fail "no stories: $(ls a-text)"
run convert "$tiny" --out b --tokens-trained 3000 --threads 2 --no-readings --quiet
same a/model.safetensors b/model.safetensors
same a-text/stories.txt b-text/stories.txt
run convert "$tiny" --out b --tokens-trained 3000 --no-readings --json
expect_code 0
expect_json "j['loss_converted'] == $(sed -n 's/.*"loss_converted": \([0-9.]*\).*/\1/p' a.json)"
run convert "$tiny" --out b --tokens-trained 3000 --lambda 1 --no-readings
expect_code 2
# The text of another conversion is not taken for this one.
run convert "$tiny" --out b --tokens-trained 3000 --seed 5 --no-readings
expect_code 2
expect_err "made for another conversion"
printf 'one\n<|endoftext|>\ntwo\n<|endoftext|>\nthree\n' >t.txt
run convert "$tiny" --out b --tokens-trained 3000 --text t.txt --no-readings
expect_code 2
expect_err "made for another conversion"
mkdir e-text && touch e-text/mine
run convert "$tiny" --out e --tokens-trained 3000 --force --no-readings
expect_code 2
[ -e e-text/mine ] || fail "a folder of somebody else's was removed"
run spectrum a --layer 1 --form weights --token '#5' --no-figures --out reading --controls none
expect_code 0
run generate a --tokens 5 --quiet
expect_code 0

# With its own gate and no distilling it is the original that goes on; one step with a rate of 0 changes nothing.
run tokenize "$work/a-text/stories.txt" --tokenizer "$golden/families/tiny/tokenizer.bin" --out corpus --quiet
expect_code 0
run train --init "$tiny" --data corpus --lr 0 --weight-decay 0 --epochs 1 --batch 8 --out same --quiet
expect_code 0
run eval same --json
expect_code 0
own=$(sed -n 's/.*"loss": \([0-9.]*\).*/\1/p' "$work/out" | head -1)
run export same --hf hub --quiet
expect_code 0
run eval hub --text "$work/a-text/stories.txt" --tokenizer "$golden/families/tiny/tokenizer.bin" --json
hub=$(sed -n 's/.*"loss": \([0-9.]*\).*/\1/p' "$work/out" | head -1)
run eval "$tiny" --text "$work/a-text/stories.txt" --json
first=$(sed -n 's/.*"loss": \([0-9.]*\).*/\1/p' "$work/out" | head -1)
python3 -c "import sys; a, b = map(float, sys.argv[1:]); sys.exit(not abs(a - b) < 1e-5 * a)" "$hub" "$first" ||
  fail "the export has loss $hub, the model $first (the run on its stories $own)"
for type in f32 f16 q8_0; do
  run export same --gguf "same-$type.gguf" --gguf-type "$type" --quiet
  expect_code 0
  run eval "same-$type.gguf" --text "$work/a-text/stories.txt" --tokenizer "$golden/families/tiny/tokenizer.bin" --json
  expect_code 0
  expect_json "abs(j['loss'] / $first - 1) < (1e-5 if '$type' == 'f32' else 1e-2)"
done
run export same --gguf same-f32.gguf
expect_code 2
run export a --gguf converted.gguf
expect_code 2
expect_err "cannot say that the gate is sqs"

# The tokenizer inside a GGUF file goes with the run.
if [ -s "$golden/families/llama.gguf" ]; then
  run convert "$golden/families/gemma3.gguf" --out c
  expect_code 2
  expect_err "Gemma 3"
  expect_err "cannot be trained"
fi
run train --init "$tiny" --data corpus --layers 7 --out d
expect_code 2
expect_err "but the model has"
run train --data corpus --distil 0.5 --out d
expect_code 2
expect_err "without a model to learn from"
run tokenize --tales 200 --vocab 300 --out tales --quiet
run train --init "$tiny" --data tales --batch 8 --out d
expect_code 2
expect_err "another tokenizer"
finish
