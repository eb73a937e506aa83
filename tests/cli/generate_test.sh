# glint generate: the same seed gives the same text, streamed or not; prompts of all kinds; what is refused.
glint=$1
source "$2/tests/cli/check.sh"

expect_json() {
  python3 -c "
import json, sys
j = json.load(open(sys.argv[1]))
assert $1, j
" "$work/out" || fail "$command_line: $1"
}

run tokenize --tales 300 --vocab 300 --no-byte-fallback --out "$work/tales" --quiet
expect_code 0
python3 "$2/tests/cli/make_language_run.py" "$work/tales/tokenizer.model" "$work/run" 300 || fail "no run"

run generate "$work/run" --prompt "Once upon a TIME" --seed 3
expect_code 0
grep -q '^once upon a time' "$work/out" || fail "the prompt is not at the start: $(cat "$work/out")"
expect_err "tokens/s"
cp "$work/out" "$work/first"
for threads in 1 3; do
  run generate "$work/run" --prompt "Once upon a TIME" --seed 3 --threads $threads
  cmp -s "$work/out" "$work/first" || fail "$threads threads give another story"
done
run generate "$work/run" --prompt "Once upon a TIME" --seed 3 --count 40 --threads 2
expect_code 0
head -n 1 "$work/out" | cmp -s - "$work/first" || fail "the first of forty is another story"
[ "$(grep -cxF '<|endoftext|>' "$work/out")" = 39 ] || fail "not 39 marks between 40 stories"
run generate "$work/run" --prompt "Once upon a TIME" --seed 4
cmp -s "$work/out" "$work/first" && fail "another seed gives the same story"
echo "Once upon a TIME" | "$glint" generate "$work/run" --prompt - --seed 3 --quiet >"$work/out" || fail "stdin"
cmp -s "$work/out" "$work/first" || fail "a prompt from stdin gives another story"

run generate "$work/run" --seed 3 --count 3 --tokens 7 --top-k 5 --top-p 0.9 --json
expect_code 0
expect_json "[s['index'] for s in j['stories']] == [0, 1, 2] and all(s['tokens'] <= 7 for s in j['stories'])"
expect_json "j['tokens_per_second'] > 0 and j['prompt_tokens'] == 0 and j['top_k'] == 5"
run generate "$work/run" --temperature 0 --json --seed 1
cp "$work/out" "$work/greedy"
run generate "$work/run" --temperature 0 --json --seed 2
python3 -c "
import json, sys
a, b = (json.load(open(f))['stories'] for f in sys.argv[1:])
assert a == b
" "$work/greedy" "$work/out" || fail "temperature 0 depends on the seed"
# Its corpus can be made again from what it wrote.
run generate "$work/run" --count 60 --seed 1 --quiet
cp "$work/out" "$work/new.txt"
run tokenize "$work/new.txt" --tokenizer "$work/run/tokenizer.model" --out "$work/again" --json --quiet
expect_json "j['train']['stories'] + j['valid']['stories'] == 60"

run generate "$work/run" --prompt "über 你 fox"
expect_code 0
expect_err "does not know"
run generate "$work/run" --prompt "$(for _ in $(seq 100); do printf 'the fox '; done)"
expect_code 2
expect_no_out
expect_err "at most 62"
refused "RUN is missing" generate
refused "--temperature" generate "$work/run" --temperature -1
refused "--top-p" generate "$work/run" --top-p 0
run generate "$work/none"
expect_code 3
expect_err "no such run directory"

# A run of images, a tokenizer of another run, damaged weights.
mkdir "$work/images"
echo '{"format": "glint-classifier"}' >"$work/images/config.json"
touch "$work/images/model.safetensors"
run generate "$work/images"
expect_code 3
expect_no_out
expect_err "this is an image model"
run tokenize --tales 200 --vocab 300 --no-byte-fallback --out "$work/other" --quiet
cp -r "$work/run" "$work/mixed"
cp "$work/other/tokenizer.model" "$work/mixed/tokenizer.model"
run generate "$work/mixed"
expect_code 3
expect_err "the tokenizer is not the one"
truncate -s -8 "$work/mixed/model.safetensors"
run generate "$work/mixed"
expect_code 3
expect_err "model.safetensors"
finish
