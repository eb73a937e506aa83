#!/usr/bin/env python3
"""Gathers finished runs of recipes mnist-4.2 and fashion-4.2 into one JSON file: test loss and accuracy at the ends of
epochs 5, 10, 15 and 20 over the seeds of each gate, beside the paper's table 1.

  bench/collect_training.py RUNS_FOLDER docs/results/training.json

RUNS_FOLDER holds the run directories at any depth, as `glint train mnist-4.2 --gate sqs --seeds 0..4 --out ...` makes
them; runs of other recipes are left out."""
import json
import pathlib
import statistics
import sys

QUARTERS = ["25", "50", "75", "100"]
# The paper's table 1: loss and accuracy at a quarter, half, three quarters and the end of training.
PAPER = {
    ("mnist", "relu"): [(.2703, .9550), (.1803, .9690), (.1433, .9748), (.1305, .9770)],
    ("mnist", "gelu"): [(.1305, .9606), (.0943, .9713), (.0747, .9769), (.0680, .9789)],
    ("mnist", "silu"): [(.1453, .9573), (.1014, .9695), (.0794, .9757), (.0728, .9780)],
    ("mnist", "identity"): [(.2637, .9578), (.1885, .9703), (.1560, .9755), (.1431, .9780)],
    ("mnist", "sqs"): [(.1609, .9590), (.1083, .9722), (.0895, .9768), (.0834, .9785)],
    ("fashion-mnist", "relu"): [(.6852, .7939), (.6099, .8173), (.5546, .8348), (.5322, .8422)],
    ("fashion-mnist", "gelu"): [(.4723, .8251), (.4109, .8481), (.3746, .8616), (.3599, .8681)],
    ("fashion-mnist", "silu"): [(.4731, .8251), (.4102, .8481), (.3747, .8621), (.3605, .8677)],
    ("fashion-mnist", "identity"): [(.7038, .7961), (.6367, .8211), (.5881, .8383), (.5672, .8461)],
    ("fashion-mnist", "sqs"): [(.5104, .8217), (.4457, .8422), (.4063, .8548), (.3890, .8616)],
}
# What makes a run one of recipe 4.2.
RECIPE = {"layers": 2, "d-model": 256, "batch": 512, "epochs": 20, "lr": 0.001, "weight-decay": 0.1, "noise-std": 1.0,
          "noise-prob": 0.5}


def finished_runs(folder):
    for path in sorted(pathlib.Path(folder).rglob("run.json")):
        run = json.loads(path.read_text())
        options = run["identity"]["options"]
        if run["state"] != "finished" or any(options[k] != v for k, v in RECIPE.items()):
            continue
        lines = [json.loads(l) for l in (path.parent / "metrics.jsonl").read_text().splitlines()]
        yield options, run, {l["epoch"]: l for l in lines if l["epoch_end"]}


def spread(values):
    return {"mean": statistics.mean(values), "sd": statistics.stdev(values) if len(values) > 1 else 0.0}


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    cells, machine = {}, {}
    for options, run, epochs in finished_runs(sys.argv[1]):
        key = (options["data"], options["gate"], run["machine"]["precision"])
        cells.setdefault(key, {})[options["seed"]] = [epochs[int(options["epochs"] * i / 4)] for i in (1, 2, 3, 4)]
        machine = run["machine"]
    rows = []
    for (data, gate, precision), seeds in sorted(cells.items()):
        row = {"data": data, "gate": gate, "precision": precision, "seeds": sorted(seeds), "quarters": []}
        for i, quarter in enumerate(QUARTERS):
            loss = spread([s[i]["test_loss"] for s in seeds.values()])
            accuracy = spread([s[i]["test_accuracy"] for s in seeds.values()])
            paper_loss, paper_accuracy = PAPER[(data, gate)][i]
            row["quarters"].append({"percent": quarter, "loss": loss, "accuracy": accuracy, "paper_loss": paper_loss,
                                    "paper_accuracy": paper_accuracy})
        rows.append(row)
    with open(sys.argv[2], "w") as f:
        json.dump({"machine": machine, "recipe": RECIPE, "rows": rows}, f, indent=1)
        f.write("\n")
    print("%d rows from %d runs" % (len(rows), sum(len(s) for s in cells.values())))


if __name__ == "__main__":
    main()
