"""Options of calls are the fields of the library's requests: names, types, help."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

import glint


def test_the_types_are_those_of_the_library():
    """Of a few options of every kind: what the build wrote beside the module."""
    written = Path(glint.__file__).with_name("_options.pyi").read_text(encoding="utf-8")
    classes = {part.split("(")[0]: part for part in written.split("class ")[1:]}
    assert "form: Literal[\"auto\", \"weights\"" in classes["ReadOptions"] and "layer: int | None" in classes["ReadOptions"]
    assert "lam: float" in classes["TrainOptions"] and "lam: float | Sequence[float]" in classes["SweepLists"]
    called = {name.title() + "Options" for module in (glint.run, glint.lab) for name, r in vars(module).items() if type(r).__name__ == "Request"}
    assert called <= set(classes)


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
