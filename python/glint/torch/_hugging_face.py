"""Models of Hugging Face and glint: gates for `hidden_act`, whole readings of models in memory, directions, other gates."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import torch
from torch import nn

from .. import _core
from ..errors import UsageError
from ._families import GluParts, bare, find_glus, gate_slot, parts_of, whole
from ._modules import Gate
from ._reading import capture, layer_of, norm_weights
from ._specs import Spec, of_core, resolve


def register() -> None:
    """Makes glint's gates known to transformers: `LlamaConfig(hidden_act="sqs")`, or with its options
    `"sqs:lambda=0.1,c=0.01"`. Models are built, trained, saved and loaded with it; a program that loads one calls it first.

    >>> gt.register()
    """
    try:
        from transformers import activations
    except ImportError as e:
        raise ImportError("glint.torch.register() needs transformers: pip install transformers") from e
    table: Any = activations.ACT2FN
    if not hasattr(type(table), "__missing__"):

        def missing(_: Any, key: str) -> Any:
            name = key.partition(":")[0] if isinstance(key, str) else ""
            if name not in _core.gate_names():
                raise KeyError(key)
            return Gate, {"gate": _core.gate_of_word(key)}

        table.__class__ = type("GatesOfGlint", (type(table),), {"__missing__": missing})


def hidden_act(s: Spec) -> str:
    """What `hidden_act` of a configuration says for a gate."""
    return {"gelu-tanh": "gelu_pytorch_tanh"}.get(s.name, str(s.core.word))


def open(model: nn.Module, tokenizer: Any = None, *, data: Any = None) -> Any:
    """A model of Hugging Face in memory as a run of glint, with everything that a folder has: `read` of tokens, `near`, `passages`,
    `explain`. It is saved to a temporary folder, which stays as long as the run; the gate is the one that the model computes with,
    whatever its configuration says.
    """
    from ..run import Run

    model = bare(model)
    if not hasattr(model, "save_pretrained"):
        raise UsageError(f"{type(model).__name__} is no model of Hugging Face", "model=", "a transformers model", "glint.torch.read(layer) reads a single GLU")
    names = {hidden_act(parts_of(module).gate) for _, module in find_glus(model)[:: max(1, len(find_glus(model)) - 1)]}
    if len(names) != 1:
        raise UsageError(f"GLUs with {' and '.join(sorted(names)) or 'no gate'}", "model=", "a model with GLUs of one gate")
    keep = tempfile.TemporaryDirectory(prefix="glint-")
    model.save_pretrained(keep.name)
    if tokenizer is not None:
        tokenizer.save_pretrained(keep.name)
    file = Path(keep.name) / "config.json"
    config = json.loads(file.read_text(encoding="utf-8"))
    keys = [key for key in ("hidden_act", "hidden_activation") if config.get(key) is not None] or ["hidden_act"]
    file.write_text(json.dumps({**config, **dict.fromkeys(keys, names.pop())}, indent=2), encoding="utf-8")
    return Run(keep.name, data, keep)


def _token(token: Any, tokenizer: Any) -> int:
    if not isinstance(token, str):
        return int(token)
    if tokenizer is None:
        raise UsageError(f"the token '{token}' without a tokenizer", "tokenizer=", "the model's tokenizer, or the number of a token")
    for text in (" " + token, token):
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        if len(ids) == 1:
            return int(ids[0])
    raise UsageError(f"'{token}' is not one token", "token=", "a word that is a token, or the number of one")


def _parents(model: nn.Module, name: str) -> Any:
    """The modules around a module, from the nearest."""
    while "." in name:
        name = name.rpartition(".")[0]
        yield model.get_submodule(name)


_LAST_NORMS, _LATER_NORMS = ("norm", "final_layernorm", "ln_final"), ("post_feedforward_layernorm", "ln2_post")


def _named(modules: Any, names: tuple[str, ...]) -> Any:
    found = (getattr(m, name, None) for m in modules for name in names)
    return next((m for m in found if isinstance(m, nn.Module) and not isinstance(m, nn.Identity)), None)


def direction(model: nn.Module, token: Any, layer: Any = -1, *, tokenizer: Any = None) -> torch.Tensor:
    """The direction in a layer's output along which a token's logit grows: what `run.read(token)` of glint reads along, for
    `gt.read(mlp, out=...)`. It is the row of the unembedding times the weights of the norms between the layer and it: the last norm,
    and in Gemma and OLMo 2 the one behind the GLU.

    `token` is a word (with `tokenizer`), the number of a token, or a difference, "happy - sad"; `layer` as `capture` takes it.
    """
    tokenizer = tokenizer or getattr(model, "tokenizer", None)
    model = bare(model)
    module = layer_of(model, layer)
    place = next((name for name, m in model.named_modules() if m is module), "")
    head = model.get_output_embeddings().weight if hasattr(model, "get_output_embeddings") else getattr(model, "W_U", torch.empty(0)).T
    last = _named([model, *(m for n, m in model.named_children())], _LAST_NORMS)
    if head.numel() == 0 or last is None:
        raise UsageError(f"{type(model).__name__} has no unembedding, or no norm before it, that glint knows", "model=", "a model of Hugging Face or TransformerLens")
    words = [w.strip() for w in token.split(" - ")] if isinstance(token, str) else [token]
    rows = [whole(head)[_token(w, tokenizer)].detach().to("cpu", torch.float64) for w in words]
    u = (rows[0] - sum(rows[1:], torch.zeros_like(rows[0]))) * norm_weights(last, len(rows[0]))
    later = _named(_parents(model, place), _LATER_NORMS)
    return u if later is None else u * norm_weights(later, len(u))


def _gains(parts: GluParts, to: Spec, x: torch.Tensor) -> torch.Tensor:
    """The gain of every hidden unit: least squares of the old gate by the new one, weighted by the square of what it multiplies."""
    top = bottom = torch.zeros(parts.L.shape[0], dtype=torch.float64, device=parts.L.device)
    for rows in x.split(1024):
        h = rows.to(parts.L.device, parts.L.dtype)
        l = nn.functional.linear(h, parts.L, parts.bias_l).double()
        new = to.plain(l) * nn.functional.linear(h, parts.R, parts.bias_r).double()
        old = parts.gate.plain(l) * nn.functional.linear(h, parts.R, parts.bias_r).double()
        top, bottom = top + (old * new).sum(0), bottom + (new * new).sum(0)
    return torch.where(bottom > 0, top / bottom, torch.ones_like(top))


def convert_(model: nn.Module, gate: Any = "sqs", data: Any = None, *, tokenizer: Any = None, tokens: int = 4096) -> nn.Module:
    """Gives every GLU of a model another gate, in place, and R the gains that make the new gate most like the old one.

    `data` is what the gains are fitted on: texts or rows of tokens as `capture` takes them, or the inputs of every GLU, a list of
    tensors [samples, d]; about `tokens` samples of each are used. Without data R stays as it is. The model has to be trained on
    from there; `config.hidden_act` says the new gate, and `register()` is needed to load what is saved.
    """
    to = of_core(resolve(gate).core)
    model = bare(model)
    glus = find_glus(model)
    if not glus:
        raise UsageError(f"{type(model).__name__} has no GLU", "model=", "a model with GLUs that glint knows")
    given = isinstance(data, (list, tuple)) and len(data) == len(glus) and all(isinstance(x, torch.Tensor) and x.is_floating_point() for x in data)
    slots = [gate_slot(module) for _, module in glus]  # before anything is changed
    inputs = data if given or data is None else [capture(model, i, data, tokenizer=tokenizer, limit=tokens) for i in range(len(glus))]
    for i, (_, module) in enumerate(glus):
        parts = parts_of(module)
        if inputs is not None:
            with torch.no_grad():
                gain = _gains(parts, to, inputs[i].reshape(-1, parts.L.shape[1])[:tokens])
                parts.R.mul_(gain[:, None].to(parts.R.dtype))
                if parts.bias_r is not None:
                    parts.bias_r.mul_(gain.to(parts.bias_r.dtype))
        setattr(module, slots[i], Gate(to))
    config = getattr(model, "config", None)
    for key in ("hidden_act", "hidden_activation"):
        if config is not None and getattr(config, key, None) is not None:
            setattr(config, key, hidden_act(to))
    return model
