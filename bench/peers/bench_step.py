#!/usr/bin/env python3
"""Whole training steps (noise, forward, backward, AdamW) of the paper's image models: glint and tuned PyTorch taking
turns in one run. With --job also the whole training of recipe mnist-4.1 in both."""
import argparse
import json
import statistics
import subprocess
import sys
import time

import tuned


def glint_rows(program, precision, threads, repeats):
    command = [program, "bench", "step", "--precision", precision, "--threads", str(threads), "--repeats", str(repeats),
               "--format", "json", "--quiet"]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["rows"]


def run(args, precision, threads, peers):
    import torch
    from torch_model import Trainer
    torch.set_num_threads(threads)
    ours, theirs = {}, {}
    for round_ in range(args.rounds):
        for row in glint_rows(args.program, precision, threads, args.repeats):
            ours.setdefault((row["model"], row["batch"], row["width"], row["layers"]), []).append(row)
        for (model, batch, width, layers) in ours:
            for peer in peers:
                trainer = Trainer(layers, width, batch, "sqs", peer == "bf16")
                for _ in range(2):
                    trainer.step()
                for _ in range(args.repeats):
                    start = time.perf_counter()
                    trainer.step()
                    theirs.setdefault((model, batch, width, peer), []).append((time.perf_counter() - start) * 1e3)
        print("\r%s, %d threads: round %d of %d  " % (precision, threads, round_ + 1, args.rounds), end="", file=sys.stderr)
    print("\r" + " " * 60 + "\r", end="", file=sys.stderr)
    rows = []
    for (model, batch, width, layers), timings in ours.items():
        row = {"model": model, "batch": batch, "width": width, "layers": layers, "precision": precision, "threads": threads,
               "glint_ms": statistics.median(t["median_ms"] for t in timings),
               "products_ms": statistics.median(t["products_ms"] for t in timings)}
        row["over_products"] = row["glint_ms"] / row["products_ms"]
        for peer in peers:
            row["torch_%s_ms" % peer] = statistics.median(theirs[(model, batch, width, peer)])
            row["ratio_%s" % peer] = row["torch_%s_ms" % peer] / row["glint_ms"]
        rows.append(row)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default="build/release/glint")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--precisions", default="f32,bf16")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--json", default="")
    args = parser.parse_args()
    tuned.reexec()
    result = {"machine": tuned.machine(), "rows": [], "skipped": []}
    for precision in args.precisions.split(","):
        if precision == "bf16" and not tuned.has_bf16():
            result["skipped"].append("bf16: this processor has no bf16 instructions")
            print("bf16: skipped, this processor has no bf16 instructions", file=sys.stderr)
            continue
        peers = ["f32"] if precision == "f32" else ["bf16", "f32"]
        for threads in (int(t) for t in args.threads.split(",")):
            rows = run(args, precision, threads, peers)
            result["rows"] += rows
            print("%s, %d thread%s (ms a step; ratio = PyTorch / glint)" % (precision, threads, "" if threads == 1 else "s"))
            head = ["section", "batch", "width", "glint", "/ products"] + [h for p in peers for h in ("torch " + p, "ratio")]
            print("  ".join("%10s" % h for h in head))
            for r in rows:
                cells = ["%10s" % r["model"], "%10d" % r["batch"], "%10d" % r["width"], "%10.3f" % r["glint_ms"],
                         "%10.3f" % r["over_products"]]
                for p in peers:
                    cells += ["%10.3f" % r["torch_%s_ms" % p], "%10.2f" % r["ratio_%s" % p]]
                print("  ".join(cells))
    if args.json:
        with open(args.json, "w") as f:
            json.dump(result, f, indent=1)
            f.write("\n")


if __name__ == "__main__":
    main()
