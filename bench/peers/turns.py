"""What the comparisons share: their options, the settings that they go through, the peers that take turns with glint, and
the file of numbers."""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

import tuned

PEERS = {"eager": "PyTorch eager", "compiled": "PyTorch compiled", "jax": "JAX"}
WORKER = str(pathlib.Path(__file__).resolve().parent / "worker.py")


# Both sides start from the libraries' own choices, whatever the shell has set.
for variable in [v for v in os.environ if v.startswith(("OPENBLAS_", "OMP_", "MKL_", "XLA_", "MALLOC_", "LD_PRELOAD"))]:
    del os.environ[variable]


def parser(description, rounds):
    p = argparse.ArgumentParser(description=description)
    p.add_argument("--program", default="build/release/glint")
    p.add_argument("--threads", default="1,2")
    p.add_argument("--precisions", default="f32,bf16")
    p.add_argument("--peers", default=",".join(PEERS))
    p.add_argument("--rounds", type=int, default=rounds, help="how often the programs take turns")
    p.add_argument("--json", default="", help="file for all numbers")
    return p


def glint(args, *words):
    """What the program answers as JSON."""
    out = subprocess.run([args.program, *map(str, words), "--json"], check=True, capture_output=True)
    return json.loads(out.stdout)


def titles(args):
    """What the gates are called."""
    return {g["name"]: g["title"] for g in glint(args, "gates")["gates"] if g["glu"]}


class Peer:
    """A process of worker.py; what it says goes to a file."""

    def __init__(self, work, name, precision, threads):
        self.name = name
        self.log = tuned.BUILD / "peers" / ("%s-%s.log" % (work, name))
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with open(self.log, "w") as log:
            self.process = subprocess.Popen([sys.executable, WORKER, work, name, precision, str(threads)], text=True, stderr=log,
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            env=dict(os.environ, **tuned.environment(name, threads)))

    def times(self, case, repeats):
        self.process.stdin.write(json.dumps({"case": case, "repeats": repeats}) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit("%s failed on %s:\n%s" % (self.name, case, self.log.read_text()[-3000:]))
        return json.loads(answer)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def note(text):
    """A line that the next one replaces."""
    if sys.stderr.isatty():
        print("\r%-78s\r" % text[:78], end="", file=sys.stderr, flush=True)


def settings(args, result):
    """Gives (precision, threads, heading); what cannot run here is noted in result."""
    for precision in args.precisions.split(","):
        if precision == "bf16" and not tuned.has_bf16():
            result["skipped"].append("bf16: this processor has no bf16 instructions")
            print("bf16: skipped, this processor has no bf16 instructions", file=sys.stderr)
            continue
        for threads in (int(t) for t in args.threads.split(",")):
            yield precision, threads, "%s, %d thread%s" % (precision, threads, "" if threads == 1 else "s")


def compare(args, work, precision, threads, cases, ours, repeats, peers=None, installed=False):
    """Rounds in which glint and every peer take turns on all cases. `ours(case)` gives glint's own numbers of a round, a
    dict with "median_ms"; `repeats(case)` says how many steps of a peer are a turn. Gives a row for each case: the medians of
    glint's numbers, the medians of the peers and the ratio of the fastest to glint. `installed` adds PyTorch as it is
    installed, in the first round alone and outside of the competition."""
    names = args.peers.split(",") if peers is None else peers
    workers = [Peer(work, name, precision, threads) for name in names + (["installed"] if installed else [])]
    mine, theirs = [[] for _ in cases], [{p.name: [] for p in workers} for _ in cases]
    for round_ in range(args.rounds):
        for i, case in enumerate(cases):
            note("%s, %d threads: round %d of %d, case %d of %d" % (precision, threads, round_ + 1, args.rounds, i + 1, len(cases)))
            for peer in workers:
                if peer.name == "installed" and round_ > 0:
                    continue
                theirs[i][peer.name] += peer.times(case, repeats(case))
            mine[i].append(ours(case))
    for peer in workers:
        peer.close()
    note("")
    rows = []
    for i in range(len(cases)):
        row = {"precision": precision, "threads": threads}
        row.update({key: statistics.median(m[key] for m in mine[i]) for key in mine[i][0]})
        row["glint_ms"] = row.pop("median_ms")
        medians = {name: 1e3 * statistics.median(times) for name, times in theirs[i].items()}
        if installed:
            row["installed_ms"] = medians.pop("installed")
        row["peers"] = medians
        if medians:
            row["best_peer"] = min(medians, key=medians.get)
            row["ratio"] = medians[row["best_peer"]] / row["glint_ms"]
        rows.append(row)
    return rows


def result(args):
    return {"machine": tuned.machine(), "rows": [], "skipped": [], "started": time.time()}


def save(args, result):
    result["machine"]["seconds"] = round(time.time() - result.pop("started"))
    result["machine"]["busy"] = max(result["machine"]["busy"], tuned.busy())
    if args.json:
        with open(args.json, "w") as f:
            json.dump(result, f, indent=1)
            f.write("\n")


def print_table(heading, head, rows):
    """head: (title, function of a row) of each column, before those of the peers."""
    print(heading)
    peers = list(rows[0]["peers"])
    print("  ".join("%9s" % t for t in [t for t, _ in head] + peers + ["ratio"]))
    for r in rows:
        cells = [str(f(r)) for _, f in head] + ["%.3f" % r["peers"][p] for p in peers] + ["%.2f" % r["ratio"]]
        print("  ".join("%9s" % c for c in cells), flush=True)
