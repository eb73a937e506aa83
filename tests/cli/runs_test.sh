# glint runs: states, what differs, filters, order, CSV, JSON, curves.
glint=$1
source "$2/tests/cli/check.sh"
cd "$2" || exit 1 # the recipes are there

small=(quick --d-model 12 --batch 512 --quiet)
run train "${small[@]}" --epochs 2 --seeds 0..1 --out "$work/runs/sqs"
run train "${small[@]}" --epochs 2 --gate silu --out "$work/runs/silu"
expect_code 0
cp -r "$work/runs/silu" "$work/runs/broken"
printf 'x' | dd of="$work/runs/broken/model.safetensors" bs=1 seek=3000 conv=notrunc 2>/dev/null

# A damaged run is listed with the others, and the exit code says that there is one.
run runs "$work/runs"
expect_code 3
expect_err "1 run is damaged"
expect_err "$work/runs/broken"
for part in "gate" "seed" "finished" "damaged: model.safetensors" "the same in all: data glyphs" "accuracy %"; do expect_out "$part"; done
grep -q "d-model .*state" "$work/out" && fail "an option that is the same everywhere has a column"

# A run that is being trained, and after a kill a stopped one.
"$glint" train "${small[@]}" --epochs 2000 --checkpoint-every 5 --threads 1 --out "$work/long" >"$work/log" 2>&1 &
pid=$!
for ((i = 0; i < 3000; i++)); do
  [ "$(find "$work/long/checkpoints" -name 'step-*' 2>/dev/null | wc -l)" -ge 2 ] && break
  sleep 0.02
done
run runs "$work/long"
expect_code 0
expect_out "running, step "
kill -9 $pid
wait $pid 2>/dev/null
run runs "$work/long" --json
expect_code 0
expect_json "j['schema'] == 'glint-runs/1' and j['runs'][0]['state'] == 'stopped' and j['runs'][0]['step'] % 5 == 0 and j['runs'][0]['step'] > 0"
run runs "$work/long"
expect_out "stopped at step "

# Filters and order.
run runs "$work/runs" --where gate=sqs --where seed=1 --json
expect_code 0
expect_json "j['found'] == 4 and [r['run'].split('/')[-1] for r in j['runs']] == ['seed-1']"
run runs "$work/runs" --where 'accuracy>=0' --sort -loss --json
expect_json "len(j['runs']) == 4 and all(a['test_loss'] >= b['test_loss'] for a, b in zip(j['runs'], j['runs'][1:]))"
run runs "$work/runs" --where state=damaged --csv
expect_code 3
[ "$(wc -l <"$work/out")" -eq 2 ] || fail "CSV: $(cat "$work/out")"
grep -q '^run,state,test_loss,test_accuracy_percent,seconds$' "$work/out" || fail "CSV header: $(head -1 "$work/out")"
# Other programs read numbers, and nothing where nothing is known.
cp -r "$work/runs/silu" "$work/unmeasured"
echo "no JSON" >"$work/unmeasured/run.json"
run runs "$work/runs" "$work/unmeasured" --csv
expect_code 3
expect_err "2 runs are damaged"
python3 - "$work/out" <<'PY' || fail "CSV: $(cat "$work/out")"
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
assert any(float(r["seconds"]) > 0 for r in rows if r["seconds"]), rows
for r in rows:
    assert "-" not in r.values(), r
    for key in ("test_loss", "test_accuracy_percent", "seconds"):
        assert r[key] == "" or float(r[key]) >= 0, r
assert any(r["seconds"] == "" for r in rows), "no run without a time"
PY
run runs "$work/runs" --where gate=relu
expect_code 0
expect_out "None of the 4 runs passes"

# Curves: the two seeds are one.
run runs "$work/runs" --where state=finished --figure "$work/curves.svg"
expect_code 0
for f in curves.svg curves.csv; do [ -s "$work/$f" ] || fail "no $f"; done
[ "$(cut -d, -f1 "$work/curves.csv" | sort -u | wc -l)" -eq 3 ] || fail "not two curves: $(cat "$work/curves.csv")"

refused "no folder is given" runs
refused "did you mean gate" runs "$work/runs" --where gaet=sqs
refused "cannot read the filter" runs "$work/runs" --where gate
refused "did you mean loss" runs "$work/runs" --sort los
refused "exclude each other" runs "$work/runs" --csv --json
mkdir "$work/empty"
run runs "$work/empty"
expect_code 3
expect_err "no run in this folder"
run runs "$work/nowhere"
expect_code 3
finish
