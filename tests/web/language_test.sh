#!/usr/bin/env bash
# The explorer of a language run in a real browser: its tokens, losses and spectra against the program's. Skipped
# where there is no node, no Chromium or no playwright-core.
source "$2/tests/web/browser.sh"

mkdir "$work/pages"
run tokenize --tales 300 --vocab 512 --out "$work/bpe-corpus" --quiet
expect_code 0
run tokenize --tales 300 --vocab 300 --kind unigram --no-byte-fallback --out "$work/unigram-corpus" --quiet
expect_code 0
for kind in bpe unigram; do
  run train tales --data "$work/$kind-corpus" --epochs 1 --layers 2 --d-model 32 --out "$work/$kind" --quiet
  expect_code 0
  run page "$work/$kind" --out "$work/pages/$kind.html" --quiet
  expect_code 0
done
size=$(stat -c %s "$work/pages/bpe.html")
run page "$work/bpe" --out "$work/pages/half.html" --limit $((size - 1)) --json
expect_code 0
expect_out '"f16"'

# What the program says of some texts and of a token.
python3 - "$glint" "$work" <<'PYTHON' || fail "the program cannot read the texts"
import json, subprocess, sys
glint, work = sys.argv[1:]
texts = ["once upon a time there was a little girl.", "The BIG dog  ran,\tand ran!", "\u00c9t\u00e9 stra\u00dfe \ufb01ne \u2460 \uff21 \u4f60\u597d \U0001f600",
         "\"why?\" she asked. 3 <0x41> <unk> \u2581 x", " a "]
def ask(*words):
    return json.loads(subprocess.run([glint, *words, "--json"], check=True, stdout=subprocess.PIPE).stdout)
for kind in ["bpe", "unigram"]:
    found = []
    for text in texts:
        open(work + "/text.txt", "w", encoding="utf-8").write(text)
        j = ask("eval", work + "/" + kind, "--text", work + "/text.txt")
        found.append({"text": text, "tokens": j["tokens"], "loss": j["loss"]})
    s = ask("spectrum", work + "/" + kind, "--layer", "1", "--token", "the", "--form", "calibrated", "--no-figures", "--out", work + "/spectrum")
    out = {"texts": found, "spectrum": {"layer": 1, "form": s["form"], "token": "the", "unit": s["units"][0]}}
    for name in [kind, "half"] if kind == "bpe" else [kind]:
        json.dump(out, open(f"{work}/pages/{name}.json", "w"))
PYTHON

hostile="$work/<img src=x onerror=owned=1>"
cp -r "$work/bpe" "$hostile"
python3 - "$hostile" <<'PYTHON' || fail "cannot make the hostile run"
import json, sys
run = json.load(open(sys.argv[1] + "/run.json"))
run["machine"]["cpu"] = "</script><img src=x onerror=owned=4>{{data}}"
json.dump(run, open(sys.argv[1] + "/run.json", "w"))
PYTHON
python3 "$2/tests/cli/reseal.py" "$hostile" || fail "cannot seal the hostile run"
run page "$hostile" --out "$work/pages/hostile.html" --quiet
expect_code 0
[ "$failures" -eq 0 ] || finish

node "$web/language_test.mjs" "$work/pages"
code=$?
[ "$code" -eq 77 ] && exit 77
[ "$code" -eq 0 ] || fail "the page fails in the browser"
finish
