"""The GLU layers of other libraries' models: taken apart rightly, or refused; and what they see."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

import glint  # noqa: E402
import glint.torch as gt  # noqa: E402
from glint.torch._reading import norm_weights  # noqa: E402

pytestmark = pytest.mark.full

SIZES = dict(vocab_size=64, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2)


def tiny(family, **more):
    """A tiny model with random weights; norms and biases get random weights too, which fresh models do not have."""
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    if family in ("Gemma", "Gemma2", "Gemma3Text"):
        more.setdefault("head_dim", 8)
    if family == "Phi3":
        more.setdefault("pad_token_id", 0)
    name = {"Gemma3Text": "Gemma3"}.get(family, family)
    config = getattr(transformers, family + "Config")(**SIZES, num_key_value_heads=1, **more)
    model = getattr(transformers, name + "ForCausalLM")(config).eval()
    with torch.no_grad():
        for key, p in model.named_parameters():
            if "norm" in key or key.endswith("bias"):
                p.normal_(0.5, 0.3)
    return model


HUGGING_FACE = [
    ("Llama", {}, "silu"),
    ("Llama", {"mlp_bias": True, "hidden_act": "gelu"}, "gelu"),
    ("Qwen2", {}, "silu"),
    ("Gemma", {}, "gelu-tanh"),
    ("Gemma2", {}, "gelu-tanh"),
    ("Phi3", {}, "silu"),
    ("Mistral", {"hidden_act": "relu"}, "relu"),
]
hugging_face = pytest.mark.parametrize("family,more,gate", HUGGING_FACE, ids=[f[0] + "-" + f[2] for f in HUGGING_FACE])


@hugging_face
def test_hugging_face(family, more, gate):
    model = tiny(family, **more)
    glus = list(gt.find_glus(model))
    assert [name for name, _ in glus] == ["model.layers.0.mlp", "model.layers.1.mlp"]
    for _, mlp in glus:
        parts = gt.parts_of(mlp)
        assert parts.gate.name == gate
        x = torch.randn(5, 16)
        assert torch.allclose(parts(x), mlp(x), atol=1e-6)
        assert parts.P.data_ptr() == mlp.down_proj.weight.data_ptr()
    first = glus[0][1]
    own = first.gate_up_proj.weight[:24] if hasattr(first, "gate_up_proj") else first.gate_proj.weight
    assert torch.equal(gt.parts_of(first).L, own)


class Lens(nn.Module):
    """TransformerLens's GatedMLP: matrices from the right, b_in after the product."""

    def __init__(self, act_fn):
        super().__init__()
        self.W_gate, self.W_in = nn.Parameter(torch.randn(6, 10)), nn.Parameter(torch.randn(6, 10))
        self.W_out = nn.Parameter(torch.randn(10, 6))
        self.b_in, self.b_out = nn.Parameter(torch.randn(10)), nn.Parameter(torch.randn(6))
        self.act_fn = act_fn

    def forward(self, x):
        return (self.act_fn(x @ self.W_gate) * (x @ self.W_in) + self.b_in) @ self.W_out + self.b_out


class Meta(nn.Module):
    """The names of Meta's code, which has its gate in forward."""

    def __init__(self, gate):
        super().__init__()
        self.w1, self.w2, self.w3 = nn.Linear(6, 10, bias=False), nn.Linear(10, 6, bias=False), nn.Linear(6, 10, bias=False)
        self.function = gate

    def forward(self, x):
        return self.w2(self.function(self.w1(x)) * self.w3(x))


@pytest.mark.parametrize("name,function", [("silu", F.silu), ("gelu", F.gelu), ("relu", torch.relu)])
def test_transformer_lens(name, function):
    torch.manual_seed(0)
    module = Lens(function)
    parts = gt.parts_of(module)
    x = torch.randn(5, 6)
    assert parts.gate.name == name and parts.L.shape == (10, 6) and parts.P.shape == (6, 10)
    assert torch.allclose(parts(x), module(x), atol=1e-4)
    # b_in is no bias of the layer: it is a constant of the output
    assert parts.bias_l is None and parts.bias_r is None
    assert torch.allclose(parts.constant, module.b_in @ module.W_out + module.b_out, atol=1e-5)


class Bridge(Lens):
    """TransformerLens 4: the biases are those of the products."""

    def __init__(self, act_fn):
        super().__init__(act_fn)
        self.b_gate = nn.Parameter(torch.randn(10))

    def forward(self, x):
        l, r = x @ self.W_gate + self.b_gate, x @ self.W_in + self.b_in
        return (self.act_fn(l) * r) @ self.W_out + self.b_out


class Wrapper(nn.Module):
    """A module of the bridge of TransformerLens 4: it holds the one that it stands for, and shows its weights by other names."""

    def __init__(self, mlp):
        super().__init__()
        self._original_component = mlp

    @property
    def W_gate(self):
        return self._original_component.gate_proj.weight.T

    @property
    def W_in(self):
        return self._original_component.up_proj.weight.T

    @property
    def W_out(self):
        return self._original_component.down_proj.weight.T

    def forward(self, x):
        return self._original_component(x)


def test_a_glu_in_a_wrapper_is_listed_once():
    model = tiny("Llama")
    rows = [[1, 2, 3, 4], [9, 10]]
    wanted = [gt.capture(model, i, rows) for i in (0, 1)]
    for layer in model.model.layers:
        layer.mlp = Wrapper(layer.mlp)
    assert [name for name, _ in gt.find_glus(model)] == ["model.layers.0.mlp", "model.layers.1.mlp"]
    for i, x in enumerate(wanted):
        assert torch.equal(gt.capture(model, i, rows), x)
    assert not torch.equal(*wanted)
    # Without numbers there is no place to tell them apart by.
    with torch.device("meta"):
        assert len(list(gt.find_glus(nn.Sequential(gt.GLU(4, 4, 4), gt.GLU(4, 4, 4))))) == 2


def test_biases_of_transformer_lens_4():
    torch.manual_seed(0)
    module = Bridge(F.silu)
    parts = gt.parts_of(module)
    assert torch.equal(parts.bias_l, module.b_gate) and torch.equal(parts.bias_r, module.b_in)
    assert torch.equal(parts.constant, module.b_out)


def test_transformer_lens_itself():
    lens = pytest.importorskip("transformer_lens")
    try:
        lens.HookedTransformer
    except ImportError:
        pytest.skip("TransformerLens 4 wraps models of Hugging Face")
    config = lens.HookedTransformerConfig(
        n_layers=1, d_model=16, d_mlp=24, n_ctx=8, n_heads=2, d_head=8, d_vocab=32, act_fn="silu", gated_mlp=True, seed=0
    )
    model = lens.HookedTransformer(config)
    with torch.no_grad():
        model.blocks[0].mlp.b_in.normal_()
    parts = gt.parts_of(model.blocks[0].mlp)
    assert parts.gate.name == "silu" and parts.L.shape == (24, 16)
    assert gt.capture(model, 0, [[1, 2, 3], [4, 5]]).shape == (5, 16)


def test_names_of_meta():
    torch.manual_seed(0)
    for name, function in (("silu", F.silu), ("gelu", F.gelu), ("gelu-tanh", gt.Gate("gelu-tanh")), ("sqs", gt.SQS())):
        assert gt.parts_of(Meta(function)).gate.name == name  # found by what the module computes
    # What is asked for is not believed either.
    with pytest.raises(glint.UsageError, match="computes something else"):
        gt.parts_of(Meta(F.gelu), gate="silu")
    with pytest.raises(glint.UsageError, match="does not say its gate, and gelu and gelu-tanh fit"):
        gt.parts_of(Meta(F.gelu).to(torch.bfloat16))
    assert gt.parts_of(Meta(F.gelu).to(torch.bfloat16), gate="gelu").gate.name == "gelu"


def test_our_own():
    for bias in (False, True):
        for out in (None, 4):
            glu = gt.GLU(6, 8, out, gate=gt.SQS(lam=0.25), bias=bias)
            parts = gt.parts_of(glu)
            assert parts.gate.lam == 0.25
            x = torch.randn(3, 6)
            assert torch.allclose(parts(x), glu(x), atol=1e-6)


def test_what_is_no_glu():
    for module in (nn.Linear(3, 3), nn.Sequential()):
        with pytest.raises(glint.UsageError, match="no GLU"):
            gt.parts_of(module)
    odd = Lens(lambda h: h * torch.sigmoid(1.702 * h))  # the quick GELU of CLIP
    with pytest.raises(glint.UsageError, match="none of glint's gates"):
        gt.parts_of(odd)


class Swapped(Meta):
    """The halves the other way round than their names say."""

    def forward(self, x):
        return self.w2(self.function(self.w3(x)) * self.w1(x))


def test_a_module_that_belies_its_names():
    with pytest.raises(glint.UsageError, match="computes something else"):
        gt.parts_of(Swapped(F.silu))


def test_gate_of_weights_in_bfloat16():
    model = tiny("Gemma").to(torch.bfloat16)
    parts = gt.parts_of(model.model.layers[0].mlp)
    assert parts.gate.name == "gelu-tanh" and parts.L.dtype == torch.bfloat16


@pytest.mark.parametrize("family", ["Llama", "Qwen2", "Gemma"])
def test_norm_weights_are_measured(family):
    norm = tiny(family).model.layers[0].post_attention_layernorm
    wanted = norm.weight.double() + (1 if family == "Gemma" else 0)
    assert torch.allclose(norm_weights(norm, 16), wanted, rtol=1e-6)
    half = norm_weights(norm.to(torch.bfloat16), 16)
    rounded = norm.weight.double() + (1 if family == "Gemma" else 0)
    assert torch.allclose(half, rounded, rtol=1e-6)


def test_norms_that_are_refused():
    layer_norm = nn.LayerNorm(16)
    with torch.no_grad():
        layer_norm.weight.normal_()
    with pytest.raises(glint.UsageError, match="takes the mean away"):
        norm_weights(layer_norm, 16)
    with pytest.raises(glint.UsageError, match="is no norm"):
        norm_weights(nn.Linear(16, 16), 16)


# ---- capture ---------------------------------------------------------------------------------------------------


def test_capture_is_what_the_layer_sees():
    model = tiny("Llama")
    rows = [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10]]
    seen = []
    handle = model.model.layers[1].mlp.register_forward_pre_hook(lambda _, a: seen.append(a[0].reshape(-1, 16)))
    with torch.no_grad():
        for row in rows:
            model(torch.tensor([row]))
    handle.remove()
    wanted = torch.cat(seen)
    model.train()
    for layer in (1, -1, "model.layers.1.mlp", model.model.layers[1].mlp):
        got = gt.capture(model, layer, rows)
        assert got.dtype == torch.float32 and torch.allclose(got, wanted, atol=1e-5)
    assert model.training and not model.model.layers[1].mlp._forward_pre_hooks
    padded = {"input_ids": torch.tensor([[1, 2, 3, 4], [9, 10, 0, 0]]), "attention_mask": torch.tensor([[1] * 4, [1, 1, 0, 0]])}
    assert torch.allclose(gt.capture(model, 1, padded), torch.cat([wanted[:4], wanted[8:]]), atol=1e-5)
    assert len(gt.capture(model, 1, torch.tensor(rows[:2]), limit=3)) == 3
    # What tokenizers give without padding: rows of their own lengths, and a single row for a single text.
    for encoded in ({"input_ids": rows}, {"input_ids": rows, "attention_mask": [[1] * len(row) for row in rows]}):
        assert torch.allclose(gt.capture(model, 1, encoded), wanted, atol=1e-5)
    for row in (rows[0], torch.tensor(rows[0])):
        assert torch.allclose(gt.capture(model, 1, {"input_ids": row}), wanted[:4], atol=1e-5)


def test_capture_of_texts():
    model = tiny("Llama")
    tokenizer = lambda text: {"input_ids": [ord(c) % 64 for c in text]}  # noqa: E731
    assert torch.equal(
        gt.capture(model, 0, ["once", "upon a time"], tokenizer=tokenizer),
        gt.capture(model, 0, [tokenizer(t)["input_ids"] for t in ("once", "upon a time")]),
    )
    with pytest.raises(glint.UsageError, match="without a tokenizer"):
        gt.capture(model, 0, "once")


def test_capture_refuses():
    model = tiny("Llama")
    for layer in (2, -3, "model.layers.7.mlp", 1.5):
        with pytest.raises(glint.UsageError):
            gt.capture(model, layer, [[1, 2]])
    with pytest.raises(glint.UsageError, match="no data"):
        gt.capture(model, 0, [])
    for data in (1, [1, 2], [[[1], [2, 3]]], [object()], {"input_ids": [[1, 2, 3]], "attention_mask": [[1, 1]]}):
        with pytest.raises(glint.UsageError) as e:
            gt.capture(model, 0, data)
        assert e.value.where == "data=" and e.value.expected
    with pytest.raises(glint.UsageError, match="did not call"):
        gt.capture(model, nn.Linear(3, 3), [[1, 2]])


def test_the_model_is_as_before_when_it_fails():
    model = tiny("Llama").train()
    with pytest.raises(IndexError):
        gt.capture(model, 0, [[1, 9999]])
    assert model.training and not model.model.layers[0].mlp._forward_pre_hooks


def test_directions_keep_their_double_precision():
    layer = gt.GLU(6, 5, 4, gate="identity")
    u = torch.randn(4, dtype=torch.float64)
    first, second = (gt.read(layer, out=d).values for d in (u, u * (1 + 1e-9)))
    assert np.allclose(second, first * (1 + 1e-9), rtol=0, atol=1e-12 * abs(first).max())
