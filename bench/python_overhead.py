"""What Python costs: importing, a gate on a few numbers, and a training beside the program's.

    build/venv/bin/python bench/python_overhead.py [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
import timeit
from pathlib import Path

import numpy as np

import glint

TURNS = 5


def import_seconds() -> float:
    """Of a fresh interpreter, without the time that NumPy and Python take by themselves."""
    code = "import time, numpy; t = time.perf_counter(); import glint; print(time.perf_counter() - t)"
    return min(float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout) for _ in range(TURNS))


def gate_seconds() -> float:
    gate, x = glint.gate("sqs"), np.ones(8, dtype=np.float32)
    return min(timeit.repeat(lambda: gate(x), number=20000, repeat=TURNS)) / 20000


def training_ratio() -> tuple[float, float, float]:
    """Seconds of the package, of the program, and the median of their ratios, measured in turns."""
    program = Path(glint.__file__).parent / "bin" / "glint"
    ours, theirs = [], []
    for _ in range(TURNS):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder, "run")
            glint.train("quick", epochs=6, out=out, progress=False)
            ours.append(json.loads(Path(out, "metrics.jsonl").read_text().splitlines()[-1])["seconds"])
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder, "run")
            subprocess.run([program, "train", "quick", "--epochs", "6", "--out", out, "--quiet"], check=True)
            theirs.append(json.loads(Path(out, "metrics.jsonl").read_text().splitlines()[-1])["seconds"])
    return min(ours), min(theirs), statistics.median(a / b for a, b in zip(ours, theirs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    file = parser.parse_args().json
    begun = time.strftime("%Y-%m-%d")
    ours, theirs, ratio = training_ratio()
    found = {"date": begun, "import_seconds": import_seconds(), "gate_microseconds": 1e6 * gate_seconds(), "train_seconds": ours, "program_seconds": theirs, "ratio": ratio}
    print(f"import glint after NumPy: {found['import_seconds']:.3f} s (goal: under 0.2)")
    print(f"a gate on 8 floats: {found['gate_microseconds']:.2f} µs (goal: under 2)")
    print(f"training: {ours:.2f} s, the program {theirs:.2f} s, ratio {ratio:.3f} (goal: at most 1.02)")
    if file:
        file.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
