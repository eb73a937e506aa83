"""The package as others get it: types, wheel, metadata. Only in `make test-python-full`."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.full


def run(*words, **options):
    return subprocess.run(words, capture_output=True, text=True, timeout=1200, **options)


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_examples_are_typed(root):
    import glint

    package = Path(glint.__file__).parent.parent
    back = run(sys.executable, "-m", "mypy", "--strict", "--cache-dir", os.devnull, *map(str, sorted((root / "examples" / "python").glob("*.py"))), env={**os.environ, "MYPYPATH": str(package)}, cwd=package)
    assert back.returncode == 0, back.stdout + back.stderr


WRONG = """
import glint
glint.train("quick", {0})
run = glint.train("quick")
run.read("3", {1})
run.explain(7, {2})
forms: glint.Forms = run.read({3})
form: glint.Form = run.read({4})
why: str = run.explain({5}).verdict
pair: glint.Runs = glint.train("quick", {6})
glint.sweep("quick", {7})
"""
RIGHT = ("lam=0.1", "layer=3, form='weights'", "show=3", "", "3, k=4", "text='once'", "seeds=[0, 1]", "gate=['sqs', glint.gate('relu')], lam=0.1")
MISTAKES = ("lamda=0.1", "lyaer=3", "show='3'", "7", "form='wieghts'", "3, text=4", "seed=0", "lam=['0.1']")


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_options_have_types(tmp_path):
    import glint

    package = Path(glint.__file__).parent.parent

    def lines_refused(options):
        (tmp_path / "call.py").write_text(WRONG.format(*options))
        words = [sys.executable, "-m", "mypy", "--cache-dir", os.devnull, "--follow-imports", "silent", str(tmp_path / "call.py")]
        back = run(*words, env={**os.environ, "MYPYPATH": str(package)}, cwd=package)
        return {int(line.split(":")[1]) for line in back.stdout.splitlines() if "error:" in line}, back.stdout

    assert lines_refused(RIGHT)[0] == set(), lines_refused(RIGHT)
    assert lines_refused(MISTAKES)[0] == {3, 5, 6, 7, 8, 9, 10, 11}, lines_refused(MISTAKES)


def test_examples_run(root):
    for example in sorted((root / "examples" / "python").glob("*.py")):
        back = run(sys.executable, str(example))
        assert back.returncode == 0 and back.stdout, back.stderr


def wheels(root):
    return sorted((root / "build" / "dist").glob("*.whl"))


def test_the_wheel_imports_in_an_empty_environment(root, tmp_path):
    if not wheels(root):
        pytest.skip("no wheel; make wheel makes one")
    venv = tmp_path / "empty"
    assert run(sys.executable, "-m", "venv", str(venv)).returncode == 0
    python = str(venv / "bin" / "python")
    back = run(python, "-m", "pip", "install", "--disable-pip-version-check", str(wheels(root)[-1]))
    assert back.returncode == 0, back.stderr
    back = run(python, "-c", "import glint; print(glint.gate('relu')(-1.0), glint.train('quick', epochs=1, d_model=16).kind)", cwd=tmp_path)
    assert back.stdout.split() == ["0.0", "image"], back.stderr
    back = run(python, "-m", "glint", "--version", cwd=tmp_path)
    assert back.returncode == 0 and "glint" in back.stdout
    # From the root of the repository, where the C++ folder is called glint too.
    back = run(python, "-c", "import glint; print(glint.__file__)", cwd=root)
    assert back.stdout.startswith(str(venv)), back.stdout + back.stderr


@pytest.mark.skipif(importlib.util.find_spec("twine") is None, reason="twine is not installed")
def test_the_metadata_are_as_package_indexes_want_them(root):
    if not wheels(root):
        pytest.skip("no wheel; make wheel makes one")
    back = run(sys.executable, "-m", "twine", "check", "--strict", str(wheels(root)[-1]))
    assert back.returncode == 0, back.stdout
