"""What the comparisons with PyTorch share: their options, the settings that they go through, and the file of numbers."""
import argparse
import json
import sys

import tuned


def parser(description, rounds):
    p = argparse.ArgumentParser(description=description)
    p.add_argument("--program", default="build/release/glint")
    p.add_argument("--threads", default="1,2")
    p.add_argument("--precisions", default="f32,bf16")
    p.add_argument("--rounds", type=int, default=rounds, help="how often the two programs take turns")
    p.add_argument("--json", default="", help="file for all numbers")
    return p


def settings(args, result):
    """Gives (precision, threads, precisions of PyTorch beside it, heading); what cannot run here is noted in result."""
    for precision in args.precisions.split(","):
        if precision == "bf16" and not tuned.has_bf16():
            result["skipped"].append("bf16: this processor has no bf16 instructions")
            print("bf16: skipped, this processor has no bf16 instructions", file=sys.stderr)
            continue
        for threads in (int(t) for t in args.threads.split(",")):
            heading = "%s, %d thread%s" % (precision, threads, "" if threads == 1 else "s")
            yield precision, threads, ["f32"] if precision == "f32" else ["bf16", "f32"], heading


def save(args, result):
    if args.json:
        with open(args.json, "w") as f:
            json.dump(result, f, indent=1)
            f.write("\n")
