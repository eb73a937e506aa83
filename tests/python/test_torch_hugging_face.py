"""Models of Hugging Face: gates for hidden_act, models in memory, directions, other gates, wrappers."""

import copy
import json
import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
from torch.nn import functional as F  # noqa: E402

import glint  # noqa: E402
import glint.torch as gt  # noqa: E402

pytestmark = pytest.mark.full

WORD = "sqs:lambda=0.25,c=0.125"
STORY = "Once upon a time there was a happy little dog. The dog was sad, and then the dog was happy again. "


def tokenizer():
    """A byte-level BPE as in Llama 3, trained on a few sentences."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=320, initial_alphabet=alphabet, special_tokens=["<|end_of_text|>"])
    made.train_from_iterator([STORY * 20], trainer)
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<|end_of_text|>")


def tiny(family="Llama", vocab=64, **more):
    """A tiny model with random weights; norms too, which fresh models have at 1."""
    torch.manual_seed(0)
    name = family.removesuffix("Text")
    if family.startswith("Gemma"):
        more.setdefault("head_dim", 8)
    config = getattr(transformers, family + "Config")(
        vocab_size=vocab, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1, **more
    )
    model = getattr(transformers, name + "ForCausalLM")(config).eval()
    with torch.no_grad():
        for key, p in model.named_parameters():
            p.normal_(0.5, 0.3) if "norm" in key or key.endswith("bias") else p.mul_(10)
    return model


def logits(model, ids):
    with torch.no_grad():
        return model(torch.tensor([ids])).logits[0].float().numpy()


def same(a, b):
    np.testing.assert_allclose(a, b, rtol=0, atol=1e-4 * np.abs(b).max())  # float32, in two orders


IDS = list(range(3, 40))


# ---- register --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["Llama", "Qwen2", "Mistral"])
@pytest.mark.parametrize("word", ["sqs", WORD, "identity"])
def test_hidden_act(family, word, tmp_path):
    gt.register(), gt.register()
    model = tiny(family, hidden_act=word)
    gate = model.model.layers[0].mlp.act_fn
    assert isinstance(gate, gt.Gate) and gate.spec.core == (glint.gate("sqs", lam=0.25, c=0.125) if word == WORD else glint.gate(word))
    model.save_pretrained(tmp_path / "saved")
    again = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "saved").eval()
    assert again.model.layers[0].mlp.act_fn.spec.core == gate.spec.core
    wanted = logits(model, IDS)
    assert np.array_equal(logits(again, IDS), wanted)
    run = glint.load(tmp_path / "saved")
    same(run.logits(IDS), wanted)
    run.export(npy=tmp_path / "arrays")
    up = model.model.layers[1].mlp.up_proj.weight.detach().numpy()
    assert any(a.shape == up.shape and np.array_equal(a, up) for a in map(np.load, (tmp_path / "arrays").rglob("*.npy")))
    if word == "sqs":  # its GLU alone, as the module has it
        layer, x = run.layer(2), np.random.default_rng(0).normal(size=(4, 16)).astype(np.float32)
        assert layer.gate == gate.spec.core and layer(x).shape == (4, 16)
    # What it would be with the options left out is another model.
    config = tmp_path / "saved" / "config.json"
    config.write_text(config.read_text().replace(word, "silu"))
    assert np.abs(glint.load(tmp_path / "saved").logits(IDS) - wanted).max() > 0.1 * np.abs(wanted).max()


def test_training_with_it():
    gt.register()
    model = tiny(hidden_act=WORD).train()
    model.gradient_checkpointing_enable()
    ids = torch.tensor([IDS])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(20):
        loss = model(ids, labels=ids).loss
        loss.backward()
        optimizer.step(), optimizer.zero_grad()
        losses.append(float(loss))
    assert losses[-1] < 0.5 * losses[0]


def test_what_is_refused(tmp_path):
    gt.register()
    with pytest.raises(KeyError):
        tiny(hidden_act="nonsense")
    with pytest.raises(glint.UsageError, match="lam=0.1"):
        tiny(hidden_act="sqs:lam=0.1")
    model = tiny(hidden_act="sqs")
    model.save_pretrained(tmp_path / "saved")
    config = tmp_path / "saved" / "config.json"
    for word in ("sqs:lam=0.1", "sqs:lambda=-1", "silu:c=1", "sqs:lambda", "nonsense", "sqs:lambda=0.1x"):
        config.write_text(json.dumps({**json.loads(config.read_text()), "hidden_act": word}))
        with pytest.raises(glint.BadFileError, match="hidden_act"):
            glint.load(tmp_path / "saved")


def test_without_register_transformers_says_so(tmp_path):
    gt.register()
    tiny(hidden_act=WORD).save_pretrained(tmp_path / "saved")
    code = "import sys, transformers; transformers.AutoModelForCausalLM.from_pretrained(sys.argv[1])"
    back = subprocess.run([sys.executable, "-c", code, str(tmp_path / "saved")], capture_output=True, text=True)
    assert back.returncode and f"KeyError: '{WORD}'" in back.stderr


def test_options_of_a_gate_go_with_the_weights(tmp_path):
    weak, strong = (torch.nn.Sequential(gt.GLU(4, 6, gate=gt.SQS(lam=lam))) for lam in (0.1, 0.5))
    assert sorted(weak.state_dict()) == ["0.w.weight"]
    torch.save(weak.state_dict(), tmp_path / "weights.pt")
    stored = torch.load(tmp_path / "weights.pt")
    with pytest.raises(RuntimeError, match="0.gate is sqs:lambda=0.5.* trained with sqs:lambda=0.1"):
        strong.load_state_dict(stored)
    copy.deepcopy(weak).load_state_dict(stored)
    strong.load_state_dict(dict(stored))  # weights of another program do not say


# ---- models in memory ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_a_model_in_memory_is_read_as_from_its_folder(dtype, tmp_path):
    words = tokenizer()
    model = tiny(vocab=len(words)).to(dtype)
    model.save_pretrained(tmp_path / "saved")
    words.save_pretrained(tmp_path / "saved")
    text = tmp_path / "stories.txt"
    text.write_text(STORY * 30)
    folder, run = glint.load(tmp_path / "saved", data=text), gt.open(model, words, data=text)
    quick = dict(layer=1, controls="none", progress=False, tokens=500)
    a, b = (r.read("happy", **quick) for r in (folder, run))
    np.testing.assert_array_equal(a.values, b.values)
    assert a.fidelity == b.fidelity and a.near(3).rows == b.near(3).rows
    told = [{**r.explain(text="Once upon a", progress=False).json, "run": ""} for r in (folder, run)]
    assert told[0] == told[1]
    found = [r.read("happy", **quick).passages(STORY, n=1, vectors=[1]).json["responses"] for r in (folder, run)]
    assert found[0] == found[1]
    # The helper for readings of single layers gives the direction that the run reads along.
    direction = gt.direction(model, "happy", 0, tokenizer=words)
    layer = model.model.layers[0]
    form = gt.read(layer.mlp, out=direction, norm=layer.post_attention_layernorm)
    wanted = folder.read("happy", layer=1, form="weights", controls="none", progress=False)
    np.testing.assert_allclose(np.sort(form.values), np.sort(wanted.values), rtol=1e-4, atol=1e-5 * np.abs(wanted.values).max())
    both = gt.direction(model, "happy - sad", 0, tokenizer=words)
    assert torch.allclose(both, direction - gt.direction(model, "sad", 0, tokenizer=words))


def test_the_gate_is_that_of_the_model(tmp_path):
    """A model whose gate was set by hand: its configuration says silu, and is not believed."""
    model = tiny()
    for layer in model.model.layers:
        layer.mlp.act_fn = gt.SQS(lam=0.25, c=0.125)
    same(gt.open(model).logits(IDS), logits(model, IDS))
    model.model.layers[0].mlp.act_fn = gt.Gate("relu")
    with pytest.raises(glint.UsageError, match="relu and sqs"):
        gt.open(model)
    with pytest.raises(glint.UsageError, match="no model of Hugging Face"):
        gt.open(gt.GLU(4, 6, 4))


@pytest.mark.parametrize("family", ["Llama", "Qwen2", "Gemma", "Gemma2", "Gemma3Text", "Olmo2"])
def test_directions(family):
    """The last norm's weights, and those of a norm behind the GLU."""
    words = tokenizer()
    model = tiny(family, len(words), **({"pad_token_id": 0, "eos_token_id": 1} if family == "Olmo2" else {}))
    run, layer = gt.open(model, words), model.model.layers[1]
    before = {"Gemma2": "pre_feedforward_layernorm", "Gemma3Text": "pre_feedforward_layernorm", "Olmo2": ""}.get(family, "post_attention_layernorm")
    wanted = run.read(300, layer=2, form="weights", controls="none", progress=False)
    form = gt.read(layer.mlp, out=gt.direction(model, 300), norm=getattr(layer, before) if before else None, form="weights")
    np.testing.assert_allclose(np.sort(form.values), np.sort(wanted.values), rtol=1e-4, atol=1e-5 * np.abs(wanted.values).max())


def test_directions_refuse():
    model = tiny()
    with pytest.raises(glint.UsageError, match="without a tokenizer"):
        gt.direction(model, "happy")
    with pytest.raises(glint.UsageError, match="not one token"):
        gt.direction(model, "unbelievable", tokenizer=tokenizer())
    with pytest.raises(glint.UsageError, match="no unembedding"):
        gt.direction(torch.nn.Sequential(gt.GLU(4, 6, 4)), 3)


def test_readings_say_on_how_many_inputs():
    model = tiny()
    x = gt.capture(model, 0, [IDS, IDS[::-1], IDS[::2]])
    u = gt.direction(model, 7, 0)
    fidelity = gt.read(model.model.layers[0].mlp, out=u, inputs=x).fidelity
    low, high = fidelity["r2_interval"]
    assert low <= fidelity["r2"] <= high and low < high and fidelity["inputs"] == len(x) - len(x) // 2
    with pytest.raises(glint.UsageError, match="19 inputs") as e:
        gt.read(model.model.layers[0].mlp, out=u, inputs=x[:19])
    assert "20 or more" in e.value.expected


def test_capture_of_texts_of_unequal_length():
    words = tokenizer()
    model = tiny(vocab=len(words))
    texts = [STORY, "Once upon a time", "a dog"]
    wanted = torch.cat([gt.capture(model, 0, [words(t)["input_ids"]]) for t in texts])
    words.pad_token = words.eos_token
    for data in (texts, words(texts), words(texts, padding=True, return_tensors="pt")):
        assert torch.allclose(gt.capture(model, 0, data, tokenizer=words), wanted, atol=1e-5)


# ---- other gates -----------------------------------------------------------------------------------------------


def test_gains_are_least_squares():
    """Of each hidden unit by itself: no other gain brings it nearer to what it was."""
    mlp = gt.GLU(6, 10, 6, gate="silu", bias=True)
    before = copy.deepcopy(mlp)
    x = torch.randn(500, 6)
    model = gt.convert_(torch.nn.Sequential(mlp), "sqs", [x])
    assert model[0].gate.spec.name == "sqs"
    l, r = before.w(x).double().chunk(2, dim=-1)
    old, new = F.silu(l) * r, glint_sqs(l) * r
    gain = ((old * new).sum(0) / (new * new).sum(0)).float()
    assert torch.allclose(mlp.R, before.R * gain[:, None], rtol=1e-4) and torch.equal(mlp.L, before.L)
    assert torch.allclose(mlp.w.bias[10:], before.w.bias[10:] * gain, rtol=1e-4)


def glint_sqs(h):
    return torch.from_numpy(glint.gate("sqs")(h.detach().numpy()))


@pytest.mark.parametrize("family", ["Llama", "Gemma", "Phi3"])
def test_convert(family, tmp_path):
    gt.register()
    model = tiny(family, **({"pad_token_id": 0} if family == "Phi3" else {}))
    rows = torch.randint(0, 64, (20, 30))
    other, bare = copy.deepcopy(model), copy.deepcopy(model)
    assert gt.convert_(other, gt.SQS(lam=0.25), rows) is other
    gt.convert_(bare, gt.SQS(lam=0.25))
    wanted = logits(model, IDS)
    near, far = (np.abs(logits(m, IDS) - wanted).mean() for m in (other, bare))
    assert near < far
    other.save_pretrained(tmp_path / "saved")
    again = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "saved").eval()
    same(logits(again, IDS), logits(other, IDS))
    same(glint.load(tmp_path / "saved").logits(IDS), logits(other, IDS))


def test_convert_refuses():
    with pytest.raises(glint.UsageError, match="has no GLU"):
        gt.convert_(torch.nn.Linear(3, 3))


# ---- wrappers --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrap", [torch.compile, lambda m: (m.compile(), m)[1]], ids=["around", "inside"])
def test_compiled_models(wrap):
    model = tiny()
    wanted = gt.capture(model, 1, [IDS]), gt.direction(model, 5)
    form = gt.read(model.model.layers[1].mlp, out=wanted[1])
    compiled = wrap(model)
    assert [name for name, _ in gt.find_glus(compiled)] == ["model.layers.0.mlp", "model.layers.1.mlp"]
    assert torch.allclose(gt.capture(compiled, 1, [IDS]), wanted[0]) and torch.equal(gt.direction(compiled, 5), wanted[1])
    layer = wrap(model.model.layers[1].mlp)
    np.testing.assert_array_equal(gt.read(layer, out=wanted[1]).values, form.values)


PARALLEL = """
import sys, torch, torch.distributed as dist, transformers, numpy as np
import glint.torch as gt
rank = int(sys.argv[1])
dist.init_process_group("gloo", init_method="file://" + sys.argv[2], rank=rank, world_size=2)
torch.manual_seed(0)
config = transformers.LlamaConfig(vocab_size=64, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1)
model = transformers.LlamaForCausalLM(config).eval()
rows = [list(range(3, 40)), [5, 6, 7]]
u, x = gt.direction(model, 5), gt.capture(model, 1, rows)
values = gt.read(model.model.layers[1].mlp, out=u, norm=model.model.layers[1].post_attention_layernorm).values
def check(wrapped):
    assert [n for n, _ in gt.find_glus(wrapped)][0].endswith("model.layers.0.mlp")
    assert torch.allclose(gt.capture(wrapped, 1, rows), x, atol=1e-5)
    assert torch.allclose(gt.direction(wrapped, 5), u)
    layer = gt.find_glus(wrapped)[1][1]
    norm = [m for n, m in wrapped.named_modules() if n.endswith("layers.1.post_attention_layernorm")][0]
    np.testing.assert_allclose(gt.read(layer, out=u, norm=norm).values, values, rtol=1e-6)
check(torch.nn.parallel.DistributedDataParallel(model))
try:
    from torch.distributed.fsdp import fully_shard
except ImportError:
    fully_shard = None
if fully_shard:
    mesh = dist.device_mesh.init_device_mesh("cpu", (2,))
    for layer in model.model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    assert model.model.layers[0].mlp.gate_proj.weight.to_local().shape[0] == 12
    check(model)
dist.barrier()
dist.destroy_process_group()
print("as before")
"""


def test_models_of_many_processes(tmp_path):
    command = [sys.executable, "-c", PARALLEL]
    ranks = [
        subprocess.Popen([*command, str(rank), str(tmp_path / "meet")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for rank in (0, 1)
    ]
    for process in ranks:
        out, err = process.communicate(timeout=600)
        assert process.returncode == 0 and "as before" in out, err[-3000:]


def test_the_example_runs(root):
    back = subprocess.run([sys.executable, str(root / "examples" / "torch" / "convert_a_model.py")], capture_output=True, text=True, timeout=600)
    assert back.returncode == 0 and "step    3" in back.stdout and "eigenvalues" in back.stdout, back.stderr[-3000:]
