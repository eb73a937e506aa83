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
def test_examples_run(name, tmp_path):
    module = importlib.import_module(name)
    finder = doctest.DocTestFinder(exclude_empty=True)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    for example in finder.find(module, name, extraglobs={"glint": glint, "tmp": tmp_path}):
        runner.run(example)
    assert runner.summarize(verbose=False).failed == 0


def test_everything_public_has_an_example():
    without = []
    for name in glint.__all__:
        thing = getattr(glint, name)
        if inspect.isfunction(thing) or inspect.isclass(thing):
            text = inspect.getdoc(thing) or ""
            if inspect.isclass(thing) and issubclass(thing, glint.Error):
                continue  # the module of errors has one for all
            if ">>>" not in text and name not in NO_EXAMPLE:
                without.append(name)
    assert without == []


# Made by other calls, whose examples show them; reproduce takes minutes.
NO_EXAMPLE = {"Data", "Form", "Forms", "Gate", "Job", "Plan", "Run", "Runs", "reproduce"}
