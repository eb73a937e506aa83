#!/usr/bin/env bash
# glint reproduce: the quick form on the built-in data sets, from nothing to the report; again; interrupted; in
# shares; refused.
set -uo pipefail
glint=$1
source "$2/tests/cli/check.sh"
export GLINT_RECIPES=$2/recipes
cd "$work" || exit 1

refused "tabel1" reproduce tabel1
refused "--shard" reproduce --shard 3/2
refused "--shard" reproduce --shard two
refused "is not the name of a data set" reproduce --data some/folder
refused "no data set is named" reproduce --data ,
refused "not a corpus" reproduce stories --stories nowhere
refused "a tokenized corpus" reproduce fig1 --stories /etc
refused "trains nothing that could be shared" reproduce --judge-only --shard 1/2

# Two shares, as two machines would train them; the second is interrupted and goes on.
run reproduce --quick --data glyphs --seeds 1 --shard 1/2 --out first --quiet
expect_code 0
expect_out "Share 1 of 2 is trained"
[ ! -e first/report.html ] || fail "a share wrote a report"
"$glint" reproduce --quick --data glyphs --seeds 1 --shard 2/2 --out second >/dev/null 2>interrupted &
pid=$!
while kill -0 "$pid" 2>/dev/null; do
  [ -n "$(find second -name metrics.jsonl -size +0 2>/dev/null | head -1)" ] && break
  sleep 0.05
done
kill -INT "$pid"
wait "$pid"
code=$?
# A machine may be so fast that nothing was left to interrupt.
[ "$code" -eq 130 ] || [ "$code" -eq 0 ] || fail "interrupted: exit code $code: $(cat interrupted)"
[ "$code" -eq 0 ] || grep -q "the same command goes on" interrupted || fail "no word on how to go on"
run reproduce --quick --data glyphs --seeds 1 --shard 2/2 --out second --quiet
expect_code 0

# Merged by copying: nothing is left to train.
cp -r second/runs/. first/runs/
stamps() { find first/runs -name model.safetensors -printf '%p %T@\n' | sort; }
before=$(stamps)
[ "$(echo "$before" | wc -l)" -eq 39 ] || fail "not 39 runs: $before"
run reproduce --quick --data glyphs --seeds 1 --out first --json
expect_code 0
expect_out '"verdict": "not tested at this scale"'
expect_out '"decided": 0'
[ "$before" = "$(stamps)" ] || fail "finished runs were trained again"

expect_out '"schema": "glint-reproduce/1"'
cp "$work/out" "$work/all.json"

# The report and its files.
for name in report.html report.md measured.json timing.json tables/table1.csv tables/table1.json tables/paired.csv \
  tables/verdicts.json tables/fidelity.csv tables/depth.csv tables/timing.csv tables/runs.csv figures/figure1.svg \
  figures/figure1.csv figures/figure3-glyphs-loss.svg figures/figure3-glyphs-accuracy.csv figures/figure2a-glyphs.svg \
  figures/figure2b-glyphs-weights-pixels.csv figures/spectrum-glyphs-5.svg figures/explanation.svg \
  figures/depth-glyphs.svg tables/formulas.csv tables/choices.csv tables/classes.csv tables/language.csv \
  tables/efficiency.csv figures/language-weights.svg figures/depth-rms-glyphs.svg figures/truncation-glyphs-weights.svg; do
  [ -s "first/$name" ] || fail "no $name"
done
grep -q "This is the quick form" first/report.html || fail "report.html does not say that it is quick"
grep -q "This is the quick form" first/report.md || fail "report.md does not say that it is quick"
grep -q 'src="http' first/report.html && fail "the page fetches something"
command -v python3 >/dev/null && python3 - <<'EOF' || fail "the tables are not what they should be"
import json
t = json.load(open("first/tables/table1.json"))
image = [r for r in t if r["data"] == "glyphs" and r["norm"] == "none"]
with_norm = [r for r in t if r["norm"] == "rms"]
tales = [r for r in t if r["data"] == "tales"]
assert len(image) == len(tales) == len(with_norm) == 5 * 4 * 2, (len(image), len(tales), len(with_norm))
assert all(r["n"] == 1 and r["paper"] is None for r in t)
for gate in {r["gate"] for r in t}:
    steps = [r["step"] for r in image if r["gate"] == gate and r["quantity"] == "loss"]
    assert steps == sorted(steps) and len(set(steps)) == 4, steps
for share in (0.25, 1):  # one best loss a checkpoint
    assert sum(r["best"] is True for r in image if r["share"] == share and r["quantity"] == "loss") >= 1
v = json.load(open("first/tables/verdicts.json"))
words = {"holds", "holds in part", "does not hold", "not tested at this scale"}
assert len(v) >= 12 and all(f["verdict"] in words for f in v)
# Whoever is told nothing is told why.
assert all(f["why_not_tested"] for f in v if f["verdict"] == "not tested at this scale"), v
by_id = {f["id"]: f["why_not_tested"] for f in v}
assert "MNIST was not run" in by_id["loss-below"] and "tales" in by_id["best-stories"], by_id
# Of what it cannot decide every claim says what the small data say, but those about three shapes or many seeds.
small = {f["id"]: f["small_data"] for f in v}
for name in by_id:
    place = "on these shapes: " if name == "as-fast" else "on tales: " if name in ("best-stories", "language-readable") else "on glyphs: "
    if name not in ("similarity-control", "depth"):
        assert small[name].startswith(place), (name, small[name])
paper = {f["id"]: f["paper_numbers"] for f in v}
assert paper["lowest-loss"] == "does not hold" and paper["loss-below"] == "holds" and not paper["explains"], paper
f = json.load(open("first/tables/formulas.json"))
assert {r["id"] for r in f} >= {"limit", "factor", "symmetric", "p-one"}
verdicts = {r["id"]: r["verdict"] for r in f}
assert verdicts["limit"] == verdicts["p-one"] == "holds" and verdicts["factor"] == "does not hold", verdicts
layers = json.load(open("first/tables/language.json"))
assert {r["gate"] for r in layers} == {"sqs", "identity", "relu", "gelu", "silu"}
assert all(r["r2"] > 0.999 for r in layers if r["gate"] == "identity" and r["form"] == "weights"), layers
f = json.load(open("first/tables/fidelity.json"))
bilinear = [r for r in f if r["gate"] == "identity" and r["form"] != "linear map"]
assert sum(r["form"] == "linear map" for r in f) == 5 and all("untrained_agreement" in r for r in f), f
assert bilinear and all(r["agreement"] > 0.999 and r["r2"] > 0.999 for r in bilinear), bilinear
runs = json.load(open("first/tables/runs.json"))
assert len(runs) == 39 and all(r["state"] == "finished" for r in runs)
EOF

# Judged and written again from what was measured, without a run: the same bytes.
files() { (cd first && sha256sum report.* tables/* figures/*); }
whole=$(files)
mv first/runs elsewhere
rm -r first/report.* first/tables first/figures
run reproduce --judge-only --out first --json
expect_code 0
cmp -s "$work/out" "$work/all.json" || fail "--judge-only finds something else: $(diff "$work/out" "$work/all.json")"
[ "$whole" = "$(files)" ] || fail "--judge-only writes another report: $(diff <(echo "$whole") <(files))"
[ ! -e first/runs ] || fail "--judge-only made runs"
mv elsewhere first/runs
run reproduce fig1 --judge-only --out first
expect_code 3
expect_err "nothing has been measured here yet"
sed 's/"quick":true/"quick":false/' first/measured.json >first/changed.json
cmp -s first/measured.json first/changed.json && fail "the test changed nothing"
mkdir changed && mv first/changed.json changed/measured.json
run reproduce --judge-only --out changed
expect_code 3
expect_err "damaged"

# A part has a folder of its own and leaves the files of the whole alone; what is small is small in every part.
for part in fig1 fig2 fig3 fidelity depth formulas choice norm language; do
  run reproduce $part --quick --data glyphs --seeds 1 --out first --json
  expect_code 0
  expect_out "first/$part/report.html"
  [ -s first/$part/report.html ] || fail "no report of $part"
  grep '"verdict"' "$work/out" | grep -qv "not tested at this scale" && fail "a quick $part gives a verdict"
done
# The formulas are statements, no claims: the terminal has them all, each with what came out.
run reproduce formulas --quick --data glyphs --seeds 1 --out first
expect_code 0
said=$(grep -cE ' section [0-9.]+,? +(holds|holds in part|does not hold)$' "$work/out")
[ "$said" -gt 0 ] && [ "$said" -eq "$(grep -o '"id": *"[^"]*"' first/formulas/tables/formulas.json | sort -u | wc -l)" ] ||
  fail "not every statement has its verdict: $(cat "$work/out")"
[ "$whole" = "$(files)" ] || fail "a part overwrote files of the whole report"

# Metrics that were cut are an error, not a result.
cp first/runs/glyphs-4.2/relu/seed-0/metrics.jsonl kept
head -n 2 kept > first/runs/glyphs-4.2/relu/seed-0/metrics.jsonl
run reproduce fig3 --quick --data glyphs --seeds 1 --out first
expect_code 3
expect_err "the metrics of a finished run are not complete"
cp kept first/runs/glyphs-4.2/relu/seed-0/metrics.jsonl

# A run directory with something else in it is not touched.
run train quick --epochs 1 --out first/runs/glyphs-4.2/sqs/seed-1 --quiet
run reproduce table1 --quick --data glyphs --seeds 2 --out first
expect_code 2
expect_err "another run"
expect_err "remove that directory"
finish
