"""What cannot be done is refused, with the names that parameters have in Python."""

from __future__ import annotations

import numpy as np
import pytest

import glint

ROWS = np.random.default_rng(0).normal(size=(12, 6))


def refused(where, call, *arguments, **named):
    with pytest.raises(glint.UsageError) as caught:
        call(*arguments, **named)
    error = caught.value
    assert error.where == where, error
    return error


def test_gates_with_options_in_a_sweep(tmp_path):
    error = refused("gate=", glint.sweep, "quick", gate=[glint.gate("sqs", lam=0.1), glint.gate("sqs", lam=0.9)])
    assert "lam=[" in error.expected
    refused("lam=", glint.sweep, "quick", gate=glint.gate("sqs", lam=0.1), lam=[0.1, 0.2])
    (job,) = glint.plan(glint.sweep, "quick", gate=glint.gate("sqs", lam=0.1), out=tmp_path)
    assert job.options["lambda"] == "0.1"
    error = refused("data=", glint.sweep, "quick", data=glint.Vectors(ROWS, np.arange(12) % 2))
    assert "Vectors" not in error.expected and "Images" not in error.expected


def test_images_to_explain(run, vector_run):
    for image in (np.zeros((8, 8)), np.full((28, 28), np.nan), np.full((28, 28), 2.0), np.full((28, 28), 256)):
        refused("image=", run.explain, image=image)
    assert run.explain(image=np.zeros((28, 28), bool)).verdict
    for wrong in (-1, 256):
        refused("X=", run.logits, np.full((1, 28, 28), wrong))
        refused("X=", glint.Images, np.full((4, 3, 3), wrong), [0, 1, 0, 1])
        refused("test=", glint.Images, np.zeros((4, 3, 3), np.uint8), [0, 1, 0, 1], test=(np.full((2, 3, 3), wrong), [0, 1]))
    refused("image=", vector_run.explain, image=np.zeros((1, 5)))


def test_nothing_is_ignored(run, tales):
    refused("split=", run.evaluate, split="foo")
    refused("split=", tales.evaluate, split="foo")
    refused("text=", run.evaluate, text="once upon a time")
    refused("latent=", run.read, "3", sae="nosuch", latent=1)
    refused(run.path, run.read, "3", sae="nosuch")
    refused(run.path, run.read, "3", from_layer=2)
    for vectors in ([], "01", 0, [0], [0.5], [-1], [10**30]):
        refused("vectors=", run.ablate, "3", vectors=vectors)
    layer = glint.GLU(ROWS, ROWS)
    refused("inputs=", layer.read, inputs=ROWS[:0])
    assert layer(ROWS[:0]).shape == (0, 12)
    form = tales.read("happy", form="weights", progress=False)
    for count in (-1, 2**70, None):
        refused("n=", form.near, count)
    for vectors in ("1", [], [0.5], [10**30], [[1]]):
        refused("vectors=", form.passages, "a happy cat", vectors=vectors)
    refused("text=", tales.tokens, None)
    refused("k=", form.top, -1)
    refused("count=", tales.generate, count=10**18)


def test_parameters_have_their_names_of_python(run, tales, vector_run):
    refused("out=", run.read, "nosuch")
    refused("out=", tales.read, "zzzzqqq", progress=False)
    refused("out=", tales.layers, None)
    refused("k=", run.read, "3", k=-1)
    error = refused("vectors=", run.ablate, "3", vectors=[1], top=2)
    assert "`vectors`" in error.what
    refused("out=", run.ablate, "nosuch")
    refused("X=", run.logits, np.zeros((2, 5), np.uint8))
    refused("classes=", run.explain, 0, classes="nosuch")
    for vector in (np.ones(3), np.full(32, np.nan), np.zeros(32)):
        refused("out=", run.read, vector, progress=False)
        refused("out=", run.ablate, vector, progress=False)
    for call in (vector_run.attack, vector_run.page):
        refused("data=", call, progress=False)
    refused("names=", glint.Vectors, ROWS, np.zeros(12, int), names=["one"])
    refused("y=", glint.Vectors, ROWS, np.zeros(12, int))
    refused("tokenizer=", glint.Tokens, ["a story that is told"] * 50, tokenizer=10**7)
    refused("n=", tales.read("happy", form="weights", progress=False).passages, "once upon a time", n=-1)


def test_paths_are_no_parameters():
    with pytest.raises(glint.BadFileError) as caught:
        glint.load("nosuch")
    assert caught.value.where == "nosuch"
    for call in (lambda: glint.load(3), lambda: glint.model(None), lambda: glint.train(3)):
        with pytest.raises(glint.UsageError):
            call()


def test_types_are_errors_of_use(run):
    refused("runs=", glint.compare, run, 3)
    refused("c=", glint.gate, "sqs", c="a")
    refused("gate=", glint.gate, 3)
    refused("gate=", glint.GLU, ROWS, ROWS, gate=3)
    for value in (-1, "two", None, 2.5, 10**30, True):
        refused("threads=", setattr, glint, "threads", value)


def test_layers_that_do_not_fit_are_refused_when_made():
    P = np.ones((3, 12))
    refused("R=", glint.GLU, ROWS, ROWS[:5], P)
    refused("P=", glint.GLU, ROWS, ROWS, P[:, :5])
    refused("bias=", glint.GLU, ROWS, ROWS, P, bias=np.ones(5))
    refused("bias=", glint.GLU, ROWS, ROWS, P, bias=np.ones(0))
    refused("norm=", glint.GLU, ROWS, ROWS, P, norm=np.ones(5))


def test_hints_are_python():
    make = glint.errors._make
    assert make(2, "", "", "", "`gates()` lists them").hint == "`glint.gates.names()` lists them"
    assert make(2, "", "", "", "`train(quick, out=DIR)`").hint == '`glint.train("quick", out=DIR)`'
    assert make(2, "", "", "", "`spectrum(runs/a, token=WORD)`").hint == '`glint.load("runs/a").read(out=WORD)`'
    assert make(2, "", "", "", "`strengths=0,1,2`").hint == "`strengths=[0,1,2]`"
    assert make(2, "", "", "`space=pixels` or `refine=true`", "").expected == '`space="pixels"` or `refine=True`'
