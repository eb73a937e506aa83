#!/usr/bin/env python3
"""Training steps on 1, 2 and 4 ranks of this machine, and the chain alone on threads with the delays of a network:
    bench_mpi.py build/release/bench/ranks_bench --json OUT [--batch N] [--repeats N]
The JSON is what bench/write_scaling.py makes docs/scaling.md from."""
import argparse
import json
import os
import shutil
import subprocess
import sys

ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_mpi_yield_when_idle": "0", "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
}


def run(command):
    result = subprocess.run(command, env={**os.environ, **ENVIRONMENT}, capture_output=True, text=True, timeout=3600)
    if result.returncode != 0:
        sys.exit("bench_mpi: %s failed:\n%s" % (" ".join(command), result.stderr))
    return json.loads(result.stdout.splitlines()[-1])


def show(r):
    waiting = [rank["waiting"] for rank in r["of_ranks"]]
    crowded = r["ranks"] * r["threads"] > r["cores"]
    print("%-8s %5d %8d %12.1f %12.2f %9.0f-%.0f%s" % (
        r["work"], r["ranks"], r["threads"], r["ms"], max(rank["bytes"] for rank in r["of_ranks"]) / 1e6,
        100 * min(waiting), 100 * max(waiting), "  more threads than cores" if crowded else ""), flush=True)
    return r


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--json", required=True)
    parser.add_argument("--batch", type=int, default=512, help="stories a step")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--turns", type=int, default=4, help="of what is compared")
    o = parser.parse_args()
    if not shutil.which("mpirun"):
        sys.exit("bench_mpi: no mpirun; scripts/setup mpi")
    repeats = ["--repeats", str(o.repeats)]
    steps = []
    print("%-8s %5s %8s %12s %12s %12s" % ("work", "ranks", "threads", "ms a step", "MB sent", "waiting %"))
    for work, extra in (("image", []), ("stories", ["--batch", str(o.batch)])):
        for ranks, threads in ((1, 1), (1, 2), (2, 1), (4, 1)):
            command = [o.program, work, "--threads", str(threads)] + extra + repeats
            steps.append(show(run((["mpirun", "-n", str(ranks)] if ranks > 1 else []) + command)))
    chains = [show(run(["mpirun", "-n", str(n), o.program, "sum"] + repeats)) for n in (2, 4)]
    print("\nthe chain alone on threads, with the delays of a network:")
    delayed = []
    for latency, bandwidth in ((2e-3, 20e6), (10e-3, 40e6), (20e-3, 100e6)):
        for ranks in (2, 4):
            delayed.append(show(run([o.program, "sum", "--local", str(ranks), "--latency", str(latency),
                                     "--bandwidth", str(bandwidth), "--repeats", "3"])))
    # The two that are compared take turns, and the best of each counts: other programs can only make it slower.
    print("\nlanguage model, taking turns:")
    best = {1: [], 2: []}
    for _ in range(o.turns):
        for ranks in best:
            command = [o.program, "stories", "--threads", str(3 - ranks), "--batch", str(o.batch), "--repeats", "2"]
            best[ranks] += show(run((["mpirun", "-n", str(ranks)] if ranks > 1 else []) + command))["all_ms"]
    efficiency = min(best[1]) / min(best[2])
    print("\nlanguage model, %d stories a step: 2 ranks x 1 thread have %.2f of the speed of 1 rank x 2 threads "
          "(goal: at least 0.90)" % (o.batch, efficiency))
    with open(o.json, "w") as out:
        json.dump({"batch": o.batch, "load": os.getloadavg()[0], "cores": os.cpu_count(), "steps": steps,
                   "chains": chains, "delayed": delayed, "turns": best, "efficiency": efficiency}, out, indent=1)
        out.write("\n")


if __name__ == "__main__":
    main()
