"""Options of calls are the fields of the library's requests: names, types, help."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import glint


def test_the_types_are_those_of_the_library(root, tmp_path):
    made = tmp_path / "_options.pyi"
    back = subprocess.run([sys.executable, root / "scripts" / "make-python-options", made], capture_output=True, text=True)
    assert back.returncode == 0, back.stderr
    assert made.read_text() == (root / "python" / "glint" / "_options.pyi").read_text(), "run scripts/make-python-options"


def test_help_has_the_options():
    options = inspect.signature(glint.Run.read).parameters
    assert {"form", "layer", "k", "near", "controls", "files"} <= set(options) and options["show"].default == 4
    assert not {"strongest", "run", "figures", "options"} & set(options)
    assert "form: " in glint.Run.read.__doc__ and "seed: " in glint.Run.attack.__doc__


def test_options_that_are_not_there(run):
    with pytest.raises(glint.UsageError, match="layer") as e:
        run.read("3", lyaer=3)
    assert e.value.where == "lyaer="
    for name in ("run", "strongest", "figures"):
        with pytest.raises(glint.UsageError):
            run.read("3", **{name: 1})
