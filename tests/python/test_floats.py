"""Runs on floats, as pictures and as vectors: everything that a run can be asked works, or says why not."""

from __future__ import annotations

import pickle
import subprocess

import numpy as np
import pytest

import glint


@pytest.fixture(scope="module")
def pictures() -> glint.Images:
    X = np.random.default_rng(0).random((60, 8, 8))
    return glint.Images(X, np.arange(60) % 2, names=["even", "odd"])


def test_eigenvectors_are_removed_from_models_of_floats(float_run, vector_run, run):
    for one in (float_run, vector_run):
        assert one.ablate("0", progress=False)["before"]["accuracy"] == one.evaluate()["accuracy"]
    # A model of bytes measured on floats.
    glyphs = glint.data.load("glyphs")
    floats = glint.Images(glyphs.X[:200] / 255, glyphs.y[:200], test=(glyphs.test[0][:50] / 255, glyphs.test[1][:50]))
    bytes_ = glint.Images(glyphs.X[:200], glyphs.y[:200], test=(glyphs.test[0][:50], glyphs.test[1][:50]))
    a, b = (run.ablate("1", form="weights", data=d, progress=False)["all"]["after"] for d in (floats, bytes_))
    # Bytes are read as value / 255: the same to the rounding of that division.
    assert a["accuracy"] == b["accuracy"] and abs(a["loss"] - b["loss"]) < 1e-4 * b["loss"]


def test_a_saved_run_is_read_from_its_weights_without_the_arrays(float_run, vector_run, tmp_path, program):
    for i, trained in enumerate((float_run, vector_run)):
        saved = glint.load(trained.save(tmp_path / str(i)).path)
        read = dict(form="weights", progress=False)
        for out in ("1", "0-1", None, np.eye(16)[3]):
            own, alone = trained.read(out, **read), saved.read(out, **read)
            for a, b in zip(own if out is None else [own], alone if out is None else [alone]):
                np.testing.assert_array_equal(a.values, b.values)
                assert "r2" in a.fidelity and b.fidelity == {} and b.controls == {}
                assert "from the weights alone" in repr(b) and b._repr_html_() and b.figure().svg.startswith("<svg")
            assert "no copy" in alone.json["unmeasured"] and "unmeasured" not in own.json
        back = subprocess.run([program, "spectrum", saved.path, "--form", "weights", "--out", tmp_path / "out"], capture_output=True, text=True)
        assert back.returncode == 0 and "was not measured" in " ".join(back.stdout.split()) and "nan" not in back.stdout, back
        (layer,) = saved.layers("0", **read)["layers"]
        assert layer["units"][0]["eigenvalues"] == list(saved.read("0", **read).values) and layer["fidelity"] == {}
        # What has to be measured says how to go on, in the words of each.
        for call in (saved.read, saved.evaluate, lambda: saved.read("0", form="calibrated")):
            with pytest.raises(glint.UsageError) as e:
                call()
            assert e.value.where == "data=" and "arrays" in e.value.expected and 'run.read(form="weights")' in e.value.hint
        with pytest.raises(glint.Error):
            saved.read("0", data="nosuch", **read)


def test_readability_is_measured_on_the_arrays_of_the_run(float_run, vector_run):
    assert 0 <= float_run.readability(progress=False)["auc"] <= 1
    assert glint.readability(vector_run, progress=False).columns["data"] == ["arrays"]
    with pytest.raises(glint.UsageError, match="different arrays"):
        glint.readability(float_run, vector_run)


def test_pictures_of_floats_keep_their_shape(pictures):
    assert pictures.X.shape == (54, 8, 8) and pictures.test[0].shape == (6, 8, 8)
    again = pickle.loads(pickle.dumps(pictures))
    np.testing.assert_array_equal(again.X, pictures.X)
    assert again.class_names == pictures.class_names


def test_what_nobody_chose_follows_from_the_number_of_samples(pictures, caplog):
    with caplog.at_level("INFO", logger="glint"):
        run = glint.train(data=pictures, layers=1, d_model=16, epochs=1, progress=False)
    assert run.config["batch"] == 4 and run.config["noise_std"] == 0 and "batch=4, noise_std=0" in caplog.text
    for given in ({}, {"batch": 8}, {"epochs": 3, "batch": None}, {"noise_prob": 0.2}):
        chosen = glint.options(data=pictures, **given)
        # With a batch of 8 an epoch has six steps, and 334 epochs are too many.
        wanted = {"batch": 4, "epochs": 200 if given.get("batch") == 8 else 154, "noise_std": 1.0 if "noise_prob" in given else 0.0}
        wanted |= {k: v for k, v in given.items() if v is not None}
        assert {k: chosen[k] for k in wanted} == wanted
    # A recipe is what it says, and so is data that have a name.
    assert glint.options("mnist-4.1", data=pictures)["batch"] == glint.options("mnist-4.1")["batch"]
    assert glint.options(data="glyphs") == glint.options()
    # What somebody asks for is not changed.
    with pytest.raises(glint.UsageError):
        glint.train(data=pictures, layers=1, d_model=16, epochs=1, batch=100, progress=False)
    texts = ["the cat sat on the mat and it was happy there"] * 60
    stories = glint.Tokens(texts, tokenizer=300)
    tales = glint.train(data=stories, layers=1, d_model=16, heads=2, context=16, epochs=1, progress=False)
    assert tales.config["batch"] == 4 and tales.config["epochs"] == 1


def test_small_data_are_learned_without_a_recipe():
    """As many small digits as those of scikit-learn, by nothing but the number of samples."""
    glyphs = glint.data.load("glyphs")
    wide = np.pad(glyphs.X[:1797].astype(np.float32) / 255, ((0, 0), (2, 2), (2, 2)))
    X = wide.reshape(-1, 8, 4, 8, 4).mean(axis=(2, 4))
    run = glint.train(data=glint.Images(X, glyphs.y[:1797]), d_model=64, progress=False)
    assert run.config["batch"] == 128 and run.metrics[-1]["test_accuracy"] > 0.9
