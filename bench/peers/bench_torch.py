#!/usr/bin/env python3
"""glint.torch beside PyTorch's own operations: forward + backward of y = gate(l) r, three ways taking turns in one process:
the expression in eager PyTorch, the same under torch.compile, and glint.torch.glu. All three run with the tuned memory of the peers. `halves` has l and r as the halves of one
tensor, as they come out of a GLU layer's product; the gradient is then one tensor too. Writes a table and JSON."""
import os
import statistics
import sys
import time

import turns
import tuned

SHAPES = [(2048, 512), (256, 512), (32, 128)]


def ways(torch, gt, gate, expression, halves, compiled):
    """Name -> function of the inputs, which gives y."""
    if halves:
        from glint.torch._functions import stacked_glu
        from glint.torch._specs import resolve

        def eager(z):
            l, r = z.chunk(2, dim=1)
            return expression(l) * r
        found = {"eager": eager, "glint": lambda z: stacked_glu(z, spec)}
        spec = resolve(gate)
    else:
        eager = lambda l, r: expression(l) * r  # noqa: E731
        found = {"eager": eager, "glint": lambda l, r: gt.glu(l, r, gate)}
    if compiled:
        torch._dynamo.reset()
        found["compile"] = torch.compile(eager, fullgraph=True)
    return found


def measure(torch, found, inputs, dy, rounds):
    """Milliseconds of every turn. Within a round each way has its turns one after the other, so that a busy neighbour disturbs all."""
    times = {name: [] for name in found}

    def turn(way):
        for t in inputs:
            t.grad = None
        start = time.perf_counter()
        way(*inputs).backward(dy)
        return (time.perf_counter() - start) * 1e3

    for way in found.values():
        for _ in range(3):
            turn(way)
    for _ in range(rounds):
        for name, way in found.items():
            turn(way)  # what the one before left in the caches is its own affair
            times[name] += [turn(way) for _ in range(3)]
    return times


def main():
    parser = turns.parser(__doc__, 25)
    parser.add_argument("--gates", default="sqs,silu,gelu", help="sqs,relu")
    parser.add_argument("--shapes", default=",".join("%dx%d" % s for s in SHAPES))
    parser.add_argument("--no-compile", action="store_true", help="without torch.compile")
    args = parser.parse_args()
    if os.environ.get("GLINT_TUNED") != "1":  # read when the libraries load
        os.execve(sys.executable, [sys.executable] + sys.argv, dict(os.environ, GLINT_TUNED="1", **tuned.MALLOC))
    import torch
    import glint
    import glint.torch as gt
    from torch_gates import gate as torch_gate
    compiled = not args.no_compile and hasattr(torch, "compile")
    result = turns.result(args)
    result["skipped"] += [] if compiled else ["torch.compile"]
    for threads in (int(t) for t in args.threads.split(",")):
        torch.set_num_threads(threads)
        glint.threads = threads
        print("\nforward + backward of gate(l) r, f32, %d thread%s (ms, best of all turns; ratio = theirs / glint's)" %
              (threads, "" if threads == 1 else "s"))
        print("  ".join("%9s" % h for h in ("rows", "cols", "gate", "inputs", "glint", "eager", "ratio", "compile", "ratio")))
        for shape in args.shapes.split(","):
            rows, cols = (int(v) for v in shape.split("x"))
            for gate in args.gates.split(","):
                for halves in (False, True):
                    torch.manual_seed(1)
                    sizes = [(rows, 2 * cols)] if halves else [(rows, cols)] * 2
                    inputs = [torch.randn(s).requires_grad_() for s in sizes]
                    dy = torch.randn(rows, cols)
                    found = ways(torch, gt, gate, torch_gate(gate), halves, compiled)
                    times = measure(torch, found, inputs, dy, args.rounds)
                    row = {"rows": rows, "cols": cols, "gate": gate, "threads": threads, "halves": halves}
                    for name, values in times.items():
                        row[name + "_ms"] = min(values)  # beside other work the median is of the other work
                        row[name + "_quartiles"] = statistics.quantiles(values, n=4)
                    for name in times:
                        row["ratio_" + name] = row[name + "_ms"] / row["glint_ms"]
                    result["rows"].append(row)
                    cells = ["%9d" % rows, "%9d" % cols, "%9s" % gate, "%9s" % ("halves" if halves else "l, r"), "%9.4f" % row["glint_ms"]]
                    for name in ("eager", "compile"):
                        cells += ["%9.4f" % row[name + "_ms"], "%9.2f" % row["ratio_" + name]] if name in times else ["%9s" % "-"] * 2
                    print("  ".join(cells), flush=True)
    turns.save(args, result)


if __name__ == "__main__":
    main()
