#!/usr/bin/env python3
"""The 32 strongest eigenpairs of either sign of a GLU layer, without forming its interaction matrix: glint (from the weights as
the file stores them) and SciPy's eigsh on a LinearOperator, taking turns in one run. Writes a table and JSON."""
import json
import pathlib
import subprocess

import numpy as np

import solver_weights
import tuned
import turns

K, TOKEN = 64, 9796  # " happy" in the vocabulary of stories15M
FULL = 1024          # up to this width the whole decomposition is compared as well


def cases(args):
    folder = tuned.BUILD / "peers" / "solver"
    files, q = solver_weights.wide(folder, args.width, args.hidden)
    names = {"left": "gate", "right": "up", "norm": "norm", "q": q, "width": args.width, "hidden": args.hidden}
    found = [dict(names, name="wide", stored=t, file=f, peers=t == "f32") for t, f in files.items()]
    if not pathlib.Path(args.model).exists():
        return found, ["the layers of stories15M: there is no %s (scripts/fetch-data stories15m --to data)" % args.model]
    for i in (0, 5):
        left, _, _, down, final, head = solver_weights.llama2c(args.model, i)
        q = folder / ("q-stories15m-%d.npy" % (i + 1))
        np.save(q, (head[TOKEN] * final).astype(np.float64) @ down)
        blk = "blk.%d." % i
        found.append({"name": "stories15M, layer %d" % (i + 1), "stored": "f32", "file": args.model, "layer": i, "peers": True,
                      "left": blk + "ffn_gate.weight", "right": blk + "ffn_up.weight", "norm": blk + "ffn_norm.weight", "q": str(q),
                      "width": left.shape[1], "hidden": left.shape[0]})
    return found, []


def ours(args, threads, answers):
    def row(case):
        out = subprocess.run([args.program, case["file"], case["left"], case["right"], case["norm"], case["q"], str(K), str(threads),
                              str(1 if case["width"] > FULL else 5)], check=True, capture_output=True).stdout
        r = json.loads(out)
        answers[case["name"], case["stored"]] = np.sort(r["values"])
        args.library = r["linalg"]
        return {"median_ms": sorted(r["ms"])[len(r["ms"]) // 2], "products": r["products"], "peak_mb": r["peak_mb"], "layer_mb": r["layer_mb"]}

    return row


def furthest(a, b):
    """The largest difference of two lists of eigenvalues, relative to the largest of them."""
    return float(np.abs(a - b).max() / np.abs(b).max())


def whole(case):
    """The same eigenvalues from the whole matrix in double."""
    left, right, norm, q = (np.asarray(a, dtype=np.float64) for a in solver_weights.layer(case))
    m = (left * norm).T @ (q[:, None] * (right * norm))
    values = np.linalg.eigvalsh((m + m.T) / 2)
    return np.concatenate((values[:K // 2], values[-K // 2:]))


def main():
    parser = turns.parser(__doc__, 3)
    parser.add_argument("--width", type=int, default=4096)
    parser.add_argument("--hidden", type=int, default=14336)
    parser.add_argument("--model", default="data/stories15m/stories15M.bin")
    parser.add_argument("--ncv", type=int, default=256, help="vectors of ARPACK")
    parser.set_defaults(program="build/release/bench/solver_bench", precisions="f32", peers="scipy,scipy_f32")
    args = parser.parse_args()
    result = turns.result(args)
    from importlib.metadata import version
    result["machine"]["scipy"] = version("scipy")
    found, result["skipped"] = cases(args)
    for c in found:
        c.update(k=K, ncv=args.ncv, answers=str(tuned.BUILD / "peers" / "solver" / (c["name"].replace(" ", "") + "-")))
    for threads in (int(t) for t in args.threads.split(",")):
        answers = {}
        both = [c for c in found if c["peers"]]
        rows = turns.compare(args, "solver", "f64", threads, both, ours(args, threads, answers), lambda case: 1)
        alone = [turns.compare(args, "solver", "f64", threads, [c], ours(args, threads, answers), lambda case: 1, peers=[])
                 for c in found if not c["peers"]]
        for case, row in zip(both + [c for c in found if not c["peers"]], rows + [r for a in alone for r in a]):
            mine = answers[case["name"], case["stored"]]
            row.update(name=case["name"], stored=case["stored"], width=case["width"], hidden=case["hidden"], k=K)
            for peer in row["peers"]:
                told = np.load(case["answers"] + peer + ".npz")
                row.setdefault("differs", {})[peer] = furthest(told["values"], mine)
                row.setdefault("peer_products", {})[peer] = int(told["products"])
            if case["width"] <= FULL and case["peers"]:
                row["differs_whole"] = furthest(whole(case), mine)
            result["rows"].append(row)
            print("%d thread%s  %-20s %s %5d x %-5d  glint %8.1f ms (%d products, %.0f MB of %.0f)" %
                  (threads, " " if threads == 1 else "s", row["name"], row["stored"], row["hidden"], row["width"], row["glint_ms"],
                   row["products"], row["peak_mb"], row["layer_mb"]), end="")
            for peer, ms in row["peers"].items():
                print("  %s %.1f ms (%d products, %.2f times, values differ by %.1e)" %
                      (peer, ms, row["peer_products"][peer], ms / row["glint_ms"], row["differs"][peer]), end="")
            print("  whole matrix: %.1e" % row["differs_whole"] if "differs_whole" in row else "", flush=True)
    result["library"] = args.library
    turns.save(args, result)


if __name__ == "__main__":
    main()
