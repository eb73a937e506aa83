"""What is done with recipes and with several runs: train, sweep, compare, list, reproduce."""

from __future__ import annotations

import json
import operator
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from . import _core
from ._arrays import Scratch, path_of
from ._frames import Table
from ._ranks import Ranks
from ._requests import Request, StrPath, changes_of, data_of, data_word, option_name, option_text, python_name
from ._shown import Drawn
from ._talk import Row, Talk, log
from .data import Data, Tokens
from .errors import UsageError
from .figures import Figure, number
from .gates import Gate
from .gates import gate as named_gate
from .results import Comparison, Conversion, Evaluation, Model, Reproduction, Sweep
from .run import READABILITY, Run, Runs

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import CompareOptions, ConvertOptions, EvaluateOptions, ReadabilityOptions, SweepLists, TrainOptions

TRAIN = Request("train", "data")
CONVERT = Request("convert", "model out", data="data", text="text")
COMPARE = Request("compare", "runs control unit out refine", {"show": "show"})


def _seed_list(seeds: Any) -> list[int] | None:
    if seeds is None:
        return None
    try:
        out = [int(s) for s in seeds]
    except (TypeError, ValueError) as e:
        raise UsageError("seeds that are no whole numbers", "seeds=", "whole numbers, as range(3)") from e
    if not out or min(out) < 0 or len(set(out)) != len(out) or len(out) > 1000:
        raise UsageError("seeds that cannot be used", "seeds=", "1 to 1000 different whole numbers from 0 on")
    return out


@contextmanager
def options_named() -> Iterator[None]:
    """Errors about options have their names as they are here."""
    try:
        yield
    except UsageError as e:
        if e.where != "changes=":
            raise
        raise UsageError(e.what.replace("-", "_"), "an option", e.expected.replace("-", "_"), e.hint) from None


_BATCH, _STEPS, _EPOCHS = 256, 2000, (10, 200)


def _by_samples(recipe: StrPath, data: Any, given: dict[str, Any]) -> dict[str, Any]:
    """What nobody chose for one's own data. Batches are a power of two, of at most an eighth of the samples; arrays are
    gone over for some 2000 steps, and get no noise."""
    if recipe or not isinstance(data, (Data, Tokens)):
        return {}
    given = {name: value for name, value in given.items() if value is not None}
    samples = len(data.y) if isinstance(data, Data) else int(data.about["train"]["stories"])
    chosen = {"batch": min(_BATCH, 1 << max(0, (samples // 8).bit_length() - 1))}
    if isinstance(data, Data):
        batch = {**chosen, **given}["batch"]
        if isinstance(batch, int) and 0 < batch <= samples:
            least, most = _EPOCHS
            chosen["epochs"] = min(most, max(least, -(-_STEPS // (samples // batch))))
        if "noise_prob" not in given:
            chosen["noise_std"] = 0
    return {name: value for name, value in chosen.items() if name not in given}


def _option_lists(lists: dict[str, Any]) -> list[tuple[str, str]]:
    """The options of a sweep as those of the library: each a list of values."""
    pairs = []
    for name, values in lists.items():
        if isinstance(values, Gate):  # one gate: its options are those of every setting
            both = [n for n in ("c", "lam", "p") if values.has_options and n in lists]
            if both:
                raise UsageError(f"{values!r} says what {both[0]} is", f"{both[0]}=", f'gate="{values.name}" beside {both[0]}=')
            pairs += changes_of({name: values})
            continue
        many = values if isinstance(values, (list, tuple, range, np.ndarray)) else [values]
        if any(isinstance(v, Gate) and v.has_options for v in many):
            raise UsageError("gates with options in a list", f"{name}=", 'names of gates, and their options as lists: gate=["sqs"], lam=[0.1, 0.9]')
        texts = [v.name if isinstance(v, Gate) else option_text(name, v) for v in many]
        pairs.append((option_name(name), ",".join(texts)))
    return pairs


class Planned(Exception):
    """Instead of the work: what it would be. Only where `planning` is set, by glint.plan."""

    def __init__(self, what: str, fields: dict[str, Any], data: Any = None) -> None:
        self.what, self.fields, self.data = what, fields, data


planning: ContextVar[bool] = ContextVar("planning", default=False)


def _work(what: str, fields: dict[str, Any], data: Any = None) -> Any:
    """Around the call of the library."""
    if planning.get():
        raise Planned(what, fields, data)
    return options_named()


@contextmanager
def _folder(call: str, out: StrPath | None) -> Iterator[tuple[StrPath, Any]]:
    """`out`, or a temporary folder and what keeps it. What is in that when the work is stopped is not thrown away."""
    if out is not None:
        yield out, None
        return
    keep = Scratch(f"glint-{call}-")
    path = Path(keep.name, call)
    try:
        yield path, keep
    except KeyboardInterrupt:
        if path.exists():
            keep.stay()
            log.warning("stopped; what was reached is saved in %s, and %s(..., out=that folder) goes on", path, call)
        raise


if TYPE_CHECKING:

    class TrainCall(TrainOptions, total=False):
        """What `train` takes beside `seeds` and `group`."""

        data: Any
        out: StrPath | None
        force: bool
        checkpoint_every: int
        data_dir: StrPath
        progress: bool | None
        on_step: Callable[[Row], Any] | None
        on_eval: Callable[[Row], Any] | None


@overload
def train(recipe: StrPath = "", *, seeds: None = None, group: None = None, **options: Unpack[TrainCall]) -> Run: ...
@overload
def train(recipe: StrPath = "", *, seeds: Iterable[int], group: None = None, **options: Unpack[TrainCall]) -> Runs: ...
@overload
def train(recipe: StrPath = "", *, seeds: Iterable[int] | None = None, group: Any, **options: Unpack[TrainCall]) -> Run | Runs | None: ...
def train(
    recipe: StrPath = "",
    *,
    data: Any = None,
    seed: int | None = None,
    seeds: Iterable[int] | None = None,
    out: StrPath | None = None,
    force: bool = False,
    checkpoint_every: int = 0,
    data_dir: StrPath = "",
    group: Any = None,
    progress: bool | None = None,
    on_step: Callable[[Row], Any] | None = None,
    on_eval: Callable[[Row], Any] | None = None,
    **options: Any,
) -> Run | Runs | None:
    """Trains a model: a `Run`, or with `seeds` a `Runs`.

    `recipe` is a name ("mnist-4.1", "quick", "tales") or a file; options (`gate`, `lam`, `d_model`, `epochs`,
    `norm` ...) go over it. `data` is a name, a folder, or `glint.Images`, `glint.Vectors`, `glint.Tokens`. Of one's own data
    without a recipe, batch and epochs follow from the number of samples, and no noise is added: `glint.options(data=data)`.

    `out` is the run directory. The same call resumes what is in it, and a finished run is opened. Without it the
    run lives in a temporary folder as long as the object; `run.save(path)` keeps it. Ctrl-C saves and raises
    KeyboardInterrupt. `on_step` and `on_eval` are called with a dict.

    `group` is a communicator of mpi4py: all its processes make the same call and train one model together, with the
    bytes of one process. Rank 0 writes, calls back and gives the run; the others give None.

    >>> run = glint.train("quick", epochs=1, d_model=32, progress=False)
    >>> run.config["epochs"], run.metrics[-1]["test_accuracy"] > 0.2
    (1, True)
    """
    if chosen := _by_samples(recipe, data, options):
        log.info("nothing said otherwise: %s", ", ".join(f"{name}={value}" for name, value in chosen.items()))
        options |= chosen
    if seed is not None:
        options["seed"] = seed
    if data is not None and not isinstance(data, Data):
        options["data"] = data_word(data)
    with _folder("train", out) as (folder, keep):
        fields: dict[str, Any] = {"recipe": recipe, "changes": changes_of(options), "seeds": _seed_list(seeds), "out": folder, "force": force}
        fields |= {"checkpoint_every": checkpoint_every, "data_dir": data_dir, "every_step": on_step is not None}
        with _work("train", fields, data), nullcontext() if group is None else Ranks(group) as ranks, Talk(progress, on_step, on_eval) as talk:
            text = _core.train(fields, data._core if isinstance(data, Data) else None, talk, ranks)
    if text is None:
        return None
    about = json.loads(str(text))
    runs = [Run(r["out"], data, keep, data_dir) for r in about["runs"]]
    return runs[0] if seeds is None else Runs(runs, about)


def load(path: StrPath, *, data: Any = None, data_dir: StrPath = "", tokenizer: StrPath = "") -> Run:
    """Opens a run directory, a folder with config.json and model.safetensors, or a language model of another program.

    The last are folders of Hugging Face, GGUF and llama2.c files: `glint.load("stories15M.bin", data="stories.txt")`.
    They are measured on the text `data`, without it on built-in tales; `tokenizer` is a file instead of their own.

    >>> run = glint.load(glint.train("quick", epochs=1, d_model=32, progress=False).save(tmp / "a").path)
    >>> run.kind, run.weights["head.weight"].shape
    ('image', (10, 32))
    """
    return Run(path, data, data_dir=data_dir, tokenizer=tokenizer)


def import_model(
    weights: StrPath,
    *,
    out: StrPath,
    gate: str | Gate = "identity",
    image: tuple[int, int] | None = None,
    residual: bool = False,
    rms_norm: bool = False,
    data: str = "",
    classes: Sequence[str] = (),
) -> Run:
    """Makes a run of a classifier that another program trained, in the new folder `out`.

    `weights` is a safetensors file with an embedding, GLU layers and a head; sizes follow from the shapes. What they do not
    tell is said: the `gate`, height and width of an `image` (without it plain vectors), whether layers add to what they
    read (`residual`) and read through a norm (`rms_norm`), the `data` set that it was trained on, names of `classes`.

    >>> theirs = glint.train("quick", epochs=1, d_model=16, out=tmp / "theirs", progress=False)
    >>> run = glint.import_model(tmp / "theirs" / "model.safetensors", gate="sqs", image=(28, 28), data="glyphs", out=tmp / "ours")
    >>> run.kind, len(run.class_names)
    ('image', 10)
    """
    try:
        height, width = (0, 0) if image is None else map(operator.index, image)
    except (TypeError, ValueError) as e:
        raise UsageError("a size that is no pair of whole numbers", "image=", "height and width, as in (28, 28)") from e
    if image is not None and min(height, width) < 1:
        raise UsageError(f"an image of {height} x {width}", "image=", "height and width above 0")
    fields: dict[str, Any] = {"weights": weights, "height": height, "width": width, "residual": residual, "rms_norm": rms_norm}
    fields |= {"data": data_word(data), "classes": list(classes), "out": out}
    with Talk(False) as talk:
        return Run(json.loads(_core.import_model(fields, gate if isinstance(gate, Gate) else named_gate(gate), talk))["run"])


def model(path: StrPath, *, tokenizer: StrPath = "") -> Model:
    """What a model is and what glint can do with it: family, widths, gate, precision, tokenizer.

    >>> about = glint.model(glint.train("quick", epochs=1, d_model=16, out=tmp / "m", progress=False).path)
    >>> about["family"], about["parameters"]
    ('glint classifier', 13216)
    """
    with Talk(False) as talk:
        return Model(_core.model({"path": path_of(path, "path"), "tokenizer": tokenizer}, talk))


def options(recipe: StrPath = "", *, data: Any = None, **changes: Unpack[TrainOptions]) -> dict[str, Any]:
    """The options that `train` would use.

    >>> glint.options("quick", lam=0.1)["lam"]
    0.1
    """
    images = data._core if isinstance(data, Data) else None
    changed: dict[str, Any] = {**changes, **_by_samples(recipe, data, {**changes})}
    if data is not None and images is None:
        changed["data"] = data_word(data)
    with options_named():
        about = json.loads(_core.options({"recipe": recipe, "changes": changes_of(changed)}, images))
    return {python_name(k): v for k, v in about["options"].items()}


def recipes() -> list[str]:
    """The names of the recipes.

    >>> "mnist-4.1" in glint.recipes()
    True
    """
    return list(_core.recipes())


def sweep(
    recipe: StrPath = "",
    *,
    seeds: Iterable[int] = (0,),
    out: StrPath | None = None,
    one_at_a_time: bool = False,
    tolerance: float = 0.05,
    data: StrPath | None = None,
    data_dir: StrPath = "",
    progress: bool | None = None,
    on_eval: Callable[[Row], Any] | None = None,
    **lists: Unpack[SweepLists],
) -> Sweep:
    """What readability costs: every option may be a list; every setting is trained with every seed and read.

    `.frame()` has a row per setting, `.runs` one per run, `.answer` says which setting to choose. Finished runs in
    `out` are used again.

    >>> result = glint.sweep("quick", gate=["sqs", "identity"], epochs=1, d_model=16, progress=False)
    >>> result.table().columns["gate"]
    ['sqs', 'identity']
    """
    options: dict[str, Any] = {**lists}
    if isinstance(data, Data):
        raise UsageError("a sweep takes no arrays", "data=", "a name, a folder or glint.Tokens", "glint.train for each setting")
    if data is not None:
        options["data"] = data_word(data)
    with _folder("sweep", out) as (folder, keep):
        fields: dict[str, Any] = {"recipe": recipe, "lists": _option_lists(options), "seeds": _seed_list(seeds), "one_at_a_time": one_at_a_time}
        fields |= {"tolerance": tolerance, "data_dir": data_dir, "out": folder}
        with _work("sweep", fields), Talk(progress, None, on_eval) as talk:
            return Sweep(_core.sweep(fields, talk), keep)


def _path(run: Any) -> str:
    return run._opened().path if isinstance(run, Run) else path_of(run, "runs")


def _own_arrays(runs: Iterable[Any]) -> Any:
    """The arrays that runs were trained on; None where they have none."""
    sets = {r._set.checksum: r._set for r in runs if isinstance(r, Run) and r._set is not None}
    if len(sets) > 1:
        raise UsageError("runs on different arrays", "runs=", "runs on the same data")
    return next(iter(sets.values()), None)


@COMPARE
def compare(
    *runs: Any,
    control: Any = None,
    unit: Any = "all",
    tokenizer: StrPath = "",
    data: Any = None,
    data_dir: StrPath = "",
    progress: bool | None = None,
    **options: Unpack[CompareOptions],
) -> Comparison:
    """How alike the eigenvectors of models are: pairs a, b, c, d ... are a with b and c with d.

    Language models, also those of other programs by their paths, are compared in one `layer` along `token`, words with commas between.

    >>> a, b = (glint.train("quick", epochs=1, d_model=16, seed=s, progress=False) for s in (0, 1))
    >>> glint.compare(a, b, show=2).matrices["0"].shape
    (4, 4)
    """
    pair = control if isinstance(control, (list, tuple)) else None
    source, images = data_of(data)
    fields = source | COMPARE.fields(options)
    fields |= {"runs": [_path(r) for r in runs], "unit": str(unit)}
    fields |= {"tokenizer": path_of(tokenizer, "tokenizer"), "data_dir": path_of(data_dir, "data_dir")}
    fields["control"] = ",".join(_path(r) for r in pair) if pair else None if control is None else _path(control)
    with Talk(progress) as talk, COMPARE.called():
        return Comparison(*_core.compare(fields, _own_arrays(runs) if data is None else images, talk))


class RunList(Drawn, Table):
    """Runs below folders, with their losses as a figure."""

    def __init__(self, rows: Iterable[dict[str, Any]], curves: Figure | None) -> None:
        super().__init__(rows, "runs")
        self._draw([curves])

    def figure(self) -> Figure:
        """Test loss over the steps; runs that differ in their seed alone are one curve."""
        if not self.figures:
            raise UsageError("too many curves for one figure", "figure()", "fewer runs", "glint.runs(..., where=...)")
        return super().figure()

    def open(self) -> list[Run]:
        """Opens the finished runs."""
        return [Run(row["run"]) for row in self.rows if row["state"] == "finished"]


def runs(*folders: StrPath, where: Sequence[str] | str = (), sort: str = "") -> RunList:
    """The runs below some folders: the options in which they differ, state and results.

    >>> _ = glint.train("quick", epochs=1, d_model=16, out=tmp / "list" / "a", progress=False)
    >>> glint.runs(tmp / "list").columns["state"]
    ['finished']
    """
    filters = [where] if isinstance(where, str) else list(where)
    fields = {"folders": [path_of(f, "folders") for f in folders or ("runs",)], "where": filters, "sort": sort}
    with Talk(False) as talk:
        text, curves = _core.runs(fields, talk)
    about = json.loads(text)
    rows = []
    for run in about["runs"]:
        shown = {python_name(k): number(run["options"].get(k, "")) for k in about["differing"]}
        keys = ("state", "step", "steps", "test_loss", "test_accuracy", "train_loss", "seconds")
        rows.append({"run": run["run"], **shown, **{k: run[k] for k in keys}})
    return RunList(rows, None if curves is None else Figure(*curves))


def evaluate(run: Any, data: Any = None, *, text: StrPath | None = None, **options: Unpack[EvaluateOptions]) -> Evaluation:
    """Loss and accuracy of a run or of a folder: `Run.evaluate`.

    >>> glint.evaluate(glint.train("quick", epochs=1, d_model=16, progress=False)).confusion.shape
    (10, 10)
    """
    return (run if isinstance(run, Run) else Run(run)).evaluate(data, text=text, **options)


@READABILITY
def readability(*runs: Any, data_dir: StrPath = "", progress: bool | None = None, **options: Unpack[ReadabilityOptions]) -> Table:
    """How readable the weights of runs are: a row per run.

    >>> run = glint.train("quick", epochs=1, d_model=16, progress=False)
    >>> "ablation_r" in glint.readability(run).columns
    True
    """
    fields = READABILITY.fields(options) | {"runs": [_path(r) for r in runs], "data_dir": path_of(data_dir, "data_dir")}
    with Talk(progress) as talk, READABILITY.called():
        about = json.loads(_core.readability(fields, _own_arrays(runs), talk))
    plain = (str, int, float, bool, type(None))
    return Table([{k: v for k, v in row.items() if isinstance(v, plain)} for row in about["runs"]], "readability")


def convert(
    model: StrPath | Run, out: StrPath | None = None, *, force: bool = False, progress: bool | None = None, **options: Unpack[ConvertOptions]
) -> Conversion:
    """A trained language model gets a gate that can be read: `.run` is the converted model, `.table()` its layers.

    It learns from stories that the model writes itself, or from `text=FILE`.

    >>> done = glint.convert(tales, gate="identity", tokens_trained=1000, readings=False, progress=False)
    >>> done["gate_before"], done["gate_after"], done["steps"] > 0
    ('sqs', 'identity', True)
    """
    with _folder("convert", out) as (folder, keep):
        fields = {**CONVERT.fields(options), "model": _path(model), "out": folder, "force": force}
        with _work("convert", fields), Talk(progress) as talk:
            return Conversion(_core.convert(fields, talk), keep)


def reproduce(
    what: str = "all",
    *,
    quick: bool = False,
    seeds: int = 0,
    data: Sequence[str] = (),
    stories: StrPath = "",
    data_dir: StrPath = "",
    out: StrPath | None = None,
    judge_only: bool = False,
    progress: bool | None = None,
) -> Reproduction:
    """The experiments of the paper, and a verdict on each claim that the data can decide.

    `glint.reproduce("table1", quick=True)` takes a few minutes.
    """
    with _folder("reproduce", out) as (folder, keep):
        fields = {"what": what, "quick": quick, "seeds": seeds, "data": list(data), "stories": stories, "data_dir": data_dir}
        fields |= {"out": folder, "judge_only": judge_only}
        with _work("reproduce", fields), Talk(progress) as talk:
            return Reproduction(_core.reproduce(fields, talk), keep)
