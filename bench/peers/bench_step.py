#!/usr/bin/env python3
"""Whole training steps (noise, forward, backward, AdamW) of the paper's image models: glint, PyTorch and JAX taking turns in
one run. With --job also the whole training of recipe mnist-4.1."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import tuned
import turns


def ours(args, precision, threads):
    """The rows of one run of glint for each round, handed out case by case."""
    rows = {}

    def next_row(case):
        key = (case["batch"], case["width"])
        if key not in rows:
            out = turns.glint(args, "bench", "step", "--precision", precision, "--threads", threads, "--repeats", args.repeats)
            rows.update({(r["batch"], r["width"]): r for r in out["rows"]})
        row = rows.pop(key)
        return {"median_ms": row["median_ms"], "products_ms": row["products_ms"]}

    return next_row


def whole_job(args, threads):
    """Recipe mnist-4.1 from start to end, one program after the other. PyTorch's clock starts when its libraries are loaded,
    the data read and the step compiled; glint's with its process."""
    folder = next(s["origin"] for s in turns.glint(args, "data")["datasets"] if s["name"] == "mnist")
    jobs = []
    for precision in ("f32", "bf16") if tuned.has_bf16() else ("f32",):
        with tempfile.TemporaryDirectory() as out:
            start = time.perf_counter()
            done = turns.glint(args, "train", "mnist-4.1", "--gate", "sqs", "--precision", precision, "--threads", threads,
                               "--out", out + "/run")
            jobs.append({"program": "glint", "precision": precision, "threads": threads, "s": time.perf_counter() - start,
                         "accuracy": done["runs"][0]["test_accuracy"], "loss": done["runs"][0]["test_loss"]})
        env = dict(os.environ, **tuned.environment("compiled", threads))
        out = subprocess.run([sys.executable, pathlib.Path(__file__).with_name("torch_job.py"), folder, precision, str(threads)],
                             check=True, capture_output=True, env=env).stdout
        jobs.append({"program": "PyTorch compiled", "precision": precision, "threads": threads, **json.loads(out)})
    return jobs


def main():
    parser = turns.parser(__doc__, 5)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--job", action="store_true", help="also train recipe mnist-4.1 from start to end")
    args = parser.parse_args()
    result = dict(turns.result(args), titles=turns.titles(args))
    models = turns.glint(args, "bench", "step", "--repeats", 1)["rows"]
    cases = [{key: m[key] for key in ("model", "batch", "width", "layers")} for m in models]
    for precision, threads, heading in turns.settings(args, result):
        rows = turns.compare(args, "step", precision, threads, cases, ours(args, precision, threads), lambda case: args.repeats,
                             installed=threads == 1)
        rows = [dict(case, **row, over_products=row["glint_ms"] / row["products_ms"]) for case, row in zip(cases, rows)]
        result["rows"] += rows
        turns.print_table(heading + " (ms a step; ratio = fastest peer / glint)",
                          [(key, lambda r, key=key: r[key]) for key in ("model", "batch", "width")] +
                          [("glint", lambda r: "%.3f" % r["glint_ms"]), ("/ product", lambda r: "%.3f" % r["over_products"])], rows)
    if args.job:
        result["jobs"] = whole_job(args, max(int(t) for t in args.threads.split(",")))
        for j in result["jobs"]:
            print("recipe mnist-4.1, SQS, %(threads)d threads: %(program)s %(precision)s %(s).1f s" % j +
                  ", test accuracy %.2f %%" % (100 * j["accuracy"]))
    turns.save(args, result)


if __name__ == "__main__":
    main()
