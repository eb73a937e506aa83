"""What can go wrong: `glint.Error` and its kinds.

>>> import glint
>>> try:
...     glint.gate("relo")
... except ValueError as e:
...     print(e.what, "|", e.where, "|", e.expected)
unknown gate 'relo' | gate= | did you mean relu?
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager


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
# Functions of the library as they are called here; everything else keeps its name. Of the second the first argument is a run.
_CALLS = {"gates": "gates.names", "data": "data.load"}
_METHODS = {"spectrum": "read", "read": "read", "eval": "evaluate", "explain": "explain", "page": "page", "ablate": "ablate"}
_NAMES = {"lambda": "lam"}


def _value(text: str) -> str:
    """A value as it is written in Python. Words in capitals stand for one."""
    if re.fullmatch(r"[\d.,e+-]+", text):
        return f"[{text}]" if "," in text else text
    word = {"true": "True", "false": "False"}.get(text)
    return word or (text if re.fullmatch(r"[A-Z_]+", text) else f'"{text}"')


def _argument(text: str) -> str:
    named = re.fullmatch(r"([a-z]\w*)=(.*)", text, re.S)
    return f"{_NAMES.get(named[1], named[1])}={_value(named[2])}" if named else _value(text)


def _code(text: str) -> str:
    """A piece of code of the library, as it is written in Python."""
    call = re.fullmatch(r"(\w+)\((.*)\)", text, re.S)
    if not call:
        return _argument(text) if "=" in text else _NAMES.get(text, text)
    arguments = [_argument(part) for part in call[2].split(", ")] if call[2] else []
    if call[1] not in _METHODS:
        return f"glint.{_CALLS.get(call[1], call[1])}({', '.join(arguments)})"
    run = "run" if not arguments or arguments[0] == "RUN" else f"glint.load({arguments[0]})"
    rest = [re.sub("^(token|unit)=", "out=", a) for a in arguments[1:]]
    return f"{run}.{_METHODS[call[1]]}({', '.join(rest)})"


def _python(text: str) -> str:
    return re.sub(r"`([^`]*)`", lambda m: f"`{_code(m[1])}`", text)


def _make(code: int, what: str, where: str, expected: str, hint: str) -> Error:
    kind = _KINDS.get(code, Error)
    if kind in (UsageError, NumericError) and re.fullmatch(r"[a-z][a-z0-9_-]*|[A-Z]", where):  # other kinds name files
        where = _NAMES.get(where, where.replace("-", "_")) + "="
    return kind(_python(what), _python(where), _python(expected), _python(hint))


@contextmanager
def called(names: Mapping[str, str]) -> Iterator[None]:
    """Errors of the library with the names that parameters have here: {"unit": "out"}.

    A folder among the names holds files that were made from that parameter: an error in one is an error of the caller.
    """
    try:
        yield
    except Error as e:
        plain = e.where.removesuffix("=")
        folders = (n for n in names if os.path.isabs(n) and isinstance(e, (UsageError, BadFileError)))
        made = next((names[n] for n in folders if e.where.startswith(n)), None)
        where = names.get(plain, made)

        def text(words: str) -> str:
            return re.sub(r"`(\w+)(=[^`]*)?`", lambda m: f"`{names.get(m[1], m[1])}{m[2] or ''}`", words)

        kind = UsageError if made else type(e)
        raise kind(text(e.what), f"{where}=" if where else e.where, text(e.expected), text(e.hint)) from None
