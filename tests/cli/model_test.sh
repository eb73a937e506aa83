# glint model, and models of other programs in eval, generate and spectrum; what is refused, by name.
glint=$1
source "$2/tests/cli/check.sh"
families=$2/tests/golden/families
tiny=$families/tiny/tiny.bin

run model "$tiny"
expect_code 0
for word in "Llama, llama2.c" "2 layers, width 8, 12 hidden units" "288 tokens" "F32" "eval, generate, spectrum, explain, ablate, readability, neurons, compare, page, export"; do
  expect_out "$word"
done
(cd "$families" && COLUMNS=80 "$glint" model gemma3.gguf --quiet) >"$work/narrow" || fail "glint model gemma3.gguf"
awk 'length($0) > 80' "$work/narrow" | grep -q . && fail "wider than 80 columns: $(cat "$work/narrow")"
for name in llama mistral qwen2 qwen3 gemma gemma2 gemma3 phi3 olmo olmo2 stablelm; do
  run model "$families/$name" --json
  expect_code 0
  expect_json "j['schema'] == 'glint-model/1' and j['parameters'] == sum(p['parameters'] for p in j['parts'])"
done
run model "$families/q4.gguf"
expect_out "Q4_0 with F32"
run model "$families/qwen3" --tokenizer "$families/tiny/tokenizer.bin"
expect_code 3
expect_err "the tokenizer has 288 tokens, the model 40"

printf 'the cat sat<|endoftext|>a dog sat' >"$work/text.txt"
# One of the right size can still be that of another model: the pieces are compared with the model's own.
python3 - "$families/tiny/tokenizer.bin" "$work/other.bin" <<'P' || exit 1
import struct, sys
raw = open(sys.argv[1], "rb").read()
at, pieces = 4, []
while at < len(raw):
    score, size = struct.unpack_from("<fi", raw, at)
    pieces.append((score, raw[at + 8:at + 8 + size]))
    at += 8 + size
pieces[259:] = pieces[259:][::-1]
with open(sys.argv[2], "wb") as f:
    f.write(raw[:4])
    for score, piece in pieces:
        f.write(struct.pack("<fi", score, len(piece)) + piece)
P
for verb in "model" "eval --text $work/text.txt" "generate --prompt the" "spectrum --token cat"; do
  # shellcheck disable=SC2086
  run ${verb%% *} "$tiny" --tokenizer "$work/other.bin" ${verb#"${verb%% *}"}
  expect_code 3
  expect_err "the tokenizer is that of another model: "
done
cp "$families/tiny/tokenizer.bin" "$work/same.bin"
run model "$tiny" --tokenizer "$work/same.bin"
expect_code 0

run eval "$tiny" --text "$work/text.txt" --json
expect_code 0
expect_json "j['stories'] == 2 and j['loss'] > 0 and abs(math.exp(j['loss']) / j['perplexity'] - 1) < 1e-9"
expect_json "sum(p['tokens'] for p in j['positions']) == j['tokens']"
cp "$work/out" "$work/one"
run eval "$tiny" --text "$work/text.txt" --json --threads 2
cmp -s "$work/out" "$work/one" || fail "the loss depends on the number of threads"
refused "text FILE" eval "$tiny"
refused "is for runs of glint" eval "$tiny" --text "$work/text.txt" --split train

run generate "$tiny" --prompt "the cat" --temperature 0 --tokens 5 --quiet
expect_code 0
grep -q '^the cat' "$work/out" || fail "the prompt is not at the start: $(cat "$work/out")"

cd "$work" || exit 1
run spectrum "$tiny" --layer 1 --token cat
expect_code 0
expect_out "tokens of the built-in tales"
[ -f "$work/tiny-reading/spectra-_cat-calibrated-layer-1.safetensors" ] || fail "no spectra: $(ls tiny-reading)"
for i in $(seq 40); do printf 'the cat sat a dog<|endoftext|>so the dog sat<|endoftext|>'; done >"$work/more.txt"
run spectrum "$tiny" --layer 1 --token cat --text "$work/more.txt" --json --no-figures
expect_code 0
expect_json "set(j['fidelity']) == {'weights', 'scaled', 'calibrated'} and j['form'] == 'calibrated'"
expect_json "set(j['controls']['untrained']) == set(j['fidelity']) and 'r2' in j['controls']['linear']"
expect_json "len(j['units'][0]['eigenvalues']) == 8 and j['data']['samples'].endswith('more.txt')"

refused "beside --text" spectrum "$tiny" --token cat --text "$work/more.txt" --data "$work/more.txt"

# Every token of a layer, at any number of threads.
run spectrum "$tiny" --layer 1 --scan --text "$work/more.txt" --out "$work/scan" --threads 1 --json
expect_code 0
expect_json "len(j['tokens']) == 288 and j['strongest'] == 0 and len(j['fidelity']['r2_interval']) == 2"
cp "$work/out" "$work/one"
run spectrum "$tiny" --layer 1 --scan --text "$work/more.txt" --out "$work/scan" --threads 2 --json
cmp -s "$work/out" "$work/one" || fail "the scan depends on the number of threads"
[ "$(ls "$work/scan")" = scan-layer-1.csv ] || fail "parts of the scan are left: $(ls "$work/scan")"

# Eigenvectors removed: the loss is that of eval where nothing is changed.
run ablate "$tiny" --layer 1 --token cat --text "$work/more.txt" --scale 1 --json
expect_code 0
expect_json "j['before'] == j['all']['after'] and j['before']['inputs'] > 100 and j['kind'] == 'language'"
run ablate "$tiny" --layer 1 --token cat,dog --text "$work/more.txt" --form scaled --json
expect_code 0
expect_json "len(j['each']) == 2 and j['all']['after']['loss'] != j['before']['loss'] and 0 < j['all']['r'] <= 1"
refused "cannot be saved" ablate "$tiny" --token cat --save "$work/saved"
run readability "$tiny" --layer 2 --text "$work/more.txt" --json
expect_code 0
expect_json "j['runs'][0]['kind'] == 'language' and -1 <= j['runs'][0]['ablation_r'] <= 1 and j['runs'][0]['stability_halves'] > 0"

# What cannot be done with such a model says so.
run attack "$tiny"
expect_code 3
expect_err "this is a language model, not an image model"

# What is not supported is named: the family, the key and the value.
cp -r "$families/llama" "$work/odd"
python3 - "$work/odd/config.json" <<'P' || exit 1
import json, sys
path = sys.argv[1]
config = json.load(open(path))
config["rope_parameters"] = {"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 2.0}
json.dump(config, open(path, "w"))
P
run model "$work/odd"
expect_code 3
expect_err 'Llama with `rope_type` "dynamic" is not supported'
cp "$families/llama/config.json" "$work/odd/config.json"
sed -i 's/"mlp_bias"/"mlp_twist": 3, "mlp_bias"/' "$work/odd/config.json"
run model "$work/odd"
expect_code 3
expect_err 'Llama with `mlp_twist` 3 is not supported'
cp "$families/llama/config.json" "$work/odd/config.json"
for family in gpt_oss llama4 deepseek_v3 mamba; do
  cp "$families/llama/config.json" "$work/odd/config.json"
  sed -i "s/\"model_type\": \"llama\"/\"model_type\": \"$family\"/" "$work/odd/config.json"
  run model "$work/odd"
  expect_code 3
  expect_err "'$family' is not supported"
done

# Mixtures of experts: one expert at a time is read, from the weights; nothing is run.
mixture=("$families/qwen2_moe" --tokenizer "$families/tiny/tokenizer.bin")
run model "${mixture[@]}"
expect_code 0
for word in "3 per layer, 2 of them per token" "shared" "--expert N"; do expect_out "$word"; done
expect_out "not yet:    eval, generate"
run spectrum "${mixture[@]}" --layer 1 --expert 2 --token cat --json --no-figures
expect_code 0
expect_json "j['expert'] == '2' and j['layer'] == 1 and j['form'] == 'weights'"
cp "$work/out" "$work/two"
[ -f "$work/qwen2_moe-reading/spectra-_cat-weights-layer-1-expert-2.safetensors" ] || fail "no spectra: $(ls qwen2_moe-reading)"
run spectrum "$families/qwen2_moe.gguf" --tokenizer "$families/tiny/tokenizer.bin" --layer 1 --expert 2 --token cat --json --no-figures
python3 - "$work/out" "$work/two" <<'P' || fail "the expert in GGUF is another"
import json, sys
a, b = (json.load(open(p))["units"][0]["eigenvalues"] for p in sys.argv[1:])
assert a == b, (a, b)
P
run spectrum "${mixture[@]}" --layer 1 --expert shared --token cat --no-figures
expect_code 0
expect_out "layer: 1 of 2, expert shared"
refused "layer 1 has 3 experts" spectrum "${mixture[@]}" --layer 1 --token cat
refused "from 1 to 3, or shared" spectrum "${mixture[@]}" --layer 1 --expert 4 --token cat
refused "the model has no experts" spectrum "$tiny" --layer 1 --expert 1 --token cat
for verb in "eval --text $work/text.txt" "generate --prompt cat" "spectrum --layer 1 --expert 1 --token cat --data $work/more.txt"; do
  # shellcheck disable=SC2086
  run ${verb%% *} "${mixture[@]}" ${verb#* }
  expect_code 3
  expect_err "a mixture of experts cannot be run yet"
done
# What can be read of a mixture needs no tokenizer; the others say what that is.
run spectrum "$families/mixtral" --expert 1 --hidden 1 --no-figures
expect_code 0
for verb in neurons page ablate readability "compare $families/mixtral"; do
  # shellcheck disable=SC2086
  run $verb "$families/mixtral"
  [ "$code" != 0 ] || fail "$verb takes a mixture"
  expect_err "glint spectrum"
  expect_err "--expert 1"
done

# A path is no option, even when it has the name of one.
mkdir hf
run model hf
expect_code 3
expect_err "where:    hf"
expect_err "a llama2.c file (.bin)"
cp "$tiny" hf/inside.bin
run eval hf --text "$work/text.txt"
expect_err "there is a model in it: hf/inside.bin"
head -c 4000 "$tiny" >cut.bin
run model cut.bin
expect_code 3
expect_err "begins as a llama2.c file of $(wc -c <"$tiny" | tr -d ' ') bytes does, and has 4000"
for verb in train sweep; do
  run $verb "$tiny"
  expect_code 2
  expect_err "this is a model, not a recipe"
done

# Verbs that need no tokenizer take one, and one that is wrong does not stop them.
mkdir wrong
cp "$families/llama.bin" wrong
cp "$families/tiny/tokenizer.bin" wrong
for verb in model "neurons --no-figures" "export --hf hub"; do
  # shellcheck disable=SC2086
  run ${verb%% *} wrong/llama.bin ${verb#"${verb%% *}"}
  expect_code 0
  expect_err "wrong/tokenizer.bin is not used: the tokenizer has 288 tokens, the model 40"
done
run generate wrong/llama.bin --prompt a
expect_code 3
expect_err "where:    wrong/tokenizer.bin"
run neurons "$tiny" --tokenizer "$work/same.bin" --no-figures
expect_code 0
run export hf/inside.bin --tokenizer "$work/same.bin" --hf with
expect_code 0
cmp -s with/tokenizer.bin "$work/same.bin" || fail "the tokenizer that was given does not go along: $(ls with)"
finish
