"""Ctrl-C: training saves and KeyboardInterrupt comes; the run goes on."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import glint

# A shell tells its background jobs to ignore Ctrl-C, and children inherit that: they ask for the usual answer again.
HEARS = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"

CHILD = HEARS + """
import sys, glint
def step(row):
    if row["step"] == 3:
        print("training", flush=True)
try:
    glint.train("quick", epochs=100000, d_model=32, out=sys.argv[1], progress=False, on_step=step)
except KeyboardInterrupt:
    print("stopped", flush=True)
    sys.exit(5)
"""


def test_ctrl_c_saves_and_the_run_goes_on(tmp_path):
    out = tmp_path / "run"
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(out)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline().strip() == "training"
    child.send_signal(signal.SIGINT)
    # 100000 epochs would take hours: that it ends at all is the test; the limit only guards against hangs.
    rest, _ = child.communicate(timeout=600)
    assert rest.strip() == "stopped" and child.returncode == 5
    (row,) = glint.runs(tmp_path)
    assert row["state"] == "stopped" and row["step"] >= 3

    seen = []

    def stop(step):
        seen.append(step["step"])
        raise KeyboardInterrupt

    try:
        glint.train("quick", epochs=100000, d_model=32, out=out, progress=False, on_step=stop)
    except KeyboardInterrupt:
        pass
    assert seen == [row["step"] + 1]  # it went on from where it was saved


def test_reading_can_be_stopped():
    code = HEARS + """
import sys, numpy as np, glint
rng = np.random.default_rng(0)
L, R = rng.normal(size=(2, 512, 1000)).astype(np.float32)
layer = glint.GLU(L, R, gate="identity")
try:
    print("reading", flush=True)
    for _ in range(10000):
        layer.read(k=4, progress=False)
except KeyboardInterrupt:
    sys.exit(5)
"""
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline().strip() == "reading"
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=600)
    assert child.returncode == 5


def test_what_a_stopped_call_has_reached_is_kept(caplog):
    def stop(_):
        raise KeyboardInterrupt

    calls = {
        "train": lambda: glint.train("quick", epochs=1, d_model=16, progress=False, on_eval=stop),
        "sweep": lambda: glint.sweep("quick", gate=["sqs", "relu"], epochs=1, d_model=16, progress=False, on_eval=stop),
    }
    for name, call in calls.items():
        caplog.clear()
        with pytest.raises(KeyboardInterrupt):
            call()
        folder = Path(re.search(r"saved in (\S+), and (\w+)", caplog.text)[1])
        assert f"{name}(..., out=" in caplog.text and folder.name == name
        assert len(glint.runs(folder)) >= 1
        shutil.rmtree(folder.parent)
