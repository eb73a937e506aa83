#!/usr/bin/env python3
"""Writes real_models.json: what SmolLM2-135M and Gemma 3 270M say of a text, computed by NumPy from weights that the gguf
package widens. Nothing here is of glint but the numbers of the tokens.

    scripts/fetch-data smollm2 gemma3-270m --to MODELS
    python3 -m venv ENV && ENV/bin/pip install numpy gguf
    ENV/bin/python tests/golden/make_real_models.py MODELS build/venv/bin/python

The text is the GNU General Public License, version 3, as Debian has it.
"""

import json
import subprocess
import sys
from pathlib import Path

import gguf
import numpy as np

TEXT = Path("/usr/share/common-licenses/GPL-3")
TOKENS = 2000
PROMPT, WRITTEN = "The capital of France is", 24
MODELS = {
    "smollm2": "smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    "gemma3-270m": "gemma3-270m/gemma-3-270m-q4_k_m.gguf",
}


def norm(x, weight, eps):
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps) * weight


def turned(x, theta, adjacent):
    """Rotary positions of x [tokens, heads, width]: pairs are neighbours, or a half of the width apart."""
    half = x.shape[-1] // 2
    angle = np.arange(len(x))[:, None, None] * theta ** (-np.arange(half) / half)
    cos, sin = np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)
    out = np.empty_like(x)
    first, second = (np.s_[..., 0::2], np.s_[..., 1::2]) if adjacent else (np.s_[..., :half], np.s_[..., half:])
    out[first] = x[first] * cos - x[second] * sin
    out[second] = x[second] * cos + x[first] * sin
    return out


def attention(q, k, v, scale, window):
    """[tokens, heads, width], with fewer heads of keys and values; a token sees itself and those before it."""
    n, heads, _ = q.shape
    ago = np.arange(n)[:, None] - np.arange(n)[None, :]
    hidden = (ago < 0) | (ago >= window)
    out = np.empty_like(q)
    for h in range(heads):
        g = h * k.shape[1] // heads
        s = q[:, h] @ k[:, g].T * scale
        s[hidden] = -np.inf
        p = np.exp(s - s.max(axis=-1, keepdims=True))
        out[:, h] = p / p.sum(axis=-1, keepdims=True) @ v[:, g]
    return out.reshape(n, -1)


def silu(x):
    return x / (1 + np.exp(-x))


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


class Model:
    def __init__(self, path):
        reader = gguf.GGUFReader(path)
        self.stored = {t.name: t for t in reader.tensors}
        self.wide = {}
        self.arch = self.field(reader, "general.architecture")
        get = lambda key, default=None: self.field(reader, f"{self.arch}.{key}", default)
        self.layers, self.eps = get("block_count"), get("attention.layer_norm_rms_epsilon")
        self.heads, self.kv_heads = get("attention.head_count"), get("attention.head_count_kv")
        width = get("embedding_length")
        self.head = get("attention.key_length", width // self.heads)
        self.theta = get("rope.freq_base", 10000.0)
        self.gemma = self.arch == "gemma3"
        self.window = get("attention.sliding_window", 1 << 30)
        self.scale = float(np.sqrt(width)) if self.gemma else 1.0

    @staticmethod
    def field(reader, key, default=None):
        field = reader.get_field(key)
        return default if field is None else field.contents()

    def tensor(self, name):
        if name not in self.wide:
            t = self.stored[name]
            self.wide[name] = gguf.dequantize(t.data, t.tensor_type).astype(np.float32)
        return self.wide[name]

    def stream(self, ids):
        """What the head reads of every token."""
        x = self.tensor("token_embd.weight")[ids] * np.float32(self.scale)
        for i in range(self.layers):
            w = lambda name: self.tensor(f"blk.{i}.{name}.weight")
            # Every sixth layer of Gemma 3 sees the whole text, the others a window, with angles of their own.
            local = self.gemma and (i + 1) % 6 != 0
            theta = 10000.0 if local else self.theta
            u = norm(x, w("attn_norm"), self.eps)
            q = (u @ w("attn_q").T).reshape(len(ids), self.heads, self.head)
            k = (u @ w("attn_k").T).reshape(len(ids), self.kv_heads, self.head)
            v = (u @ w("attn_v").T).reshape(len(ids), self.kv_heads, self.head)
            if self.gemma:
                q, k = norm(q, w("attn_q_norm"), self.eps), norm(k, w("attn_k_norm"), self.eps)
            q, k = turned(q, theta, not self.gemma), turned(k, theta, not self.gemma)
            a = attention(q, k, v, self.head**-0.5, self.window if local else 1 << 30) @ w("attn_output").T
            x = x + (norm(a, w("post_attention_norm"), self.eps) if self.gemma else a)
            u = norm(x, w("ffn_norm"), self.eps)
            gate = gelu_tanh if self.gemma else silu
            y = (gate(u @ w("ffn_gate").T) * (u @ w("ffn_up").T)) @ w("ffn_down").T
            x = x + (norm(y, w("post_ffw_norm"), self.eps) if self.gemma else y)
        return norm(x, self.tensor("output_norm.weight"), self.eps)

    def logits(self, stream):
        head = "output.weight" if "output.weight" in self.stored else "token_embd.weight"
        return stream @ self.tensor(head).T

    def losses(self, ids, at_once=100):
        stream, out = self.stream(ids)[:-1], []
        for first in range(0, len(stream), at_once):
            rows = self.logits(stream[first : first + at_once]).astype(np.float64)
            top = rows.max(axis=-1)
            own = rows[np.arange(len(rows)), ids[first + 1 : first + 1 + len(rows)]]
            out.append(np.log(np.exp(rows - top[:, None]).sum(axis=-1)) + top - own)
        return np.concatenate(out)

    def next_token(self, ids):
        return int(np.argmax(self.logits(self.stream(ids)[-1])))


def tokens_of(python, model, text):
    command = "import glint, json, sys; print(json.dumps(glint.load(sys.argv[1]).tokens(sys.stdin.read())))"
    done = subprocess.run([python, "-c", command, model], input=text, text=True, capture_output=True, check=True)
    return json.loads(done.stdout)


def main():
    models, python = Path(sys.argv[1]), sys.argv[2]
    out = {"text": TEXT.name, "prompt": PROMPT, "models": {}}
    for name, file in MODELS.items():
        model = Model(models / file)
        ids = tokens_of(python, models / file, TEXT.read_text())[:TOKENS]
        per_token = model.losses(ids)
        written = tokens_of(python, models / file, PROMPT)
        begun = len(written)
        for _ in range(WRITTEN):
            written.append(model.next_token(written))
        out["models"][name] = {
            "file": file,
            "first_ids": ids[:16],
            "tokens": len(ids),
            "loss": float(per_token.mean()),
            "loss_of_half": float(per_token[: len(ids) // 2].mean()),
            "written": written[begun:],
        }
        print(name, out["models"][name], flush=True)
    Path(__file__).with_name("real_models.json").write_text(json.dumps(out, indent=1) + "\n")


if __name__ == "__main__":
    main()
