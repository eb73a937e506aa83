# glint spectrum: the same in every form, the same bytes at any number of threads, and clear errors.
glint=$1
source "$2/tests/cli/check.sh"
cd "$2" || exit 1 # the recipes are there

run train quick --epochs 2 --out "$work/run" --quiet
expect_code 0

# All classes: tables, spectra, figures with their numbers.
run spectrum "$work/run"
expect_code 0
for words in "weights" "scaled" "calibrated" "local: exact" "the model" "k = 0" "the linear part alone" "Directions shared" "linear map" "untrained, weights" "controls, to compare with" "scaled: with the eigenvectors of the median size" "even share of the layer: 100.0 %"; do expect_out "$words"; done
[ -s "$work/run/calibration.safetensors" ] || fail "the calibration is not stored"
for name in features-scaled shared-scaled truncation spectrum-0-scaled spectrum-9-scaled; do
  for ending in svg csv; do [ -s "$work/run/figures/$name.$ending" ] || fail "no $name.$ending"; done
  [ -s "$work/run/figures/$name.png" ] || grep -q "no PNG" "$work/err" || fail "no $name.png and no note"
done

# The same bytes at 1, 2 and 3 threads, the calibration made anew each time.
for threads in 1 2 3; do
  rm -f "$work/run/calibration.safetensors"
  run spectrum "$work/run" --threads $threads --out "$work/out-$threads" --json
  expect_code 0
  sed "s|$work/out-$threads||g" "$work/out" >"$work/json-$threads"
done
for threads in 2 3; do
  cmp -s "$work/out-1/spectra.safetensors" "$work/out-$threads/spectra.safetensors" || fail "spectra differ at $threads threads"
  cmp -s "$work/json-1" "$work/json-$threads" || fail "results differ at $threads threads"
  cmp -s "$work/out-1/figures/features-scaled.svg" "$work/out-$threads/figures/features-scaled.svg" || fail "figures differ"
done

# The numbers hang together: the trace of the energy, the end of the truncation, better calibrated than not.
expect_json "len(j['units']) == 10 and all(u['eigenvalues'] == sorted(u['eigenvalues'], reverse=True) for u in j['units'])"
expect_json "all(abs(u['energy'][-1] - 1) < 1e-12 for u in j['units'])"
expect_json "j['truncation']['calibrated'][-1] == j['fidelity']['calibrated']['accuracy']"
expect_json "j['fidelity']['calibrated']['r2'] > j['fidelity']['weights']['r2']"
# k = 0 is there and named: what a form has without any eigenvector.
expect_json "j['truncation']['first_k'] == 0 and len(j['truncation']['calibrated']) == len(j['units'][0]['eigenvalues']) + 1"
expect_json "j['truncation']['linear_part'] == {'weights': False, 'scaled': False, 'calibrated': True}"
# The scaled form is its eigenvectors and nothing else, and it is what auto means for SQS.
expect_json "j['form'] == 'scaled' and j['fidelity']['scaled']['r2'] == j['fidelity']['scaled']['eigenvectors_r2']"
expect_json "j['fidelity']['scaled']['agreement'] > j['fidelity']['weights']['agreement']"
# Its eigenvectors belong to a size of the input, and it says how far they hold.
expect_json "0 < j['size']['low'] < j['size']['drawn_at'] < j['size']['high']"
expect_json "0.5 < j['size']['low_alike'] <= 1 and 0.5 < j['size']['high_alike'] <= 1"
# Controls of every form; shares of eigenvectors and linear part, which has its picture.
expect_json "0 < j['controls']['linear']['agreement'] <= 1 and set(j['controls']['untrained']) == {'weights', 'scaled', 'calibrated'}"
expect_json "all(u['quadratic_share'] == 1 and u['linear_share'] == 0 and u['even_share'] == 1 for u in j['units'])"
# On the mirror images an odd gate decides as before, and so does a form without a linear part; the calibrated one does not.
expect_json "all(j['fidelity'][f]['mirrored']['agreement'] == j['fidelity'][f]['agreement'] for f in ('weights', 'scaled'))"
expect_json "all(abs(j['fidelity'][f]['mirrored']['r2'] - j['fidelity'][f]['r2']) < 1e-5 * max(1, abs(j['fidelity'][f]['r2'])) for f in ('weights', 'scaled'))"
expect_json "j['fidelity']['calibrated']['mirrored']['agreement'] < j['fidelity']['calibrated']['agreement'] - 0.1"
expect_json "j['truncation']['linear_part_alone']['calibrated'] == j['truncation']['calibrated'][0]"
grep -q "scaled form (all images at the median size" "$work/run/figures/truncation.svg" || fail "the figure does not say at which size"
grep -q "linear part alone" "$work/run/figures/truncation.svg" || fail "the figure does not name the linear part"
sed -n 2p "$work/run/figures/truncation.csv" | grep -q ',0,' || fail "the figure does not begin at k = 0: $(sed -n 2p "$work/run/figures/truncation.csv")"
expect_json "j['fidelity']['calibrated']['agreement'] > 0.9"
expect_json "j['fidelity']['local']['largest_error'] < 1e-5 * j['fidelity']['local']['largest_value']"
# What is stored is what is told: Q v = value v is tested in the library; here shapes and eigenvalues.
python3 - "$work/out-1/spectra.safetensors" "$work/out" <<'PY' || fail "spectra.safetensors does not hold the spectra"
import json, struct, sys
raw = open(sys.argv[1], "rb").read()
told = json.load(open(sys.argv[2]))
n = struct.unpack("<Q", raw[:8])[0]
head = json.loads(raw[8:8 + n])
meta = head.pop("__metadata__")
assert meta["form"] == "scaled" and meta["layer"] == "1" and len(json.loads(meta["units"])) == 10, meta
assert meta["model_sha256"] == told["weights_sha256"]
units, k, d = head["eigenvectors"]["shape"]
assert units == 10 and k == d and head["features"]["shape"] == [units, k, 784], head
begin, end = head["eigenvalues"]["data_offsets"]
values = struct.unpack("<%dd" % (units * k), raw[8 + n + begin:8 + n + end])
assert list(values[:k]) == told["units"][0]["eigenvalues"]
begin, end = head["eigenvectors"]["data_offsets"]
v = struct.unpack("<%dd" % (2 * d), raw[8 + n + begin:8 + n + begin + 16 * d])
assert abs(sum(x * x for x in v[:d]) - 1) < 1e-12 and abs(sum(a * b for a, b in zip(v[:d], v[d:]))) < 1e-12
PY

# A calibration measured on other data than the run's does not stay with the run.
cp -r "$work/run" "$work/elsewhere"
rm -f "$work/elsewhere/calibration.safetensors"
python3 - "$work/other" <<'PY' || fail "cannot make a data set"
import os, random, struct, sys
os.mkdir(sys.argv[1])
random.seed(1)
for name, count in (("train", 60), ("t10k", 20)):
    with open(f"{sys.argv[1]}/{name}-images-idx3-ubyte", "wb") as f:
        f.write(struct.pack(">4I", 0x803, count, 28, 28) + random.randbytes(count * 784))
    with open(f"{sys.argv[1]}/{name}-labels-idx1-ubyte", "wb") as f:
        f.write(struct.pack(">2I", 0x801, count) + bytes(i % 10 for i in range(count)))
PY
run spectrum "$work/elsewhere" --data "$work/other" --no-figures
expect_code 0
expect_err "is not stored"
[ ! -e "$work/elsewhere/calibration.safetensors" ] || fail "a calibration from other data was stored"
run spectrum "$work/elsewhere" --no-figures
cmp -s "$work/run/calibration.safetensors" "$work/elsewhere/calibration.safetensors" ||
  fail "the calibration on the run's own data differs"

# Other units, forms and layers have files of their own: nothing that was there changes.
everything() { (cd "$work/run" && find . -name 'spectr*' -o -name 'features*' -o -name 'shared*' | xargs sha256sum | LC_ALL=C sort); }
everything >"$work/before"
for flags in "--unit 3-5" "--unit 3" "--unit 3,5" "--unit 5,3" "--form weights" "--form calibrated" "--unit 3-5 --form weights"; do
  run spectrum "$work/run" $flags
  expect_code 0
  everything >"$work/after"
  [ "$(LC_ALL=C comm -23 "$work/before" "$work/after")" = "" ] || fail "spectrum $flags overwrote $(LC_ALL=C comm -23 "$work/before" "$work/after")"
  [ "$(LC_ALL=C comm -13 "$work/before" "$work/after" | grep -c safetensors)" = 1 ] || fail "spectrum $flags has no file of its own"
  mv "$work/after" "$work/before"
done
# The linear part of the calibrated form has its picture beside the eigenvectors.
grep -q "linear part" "$work/run/figures/features-calibrated.svg" || fail "the grid has no picture of the linear part"
grep -q "^0,linear,," "$work/run/figures/features-calibrated.csv" || fail "the linear part has no pixels in the CSV"
for name in spectra-3-minus-5-scaled-layer-1 spectra-3-scaled-layer-1 spectra-weights spectra-calibrated; do
  [ -s "$work/run/$name.safetensors" ] || fail "no $name.safetensors: $(ls "$work/run")"
done
[ -s "$work/run/figures/features-3-minus-5-weights-layer-1.svg" ] || fail "no figure of 3 - 5"

# Units, and only so many eigenpairs.
run spectrum "$work/run" --unit 3-5,7..8,7 --form weights --strongest 6 --no-figures --out "$work/some" --json
expect_code 0
expect_json "[u['name'] for u in j['units']] == ['3 - 5', '7', '8'] and j['form'] == 'weights'"
[ ! -e "$work/some/figures" ] || fail "--no-figures wrote figures"
run spectrum "$work/run" --unit 3 --draw ascii --no-figures --out "$work/some"
expect_code 0
refused "no class '12'" spectrum "$work/run" --unit 12
refused "runs backwards" spectrum "$work/run" --unit 5..2
refused "no layer 2" spectrum "$work/run" --layer 2
for verb in spectrum ablate compare neurons readability; do
  refused "cannot be '0'" $verb "$work/run" --layer 0
done
refused "cannot be '0'" spectrum "$work/run" --from-layer 0
refused "there is no eigenvector 0" spectrum "$work/run" --via 0
refused "nothing stands after hidden:" spectrum "$work/run" --direction hidden: --controls none
run spectrum "$work/run" --unit 3 --controls none --no-figures --draw none --out "$work/some"
expect_code 0
expect_out "form:  scaled, fitted to"
refused "--form" spectrum "$work/run" --form best

# Refined: on request, kept beside the plain one, the same bytes at any number of threads.
for threads in 1 3; do
  cp -r "$work/run" "$work/refined-$threads"
  run spectrum "$work/refined-$threads" --refine --json --no-figures --threads $threads
  expect_code 0
  cp "$work/out" "$work/refined-$threads.json"
done
cmp -s "$work/refined-1/calibration.safetensors" "$work/refined-3/calibration.safetensors" || fail "refined lines differ at 3 threads"
python3 - "$work/json-1" "$work/refined-1.json" <<'PY' || fail "--refine does not refine"
import json, sys
plain, refined = (json.load(open(p))["fidelity"]["scaled"] for p in sys.argv[1:])
assert refined["agreement"] >= plain["agreement"] - 0.002 and refined["r2"] != plain["r2"], (plain, refined)
PY
run spectrum "$work/refined-1" --json --no-figures --out "$work/plain"
python3 - "$work/json-1" "$work/out" <<'PY' || fail "the plain form is another one after --refine"
import json, sys
a, b = (json.load(open(p))["fidelity"] for p in sys.argv[1:])
assert a == b, (a, b)
PY

# A gate that is not odd has the scaled form only behind a norm.
run train quick --epochs 1 --gate silu --out "$work/silu" --quiet
expect_code 0
run spectrum "$work/silu" --json --no-figures
expect_code 0
expect_json "j['form'] == 'calibrated' and 'scaled' not in j['fidelity']"
refused "without a norm" spectrum "$work/silu" --form scaled

# A deeper model with everything, and the layer below the last.
run train quick --epochs 1 --layers 2 --bias --residual --norm rms --gate silu --out "$work/deep" --quiet
expect_code 0
run spectrum "$work/deep" --json --no-figures
expect_code 0
expect_json "j['form'] == 'calibrated' and j['fidelity']['scaled']['r2'] > j['fidelity']['weights']['r2']"
# What goes past the layer is no eigenvector's: neither in their R2 nor in their share.
expect_json "j['truncation']['residual'] and j['fidelity']['scaled']['eigenvectors_r2'] < j['fidelity']['scaled']['r2'] - 0.05"
expect_json "all(0 < u['quadratic_share'] < 0.99 for u in j['units'])"
expect_json "j['layer'] == 2 and j['fidelity']['local']['largest_error'] < 1e-5 * j['fidelity']['local']['largest_value']"
run spectrum "$work/deep" --layer 1 --via 2 --unit 0,1 --json
expect_code 0
expect_json "j['layer'] == 1 and len(j['units']) == 2 and j['units'][0]['name'].startswith('0 via ')"
ls "$work/deep/figures" | grep -q '^features-0-1-via-v2-[0-9a-f]*-calibrated-layer-1.svg$' || fail "no figure of the lower layer"
ls "$work/deep" | grep -q '^spectra-0-1-via-v2-[0-9a-f]*-calibrated-layer-1.safetensors$' || fail "no spectra of the lower layer"
refused "more layers" spectrum "$work/deep" --layer 1 --via 1,2

# A model that is not what it should be is a bad file.
broken() { # NAME PYTHON [CODE]: edits `head` and `data` of the weights
  rm -rf "$work/broken" && cp -r "$work/run" "$work/broken"
  python3 - "$work/broken/model.safetensors" "$2" <<'PY'
import json, struct, sys
raw = open(sys.argv[1], "rb").read()
n = struct.unpack("<Q", raw[:8])[0]
head, data = json.loads(raw[8:8 + n]), bytearray(raw[8 + n:])
exec(sys.argv[2])
text = json.dumps(head).encode()
text += b" " * (-len(text) % 8)
open(sys.argv[1], "wb").write(struct.pack("<Q", len(text)) + text + data)
PY
  python3 tests/cli/reseal.py "$work/broken" # no damage: weights that were wrong from the beginning
  run spectrum "$work/broken" --no-figures
  [ "$code" -eq "${3:-3}" ] || fail "$1: exit code $code: $(cat "$work/err")"
  expect_no_out
}
broken "NaN in the weights" 'data[400:404] = struct.pack("<f", float("nan"))' 4
broken "a wrong shape" 'head["head.weight"]["shape"].reverse()'
broken "a missing tensor" 'begin, end = head.pop("head.weight")["data_offsets"]; assert end == len(data); del data[begin:]'
broken "an extra tensor" 'head["more"] = {"dtype": "F32", "shape": [1], "data_offsets": [len(data), len(data) + 4]}; data += bytes(4)'
rm -rf "$work/broken" && cp -r "$work/run" "$work/broken" && echo "junk" >"$work/broken/calibration.safetensors"
run spectrum "$work/broken" --no-figures
expect_code 3
expect_err "calibration.safetensors"
run spectrum "$work/nothing"
expect_code 3

finish
