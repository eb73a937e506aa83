"""Whole models: runs of glint as modules of PyTorch and back, and GLU modules that are read."""

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

import glint  # noqa: E402
import glint.torch as gt  # noqa: E402

pytestmark = pytest.mark.full

FAMILIES = Path(__file__).resolve().parents[1] / "golden" / "families"


def close(a, b):
    """Logits computed in float32 in two orders: some hundred roundings of the largest."""
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    assert a.shape == b.shape
    np.testing.assert_allclose(a, b, rtol=0, atol=200 * 2.0**-24 * np.abs(b).max())


@pytest.fixture(scope="module", params=[{}, {"norm": "rms", "residual": True, "bias": True, "gate": "silu", "layers": 2}], ids=["plain", "all"])
def run(request, tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "image"
    return glint.train("quick", epochs=1, d_model=32, out=str(out), progress=False, **request.param)


@pytest.fixture(scope="module")
def pixels():
    return np.random.default_rng(0).random((20, 784), dtype=np.float32)


def test_to_module_and_back(run, pixels, tmp_path):
    module = gt.to_module(run)
    with torch.no_grad():
        close(module(torch.from_numpy(pixels)), run.logits(pixels))
    back = gt.from_module(module, tmp_path / "back")
    close(back.logits(pixels), run.logits(pixels))
    for name in run.weights:
        assert np.array_equal(back.weights[name], run.weights[name])


def test_a_module_that_was_trained_on(run, pixels, tmp_path):
    module = gt.to_module(run).train()
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    labels = torch.arange(20) % 10
    nn.functional.cross_entropy(module(torch.from_numpy(pixels)), labels).backward()
    optimizer.step()
    back = gt.from_module(module, tmp_path / "back")
    with torch.no_grad():
        close(back.logits(pixels), module(torch.from_numpy(pixels)))
    assert not np.array_equal(back.logits(pixels), run.logits(pixels))


def test_a_model_of_ones_own(pixels, tmp_path):
    torch.manual_seed(0)
    gate = gt.SQS(lam=0.25)
    model = nn.Sequential(nn.Flatten(), nn.Linear(784, 12), gt.GLU(12, 16, gate=gate), gt.GLU(16, 16, gate=gate, bias=True), nn.Linear(16, 10))
    run = gt.from_module(model, tmp_path / "own", image=(28, 28))
    with torch.no_grad():
        close(run.logits(pixels), model(torch.from_numpy(pixels)))
    assert run.config["lam"] == 0.25 and run.config["layers"] == 2


def test_models_of_another_form(tmp_path):
    for model in (
        nn.Linear(3, 3),
        nn.Sequential(nn.Linear(4, 4), gt.GLU(4, 4, 4), nn.Linear(4, 2)),
        nn.Sequential(nn.Linear(4, 4), gt.GLU(4, 4, gate="relu"), gt.GLU(4, 4), nn.Linear(4, 2)),
    ):
        with pytest.raises(glint.UsageError, match="another form"):
            gt.from_module(model, tmp_path / "no")


@pytest.fixture(scope="module")
def tales(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "tales"
    return glint.train("tales", epochs=1, d_model=32, heads=4, layers=2, out=str(out), progress=False)


def test_models_of_other_programs_are_refused():
    with pytest.raises(glint.UsageError, match="another program") as e:
        gt.to_module(glint.load(FAMILIES / "tiny" / "tiny.bin"))
    assert "export(hf=" in e.value.hint


def test_language_models(tales, tmp_path):
    ids = np.arange(40) % 60
    module = gt.to_module(tales)
    with torch.no_grad():
        close(module(torch.from_numpy(ids)[None])[0], tales.logits(ids))
    back = gt.from_module(module, tmp_path / "back")
    assert np.array_equal(back.logits(ids), tales.logits(ids))
    stories = [str(r.generate("once upon a time", seed=0)) for r in (back, tales)]
    assert stories[0] == stories[1]


# ---- read ------------------------------------------------------------------------------------------------------


def quadratic(parts, u, gain):
    """Q = (L' diag(q) R + R' diag(q) L) / 2 in double."""
    q = gain * (parts.P.double().T @ u.double())
    half = parts.L.double().T @ (q[:, None] * parts.R.double())
    return (half + half.T) / 2


@pytest.mark.parametrize("gate,gain", [("sqs", 1.0), ("identity", 1.0), ("silu", 0.5)])
def test_read_from_the_weights_alone(gate, gain):
    torch.manual_seed(0)
    mlp = gt.GLU(12, 20, 6, gate=gate)
    u = torch.randn(6)
    form = gt.read(mlp, out=u)
    wanted = torch.linalg.eigvalsh(quadratic(gt.parts_of(mlp), u, gain)).numpy()
    # eigenvalues in double of weights in float32
    np.testing.assert_allclose(np.sort(form.values), np.sort(wanted), rtol=0, atol=1e-9 * np.abs(wanted).max())


def test_read_with_a_norm_and_inputs():
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.GemmaConfig(
        vocab_size=64, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1, head_dim=8
    )
    model = transformers.GemmaForCausalLM(config).eval()
    layer = model.model.layers[1]
    with torch.no_grad():
        layer.post_attention_layernorm.weight.normal_(0, 0.3)
        for p in layer.mlp.parameters():
            p.mul_(10)
    x = gt.capture(model, 1, torch.randint(0, 64, (30, 16)))
    u = model.lm_head.weight[5]
    form = gt.read(layer.mlp, out=u, inputs=x, norm=layer.post_attention_layernorm)
    assert form.vectors.shape[-1] == 16 and form.fidelity
    plain = gt.read(layer.mlp, out=u, norm=layer.post_attention_layernorm)
    g = 1 + layer.post_attention_layernorm.weight.detach().double()
    wanted = torch.linalg.eigvalsh(g[:, None] * quadratic(gt.parts_of(layer.mlp), u.detach(), 0.5) * g).numpy()
    np.testing.assert_allclose(np.sort(plain.values), np.sort(wanted), rtol=0, atol=1e-6 * np.abs(wanted).max())
    strongest = gt.read(layer.mlp, out=u, norm=layer.post_attention_layernorm, k=3)
    np.testing.assert_allclose(
        np.sort(np.abs(strongest.values))[-3:], np.sort(np.abs(plain.values))[-3:], rtol=1e-5
    )


def test_read_refuses():
    mlp = gt.GLU(12, 20, 6)
    for arguments in ({"out": torch.randn(5)}, {"out": torch.randn(6), "inputs": torch.randn(9, 11)}, {"out": torch.randn(6), "norm": torch.ones(3)}):
        with pytest.raises(glint.UsageError):
            gt.read(mlp, **arguments)
