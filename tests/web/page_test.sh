#!/usr/bin/env bash
# The explorer page in a real browser: small runs of every gate and option are trained, packed and opened. Skipped
# where there is no node, no Chromium or no playwright-core.
source "$2/tests/web/browser.sh"

# NAME OPTIONS...: trains a run and makes its page.
made() {
  local name=$1
  shift
  run train quick --out "$work/$name" --quiet "$@"
  expect_code 0
  run page "$work/$name" --out "$work/pages/$name.html" --quiet
  expect_code 0
}
mkdir "$work/pages"
made main
made identity --gate identity --seed 1 --epochs 3
made relu --gate relu --layers 2 --bias --epochs 1 --d-model 48
made gelu --gate gelu --norm rms --epochs 1 --d-model 48
made silu --gate silu --layers 2 --residual --bias --norm rms --epochs 1 --d-model 48
made shrunk --gate sqs --p 2.5 --lambda 0.8 --c -0.05 --bias --epochs 1 --d-model 48
made deep --gate identity --layers 3 --d-hidden 40 --epochs 1 --d-model 48
run page "$work/main" "$work/identity" --out "$work/pages/both.html" --quiet
expect_code 0
run page "$work/main" "$work/main" --out "$work/pages/same.html" --quiet
expect_code 0
size=$(stat -c %s "$work/pages/main.html")
run page "$work/main" --out "$work/pages/half.html" --limit $((size - 1)) --quiet
expect_code 0

# A hundred classes: a grid of 10 x 10 places, one of which is inked.
python3 - "$work/hundred" <<'PYTHON' || fail "cannot write the hundred classes"
import os, random, struct, sys
folder = sys.argv[1]
os.makedirs(folder)
random.seed(1)
for part, count in [("train", 4000), ("t10k", 300)]:
    labels = [i % 100 for i in range(count)]
    pixels = bytearray()
    for label in labels:
        image = [[random.randrange(40) for _ in range(20)] for _ in range(20)]
        for y in range(2):
            for x in range(2):
                image[label // 10 * 2 + y][label % 10 * 2 + x] = random.randrange(160, 256)
        pixels += bytes(v for row in image for v in row)
    open(f"{folder}/{part}-images-idx3-ubyte", "wb").write(struct.pack(">IIII", 0x803, count, 20, 20) + pixels)
    open(f"{folder}/{part}-labels-idx1-ubyte", "wb").write(struct.pack(">II", 0x801, count) + bytes(labels))
PYTHON
mkdir "$work/many"
run train quick --data "$work/hundred" --out "$work/many/run" --d-model 64 --epochs 8 --quiet
expect_code 0
run page "$work/many/run" --out "$work/many/page.html" --quiet
expect_code 0

# What the program reads of some images, form by form.
for name in main gelu silu shrunk; do
  for image in 0 7 11; do
    run explain "$work/$name" --index $image --unit 0..9 --json --no-figures
    expect_code 0
    cp "$work/out" "$work/pages/$name-$image.json"
  done
done

# A model that came as weights and config.json, without any record of its training.
run export "$work/main" --hf "$work/foreign" --quiet
expect_code 0
run page "$work/foreign" --data glyphs --out "$work/pages/foreign.html" --quiet
expect_code 0
run page "$work/main" "$work/foreign" --data glyphs --out "$work/pages/half-known.html" --quiet
expect_code 0

# Names that would be markup, in every place that a run has for them.
hostile="$work/<img src=x onerror=owned=1>"
cp -r "$work/main" "$hostile"
python3 - "$hostile" <<'PYTHON' || fail "cannot make the hostile run"
import json, sys
folder = sys.argv[1]
config = json.load(open(folder + "/config.json"))
config["class_names"][0] = "</script><script>owned=2</script>"
config["class_names"][1] = "<img src=x onerror=owned=3>"
config["class_names"][2] = "a\u2028b"
config["class_names"][3] = "{{data}}"
config["class_names"][4] = "<!--<script>"
json.dump(config, open(folder + "/config.json", "w"))
run = json.load(open(folder + "/run.json"))
run["machine"]["cpu"] = "<img src=x onerror=owned=4></dd>"
json.dump(run, open(folder + "/run.json", "w"))
PYTHON
python3 "$2/tests/cli/reseal.py" "$hostile" || fail "cannot seal the hostile run"
run page "$hostile" "$work/identity" --out "$work/pages/hostile.html" --quiet
expect_code 0
[ "$failures" -eq 0 ] || finish

for test in "page_test.mjs $work/pages" "draw_test.mjs $work/pages $work/many/page.html" \
  "frame_test.mjs $work/pages/main.html $work"; do
  # shellcheck disable=SC2086 # a name and its arguments
  node "$web/"$test
  code=$?
  [ "$code" -eq 77 ] && exit 77
  [ "$code" -eq 0 ] || fail "the page fails in the browser: ${test%% *}"
done
if [ -x "$web/node_modules/.bin/tsc" ]; then
  "$web/node_modules/.bin/tsc" -p "$2/web/jsconfig.json" || fail "the types of web/ do not fit together"
fi
finish
