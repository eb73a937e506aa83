#!/usr/bin/env bash
# glint export of language models: the arrays are the weights and the manifest says what their rows are; transformers opens the
# folders and finds what glint finds.
set -uo pipefail
glint=$1
export GLINT_RECIPES=$2/recipes
source "$2/tests/cli/check.sh"
families=$2/tests/golden/families
cd "$work" || exit 1

run tokenize --tales 200 --vocab 512 --no-byte-fallback --out stories --quiet
expect_code 0
run train tales --data stories --layers 2 --d-model 32 --d-hidden 24 --heads 2 --context 32 --batch 64 --epochs 2 --lr 3e-3 --out run --quiet
expect_code 0
run spectrum run --token happy,sad --layer 1 --no-figures --quiet
expect_code 0
run export run --npy arrays --hf hub --json
expect_code 0
expect_json "[e['kind'] for e in j['exports']] == ['npy', 'hf'] and 'trust_remote_code' in j['exports'][1]['loader']"
python3 - <<'PYTHON' || fail "the exported arrays are not the run"
import json, struct
from pathlib import Path
manifest = json.loads(Path("arrays/manifest.json").read_text())
listed = {a["name"]: a for a in manifest["arrays"]}
raw = Path("run/model.safetensors").read_bytes()
(n,) = struct.unpack("<Q", raw[:8])
header = {k: v for k, v in json.loads(raw[8:8 + n]).items() if k != "__metadata__"}
for name, t in header.items():
    file = Path("arrays", listed[name]["file"]).read_bytes()
    size = int.from_bytes(file[8:10], "little")
    begin, end = t["data_offsets"]
    assert file[10 + size:] == raw[8 + n + begin:8 + n + end] and listed[name]["shape"] == t["shape"], name
    assert listed[name]["rows"], name
assert len(json.loads(Path("arrays/tokens.json").read_text())) == 512
spectra = next(a for a in manifest["arrays"] if a["name"].endswith(".eigenvectors"))
assert [(r["unit"], r["layer"]) for r in spectra["rows"]] == [("·happy", 1), ("·sad", 1)], spectra["rows"]
assert "gates.1.gain" in listed and manifest["calibration"]["inputs"] > 0
card = Path("hub/README.md").read_text()
for part in ("control: linear map", "test_loss", "trust_remote_code", "| scaled"):
    assert part in card, part
compile(Path("hub/modeling_glint.py").read_text(), "modeling_glint.py", "exec")
PYTHON
refused "earlier export" export run --hf hub
run eval run --json
cp out eval.json
run eval hub --data stories --json
expect_code 0
python3 - <<'PYTHON' || fail "the folder is another model to glint"
import json
assert json.load(open("eval.json"))["loss"] == json.load(open("out"))["loss"]
PYTHON

# Models of other programs.
run export "$families/tiny/tiny.bin" --npy tiny-arrays --hf tiny --quiet
expect_code 0
[ -f tiny/tokenizer.bin ] && [ -f tiny-arrays/tokens.json ] || fail "no tokenizer: $(ls tiny tiny-arrays)"
printf 'the cat sat<|endoftext|>a dog sat' >text.txt
run eval "$families/tiny/tiny.bin" --text text.txt --json
cp out tiny.json
run eval tiny --text text.txt --json
expect_code 0
python3 - <<'PYTHON' || fail "the folder of tiny.bin is another model"
import json
a, b = json.load(open("tiny.json")), json.load(open("out"))
assert a["tokens"] == b["tokens"] and abs(a["loss"] - b["loss"]) < 1e-5 * a["loss"], (a["loss"], b["loss"])
PYTHON
refused "already" export "$families/llama" --hf again
[ ! -e again ] || fail "a failed export leaves a folder"

for python in "${GLINT_PEERS_PYTHON:-}" "$2/build/peers/venv/bin/python" python3; do
  [ -n "$python" ] && "$python" -c 'import torch, transformers, safetensors' 2>/dev/null && break
  python=
done
[ -n "$python" ] || { echo "no transformers: the logits are not compared"; finish; }
check=$2/tests/golden/check_hf_export.py
"$python" -B "$check" own hub stories eval.json || fail "transformers disagrees with glint's own model"
for name in llama llama3 gemma2 phi3 stablelm phi3_long qwen2_yarn; do
  run export "$families/$name.gguf" --hf "$name" --quiet
  expect_code 0
  "$python" -B "$check" family "$name" "$families/$name.safetensors" || fail "transformers disagrees: $name"
done
"$python" -B "$check" family llama "$families/qwen2_yarn.safetensors" >/dev/null 2>&1 && fail "other logits went unnoticed"
finish
