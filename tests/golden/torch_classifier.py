"""The image model in PyTorch, and a safetensors reader and writer in a few lines: what the golden files are made with,
and what check_torch.py loads a run into."""
import json
import struct

import torch

DTYPES = {"F32": torch.float32, "F64": torch.float64}


def gate(name, h, c=0.01, lam=0.5, p=1.0):
    if name == "sqs":
        a = h.abs()
        sign = torch.where(h >= 0, torch.ones_like(h), -torch.ones_like(h))
        return sign * (a - c) / (1 + (lam * a) ** p) ** (1 / p)
    if name == "identity":
        return h
    if name == "relu":
        return torch.relu(h)
    if name == "gelu":
        return torch.nn.functional.gelu(h)
    if name == "silu":
        return torch.nn.functional.silu(h)
    raise ValueError(name)


class Classifier(torch.nn.Module):
    """`config` has the keys of config.json."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        d, h, bias = config["d_model"], config["d_hidden"], config["bias"]
        self.embed = torch.nn.Linear(config["inputs"], d, bias)
        self.blocks = torch.nn.ModuleList(
            torch.nn.Linear(d if i == 0 else h, 2 * h, bias) for i in range(config["layers"]))
        self.head = torch.nn.Linear(h, config["classes"], bias)
        self.halves = []  # what the gates saw in the last call

    def forward(self, x):
        k = self.config
        self.halves = []
        x = self.embed(x)
        for block in self.blocks:
            u = x * torch.rsqrt((x * x).mean(1, keepdim=True) + 1e-8) if k["norm"] == "rms" else x
            left, right = block(u).chunk(2, dim=1)  # the gated half is the first
            self.halves.append(left)
            y = gate(k["gate"], left, k.get("c"), k.get("lambda"), k.get("p")) * right
            x = x + y if k["residual"] else y
        return self.head(x)


def write_safetensors(path, tensors, metadata=None):
    header = {"__metadata__": metadata} if metadata else {}
    data = b""
    names = {v: k for k, v in DTYPES.items()}
    for name, t in sorted(tensors.items(), key=lambda item: -item[1].element_size()):
        raw = t.detach().contiguous().numpy().tobytes()
        header[name] = {"dtype": names[t.dtype], "shape": list(t.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def read_safetensors(path):
    raw = path.read_bytes()
    (n,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8:8 + n])
    header.pop("__metadata__", None)
    tensors = {}
    for name, info in header.items():
        begin, end = info["data_offsets"]
        part = bytearray(raw[8 + n + begin:8 + n + end])
        tensors[name] = torch.frombuffer(part, dtype=DTYPES[info["dtype"]]).reshape(info["shape"])
    return tensors
