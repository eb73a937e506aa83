# glint export: the arrays are the weights, the folder computes the same logits, and nothing is overwritten.
glint=$1
source "$2/tests/cli/check.sh"
source "$2/tests/cli/train_runs.sh"
cd "$2" || exit 1 # the recipes are there

run train quick --epochs 1 --d-model 24 --layers 2 --bias --quiet --out "$work/run"
expect_code 0

run export "$work/run" --npy "$work/arrays" --hf "$work/hub" --json
expect_code 0
python3 - "$work/run" "$work/arrays" "$work/hub" "$work/out" <<'PYTHON' || fail "the exported files are not the run"
import ast, hashlib, json, struct, sys
from pathlib import Path
run, arrays, hub, out = map(Path, sys.argv[1:])

def tensors(path):
    raw = path.read_bytes()
    (n,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8:8 + n])
    metadata = header.pop("__metadata__", {})
    return metadata, {k: (v["shape"], raw[8 + n + v["data_offsets"][0]:8 + n + v["data_offsets"][1]]) for k, v in header.items()}

manifest = json.loads((arrays / "manifest.json").read_text())
listed = {a["name"]: a for a in manifest["arrays"]}
assert {p.name for p in arrays.iterdir()} == {a["file"] for a in listed.values()} | {"manifest.json"}
_, weights = tensors(run / "model.safetensors")
assert set(weights) <= set(listed)
for name, a in listed.items():
    raw = (arrays / a["file"]).read_bytes()
    size = int.from_bytes(raw[8:10], "little")
    header, data = ast.literal_eval(raw[10:10 + size].decode()), raw[10 + size:]
    assert list(header["shape"]) == a["shape"] and hashlib.sha256(data).hexdigest() == a["sha256"], name
    if name in weights:
        assert header["descr"] == "<f4" and weights[name] == (a["shape"], data), name
assert listed["gates.0.gain"]["shape"] == [24] and "gates.1.shift" in listed
scaled = listed["gates.1.scaled.slope"]
assert scaled["shape"] == [24] and scaled["power"] == 1 and scaled["size"] > 0 and "gates.0.scaled.gain" in listed
assert manifest["calibration"]["inputs"] > 0

assert {p.name for p in hub.iterdir()} == {"config.json", "model.safetensors", "modeling_glint.py", "README.md"}
metadata, again = tensors(hub / "model.safetensors")
assert metadata == {"format": "pt"} and again == weights
config = json.loads((hub / "config.json").read_text())
assert config["architectures"] == ["GlintClassifier"] and config["d_model"] == 24 and config["id2label"]["7"] == "7"
card = (hub / "README.md").read_text()
result = json.loads((run / "run.json").read_text())["result"]
for part in ("## Metrics", str(result["test_accuracy"]), "calibrated", "weight-decay", "R²"):
    assert part in card, part
compile((hub / "modeling_glint.py").read_text(), "modeling_glint.py", "exec")
PYTHON

# Spectra go along, each file under its own name, and the manifest says what every row is.
run spectrum "$work/run" --no-figures
expect_code 0
run spectrum "$work/run" --unit 3-5 --form weights --no-figures
expect_code 0
run spectrum "$work/run" --unit 3,7 --layer 1 --no-figures
expect_code 0
run export "$work/run" --npy "$work/with-spectra" --quiet
expect_code 0
python3 - "$work/with-spectra" <<'PYTHON' || fail "the manifest does not say what the rows are"
import json, sys
m = json.load(open(sys.argv[1] + "/manifest.json"))
arrays = {a["name"]: a for a in m["arrays"]}
rows = arrays["spectra.eigenvalues"]["rows"]
assert [r["unit"] for r in rows] == [str(i) for i in range(10)], rows
assert all(r["form"] == "scaled" and r["layer"] == 2 for r in rows), rows
one = arrays["spectra-3-minus-5-weights-layer-2.eigenvectors"]
assert one["rows"] == [{"unit": "3 - 5", "form": "weights", "layer": 2}] and one["shape"][0] == 1, one
assert len(m["spectra"]) == 3 and m["spectra"][0]["source"] == "spectra.safetensors", m["spectra"]
assert sorted((s["form"], s["layer"], len(s["units"])) for s in m["spectra"]) == \
    [("scaled", 1, 2), ("scaled", 2, 10), ("weights", 2, 1)], m["spectra"]
for s in m["spectra"]:
    assert all(len(arrays[a]["rows"]) == arrays[a]["shape"][0] == len(s["units"]) for a in s["arrays"]), s
assert arrays["gates.1.gain"]["layer"] == 2
PYTHON

# The folder is a model for glint too.
run eval "$work/run" --json --logits "$work/logits.npy"
expect_code 0
run eval "$work/hub" --json --logits "$work/again.npy"
expect_code 0
cmp -s "$work/logits.npy" "$work/again.npy" || fail "the exported model gives other logits"

# Nothing is overwritten; --force replaces an export and nothing else.
refused "earlier export" export "$work/run" --npy "$work/arrays"
touch "$work/arrays/extra"
for part in "| scaled " "R² rescaled" "control: linear map" "control: untrained, scaled"; do
  grep -qF -- "$part" "$work/hub/README.md" || fail "the model card lacks '$part'"
done
run export "$work/run" --npy "$work/arrays" --hf "$work/hub/" --force
expect_code 0
[ ! -e "$work/arrays/extra" ] || fail "--force mixes two exports"
mkdir "$work/mine" "$work/empty" && touch "$work/mine/precious"
refused "other files" export "$work/run" --npy "$work/mine" --force
refused "other files" export "$work/run" --hf "$work/run" --force
[ -e "$work/mine/precious" ] && [ -e "$work/run/run.json" ] || fail "files are gone"
run export "$work/run" --npy "$work/empty"
expect_code 0
compgen -G "$work/*.partial-*" >/dev/null && fail "a temporary folder is left"
compgen -G "$work/*.old-*" >/dev/null && fail "an old folder is left"
refused "no kind of export" export "$work/run"
run export "$work/nowhere" --npy "$work/none"
expect_code 3
[ ! -e "$work/none" ] || fail "a failed export leaves a folder"

# Without its data a run is exported without what needs them.
cp -r "$work/run" "$work/orphan"
rm -f "$work/orphan/calibration.safetensors"
sed -i 's/"data": "glyphs"/"data": "\/no\/such\/folder"/' "$work/orphan/config.json"
python3 "$2/tests/cli/reseal.py" "$work/orphan"
run export "$work/orphan" --npy "$work/few" --hf "$work/few-hub"
expect_code 0
expect_err "note: without the gains"
[ ! -e "$work/few/gates.0.gain.npy" ] && [ -e "$work/few/embed.weight.npy" ] || fail "the wrong arrays were exported"

# PyTorch computes the same logits.
/usr/bin/python3 -c 'import torch, numpy' 2>/dev/null || { echo "no PyTorch: the logits are not compared"; finish; }
idx_set "$work/data"
n=0
for flags in "--gate sqs --c -0.2 --lambda 1.5 --p 3" "--gate relu --layers 2 --bias --residual" "--gate gelu --d-hidden 20 --norm rms" \
  "--gate silu" "--gate identity"; do
  n=$((n + 1))
  # shellcheck disable=SC2086
  run train quick --data "$work/data" --epochs 2 --batch 32 --d-model 24 $flags --quiet --out "$work/run-$n"
  expect_code 0
  run export "$work/run-$n" --hf "$work/hub-$n"
  expect_code 0
  run eval "$work/run-$n" --logits "$work/logits-$n.npy"
  expect_code 0
  /usr/bin/python3 -B "$2/tests/golden/check_export.py" "$work/hub-$n" "$work/data" "$work/logits-$n.npy" || fail "PyTorch disagrees: $flags"
done
/usr/bin/python3 -B "$2/tests/golden/check_export.py" "$work/hub-1" "$work/data" "$work/logits-2.npy" >/dev/null 2>&1 && fail "other logits went unnoticed"
finish
