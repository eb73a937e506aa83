"""What the tests of the Python package share."""

from __future__ import annotations

import os
from pathlib import Path

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
