#!/usr/bin/env python3
"""One peer in a process of its own: worker.py WORK PEER PRECISION THREADS.

Reads lines of JSON, {"case": ..., "repeats": N}, and answers each with the seconds of N steps of that case. The first
line about a case also makes it ready: compiled, and warm by two steps (or as many as the module of the work says)."""
import importlib
import json
import os
import sys
import time


def main():
    work, peer, precision, threads = sys.argv[1:]
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the libraries print is no answer
    warm = 2
    if peer.startswith("scipy"):
        module = importlib.import_module("scipy_" + work)
        warm, prepare = module.WARM, lambda case: module.make(case, peer)  # noqa: E731
    elif peer == "jax":
        make = importlib.import_module("jax_" + work).make
        prepare = lambda case: make(case, precision)  # noqa: E731
    else:
        import torch
        torch.set_num_threads(int(threads))
        make = importlib.import_module("torch_" + work).make
        prepare = lambda case: make(case, precision, peer == "compiled")  # noqa: E731
    ready = {}
    for line in sys.stdin:
        request = json.loads(line)
        key = json.dumps(request["case"])
        if key not in ready:
            ready[key] = prepare(request["case"])
            for _ in range(warm):
                ready[key]()
        seconds = []
        for _ in range(request["repeats"]):
            start = time.perf_counter()
            ready[key]()
            seconds.append(time.perf_counter() - start)
        print(json.dumps(seconds), file=answers, flush=True)


if __name__ == "__main__":
    main()
