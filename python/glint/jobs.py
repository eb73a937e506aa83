"""Plans of many runs as jobs that can be sent anywhere."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from . import _core, lab
from ._frames import Table
from ._shown import Several
from ._talk import Talk
from .data import Data
from .errors import UsageError
from .run import Run

Result = TypeVar("Result")


@dataclass(frozen=True)
class Job:
    """One run of a plan. It can be pickled; `run()` trains it, here or anywhere that sees its folder."""

    recipe: str
    options: dict[str, str]
    """Over the recipe, by the names of the program: {"gate": "sqs", "seed": "0"}."""
    out: str
    data_dir: str = ""
    data: Any = field(default=None, repr=False)
    """`glint.Images` or `glint.Vectors`, when the plan was made for those."""
    command: str = field(default="", repr=False)
    """What trains it from a shell."""

    def run(self, progress: bool | None = False) -> Run:
        """Trains the run, or goes on with it. A finished one is opened. One that diverges is a NumericError."""
        fields = {
            "recipe": self.recipe,
            "changes": list(self.options.items()),
            "out": self.out,
            "data_dir": self.data_dir,
        }
        images = self.data._core if isinstance(self.data, Data) else None
        with Talk(progress) as talk:
            _core.train(fields, images, talk, None)
        return Run(self.out, self.data, data_dir=self.data_dir)


class Plan(Several[Job], Generic[Result]):
    """The jobs of a plan. `result()` is what the planned call gives; runs that are finished are not trained again."""

    def __init__(self, jobs: list[Job], rows: list[dict[str, Any]], call: Callable[[], Result]) -> None:
        self._items, self._rows, self._call = jobs, rows, call

    def result(self) -> Result:
        """Trains what is missing, and gives the runs, the sweep or the report."""
        return self._call()

    def table(self) -> Table:
        """A row per job."""
        keys = ("setting", "seed", "finished", "run")
        return Table([{k: row[k] for k in keys} for row in self._rows], f"plan of {len(self)} runs")


def plan(call: Callable[..., Result], /, *arguments: Any, **named: Any) -> Plan[Result]:
    """The runs that `glint.train`, `glint.sweep` or `glint.reproduce` would train, as jobs that can be pickled.

    The first argument is that function, the rest are its own. Jobs are for multiprocessing, submitit, Dask, Ray:
    whoever runs them must see the folder `out`. `result()` then makes what the call itself would have made.

    >>> plan = glint.plan(glint.sweep, "quick", gate=["sqs", "identity"], epochs=1, d_model=16, out=tmp / "plan")
    >>> len(plan), plan[1].options["gate"]
    (2, 'identity')
    >>> runs = list(map(glint.Job.run, plan))  # or pool.map, client.map, executor.map_array
    >>> plan.result().table().columns["gate"]
    ['sqs', 'identity']
    """
    if call not in (lab.train, lab.sweep, lab.reproduce):
        raise UsageError(f"cannot plan {getattr(call, '__name__', call)!r}", "call=", "glint.train, glint.sweep or glint.reproduce")
    if named.get("out") is None:
        raise UsageError("a plan without a folder", "out=", "the folder that all jobs write to")
    if named.get("group") is not None:
        raise UsageError("a plan of one process each", "group=", "a group, or jobs")
    named["out"] = os.path.abspath(named["out"])  # jobs may run elsewhere
    token = lab.planning.set(True)
    try:
        call(*arguments, **named)
        raise AssertionError("a planned call did its work")
    except TypeError as e:
        raise UsageError(f"glint.{call.__name__}: {e}", "arguments") from None
    except lab.Planned as planned:
        held = planned.data if isinstance(planned.data, Data) else None
        with lab.options_named():
            rows = json.loads(_core.plan(planned.what, planned.fields, None if held is None else held._core))["runs"]
    finally:
        lab.planning.reset(token)
    jobs = [Job(r["recipe"], r["options"], r["run"], r["data_dir"], held, r["command"]) for r in rows]
    return Plan(jobs, rows, lambda: call(*arguments, **named))
