#!/usr/bin/env python3
"""The paper's appendix C with PyTorch beside glint: forward + backward of a one-layer GLU, every shape and gate, both
programs taking turns in one run, the same precision and threads. Writes a table and JSON."""
import json
import math
import statistics
import subprocess
import sys
import time

import tuned
import turns


class TorchLayer:
    def __init__(self, batch, d_in, d_out, bf16):
        import torch
        torch.manual_seed(1)
        self.x = (torch.rand(batch, d_in) * 2 - 1) * math.sqrt(3)
        self.w = (torch.rand(2 * d_out, d_in) * 2 - 1) / math.sqrt(d_in)
        self.dy = (torch.rand(batch, d_out) * 2 - 1) * 1e-3
        self.bf16 = bf16
        self.x.requires_grad_(True)
        self.w.requires_grad_(True)

    def step(self, gate):
        import torch
        self.x.grad = None
        self.w.grad = None
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.bf16):
            z = torch.nn.functional.linear(self.x, self.w)
            l, r = z.chunk(2, dim=1)
            y = gate(l) * r
        y.backward(self.dy.to(y.dtype))

    def time(self, gate, repeats):
        times = []
        for _ in range(repeats):
            start = time.perf_counter()
            self.step(gate)
            times.append((time.perf_counter() - start) * 1e3)
        return times


def gate_table(program):
    """The gates as glint exports them: their names and titles, and their code in Python."""
    return json.loads(subprocess.run([program, "gates", "--json"], check=True, capture_output=True).stdout)


def glint_times(program, shape, gates, precision, threads, repeats):
    command = [program, "bench", "gates", "--shapes", "%dx%d" % shape, "--gates", ",".join(gates), "--precision", precision,
               "--threads", str(threads), "--repeats", str(repeats), "--format", "json", "--quiet"]
    return {row["gate"]: row for row in json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["rows"]
            if row.get("fused", True)}


def geomean(values):
    return math.exp(sum(math.log(v) for v in values) / len(values))


def run(args, precision, threads, torch_precisions):
    import torch
    from torch_model import gate as torch_gate
    torch.set_num_threads(threads)
    rows = []
    total = len(args.shapes)
    for index, (batch, width) in enumerate(args.shapes):
        layer = {p: TorchLayer(batch, width, width, p == "bf16") for p in torch_precisions}
        gates = {name: torch_gate(name, args.table) for name in args.gates}
        ours = {name: [] for name in args.gates + ["products"]}
        theirs = {(p, name): [] for p in torch_precisions for name in args.gates}
        for p in torch_precisions:
            layer[p].time(gates["sqs"] if "sqs" in gates else gates[args.gates[0]], 2)  # warm-up
        flop = 12.0 * batch * width * width
        repeats = max(2, min(10, int(60e9 / flop)))
        for round_ in range(args.rounds):
            for name, row in glint_times(args.program, (batch, width), args.gates, precision, threads, repeats).items():
                ours[name].append(row["median_ms"])
            for p in torch_precisions:
                for name in args.gates:
                    theirs[(p, name)] += layer[p].time(gates[name], repeats)
            print("\r%s, %d threads: shape %d of %d (%dx%d), round %d of %d   " %
                  (precision, threads, index + 1, total, batch, width, round_ + 1, args.rounds), end="", file=sys.stderr)
        for name in args.gates:
            row = {"batch": batch, "d_in": width, "d_out": width, "gate": name, "precision": precision, "threads": threads,
                   "glint_ms": statistics.median(ours[name]), "products_ms": statistics.median(ours["products"]),
                   "identity_ms": statistics.median(ours["identity"]) if "identity" in ours else None}
            for p in torch_precisions:
                row["torch_%s_ms" % p] = statistics.median(theirs[(p, name)])
                row["ratio_%s" % p] = row["torch_%s_ms" % p] / row["glint_ms"]
            rows.append(row)
    print("\r" + " " * 78 + "\r", end="", file=sys.stderr)
    return rows


def summary(rows, gates, torch_precisions):
    out = []
    for gate in gates:
        mine = [r for r in rows if r["gate"] == gate]
        if not mine:
            continue
        line = {"gate": gate, "precision": mine[0]["precision"], "threads": mine[0]["threads"], "shapes": len(mine),
                "vs_products": geomean([r["glint_ms"] / r["products_ms"] for r in mine])}
        if all(r["identity_ms"] for r in mine):
            line["vs_identity"] = geomean([r["glint_ms"] / r["identity_ms"] for r in mine])
            line["vs_identity_worst"] = max(r["glint_ms"] / r["identity_ms"] for r in mine)
        for p in torch_precisions:
            ratios = [r["ratio_%s" % p] for r in mine]
            line["faster_than_torch_%s" % p] = geomean(ratios)
            line["slowest_ratio_%s" % p] = min(ratios)
        out.append(line)
    return out


def main():
    parser = turns.parser(__doc__, 3)
    parser.add_argument("--gates", default="", help="sqs,relu; all by default")
    parser.add_argument("--shapes", default="", help="256x256,512x1024: batch x width; all sixteen by default")
    args = parser.parse_args()
    tuned.reexec()
    args.table = gate_table(args.program)
    titles = {g["name"]: g["title"] for g in args.table["gates"] if g["glu"]}
    args.gates = args.gates.split(",") if args.gates else list(titles)
    if args.shapes:
        args.shapes = [tuple(int(v) for v in s.split("x")) for s in args.shapes.split(",")]
    else:
        args.shapes = [(b, w) for b in (256, 512, 1024, 2048) for w in (256, 512, 1024, 2048)]
    result = {"machine": tuned.machine(), "titles": titles, "rows": [], "summary": [], "skipped": []}
    for precision, threads, peers, heading in turns.settings(args, result):
        rows = run(args, precision, threads, peers)
        result["rows"] += rows
        lines = summary(rows, args.gates, peers)
        result["summary"] += lines
        print("\n%s (ms; ratio = PyTorch / glint)" % heading)
        head = ["batch", "width", "gate", "glint", "products"] + [h for p in peers for h in ("torch " + p, "ratio")]
        print("  ".join("%9s" % h for h in head))
        for r in rows:
            cells = ["%9d" % r["batch"], "%9d" % r["d_in"], "%9s" % r["gate"], "%9.3f" % r["glint_ms"], "%9.3f" % r["products_ms"]]
            for p in peers:
                cells += ["%9.3f" % r["torch_%s_ms" % p], "%9.2f" % r["ratio_%s" % p]]
            print("  ".join(cells))
        print("geometric means over %d shapes:" % len(args.shapes))
        for line in lines:
            print("  %-9s" % line["gate"] + "  ".join("%s %.3f" % (k, v) for k, v in line.items() if isinstance(v, float)))
    turns.save(args, result)


if __name__ == "__main__":
    main()
