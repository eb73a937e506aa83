"""Writes tests/golden/reading/stories260K.json: what reading stories260K gives, computed with NumPy alone, in double.

    python3 tests/golden/make_language_reading.py MODEL.bin TOKENIZER.bin     (stories260K.bin and tok512.bin of llama2.c)

For every layer, five directions and three forms: R2 on the tokens that measure, and all eigenvalues. The stories of reading/tales.txt calibrate
and measure by turns, the first calibrates. A story is read after token 1 (BOS); its last token is what the model would have to say and is
not read. The definitions, with x what the GLU reads (after the norm, without the norm's weights g), l = L diag(g) x, r = R diag(g) x:

  q        weights of the hidden units: P' u for a direction u of the residual stream, 1 for the hidden unit itself
  u        of a token its row of the head times the weights of the last norm
  output   sum_h q_h silu(l_h) r_h
  weights  silu(l) read as l / 2, its odd part: the form is the even part of the layer
  scaled   silu(l) read as a_h l,       a_h = E[r^2 silu(l) l] / E[r^2 l^2] over the tokens that calibrate
  calibrated  read as a_h l + b_h, the line with the least E[r^2 (silu(l) - a l - b)^2] there
  R2       1 - sum (output - form)^2 / sum (output - mean output)^2 over the tokens that measure
  Q        1/2 (A' diag(q a) B + B' diag(q a) A), A = L diag(g), B = R diag(g): its eigenvalues, descending
"""
import json
import pathlib
import struct
import sys

import numpy as np

HERE = pathlib.Path(__file__).parent / "reading"
DIRECTIONS = ["happy", ".", "Lily", "she - he", "hidden 7"]


def read_model(path):
    """llama2.c, version 0: seven sizes, then all weights as f32."""
    data = pathlib.Path(path).read_bytes()
    d, hidden, layers, heads, kv_heads, vocab, context = struct.unpack("<7i", data[:28])
    values, at = np.frombuffer(data, np.float32, offset=28).astype(np.float64), 0
    head_dim = d // heads

    def take(*shape):
        nonlocal at
        size = int(np.prod(shape))
        at += size
        return values[at - size : at].reshape(shape)

    assert vocab > 0  # the head is the embedding
    m = dict(heads=heads, kv_heads=kv_heads, embedding=take(vocab, d), attention_norm=take(layers, d))
    m["wq"], m["wk"], m["wv"] = take(layers, d, d), take(layers, kv_heads * head_dim, d), take(layers, kv_heads * head_dim, d)
    m["wo"], m["glu_norm"] = take(layers, d, d), take(layers, d)
    m["gate"], m["down"], m["up"] = take(layers, hidden, d), take(layers, d, hidden), take(layers, hidden, d)
    m["last_norm"] = take(d)
    return m


def read_tokenizer(path):
    data, at, pieces, scores = pathlib.Path(path).read_bytes(), 4, [], []
    while at < len(data):
        score, length = struct.unpack("<fi", data[at : at + 8])
        pieces.append(data[at + 8 : at + 8 + length])
        scores.append(score)
        at += 8 + length
    return {p: i for i, p in enumerate(pieces)}, scores


def encode(text, ids, scores, pieces):
    """A space, then every character, then the best pair again and again."""
    tokens = []
    for c in " " + text:
        known = ids.get(c.encode())
        tokens += [known] if known is not None else [b + 3 for b in c.encode()]
    while True:
        best = max(
            ((scores[ids[p]], -i) for i in range(len(tokens) - 1) if (p := pieces[tokens[i]] + pieces[tokens[i + 1]]) in ids),
            default=None,
        )
        if best is None:
            return tokens
        i = -best[1]
        tokens[i : i + 2] = [ids[pieces[tokens[i]] + pieces[tokens[i + 1]]]]


def normed(x):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)


def turned(x, heads):
    """Rotary positions of adjacent pairs."""
    n, width = x.shape
    dim = width // heads
    angle = np.arange(n)[:, None] * 10000.0 ** (-np.arange(0, dim, 2) / dim)
    pairs = x.reshape(n, heads, dim // 2, 2)
    a, b, c, s = pairs[..., 0], pairs[..., 1], np.cos(angle)[:, None], np.sin(angle)[:, None]
    return np.stack([a * c - b * s, a * s + b * c], -1).reshape(n, heads, dim)


def silu(x):
    return x / (1 + np.exp(-x))


def glu_inputs(m, tokens):
    """What the GLU of every layer reads: [layers, tokens, d]."""
    x, out, n = m["embedding"][tokens], [], len(tokens)
    mask = np.triu(np.full((n, n), -np.inf), 1)
    for i in range(len(m["gate"])):
        u = normed(x) * m["attention_norm"][i]
        q, k = turned(u @ m["wq"][i].T, m["heads"]), turned(u @ m["wk"][i].T, m["kv_heads"])
        v = (u @ m["wv"][i].T).reshape(n, m["kv_heads"], -1)
        shared = m["heads"] // m["kv_heads"]
        k, v = np.repeat(k, shared, 1), np.repeat(v, shared, 1)
        score = np.einsum("qhd,khd->hqk", q, k) / np.sqrt(q.shape[-1]) + mask
        score = np.exp(score - score.max(-1, keepdims=True))
        mixed = np.einsum("hqk,khd->qhd", score / score.sum(-1, keepdims=True), v).reshape(n, -1)
        x = x + mixed @ m["wo"][i].T
        u = normed(x)
        out.append(u)
        u = u * m["glu_norm"][i]
        x = x + (silu(u @ m["gate"][i].T) * (u @ m["up"][i].T)) @ m["down"][i].T
    return np.stack(out)


def hidden_weights(m, layer, name, ids):
    if name.startswith("hidden "):
        q = np.zeros(m["gate"].shape[1])
        q[int(name.split()[1]) - 1] = 1
        return q
    u, sign = np.zeros(m["embedding"].shape[1]), 1
    for word in name.split():
        if word == "-":
            sign = -1
            continue
        token = ids.get((" " + word).encode(), ids.get(word.encode()))
        u += sign * m["embedding"][token] * m["last_norm"]
    return u @ m["down"][layer]


def main():
    model, tokenizer = sys.argv[1:]
    m = read_model(model)
    ids, scores = read_tokenizer(tokenizer)
    pieces = {i: p for p, i in ids.items()}
    stories = [s.strip() for s in (HERE / "tales.txt").read_text().split("<|endoftext|>")]
    halves = [[], []]
    for i, story in enumerate(stories):
        tokens = [1] + encode(story, ids, scores, pieces)
        halves[i % 2].append(glu_inputs(m, tokens[:-1]))
    fitted, measured = (np.concatenate(h, 1) for h in halves)
    layers = []
    for i in range(len(m["gate"])):
        left, right = m["gate"][i] * m["glu_norm"][i], m["up"][i] * m["glu_norm"][i]
        l, r = fitted[i] @ left.T, fitted[i] @ right.T
        w, g = r * r, silu(l)
        gain = (w * g * l).sum(0) / (w * l * l).sum(0)
        one, sl, sll, sg, sgl = w.sum(0), (w * l).sum(0), (w * l * l).sum(0), (w * g).sum(0), (w * g * l).sum(0)
        slope = (one * sgl - sl * sg) / (one * sll - sl * sl)
        shift = (sll * sg - sl * sgl) / (one * sll - sl * sl)
        lines = {"weights": (np.full(len(gain), 0.5), 0 * gain), "scaled": (gain, 0 * gain), "calibrated": (slope, shift)}
        l, r = measured[i] @ left.T, measured[i] @ right.T
        directions = {}
        for name in DIRECTIONS:
            q = hidden_weights(m, i, name, ids)
            output = (silu(l) * r) @ q
            forms = {}
            for form, (a, b) in lines.items():
                value = ((a * l + b) * r) @ q
                r2 = 1 - ((output - value) ** 2).sum() / ((output - output.mean()) ** 2).sum()
                half = (left * (q * a)[:, None]).T @ right
                forms[form] = {"r2": r2, "eigenvalues": np.linalg.eigvalsh((half + half.T) / 2)[::-1].tolist()}
            directions[name] = forms
        layers.append(directions)
    result = {"calibration_tokens": fitted.shape[1], "tokens": measured.shape[1], "layers": layers}
    (HERE / "stories260K.json").write_text(json.dumps(result, separators=(",", ":")) + "\n")
    for i, directions in enumerate(layers):
        print(i + 1, {n: {f: round(v["r2"], 3) for f, v in d.items()} for n, d in directions.items()}, file=sys.stderr)
    print(fitted.shape, measured.shape, file=sys.stderr)


if __name__ == "__main__":
    main()
