# glint generate: the same seed gives the same text, streamed or not; prompts of all kinds; what is refused.
glint=$1
source "$2/tests/cli/check.sh"

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

# An empty prompt is none; what is not UTF-8 counts as a space.
run generate "$work/run" --seed 3 --quiet
cp "$work/out" "$work/bare"
for form in one two; do
  if [ $form = one ]; then run generate "$work/run" --prompt= --seed 3; else run generate "$work/run" --prompt "" --seed 3; fi
  expect_code 0
  cmp -s "$work/out" "$work/bare" || fail "an empty prompt is not the same as none"
done
refused "needs a value" generate "$work/run" --prompt
refused "needs a value" generate "$work/run" --seed ""
run generate "$work/run" --prompt $'the \xff fox' --seed 3
expect_code 0
expect_err "count as a space"
cp "$work/out" "$work/first"
run generate "$work/run" --prompt "the fox" --seed 3
cmp -s "$work/out" "$work/first" || fail "invalid UTF-8 in a prompt is not a space"

# Contexts at and beyond the limits; which limit cut the stories, and how many.
python3 - "$work" <<'PY'
import json, shutil, sys
config = json.load(open(sys.argv[1] + "/run/config.json"))
for context in (1, 2, 16384, 16385):
    folder = "%s/context-%d" % (sys.argv[1], context)
    shutil.copytree(sys.argv[1] + "/run", folder)
    json.dump(dict(config, context=context), open(folder + "/config.json", "w"))
PY
for context in 1 16385; do
  run generate "$work/context-$context"
  expect_code 3
  expect_no_out
  expect_err "2 to 16384"
done
run generate "$work/context-2" --temperature 0
expect_code 0
run generate "$work/context-2" --prompt "the fox"
expect_code 2
expect_err "at most 0"
message() { sed -n 's/.*tokens\/s; //p' "$work/err"; }
expect_message() { [ "$(message)" = "$1" ] || fail "$command_line: '$(message)', expected '$1'"; }
run generate "$work/run" --tokens 1 --seed 3
expect_message "the story was cut at --tokens 1"
run generate "$work/context-2" --tokens 7 --seed 3
expect_message "the story was cut at the model's context of 2 tokens"
cut=$("$glint" generate "$work/run" --tokens 30 --count 12 --seed 3 --json 2>/dev/null |
  python3 -c "import json, sys; print(sum(not s['ended'] for s in json.load(sys.stdin)['stories']))")
run generate "$work/run" --tokens 30 --count 12 --seed 3
case $cut in
  0) fail "no story is cut: choose another seed" ;;
  1) expect_message "1 of 12 stories was cut at --tokens 30" ;;
  *) expect_message "$cut of 12 stories were cut at --tokens 30" ;;
esac

# A large context in a file takes memory only for what the stories need, and changes nothing in them.
run generate "$work/run" --count 33 --tokens 40 --seed 5 --quiet
cp "$work/out" "$work/first"
cat >"$work/memory.py" <<'PY'
import resource, subprocess, sys
subprocess.run(sys.argv[2:], stdout=open(sys.argv[1], "wb"), check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)
PY
few=$(python3 "$work/memory.py" "$work/out" "$glint" generate "$work/run" --count 33 --tokens 40 --seed 5 --quiet)
many=$(python3 "$work/memory.py" "$work/out" "$glint" generate "$work/context-16384" --count 33 --tokens 40 --seed 5 --quiet)
cmp -s "$work/out" "$work/first" || fail "a larger context gives other stories"
[ "$many" -le $((few + 16)) ] || fail "$many MB with a large context, $few MB with a small one"

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

# A chat needs a model that was made for it.
refused "not made for chats" generate "$work/run" --chat --prompt "hello"
run generate "$2/tests/golden/families/tiny/tiny.bin" --chat --prompt "hello"
expect_code 3
expect_err "no chat template"
finish
