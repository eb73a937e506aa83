"""What the tests of the Python package share."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import glint

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def program() -> str:
    """The command-line program that lies in the package."""
    return os.fspath(Path(glint.__file__).parent / "bin" / "glint")


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the runs of the tests lie."""
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="session")
def run(folder: Path) -> glint.Run:
    """A small SQS model of the built-in digits."""
    return glint.train("quick", epochs=2, d_model=32, seed=0, out=folder / "sqs", progress=False)


@pytest.fixture(scope="session")
def other(folder: Path) -> glint.Run:
    """Its bilinear twin."""
    return glint.train("quick", gate="identity", epochs=2, d_model=32, seed=0, out=folder / "identity", progress=False)


@pytest.fixture(scope="session")
def float_run() -> glint.Run:
    """A model of pictures that are floats."""
    X = np.random.default_rng(0).random((60, 8, 8))
    return glint.train(data=glint.Images(X, np.arange(60) % 2), layers=1, d_model=16, epochs=1, batch=20, progress=False)


@pytest.fixture(scope="session")
def vector_run() -> glint.Run:
    """A model of vectors."""
    X = np.random.default_rng(0).normal(size=(60, 5))
    return glint.train(data=glint.Vectors(X, X[:, 0] > 0), layers=1, d_model=16, epochs=1, batch=20, progress=False)


@pytest.fixture(scope="session")
def tales(folder: Path) -> glint.Run:
    """A tiny language model of the built-in tales."""
    return glint.train(
        "tales", epochs=1, layers=1, d_model=32, heads=2, context=64, out=folder / "tales", progress=False
    )
