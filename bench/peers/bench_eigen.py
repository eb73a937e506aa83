#!/usr/bin/env python3
"""Ten symmetric matrices, all eigenpairs in double: glint against tuned torch.linalg.eigh, alternating in one run.

Usage: bench_eigen.py PATH/TO/eigen_bench [--rounds N] [--widths 256,512,784] [--threads 1,2] [--json FILE]
Prints a line a case: median times, and the median and range of the ratio torch / glint of the rounds (above 1:
glint is faster).
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

import tuned
import turns

UNITS = 10


def child(width, threads):
    """Times one batch for every line read."""
    import torch

    torch.set_num_threads(threads)
    torch.manual_seed(1)
    a = torch.randn(UNITS, width, width, dtype=torch.float64)
    a = torch.tril(a) + torch.tril(a, -1).transpose(1, 2)
    torch.linalg.eigh(a[:2])
    print(torch.__version__, flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        torch.linalg.eigh(a)
        print(time.perf_counter() - start, flush=True)


def peer_environment(threads):
    """Tuned, and BLAS held to as many threads as torch: it has a pool of its own."""
    return dict(os.environ, OMP_NUM_THREADS=str(threads), OPENBLAS_NUM_THREADS=str(threads), **tuned.environment())


def glint_seconds(program, width, threads):
    out = subprocess.run([program, f"--benchmark_filter=^eigenpairs_10/{width}/{threads}/", "--benchmark_format=json",
                          "--benchmark_min_time=0.05"], check=True, capture_output=True, text=True).stdout
    result = json.loads(out)["benchmarks"][0]
    assert result["time_unit"] == "ms"
    return result["real_time"] / 1e3, result.get("label", "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--widths", default="256,512,784")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--json", default="", help="file for all numbers")
    args = parser.parse_args()
    result = {"machine": tuned.machine(), "rows": [], "skipped": []}
    for threads in map(int, args.threads.split(",")):
        for width in map(int, args.widths.split(",")):
            peer = subprocess.Popen([sys.executable, __file__, "--child", str(width), str(threads)], text=True,
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=peer_environment(threads))
            version = peer.stdout.readline().strip()
            ours, theirs = [], []
            for _ in range(args.rounds):
                seconds, label = glint_seconds(args.program, width, threads)
                ours.append(seconds)
                peer.stdin.write("go\n")
                peer.stdin.flush()
                theirs.append(float(peer.stdout.readline()))
            peer.stdin.close()
            peer.wait()
            ratios = [t / o for t, o in zip(theirs, ours)]
            result["rows"].append({"width": width, "threads": threads, "glint_ms": statistics.median(ours) * 1e3,
                                   "torch_ms": statistics.median(theirs) * 1e3, "ratio": statistics.median(ratios)})
            print(f"width {width:4d}, {threads} thread(s): glint {statistics.median(ours) * 1e3:7.1f} ms ({label}), "
                  f"torch {version} {statistics.median(theirs) * 1e3:7.1f} ms, ratio "
                  f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})", flush=True)
    turns.save(args, result)


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] == "--child":
        child(int(sys.argv[2]), int(sys.argv[3]))
    else:
        main()
