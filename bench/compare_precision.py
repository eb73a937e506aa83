#!/usr/bin/env python3
"""Trains a recipe in f32 and in bf16 with the same seeds and writes final loss and accuracy of both. On a processor
without bf16 instructions the portable emulation computes bf16, slowly.

  bench/compare_precision.py [RECIPE [SEEDS]]        (mnist-4.1 0..2)"""
import json
import os
import statistics
import subprocess
import sys
import tempfile

import peers.tuned as tuned


def train(program, recipe, seeds, precision, folder):
    env = dict(os.environ)
    if precision == "bf16" and not tuned.has_bf16():
        env["GLINT_BF16"] = "emulated"
    out = subprocess.run([program, "train", recipe, "--seeds", seeds, "--precision", precision, "--out",
                          os.path.join(folder, precision), "--json", "--quiet"], check=True, capture_output=True, env=env).stdout
    runs = json.loads(out)["runs"]
    first = json.load(open(os.path.join(runs[0]["out"], "run.json")))
    row = {"recipe": recipe, "precision": precision, "unit": first["machine"]["bf16_unit"], "seeds": [r["seed"] for r in runs]}
    for key in ("test_loss", "test_accuracy"):
        values = [r[key] for r in runs]
        row[key] = {"mean": statistics.mean(values), "sd": statistics.stdev(values) if len(values) > 1 else 0.0}
    row["seconds"] = statistics.mean(r["seconds"] for r in runs)
    return row


def main():
    recipe = sys.argv[1] if len(sys.argv) > 1 else "mnist-4.1"
    seeds = sys.argv[2] if len(sys.argv) > 2 else "0..2"
    program = os.environ.get("GLINT", "build/release/glint")
    with tempfile.TemporaryDirectory() as folder:
        rows = [train(program, recipe, seeds, p, folder) for p in ("f32", "bf16")]
    with open("docs/results/precision.json", "w") as f:
        json.dump({"rows": rows}, f, indent=1)
        f.write("\n")
    for r in rows:
        print("%s %s (%s): loss %.4f ± %.4f, accuracy %.2f ± %.2f %%" %
              (r["recipe"], r["precision"], r["unit"], r["test_loss"]["mean"], r["test_loss"]["sd"],
               100 * r["test_accuracy"]["mean"], 100 * r["test_accuracy"]["sd"]))


if __name__ == "__main__":
    main()
