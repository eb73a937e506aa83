#!/usr/bin/env bash
# Reading a language model: tokens by any of their names, the linear part beside the eigenvectors, evaluation of texts that
# are long or damaged, and plain words for what does not fit.
set -uo pipefail
glint=$1
export GLINT_RECIPES=$2/recipes
source "$(dirname "$0")/check.sh"

# json NAME CODE: Python that looks at the output, j.
json() {
  python3 -c "
import json, math, sys
j = json.load(open(sys.argv[1]))
$2" "$work/out" || fail "$command_line: $1"
}

run tokenize --tales 300 --vocab 512 --no-byte-fallback --out "$work/stories" --quiet
expect_code 0
run train tales --data "$work/stories" --layers 2 --d-model 32 --d-hidden 24 --heads 2 --context 32 --batch 64 --epochs 2 --lr 3e-3 \
  --out "$work/run" --quiet
expect_code 0
layer=(spectrum "$work/run" --layer 1 --no-figures --out "$work/spectra")
spectrum=("${layer[@]}" --form calibrated)

# The linear part: with it the reading is nearer to the layer, and a form without shifts has none.
run "${spectrum[@]}" --token happy
expect_code 0
for part in "of the eigenvectors alone" "the linear part has" "linear part" "entropy rank" "participation rank"; do expect_out "$part"; done
run "${spectrum[@]}" --token happy --json
expect_code 0
json "the linear part in JSON" '
u = j["units"][0]
assert u["r2"] > u["eigenvectors_r2"], u
assert u["linear_share"] != 0 and len(u["linear"]["vector"]) == 32 and u["linear"]["along"][0]["cosine"] > 0
assert u["entropy_rank"] >= 1 and u["participation_rank"] >= 1
assert j["fidelity"]["weights"]["eigenvectors_r2"] == j["fidelity"]["weights"]["r2"]'
cp "$work/out" "$work/happy.json"
run "${layer[@]}" --token happy --form weights --json
json "a form without shifts" '
u = j["units"][0]
assert u["linear_share"] == 0 and "linear" not in u and u["eigenvectors_r2"] == u["r2"], u'
# What is read without asking for a form: that of the eigenvectors alone, since SQS is odd.
run "${layer[@]}" --token happy --json
json "the form of an odd gate" '
assert j["form"] == "scaled" and j["units"][0]["linear_share"] == 0 and j["fidelity"]["scaled"]["r2"] > j["fidelity"]["weights"]["r2"], j["fidelity"]'

# A token by every name that the program or the page shows.
id=$(python3 -c "
import json, sys
j = json.load(open(sys.argv[1]))
for v in j['units'][0]['vectors']:
    for t in v['along'] + v['against']:
        if t['token'].isascii() or len(t['token']) < 4: continue
        print(t['id'], t['token'].replace('\u2581', '\u00b7')); sys.exit()" "$work/happy.json")
for name in Happy HAPPY "·happy" "▁happy"; do
  run "${spectrum[@]}" --token "$name" --json
  expect_code 0
  cmp -s "$work/out" "$work/happy.json" || fail "--token $name is not --token happy"
done
run "${spectrum[@]}" --token "#${id%% *}" --json
expect_code 0
cp "$work/out" "$work/by-number.json"
run "${spectrum[@]}" --token "${id#* }" --json
cmp -s "$work/out" "$work/by-number.json" || fail "#${id%% *} is not ${id#* }"
run "${spectrum[@]}" --token , --json
expect_code 0
json "the comma" 'assert len(j["units"]) == 1 and j["units"][0]["name"].endswith(","), j["units"][0]["name"]'
run "${spectrum[@]}" --token "happy,,,sad" --json
expect_code 0
json "a comma in a list" 'assert [u["name"].strip("·") for u in j["units"]] == ["happy", ",", "sad"]'
refused "#ID with an ID below 512" "${spectrum[@]}" --token "#512"
refused "is not one piece" "${spectrum[@]}" --token $'x\xff\x1b[31my'
LC_ALL=C grep -q $'[\xff\x1b]' "$work/err" && fail "bytes of the word go raw to the terminal"
refused "is 0" "${spectrum[@]}" --direction "happy - happy"
refused "is 0" "${spectrum[@]}" --direction "happy + sad - happy - sad"
refused "cannot read the direction" "${spectrum[@]}" --direction "happy sad"

# A direction of the residual stream from a file: that of a token gives the token's spectrum.
python3 - "$work/run/model.safetensors" "$work" "$work/happy.json" "${id%% *}" <<'PYTHON' || fail "cannot write a direction"
import json, struct, sys
data = open(sys.argv[1], "rb").read()
n = struct.unpack("<Q", data[:8])[0]
begin, _ = json.loads(data[8:8 + n])["lm_head.weight"]["data_offsets"]
row = data[8 + n + begin + 4 * 32 * int(sys.argv[4]):][:128]
def npy(name, descr, count, body):
    head = ("{'descr': '%s', 'fortran_order': False, 'shape': (%d,), }" % (descr, count)).encode()
    head += b" " * (-(10 + len(head) + 1) % 64) + b"\n"
    open(sys.argv[2] + "/" + name, "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + body)
npy("row.npy", "<f4", 32, row)
npy("wide.npy", "<f8", 32, struct.pack("<32d", *struct.unpack("<32f", row)))
npy("short.npy", "<f4", 16, row[:64])
npy("zero.npy", "<f4", 32, bytes(128))
npy("nan.npy", "<f4", 32, struct.pack("<f", float("nan")) + row[4:])
PYTHON
for file in row wide; do
  run "${spectrum[@]}" --direction "$work/$file.npy" --json
  expect_code 0
  python3 - "$work/out" "$work/by-number.json" <<'PYTHON' || fail "$file.npy has another spectrum than its token"
import json, sys
a, b = (json.load(open(p))["units"][0] for p in sys.argv[1:])
assert a["eigenvalues"] == b["eigenvalues"] and a["r2"] == b["r2"] and a["name"].endswith(".npy"), a["name"]
PYTHON
done
run "${spectrum[@]}" --hidden 24
expect_code 0
refused "from 1 to 24" "${spectrum[@]}" --hidden 25
refused "from 1 on" "${spectrum[@]}" --hidden 0
refused "--direction FILE.npy" "${spectrum[@]}" --hidden "$work/zero.npy"
refused "is 0" "${spectrum[@]}" --direction "$work/zero.npy"
for file in short nan; do
  run "${spectrum[@]}" --direction "$work/$file.npy"
  expect_code 3
done

# The scan has the same ranks and the same fidelity.
run spectrum "$work/run" --layer 1 --scan --form calibrated --out "$work/spectra"
expect_code 0
for part in "participation rank" "entropy rank" "of the eigenvectors alone"; do expect_out "$part"; done
run spectrum "$work/run" --layer 1 --scan --form calibrated --out "$work/spectra" --json
python3 - "$work/out" "$work/happy.json" "$work/spectra/scan-calibrated-layer-1.csv" <<'PYTHON' || fail "scan and spectrum differ"
import csv, json, sys
scan, happy = (json.load(open(p)) for p in sys.argv[1:3])
row = [t for t in scan["tokens"] if t["token"] == "\u2581happy"][0]
unit = happy["units"][0]
assert abs(row["participation_rank"] - unit["participation_rank"]) < 1e-6 * row["participation_rank"], row
assert abs(row["entropy_rank"] - unit["entropy_rank"]) < 1e-6 * row["entropy_rank"]
for key in ("r2", "eigenvectors_r2", "linear_share"):
    assert abs(row[key] - unit[key]) < 1e-6, (key, row, unit[key])
assert scan["fidelity"]["r2"] > scan["fidelity"]["eigenvectors_r2"]
lines = list(csv.DictReader(open(sys.argv[3])))
assert len(lines) == 512 and {"participation_rank", "entropy_rank", "r2"} <= set(lines[0])
PYTHON

# Options without effect.
refused "--unit is for image models" "${spectrum[@]}" --token happy --unit 3
refused "--via is for image models" "${spectrum[@]}" --token happy --via 2
refused "beside --scan" spectrum "$work/run" --scan --token happy
refused "beside --scan" spectrum "$work/run" --scan --near 3
refused "--data-dir is for image models" spectrum "$work/run" --token happy --data-dir "$work"
refused "--worst is for image models" eval "$work/run" --worst 3
touch "$work/file"
for out in "$work/file" "$work/file/below"; do
  run spectrum "$work/run" --token happy --out "$out"
  expect_code 1
  expect_err "cannot make the folder"
done

# A text and the corpus made of it: the same losses as far as the corpus goes.
python3 - "$work" <<'PYTHON'
import sys
short = ["once upon a time there was a cat.", "the dog was happy.", "she said yes."]
open(sys.argv[1] + "/short.txt", "w").write("\n<|endoftext|>\n".join(short))
long = " ".join(short * 12)
open(sys.argv[1] + "/long.txt", "w").write("\n<|endoftext|>\n".join(short + [long]))
PYTHON
for text in short long; do
  run tokenize "$work/$text.txt" --valid "$work/$text.txt" --tokenizer "$work/run/tokenizer.model" --out "$work/$text" --quiet
  expect_code 0
  run eval "$work/run" --data "$work/$text" --json
  expect_code 0
  cp "$work/out" "$work/$text-corpus.json"
  run eval "$work/run" --text "$work/$text.txt" --json
  expect_code 0
  cp "$work/out" "$work/$text-text.json"
done
python3 - "$work" <<'PYTHON' || fail "eval and eval --text disagree"
import json, sys
load = lambda name: json.load(open(sys.argv[1] + "/" + name + ".json"))
a, b = load("short-corpus"), load("short-text")
# The corpus goes through the engine of training, a text through the pass of all families: other orders of sums.
def same(x, y):
    return len(x) == len(y) and all(abs(p["loss"] - q["loss"]) < 1e-5 and {**p, "loss": 0} == {**q, "loss": 0} for p, q in zip(x, y))
assert abs(a["loss"] - b["loss"]) < 1e-6 and a["tokens"] == b["tokens"] and same(a["positions"], b["positions"]), (a, b)
assert a["cut_stories"] == b["cut_stories"] == 0 and b["pieces"] == b["stories"] == 3
a, b = load("long-corpus"), load("long-text")
assert a["cut_stories"] == 1 and b["cut_stories"] == 0 and b["pieces"] > b["stories"] == 4
n = len(a["positions"])
assert same(a["positions"], b["positions"][:n]) and a["positions"][-1]["last"] == 32, (a["positions"], b["positions"])
# Every token once, at its place in the story.
assert sum(p["tokens"] for p in b["positions"]) == b["tokens"] and b["tokens"] > a["tokens"]
last = b["positions"][-1]["last"]
assert all(p["tokens"] == min(p["last"], last) - p["first"] + 1 for p in b["positions"][n:]), b["positions"]
assert b["tokens"] - a["tokens"] == last - 32, (b["tokens"], a["tokens"], last)
PYTHON
run eval "$work/run" --data "$work/long"
expect_out "1 story is longer than the context of 32 tokens and cut there"
run eval "$work/run" --text "$work/long.txt"
expect_out "which overlap by half"

# What is not as it should be in a text.
printf 'the cat \xff\xfe ran.\n<|endoftext|>\n\xe2\x80\x8b\n<|endoftext|>\nthe \xe4\xbd\xa0 cat.\n' >"$work/odd.txt"
run eval "$work/run" --text "$work/odd.txt"
expect_code 0
for part in "2 stories" "not UTF-8" "unknown token" "1 story without a token"; do expect_out "$part"; done
run eval "$work/run" --text "$work/odd.txt" --json
json "what is odd in a text" 'assert j["invalid_utf8_replaced"] == 2 and j["unknown_tokens"] >= 1 and j["stories_without_tokens"] == 1 and j["stories"] == 2, j'
printf '\xe2\x80\x8b\n' >"$work/none.txt"
run eval "$work/run" --text "$work/none.txt"
expect_code 3
refused "beside --text" eval "$work/run" --text "$work/short.txt" --data "$work/short"
refused "beside --text" eval "$work/run" --text "$work/short.txt" --split train

# A corpus that is no longer there.
mv "$work/stories" "$work/moved"
for verb in eval "spectrum --token happy"; do
  # shellcheck disable=SC2086
  run ${verb%% *} "$work/run" ${verb#"${verb%% *}"}
  expect_code 3
  expect_err "the run was trained on it"
  expect_err "--data DIR"
done
run eval "$work/run" --data "$work/moved"
expect_code 0

# An explanation needs a text, and has no use for an image.
refused "nothing to explain: a language model needs --prompt" explain "$work/run"
expect_err "--prompt"
refused "is for image models" explain "$work/run" --index 3
finish
