# glint sweep: a plan without multiples, runs used again, stopped and gone on, one table, files, an answer.
glint=$1
source "$2/tests/cli/check.sh"
export COLUMNS=220  # its table has many columns; names of settings stay whole
cd "$2" || exit 1 # the recipes are there

small=(quick --d-model 12 --epochs 1 --batch 512)
grid=("${small[@]}" --gate sqs,identity,silu --lambda 0.1,0.5 --norm none,rms --seeds 0..1)

# The plan: shrinks are SQS's alone, (2 + 1 + 1) x 2 settings. Each line trains one run.
run sweep "${grid[@]}" --out "$work/sweep" --list
expect_code 0
[ "$(wc -l <"$work/out")" -eq 16 ] || fail "the plan has $(wc -l <"$work/out") lines"
expect_err "8 settings x 2 seeds = 16 runs; 0 finished"
expect_out "glint train quick --gate silu --d-model 12 --norm rms --batch 512 --epochs 1 --seed 1 --out"
[ ! -e "$work/sweep" ] || fail "--list wrote something"
sed "s|^glint|$glint|" "$work/out" | head -1 >"$work/first"
bash "$work/first" >"$work/log" 2>&1 || fail "a line of the plan does not train: $(cat "$work/log")"
run sweep "${grid[@]}" --out "$work/sweep" --list --json
expect_code 0
expect_json "j['schema'] == 'glint-plan/1' and sum(r['finished'] for r in j['runs']) == 1 and len(j['runs']) == 16"

# Ctrl-C saves, and the same command goes on: 15 runs are left, then fewer.
"$glint" sweep "${grid[@]}" --out "$work/sweep" --threads 1 >"$work/out" 2>"$work/err" &
pid=$!
for ((i = 0; i < 3000; i++)); do
  grep -q '^3/15  ' "$work/err" && break
  sleep 0.02
done
kill -INT $pid
wait $pid
code=$?
command_line="glint sweep, interrupted"
expect_code 130
expect_err "runs are not finished"
expect_err "the same command goes on from there"
expect_no_out
run sweep "${grid[@]}" --out "$work/sweep"
expect_code 0
grep -q "^1/15  " "$work/err" && fail "finished runs were trained again"
for part in "setting" "weights %" "calibrated %" "sqs, lambda 0.1" "norm rms" "silu, norm none" "slope" "halves |cos|" " ± " "Choose " "sweep.html"; do
  expect_out "$part"
done
[ "$(grep -c "^Choose " "$work/out")" -eq 1 ] || fail "not one answer"
cp "$work/out" "$work/table"

grep -q "seeds" "$work/out" || fail "the table does not say how alike seeds are"

# Again: nothing is trained, the result is the same.
run sweep "${grid[@]}" --out "$work/sweep" --quiet
expect_code 0
cmp -s "$work/out" "$work/table" || fail "the second time the table is another one"
[ ! -s "$work/err" ] || fail "--quiet is not quiet: $(cat "$work/err")"

# The files.
for f in sweep.html sweep.csv sweep.json figures/pareto.svg figures/pareto.csv figures/heat-maps.svg figures/heat-maps.csv; do
  [ -s "$work/sweep/$f" ] || fail "no $f"
done
grep -q '^"sqs, lambda 0.1, norm rms",' "$work/sweep/figures/pareto.csv" || fail "no setting is named in full"
[ "$(wc -l <"$work/sweep/sweep.csv")" -eq 9 ] || fail "sweep.csv has $(wc -l <"$work/sweep/sweep.csv") lines"
python3 - "$work/sweep" <<'PY' || fail "the files are not what they should be"
import csv, hashlib, json, re, sys
folder = sys.argv[1]
text = open(folder + "/sweep.json", encoding="utf-8").read()
j = json.loads(text)
assert j["schema"] == "glint-sweep/1" and len(j["settings"]) == 8 and j["options"]["lambda"] == ["0.1", "0.5"]
assert hashlib.sha256(text.rstrip("\n").replace(j["sha256"], "0" * 64).encode()).hexdigest() == j["sha256"], "seal"
rows = list(csv.DictReader(open(folder + "/sweep.csv", encoding="utf-8")))
for row, s in zip(rows, j["settings"]):
    runs = [r["values"] for r in s["runs"]]
    for key in ("test_loss", "test_accuracy", "agreement_weights", "agreement_calibrated", "stability_seeds"):
        mean = sum(r[key] for r in runs) / 2
        assert abs(mean - s["mean"][key]) < 1e-12 and float(row[key]) == s["mean"][key], key
        if key == "stability_seeds":
            assert key not in s["sd"] and row[key + "_sd"] == "", "of one pair there is no spread"
            continue
        assert abs(abs(runs[0][key] - runs[1][key]) / 2 ** 0.5 - s["sd"][key]) < 1e-12, key
    if s["options"]["gate"] == "identity":
        assert s["mean"]["agreement_weights"] > 0.999
    else:
        assert ("lambda" in s["options"]) == (s["options"]["gate"] == "sqs")
# The answer: within the tolerance of the lowest loss nothing agrees more.
lowest = min(s["mean"]["test_loss"] for s in j["settings"])
near = [s for s in j["settings"] if s["mean"]["test_loss"] <= lowest * 1.05]
assert j["choice"]["setting"] == max(near, key=lambda s: (s["mean"]["agreement_weights"], -s["mean"]["test_loss"]))["name"]
# The page needs no network and no script; every point leads to a setting that is there, with pictures.
page = open(folder + "/sweep.html", encoding="utf-8").read()
assert "<script" not in page and not re.search(r'(?:src|href)="https?:', page)
links = re.findall(r'<a href="#(setting-\d+)"><(?:circle|rect|path)', page)
assert sorted(links) == sorted("setting-%d" % (i + 1) for i in range(8)), links
for link in links:
    section = page.split('id="%s">' % link)[1].split("</section>")[0]
    assert section.count("data:image/png;base64,") >= 20, link
PY

# What is said of seeds is what glint readability says of them.
folder=$(find "$work/sweep/runs" -mindepth 1 -maxdepth 1 | sort | head -1)
run readability "$folder" --form weights --json
expect_code 0
python3 - "$work/out" "$work/sweep/readings/$(basename "$folder")-seeds.json" <<'PY' || fail "the sweep and readability differ"
import json, sys
r, s = (json.load(open(f)) for f in sys.argv[1:])
assert [x["stability_seeds"] for x in r["runs"]] == s["alike"] and all(0 < v < 1 for v in s["alike"]), s
PY

# A longer list trains only what is new.
run sweep "${small[@]}" --lambda 0.1,0.5,2 --seeds 0..1 --out "$work/sweep"
expect_code 0
expect_err "2/2  sqs-lambda-2"
run runs "$work/sweep/runs" --json
expect_json "j['found'] == 18 and all(r['state'] == 'finished' for r in j['runs'])"

# One at a time: the recipe and three changes of it; no heat map.
run sweep "${small[@]}" --lambda 0.1,0.5 --lr 1e-3,2e-3,4e-3 --seeds 0 --one-at-a-time --out "$work/one" --json
expect_code 0
expect_json "[s['name'] for s in j['settings']] == ['lambda 0.5, lr 0.002', 'lambda 0.1, lr 0.002', 'lambda 0.5, lr 0.001', 'lambda 0.5, lr 0.004']"
expect_json "not any('heat' in f for f in j['files']) and j['settings'][0]['sd'] == {}"

# A language model: R2 instead of agreement.
run sweep tales --d-model 16 --d-hidden 16 --heads 2 --layers 1 --context 32 --epochs 1 --gate sqs,identity --seeds 0 --out "$work/tales"
expect_code 0
for part in "validation loss" "weights R2" "Choose "; do expect_out "$part"; done

# What makes no sense.
refused "--lambda cannot be '-1'" sweep quick --lambda 0,-1
refused "means nothing for these gates" sweep quick --gate silu --lambda 0,1
refused "a value is empty" sweep quick --lambda 0,,1
refused "one value" sweep quick --data mnist,glyphs
refused "unknown option '--seed'" sweep quick --seed 1,2
refused "cannot read the seeds" sweep quick --seeds 3..1
# A folder with runs of another recipe is left alone.
sed 's/^noise-std.*/noise-std = 0.1/' recipes/quick.toml >"$work/other.toml"
refused "the directory holds another run" sweep "$work/other.toml" "${small[@]:1}" --lambda 0.1,0.5 --seeds 0 --out "$work/sweep"
expect_err "another --out, or remove that directory"
finish
