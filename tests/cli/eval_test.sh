# glint eval: the figures of the run, the same in every form, and clear errors.
glint=$1
source "$2/tests/cli/check.sh"
cd "$2" || exit 1 # the recipes are there

json_setup="last = json.loads(open('$work/run/metrics.jsonl').read().splitlines()[-1])"

run train quick --epochs 2 --out "$work/run" --quiet
expect_code 0

# The last evaluation of the run, to the last digit, at any number of threads.
for threads in 1 2 3; do
  run eval "$work/run" --json --threads $threads --logits "$work/logits.npy"
  expect_code 0
  expect_json "j['loss'] == last['test_loss'] and j['accuracy'] == last['test_accuracy']"
  cp "$work/logits.npy" "$work/logits-$threads.npy"
done
cmp -s "$work/logits-1.npy" "$work/logits-2.npy" || fail "the logits depend on the number of threads"
cmp -s "$work/logits-1.npy" "$work/logits-3.npy" || fail "the logits depend on the number of threads"

expect_json "j['images'] == 2000 == sum(map(sum, j['confusion']))"
expect_json "j['correct'] == sum(j['confusion'][i][i] for i in range(10)) == round(j['accuracy'] * 2000)"
expect_json "abs(j['accuracy_standard_error'] - math.sqrt(j['accuracy'] * (1 - j['accuracy']) / 2000)) < 1e-15"
expect_json "all(c['images'] == sum(j['confusion'][i]) for i, c in enumerate(j['classes']))"
expect_json "all(abs(c['recall'] * c['images'] - c['correct']) < 1e-9 for c in j['classes'])"
expect_json "all(abs(c['precision'] * sum(r[i] for r in j['confusion']) - c['correct']) < 1e-9 for i, c in enumerate(j['classes']))"
expect_json "len(j['worst']) == 10 and j['worst'] == sorted(j['worst'], key=lambda w: -w['loss'])"
# The loss of an image is -log p(true). Single precision: the loss is below 20, so its rounding below 2e-6, and
# the sum of ten exponentials adds a few roundings of 1.2e-7.
expect_json "all(abs(w['loss'] + math.log(w['probability_true'])) < 1e-5 for w in j['worst'])"

# The logits are those that the figures come from.
cp "$work/out" "$work/eval.json"
python3 - "$work/logits.npy" "$work/eval.json" <<'PYTHON' || fail "the logits do not fit the figures"
import array, ast, json, math, sys
raw = open(sys.argv[1], "rb").read()
assert raw[:6] == b"\x93NUMPY"
size = int.from_bytes(raw[8:10], "little")
header = ast.literal_eval(raw[10:10 + size].decode())
assert header == {"descr": "<f4", "fortran_order": False, "shape": (2000, 10)}, header
values = array.array("f", raw[10 + size:])
rows = [values[10 * i:10 * i + 10] for i in range(2000)]
j = json.load(open(sys.argv[2]))
predicted = [r.index(max(r)) for r in rows]
for c in range(10):
    assert predicted.count(c) == j["classes"][c]["predicted"]
for w in j["worst"]:
    r = rows[w["index"]]
    total = sum(math.exp(x - max(r)) for x in r)
    assert w["predicted"] == predicted[w["index"]]
    assert abs(w["probability"] - 1 / total) < 1e-12
    assert abs(w["probability_true"] - math.exp(r[w["label"]] - max(r)) / total) < 1e-12
PYTHON

# For people: the same figures.
run eval "$work/run" --worst 4 --sheet "$work/worst.png"
expect_code 0
python3 -c "
import json, sys
j, text = json.load(open(sys.argv[1])), open(sys.argv[2]).read()
assert f\"loss:     {j['loss']:.4f}\n\" in text
assert f\"{100 * j['accuracy']:.2f} ± {100 * j['accuracy_standard_error']:.2f} % ({j['correct']} of 2000)\" in text
rows = [line.split() for line in text.splitlines()]
for i in range(10):
    cells = [str(n) if n else '·' for n in j['confusion'][i]]
    assert any(r[:11] == [str(i)] + cells for r in rows), i
assert sum(r[:1] == [str(w['index'])] for w in j['worst'] for r in rows) >= 4
" "$work/eval.json" "$work/out" || fail "text and JSON differ: $(cat "$work/out")"
[ "$(head -c 4 "$work/worst.png" | tail -c 3)" = PNG ] || fail "no sheet"
run eval "$work/run" --draw blocks --worst 2
expect_code 0
expect_out "true "
expect_out "said "
run eval "$work/run" --worst 0
expect_code 0
if grep -q "highest loss" "$work/out"; then fail "--worst 0 shows images"; fi

run eval "$work/run" --split train --json
expect_code 0
expect_json "j['images'] == 10000 and j['data']['split'] == 'train'"
run eval "$work/run" --isa baseline --json
expect_code 0
# Other instructions round otherwise; a sum of 784 products and two more layers stay far below this.
expect_json "abs(j['loss'] - last['test_loss']) < 1e-4"
GLINT_BF16=emulated run eval "$work/run" --precision bf16 --json
expect_code 0
expect_json "j['precision'] == 'bf16' and j['loss'] != last['test_loss'] and abs(j['loss'] - last['test_loss']) < 0.05"

# Other data: of another size, with more classes, with fewer.
python3 - "$work" <<'PYTHON'
import os, struct, sys
def write(folder, labels, side):
    os.makedirs(folder)
    for part in ("train", "t10k"):
        with open(f"{folder}/{part}-images-idx3-ubyte", "wb") as f:
            f.write(struct.pack(">IIII", 0x803, len(labels), side, side) + bytes(len(labels) * side * side))
        with open(f"{folder}/{part}-labels-idx1-ubyte", "wb") as f:
            f.write(struct.pack(">II", 0x801, len(labels)) + bytes(labels))
write(sys.argv[1] + "/small", [0, 9], 14)
write(sys.argv[1] + "/many", [0, 10], 28)
write(sys.argv[1] + "/few", [0, 1, 2], 28)
PYTHON
run eval "$work/run" --data "$work/small"
expect_code 3
expect_no_out
expect_err "they are 14 x 14"
expect_err "28 x 28"
run eval "$work/run" --data "$work/many"
expect_code 3
expect_err "has 11 classes, more than the model"
expect_err "labels from 0 to 9"
run eval "$work/run" --data "$work/few" --json
expect_code 0
expect_err "has 3 classes, the model 10"
# Blank images have the same logits: without a bias all 0, a loss of log 10, and no recall where there are no images.
expect_json "abs(j['loss'] - math.log(10)) < 1e-6 and j['classes'][5]['recall'] is None and j['images'] == 3"

# What is no run, or not a finished one.
run eval "$work/nothing"
expect_code 3
expect_err "no such run directory"
run eval "$work"
expect_code 3
expect_err "not a run directory"
expect_err "there is a run in $work/run"
refused "RUN is missing" eval
refused "ends in .npy" eval "$work/run" --logits x.txt
refused "nothing to show" eval "$work/run" --worst 0 --sheet x.png
refused "cannot be" eval "$work/run" --split valid

# Stopped by a person: eval names the command that goes on, with every option of the recipe.
interrupted() { # ARGUMENTS...: runs until a line of metrics more is there, then Ctrl-C
  local before=0
  [ ! -f "$work/un finished/metrics.jsonl" ] || before=$(wc -l <"$work/un finished/metrics.jsonl")
  # A shell without job control starts what runs beside it with Ctrl-C ignored; python3 gives it back.
  python3 -c "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])" \
    "$glint" "$@" >"$work/out" 2>"$work/err" </dev/null &
  local process=$!
  while [ ! -f "$work/un finished/metrics.jsonl" ] || [ "$(wc -l <"$work/un finished/metrics.jsonl")" -le "$before" ]; do
    kill -0 $process 2>/dev/null || break
    sleep 0.1
  done
  kill -INT $process
  code=0
  wait $process || code=$?
  command_line="glint $*, interrupted"
}
steps() { sed -n 's/.*saved at step \([0-9]*\) of.*/\1/p' "$work/err"; }
interrupted train quick --epochs 10000 --gate relu --bias --no-drop-last --out "$work/un finished"
expect_code 130
first=$(steps)
run eval "$work/un finished"
expect_code 3
expect_no_out
expect_err "the run is not finished"
command=$(sed -n 's/^  try:      glint //p' "$work/err")
for part in "--bias" "--no-drop-last" "--gate relu" "--epochs 10000"; do expect_err "$part"; done
eval "interrupted $command"
expect_code 130
[ "$(steps)" -gt "$first" ] || fail "the command of eval did not resume: step $(steps) after $first"

cp -r "$work/run" "$work/other"
rm "$work/other/model.safetensors"
run eval "$work/run"
cp "$work/out" "$work/good"
run eval "$work/other"
expect_code 0
expect_err "model.safetensors is missing; the same weights are read from $work/other/checkpoints/step-"
cmp -s <(sed "s|$work/other|$work/run|" "$work/out") "$work/good" || fail "the weights of the checkpoint give another result"
[ ! -e "$work/other/model.safetensors" ] || fail "eval has written weights"
rm -r "$work/other/checkpoints"
run eval "$work/other"
expect_code 3
expect_err "the file with the weights is missing"
command=$(sed -n 's/^  try:      glint \(.*\) trains it again/\1/p' "$work/err")
eval "run $command"
expect_code 0
expect_err "starts again from the beginning"
cmp -s "$work/run/model.safetensors" "$work/other/model.safetensors" || fail "the command of eval trains another model"

# A class name from the file cannot reach the terminal as an escape sequence.
sed -i 's/"9"/"9\\u001b[31mred"/' "$work/other/config.json"
python3 "$2/tests/cli/reseal.py" "$work/other"
run eval "$work/other" --data "$work/few" --draw blocks
expect_code 0
if grep -q $'\x1b\\[31m' "$work/out"; then fail "an escape sequence of config.json reached stdout"; fi

# Changed data: the built-in digits cannot change, so the run says that it had others.
sed -i 's/"checksum": "[0-9a-f]*"/"checksum": "00"/' "$work/other/run.json"
python3 "$2/tests/cli/reseal.py" "$work/other"
run eval "$work/other"
expect_code 0
expect_err "is not what it was when the run was trained"
run eval "$work/other" --quiet
[ ! -s "$work/err" ] || fail "--quiet is not quiet"
finish
