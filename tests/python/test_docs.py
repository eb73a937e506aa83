"""The examples in the documentation of the package run, and everything public has one."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil

import pytest

import glint

SKIPPED = {"glint.__main__", "glint._core"}
MODULES = [
    m.name for m in pkgutil.iter_modules(glint.__path__, "glint.") if m.name not in SKIPPED and not m.name.startswith("glint.torch")
] + ["glint"]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name, tmp_path, run, tales):
    module = importlib.import_module(name)
    finder = doctest.DocTestFinder(exclude_empty=True)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    for example in finder.find(module, name, extraglobs={"glint": glint, "tmp": tmp_path, "run": run, "tales": tales}):
        runner.run(example)
    assert runner.summarize(verbose=False).failed == 0


def test_everything_public_has_an_example():
    without = []
    for name in glint.__all__:
        thing = getattr(glint, name)
        if inspect.isclass(thing) and issubclass(thing, glint.Error):
            continue  # the module of errors has one for all
        text = inspect.getdoc(thing) or ""
        if (inspect.isfunction(thing) or inspect.isclass(thing)) and ">>>" not in text and name not in NO_EXAMPLE:
            without.append(name)
        if name in ("Run", "Form", "Forms"):
            methods = [m for m in vars(thing).items() if inspect.isfunction(m[1]) and not m[0].startswith("_")]
            without += [f"{name}.{m}" for m, function in methods if ">>>" not in (function.__doc__ or "")]
    assert without == []


# Made by other calls, whose examples show them; reproduce takes minutes.
NO_EXAMPLE = {"Data", "Form", "Forms", "Gate", "Job", "Plan", "Run", "Runs", "reproduce"}
