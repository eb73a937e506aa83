#!/usr/bin/env python3
"""Stories of 255 tokens from the paper's language model, 1 and 32 side by side: glint, PyTorch and JAX, all with a cache of
keys and values, taking turns in one run. Sampling at temperature 0.8 is part of the time in all."""
import turns

TOKENS = 255


def ours(args, precision, threads):
    """The rows of one run of glint for each round, handed out case by case."""
    rows = {}

    def next_row(case):
        if case["stories"] not in rows:
            out = turns.glint(args, "bench", "generate", "--precision", precision, "--threads", threads, "--repeats", args.repeats)
            rows.update({r["stories"]: r for r in out["rows"]})
        return {"median_ms": rows.pop(case["stories"])["median_ms"]}

    return next_row


def main():
    parser = turns.parser(__doc__, 3)
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    result = turns.result(args)
    cases = [{"stories": 1}, {"stories": 32}]
    for precision, threads, heading in turns.settings(args, result):
        rows = turns.compare(args, "generate", precision, threads, cases, ours(args, precision, threads), lambda case: args.repeats)
        rows = [dict(case, **row, glint_tokens_s=case["stories"] * TOKENS / row["glint_ms"] * 1e3) for case, row in zip(cases, rows)]
        result["rows"] += rows
        turns.print_table(heading + " (ms; ratio = fastest peer / glint)",
                          [("stories", lambda r: r["stories"]), ("tokens/s", lambda r: "%.0f" % r["glint_tokens_s"]),
                           ("glint", lambda r: "%.2f" % r["glint_ms"])], rows)
    turns.save(args, result)


if __name__ == "__main__":
    main()
