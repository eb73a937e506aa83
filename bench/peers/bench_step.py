#!/usr/bin/env python3
"""Whole training steps (noise, forward, backward, AdamW) of the paper's image models: glint and tuned PyTorch taking
turns in one run. With --job also the whole training of recipe mnist-4.1 in both."""
import json
import statistics
import subprocess
import sys
import time

import tuned
import turns


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


def read_idx(folder, name):
    import gzip
    import os
    import numpy
    path = os.path.join(folder, name)
    data = gzip.open(path + ".gz").read() if os.path.exists(path + ".gz") else open(path, "rb").read()
    rank = data[3]
    shape = [int.from_bytes(data[4 + 4 * i:8 + 4 * i], "big") for i in range(rank)]
    return numpy.frombuffer(data, numpy.uint8, offset=4 + 4 * rank).reshape(shape)


def whole_job(args, precision, threads):
    """Recipe mnist-4.1 from start to end in both programs, one after the other."""
    import tempfile
    import torch
    from torch_model import Trainer
    sets = json.loads(subprocess.run([args.program, "data", "--json"], check=True, capture_output=True).stdout)["datasets"]
    folder = next(s["origin"] for s in sets if s["name"] == "mnist")
    with tempfile.TemporaryDirectory() as out:
        start = time.perf_counter()
        done = json.loads(subprocess.run([args.program, "train", "recipes/mnist-4.1.toml", "--gate", "sqs", "--precision", precision,
                                          "--threads", str(threads), "--out", out + "/run", "--json", "--quiet"], check=True,
                                         capture_output=True).stdout)
        glint_s = time.perf_counter() - start
    torch.set_num_threads(threads)
    start = time.perf_counter()
    images = torch.from_numpy(read_idx(folder, "train-images-idx3-ubyte").reshape(60000, 784).copy())
    labels = torch.from_numpy(read_idx(folder, "train-labels-idx1-ubyte").astype("int64"))
    test_x = torch.from_numpy(read_idx(folder, "t10k-images-idx3-ubyte").reshape(10000, 784).copy()).float().div_(255)
    test_y = torch.from_numpy(read_idx(folder, "t10k-labels-idx1-ubyte").astype("int64"))
    trainer = Trainer(1, 256, 2048, "sqs", False, images, labels)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(trainer.optimizer, 20)
    for _ in range(20):
        order = torch.randperm(60000)
        for i in range(60000 // 2048):
            trainer.step(order[i * 2048:(i + 1) * 2048])
        schedule.step()
        with torch.no_grad():
            accuracy = (trainer.model(test_x).argmax(1) == test_y).float().mean().item()
    torch_s = time.perf_counter() - start
    return {"precision": precision, "threads": threads, "glint_s": glint_s, "glint_accuracy": done["runs"][0]["test_accuracy"],
            "torch_s": torch_s, "torch_accuracy": accuracy}


def main():
    parser = turns.parser(__doc__, 5)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--job", action="store_true", help="also train recipe mnist-4.1 from start to end in both")
    args = parser.parse_args()
    tuned.reexec()
    result = {"machine": tuned.machine(), "rows": [], "skipped": []}
    for precision, threads, peers, heading in turns.settings(args, result):
        rows = run(args, precision, threads, peers)
        result["rows"] += rows
        print("%s (ms a step; ratio = PyTorch / glint)" % heading)
        head = ["section", "batch", "width", "glint", "/ products"] + [h for p in peers for h in ("torch " + p, "ratio")]
        print("  ".join("%10s" % h for h in head))
        for r in rows:
            cells = ["%10s" % r["model"], "%10d" % r["batch"], "%10d" % r["width"], "%10.3f" % r["glint_ms"],
                     "%10.3f" % r["over_products"]]
            for p in peers:
                cells += ["%10.3f" % r["torch_%s_ms" % p], "%10.2f" % r["ratio_%s" % p]]
            print("  ".join(cells))
    if args.job:
        precision = "bf16" if tuned.has_bf16() else "f32"
        result["job"] = job = whole_job(args, precision, max(int(t) for t in args.threads.split(",")))
        print("recipe mnist-4.1, SQS, %d threads: glint %s %.1f s (%.2f %%), PyTorch f32 %.1f s (%.2f %%)" %
              (job["threads"], precision, job["glint_s"], 100 * job["glint_accuracy"], job["torch_s"], 100 * job["torch_accuracy"]))
    turns.save(args, result)


if __name__ == "__main__":
    main()
