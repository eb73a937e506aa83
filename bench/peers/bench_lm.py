#!/usr/bin/env python3
"""Whole training steps (forward, backward, clipping, AdamW) of the paper's language model: glint, PyTorch and JAX taking turns
in one run, on rows of the same lengths: 256 tokens each, and of 64 to 256 tokens as stories have them (the peers pad them)."""
import turns


def glint_rows(args, precision, threads, micro_batch, repeats):
    out = turns.glint(args, "bench", "lm", "--precision", precision, "--threads", threads, "--repeats", repeats, "--rows", args.rows,
                      "--micro-batch", micro_batch)
    return {"peak_memory_mb": out["peak_memory_mb"], **{str(min(r["lengths"])): r for r in out["rows"]}}


def ours(args, precision, threads):
    """The rows of one run of glint for each round, handed out case by case."""
    rows = {}

    def next_row(case):
        key = str(min(case["lengths"]))
        if key not in rows:
            rows.update(glint_rows(args, precision, threads, args.micro_batch, args.repeats))
        row = rows.pop(key)
        return {"median_ms": row["median_ms"], "products_ms": row["products_ms"]}

    return next_row


def main():
    parser = turns.parser(__doc__, 3)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--rows", type=int, default=32, help="sequences a step")
    parser.add_argument("--micro-batch", type=int, default=8, help="glint's sequences at once")
    parser.add_argument("--peer-micro-batch", type=int, default=8, help="the peers'")
    args = parser.parse_args()
    result = turns.result(args)
    shapes = [r for key, r in glint_rows(args, "f32", 1, args.micro_batch, 1).items() if key != "peak_memory_mb"]
    cases = [{"lengths": r["lengths"], "micro_batch": args.peer_micro_batch} for r in shapes]
    for precision, threads, heading in turns.settings(args, result):
        rows = turns.compare(args, "lm", precision, threads, cases, ours(args, precision, threads), lambda case: args.repeats,
                             installed=precision == "f32" and threads == 1)
        for shape, row in zip(shapes, rows):
            tokens = shape["tokens"]
            result["rows"].append({"rows": shape["rows"], "tokens": tokens, "shortest": min(shape["lengths"]), **row,
                                   "glint_tokens_per_second": tokens / row["glint_ms"] * 1e3})
        turns.print_table(heading + " (ms a step; ratio = fastest peer / glint)",
                          [("tokens", lambda r: "%d..256" % r["shortest"]), ("glint", lambda r: "%.1f" % r["glint_ms"]),
                           ("/ product", lambda r: "%.2f" % (r["glint_ms"] / r["products_ms"])),
                           ("tokens/s", lambda r: "%.0f" % r["glint_tokens_per_second"])], result["rows"][-len(cases):])
    result["memory"] = [{"micro_batch": n, "rows": args.rows, "threads": 1, "mb": glint_rows(args, "f32", 1, n, 1)["peak_memory_mb"]}
                        for n in (args.micro_batch, 4 * args.micro_batch)]
    for m in result["memory"]:
        print("peak memory of glint, micro-batch %d: %.0f MB" % (m["micro_batch"], m["mb"]))
    turns.save(args, result)


if __name__ == "__main__":
    main()
