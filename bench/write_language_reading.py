#!/usr/bin/env python3
"""How well each form reads each layer of language models, written to docs/results/language.

    bench/write_language_reading.py GLINT --smollm2 FILE.gguf --gemma3 FILE.gguf --stories15m MODEL.bin --stories260k MODEL.bin \\
        --tokenizer260k TOK.bin --text STORIES.txt

Runs `glint spectrum --all-layers --json` and `glint neurons --json` of the models that are given along the tokens below, and writes
readings.json (what was measured; models that are not given keep what it says), README.md (tables) and r2.svg. Nothing there is typed by hand. Without models the tables are made again from readings.json.

The story models are measured on STORIES.txt. The others on ordinary English: a passage of the licences that Debian carries, in which every
paragraph stands once, then two stories, and so on.
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
LICENCES = pathlib.Path("/usr/share/common-licenses")
LICENCE_FILES = ["GFDL-1.3", "GPL-3", "MPL-2.0", "LGPL-2.1", "MPL-1.1", "Apache-2.0", "CC0-1.0", "Artistic"]
PASSAGE = 1200  # characters of a licence, about as many as a story has
END = "<|endoftext|>"
GENERAL = "Paris,happy,sad,water,dog,tree,house,mother,friend,said,went,was,and,the,she,day,law,software,copy,right,work,user,not,if"
TOKENS = {
    "smollm2": GENERAL,
    "gemma3": GENERAL,
    "stories15M": "happy,sad,big,little,girl,boy,dog,cat,ball,tree,park,mom,friend,house,water,said,saw,went,played,was,and,the,she,day",
    "stories260K": "happy,big,little,mom,friend,said,saw,was,and,the,she,he,day,play,time,very,there,with,her,his,named,Lily,They,but",
}
TITLES = {
    "smollm2": "SmolLM2-135M-Instruct (30 layers of width 576, SwiGLU)",
    "gemma3": "Gemma 3 270M (18 layers of width 640, tanh-GELU)",
    "stories15M": "stories15M (6 layers of width 288, SwiGLU)",
    "stories260K": "stories260K (5 layers of width 64, SwiGLU)",
}


def english(stories):
    """A passage of a licence, then two stories, until one of both is used up."""
    passages, seen, passage = [], set(), ""
    for name in LICENCE_FILES:
        for paragraph in (LICENCES / name).read_text().split("\n\n"):
            words = " ".join(paragraph.split())
            if len(words) < 60 or words in seen:
                continue
            seen.add(words)
            passage += words + "\n"
            if len(passage) >= PASSAGE:
                passages.append(passage)
                passage = ""
    told = [s.strip() + "\n" for s in pathlib.Path(stories).read_text().split(END) if s.strip()]
    return "".join(f"{text}{END}\n" for both in zip(passages, told[::2], told[1::2]) for text in both)


def ask(glint, *words):
    return json.loads(subprocess.run([glint, *words, "--json", "--quiet"], check=True, capture_output=True, text=True).stdout)


def measure(glint, name, model, tokenizer, text, tokens, threads):
    print(name, file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        if TOKENS[name] is GENERAL:
            mixed = pathlib.Path(folder) / "english.txt"
            mixed.write_text(english(text))
            text = mixed
        found = ask(glint, "spectrum", model, "--all-layers", "--token", TOKENS[name], "--text", str(text), "--tokens", str(tokens), "--form",
                    "calibrated", "--show", "1", "--near", "1", "--no-figures", "--out", folder, "--threads", str(threads), *tokenizer)
        neurons = ask(glint, "neurons", model, "--out", folder, *tokenizer)
    layers = []
    for j in found["layers"]:
        forms = {f: {key: j["fidelity"][f].get(key) for key in ("r2", "r2_interval", "r2_scaled", "unit_r2", "eigenvectors_r2")} for f in FORMS}
        even = [u["even_share"] for u in j["units"]]
        layers.append({"layer": j["layer"], "tokens": j["data"]["tokens"], "calibration_tokens": j["calibration"]["tokens"], "forms": forms,
                       "linear": j["controls"]["linear"]["r2"], "untrained": {f: v["r2"] for f, v in (j["controls"].get("untrained") or {}).items()},
                       "even_share": statistics.median(even), "eigenvectors_r2": [u["eigenvectors_r2"] for u in j["units"]], "units": [u["name"] for u in j["units"]]})
    return {"layers": layers, "neurons": {"threshold": neurons["threshold"], "counts": neurons["counts"]}}


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
        redrawn = [number(e["untrained"][f]) if f in e["untrained"] else "" for f in ("scaled", "calibrated")]
        rows.append(cells + [number(median(e["eigenvectors_r2"])), number(e["linear"])] + redrawn + [number(e["even_share"])])
    e = layers[0]
    return ["## %s\n" % TITLES[name],
            "%d tokens measure, %d others calibrate; the directions are %d tokens: %s.\n" %
            (e["tokens"], e["calibration_tokens"], len(e["units"]), " ".join(e["units"])),
            table(["layer", "weights", "scaled", "calibrated", "calibrated, eigenvectors alone", "linear map", "redrawn, scaled",
                   "redrawn, calibrated", "even share"], rows)]


def figure(readings):
    """R2 per layer and form, two models side by side."""
    width, height, left, top, gap = 360, 240, 56, 44, 40
    low, high = -0.2, 1.0
    y = lambda v: top + height * (high - max(v, low)) / (high - low)
    total, below = left + 2 * width + gap + 130, height + 100
    rows = (len(readings) + 1) // 2
    out = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="DejaVu Sans, Arial, sans-serif" font-size="12">' % (total, rows * below),
           "<title>R2 of the readings of each layer</title>", '<rect width="100%" height="100%" fill="#ffffff"/>']
    for place, (name, layers) in enumerate(readings.items()):
        x0 = left + place % 2 * (width + gap)
        x = lambda i: x0 + width * (i + 0.5) / len(layers)
        out.append('<g transform="translate(0 %d)">' % (place // 2 * below))
        out.append('<text x="%g" y="26" font-size="15" font-weight="bold">%s</text>' % (x0, TITLES[name].split(" (")[0]))
        for tick in (-0.2, 0, 0.2, 0.4, 0.6, 0.8, 1.0):
            out.append('<line x1="%g" y1="%g" x2="%g" y2="%g" stroke="%s"/>' % (x0, y(tick), x0 + width, y(tick), "#999999" if tick == 0 else "#e5e5e5"))
            if place % 2 == 0:
                out.append('<text x="%g" y="%g" text-anchor="end">%s</text>' % (x0 - 8, y(tick) + 4, "below" if tick == low else "%.1f" % tick))
        series = {f: [median(e["forms"][f]["unit_r2"]) for e in layers] for f in FORMS} | {"linear map": [e["linear"] for e in layers]}
        for form, values in series.items():
            points = " ".join("%.1f,%.1f" % (x(i), y(v)) for i, v in enumerate(values))
            out.append('<polyline points="%s" fill="none" stroke="%s" stroke-width="2"%s/>' % (points, COLORS[form], ' stroke-dasharray="4 3"' if form == "linear map" else ""))
            out += ['<circle cx="%.1f" cy="%.1f" r="%g" fill="%s"/>' % (x(i), y(v), 3.5 if len(layers) < 10 else 2.5, COLORS[form]) for i, v in enumerate(values)]
            if place == 1:
                row = top + 14 + 20 * list(series).index(form)
                out.append('<line x1="%g" y1="%g" x2="%g" y2="%g" stroke="%s" stroke-width="2"/>' % (x0 + width + 14, row - 4, x0 + width + 38, row - 4, COLORS[form]))
                out.append('<text x="%g" y="%g">%s</text>' % (x0 + width + 44, row, form))
        step = 1 if len(layers) < 12 else 5
        out += ['<text x="%g" y="%g" text-anchor="middle">%d</text>' % (x(i), top + height + 18, i + 1) for i in range(len(layers)) if step == 1 or (i + 1) % step == 0]
        out.append('<text x="%g" y="%g" text-anchor="middle" font-size="14">layer</text>' % (x0 + width / 2, top + height + 40))
        if place % 2 == 0:
            out.append('<text x="14" y="%g" transform="rotate(-90 14 %g)" text-anchor="middle" font-size="14">R2, median over tokens</text>' % (top + height / 2, top + height / 2))
        out.append("</g>")
    return "\n".join(out + ["</svg>"]) + "\n"


def neurons_table(readings):
    """Classes of neurons, in percent of all."""
    rows, names = [], []
    for name, r in readings.items():
        if not r.get("neurons"):
            continue
        counts = r["neurons"]["counts"]
        names, total = list(counts), sum(counts.values())
        rows.append([TITLES[name].split(" (")[0], str(total)] + ["%.1f" % (100 * n / total) for n in counts.values()])
    return table(["model", "neurons"] + [c + " %" for c in names], rows)


def write(readings):
    layers = {name: r["layers"] for name, r in readings.items() if r["layers"]}
    text = ["# How well each form reads each layer\n",
            "Written by `bench/write_language_reading.py`. R² of single token directions: the median over the tokens, in brackets the least and the most. *weights*: half of the "
            "gate's input, which is exactly the even part of a SwiGLU layer and needs no data. *scaled*: one gain per hidden unit. *calibrated*: a line per hidden unit; "
            "its eigenvectors alone, without the linear part. Controls: *linear map*, the best linear map of the layer's input; *redrawn*, the same form of the model with every "
            "matrix redrawn at random. Where that comes close, that a layer can be read comes with its shape, and what the model has learned is what the eigenvectors say. "
            "*even share*: of the layer, median. The story models are measured on stories, the others on passages of licences and stories.\n",
            "![R2 per layer and form](r2.svg)\n"]
    for name in layers:
        text += tables(name, layers[name])
    text += ["## Neurons\n", "Classes of hidden units by the cosines of their weights (`glint neurons`, threshold 0.5, norms folded in), of all layers together.\n", neurons_table(readings)]
    (OUT / "README.md").write_text("\n".join(text))
    (OUT / "r2.svg").write_text(figure(layers))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("glint", nargs="?")
    for name in TOKENS:
        parser.add_argument("--" + name.lower())
    for name in ("--tokenizer260k", "--text"):
        parser.add_argument(name)
    parser.add_argument("--tokens", type=int, default=20000)
    parser.add_argument("--threads", type=int, default=1)
    o = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    path = OUT / "readings.json"
    readings = json.loads(path.read_text()) if path.exists() else {}
    for name in TOKENS:
        model = getattr(o, name.lower())
        if model:
            tokenizer = ["--tokenizer", o.tokenizer260k] if name == "stories260K" else []
            readings[name] = measure(o.glint, name, model, tokenizer, o.text, o.tokens, o.threads)
    path.write_text(json.dumps(readings, indent=1) + "\n")
    write({name: readings[name] for name in TOKENS if name in readings})


if __name__ == "__main__":
    main()
