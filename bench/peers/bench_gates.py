#!/usr/bin/env python3
"""The paper's appendix C: forward + backward of a one-layer GLU, glint, PyTorch and JAX taking turns in one run, the same
precision and threads. glint is timed with every gate on every shape; the peers with every gate on the smallest and the
largest, and with SQS and no gate on all."""
import math
import statistics

import turns

PEER_GATES = ("sqs", "identity")


def geomean(values):
    return math.exp(sum(math.log(v) for v in values) / len(values))


def repeats(case):
    """About 50 ms a turn on a fast core, whatever the shape."""
    return max(1, min(15, int(12e9 / (12.0 * case["batch"] * case["width"] ** 2))))


def ours(args, precision, threads):
    """The gates of one run of glint for each round and shape, handed out case by case."""
    rows = {}

    def next_row(case):
        key = (case["batch"], case["width"], case["gate"])
        if key not in rows:
            out = turns.glint(args, "bench", "gates", "--shapes", "%dx%d" % key[:2], "--gates", ",".join(args.gates), "--precision",
                              precision, "--threads", threads, "--repeats", repeats(case))["rows"]
            by_gate = {r["gate"]: r["median_ms"] for r in out}
            for gate in args.gates:
                rows[(*key[:2], gate)] = {"median_ms": by_gate[gate], "products_ms": by_gate["products"],
                                          "identity_ms": by_gate.get("identity", math.nan)}
                args.all_gates.setdefault((precision, threads, *key[:2], gate), []).append(rows[(*key[:2], gate)])
        return rows.pop(key)

    return next_row


def summary(args, precision, threads, rows):
    """For each gate, geometric means over the shapes: of glint alone over all of them, beside the peers over theirs."""
    out = []
    for gate in args.gates:
        mine = [v for k, v in args.all_gates.items() if k[:2] == (precision, threads) and k[4] == gate]
        over = lambda what: [statistics.median(m["median_ms"] / m[what] for m in rounds) for rounds in mine]  # noqa: E731
        line = {"gate": gate, "precision": precision, "threads": threads, "shapes": len(mine),
                "vs_products": geomean(over("products_ms")), "vs_identity": geomean(over("identity_ms")),
                "vs_identity_worst": max(over("identity_ms"))}
        ratios = [r["ratio"] for r in rows if r["gate"] == gate]
        line.update({"peer_shapes": len(ratios), "ratio": geomean(ratios), "worst_ratio": min(ratios)})
        out.append(line)
    return out


def main():
    parser = turns.parser(__doc__, 3)
    parser.add_argument("--gates", default="", help="sqs,relu; all by default")
    parser.add_argument("--shapes", default="", help="256x256,512x1024: batch x width; all sixteen by default")
    args = parser.parse_args()
    titles = turns.titles(args)
    args.gates = args.gates.split(",") if args.gates else list(titles)
    shapes = [tuple(int(v) for v in s.split("x")) for s in args.shapes.split(",")] if args.shapes else \
        [(b, w) for b in (256, 512, 1024, 2048) for w in (256, 512, 1024, 2048)]
    args.all_gates = {}
    cases = [{"batch": b, "width": w, "gate": g} for b, w in shapes for g in args.gates
             if g in PEER_GATES or (b, w) in (shapes[0], shapes[-1])]
    result = dict(turns.result(args), titles=titles, summary=[])
    for precision, threads, heading in turns.settings(args, result):
        rows = turns.compare(args, "gates", precision, threads, cases, ours(args, precision, threads), repeats)
        rows = [dict(case, **row) for case, row in zip(cases, rows)]
        lines = summary(args, precision, threads, rows)
        result["rows"] += rows
        result["summary"] += lines
        turns.print_table(heading + " (ms; ratio = fastest peer / glint)",
                          [(key, lambda r, key=key: r[key]) for key in ("batch", "width", "gate")] +
                          [("glint", lambda r: "%.3f" % r["glint_ms"]), ("products", lambda r: "%.3f" % r["products_ms"])], rows)
        for line in lines:
            print("  %-9s" % line["gate"] + "  ".join("%s %.3f" % (k, v) for k, v in line.items() if isinstance(v, float)), flush=True)
    turns.save(args, result)


if __name__ == "__main__":
    main()
