#!/usr/bin/env bash
# glint bench: the numbers are there, in every form, and wrong shapes are refused.
glint=$1
source "$2/tests/cli/check.sh"

json=$("$glint" bench gates --shapes 64x32,32x16x48 --repeats 2 --unfused --format json --quiet) || fail "bench gates ended with $?"
python3 - "$json" "$("$glint" gates --json)" <<'PY' || fail "the JSON is not as documented"
import json, sys
data = json.loads(sys.argv[1])
rows = data["rows"]
gates = [g["name"] for g in json.loads(sys.argv[2])["gates"] if g["glu"]]
for batch, d_in, d_out in ((64, 32, 32), (32, 16, 48)):
    mine = [r for r in rows if (r["batch"], r["d_in"], r["d_out"]) == (batch, d_in, d_out)]
    assert [r["gate"] for r in mine] == ["products"] + gates + gates, mine
    assert [r["fused"] for r in mine[1:]] == [True] * len(gates) + [False] * len(gates)
    for r in mine:
        assert 0 < r["best_ms"] <= r["low_ms"] <= r["median_ms"] <= r["high_ms"], r
        assert r["repeats"] == 2 and r["products_ms"] == mine[0]["median_ms"]
        assert abs(r["over_products"] - r["median_ms"] / mine[0]["median_ms"]) < 1e-9
assert set(data["geometric_means"]) == set(gates) | {g + " (unfused)" for g in gates}
assert data["threads"] >= 1 and data["precision"] == "f32"
PY
"$glint" bench gates --shapes 16x16 --gates sqs --repeats 1 --format csv --quiet | head -1 | grep -q '^batch,d_in,d_out,gate,' || fail "CSV head"
"$glint" bench gates --shapes 16x16 --gates sqs --repeats 1 --format md --quiet | grep -q '^| *16 |' || fail "Markdown row"
GLINT_BF16=emulated "$glint" bench gates --shapes 32x32 --gates sqs --repeats 1 --precision bf16 --json --quiet | grep -q '"precision": "bf16"' || fail "emulated bf16"

json=$("$glint" bench lm --rows 2 --micro-batch 2 --repeats 1 --threads 1 --json --quiet) || fail "bench lm ended with $?"
python3 - "$json" <<'PY' || fail "the JSON of bench lm is not as documented"
import json, sys
whole, ragged = json.loads(sys.argv[1])["rows"]
assert whole["lengths"] == [256, 256] and whole["tokens"] == 512
assert all(64 <= n <= 256 for n in ragged["lengths"]) and ragged["tokens"] == sum(ragged["lengths"])
assert abs(whole["tokens_per_second"] - 512 / whole["median_ms"] * 1e3) < 1e-6 * whole["tokens_per_second"]
PY

for shapes in 0x4 4 4x4x4x4 axb 99999x4 x4; do refused BATCHxWIDTH bench gates --shapes "$shapes"; done
refused "did you mean gates?" bench gats
refused "did you mean sqs?" bench gates --gates sq
finish
