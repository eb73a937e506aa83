"""Runs: train one, open one, and ask it everything."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from . import _core
from ._arrays import Array, array_of, as_bytes, count_of, path_of, standing
from ._frames import Table
from ._requests import OUT, SAMPLES, Request, StrPath, data_of, data_standing, direction, option_word, picture, python_name, text_or_file, token_array, whole_numbers
from ._shown import Several
from ._talk import Talk
from .errors import UsageError, called
from .figures import Figure
from .forms import Form, Forms
from .layer import GLU
from .results import Ablation, Attack, Evaluation, Explanation, Layers, Neurons, Page, Passages, Result, Stories, TokenExplanation
from .weights import StoredWeights, Weights

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import (
        AblateOptions, AttackOptions, EvaluateOptions, ExplainOptions, ExportOptions, GenerateOptions, LayersOptions, NeuronsOptions,
        PageOptions, ReadabilityOptions, ReadOptions, ScanOptions,
    )

# The options of calls: _options.pyi is made from these (scripts/make-python-options).
_ALONG = "unit token direction hidden latent"
GENERATE = Request("generate", "prompt")
EVALUATE = Request("evaluate_images", "sheet logits")
EVALUATE_TEXT = EVALUATE.of("evaluate_text")
READ = Request("read", _ALONG + " passages passage_tokens", OUT, k="strongest", files="out")
SCAN = Request("scan", "out")
LAYERS = Request("read_layers", _ALONG + " passages passage_tokens inputs pairs strongest show near layer out", OUT)
PASSAGES = Request("passages", "values numbers hidden layer texts count passage_tokens", {"count": "n", "passage_tokens": "tokens"})
NEURONS = Request("neurons", "out")
EXPLAIN = Request("explain", "index image prompt out", {"prompt": "text", "class": "classes"}, classes="unit")
EXPLAIN_TOKEN = EXPLAIN.of("explain_token")
ABLATE = Request("ablate", _ALONG + " remove", {**OUT, "remove": "vectors"})
ATTACK = Request("attack", "unit out tokens expert")
PAGE = Request("page", "second out unit direction hidden latent via from_layer eigenvector", {"second": "other"})
EXPORT = Request("export", "refine tokens expert")
READABILITY = Request("readability", "runs")


class Run:
    """A trained model, open: its files are read once. `glint.train` and `glint.load` make one.

    Calls on one run come one after the other, also from several threads. `close()` gives back what it holds, and so does
    leaving a `with` block. It is pickled by its path.

    >>> with glint.train("quick", epochs=1, d_model=16, progress=False) as run:
    ...     run.kind
    'image'
    """

    def __init__(
        self, path: StrPath, data: Any = None, keep: object = None, data_dir: StrPath = "", tokenizer: StrPath = ""
    ) -> None:
        self._named = path_of(path, "path")
        self.path = standing(self._named)
        self._keep, self._data = keep, data  # stay as long as the run
        places = {"data_dir": standing(path_of(data_dir, "data_dir")), "tokenizer": standing(path_of(tokenizer, "tokenizer"))}
        data = data_standing(data)
        self._made_of = (self.path, data, None, *places.values())
        source, self._set = data_of(data)
        fields = source | {"run": self.path, **places}
        with Talk(False) as talk:
            self._open = _core.open_run(fields, self._set, talk)
        self.about: dict[str, Any] = json.loads(self._open.about())

    def close(self) -> None:
        """Gives back the model and what was computed of it. Every further question is a `glint.UsageError`.

        >>> again = glint.load(run.path)
        >>> again.close()
        """
        self._open.close()

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return bool(self._open.closed)

    def _opened(self) -> Run:
        """This run; the error of every call where it is closed."""
        if self.closed:
            self._open.about()
        return self

    def __enter__(self) -> Run:
        return self._opened()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _away(self) -> Run | Away:
        """What the pickle of a result has of it: a run that is closed or in a temporary folder is not opened with it."""
        return self if self._keep is None and not self.closed else Away(self.kind, None if self._keep is not None else self._made_of)

    def __reduce__(self) -> tuple[Any, ...]:
        if self._keep is not None:
            raise UsageError("a run in a temporary folder cannot be sent to another process", "out=", "a folder", "run.save(path)")
        return Run, self._made_of

    def _ask(self, request: Request, options: Mapping[str, Any], data: Any = None, progress: bool | None = False, **more: Any) -> Any:
        """What the library says to a request: `options` and `more`, on other data than the run's where there are any."""
        fields, images = data_of(data)
        fields |= request.fields(options) | more
        with Talk(progress) as talk, request.called():
            return getattr(self._open, request.call)(fields, images, talk)

    # What it is.

    @property
    def kind(self) -> str:
        """"image" (also for vectors) or "language"."""
        return str(self.about["kind"])

    @property
    def config(self) -> dict[str, Any]:
        """The options that it was trained with, by the names that `train` takes; of a folder from elsewhere its model."""
        run = self.about["run"] or {}
        options = run.get("identity", {}).get("options") or self.about["model"]
        return {python_name(k): v for k, v in options.items()}

    @property
    def class_names(self) -> list[str]:
        """The names of the classes of an image model."""
        return list(self.about.get("class_names", []))

    @property
    def metrics(self) -> Table:
        """A row per evaluation during training. `.columns` is a dict of lists, `.frame()` is pandas."""
        self._opened()
        return self._metrics()

    def _metrics(self) -> Table:
        path = Path(self.path, "metrics.jsonl")
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        order = ("step", "epoch", "train_loss", "train_accuracy", "test_loss", "test_accuracy", "lr", "seconds")
        rows = [json.loads(line) for line in lines if line.strip()]
        return Table([{k: row[k] for k in order if k in row} for row in rows], f"evaluations of the run {self._place()}")

    @property
    def foreign(self) -> bool:
        """Whether another program made the model."""
        return bool(self.about["foreign"])

    @property
    def weights(self) -> Mapping[str, Array]:
        """The weights by name, read-only; those of another program's model widened to float32 when they are asked for."""
        weights: Any = self._open.weights()
        return Weights(weights) if isinstance(weights, dict) else StoredWeights(weights)

    def layer(self, layer: int | None = None, *, expert: int | str | None = None) -> GLU:
        """A GLU layer as arrays, with the weights of a norm before it folded in: number `layer` from 1 on, or the last.

        Its outputs are hidden units of an image model, the residual stream of a language model. Of a mixture of experts
        one `expert` is taken: its number from 1 on, or "shared".

        >>> layer = run.layer()
        >>> layer.L.shape == layer.R.shape
        True
        """
        place = {} if expert is None else {"expert": option_word(expert, "expert")}
        with Talk(False) as talk:
            parts = self._open.layer({"layer": layer, **place}, talk)
        biases = None if parts["bias_left"] is None and parts["bias_right"] is None else (parts["bias_left"], parts["bias_right"])
        glu = GLU(parts["L"], parts["R"], parts["P"], gate=parts["gate"], bias=biases, norm=parts["norm"] or None)
        glu._place = {"layer": parts["number"], "layers": self.about["layers"], **place}
        return glu

    def save(self, path: StrPath) -> Run:
        """Copies the run into a new folder, and opens it there.

        >>> run.save(tmp / "copy").kind
        'image'
        """
        self._opened()
        if self.foreign:
            raise UsageError("a model of another program stays where it is", "save()", "a run of glint")
        target = Path(path_of(path, "path"))
        if target.exists() and any(target.iterdir()):
            raise UsageError("the folder holds something", "path=", "a new folder")
        shutil.copytree(self.path, target, dirs_exist_ok=True)
        _, data, _, data_dir, _ = self._made_of
        return Run(target, data, data_dir=data_dir)

    # What it says.

    def logits(self, X: Any) -> Array:
        """Logits of images or vectors [n, ...]; of a language model for tokens [n] or a text, [n, vocab].

        >>> glyphs = glint.data.load("glyphs")
        >>> run.logits(glyphs.X[:5]).shape
        (5, 10)
        >>> tales.logits("once upon a time").shape[1]  # tokens of its vocabulary
        512
        """
        if self.kind == "language":
            if isinstance(X, str):
                X = self.tokens(X)
            array = token_array(X, "X")
        else:
            array = array_of(X, "X")
            if array.ndim < 2 or array.dtype.kind not in "biuf":
                raise UsageError(f"an array of {array.dtype} with {array.ndim} axes", "X=", "[samples, ...] of numbers")
            if self.about["picture"] != [0, 0]:
                array = as_bytes(array, "X")
            kind: Any = np.uint8 if array.dtype == np.uint8 else np.float32
            width = int(np.prod(array.shape[1:]))
            array = np.ascontiguousarray(array.reshape(len(array), width), dtype=kind)
        with Talk(False) as talk, called(SAMPLES):
            return np.asarray(self._open.logits(array, talk))

    def tokens(self, text: str) -> list[int]:
        """A text as the tokens that a language model is given.

        >>> ids = tales.tokens("once upon a time")
        >>> tales.text(ids[1:])  # the first token begins every text
        'once upon a time'
        """
        return list(self._open.tokens(text))

    def text(self, tokens: Any) -> str:
        """Tokens as text: the way back from `tokens`.

        >>> tales.text(tales.tokens("happy")[1:])
        'happy'
        """
        return str(self._open.decode(token_array(tokens, "tokens")))

    @GENERATE
    def generate(self, prompt: str = "", *, progress: bool | None = None, **options: Unpack[GenerateOptions]) -> Stories:
        """Stories from a language model, each beginning with the prompt.

        >>> stories = tales.generate("once upon a time", tokens=5, seed=0, progress=False)
        >>> stories.texts[0].startswith("once upon a time")
        True
        """
        return Stories(self._ask(GENERATE, options, None, progress, prompt=prompt))

    @EVALUATE
    def evaluate(self, data: Any = None, *, text: StrPath | None = None, **options: Unpack[EvaluateOptions]) -> Evaluation:
        """Loss and accuracy on the run's data or on others. `text`, for a language model, is a file or the text itself.

        >>> run.evaluate()["accuracy"] > 0.2
        True
        >>> tales.evaluate(text="once upon a time there was a cat.")["tokens"] > 5
        True
        """
        if self.kind == "image":
            if text is not None:
                raise UsageError("an image model reads no text", "text=", "data=, images to measure it on")
            return Evaluation(*self._ask(EVALUATE, options, data))
        return Evaluation(self._ask(EVALUATE_TEXT, options, data, **text_or_file(text)))

    # What its weights say.

    @overload
    def read(self, out: str, *, data: Any = None, progress: bool | None = None, **options: Unpack[ReadOptions]) -> Form | Forms: ...
    @overload
    def read(self, out: int | Array, *, data: Any = None, progress: bool | None = None, **options: Unpack[ReadOptions]) -> Form: ...
    @overload
    def read(self, *, hidden: int, data: Any = None, progress: bool | None = None, **options: Unpack[ReadOptions]) -> Form: ...
    @overload
    def read(self, *, latent: Any, data: Any = None, progress: bool | None = None, **options: Unpack[ReadOptions]) -> Form | Forms: ...
    @overload
    def read(self, out: None = None, *, data: Any = None, progress: bool | None = None, **options: Unpack[ReadOptions]) -> Forms: ...

    @READ
    def read(
        self, out: Any = None, *, hidden: int | None = None, latent: Any = None, data: Any = None, progress: bool | None = None, **options: Any
    ) -> Form | Forms:
        """A layer read along directions: a `Form` for one, `Forms` for several.

        `out`: a class ("3", "3-5" for one against another, "all") or a token ("happy", "happy - sad"), a vector of
        the layer's output, or None for all classes. `hidden` is a hidden unit instead, from 1 on; `latent` a latent of the
        autoencoder `sae`, or several ("3,8", "0..9"). `k` keeps the strongest eigenpairs. `files` is a folder for the spectra and
        figures that the program writes.

        `controls`: "all"; "linear" leaves out the untrained model, and "none" measures nothing, so that eigenvectors come at once.
        With `inputs`, an autoencoder of what the layer reads, `form.pairs` has the strongest `pairs` of its latents. With
        `from_layer` the direction is one of that later layer, and this layer is read along the `eigenvector` of its form there.

        >>> form = run.read("3", progress=False)
        >>> len(form.values), form.fidelity["r2"] > 0.5
        (32, True)
        >>> run.read("3-5", form="weights", progress=False).form
        'weights'
        >>> len(run.read(progress=False))  # all classes
        10
        """
        along, one = direction(out, self.kind, hidden, latent)
        text, units, figures = self._ask(READ, options, data, progress, figures=bool(options.get("files")), **along)
        whole, drawn = json.loads(text), [Figure(*f) for f in figures]
        asked = data, {name: options[name] for name in ("tokens", "expert", "near") if name in options}
        k, show, forms = options.get("k"), READ.value(options, "show"), []
        for i, unit in enumerate(units):
            unit["ends"] = unit["vectors"][_ends(unit["values"], show)]
            if k and k < len(unit["values"]):
                strongest = np.sort(np.argsort(-np.abs(unit["values"]), kind="stable")[:k])
                unit["squares"] = float(np.sum(unit["values"] ** 2))
                unit |= {name: unit[name][strongest] for name in ("values", "vectors", "groups")}
            forms.append(Form(unit, whole["units"][i], whole, drawn[i], self, asked))
        return forms[0] if one and len(forms) == 1 else Forms(forms, whole, drawn)

    @SCAN
    def scan(self, *, data: Any = None, progress: bool | None = None, **options: Unpack[ScanOptions]) -> Table:
        """Every token of a language model as a direction, the most concentrated spectra first. With the folder of a sparse
        autoencoder as `sae`, every latent of it.

        >>> tales.scan(tokens=500, progress=False).columns["token"][0] != ""
        True
        """
        with tempfile.TemporaryDirectory(prefix="glint-") as scratch:
            about = json.loads(self._ask(SCAN, options, data, progress, out=scratch))
        rows = about["latents" if options.get("sae") else "tokens"]
        return Table(rows, f"layer {about['layer']}, {about['form']} form, R² {about['fidelity']['r2']:.3f}")

    @LAYERS
    def layers(
        self, out: Any = None, *, hidden: int | None = None, data: Any = None, progress: bool | None = None, **options: Unpack[LayersOptions]
    ) -> Layers:
        """The same direction at every layer: how far each can be read.

        >>> tales.layers("happy", tokens=500, progress=False)["layers"][0]["layer"]
        1
        """
        with tempfile.TemporaryDirectory(prefix="glint-") as scratch:
            return Layers(*self._ask(LAYERS, options, data, progress, out=scratch, **direction(out, self.kind, hidden)[0]))

    @NEURONS
    def neurons(self, *, progress: bool | None = None, **options: Unpack[NeuronsOptions]) -> Neurons:
        """What the hidden units of a language model do to the stream that they read, by the cosines of their weights.

        >>> tales.neurons(progress=False).table().columns["layer"]
        [1]
        """
        with tempfile.TemporaryDirectory(prefix="glint-") as scratch:
            return Neurons(*self._ask(NEURONS, options, None, progress, out=scratch))

    @overload
    def explain(
        self, index: int | None = None, *, image: Any = None, data: Any = None, progress: bool | None = None, **options: Unpack[ExplainOptions]
    ) -> Explanation: ...
    @overload
    def explain(self, *, text: str, data: Any = None, progress: bool | None = None, **options: Unpack[ExplainOptions]) -> TokenExplanation: ...

    @EXPLAIN
    def explain(
        self, index: int | None = None, *, image: Any = None, text: str | None = None, data: Any = None, progress: bool | None = None, **options: Any
    ) -> Explanation | TokenExplanation:
        """Why a model decides as it does on one input.

        An image model: number `index` of its data, or an image of one's own: `image` is a PNG file or an array [height,
        width], bytes or floats from 0 to 1. Gives an `Explanation`.

        A language model: why it expects `token` after `text`, or after the first `position` tokens of it; without `token`
        the one that it expects most, with `against` rather than that one. `layer` names the layers whose GLU is taken
        apart: a number from 1 on, several, or "all"; by default the one that adds most. Gives a `TokenExplanation`.

        >>> tales = glint.train("tales", epochs=1, layers=1, d_model=16, heads=2, context=32, out=tmp / "tales", progress=False)
        >>> why = tales.explain(text="once upon a")
        >>> abs(why["parts"]["sum"] - why.logit) < 1e-4
        True
        """
        if self.kind == "language":
            if text is None:
                raise UsageError("nothing to explain", "text=", "what the language model reads")
            return TokenExplanation(*self._ask(EXPLAIN_TOKEN, options, data, progress, prompt=text))
        if text is not None:
            raise UsageError("an image model reads no text", "text=", "index= or image=")
        if index is None and image is None:
            raise UsageError("nothing to explain", "index=", "the number of an image of the data, or image=")
        what: dict[str, Any] = {"index": index}
        if isinstance(image, (str, os.PathLike)):
            what["image"] = image
        elif image is not None:
            what |= {"picture": picture(image, tuple(self.about["picture"])), "as_is": True}
        return Explanation(*self._ask(EXPLAIN, options, data, progress, **what))

    def _passages(self, asked: Any, found: dict[str, Any], vectors: Array, text: Any, n: int, tokens: int | None) -> Passages:
        """The passages in which eigenvectors of a layer are strongest."""
        data, options = asked
        if isinstance(text, os.PathLike):
            found["text"] = text
        elif text is not None:
            found["texts"] = [text] if isinstance(text, str) else list(text)
        return Passages(*self._ask(PASSAGES, options, data, None, **found, vectors=vectors, count=n, passage_tokens=tokens))

    def _near(self, vectors: Array, n: int) -> list[dict[str, Any]]:
        """The tokens along each of some vectors, and against it."""
        return list(json.loads(self._open.near(vectors, n)))

    @ABLATE
    def ablate(
        self,
        out: Any = None,
        *,
        vectors: int | Iterable[int] | None = None,
        top: int | None = None,
        data: Any = None,
        progress: bool | None = None,
        **options: Unpack[AblateOptions],
    ) -> Ablation:
        """The model without some eigenvectors of a direction: `vectors=[1, 2]` are the two strongest, as is `top=2`.

        >>> changed = run.ablate("3", vectors=[1, 2], progress=False)
        >>> -1 <= changed["all"]["r"] <= 1  # correlation of the true change of the output with the predicted one
        True
        """
        which = direction(out, self.kind)[0]
        if vectors is not None and top is not None:
            raise UsageError("`vectors` and `top` both say which eigenvectors are removed", "vectors=", "one of them")
        if vectors is not None:
            which["remove"] = whole_numbers(vectors, "vectors")
        elif top is not None:
            which["remove"] = f"1..{count_of(top, 'top')}"
        return Ablation(self._ask(ABLATE, options, data, progress, **which))

    @ATTACK
    def attack(self, unit: Any = "all", *, data: Any = None, progress: bool | None = None, **options: Unpack[AttackOptions]) -> Attack:
        """Masks made from eigenvectors that change what an image model decides, with their controls.

        >>> run.attack("3", images=100, strengths=[0, 2], progress=False).masks.shape[-2:]
        (28, 28)
        """
        return Attack(*self._ask(ATTACK, options, data, progress, unit=str(unit)))

    @PAGE
    def page(
        self, other: Any = None, *, out: StrPath | None = None, data: Any = None, progress: bool | None = None, **options: Unpack[PageOptions]
    ) -> Page:
        """The explorer of the run, or of two beside each other: one HTML file, which a notebook shows in a frame.

        Two language models, or one with `layers` ("1,3") or `token` ("happy,sad"): a page of readings, with passages.

        >>> run.page(images=50, progress=False).save(tmp / "explorer.html").name
        'explorer.html'
        """
        pair = {} if other is None else {"second": other._opened().path if isinstance(other, Run) else path_of(other, "other")}
        with tempfile.TemporaryDirectory(prefix="glint-") as scratch:
            target = path_of(out or Path(scratch, "explorer.html"), "out")
            return Page(self._ask(PAGE, options, data, progress, out=target, **pair), target)

    @EXPORT
    def export(self, **options: Unpack[ExportOptions]) -> Result:
        """Arrays for other programs (`npy`), or a folder that PyTorch users expect (`hf`).

        >>> _ = run.export(npy=tmp / "arrays")
        >>> any((tmp / "arrays").iterdir())
        True
        """
        return Result(self._ask(EXPORT, options), title="export")

    @READABILITY
    def readability(self, *, progress: bool | None = None, **options: Unpack[ReadabilityOptions]) -> Result:
        """How readable the weights are, in a few numbers.

        >>> "distinct_pictures" in run.readability(progress=False)
        True
        """
        path, data, _, data_dir, tokenizer = self._opened()._made_of
        source, images = data_of(data)
        fields = source | {"data_dir": data_dir, "tokenizer": tokenizer, "runs": [path]}
        with Talk(progress) as talk, READABILITY.called():
            about = json.loads(_core.readability(fields | READABILITY.fields(options), images, talk))
        return Result(about["runs"][0], title=f"readability of the run {self._place()}")

    def _place(self) -> str:
        return self._named if self._keep is None else "in a temporary folder"

    def __repr__(self) -> str:
        trained = f", trained on {self.about['trained_on']}" if self.about["trained_on"] else ""
        return f"<glint Run {self._place()}: {self.about['text']}{trained}>"

    def _repr_html_(self) -> str:
        last = ([{}] + self._metrics().rows)[-1]
        keys = ("epoch", "step", "train_loss", "test_loss", "test_accuracy")
        rows = [{"": self.about["text"], "trained on": self.about["trained_on"], **{k: last[k] for k in keys if k in last}}]
        return Table(rows, f"run {self._place()}")._repr_html_()


class Away:
    """A run that a pickle has by its path alone: it is opened when it is asked. None: its folder was temporary."""

    def __init__(self, kind: str, made_of: tuple[Any, ...] | None) -> None:
        self.kind, self._made_of = kind, made_of

    def _away(self) -> Away:
        return self

    def _opened(self) -> Run:
        if self._made_of is None:
            raise UsageError("the run that was read is gone: it lay in a temporary folder", "run=", "a run with a folder", "glint.train(..., out=...)")
        return Run(*self._made_of)


class Runs(Several[Run]):
    """Several runs, one per seed."""

    def __init__(self, runs: list[Run], about: dict[str, Any]) -> None:
        self._items, self.about = runs, about

    def table(self) -> Table:
        """A row per run."""
        return Table(self.about["runs"], "runs")


def _ends(values: Array, show: int) -> Array:
    """The places of the strongest values above 0, then of those below: what is shown of a form."""
    order = np.argsort(-np.abs(values), kind="stable")
    return np.concatenate([order[values[order] > 0][:show], order[values[order] < 0][:show]])
