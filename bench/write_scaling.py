#!/usr/bin/env python3
"""Writes docs/scaling.md and docs/results/scaling.svg from docs/results/mpi.json, which `make bench-mpi` measured.
Nothing there is typed by hand but the model, which stands here."""
import json
import math
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
MEASURED = json.loads((ROOT / "docs" / "results" / "mpi.json").read_text())

FLOATS = 1507328            # gradient of the paper's language model
PIECE = 4 * 2 ** 15         # bytes of a message of the chain
PIECES = math.ceil(4 * FLOATS / PIECE)
BATCH = 512                 # stories a step
STEPS = 3 * 2119719 // BATCH
NETWORKS = [("1 GbE", 50e-6, 0.117e9), ("10 GbE", 20e-6, 1.17e9), ("100 GbE", 5e-6, 11.7e9)]
RANKS = [2 ** i for i in range(11)]


def chain(ranks, latency, bandwidth, fold):
    """Seconds of an ordered sum: the first piece goes through all ranks and its result comes back, the others follow
    at the pace of the slowest part of the way. `fold`: seconds in which a rank adds its part to a piece. The last rank
    but one sends every piece twice through one link: up, and from the time when the first comes back also down."""
    if ranks == 1:
        return PIECES * fold
    wire = PIECE / bandwidth
    stream = (PIECES - 1) * max(wire, fold)
    both = max(0, (PIECES - 1) * wire - 2 * (latency + wire)) if ranks > 2 else 0
    return 2 * (ranks - 1) * (latency + wire) + ranks * fold + stream + both


def tree(ranks, latency, bandwidth, fold):
    """The same for a fixed binary tree: up and back in log2(ranks) levels; an inner rank takes in two streams."""
    if ranks == 1:
        return PIECES * fold
    wire = PIECE / bandwidth
    levels = math.ceil(math.log2(ranks))
    pace = max(2 * wire, 2 * fold)
    return 2 * levels * (latency + wire) + levels * 2 * fold + (PIECES - 1) * pace


# The step on one thread is twice the best one of two ranks with one thread each. Adding a lane to a piece, and AdamW, which every rank repeats (it reads and writes three
# buffers and the weights), are taken to go at the speed of memory.
MEMORY = 8e9  # bytes a second, of one core
COMPUTE = 2 * min(MEASURED["turns"]["2"]) / 1e3
FOLD = 2.0 * PIECE / MEMORY
REPEATED = 12 * 4 * FLOATS / MEMORY


def step(ranks, lanes, network, kind):
    _, latency, bandwidth = network
    share = math.ceil(lanes / ranks) / lanes
    own = COMPUTE * (BATCH / MEASURED["batch"]) * share
    return own + REPEATED + kind(ranks, latency, bandwidth, FOLD * math.ceil(lanes / ranks))


def goal():
    words = "reached" if MEASURED["efficiency"] >= 0.9 else "**missed**"
    return words if MEASURED["batch"] == BATCH else "%s, but the goal is for %d stories a step" % (words, BATCH)


def hours(seconds):
    return "%.1f h" % (seconds / 3600) if seconds < 48 * 3600 else "%.1f d" % (seconds / 86400)


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---:|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(r) + " |" for r in rows]) + "\n"


def lanes_of(ranks):
    return min(512, max(16, ranks))


def figure():
    """Efficiency over ranks, a line for each network and kind."""
    width, height, left, top = 640, 360, 60, 20
    x = lambda r: left + (width - left - 150) * math.log2(r) / 10
    y = lambda e: top + (height - top - 50) * (1 - e)
    out = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="DejaVu Sans, sans-serif" '
           'font-size="12"><title>Efficiency of a training step over the number of ranks</title>' % (width, height),
           '<rect width="%d" height="%d" fill="white"/>' % (width, height)]
    for e in (0, 0.25, 0.5, 0.75, 1):
        out.append('<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">'
                   '%d %%</text>' % (left, width - 150, y(e), y(e), left - 6, y(e) + 4, 100 * e))
    for r in RANKS:
        out.append('<text x="%.1f" y="%d" text-anchor="middle">%d</text>' % (x(r), height - 30, r))
    out.append('<text x="%d" y="%d" text-anchor="middle">ranks</text>' % ((left + width - 150) / 2, height - 10))
    colors = ["#0072b2", "#d55e00", "#009e73"]
    for network, color in zip(NETWORKS, colors):
        for kind, dash, name in ((chain, "", "chain"), (tree, "5 4", "tree")):
            one = step(1, 16, network, kind)
            points = [(r, one / (r * step(r, lanes_of(r), network, kind))) for r in RANKS]
            path = " ".join("%.1f,%.1f" % (x(r), y(e)) for r, e in points)
            out.append('<polyline points="%s" fill="none" stroke="%s" stroke-width="2" stroke-dasharray="%s"/>'
                       % (path, color, dash))
            out.append('<text x="%d" y="%.1f" fill="%s">%s, %s</text>'
                       % (width - 145, top + 20 + 18 * (2 * NETWORKS.index(network) + (kind is tree)), color,
                          network[0], name))
    return "\n".join(out + ["</svg>", ""])


def main():
    rows = []
    for s in MEASURED["steps"]:
        waiting = [100 * r["waiting"] for r in s["of_ranks"]]
        crowded = s["ranks"] * s["threads"] > MEASURED["cores"]
        rows.append(["stories" if s["work"] == "stories" else "images, section 4.1", str(s["ranks"]),
                     str(s["threads"]) + (" (more than cores)" if crowded else ""), "%.0f" % s["ms"],
                     "%.2f" % (max(r["bytes"] for r in s["of_ranks"]) / 1e6),
                     "%.0f to %.0f" % (min(waiting), max(waiting))])
    checks, worst = [], 0
    for s in MEASURED["delayed"]:
        predicted = 1e3 * chain(s["ranks"], s["latency"], 1 / s["seconds_per_byte"], FOLD)
        off = predicted / s["ms"] - 1
        worst = max(worst, abs(off))
        checks.append([str(s["ranks"]), "%.0f ms" % (1e3 * s["latency"]),
                       "%.0f MB/s" % (1e-6 / s["seconds_per_byte"]), "%.0f ms" % s["ms"], "%.0f ms" % predicted,
                       "%+.0f %%" % (100 * off)])
    scale = []
    for r in RANKS:
        row = [str(r), str(lanes_of(r))]
        for network in NETWORKS:
            c, t = step(r, lanes_of(r), network, chain), step(r, lanes_of(r), network, tree)
            one = step(1, 16, network, chain)
            row += ["%.0f %%" % (100 * one / (r * c)), "%.0f %%" % (100 * one / (r * t)), hours(STEPS * c)]
        scale.append(row)
    ends = []
    for network in NETWORKS:
        half = max(r for r in RANKS if step(1, 16, network, chain) / (r * step(r, lanes_of(r), network, chain)) >= 0.5)
        last = min(RANKS, key=lambda r: step(r, lanes_of(r), network, chain))
        better = [r for r in RANKS if step(r, lanes_of(r), network, tree) < 0.9 * step(r, lanes_of(r), network, chain)]
        ends.append("- %s: half of the ranks' time is still used at %d ranks; more than %d make a step no faster; a tree "
                    "would be faster by a tenth or more %s." % (
                        network[0], half, last, "from %d ranks on" % better[0] if better else "nowhere up to 1,024"))
    head = ["ranks", "lanes"]
    for name, _, _ in NETWORKS:
        head += [name + " chain", "tree", "whole run"]
    text = """# How training scales over ranks

Written by `bench/write_scaling.py` from `docs/results/mpi.json`, which `make bench-mpi` measures. [cluster.md](cluster.md) says
how to train on several machines, [determinism.md](determinism.md) why the bytes are the same.

## Measured here

%d cores; the load average was %.1f when the measurement ended%s. %d stories a step. Time of a step with AdamW and packing, MB that the busiest rank sends in
a step, and the share of its time in which a rank waits for others.

%s
2 ranks with 1 thread each have %.2f of the speed of 1 rank with 2 threads on the language model, the best step of each when they take turns
(goal: at least 0.90, %s).

## The model

A step takes the largest share of the lanes that a rank has, what every rank repeats (AdamW and packing), and the ordered sum:

- the chain: 2 (R - 1) (L + p / B) + R f + (n - 1) max(p / B, f), for R ranks, n pieces of p bytes, latency L,
  bandwidth B and f, the time to add a rank's lanes to a piece. Beyond two ranks one sends pieces up and back through one link, which adds
  (n - 1) p / B - 2 (L + p / B) where that is more than 0.
- a fixed tree, which would replace it: 2 log2(R) (L + p / B) + 2 log2(R) f + (n - 1) max(2 p / B, 2 f). Its sums have another
  order, so its bytes would be others than those of one machine. glint has no tree.

The step on one thread is twice the best step of two ranks with one thread each (%.2f s); f and AdamW are taken to go at %.0f GB/s, the speed of memory.

The chain alone, with delays that the group interface adds between threads, beside what the model says (largest difference
%.0f %%, goal 20 %%):

%s
## What it says for the paper's run

The paper's language model, %d stories a step, %s steps, one thread of this machine for each rank: efficiency (the speed of R
ranks over R times that of one) of chain and tree, and the time of the whole run with the chain. Lanes are as many as ranks, at least 16 and at most 512; the number of
lanes decides the bytes of a run. Networks: latency 50, 20 and 5 microseconds, 94 %% of the nominal bandwidth.

![Efficiency over ranks](results/scaling.svg)

%s
%s

Beyond 512 ranks there are more ranks than stories in a step. A rank may have more than one thread: 16 ranks with 32 threads use 512
lanes as 512 ranks with one thread do, with the shorter chain.
""" % (MEASURED["cores"], MEASURED["load"],
       ": other programs ran beside it, and the times are worth little" if MEASURED["load"] > MEASURED["cores"] + 1 else "",
       MEASURED["batch"], table(["model", "ranks", "threads", "ms a step", "MB sent", "waiting %"], rows),
       MEASURED["efficiency"], goal(), COMPUTE, MEMORY / 1e9, 100 * worst,
       table(["ranks", "latency", "bandwidth", "measured", "model", "difference"], checks), BATCH, format(STEPS, ","),
       table(head, scale), "\n".join(ends))
    (ROOT / "docs" / "scaling.md").write_text(text)
    (ROOT / "docs" / "results" / "scaling.svg").write_text(figure())


if __name__ == "__main__":
    main()
