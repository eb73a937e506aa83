"""glint trains gated networks (GLUs) and explains what their weights have learned.

>>> import glint
>>> sqs = glint.gate("sqs")
>>> float(sqs(2.0))
0.995
"""

import os as _os
import sys as _sys
import types as _types

from . import _core, data, gates
from ._arrays import count_of as _count_of
from ._frames import Table
from .data import Data, Images, Tokens, Vectors, tokenize
from .errors import BadFileError, Error, Interrupted, MachineError, NumericError, UsageError
from .figures import Figure
from .forms import Form, Forms
from .gates import Gate, gate
from .jobs import Job, Plan, plan
from .lab import compare, convert, evaluate, import_model, load, model, options, readability, recipes, reproduce, runs, sweep, train
from .layer import GLU
from .run import Run, Runs

__version__: str = _core.version
threads: int

_os.register_at_fork(after_in_child=_core.after_fork_in_child)


class _Module(_types.ModuleType):
    """So that `glint.threads = 4` is heard."""

    @property
    def threads(self) -> int:
        return int(_core.thread_count())

    @threads.setter
    def threads(self, count: int) -> None:
        _core.set_thread_count(_count_of(count, "threads", 1024))


_sys.modules[__name__].__class__ = _Module

__all__ = [
    "BadFileError",
    "Data",
    "Error",
    "Figure",
    "Form",
    "Forms",
    "GLU",
    "Gate",
    "Images",
    "Interrupted",
    "Job",
    "MachineError",
    "NumericError",
    "Plan",
    "Run",
    "Runs",
    "Table",
    "Tokens",
    "UsageError",
    "Vectors",
    "compare",
    "convert",
    "data",
    "evaluate",
    "gate",
    "gates",
    "import_model",
    "load",
    "model",
    "options",
    "plan",
    "readability",
    "recipes",
    "reproduce",
    "runs",
    "sweep",
    "threads",
    "tokenize",
    "train",
]
