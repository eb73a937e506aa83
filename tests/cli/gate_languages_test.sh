# Every gate is the same function in C++, in the JavaScript of the page and in the Python of an exported model: to 1e-12,
# far into both tails. Nothing here names a gate, so a new one is checked as it comes. Skipped where there is no node.
glint=$1
source "$2/tests/cli/check.sh"
command -v node >/dev/null || { echo "skipped: no node"; exit 77; }
cd "$2" || exit 1 # the recipes are there

run train quick --epochs 1 --d-model 16 --quiet --out "$work/run"
expect_code 0
run page "$work/run" --out "$work/page.html" --quiet
expect_code 0
run export "$work/run" --hf "$work/hub" --quiet
expect_code 0

# What glint itself says: every gate at many points, those with options with several of them.
python3 - "$glint" "$work" <<'PYTHON' || fail "cannot ask glint for its gates"
import json, re, subprocess, sys
glint, work = sys.argv[1:]

def ask(*arguments):
    return json.loads(subprocess.run([glint, "gates", "--json", *arguments], check=True, capture_output=True).stdout)

points = [s * a * 10.0 ** e for e in range(-8, 2) for a in (1, 2.5, 3.7) for s in (-1, 1)] + [0.0, 2.0, -0.5, 700.0, -700.0]
at = "--at=" + ",".join(map(repr, points))
cases = []
for gate in ask()["gates"]:
    if not gate["glu"]:
        continue
    for values in [(0.01, 0.5, 1), (0.3, 2, 2.5), (-0.2, 0, 3), (0, 1.5, 0.5), (0.1, 3, 400)] if gate["options"] else [None]:
        options = dict(zip(gate["options"], values)) if values else {}
        flags = [f"--{name}={value}" for name, value in options.items()]
        answers = ask("--gate", gate["name"], at, *flags)["points"]
        cases.append({"gate": gate["name"], "options": options, "points": points,
                      "values": [a["value"] for a in answers], "slopes": [a["derivative"] for a in answers]})
json.dump(cases, open(work + "/cases.json", "w"))

page = open(work + "/page.html").read()
# The modules of the page are functions of one script: the one of the gates, by itself.
module = re.search(r'glint\.gates = \(\(\) => \{\n.*?\n\}\)\(\);', page, re.S).group(0)
open(work + "/gates.mjs", "w").write("const glint = {};\n" + module + "\nexport const { gates } = glint.gates;\n")
PYTHON
[ "$failures" -eq 0 ] || finish

cat >"$work/check.mjs" <<'JAVASCRIPT'
import { readFileSync } from "node:fs";
const cases = JSON.parse(readFileSync(`${process.argv[2]}/cases.json`, "utf8"));
const { gates } = await import(`${process.argv[2]}/gates.mjs`);
const away = Number(process.argv[3] ?? 0); // to see that the check can fail
let bad = 0;
for (const { gate, options, points, values } of cases) {
  points.forEach((h, i) => {
    const got = gates[gate](h, options) * (1 + away);
    if (!(Math.abs(got - values[i]) <= 1e-12 * Math.abs(values[i]))) bad++ < 5 && console.log(gate, options, h, got, values[i]);
  });
}
process.exit(bad || cases.length < 6 ? 1 : 0);
JAVASCRIPT
node "$work/check.mjs" "$work" || fail "the page computes another gate"
node "$work/check.mjs" "$work" 1e-11 >/dev/null && fail "a page that computes another gate went unnoticed"

# Where there is no PyTorch, a stand-in that computes with single numbers: what the text says is checked all the same,
# but for the slopes, which are those of autograd, also at 0 and at |h| = 1/lambda.
cat >"$work/check.py" <<'PYTHON'
import json, math, sys, types
work, away = sys.argv[1], float(sys.argv[2])
try:
    import torch
    one = lambda h: torch.tensor(h, dtype=torch.float64, requires_grad=True)
except ImportError:
    def sigmoid(x):
        return 1 / (1 + math.exp(-x)) if x > -709 else 0.0
    torch = types.ModuleType("torch")
    torch.nn = types.SimpleNamespace(Module=object)
    torch.special = types.SimpleNamespace(erfc=math.erfc)
    torch.no_grad = lambda: lambda f: f
    torch.where = lambda condition, a, b: a if condition else b
    torch.ones_like = lambda x: 1.0
    torch.relu, torch.sigmoid = lambda x: x if x > 0 else 0.0, sigmoid
    torch.float64 = torch.float32 = torch.float16 = torch.bfloat16 = None
    sys.modules["torch"] = torch
    one = float
sys.path.insert(0, work + "/hub")
import modeling_glint
cases, bad = json.load(open(work + "/cases.json")), 0
for case in cases:
    for h, want, slope in zip(case["points"], case["values"], case["slopes"]):
        x = one(h)
        got = modeling_glint.gate({"gate": case["gate"], **case["options"]}, x)
        value = float(got) if one is float else got.item()
        wrong = not abs(value * (1 + away) - want) <= 1e-12 * abs(want)
        # With p < 1, t^p has an infinite slope at 0, which autograd multiplies by 0.
        if one is not float and slope is not None and (h != 0 or case["options"].get("p", 1) >= 1):
            # What cancels in the tails leaves the rounding of terms of size 1.
            (along,) = torch.autograd.grad(got, x)
            wrong |= not abs(float(along) * (1 + away) - slope) <= 1e-12 * max(1, abs(slope))
        if wrong:
            bad += 1
            if bad <= 5:
                print(case["gate"], case["options"], h, value, want, slope)
sys.exit(1 if bad or len(cases) < 6 else 0)
PYTHON
python3 -B "$work/check.py" "$work" 0 || fail "the exported model computes another gate"
python3 -B "$work/check.py" "$work" 1e-11 >/dev/null && fail "an exported model that computes another gate went unnoticed"
finish
