"""What long work says while it runs: notes to `logging`, how far it is to a bar, steps to callbacks."""

from __future__ import annotations

import importlib
import logging
import sys
import time
from collections.abc import Callable
from typing import Any

log = logging.getLogger("glint")
log.addHandler(logging.NullHandler())

Row = dict[str, Any]


class Bar:
    """A line on stderr; tqdm's bar where tqdm is installed."""

    def __init__(self, label: str, total: int, start: int, unit: str) -> None:
        self.label, self.total, self.unit, self.shown = label, total, unit, 0.0
        self.tqdm: Any = None
        self.wide = 0
        try:
            tqdm = importlib.import_module("tqdm.auto")
            self.tqdm = tqdm.tqdm(total=total or None, initial=start, desc=label, unit=" " + unit, leave=False)
        except Exception:  # not installed, or installed and broken: the plain line serves as well
            self.tqdm = None

    def update(self, done: int, detail: str) -> None:
        if self.tqdm is not None:
            self.tqdm.set_postfix_str(detail, refresh=False)
            self.tqdm.update(done - self.tqdm.n)
            return
        now = time.monotonic()
        if now - self.shown < 0.1 and done != self.total:
            return
        self.shown = now
        share = f"{100 * done // self.total:3d} % " if self.total else ""
        text = f"{self.label}: {share}{done:,} {self.unit} {detail}"[:79]
        sys.stderr.write("\r" + text.ljust(self.wide))
        sys.stderr.flush()
        self.wide = len(text)

    def close(self) -> None:
        if self.tqdm is not None:
            self.tqdm.close()
        elif self.wide:
            sys.stderr.write("\r" + " " * self.wide + "\r")
            sys.stderr.flush()


class Talk:
    """Called by `_core`, always in the thread that made the call."""

    def __init__(
        self,
        progress: bool | None = None,
        on_step: Callable[[Row], Any] | None = None,
        on_eval: Callable[[Row], Any] | None = None,
    ) -> None:
        if progress is None:
            progress = sys.stderr.isatty() or "ipykernel" in sys.modules
        self.bars = progress
        self.on_step, self.on_eval = on_step, on_eval
        self.bar: Bar | None = None

    def __enter__(self) -> Talk:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def _close(self) -> None:
        if self.bar is not None:
            self.bar.close()
            self.bar = None

    def _show(self, label: str, done: int, total: int, start: int, unit: str, detail: str) -> None:
        if not self.bars:
            return
        if self.bar is not None and (self.bar.label != label or self.bar.total != total):
            self._close()
        if self.bar is None:
            self.bar = Bar(label, total, start, unit)
        self.bar.update(done, detail)
        if total and done >= total:
            self._close()

    def note(self, text: str) -> None:
        log.info(text)

    def progress(self, label: str, done: int, total: int, start: int, unit: str, detail: str) -> None:
        self._show(label, done, total, start, unit, detail)

    def step(self, out: str, seed: int, step: int, steps: int, loss: float, done: int, total: int) -> None:
        if self.on_step is not None:
            self.on_step({"out": out, "seed": seed, "step": step, "steps": steps, "loss": loss})
        self._show("train", done, total, 0, "steps", f"loss {loss:.4f}")

    def evaluation(self, row: Row) -> None:
        log.debug("step %(step)d: test loss %(test_loss).4f, accuracy %(test_accuracy).4f", row)
        if self.on_eval is not None:
            self.on_eval(row)

    def trained(self, row: Row, done: int, total: int) -> None:
        if self.on_eval is not None:
            self.on_eval(row)
        self._show("train", done, total, 0, "runs", row["out"])
