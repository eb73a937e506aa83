#!/usr/bin/env python3
"""The paper's appendix C on a GPU: forward + backward of a one-layer GLU, 16 shapes, 5 gates; glint's Triton kernels beside eager
PyTorch, torch.compile and, where it is installed, Liger-Kernel's SwiGLU.

    python bench/gpu/appendix_c.py --json gpu-timing.json     beside timing.json of a reproduction, its report takes it up
    python bench/gpu/appendix_c.py --dry                      without a GPU: everything but time

The verdict is that of the report: SQS in at most 1.05 times the time of each rival, geometric means over the shapes."""
import argparse
import json
import math
import os
import statistics
import sys

GATES = ("relu", "silu", "gelu", "identity", "sqs")  # as in the paper's table
SHAPES = [(batch, width) for batch in (256, 512, 1024, 2048) for width in (256, 512, 1024, 2048)]
PAR = 1.05  # kParTime of glint/paper/verdicts.h
SCHEMA = "glint-gpu-timing/1"


def ways(torch, gt, gate):
    """Name -> y = f(l, r)."""
    import torch.nn.functional as F

    plain = {
        "relu": F.relu, "silu": F.silu, "gelu": F.gelu, "identity": lambda h: h,
        "sqs": lambda h: (h - 0.01 * torch.where(h < 0, -1.0, 1.0)) / (1 + 0.5 * h.abs()),
    }[gate]  # fmt: skip
    found = {"glint": lambda l, r: gt.glu(l, r, gate), "eager": lambda l, r: plain(l) * r}
    if gate == "silu":
        try:
            from liger_kernel.ops.swiglu import LigerSiLUMulFunction
            found["liger"] = lambda l, r: LigerSiLUMulFunction.apply(l * 1, r * 1)  # it writes over what it is given
        except ImportError:
            pass
    return found, lambda l, r: plain(l) * r


def layer(torch, way, x, w):
    left, right = torch.nn.functional.linear(x, w).chunk(2, dim=1)
    return way(left, right)


def step(torch, way, x, w, dy):
    x.grad = w.grad = None
    layer(torch, way, x, w).backward(dy)


def inputs(torch, batch, width, device, dtype):
    generator = torch.Generator().manual_seed(1)
    make = lambda *shape: torch.randn(*shape, generator=generator)  # noqa: E731
    x, w, dy = make(batch, width), make(2 * width, width) / math.sqrt(width), make(batch, width) * 1e-3
    return [t.to(device, dtype).requires_grad_(i < 2) for i, t in enumerate((x, w, dy))]


def check(torch, found, gate, device, dtype, batch=33, width=48):
    """Every way gives what doubles give: results and both gradients."""
    x, w, dy = inputs(torch, batch, width, device, dtype)
    wide = [t.detach().double().requires_grad_(t.requires_grad) for t in (x, w, dy)]
    _, exact = ways(torch, None, gate)
    wanted_y = layer(torch, exact, *wide[:2])
    wanted = [wanted_y, *torch.autograd.grad(wanted_y, wide[:2], wide[2])]
    for name, way in found.items():
        y = layer(torch, way, x, w)
        for got, right in zip([y, *torch.autograd.grad(y, (x, w), dy)], wanted):
            # Sums of some tens of products, each rounded; SQS jumps by 2 c where a sum may round to the other side of 0.
            bound = 64 * torch.finfo(dtype).eps * float(right.detach().abs().max()) + (0.04 * float(dy.abs().max()) if gate == "sqs" else 0)
            error = float((got.double() - right).detach().abs().max())
            if not error <= bound:
                sys.exit(f"{name}, {gate}, {dtype}: off by {error:.3g}, more than {bound:.3g}")


def time(torch, run, repeats):
    """Milliseconds of every repeat on the GPU's own clock. What the one before left in its cache is washed out."""
    wash = torch.empty(64 * 2**20, dtype=torch.float32, device="cuda")
    for _ in range(10):
        run()
    marks = [[torch.cuda.Event(enable_timing=True) for _ in "ab"] for _ in range(repeats)]
    for first, last in marks:
        wash.zero_()
        first.record()
        run()
        last.record()
    torch.cuda.synchronize()
    return sorted(first.elapsed_time(last) for first, last in marks)


def row(batch, width, gate, times):
    low, _, high = statistics.quantiles(times, n=4)
    return {"batch": batch, "width": width, "gate": gate, "median_ms": statistics.median(times), "low_ms": low, "high_ms": high,
            "repeats": len(times)}


def verdict(times):
    """(rival, geometric mean of SQS time / its time), and what follows."""
    at = {(t["batch"], t["width"], t["gate"]): t["median_ms"] for t in times}
    shapes = {key[:2] for key in at}
    over = {rival: math.exp(statistics.mean(math.log(at[(*s, "sqs")] / at[(*s, rival)]) for s in shapes)) for rival in GATES if rival != "sqs"}
    won = sum(ratio <= PAR for ratio in over.values())
    return over, "holds" if won == len(over) else "holds in part" if won else "does not hold"


def compile_all(gt):
    """The kernels of every gate for GPUs that are not here."""
    import triton
    from glint.torch import _specs, _triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    for gate in GATES:
        for kernel in (_triton.forward, _triton.backward):
            names, fixed = kernel.arg_names, _triton.constants(_specs.spec(gate), True, 1024, kernel is _triton.backward)
            kinds = {n: "constexpr" if n in fixed else "*bf16" if n in ("l", "r", "y", "dy", "dl", "dr") else "fp32" if n in ("c", "lam") else "i64"
                     for n in names}
            for target in (GPUTarget("cuda", 80, 32), GPUTarget("cuda", 90, 32), GPUTarget("hip", "gfx942", 64)):
                made = triton.compile(ASTSource(kernel, kinds, constexprs={(names.index(n),): v for n, v in fixed.items()}), target=target)
                assert made.asm.get("cubin") or made.asm.get("hsaco"), (gate, target)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", default="", help="file for all numbers")
    parser.add_argument("--dtype", default="bfloat16", choices=("bfloat16", "float16", "float32"))
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--dry", action="store_true", help="no GPU: check kernels, results, gradients and the verdict, time nothing")
    args = parser.parse_args()
    os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
    import torch

    import glint.torch as gt
    dtype, device = getattr(torch, args.dtype), "cpu" if args.dry else "cuda"
    if not args.dry and not torch.cuda.is_available():
        sys.exit("no GPU here: --dry checks everything but time")
    result = {"schema": SCHEMA, "dry": args.dry, "dtype": args.dtype, "torch": torch.__version__, "times": [], "peers": []}
    result["device"] = "" if args.dry else torch.cuda.get_device_name()
    for gate in GATES:
        found, expression = ways(torch, gt, gate)
        check(torch, found, gate, device, dtype)
        check(torch, found, gate, device, torch.float32)
    print(f"{len(GATES)} gates give what doubles give, forward and back")
    if args.dry:
        compile_all(gt)
        even = [row(b, w, g, [1.0, 1.0, 1.0]) for b, w in SHAPES for g in GATES]
        over, word = verdict(even)
        assert word == "holds" and all(abs(ratio - 1) < 1e-12 for ratio in over.values())
        slow = [dict(t, median_ms=t["median_ms"] * (1.06 if t["gate"] == "sqs" else 1)) for t in even]
        assert verdict(slow)[1] == "does not hold"
        print(f"kernels compile; {len(SHAPES)} shapes; the verdict's rule is in order. Times: none, this is a dry run")
    else:
        for batch, width in SHAPES:
            for gate in GATES:
                found, expression = ways(torch, gt, gate)
                torch._dynamo.reset()
                found["compiled"] = torch.compile(expression, fullgraph=True)
                x, w, dy = inputs(torch, batch, width, device, dtype)
                for name, way in found.items():
                    measured = row(batch, width, gate, time(torch, lambda: step(torch, way, x, w, dy), args.repeats))
                    result["times" if name == "glint" else "peers"].append(measured if name == "glint" else dict(measured, peer=name))
                mine = result["times"][-1]["median_ms"]
                rest = [p for p in result["peers"] if (p["batch"], p["width"], p["gate"]) == (batch, width, gate)]
                print(f"{batch:5d} {width:5d} {gate:9s} {mine:8.4f} ms" + "".join(f"  {p['peer']} {p['median_ms']:.4f}" for p in rest), flush=True)
        over, word = verdict(result["times"])
        print(", ".join(f"{ratio:.3f} x {rival}" for rival, ratio in over.items()) + f": in time on par {word}")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
