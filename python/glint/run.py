"""Runs: train one, open one, and ask it everything."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import _core
from ._arrays import Array, array_of, path_of
from ._frames import Table
from ._requests import (
    ABLATE, EXPLAIN, MEMORY, OUT, PASSAGES, READ, SAMPLES, StrPath, data_word, direction, expert_word, path_or_none, png,
    text_file, token_array, whole_numbers,
)
from ._shown import Shown
from ._talk import Talk
from .data import Data
from .errors import UsageError, called
from .figures import Figure
from .forms import Form, Forms
from .layer import GLU
from .results import (
    Ablation,
    Attack,
    Evaluation,
    Explanation,
    Layers,
    Neurons,
    Page,
    Passages,
    Result,
    Stories,
    TokenExplanation,
    python_name,
)
from .weights import StoredWeights, Weights


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
        self.path = path_of(path, "path")
        self._made_of = (self.path, data, None, data_dir, tokenizer)
        self._keep = keep
        self._set = data._core if isinstance(data, Data) else None
        fields = {"run": self.path, "data_dir": path_of(data_dir, "data_dir"), "tokenizer": path_of(tokenizer, "tokenizer")}
        if data is not None and self._set is None:
            fields["data"] = data_word(data)
        with Talk(False) as talk:
            self._open = _core.open_run(fields, self._set, talk)
        self.about: dict[str, Any] = json.loads(self._open.about())

    def close(self) -> None:
        """Gives back the model and what was computed of it. Every further question is a `glint.UsageError`.

        >>> again = glint.load(run.path)
        >>> again.close()
        """
        self._open.close()

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _goes_along(self) -> bool:
        """Whether a pickle takes it along: what lies in a temporary folder stays here."""
        return self._keep is None and not self._open.closed

    def __reduce__(self) -> tuple[Any, ...]:
        if self._keep is not None:
            raise UsageError("a run in a temporary folder cannot be sent to another process", "out=", "a folder", "run.save(path)")
        return Run, self._made_of

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
        weights = self._open.weights()
        return Weights(weights) if isinstance(weights, dict) else StoredWeights(weights)

    def layer(self, layer: int | None = None, *, expert: int | str | None = None) -> GLU:
        """A GLU layer as arrays, with the weights of a norm before it folded in: number `layer` from 1 on, or the last.

        Its outputs are hidden units of an image model, the residual stream of a language model. Of a mixture of experts
        one `expert` is taken: its number from 1 on, or "shared".

        >>> layer = run.layer()
        >>> layer.L.shape == layer.R.shape
        True
        """
        with Talk(False) as talk:
            parts = self._open.layer({"layer": layer, "expert": expert_word(expert)}, talk)
        biases = None if parts["bias_left"] is None and parts["bias_right"] is None else (parts["bias_left"], parts["bias_right"])
        glu = GLU(parts["L"], parts["R"], parts["P"], gate=parts["gate"], bias=biases, norm=parts["norm"] or None)
        glu._place = {"layer": parts["number"], "layers": self.about["layers"]} | ({} if expert is None else {"expert": expert_word(expert)})
        return glu

    def save(self, path: StrPath) -> Run:
        """Copies the run into a new folder, and opens it there.

        >>> run.save(tmp / "copy").kind
        'image'
        """
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

    def generate(
        self,
        prompt: str = "",
        *,
        count: int = 1,
        tokens: int | None = None,
        temperature: float = 0.8,
        top_k: int = 0,
        top_p: float = 1.0,
        seed: int = 0,
        progress: bool | None = None,
    ) -> Stories:
        """Stories from a language model, each beginning with the prompt.

        >>> stories = tales.generate("once upon a time", tokens=5, seed=0, progress=False)
        >>> stories.texts[0].startswith("once upon a time")
        True
        """
        fields = {
            "prompt": prompt,
            "count": count,
            "tokens": tokens,
            "temperature": temperature,
            "top_k": top_k,
            "top_p": top_p,
            "seed": seed,
        }
        with Talk(progress) as talk:
            return Stories(json.loads(self._open.generate(fields, talk)))

    def evaluate(self, data: Any = None, *, split: str = "test", worst: int = 10, text: StrPath | None = None) -> Evaluation:
        """Loss and accuracy on the run's data or on others. `text`, for a language model, is a file or the text itself.

        >>> run.evaluate()["accuracy"] > 0.2
        True
        >>> tales.evaluate(text="once upon a time there was a cat.")["tokens"] > 5
        True
        """
        fields, images = self._source(data)
        fields |= {"split": split}
        with Talk(False) as talk, tempfile.TemporaryDirectory(prefix="glint-") as scratch, called(MEMORY | {scratch: "text"}):
            if self.kind == "language":
                fields["text"] = None if text is None else text_file(text, scratch)
                values = json.loads(self._open.evaluate_text(fields, talk))
                return Evaluation(values | {"text": values["text"].replace(os.path.join(scratch, "text.txt"), "a text")})
            if text is not None:
                raise UsageError("an image model reads no text", "text=", "data=, images to measure it on")
            about, logits, confusion = self._open.evaluate_images(fields | {"worst": worst}, images, talk)
            return Evaluation(json.loads(about), logits, confusion)

    # What its weights say.

    def read(
        self,
        out: Any = None,
        *,
        form: str = "auto",
        controls: str = "all",
        layer: int | None = None,
        via: str = "1",
        k: int | None = None,
        show: int = 4,
        near: int = 8,
        refine: bool = False,
        hidden: int | None = None,
        expert: int | str | None = None,
        sae: StrPath | None = None,
        latent: Any = None,
        side: str = "decoder",
        inputs: StrPath | None = None,
        pairs: int = 10,
        from_layer: int | None = None,
        eigenvector: str = "+1",
        tokens: int | None = None,
        data: Any = None,
        files: StrPath | None = None,
        progress: bool | None = None,
    ) -> Any:
        """A layer read along directions: a `Form` for one, `Forms` for several.

        `out`: a class ("3", "3-5" for one against another, "all") or a token ("happy", "happy - sad"), a vector of
        the layer's output, or None for all classes. `hidden` is a hidden unit instead, from 1 on. `k` keeps the
        strongest eigenpairs. `layer` counts from 1, the last when not given. Of a mixture of experts one `expert` is read, by
        its number from 1 on or as "shared", from the weights alone. A language model is measured on about
        so many `tokens` of its data. `controls`: "all"; "linear" leaves out the untrained model, and "none" measures nothing, so that
        the eigenvectors come at once. `files` is a folder for the spectra and figures that the program writes.

        Sparse autoencoders and transcoders: `sae` is the folder of one, `latent` a number or several ("3,8", "0..9") whose
        decoder (or encoder: `side`) is the direction. `inputs` is one of what the layer reads: the strongest `pairs` of its
        latents are then `form.pairs`. With `from_layer` the direction is one of that later layer, and this layer is read
        along the `eigenvector` of its form there: "+1" the strongest for, "-1" against.

        >>> form = run.read("3", progress=False)
        >>> len(form.values), form.fidelity["r2"] > 0.5
        (32, True)
        >>> run.read("3-5", form="weights", progress=False).form
        'weights'
        >>> len(run.read(progress=False))  # all classes
        10
        """
        fields, images = self._source(data)
        fields |= {"sae": path_or_none(sae, "sae"), "inputs": path_or_none(inputs, "inputs"), "side": side, "pairs": pairs}
        fields |= {"latent": None if latent is None else str(latent), "from_layer": from_layer, "eigenvector": eigenvector}
        asked = dict(fields, measured_tokens=tokens, expert=expert_word(expert), near=near), images
        fields |= {"form": form, "controls": controls, "layer": layer, "via": via, "top": k, "show": show, "near": near, "refine": refine}
        fields |= {"out": path_or_none(files, "files"), "measured_tokens": tokens, "expert": expert_word(expert)}
        with tempfile.TemporaryDirectory(prefix="glint-") as scratch:
            one = direction(fields, out, self.kind, scratch, hidden)
            with Talk(progress) as talk, called(READ | {scratch: "out"}):
                text, units, figures = self._open.read(fields, images, talk)
        whole = json.loads(text)
        drawn = [Figure(*f) for f in figures]
        forms = []
        for i, unit in enumerate(units):
            unit["ends"] = unit["vectors"][_ends(unit["values"], show)]
            if k and k < len(unit["values"]):
                strongest = np.sort(np.argsort(-np.abs(unit["values"]), kind="stable")[:k])
                unit |= {name: unit[name][strongest] for name in ("values", "vectors", "groups")}
            forms.append(Form(unit, whole["units"][i], whole, drawn[i], self, asked))
        return forms[0] if (one or latent is not None) and len(forms) == 1 else Forms(forms, whole, drawn)

    def scan(
        self, *, layer: int | None = None, form: str = "auto", sae: StrPath | None = None, tokens: int | None = None, data: Any = None,
        progress: bool | None = None,
    ) -> Table:
        """Every token of a language model as a direction, the most concentrated spectra first. With the folder of a sparse
        autoencoder as `sae`, every latent of it.

        >>> tales.scan(tokens=500, progress=False).columns["token"][0] != ""
        True
        """
        fields, _ = self._source(data)
        with tempfile.TemporaryDirectory(prefix="glint-") as scratch, Talk(progress) as talk, called(MEMORY):
            fields |= {"layer": layer, "form": form, "sae": path_or_none(sae, "sae"), "measured_tokens": tokens, "out": scratch}
            about = json.loads(self._open.scan(fields, talk))
        return Table(about["latents" if sae else "tokens"], f"layer {about['layer']}, {about['form']} form, R² {about['fidelity']['r2']:.3f}")

    def layers(
        self, out: Any = None, *, form: str = "auto", hidden: int | None = None, tokens: int | None = None, data: Any = None, progress: bool | None = None
    ) -> Layers:
        """The same direction at every layer: how far each can be read.

        >>> tales.layers("happy", tokens=500, progress=False)["layers"][0]["layer"]
        1
        """
        fields, images = self._source(data)
        with tempfile.TemporaryDirectory(prefix="glint-") as scratch:
            fields |= {"form": form, "measured_tokens": tokens, "out": scratch}
            direction(fields, out, self.kind, scratch, hidden)
            with Talk(progress) as talk, called(OUT | {scratch: "out"}):
                text, figure = self._open.read_layers(fields, images, talk)
        return Layers(json.loads(text), Figure(*figure))

    def neurons(self, *, layer: int | None = None, progress: bool | None = None) -> Neurons:
        """What the hidden units of a language model do to the stream that they read, by the cosines of their weights.

        >>> tales.neurons(progress=False).table().columns["layer"]
        [1]
        """
        with tempfile.TemporaryDirectory(prefix="glint-") as scratch, Talk(progress) as talk:
            text, figure = self._open.neurons({"layer": layer, "out": scratch}, talk)
        return Neurons(json.loads(text), [Figure(*figure)])

    def explain(
        self,
        index: int | None = None,
        *,
        image: Any = None,
        split: str = "test",
        classes: str | None = None,
        text: str | None = None,
        position: int | None = None,
        token: str | None = None,
        against: str | None = None,
        layer: int | str | Iterable[int] | None = None,
        form: str = "auto",
        top: int = 4,
        near: int = 8,
        refine: bool = False,
        as_is: bool = False,
        data: Any = None,
        progress: bool | None = None,
    ) -> Any:
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
            fields, _ = self._source(data)
            layers = layer if layer is None or isinstance(layer, str) else whole_numbers(layer, "layer")
            fields |= {"text": text, "position": position, "token": token, "against": against, "layers": layers}
            fields |= {"form": form, "show": top, "near": near}
            with Talk(progress) as talk, called(EXPLAIN):
                about, verdict, check, path, trust, figure = self._open.explain_token(fields, talk)
            return TokenExplanation(json.loads(about), verdict, check, path, list(trust), Figure(*figure))
        if any(v is not None for v in (text, position, token, against, layer)):
            raise UsageError("an image model reads no text", "text=", "index= or image=")
        fields, images = self._source(data)
        fields |= {"index": index, "split": split, "classes": classes, "form": form, "top": top, "refine": refine}
        with tempfile.TemporaryDirectory(prefix="glint-") as scratch:
            if image is not None:
                if isinstance(image, (str, os.PathLike)):
                    fields |= {"image": path_of(image, "image"), "as_is": as_is}
                else:
                    height, width = self.about["picture"]
                    fields |= {"image": png(image, (height, width), Path(scratch, "image.png")), "as_is": True}
            with Talk(progress) as talk, called(EXPLAIN):
                text, verdict, trust, shown, figure, pixels = self._open.explain(fields, images, talk)
        drawn = None if figure is None else Figure(*figure)
        return Explanation(json.loads(text), verdict, trust, list(shown), drawn, np.asarray(pixels))

    def _passages(self, asked: Any, found: dict[str, Any], vectors: Array, text: Any, n: int, tokens: int | None) -> Passages:
        """The passages in which eigenvectors of a layer are strongest."""
        fields, _ = asked
        if isinstance(text, os.PathLike):
            found["text"] = os.fspath(text)
        elif text is not None:
            found["texts"] = [text] if isinstance(text, str) else list(text)
        with Talk(None) as talk, called(PASSAGES):
            about, page = self._open.passages({**fields, **found, "count": n, "passage_tokens": tokens}, vectors, talk)
        return Passages(json.loads(about), page)

    def _near(self, vectors: Array, n: int) -> list[dict[str, Any]]:
        """The tokens along each of some vectors, and against it."""
        return list(json.loads(self._open.near(vectors, n)))

    def ablate(
        self,
        out: Any = None,
        *,
        vectors: int | Iterable[int] | None = None,
        top: int | None = None,
        scale: float = 0.0,
        form: str = "auto",
        layer: int | None = None,
        via: str = "1",
        save: StrPath | None = None,
        data: Any = None,
        progress: bool | None = None,
    ) -> Ablation:
        """The model without some eigenvectors of a direction: `vectors=[1, 2]` are the two strongest.

        >>> changed = run.ablate("3", vectors=[1, 2], progress=False)
        >>> -1 <= changed["all"]["r"] <= 1  # correlation of the true change of the output with the predicted one
        True
        """
        fields, images = self._source(data)
        fields |= {"form": form, "layer": layer, "via": via, "top": top, "scale": scale}
        fields["save"] = path_or_none(save, "save")
        if vectors is not None:
            fields["remove"] = whole_numbers(vectors, "vectors")
        with tempfile.TemporaryDirectory(prefix="glint-") as scratch:
            direction(fields, out, self.kind, scratch)
            with Talk(progress) as talk, called(ABLATE | {scratch: "out"}):
                return Ablation(json.loads(self._open.ablate(fields, images, talk)))

    def attack(
        self,
        unit: Any = "all",
        *,
        form: str = "auto",
        terms: int = 3,
        images: int = 2000,
        strengths: Iterable[float] | None = None,
        seed: int = 0,
        data: Any = None,
        progress: bool | None = None,
    ) -> Attack:
        """Masks made from eigenvectors that change what an image model decides, with their controls.

        >>> run.attack("3", images=100, strengths=[0, 2], progress=False).masks.shape[-2:]
        (28, 28)
        """
        fields, held = self._source(data)
        fields |= {"unit": str(unit), "form": form, "terms": terms, "images": images, "seed": seed}
        fields["strengths"] = None if strengths is None else [float(s) for s in strengths]
        with Talk(progress) as talk, called(MEMORY):
            text, masks, height, width, figures = self._open.attack(fields, held, talk)
        masks = np.asarray(masks)
        if height * width == masks.shape[-1] and height:
            masks = masks.reshape(*masks.shape[:-1], height, width)
        return Attack(json.loads(text), masks, [Figure(*f) for f in figures])

    def page(
        self,
        other: Any = None,
        *,
        out: StrPath | None = None,
        images: int = 1000,
        vectors: int = 8,
        limit: int = 5_000_000,
        layers: str = "",
        token: str = "",
        refine: bool = False,
        data: Any = None,
        progress: bool | None = None,
    ) -> Page:
        """The explorer of the run, or of two beside each other: one HTML file, which a notebook shows in a frame.

        Two language models, or one with `layers` ("1,3") or `token` ("happy,sad"): a page of readings, with passages.

        >>> run.page(images=50, progress=False).save(tmp / "explorer.html").name
        'explorer.html'
        """
        fields, held = self._source(data)
        fields |= {"images": images, "vectors": vectors, "limit": limit, "refine": refine}
        fields |= {"layers": layers, "token": token}
        if other is not None:
            fields["other"] = other.path if isinstance(other, Run) else path_of(other, "other")
        with tempfile.TemporaryDirectory(prefix="glint-") as scratch, Talk(progress) as talk, called(MEMORY):
            fields["out"] = path_of(out or Path(scratch, "explorer.html"), "out")
            return Page(json.loads(self._open.page(fields, held, talk)), fields["out"])

    def export(self, *, npy: StrPath | None = None, hf: StrPath | None = None, force: bool = False) -> Result:
        """Arrays for other programs (`npy`), or a folder that PyTorch users expect (`hf`).

        >>> _ = run.export(npy=tmp / "arrays")
        >>> any((tmp / "arrays").iterdir())
        True
        """
        fields = {"npy": path_or_none(npy, "npy"), "hf": path_or_none(hf, "hf"), "force": force}
        with Talk(False) as talk, called(MEMORY):
            return Result(json.loads(self._open.export(fields, talk)), "export")

    def readability(self, *, form: str = "auto", token: str = "", progress: bool | None = None) -> Result:
        """How readable the weights are, in a few numbers.

        >>> "distinct_pictures" in run.readability(progress=False)
        True
        """
        _, data, _, data_dir, tokenizer = self._made_of
        fields = {"runs": [self.path], "form": form, "token": token, "data_dir": path_of(data_dir, "data_dir")}
        fields |= {"tokenizer": path_of(tokenizer, "tokenizer"), "data": None if data is None or self._set is not None else data_word(data)}
        with Talk(progress) as talk, called(MEMORY):
            about = json.loads(_core.readability(fields, self._set, talk))
        return Result(about["runs"][0], f"readability of the run {self._place()}")

    def _source(self, data: Any) -> tuple[dict[str, Any], Any]:
        """Other data than the run's, as requests have them."""
        if isinstance(data, Data):
            return {}, data._core
        return {} if data is None else {"data": data_word(data)}, None

    def _place(self) -> str:
        return self.path if self._keep is None else "in a temporary folder"

    def __repr__(self) -> str:
        trained = f", trained on {self.about['trained_on']}" if self.about["trained_on"] else ""
        return f"<glint Run {self._place()}: {self.about['text']}{trained}>"

    def _repr_html_(self) -> str:
        last = self.metrics.rows[-1] if len(self.metrics) else {}
        keys = ("epoch", "step", "train_loss", "test_loss", "test_accuracy")
        rows = [{"": self.about["text"], "trained on": self.about["trained_on"], **{k: last[k] for k in keys if k in last}}]
        return Table(rows, f"run {self._place()}")._repr_html_()


class Runs(Shown, Sequence[Run]):
    """Several runs, one per seed."""

    def __init__(self, runs: list[Run], about: dict[str, Any]) -> None:
        self._runs, self.about = runs, about

    def __getitem__(self, index: Any) -> Any:
        return self._runs[index]

    def __len__(self) -> int:
        return len(self._runs)

    def table(self) -> Table:
        """A row per run."""
        return Table(self.about["runs"], "runs")


def _ends(values: Array, show: int) -> Array:
    """The places of the strongest values above 0, then of those below: what is shown of a form."""
    order = np.argsort(-np.abs(values), kind="stable")
    return np.concatenate([order[values[order] > 0][:show], order[values[order] < 0][:show]])
