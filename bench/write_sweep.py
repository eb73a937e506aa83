#!/usr/bin/env python3
"""Writes docs/results/sweep/README.md from what the sweeps measured (sweep.csv and sweep.json of each data set, and
readable.json beside them). Nothing there is typed by hand."""
import csv
import json
import pathlib
import statistics

ROOT = pathlib.Path(__file__).resolve().parent.parent / "docs" / "results" / "sweep"
TITLES = {"fashion": "Fashion-MNIST", "mnist": "MNIST"}
COLUMNS = [("test_loss", "test loss", 1, 3), ("test_accuracy", "accuracy %", 100, 1), ("agreement_weights", "weights %", 100, 1),
           ("agreement_scaled", "scaled %", 100, 1), ("agreement_calibrated", "calibrated %", 100, 1)]


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "|".join("---:" if i else "---" for i in range(len(head))) + "|"]
    return "\n".join(lines + ["| " + " | ".join(r) + " |" for r in rows]) + "\n"


def spread(mean, sd, factor, decimals):
    if not mean:
        return "none"
    return "%.*f ± %.*f" % (decimals, factor * float(mean), decimals, factor * float(sd))


def sweep(name):
    folder = ROOT / name
    with open(folder / "sweep.csv") as f:
        settings = list(csv.DictReader(f))
    rows = []
    for s in settings:
        mark = " (chosen)" if s["chosen"] == "true" else " (front)" if s["front"] == "true" else ""
        rows.append([s["setting"] + mark] + [spread(s[key], s[key + "_sd"], factor, decimals) for key, _, factor, decimals in COLUMNS])
    answer = json.loads((folder / "sweep.json").read_text())["choice"]["answer"]
    return ["## %s\n" % TITLES[name],
            "`glint sweep %s-4.1 --gate sqs,identity,silu --lambda 0,0.05,0.1,0.2,0.5,1,2 --norm none,rms --seeds 0..2`\n" % name,
            "What the sweep says: %s\n" % answer,
            "![Loss against agreement](%s/pareto.svg)\n" % name,
            table(["setting"] + [title for _, title, _, _ in COLUMNS], rows)]


def readable():
    runs = json.loads((ROOT / "readable.json").read_text())["runs"]
    rows = []
    for recipe in dict.fromkeys(r["recipe"] for r in runs):
        mine = [r for r in runs if r["recipe"] == recipe]

        def cell(values, factor, decimals):
            return spread(statistics.mean(values), statistics.stdev(values), factor, decimals)
        rows.append([recipe, str(len(mine)), cell([r["test_loss"] for r in mine], 1, 4), cell([r["test_accuracy"] for r in mine], 100, 2)] +
                    [cell([r["agreement"][form] for r in mine], 100, 2) for form in ("weights", "scaled", "calibrated")])
    return ["## The readable recipes\n", "`glint train fashion-readable --seeds 0..4`, then `glint spectrum` of each run.\n",
            table(["recipe", "seeds", "test loss", "accuracy %", "weights %", "scaled %", "calibrated %"], rows)]


def main():
    text = ["# What readability costs\n",
            "Written by `bench/write_sweep.py` from the files beside it. Mean ± standard deviation over seeds. *weights*, *scaled*, *calibrated*: "
            "test images on which that form decides as the model does. Front: no other setting has a lower loss and a higher agreement of the "
            "weights form. The controls, readability measures and the stability over seeds are in the CSV files.\n"]
    text += readable()
    for name in TITLES:
        if (ROOT / name / "sweep.csv").exists():
            text += sweep(name)
    (ROOT / "README.md").write_text("\n".join(text))


if __name__ == "__main__":
    main()
