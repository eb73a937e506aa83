"""Importing: what it brings along, where from, and after a fork."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import glint


def python(*args, **options):
    return subprocess.run([sys.executable, *args], capture_output=True, text=True, timeout=600, **options)


def test_heavy_packages_are_not_imported():
    code = "import sys, glint; print([m for m in ('torch', 'pandas', 'matplotlib', 'IPython', 'tqdm') if m in sys.modules])"
    assert python("-c", code).stdout.strip() == "[]"


def test_from_the_root_of_the_repository(root):
    """There the C++ folder is called glint too."""
    back = python("-c", "import glint, glint.errors; print(glint.gate('relu')(-1.0), glint.__file__)", cwd=root)
    assert back.returncode == 0, back.stderr
    value, file = back.stdout.split()
    assert value == "0.0" and Path(file).parent == Path(glint.__file__).parent


def test_without_an_installation_the_import_says_what_to_do(root, tmp_path):
    shutil.copytree(root / "glint" / "base", tmp_path / "glint" / "base")
    shutil.copy(root / "glint" / "__init__.py", tmp_path / "glint")
    back = python("-S", "-c", "import glint", cwd=tmp_path, env={"PATH": os.environ["PATH"]})
    assert back.returncode != 0
    assert "pip install ." in back.stderr and "ImportError" in back.stderr


def test_python_m_glint_is_the_program(program):
    back = python("-m", "glint", "--version")
    direct = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=600)
    assert back.returncode == 0 and back.stdout == direct.stdout
    assert glint.__version__ in back.stdout


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_the_child_of_a_fork_computes():
    gate = glint.gate("gelu")
    x = np.random.default_rng(0).normal(size=300_000).astype(np.float32)
    expected = gate(x)  # the parent's engine has its threads now
    pid = os.fork()
    if pid == 0:
        os._exit(0 if np.array_equal(gate(x), expected) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    np.testing.assert_array_equal(gate(x), expected)


def test_errors_survive_pickling():
    import pickle

    with pytest.raises(glint.Error) as caught:
        glint.gate("nothing-like-it")
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is glint.UsageError and again.what == caught.value.what and str(again) == str(caught.value)


def test_nothing_newer_than_python_3_10_is_used(root):
    """The syntax; that the rest runs there is seen by whoever has one."""
    files = [f for folder in ("python", "tests", "examples", "bench", "scripts") for f in (root / folder).rglob("*.py")]
    assert len(files) > 30
    for file in files:
        ast.parse(file.read_text(encoding="utf-8"), file.name, feature_version=(3, 10))
    with pytest.raises(SyntaxError):
        ast.parse("try:\n  pass\nexcept* OSError:\n  pass\n", feature_version=(3, 10))
