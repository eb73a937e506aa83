# glint page: one file within its limit, the same bytes every time, and clear errors.
glint=$1
source "$2/tests/cli/check.sh"
cd "$2" || exit 1 # the recipes are there

run train quick --epochs 1 --d-model 32 --out "$work/a" --quiet
expect_code 0
run train quick --epochs 1 --d-model 32 --gate identity --out "$work/b" --quiet
expect_code 0

# By default into the run; what is printed is what is there.
run page "$work/a"
expect_code 0
expect_out "$work/a/explorer.html"
expect_out "a, scaled: decides as the model on"
expect_out "a, calibrated: decides as the model on"
expect_out "controls: a: the best linear map"
page=$work/a/explorer.html
[ "$(stat -c %s "$page")" -le 5000000 ] || fail "the page has more than 5 MB"
head -c 15 "$page" | grep -q '<!doctype html>' || fail "the page does not begin as one"

# The same at any number of threads.
for threads in 1 2 3; do
  run page "$work/a" --out "$work/$threads.html" --threads $threads
  expect_code 0
  cmp -s "$page" "$work/$threads.html" || fail "the page depends on the number of threads"
done

# Nothing in it points to a network or to folders of this machine.
grep -oE "(https?:)?//[a-z0-9.-]+\.[a-z]{2,}" "$page" | grep -v "www.w3.org" && fail "the page names an address"
grep -qF "$work" "$page" && fail "the page names a folder of this machine"

# Two runs, and what the program says about them.
run page "$work/a" "$work/b" --out "$work/both.html" --json
expect_code 0
python3 - "$work/out" "$work/both.html" <<'PYTHON' || fail "$command_line: the report is wrong"
import base64, json, os, re, struct, sys, zlib
j = json.load(open(sys.argv[1]))
assert j["bytes"] == os.path.getsize(sys.argv[2]) and j["images"] == 1000 and j["weights"] == "f32", j
assert [r["name"] for r in j["runs"]] == ["a", "b"], j
# A bilinear model is its quadratic form: only rounding is between them.
assert list(j["runs"][1]["forms"]) == ["weights"] and j["runs"][1]["forms"]["weights"]["r2"] > 1 - 1e-9, j
assert list(j["runs"][0]["forms"]) == ["weights", "scaled", "calibrated"], j
html = open(sys.argv[2]).read()
data = json.loads(re.search(r'id="glint-data">(.*?)</script>', html, re.S)[1])
def floats(a):
    raw = base64.b64decode(a["data"])
    if a.get("deflate"):
        raw = zlib.decompress(raw)
    return struct.unpack("<%df" % (len(raw) // 4), raw)
for run in data["runs"]:
    for form in run["forms"]:
        values, accuracy = floats(form["values"]), floats(form["accuracy"])
        assert len(values) == 320 and len(accuracy) == 33, (len(values), len(accuracy))
        assert all(values[i] >= values[i + 1] for i in range(319) if i % 32 != 31)
        if form["name"] == "scaled":  # drawn at the median size of the input
            assert len(floats(form["slope"])) == 32 and form["power"] == 1 and form["size"] > 0, form.keys()
            assert abs(accuracy[32] - form["fidelity"]["accuracyForm"]) < 0.05
        else:
            assert abs(accuracy[32] - form["fidelity"]["accuracyForm"]) < 1e-6
assert [r["form"] for r in data["runs"]] == ["scaled", "weights"]
PYTHON

# Too large for f32: f16, and it says so. Too large altogether: an error with what to do.
size=$(stat -c %s "$page")
run page "$work/a" --out "$work/half.html" --limit $((size - 1))
expect_code 0
expect_out "f16"
[ "$(stat -c %s "$work/half.html")" -lt "$size" ] || fail "f16 weights make no smaller page"
# Too large for f16: fewer images, where nobody asked for so many, and it says so.
limit=$(($(stat -c %s "$work/half.html") - 1))
run page "$work/a" --out "$work/fewer.html" --limit $limit --json
expect_code 0
expect_err "so that the page has at most"
expect_json "j['bytes'] <= $limit and 100 <= j['images'] < 1000 and 2 <= j['vectors'] <= 8"
[ "$(stat -c %s "$work/fewer.html")" -le $limit ] || fail "the page is over its limit"
refused "--images" page "$work/a" --images 1000 --show 8 --out "$work/none.html" --limit $limit
refused "--images" page "$work/a" --out "$work/none.html" --limit 100000
[ ! -e "$work/none.html" ] || fail "a refused page was written"

refused ".html" page "$work/a" --out "$work/page.txt"
refused "RUN" page
run page "$work/nowhere"
expect_code 3
run train quick --epochs 1 --d-model 32 --layers 2 --out "$work/c" --quiet
run page "$work/c" --images 50 --show 3 --out "$work/c.html"
expect_code 0

# A language run: one page, the same at any number of threads, with R2 of every layer and form.
run tokenize --tales 200 --vocab 400 --out "$work/corpus" --quiet
run train tales --data "$work/corpus" --epochs 1 --layers 2 --d-model 32 --out "$work/tales" --quiet
expect_code 0
run page "$work/tales"
expect_code 0
expect_out "tales, calibrated: R2"
page=$work/tales/explorer.html
for threads in 1 3; do
  run page "$work/tales" --out "$work/tales-$threads.html" --threads $threads --json
  expect_code 0
  cmp -s "$page" "$work/tales-$threads.html" || fail "the language page depends on the number of threads"
done
python3 - "$work/out" "$page" <<'PYTHON' || fail "$command_line: the report is wrong"
import json, os, re, sys
j = json.load(open(sys.argv[1]))
forms = j["runs"][0]["forms"]
assert j["bytes"] == os.path.getsize(sys.argv[2]) and j["weights"] == "f32", j
assert [len(forms[f]) for f in ["weights", "scaled", "calibrated"]] == [2, 2, 2], j
# The calibration is fitted on other stories, and its family of lines holds the plain one.
assert all(c["r2"] > w["r2"] for w, c in zip(forms["weights"], forms["calibrated"])), forms
data = json.loads(re.search(r'id="glint-data">(.*?)</script>', open(sys.argv[2]).read(), re.S)[1])
assert data["kind"] == "language" and data["runs"][0]["tensors"]["lm_head.weight"]["shape"] == [400, 32]
PYTHON
grep -qF "$work" "$page" && fail "the language page names a folder of this machine"
refused "cannot stand beside a language model" page "$work/tales" "$work/a"
finish
