"""Runs: trained, opened, asked."""

from __future__ import annotations

import json
import os
import subprocess

import numpy as np
import pytest

import glint


def test_a_run_says_what_it_is(run):
    assert run.kind == "image" and run.config["gate"] == "sqs" and run.config["d_model"] == 32
    assert len(run.metrics) == 2 and set(run.metrics.columns) >= {"step", "test_loss", "test_accuracy"}
    assert "sqs" in repr(run) and "<table>" in run._repr_html_()
    assert run.class_names == [str(i) for i in range(10)]


def test_weights_are_arrays_by_name(run):
    head = run.weights["head.weight"]
    assert head.shape == (10, 32) and head.dtype == np.float32 and not head.flags.writeable
    assert "head.weight" in repr(run.weights)
    with pytest.raises(KeyError):
        run.weights["nothing"]


def test_logits_are_those_of_the_evaluation(run):
    test, labels = glint.data.load("glyphs").test
    result = run.evaluate()
    np.testing.assert_array_equal(run.logits(test), result.logits)
    # Bytes are read as value / 255: the same to the rounding of that division and one product.
    np.testing.assert_allclose(run.logits(test.astype(np.float32) / 255), result.logits, rtol=1e-4, atol=1e-5)
    assert result["accuracy"] == np.mean(result.logits.argmax(axis=1) == labels)
    assert result.confusion.sum() == len(labels)
    assert glint.evaluate(run)["accuracy"] == result["accuracy"]


def test_the_layer_of_a_run_is_the_model(run):
    layer = run.layer()
    test, _ = glint.data.load("glyphs").test
    x = (test[:20].reshape(20, -1) / 255).astype(np.float32) @ run.weights["embed.weight"].T
    logits = layer(x) @ run.weights["head.weight"].T
    # Sums of some hundred products in float: a relative 1e-4 of the largest is far above their rounding.
    np.testing.assert_allclose(logits, run.logits(test[:20]), atol=1e-4 * np.abs(logits).max())


def test_opened_again_and_saved_elsewhere(run, tmp_path):
    copy = run.save(tmp_path / "copy")
    assert copy.path != run.path
    np.testing.assert_array_equal(copy.weights["head.weight"], run.weights["head.weight"])
    assert glint.load(os.fspath(tmp_path / "copy")).about["text"] == run.about["text"]
    with pytest.raises(glint.UsageError):
        run.save(tmp_path / "copy")


class Stopped(Exception):
    pass


def stopped(**arguments):
    def stop(_):
        raise Stopped

    with pytest.raises(Stopped):
        glint.train(progress=False, on_step=stop, **arguments)
    with pytest.raises(glint.BadFileError, match="not finished") as e:
        glint.load(arguments["out"])
    return e.value.hint.strip("`")


def test_a_run_that_was_interrupted_says_what_goes_on(tmp_path):
    call = stopped(recipe="quick", epochs=1, d_model=16, out=tmp_path / "named")
    assert eval(call).metrics and glint.load(tmp_path / "named").kind == "image"
    X = np.random.default_rng(0).random((60, 8, 8))
    data = glint.Images(X, np.arange(60) % 2)
    call = stopped(data=data, layers=1, d_model=16, epochs=1, batch=20, out=tmp_path / "arrays")
    assert eval(call, {"glint": glint, "ARRAYS": data}).metrics and glint.load(tmp_path / "arrays").kind == "image"


def test_temporary_runs_go_away():
    run = glint.train("quick", epochs=1, d_model=16, progress=False)
    path = run.path
    assert os.path.exists(path)
    del run
    assert not os.path.exists(path)


def test_several_seeds(tmp_path):
    runs = glint.train("quick", epochs=1, d_model=16, seeds=range(2), out=tmp_path, progress=False)
    assert len(runs) == 2 and runs[1].config["seed"] == 1
    assert runs.table().columns["seed"] == [0, 1] and "mean" in runs.about
    listed = glint.runs(tmp_path, sort="seed")
    assert listed.columns["state"] == ["finished", "finished"] and listed.columns["seed"] == [0, 1]
    assert listed.figure().svg.startswith("<svg") and len(listed.open()) == 2
    assert len(glint.runs(tmp_path, where="seed=1")) == 1


def test_callbacks_and_their_errors(tmp_path):
    steps, evaluations = [], []
    glint.train("quick", epochs=1, d_model=16, progress=False, on_step=steps.append, on_eval=evaluations.append)
    assert [s["step"] for s in steps] == list(range(1, steps[-1]["steps"] + 1))
    assert evaluations[-1]["step"] == steps[-1]["step"] and evaluations[-1]["test_loss"] > 0

    class Mine(Exception):
        pass

    def raising(_):
        raise Mine("from the callback")

    with pytest.raises(Mine, match="from the callback"):
        glint.train("quick", epochs=1, d_model=16, progress=False, on_step=raising, out=tmp_path / "stopped")
    # It was saved, and goes on.
    assert glint.runs(tmp_path).columns["state"] == ["stopped"]
    assert glint.train("quick", epochs=1, d_model=16, progress=False, out=tmp_path / "stopped").kind == "image"


def test_a_callback_may_use_glint():
    seen = []

    def look(row):
        seen.append(glint.gate("relu")(np.ones(200_000, dtype=np.float32)).sum())

    glint.train("quick", epochs=1, d_model=16, progress=False, on_eval=look)
    assert seen and all(s == 200_000 for s in seen)


def test_unknown_options_and_values_are_named_as_in_python():
    with pytest.raises(glint.UsageError) as caught:
        glint.train("quick", d_modle=3)
    assert "d_modle" in caught.value.what and "d_model" in caught.value.expected
    with pytest.raises(glint.UsageError) as caught:
        glint.train("quick", epochs=-1)
    assert caught.value.where == "epochs="
    with pytest.raises(glint.UsageError):
        glint.train("quick", gate=object())
    with pytest.raises(glint.BadFileError):
        glint.load("nothing/here")
    with pytest.raises(glint.UsageError):
        glint.train("no-such-recipe")


def test_same_bytes_as_the_program(program, tmp_path, run):
    def ask(*words):
        back = subprocess.run([program, *words], capture_output=True, text=True, timeout=600, cwd=tmp_path)
        assert back.returncode == 0, back.stderr
        return back.stdout

    ask("train", "quick", "--epochs", "2", "--d-model", "32", "--seed", "0", "--out", "by-program", "--quiet")
    ours = open(os.path.join(run.path, "model.safetensors"), "rb").read()
    assert ours == open(tmp_path / "by-program" / "model.safetensors", "rb").read()

    def same(mine, theirs, *but):
        for key in ("run", "spectra", "figures", "figure", "out", "directory", *but):
            mine.pop(key, None), theirs.pop(key, None)
        assert mine == theirs

    spectrum = json.loads(ask("spectrum", run.path, "--unit", "3", "--json", "--out", "files"))
    same(dict(run.read("3").json), spectrum)
    same(dict(run.explain(7).json), json.loads(ask("explain", run.path, "--index", "7", "--json", "--no-figures")))
    same(dict(run.evaluate().json), json.loads(ask("eval", run.path, "--json")), "seconds")
    same(dict(run.ablate("3", vectors=[1]).json), json.loads(ask("ablate", run.path, "--unit", "3", "--json")))


def test_export_page_and_readability(run, other, tmp_path):
    arrays = run.export(npy=tmp_path / "arrays")
    assert any(np.load(tmp_path / "arrays" / a["file"]).size for a in arrays["exports"][0]["arrays"])
    page = run.page(other, images=20)
    assert page.html.startswith("<!") and page.save(tmp_path / "e.html").stat().st_size == len(page.html.encode())
    frame = page._repr_html_()
    assert frame.startswith("<iframe") and 'srcdoc="' in frame and "<!doctype" not in frame.lower().split("srcdoc")[1][:40]
    assert glint.readability(run, other).columns["gate"] == ["sqs", "identity"]
    assert 0 <= run.readability()["auc"] <= 1


def test_compare_and_attack(run, other):
    same = glint.compare(run, run, show=3)
    first = same.matrices["0"]
    np.testing.assert_allclose(np.diag(first), 1, atol=1e-9)
    assert "<table>" in same._repr_html_()
    assert glint.compare(run, other, show=3).matrices["0"].shape == (6, 6)
    attack = run.attack("3", images=50, strengths=[0, 4])
    assert attack.masks.shape == (1, 2, 3, 28, 28) and len(attack.table()) == 2
    np.testing.assert_allclose(np.linalg.norm(attack.masks[0, 0, 0]), 1, rtol=1e-5)


def test_sweep(tmp_path):
    result = glint.sweep(
        "quick", gate=["sqs", "identity"], lam=[0.1, 0.5], epochs=1, d_model=16, seeds=range(2), out=tmp_path / "s", progress=False
    )
    table = result.table()
    assert len(table) == 3  # lambda means nothing for the identity
    assert set(table.keys) >= {"gate", "lam"} and any(k.startswith("agreement") for k in table.keys)
    assert len(result.runs) == 6 and result.answer
    assert "sweep" in result.page().html.lower()


def test_stories(tales):
    assert tales.kind == "language"
    story = tales.generate("once upon a time", seed=3, tokens=12)
    assert story.texts[0].startswith("once upon a time") and str(story) == story.texts[0]
    assert tales.generate("once upon a time", seed=3, tokens=12).texts == story.texts
    logits = tales.logits("once upon a time")
    tokens = tales.tokens("once upon a time")
    assert logits.shape == (len(tokens), tales.about["model"]["vocab"])
    np.testing.assert_array_equal(tales.logits(tokens), logits)
    assert tales.evaluate()["perplexity"] > 1
    with pytest.raises(glint.UsageError):
        tales.logits(np.zeros((2, 2)))
    with pytest.raises(glint.UsageError):
        tales.logits([10**9])
    with pytest.raises(glint.Error):
        tales.explain(0)


def test_training_on_arrays(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1200, 2)).astype(np.float32)
    y = (np.square(x).sum(axis=1) > 1.4).astype(int)
    data = glint.Vectors(x, y, names=["inside", "outside"])
    run = glint.train(data=data, d_model=16, batch=50, epochs=20, noise_prob=0.0, bias=True, out=tmp_path / "v", progress=False)
    assert run.metrics[-1]["test_accuracy"] > 0.9 and run.class_names == ["inside", "outside"]
    form = run.read("outside")
    assert form.fidelity["r2"] > 0.5 and form.vectors.shape[1] == 17
    assert run.explain(0).accounts.columns["name"]
    again = glint.load(tmp_path / "v", data=data)
    np.testing.assert_array_equal(again.read("outside").values, form.values)
    images = rng.integers(0, 256, size=(300, 6, 5), dtype=np.uint8)
    labels = (images[:, 0].mean(axis=1) > 127).astype(np.uint8)
    run = glint.train(data=glint.Images(images, labels), d_model=16, batch=30, epochs=3, progress=False)
    assert run.read("1").pictures.shape[1:] == (6, 5)


def test_training_on_texts():
    texts = [f"the {a} {b} was happy and {c} the {d}" for a in ("old", "big", "red") for b in ("cat", "dog") for c in ("saw", "ate") for d in ("fish", "bird", "mat")] * 4
    stories = glint.Tokens(texts, tokenizer=300, valid_share=0.1)
    run = glint.train(data=stories, layers=1, d_model=16, heads=2, context=32, epochs=1, batch=16, progress=False)
    assert run.kind == "language" and run.generate("the", tokens=3).texts
    assert run.evaluate()["loss"] > 0


def test_data_sets_as_arrays():
    glyphs = glint.data.load("glyphs")
    assert glyphs.X.shape == (10000, 28, 28) and glyphs.y.max() == 9 and not glyphs.X.flags.writeable
    assert "glyphs" in glint.data.known().columns["name"]
    view = glyphs.X[5:]
    del glyphs
    assert view.sum() > 0  # the array keeps its data alive
    with pytest.raises(glint.UsageError):
        glint.data.load("no-such-set")


@pytest.mark.parametrize(
    "make",
    [
        lambda: glint.Vectors(np.zeros((3, 2)), [0, 1]),
        lambda: glint.Vectors(np.zeros(3), [0, 1, 0]),
        lambda: glint.Vectors(np.zeros((4, 2)), [0.5, 1, 0, 1]),
        lambda: glint.Vectors(np.zeros((4, 2)), [-1, 1, 0, 1]),
        lambda: glint.Images(np.zeros((4, 2)), [0, 1, 0, 1]),
        lambda: glint.Images(np.zeros((4, 2, 2)), [0, 1, 0, 1], names=["one"]),
        lambda: glint.Images(np.zeros((4, 2, 2), np.uint8), [0, 1, 0, 1], test=(np.zeros((1, 3, 3), np.uint8), [0])),
        lambda: glint.Vectors("text", [0]),
        lambda: glint.Tokens("one text"),
        lambda: glint.Tokens([1, 2]),
        lambda: glint.train(data=3),
    ],
)
def test_bad_data_are_refused(make):
    with pytest.raises(glint.UsageError):
        make()


def test_data_that_are_no_numbers_are_an_arithmetic_error():
    with pytest.raises(ArithmeticError):
        glint.Vectors(np.full((4, 2), np.nan), [0, 1, 0, 1])
