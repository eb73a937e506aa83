"""No argument can end the interpreter: every function with anything at all gives a result or an exception."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import glint
from glint import _core

# Exceptions that a caller can be expected to meet. Anything else, RuntimeError above all, is a bug of ours.
FINE = (glint.Error, TypeError, ValueError, OverflowError, OSError, MemoryError)
QUICK = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)

arrays = st.one_of(
    hnp.arrays(
        dtype=st.one_of(hnp.floating_dtypes(), hnp.integer_dtypes(), hnp.boolean_dtypes(), hnp.complex_number_dtypes()),
        shape=hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=7),
    ),
    hnp.arrays(dtype=np.float32, shape=hnp.array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=9)),
)
views = arrays.flatmap(
    lambda a: st.sampled_from([a, a.T, a[::-1] if a.ndim else a, a[..., ::2] if a.ndim else a, np.asfortranarray(a)])
)
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.binary(max_size=4), st.just(object())
)
anything = st.one_of(
    scalars, views, st.lists(scalars, max_size=4), st.dictionaries(st.text(max_size=3), scalars, max_size=2)
)


def survives(call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except FINE:
        pass


@QUICK
@given(st.sampled_from(glint.gates.names()), anything, anything, anything, anything)
def test_gates(name, a, b, c, d):
    gate = glint.gate(name)
    survives(gate, a)
    survives(gate, a, out=b)
    survives(gate.grad, a, out=b)
    survives(gate.glu, a, b, out=c)
    survives(gate.glu_backward, a, b, c, dl=d, dr=d)
    survives(glint.gate, a, c=b, lam=c, p=d)


@QUICK
@given(anything, anything, anything, anything, anything, anything, anything)
def test_layers(L, R, P, bias, norm, out, inputs):
    def use():
        layer = glint.GLU(L, R, P, bias=bias, norm=norm)
        survives(layer.read, out=out, inputs=inputs, k=2)
        survives(layer.read)
        survives(layer, inputs)

    survives(use)


@QUICK
@given(st.integers(1, 6), st.integers(1, 6), views, views, st.sampled_from(["auto", "weights", "scaled", "calibrated", "x"]))
def test_layers_that_nearly_fit(d, h, out, inputs, form):
    rng = np.random.default_rng(d * 10 + h)
    layer = glint.GLU(rng.normal(size=(h, d)), rng.normal(size=(h, d)), gate="silu", norm=True)
    survives(layer.read, out=out, inputs=inputs, form=form)
    survives(layer.read, out=rng.normal(size=h), inputs=inputs, form=form, k=1)


@QUICK
@given(anything, anything, anything, anything)
def test_data(x, y, test, names):
    survives(glint.Images, x, y, test=test, names=names if isinstance(names, list) else None)
    survives(glint.Vectors, x, y, test=test)
    survives(glint.Vectors, np.ones((4, 2), np.float32), y)
    survives(glint.data.load, str(x)[:20])


def core_functions():
    for name in dir(_core):
        thing = getattr(_core, name)
        if callable(thing) and not inspect.isclass(thing) and not name.startswith("_"):
            if name not in ("after_fork_in_child", "set_thread_count"):
                yield name


# Every name that a request of the library knows, so that strange values reach the code behind it.
NAMES = (
    "run runs recipe changes seeds out force checkpoint_every data_dir every_step lists one_at_a_time tolerance what quick "
    "data stories judge_only layer form unit via token direction hidden top show near refine index image split classes "
    "as_is remove scale save terms images strengths seed control space prompt count tokens temperature top_k top_p worst "
    "precision text other vectors limit npy hf folders where sort L R P bias_left bias_right norm_weights norm_bias norm_centred norm eps gate "
    "sae latent side pairs from_layer eigenvector measured_tokens path position against layers tokenizer texts values passage_tokens inputs names k gain shift slope power size name height width classes class_names"
).split()


@pytest.mark.parametrize("name", list(core_functions()))
def test_the_module_itself(name, tmp_path, monkeypatch):
    """The functions below the package, which check everything once more."""
    monkeypatch.chdir(tmp_path)
    function = getattr(_core, name)
    fields = st.dictionaries(st.sampled_from(NAMES), anything, max_size=5)
    # A recipe of its own, so that no example trains for long; runs that are not there.
    quick = fields.map(lambda f: {**f, "recipe": "no-such-recipe", "what": "nothing", "tales": 0, "out": "o"})

    @settings(parent=QUICK, max_examples=25)
    @given(st.lists(st.one_of(quick, anything), max_size=5))
    def call(args):
        survives(function, *args)

    call()


@pytest.mark.parametrize("name", [n for n in dir(_core.OpenRun) if not n.startswith("_") and n not in ("close", "closed")])
def test_an_open_run_itself(name, run, tales, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fields = st.dictionaries(st.sampled_from(NAMES), anything, max_size=5)

    @settings(parent=QUICK, max_examples=15)
    @given(st.lists(st.one_of(fields.map(lambda f: {**f, "out": "o", "images": 5}), anything), max_size=4))
    def call(args):
        for model in (run, tales):
            survives(getattr(model._open, name), *args)

    call()


@QUICK
@given(anything, anything, anything)
def test_runs(run, a, b, c):
    survives(run.logits, a)
    survives(run.tokens, a)
    survives(run.explain, a, form=b if isinstance(b, str) else "auto")
    survives(run.explain, image=a if not isinstance(a, (str, bytes)) else None)
    survives(run.explain, text=a, position=b, token=c)
    survives(run.save, None)


@settings(parent=QUICK, max_examples=15)
@given(anything, anything, anything)
def test_language_models(tales, a, b, c):
    survives(tales.explain, text="once upon", position=a, token=b, layer=c)
    survives(tales.explain, text=a if isinstance(a, str) else "once", against=b, form=c)
    survives(tales.read("happy", form="weights").passages, a, n=b, vectors=c if isinstance(c, list) else None)


@settings(parent=QUICK, max_examples=15)
@given(anything, anything, anything)
def test_readings_of_runs(run, out, form, k):
    survives(run.read, out, form=form, k=k)
    survives(run.ablate, out, vectors=k if isinstance(k, list) else None, scale=form)
    survives(run.attack, out, show=k, strengths=form if isinstance(form, list) else [1.0], images=5)


METHODS = [n for n, thing in vars(glint.Run).items() if inspect.isfunction(thing) and not n.startswith("_") and n != "close"]


@pytest.mark.parametrize("name", METHODS)
def test_every_method_of_runs_on_floats(name, float_run, vector_run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    @settings(parent=QUICK, max_examples=5)
    @given(anything)
    def call(a):
        for run in (float_run, vector_run):
            method = getattr(run, name)
            survives(method)
            for first in ("0", 0, a):
                survives(method, first)
                if "data" in inspect.signature(method).parameters:
                    survives(method, first, data=float_run._made_of[1])

    call()


@settings(parent=QUICK, max_examples=25)
@given(st.dictionaries(st.sampled_from(["gate", "lam", "d_model", "epochs", "batch", "norm", "nonsense"]), anything, min_size=1))
def test_options(options):
    survives(glint.options, "quick", **options)


def test_threads_take_only_numbers():
    before = glint.threads
    for value in (-1, 1025, "two", None, 2.5, 10**30):
        survives(setattr, glint, "threads", value)
        assert glint.threads == before or 1 <= glint.threads <= 1024
    glint.threads = before
