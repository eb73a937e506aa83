#!/usr/bin/env python3
"""Whole training steps (forward, backward, clipping, AdamW) of the paper's language model: glint and tuned PyTorch taking
turns in one run, on the same rows: 256 tokens each, and of 64 to 256 tokens as stories have them (PyTorch pads them)."""
import json
import statistics
import subprocess
import sys
import time

import tuned
import turns


def glint_rows(program, precision, threads, args):
    command = [program, "bench", "lm", "--precision", precision, "--threads", str(threads), "--repeats", str(args.repeats),
               "--rows", str(args.rows), "--micro-batch", str(args.micro_batch), "--format", "json", "--quiet"]
    out = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return [dict(row, peak_memory_mb=out["peak_memory_mb"]) for row in out["rows"]]


def torch_batches(lengths, micro_batch, vocab=4096):
    """Rows padded to the longest of their micro-batch, which is filled with rows of about the same length."""
    import torch
    torch.manual_seed(0)
    lengths = sorted(lengths)
    batches = []
    for first in range(0, len(lengths), micro_batch):
        part = lengths[first:first + micro_batch]
        inputs = torch.zeros(len(part), part[-1], dtype=torch.long)
        targets = torch.full_like(inputs, -100)
        for i, n in enumerate(part):
            inputs[i, :n], targets[i, :n] = torch.randint(0, vocab, (2, n))
        batches.append((inputs, targets))
    return batches


def run(args, precision, threads, peers):
    import torch
    from torch_transformer import Trainer
    torch.set_num_threads(threads)
    ours, theirs, trainers = {}, {}, {}
    for round_ in range(args.rounds):
        for i, row in enumerate(glint_rows(args.program, precision, threads, args)):
            ours.setdefault(i, []).append(row)
        for i, rows in ours.items():
            for peer in peers:
                if (i, peer) not in trainers:
                    trainers[i, peer] = Trainer(torch_batches(rows[0]["lengths"], args.torch_micro_batch), peer == "bf16")
                    trainers[i, peer].step()
                for _ in range(args.repeats):
                    start = time.perf_counter()
                    trainers[i, peer].step()
                    theirs.setdefault((i, peer), []).append((time.perf_counter() - start) * 1e3)
        print("\r%s, %d threads: round %d of %d  " % (precision, threads, round_ + 1, args.rounds), end="", file=sys.stderr)
    print("\r" + " " * 60 + "\r", end="", file=sys.stderr)
    table = []
    for i, rows in ours.items():
        tokens = rows[0]["tokens"]
        row = {"rows": rows[0]["rows"], "tokens": tokens, "shortest": min(rows[0]["lengths"]), "precision": precision,
               "threads": threads, "glint_ms": statistics.median(r["median_ms"] for r in rows),
               "glint_best_ms": min(r["best_ms"] for r in rows), "products_ms": statistics.median(r["products_ms"] for r in rows),
               "peak_memory_mb": max(r["peak_memory_mb"] for r in rows)}
        row["glint_tokens_per_second"] = tokens / row["glint_ms"] * 1e3
        for peer in peers:
            row["torch_%s_ms" % peer] = statistics.median(theirs[i, peer])
            row["torch_%s_best_ms" % peer] = min(theirs[i, peer])
            row["ratio_%s" % peer] = row["torch_%s_ms" % peer] / row["glint_ms"]
            row["best_ratio_%s" % peer] = row["torch_%s_best_ms" % peer] / row["glint_best_ms"]
        table.append(row)
    return table


def main():
    parser = turns.parser(__doc__, 5)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--rows", type=int, default=32, help="sequences a step")
    parser.add_argument("--micro-batch", type=int, default=8, help="glint's sequences at once")
    parser.add_argument("--torch-micro-batch", type=int, default=8, help="PyTorch's; of 4, 8 and 16 it was the fastest")
    args = parser.parse_args()
    tuned.reexec()
    result = {"machine": tuned.machine(), "rows": [], "skipped": []}
    for precision, threads, peers, heading in turns.settings(args, result):
        rows = run(args, precision, threads, peers)
        result["rows"] += rows
        print("%s (us a token, median of all steps; ratio = PyTorch / glint; best: of the fastest steps)" % heading)
        head = ["tokens", "glint", "/ products", "tokens/s"] + [h for p in peers for h in ("torch " + p, "ratio", "best ratio")]
        print("  ".join("%10s" % h for h in head))
        for r in rows:
            us = lambda ms: ms / r["tokens"] * 1e3  # noqa: E731
            cells = ["%10s" % ("%d..256" % r["shortest"] if r["shortest"] < 256 else "256"), "%10.1f" % us(r["glint_ms"]),
                     "%10.2f" % (r["glint_ms"] / r["products_ms"]), "%10.0f" % r["glint_tokens_per_second"]]
            for p in peers:
                cells += ["%10.1f" % us(r["torch_%s_ms" % p]), "%10.2f" % r["ratio_%s" % p],
                          "%10.2f" % r["best_ratio_%s" % p]]
            print("  ".join(cells))
    for micro_batch in (args.micro_batch, 4 * args.micro_batch):
        args.micro_batch, args.repeats = micro_batch, 1
        result.setdefault("memory", []).append({"micro_batch": micro_batch, "rows": args.rows, "threads": 1,
                                                "mb": glint_rows(args.program, "f32", 1, args)[0]["peak_memory_mb"]})
    for m in result["memory"]:
        print("peak memory of glint, micro-batch %d: %.0f MB" % (m["micro_batch"], m["mb"]))
    turns.save(args, result)


if __name__ == "__main__":
    main()
