"""glint's models as modules of PyTorch, with the names that their weights have in a run, and back."""

from __future__ import annotations

import json
import math
import shutil
import struct
import tempfile
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from ..errors import UsageError
from ._functions import stacked_glu
from ._modules import GLU
from ._specs import Spec, spec

_EPS = 1e-8  # of glint's norms


def _rms_norm(x: torch.Tensor) -> torch.Tensor:
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + _EPS)


def _spec_of(config: dict[str, Any]) -> Spec:
    given = {to: config[key] for key, to in (("c", "c"), ("lambda", "lam"), ("p", "p")) if key in config}
    return spec(config["gate"], **given)


def _gate_fields(s: Spec) -> dict[str, Any]:
    return {"gate": s.name, **({"c": s.c, "lambda": s.lam, "p": s.p} if s.has_options else {})}


class Classifier(nn.Module):
    """glint's model of images and vectors: embed, layers of `gate(L x) * (R x)`, head. `config` is its config.json.

    >>> config = {"inputs": 4, "classes": 2, "layers": 1, "d_model": 8, "gate": "silu"}
    >>> gt.Classifier(config)(torch.ones(3, 4)).shape
    torch.Size([3, 2])
    """

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        self.config = dict(config)
        d, bias = config["d_model"], bool(config.get("bias", False))
        h = config.get("d_hidden") or d
        self.residual, self.rms = bool(config.get("residual", False)), config.get("norm", "none") == "rms"
        self.spec = _spec_of(config)
        self.embed = nn.Linear(config["inputs"], d, bias=bias)
        self.blocks = nn.ModuleList(
            nn.Linear(h if i else d, 2 * h, bias=bias) for i in range(config["layers"])
        )
        self.head = nn.Linear(h, config["classes"], bias=bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Logits of inputs [n, inputs] or pictures [n, height, width], from 0 to 1."""
        x = self.embed(x.flatten(1))
        for block in self.blocks:
            y = stacked_glu(block(_rms_norm(x) if self.rms else x), self.spec)
            x = x + y if self.residual else y
        return self.head(x)


class _Attention(nn.Module):
    def __init__(self, d: int, heads: int, context: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv, self.o = nn.Linear(d, 3 * d, bias=False), nn.Linear(d, d, bias=False)
        half = d // heads // 2
        angle = torch.arange(context, dtype=torch.float64)[:, None] * 10000.0 ** (
            -torch.arange(half, dtype=torch.float64) / half
        )
        self.register_buffer("cos", angle.cos().float(), persistent=False)
        self.register_buffer("sin", angle.sin().float(), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, t, d = x.shape
        size = d // self.heads
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, size).permute(2, 0, 3, 1, 4)
        scores = self._turn(q) @ self._turn(k).transpose(-1, -2) / math.sqrt(size)
        unseen = torch.ones(t, t, dtype=torch.bool, device=x.device).triu(1)
        y = scores.masked_fill(unseen, -math.inf).softmax(-1) @ v
        return self.o(y.transpose(1, 2).reshape(b, t, d))

    def _turn(self, x: torch.Tensor) -> torch.Tensor:
        t = x.shape[-2]
        cos, sin = self.cos[:t], self.sin[:t]
        a, b = x.chunk(2, dim=-1)
        return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)


class _Block(nn.Module):
    def __init__(self, config: dict[str, Any], gate: Spec) -> None:
        super().__init__()
        d = config["d_model"]
        self.scale = 1 / math.sqrt(2 * config["layers"])
        self.attn = _Attention(d, config["heads"], config["context"])
        self.mlp = GLU(d, config.get("d_hidden") or d, d, gate=gate)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.scale * self.attn(_rms_norm(x))
        return x + self.mlp(_rms_norm(x))


class Transformer(nn.Module):
    """glint's language model. `config` is its config.json; `model(ids)` gives logits [n, tokens, vocab].

    >>> config = {"vocab": 32, "layers": 1, "d_model": 8, "heads": 2, "context": 16, "gate": "sqs"}
    >>> gt.Transformer(config)(torch.zeros(1, 5, dtype=torch.long)).shape
    torch.Size([1, 5, 32])
    """

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        self.config = dict(config)
        gate = _spec_of(config)
        self.transformer = nn.ModuleDict(
            {
                "wte": nn.Embedding(config["vocab"], config["d_model"]),
                "h": nn.ModuleList(_Block(config, gate) for _ in range(config["layers"])),
            }
        )
        self.lm_head = nn.Linear(config["d_model"], config["vocab"], bias=False)
        self.tokenizer_file: Path | None = None

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        if ids.shape[-1] > self.config["context"]:
            raise UsageError(f"{ids.shape[-1]} tokens", "ids=", f"at most {self.config['context']}, the context")
        x = self.transformer["wte"](ids)
        for block in self.transformer["h"]:
            x = block(x)
        return self.lm_head(_rms_norm(x))


def to_module(run: Any) -> Classifier | Transformer:
    """A run's model as a module with the same weights, to be used and trained on in PyTorch."""
    if run.foreign:
        raise UsageError(
            f"{run.path} is a model of another program", "run=", "a run of glint", "run.export(hf=FOLDER) writes a folder that transformers opens"
        )
    folder = Path(run.path)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    module: Classifier | Transformer = Transformer(config) if run.kind == "language" else Classifier(config)
    weights = {name: torch.from_numpy(_owned(array)) for name, array in run.weights.items()}
    module.load_state_dict(weights, strict=True)
    if isinstance(module, Transformer):
        found = sorted(folder.glob("tokenizer*"))
        module.tokenizer_file = found[0] if found else None
    return module.eval()


def _owned(array: Any) -> Any:
    import numpy as np

    return np.array(array, dtype=np.float32)


def _classifier_of(module: nn.Module, names: Any) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """config.json and the weights of a Classifier, or of nn.Sequential(Linear, GLU, ..., Linear)."""
    if isinstance(module, Classifier):
        config = dict(module.config)
        config.update(format="glint-classifier", **_gate_fields(module.spec))
        return config, {k: v.detach() for k, v in module.state_dict().items()}
    parts = [m for m in module if not isinstance(m, (nn.Flatten, nn.Identity, nn.Dropout))] if isinstance(module, nn.Sequential) else []
    glus = parts[1:-1]
    if (
        len(parts) < 3
        or not isinstance(parts[0], nn.Linear)
        or not isinstance(parts[-1], nn.Linear)
        or not all(isinstance(g, GLU) and g.p is None for g in glus)
        or len({repr(g.gate.spec) for g in glus}) != 1
        or len({g.w.out_features for g in glus}) != 1
    ):
        raise UsageError(
            f"{type(module).__name__} has another form than glint's models",
            "m=",
            "a Classifier, a Transformer, or nn.Sequential(nn.Linear, GLU without d_out, ..., nn.Linear), one gate and one width",
            "glint.torch.read(layer) reads a single GLU of any model",
        )
    linears = {"embed": parts[0], **{f"blocks.{i}": g.w for i, g in enumerate(glus)}, "head": parts[-1]}
    biases = {part.bias is not None for part in linears.values()}
    config = {
        "format": "glint-classifier",
        "inputs": parts[0].in_features,
        "classes": parts[-1].out_features,
        "layers": len(glus),
        "d_model": parts[0].out_features,
        "d_hidden": glus[0].w.out_features // 2,
        "bias": True in biases,
        "residual": False,
        "norm": "none",
        **_gate_fields(glus[0].gate.spec),
    }
    weights = {}
    for name, part in linears.items():
        weights[name + ".weight"] = part.weight.detach()
        if config["bias"]:
            zero = torch.zeros(part.out_features)
            weights[name + ".bias"] = zero if part.bias is None else part.bias.detach()
    return config, weights


def from_module(
    m: nn.Module,
    out: Any = None,
    *,
    data: str = "",
    class_names: Any = None,
    image: tuple[int, int] | None = None,
) -> Any:
    """A module as a run that glint opens: the weights and config.json in the folder `out`, a temporary one without.

    `m` is what `to_module` gave, trained on or not, or an `nn.Sequential` of a Linear, GLUs without d_out and a
    Linear. `data` is the name of a data set to read it on, `image` the height and width of its pictures.
    """
    from .. import load

    folder = Path(tempfile.mkdtemp(prefix="glint-")) if out is None else Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    if isinstance(m, Transformer):
        config = dict(m.config)
        weights = {k: v.detach() for k, v in m.state_dict().items()}
        if m.tokenizer_file is not None:
            shutil.copyfile(m.tokenizer_file, folder / m.tokenizer_file.name)
    else:
        config, weights = _classifier_of(m, class_names)
        if class_names is not None:
            config["class_names"] = [str(name) for name in class_names]
        config.setdefault("class_names", [str(i) for i in range(config["classes"])])
        if image is not None:
            config["image"] = {"height": image[0], "width": image[1]}
    config["data"] = data or config.get("data", "")
    _write_safetensors(folder / "model.safetensors", weights)
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    return load(folder)


def _write_safetensors(path: Path, tensors: dict[str, torch.Tensor]) -> None:
    """A length, a JSON header and the numbers, float32."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    arrays, at = [], 0
    for name, tensor in tensors.items():
        array = tensor.to("cpu", torch.float32).contiguous().numpy()
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [at, at + array.nbytes]}
        arrays.append(array)
        at += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for array in arrays:
            file.write(array.tobytes())
