# glint gates: the table, the numbers, the domains of the options, and figure 1.
glint=$1
source "$2/tests/cli/check.sh"

run gates
expect_code 0
for gate in sqs identity relu gelu silu gelu-tanh quadratic-shrink --c --lambda --p; do expect_out "$gate"; done

run gates --json
expect_code 0
expect_json "[g['name'] for g in j['gates']] == ['sqs', 'identity', 'relu', 'gelu', 'silu', 'gelu-tanh', 'quadratic-shrink']"
expect_json "[o['default'] for o in j['options']] == [0.01, 0.5, 1]"
expect_json "all(g['value'] and g['derivative'] and g['code'] for g in j['gates'])"
expect_json "[g['parity'] for g in j['gates']] == ['odd', 'odd'] + 4 * ['half-linear'] + ['other']"
expect_json "j['gates'][0]['options'] == {'c': 0.01, 'lambda': 0.5, 'p': 1} and j['gates'][1]['options'] == {}"
expect_json "all('\"' + g['name'] + '\": lambda' in j['python'] for g in j['gates'] if g['glu'])"

# The form `weights` is half of these gates: its description names each.
"$glint" spectrum --help >"$work/help"
sed -n '/^- `weights`/,/^- `scaled`/p' "$2/README.md" >"$work/readme"
for text in help readme; do
  expect_json "all(g['name'].split('-')[0] in open('$work/$text').read().lower() for g in j['gates'] if g['parity'] == 'half-linear')"
done

# The bound: a few roundings of doubles, each of 1.2e-16.
near() { echo "abs($1 - ($2)) <= 1e-15 * max(1, abs($2))"; }
run gates --gate sqs --at -1,0,0.5 --json
expect_code 0
expect_json "j['gate'] == 'sqs' and j['params'] == {'c': 0.01, 'lambda': 0.5, 'p': 1}"
expect_json "[p['x'] for p in j['points']] == [-1, 0, 0.5]"
expect_json "j['points'][1]['value'] == -0.01"
expect_json "$(near "j['points'][0]['value']" "-0.99 / 1.5")"
expect_json "$(near "j['points'][2]['value']" "0.49 / 1.25")"
expect_json "$(near "j['points'][1]['derivative']" "1.005")"
expect_json "$(near "j['points'][2]['derivative']" "1.005 / 1.25**2")"

run gates --gate sqs --at=-.5 --c -0.25 --lambda 2 --p 3 --json
expect_code 0
expect_json "$(near "j['points'][0]['value']" "-0.75 / (1 + 1)**(1 / 3)")"
run gates --gate quadratic-shrink --at 2 --c 1 --lambda 0 --json
expect_json "j['points'][0]['value'] == 8 and j['points'][0]['derivative'] == 6"
run gates --gate swish --at 1 --json
expect_json "j['gate'] == 'silu' and j['params'] == {}"
expect_json "$(near "j['points'][0]['value']" "1 / (1 + math.exp(-1))")"
run gates --gate sqs --at 0 --p 0.5 --json
expect_json "j['points'][0]['derivative'] is None"

# The table has the digits of the JSON.
run gates --gate gelu --at 0.3 --json
value=$(python3 -c "import json, sys; print(repr(json.load(open(sys.argv[1]))['points'][0]['value']))" "$work/out")
run gates --gate gelu --at 0.3
expect_code 0
expect_out "$value"

refused "a number from 0 to 1000000" gates --gate sqs --at 0 --lambda -1
refused "a number above 0, at most 1000" gates --gate sqs --at 0 --p 0
refused "a number from -1000000 to 1000000" gates --gate sqs --at 0 --c 1e7
refused "has no option --c" gates --gate relu --at 0 --c 1
refused "cannot be" gates --gate sqs --at 1,x
refused "cannot be" gates --gate sqs --at 1,,2
refused "cannot be" gates --gate sqs --at nan
refused "cannot be" gates --gate sqs --at 1e999
refused "--at needs a gate" gates --at 0
refused "--gate or --plot" gates --c 1

run gates --plot "$work/figure.svg"
expect_code 0
expect_out "$work/figure.svg"
expect_out "$work/figure.csv"
[ -s "$work/figure.csv" ] || fail "no CSV beside the figure"
python3 - "$work/figure.svg" "$work/figure.csv" <<'PYTHON' || fail "the figure is not as it should be"
import csv, sys
import xml.etree.ElementTree as xml
root = xml.parse(sys.argv[1]).getroot()
assert root.get("viewBox") == "0 0 640 440"
text = " ".join("".join(t.itertext()) for t in root.iter("{http://www.w3.org/2000/svg}text"))
for name in ("ReLU", "GELU", "Swish", "SQS", "x · SQS"):
    assert name in text, name
curves = [p.get("d") for p in root.iter("{http://www.w3.org/2000/svg}path") if p.get("stroke")]
# Five curves; only SQS is broken, once.
assert sorted(d.count("M") for d in curves) == [1, 1, 1, 1, 2], [d.count("M") for d in curves]
rows = list(csv.DictReader(open(sys.argv[2])))
at = {(r["series"], float(r["x"])): float(r["y"]) for r in rows if r["y"]}
assert at["SQS", 0.0] == -0.5 and abs(at["SQS", 1.0] - 0.5 / 1.5) < 1e-15
assert abs(at["x · SQS", -2.0] - 2 * 1.5 / 2) < 1e-15
assert at["ReLU", 3.0] == 3.0
PYTHON
run gates --plot "$work/other.svg" --c 0 --json
expect_code 0
expect_json "j['figure'].endswith('other.svg') and j['data'].endswith('other.csv') and j['params']['c'] == 0"
if cmp -s "$work/figure.svg" "$work/other.svg"; then fail "--c does not change the figure"; fi
# Overwriting is fine, and leaves nothing else behind.
run gates --plot "$work/figure.svg" --lambda 1
expect_code 0
[ "$(find "$work" -name '*.tmp' | wc -l)" -eq 0 ] || fail "a temporary file was left"

mkdir "$work/dir.svg"
refused "is a directory" gates --plot "$work/dir.svg"
refused "ends in .svg" gates --plot "$work/figure.png"
# Folders on the way are made, where that is possible.
run gates --plot "$work/new/folder/figure.svg"
expect_code 0
[ -s "$work/new/folder/figure.svg" ] || fail "the folder of the figure was not made"
run gates --plot "$work/figure.csv/figure.svg"
expect_code 1
expect_no_out
expect_err "cannot make the folder"

# The paper's names.
for name in none bilinear; do
  run gates --gate $name --at 3 --json
  expect_json "j['gate'] == 'identity'"
done
run gates --gate swiglu --at 3 --json
expect_json "j['gate'] == 'silu'"
finish
