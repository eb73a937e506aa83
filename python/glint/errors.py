"""What can go wrong: `glint.Error` and its kinds.

>>> import glint
>>> try:
...     glint.gate("relo")
... except ValueError as e:
...     print(e.what, "|", e.where, "|", e.expected)
unknown gate 'relo' | gate= | did you mean relu?
"""

from __future__ import annotations

import re


class Error(Exception):
    """What went wrong (`what`), where (`where`), what was expected (`expected`) and what to try (`hint`).

    >>> issubclass(glint.UsageError, ValueError) and issubclass(glint.BadFileError, OSError)
    True
    """

    what: str
    where: str
    expected: str
    hint: str

    def __init__(self, what: str = "", where: str = "", expected: str = "", hint: str = "") -> None:
        text = what
        if where:
            text += f"\n  where: {where}"
        if expected:
            text += f"\n  expected: {expected}"
        if hint:
            text += f"\n  try: {hint}"
        super().__init__(text)
        self.what, self.where, self.expected, self.hint = what, where, expected, hint

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else self.what

    def __reduce__(self) -> tuple[type[Error], tuple[str, str, str, str]]:
        return type(self), (self.what, self.where, self.expected, self.hint)


class UsageError(Error, ValueError):
    """An argument that glint cannot work with."""


class BadFileError(Error, OSError):
    """A file that is not there, or whose content is not what it should be."""


class MachineError(Error, OSError):
    """The machine said no: disk full, no permission, out of memory."""


class NumericError(Error, ArithmeticError):
    """Infinity or no number where a number was needed."""


class Interrupted(Error):
    """Stopped before the end; what was reached is saved."""


_KINDS: dict[int, type[Error]] = {
    1: MachineError,
    2: UsageError,
    3: BadFileError,
    4: NumericError,
    130: Interrupted,
}
# Functions of the library as they are called here; everything else keeps its name.
_CALLS = {"spectrum": "run.read", "read": "run.read", "eval": "run.evaluate", "explain": "run.explain", "page": "run.page"}
_NAMES = {"lambda": "lam"}


def _code(text: str) -> str:
    """A piece of code of the library, as it is written in Python."""
    call = re.fullmatch(r"(\w+)\((.*)\)", text, re.S)
    if call:
        name = _CALLS.get(call[1], "glint." + call[1])
        inside = ", ".join(_code(part) for part in call[2].split(", ")) if call[2] else ""
        return f"{name}({inside})"
    named = re.fullmatch(r"([a-z]\w*)=(.*)", text, re.S)
    if named:
        value = {"true": "True", "false": "False"}.get(named[2], named[2])
        return f"{_NAMES.get(named[1], named[1])}={value}"
    return _NAMES.get(text, text)


def _python(text: str) -> str:
    return re.sub(r"`([^`]*)`", lambda m: f"`{_code(m[1])}`", text)


def _make(code: int, what: str, where: str, expected: str, hint: str) -> Error:
    if re.fullmatch(r"[a-z][a-z0-9_-]*", where):
        where = _NAMES.get(where, where.replace("-", "_")) + "="
    return _KINDS.get(code, Error)(_python(what), _python(where), _python(expected), _python(hint))
