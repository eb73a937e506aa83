"""Language models of other programs, opened and read. The small one and its logits are of tests/golden/make_llama_family.py."""

from __future__ import annotations

import json
import os
import pickle
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest

import glint

FAMILIES = Path(__file__).resolve().parents[1] / "golden" / "families"
TINY = FAMILIES / "tiny" / "tiny.bin"


def stored(path, name):
    raw = path.read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    about = json.loads(raw[8 : 8 + size])[name]
    first, end = about["data_offsets"]
    kind = {"F32": np.float32, "I32": np.int32}[about["dtype"]]
    return np.frombuffer(raw[8 + size + first : 8 + size + end], kind).reshape(about["shape"])


@pytest.fixture(scope="module")
def tiny():
    return glint.load(TINY)


def test_a_model_says_what_it_is(tiny):
    assert tiny.kind == "language" and tiny.foreign and len(tiny.metrics) == 0
    assert tiny.config["d_model"] == 8 and tiny.about["layers"] == 2
    assert "silu" in repr(tiny) and "trained on" not in repr(tiny) and "<table>" in tiny._repr_html_()
    about = glint.model(TINY)
    assert about["family"] == "Llama" and about["format"] == "llama2.c" and "<table>" in about._repr_html_()
    with pytest.raises(glint.UsageError):
        tiny.save("anywhere")
    again = pickle.loads(pickle.dumps(tiny))
    assert again.path == tiny.path


def test_weights_are_widened_when_they_are_asked_for(tiny):
    assert tiny.weights["blk.0.ffn_gate.weight"].shape == (12, 8)
    assert len(tiny.weights) == len(list(tiny.weights)) > 10 and "blk.0.ffn_gate.weight" in repr(tiny.weights)
    with pytest.raises(KeyError):
        tiny.weights["nothing"]
    # As they are in the folder that transformers wrote, and to the last bit what a quantised file stands for.
    folder = glint.weights.StoredWeights(FAMILIES / "llama")
    gguf = glint.weights.StoredWeights(FAMILIES / "llama.gguf")
    np.testing.assert_array_equal(folder["model.layers.0.mlp.gate_proj.weight"], gguf["blk.0.ffn_gate.weight"])
    np.testing.assert_array_equal(
        folder["model.layers.0.mlp.gate_proj.weight"].ravel(), stored(FAMILIES / "llama" / "model.safetensors", "model.layers.0.mlp.gate_proj.weight").ravel()
    )


def test_logits_tokens_and_texts(tiny):
    tokens = stored(FAMILIES / "tiny.safetensors", "tokens")
    expected = stored(FAMILIES / "tiny.safetensors", "logits")
    # The bound of the models' own tests: a relative 1e-4 of the largest logit.
    np.testing.assert_allclose(tiny.logits(tokens), expected, atol=1e-4 * np.abs(expected).max())
    ids = tiny.tokens("a story")
    assert tiny.logits("a story").shape == (len(ids), 288) and "story" in tiny.text(ids)
    story = tiny.generate("a", temperature=0, tokens=5)
    assert story.texts[0].startswith("a") and tiny.generate("a", temperature=0, tokens=5).texts == story.texts
    for wrong in ([10**6], [[1]], "x" * 10**6, object()):
        with pytest.raises(glint.Error):
            tiny.logits(wrong)
    with pytest.raises(glint.Error):
        tiny.text([10**6])


def test_texts_are_measured_as_the_program_does(tiny, program, tmp_path):
    text = "once upon a time there was a cat and a dog\n<|endoftext|>\nthe dog saw the cat\n"
    file = tmp_path / "text.txt"
    file.write_text(text)
    back = subprocess.run([program, "eval", TINY, "--text", file, "--json"], capture_output=True, text=True, check=True)
    theirs = json.loads(back.stdout)
    ours = [tiny.evaluate(text=t) for t in (file, os.fspath(file), text)]
    assert all(o["loss"] == theirs["loss"] for o in ours)
    with pytest.raises(glint.Error):
        tiny.evaluate(text="no-such-file.txt")


def test_reading(tiny, program, tmp_path):
    form = tiny.read("a", layer=1, tokens=500)
    assert form.vectors.shape == (8, 8) and form.fidelity["r2"] <= 1 and form.near(3).columns["along"]
    back = subprocess.run(
        [program, "spectrum", TINY, "--layer", "1", "--token", "a", "--tokens", "500", "--json", "--no-figures", "--out", tmp_path],
        capture_output=True, text=True, check=True,
    )
    np.testing.assert_array_equal(form.values, json.loads(back.stdout)["units"][0]["eigenvalues"])
    assert tiny.read("a - #20", layer=2, tokens=500).name and len(tiny.read("a,#20", tokens=500)) == 2
    number = tiny.tokens("a")[-1]
    assert tiny.read(number, layer=1, tokens=500).values.shape == (8,)
    unit = tiny.read(hidden=3, layer=1, form="weights", tokens=500)
    # One hidden unit of a SiLU layer: half of l r, the weights of the norm folded in; symmetric of rank two.
    layer = tiny.layer(1)
    m = np.outer(layer.L[2].astype(float), layer.R[2].astype(float)) / 2
    q = (m + m.T) / 2
    np.testing.assert_allclose(unit.vectors.T * unit.values @ unit.vectors, q, atol=1e-6 * np.abs(q).max())
    vector = np.random.default_rng(0).normal(size=8)
    assert tiny.read(vector, layer=2, tokens=500).values.shape == (8,)
    for wrong in (dict(hidden=0), dict(hidden=10**6), dict(hidden=True), dict(out="a", hidden=1), dict(out="a", layer=9)):
        with pytest.raises(glint.Error):
            tiny.read(**wrong)


def test_all_layers_all_tokens_and_neurons(tiny, tales):
    for run, token in ((tiny, "a"), (tales, "the")):
        layers = run.layers(token, tokens=500, progress=False)
        count = run.about["layers"]
        assert layers.table().columns["layer"] == list(range(1, count + 1)) and layers.figure().svg.startswith("<svg")
        assert layers["layers"][0]["fidelity"]["weights"]["r2"] == run.read(token, layer=1, tokens=500).json["fidelity"]["weights"]["r2"]
        assert "<table>" in layers._repr_html_()
        neurons = run.neurons()
        assert sum(v for k, v in neurons.table()[0].items() if isinstance(v, int) and k != "layer") == len(run.layer(1).L)
        cosines = neurons.cosines(1)
        layer = run.layer(1)
        assert cosines["up_down"].shape == (len(layer.L),) and np.abs(cosines["gate_up"]).max() <= 1 + 1e-6
        assert neurons.figure().svg.startswith("<svg")
    scan = tiny.scan(layer=1, tokens=500, progress=False)
    assert len(scan) == 288 and set(scan.columns) >= {"token", "participation_rank", "r2"}


def saved_autoencoder(folder, hook, seed, width=8, latents=20):
    """A folder as SAELens writes it."""
    rng = np.random.default_rng(seed)
    arrays = {"W_dec": rng.normal(size=(latents, width)), "W_enc": rng.normal(size=(width, latents)), "b_dec": np.zeros(width), "b_enc": np.zeros(latents)}
    head, data = {}, b""
    for name, array in arrays.items():
        part = array.astype(np.float32).tobytes()
        head[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    text = json.dumps(head).encode()
    folder.mkdir()
    (folder / "sae_weights.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
    (folder / "cfg.json").write_text(json.dumps({"architecture": "standard", "d_in": width, "d_sae": latents, "metadata": {"hook_name": hook}}))
    return folder, arrays["W_dec"].astype(np.float32).astype(float)


def test_latents_and_eigenvectors_of_later_layers(tiny, tmp_path):
    sae, decoder = saved_autoencoder(tmp_path / "out", "blocks.0.hook_mlp_out", 1)
    inputs, _ = saved_autoencoder(tmp_path / "in", "blocks.0.ln2.hook_normalized", 2)
    form = tiny.read(layer=1, sae=sae, latent=17, inputs=inputs, pairs=5, form="weights", tokens=500)
    # The direction is the row of the decoder: of any length, so the eigenvalues agree up to one factor.
    own = tiny.read(decoder[17], layer=1, form="weights", tokens=500)
    factor = form.values[0] / own.values[0]
    np.testing.assert_allclose(form.values, factor * own.values, rtol=1e-10, atol=1e-12 * np.abs(form.values).max())
    assert len(form.pairs) == 5 and set(form.pairs.columns) == {"first", "second", "weight"}
    assert len(tiny.read(layer=1, sae=sae, latent="3,8", tokens=500)) == 2
    below = tiny.read("a", layer=1, from_layer=2, eigenvector="-1", tokens=500)
    assert below.values.shape == (8,)
    scan = tiny.scan(layer=1, sae=sae, tokens=500, progress=False)
    assert len(scan) == 20 and min(scan.columns["participation_rank"]) >= 1
    for wrong in (dict(sae=sae), dict(sae=sae, latent=99), dict(sae=tmp_path, latent=1), dict(out="a", layer=1, from_layer=9), dict(out="a", layer=1, from_layer=2, eigenvector="x")):
        with pytest.raises(glint.Error):
            tiny.read(**wrong)


def test_what_is_no_model_is_refused(tmp_path):
    (tmp_path / "x.gguf").write_bytes(b"GGUF" + bytes(20))
    for path in (tmp_path / "x.gguf", tmp_path / "nothing.bin", tmp_path):
        with pytest.raises(glint.Error):
            glint.load(path)
        with pytest.raises(glint.Error):
            glint.model(path)
    with pytest.raises(glint.Error):
        glint.load(TINY, tokenizer=tmp_path / "x.gguf")


def real_model(name):
    folders = [Path(__file__).resolve().parents[2] / ".." / "shared" / "data" / "llama", Path.home() / ".local/share/glint"]
    folders += [Path(os.environ[v]) for v in ("GLINT_MODELS", "GLINT_DATA") if os.environ.get(v)]
    found = [f / name for f in folders if (f / name).exists()]
    if not found:
        pytest.skip(f"{name} is not here")
    return found[0]


def test_stories15m():
    run = glint.load(real_model("stories15m/stories15M.bin"))
    story = run.generate("Once upon a time", temperature=0, tokens=30).texts[0]
    assert "there was a little girl named Lily. She loved to play outside" in story
    form = run.read("happy", layer=3, tokens=2000)
    assert form.form == "calibrated" and form.fidelity["r2"] > 0.8


@pytest.mark.parametrize("name", ["smollm2", "gemma3-270m"])
def test_real_models_say_what_numpy_computes(name):
    """Losses and greedy text of tests/golden/make_real_models.py, from weights that another package widens."""
    golden = json.loads((Path(__file__).parents[1] / "golden/real_models.json").read_text())
    text = Path("/usr/share/common-licenses", golden["text"])
    want = golden["models"][name]
    run = glint.load(real_model(want["file"]))
    if not text.exists():
        pytest.skip(f"{text} is not here")
    ids = run.tokens(text.read_text())[: want["tokens"]]
    assert ids[:16] == want["first_ids"]
    half, total = want["tokens"] // 2, 0.0
    logits = run.logits(ids[:half])
    for first in range(0, half, 100):  # a hundred rows in double at a time
        rows = logits[first : first + 100].astype(np.float64)
        top = rows.max(axis=1)
        targets = ids[first + 1 : first + 1 + len(rows)]
        total += float(np.sum(np.log(np.exp(rows - top[:, None]).sum(axis=1)) + top - rows[np.arange(len(rows)), targets]))
    assert abs(total / half - want["loss_of_half"]) < 1e-3
    written = run.generate(golden["prompt"], temperature=0, tokens=len(want["written"])).texts[0]
    assert written == run.text(run.tokens(golden["prompt"]) + want["written"])


def test_a_chat_is_put_as_its_template_has_it():
    """Prompts of tests/golden/make_chat.py, which Jinja makes of the template in the file."""
    run = glint.load(real_model("smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"))
    golden = json.loads((Path(__file__).parents[1] / "golden/chat.json").read_text())
    for message, prompt in zip(golden["messages"], golden["smollm2"], strict=True):
        answer = run.generate(message, chat=True, temperature=0, tokens=6)
        ids = run.tokens(prompt)
        assert answer["prompt"] == run.text(ids) and answer["prompt_tokens"] == len(ids)
        assert run.generate(prompt, temperature=0, tokens=6).texts[0] == run.text(ids) + answer.texts[0]
    short = run.generate("Say yes.", chat=True, temperature=0, tokens=200)
    assert short["stories"][0]["ended"]


def test_a_chat_needs_a_template(tiny, tales):
    for model in (tiny, tales):
        with pytest.raises(glint.Error) as e:
            model.generate("hello", chat=True)
        assert "chat" in str(e.value)


def test_experts_of_a_mixture_are_read_one_at_a_time():
    mixture = glint.load(FAMILIES / "mixtral")
    first, second = (mixture.read(hidden=1, expert=e, progress=False) for e in (1, "2"))
    assert not np.array_equal(first.values, second.values)
    assert set(first.near(2).columns["along"]) == {""}  # without a tokenizer tokens have no text
    layer = mixture.layer(1, expert=1)
    stored_gate = mixture.weights["model.layers.0.block_sparse_moe.experts.0.w1.weight"]
    norm = mixture.weights["model.layers.0.post_attention_layernorm.weight"]
    np.testing.assert_allclose(layer.L, stored_gate * norm, rtol=1e-6)
    assert glint.load(FAMILIES / "qwen2_moe").layer(1, expert="shared").L.shape[0] > 0
    for wrong in (0, 99, True, 1.5):
        with pytest.raises(glint.Error) as e:
            mixture.layer(1, expert=wrong)
        assert "expert" in str(e.value)


def test_more_near_tokens_than_there_are(tiny):
    along = tiny.read("cat", form="weights", tokens=100, progress=False).near(10000).columns["along"]
    assert len(along[0].split()) < 10000


def test_a_classifier_of_another_program_becomes_a_run(run, tmp_path):
    weights = Path(run.path, "model.safetensors")
    options = dict(gate=glint.gate("sqs", lam=run.config["lam"]), image=(28, 28), data="glyphs")
    names = [f"digit {i}" for i in range(10)]
    ours = glint.import_model(weights, out=tmp_path / "ours", classes=names, **options)
    X = glint.data.load("glyphs").X[:5]
    np.testing.assert_array_equal(ours.logits(X), run.logits(X))
    assert ours.class_names == names
    for wrong, word in (({"classes": ["a"]}, "classes"), ({"image": 28}, "image"), ({"image": (0, 28)}, "image")):
        with pytest.raises(glint.UsageError) as e:
            glint.import_model(weights, out=tmp_path / "not", **{**options, **wrong})
        assert word in e.value.where
    assert not (tmp_path / "not").exists()


def test_what_is_counted_counts_from_one(tiny, run):
    last = tiny.about["layers"]
    read = dict(form="weights", tokens=100, progress=False)
    np.testing.assert_array_equal(tiny.layer().L, tiny.layer(last).L)
    assert not np.array_equal(tiny.layer(1).L, tiny.layer(last).L)
    np.testing.assert_array_equal(tiny.read("a", **read).values, tiny.read("a", layer=last, **read).values)
    # The layer as arrays is the layer that is read, by the same number.
    unit = np.eye(tiny.layer(1).outputs)[2]
    np.testing.assert_allclose(tiny.layer(1).read(out=unit, form="weights").values, tiny.read(unit, layer=1, **read).values, rtol=1e-5, atol=1e-7)
    calls = [
        lambda layer: tiny.layer(layer),
        lambda layer: tiny.read("a", layer=layer, **read),
        lambda layer: tiny.read("a", layer=1, from_layer=layer, **read),
        lambda layer: tiny.scan(layer=layer, form="weights", tokens=100, progress=False),
        lambda layer: tiny.ablate("a", layer=layer, progress=False),
        lambda layer: tiny.explain(text="a cat", layer=layer, progress=False),
        lambda layer: tiny.neurons(layer=layer),
        lambda layer: tiny.neurons().cosines(layer),
        lambda layer: glint.compare(tiny, tiny, layer=layer, token="a", progress=False),
        lambda layer: run.read("3", layer=layer, progress=False),
        lambda layer: run.ablate("3", layer=layer, progress=False),
    ]
    for call in calls:
        for wrong in (0, -1, last + 1):
            with pytest.raises(glint.UsageError) as e:
                call(wrong)
            assert "layer=" in e.value.where and "from 0" not in e.value.expected


def test_the_layer_stands_in_what_is_shown(tiny):
    read = dict(layer=1, form="weights", tokens=100, progress=False)
    shown = [tiny.read("a", **read), tiny.read("a,cat", **read), tiny.layer(1), tiny.layer(1).read(out=np.ones(8)), tiny.layer(1).read()]
    shown += [tiny.ablate("a", layer=1, progress=False), tiny.scan(layer=1, form="weights", tokens=100, progress=False)]
    shown += [tiny.read("a", **read).passages("a cat and a dog", n=1, vectors=[1])]
    for one in shown:
        assert "layer 1" in repr(one)
    assert "layer 2 of 2" in repr(glint.compare(tiny, tiny, token="a", progress=False))
    mixture = glint.load(FAMILIES / "mixtral")
    assert "layer 2 of 2, expert 1" in repr(mixture.layer(2, expert=1))


def test_passages_are_called_as_they_are_asked_for(tiny):
    form = tiny.read("a", form="weights", tokens=100, progress=False)
    names = [r.name for r in form.passages("a cat and a dog", n=1, vectors=[2, -1])]
    assert names == ["eigenvector 2", "eigenvector 8"]


def test_directions_keep_their_double_precision(tiny, run):
    """In float32 both directions would be the same numbers: the spacing there is 6e-8 of a number."""
    for model, width in ((tiny, 8), (run, 32)):
        u = np.random.default_rng(0).normal(size=width)
        near = u * (1 + 1e-9)
        assert np.array_equal(u.astype(np.float32), near.astype(np.float32))
        first, second = (model.read(d, form="weights", progress=False).values for d in (u, near))
        np.testing.assert_allclose(second, first * (1 + 1e-9), rtol=0, atol=1e-12 * np.abs(first).max())
