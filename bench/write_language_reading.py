#!/usr/bin/env python3
"""How well each form reads each layer of the two story models, written to docs/results/language.

    bench/write_language_reading.py GLINT --stories15m MODEL.bin --stories260k MODEL.bin --tokenizer260k TOK.bin --text STORIES.txt

Runs `glint spectrum --json` for every layer of both models along the tokens below and writes readings.json (what was measured), README.md (tables)
and r2.svg. Nothing there is typed by hand. With --write-only the tables are made again from readings.json.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

OUT = pathlib.Path(__file__).resolve().parent.parent / "docs" / "results" / "language"
FORMS = ["weights", "scaled", "calibrated"]
COLORS = {"weights": "#d55e00", "scaled": "#0072b2", "calibrated": "#009e73", "linear map": "#888888"}
TOKENS = {
    "stories15M": "happy,sad,big,little,girl,boy,dog,cat,ball,tree,park,mom,friend,house,water,said,saw,went,played,was,and,the,she,day",
    "stories260K": "happy,big,little,mom,friend,said,saw,was,and,the,she,he,day,play,time,very,there,with,her,his,named,Lily,They,but",
}
TITLES = {"stories15M": "stories15M (6 layers of width 288, SwiGLU)", "stories260K": "stories260K (5 layers of width 64, SwiGLU)"}


def measure(glint, model, tokenizer, name, text, tokens):
    layers = json.loads(subprocess.run([glint, "model", model, "--json"] + tokenizer, check=True, capture_output=True, text=True).stdout)["model"]["layers"]
    found = []
    for layer in range(1, layers + 1):
        print(f"{name}: layer {layer} of {layers}", file=sys.stderr)
        with tempfile.TemporaryDirectory() as folder:
            command = [glint, "spectrum", model, "--layer", str(layer), "--token", TOKENS[name], "--text", text, "--tokens", str(tokens),
                       "--form", "calibrated", "--no-figures", "--out", folder, "--json", "--quiet"] + tokenizer
            j = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        forms = {f: {key: j["fidelity"][f].get(key) for key in ("r2", "r2_interval", "r2_scaled", "unit_r2")} for f in FORMS}
        even = [u["even_share"] for u in j["units"]]
        found.append({"layer": layer, "tokens": j["data"]["tokens"], "calibration_tokens": j["calibration"]["tokens"], "forms": forms,
                      "linear": j["controls"]["linear"]["r2"], "untrained": {f: v["r2"] for f, v in (j["controls"].get("untrained") or {}).items()},
                      "even_share": statistics.median(even), "eigenvectors_r2": [u["eigenvectors_r2"] for u in j["units"]], "units": [u["name"] for u in j["units"]]})
    return found


def median(values):
    return statistics.median(values)


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "|".join("---:" for _ in head) + "|"]
    return "\n".join(lines + ["| " + " | ".join(r) + " |" for r in rows]) + "\n"


def number(v):
    return "%.3f" % v if v > -10 else "%.0f" % v


def tables(name, layers):
    rows = []
    for e in layers:
        cells = [str(e["layer"])]
        for form in FORMS:
            units = e["forms"][form]["unit_r2"]
            cells.append("%s (%s to %s)" % (number(median(units)), number(min(units)), number(max(units))))
        rows.append(cells + [number(median(e["eigenvectors_r2"])), number(e["linear"]), number(e["even_share"])])
    e = layers[0]
    return ["## %s\n" % TITLES[name],
            "%d tokens measure, %d others calibrate; the directions are %d tokens: %s.\n" %
            (e["tokens"], e["calibration_tokens"], len(e["units"]), " ".join(e["units"])),
            table(["layer", "weights", "scaled", "calibrated", "calibrated, eigenvectors alone", "linear map", "even share"], rows)]


def figure(readings):
    """R2 per layer and form, both models side by side."""
    width, height, left, top, gap = 360, 240, 56, 44, 40
    low, high = -0.2, 1.0
    y = lambda v: top + height * (high - max(v, low)) / (high - low)
    total = left + 2 * width + gap + 130
    out = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="DejaVu Sans, Arial, sans-serif" font-size="12">' % (total, top + height + 52),
           "<title>R2 of the readings of each layer</title>", '<rect width="100%" height="100%" fill="#ffffff"/>']
    for place, (name, layers) in enumerate(readings.items()):
        x0 = left + place * (width + gap)
        x = lambda i: x0 + width * (i + 0.5) / len(layers)
        out.append('<text x="%g" y="26" font-size="15" font-weight="bold">%s</text>' % (x0, name))
        for tick in (-0.2, 0, 0.2, 0.4, 0.6, 0.8, 1.0):
            out.append('<line x1="%g" y1="%g" x2="%g" y2="%g" stroke="%s"/>' % (x0, y(tick), x0 + width, y(tick), "#999999" if tick == 0 else "#e5e5e5"))
            if place == 0:
                out.append('<text x="%g" y="%g" text-anchor="end">%s</text>' % (x0 - 8, y(tick) + 4, "below" if tick == low else "%.1f" % tick))
        series = {f: [median(e["forms"][f]["unit_r2"]) for e in layers] for f in FORMS} | {"linear map": [e["linear"] for e in layers]}
        for form, values in series.items():
            points = " ".join("%.1f,%.1f" % (x(i), y(v)) for i, v in enumerate(values))
            out.append('<polyline points="%s" fill="none" stroke="%s" stroke-width="2"%s/>' % (points, COLORS[form], ' stroke-dasharray="4 3"' if form == "linear map" else ""))
            out += ['<circle cx="%.1f" cy="%.1f" r="3.5" fill="%s"/>' % (x(i), y(v), COLORS[form]) for i, v in enumerate(values)]
            if place == 1:
                row = top + 14 + 20 * list(series).index(form)
                out.append('<line x1="%g" y1="%g" x2="%g" y2="%g" stroke="%s" stroke-width="2"/>' % (x0 + width + 14, row - 4, x0 + width + 38, row - 4, COLORS[form]))
                out.append('<text x="%g" y="%g">%s</text>' % (x0 + width + 44, row, form))
        out += ['<text x="%g" y="%g" text-anchor="middle">%d</text>' % (x(i), top + height + 18, i + 1) for i in range(len(layers))]
        out.append('<text x="%g" y="%g" text-anchor="middle" font-size="14">layer</text>' % (x0 + width / 2, top + height + 40))
    out.append('<text x="14" y="%g" transform="rotate(-90 14 %g)" text-anchor="middle" font-size="14">R2, median over tokens</text>' % (top + height / 2, top + height / 2))
    return "\n".join(out + ["</svg>"]) + "\n"


def write(readings):
    text = ["# How well each form reads each layer\n",
            "Written by `bench/write_language_reading.py`. R² of single token directions: the median over the tokens, in brackets the least and the most. *weights*: half of the "
            "gate's input, which is exactly the even part of a SwiGLU layer and needs no data. *scaled*: one gain per hidden unit. *calibrated*: a line per hidden unit; "
            "its eigenvectors alone, without the linear part. *linear map*: the best linear map of the layer's input, a control. *even share*: of the layer, median.\n",
            "![R2 per layer and form](r2.svg)\n"]
    for name, layers in readings.items():
        text += tables(name, layers)
    (OUT / "README.md").write_text("\n".join(text))
    (OUT / "r2.svg").write_text(figure(readings))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("glint", nargs="?")
    for name in ("--stories15m", "--stories260k", "--tokenizer260k", "--text"):
        parser.add_argument(name)
    parser.add_argument("--tokens", type=int, default=20000)
    parser.add_argument("--write-only", action="store_true")
    o = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    if not o.write_only:
        readings = {"stories15M": measure(o.glint, o.stories15m, [], "stories15M", o.text, o.tokens),
                    "stories260K": measure(o.glint, o.stories260k, ["--tokenizer", o.tokenizer260k], "stories260K", o.text, o.tokens)}
        (OUT / "readings.json").write_text(json.dumps(readings, indent=1) + "\n")
    write(json.loads((OUT / "readings.json").read_text()))


if __name__ == "__main__":
    main()
