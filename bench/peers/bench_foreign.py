#!/usr/bin/env python3
"""Models of other programs: glint, llama.cpp and PyTorch, taking turns.

stories15M of llama2.c in f32 and with Q8_0 weights (glint and llama.cpp read the same GGUF files, which this script writes;
PyTorch in f32), and what of SmolLM2-135M-Instruct and Gemma 3 270M lies there (scripts/fetch-data). Generation: greedy, one
token at a time, for as many tokens as asked for, beside what reading the weights from memory allows. Prompts: some 200 tokens at
once, beside what the bare f32 products of these tokens take. All programs keep the model open and have run before.
What is not installed is left out and said so. llama.cpp is the package xllamacpp, whose compiled code knows AVX2 but not
AVX-512: glint is measured with AVX2 alone as well.
"""
import collections
import importlib.util
import json
import os
import statistics
import struct
import subprocess
import sys
import tempfile
import time

import numpy as np

import tuned
import turns


STORY = ("Once upon a time, there was a little girl named Lily. She loved to play outside in the sunshine. " * 8).strip()


def read_llama2c(path):
    with open(path, "rb") as f:
        dim, hidden, layers, heads, kv, vocab, seq = struct.unpack("<7i", f.read(28))
        data = np.frombuffer(f.read(), dtype="<f4")
    at = 0

    def take(*shape):
        nonlocal at
        n = int(np.prod(shape))
        at += n
        return data[at - n:at].reshape(shape)

    hd = dim // heads
    w = {"embedding": take(abs(vocab), dim), "attn_norm": take(layers, dim), "q": take(layers, heads * hd, dim),
         "k": take(layers, kv * hd, dim), "v": take(layers, kv * hd, dim), "o": take(layers, dim, heads * hd),
         "ffn_norm": take(layers, dim), "gate": take(layers, hidden, dim), "down": take(layers, dim, hidden),
         "up": take(layers, hidden, dim), "norm": take(dim)}
    take(seq, hd // 2), take(seq, hd // 2)
    w["head"] = w["embedding"] if vocab > 0 else take(abs(vocab), dim)
    return dict(dim=dim, hidden=hidden, layers=layers, heads=heads, kv=kv, vocab=abs(vocab), seq=seq), w


def read_tokenizer(path):
    pieces, scores = [], []
    with open(path, "rb") as f:
        data = f.read()
    at = 4
    while at < len(data):
        score, n = struct.unpack_from("<fi", data, at)
        pieces.append(data[at + 8:at + 8 + n])
        scores.append(score)
        at += 8 + n
    return pieces, scores


def llama_shapes(c):
    """The matrices of a model, (rows, columns, how many), without the head."""
    d, h, kv = c["dim"], c["hidden"], c["kv"] * c["dim"] // c["heads"]
    return [(d, d, 2 * c["layers"]), (kv, d, 2 * c["layers"]), (h, d, 2 * c["layers"]), (d, h, c["layers"])]


def gguf_shapes(path):
    """The same of a GGUF file, and the bytes that one token reads."""
    import gguf
    counts, bytes_, tied = collections.Counter(), 0, 0
    for t in gguf.GGUFReader(path).tensors:
        if len(t.shape) != 2:
            continue
        if t.name == "token_embd.weight":
            tied = int(t.n_bytes)
        elif t.name == "output.weight":
            tied, bytes_ = 0, bytes_ + int(t.n_bytes)
        else:
            counts[int(t.shape[1]), int(t.shape[0])] += 1
            bytes_ += int(t.n_bytes)
    return [(n, k, times) for (n, k), times in counts.items()], bytes_ + tied


def write_gguf(path, c, w, pieces, scores, kind):
    import gguf
    out = gguf.GGUFWriter(path, "llama")
    out.add_block_count(c["layers"]), out.add_context_length(c["seq"]), out.add_embedding_length(c["dim"])
    out.add_feed_forward_length(c["hidden"]), out.add_head_count(c["heads"]), out.add_head_count_kv(c["kv"])
    out.add_layer_norm_rms_eps(1e-5), out.add_rope_dimension_count(c["dim"] // c["heads"])
    names = ["<unk>", "<s>", "</s>"] + ["<0x%02X>" % b for b in range(256)]
    tokens = [n.encode() for n in names] + [p.replace(b" ", "\u2581".encode()) for p in pieces[259:]]
    out.add_tokenizer_model("llama"), out.add_token_list(tokens), out.add_token_scores(scores)
    out.add_token_types([2, 3, 3] + [6] * 256 + [1] * (len(tokens) - 259))
    out.add_bos_token_id(1), out.add_eos_token_id(2)

    def add(name, value):
        type_ = kind if value.ndim == 2 else gguf.GGMLQuantizationType.F32
        out.add_tensor(name, gguf.quants.quantize(np.ascontiguousarray(value), type_), raw_dtype=type_)

    add("token_embd.weight", w["embedding"]), add("output_norm.weight", w["norm"])
    for i in range(c["layers"]):
        for ours, theirs in (("attn_norm", "attn_norm"), ("q", "attn_q"), ("k", "attn_k"), ("v", "attn_v"),
                             ("o", "attn_output"), ("ffn_norm", "ffn_norm"), ("gate", "ffn_gate"), ("up", "ffn_up"),
                             ("down", "ffn_down")):
            add("blk.%d.%s.weight" % (i, theirs), w[ours][i])
    out.write_header_to_file(), out.write_kv_data_to_file(), out.write_tensors_to_file()
    out.close()


class Glint:
    """bench/foreign_bench.cc: the library in a process of its own."""

    def __init__(self, args, path, tokenizer, threads, isa="auto"):
        self.command = [args.bench, path, tokenizer, str(threads), str(args.tokens), STORY, isa]

    def rates(self):
        self.answer = json.loads(subprocess.run(self.command, check=True, capture_output=True).stdout)
        return self.answer["tokens_per_second"], self.answer["prompt_tokens_per_second"]


class LlamaCpp:
    """llama_cpp.py in a process of its own: rates as llama.cpp's server states them."""

    def __init__(self, args, path, threads):
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "llama_cpp.py")
        self.command = [sys.executable, script, path, str(threads), str(args.tokens), STORY]

    def rates(self):
        out = subprocess.run(self.command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        answer = json.loads(out.splitlines()[-1])
        return answer["tokens_per_second"], answer["prompt_tokens_per_second"]


class Torch:
    """The same model with torch's own operations and a cache of keys and values."""

    def __init__(self, args, c, w, threads):
        import torch
        torch.set_num_threads(threads)
        self.c, self.tokens = c, args.tokens
        self.w = {k: torch.tensor(v.copy()) for k, v in w.items()}
        hd = c["dim"] // c["heads"]
        angle = torch.outer(torch.arange(c["seq"]).float(), 10000.0 ** (-torch.arange(0, hd, 2).float() / hd))
        self.cos, self.sin = angle.cos(), angle.sin()

    def pass_(self, ids, at):
        import torch
        import torch.nn.functional as F
        c, w = self.c, self.w
        heads, hd, n = c["heads"], c["dim"] // c["heads"], len(ids)
        norm = lambda x, g: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * g
        cos, sin = self.cos[at:at + n, None], self.sin[at:at + n, None]

        def turn(x):
            a, b = x[..., ::2], x[..., 1::2]
            return torch.stack((a * cos - b * sin, b * cos + a * sin), -1).flatten(-2)

        x = w["embedding"][torch.tensor(ids)]
        for i in range(c["layers"]):
            u = norm(x, w["attn_norm"][i])
            q = turn(F.linear(u, w["q"][i]).view(n, heads, hd))
            self.keys[i, :, at:at + n] = turn(F.linear(u, w["k"][i]).view(n, heads, hd)).transpose(0, 1)
            self.values[i, :, at:at + n] = F.linear(u, w["v"][i]).view(n, heads, hd).transpose(0, 1)
            y = F.scaled_dot_product_attention(q.transpose(0, 1), self.keys[i, :, :at + n], self.values[i, :, :at + n],
                                               is_causal=n > 1)
            x = x + F.linear(y.transpose(0, 1).reshape(n, -1), w["o"][i])
            u = norm(x, w["ffn_norm"][i])
            x = x + F.linear(F.silu(F.linear(u, w["gate"][i])) * F.linear(u, w["up"][i]), w["down"][i])
        return F.linear(norm(x[-1], w["norm"]), w["head"])

    def clear(self):
        import torch
        c = self.c
        self.keys = torch.zeros(c["layers"], c["heads"], c["seq"], c["dim"] // c["heads"])
        self.values = torch.zeros_like(self.keys)

    def generate(self, n):
        import torch
        with torch.inference_mode():
            self.clear()
            token = 1
            start = time.perf_counter()
            for i in range(n):
                token = int(self.pass_([token], i).argmax())
            return n / (time.perf_counter() - start)

    def rates(self):
        return self.generate(self.tokens), self.prompt(list(range(3, 203)))

    def prompt(self, ids):
        import torch
        with torch.inference_mode():
            self.clear()
            start = time.perf_counter()
            self.pass_(ids, 0)
            return len(ids) / (time.perf_counter() - start)


def product_limit(program, shapes, tokens):
    """Tokens per second that the matrix products of the layers alone would take on one thread, with packed weights."""
    seconds = 0
    for n, k, times in shapes:
        rate = float(subprocess.run([program, str(tokens), str(n), str(k)], check=True, capture_output=True, text=True).stdout)
        seconds += times * 2e-9 * tokens * n * k / rate
    return tokens / seconds


class Case:
    """A model in one file: what runs it, its matrices, and the bytes that one token reads."""

    def __init__(self, model, weights, shapes, bytes_, path, tokenizer="", gguf_path=None, torch=None):
        self.model, self.weights, self.shapes, self.bytes = model, weights, shapes, bytes_
        self.path, self.tokenizer, self.gguf_path, self.torch = path, tokenizer, gguf_path, torch

    def peers(self, args, threads, has_llama_cpp):
        peers = {"glint": Glint(args, self.path, self.tokenizer, threads)}
        if self.gguf_path and has_llama_cpp:
            peers["glint, AVX2"] = Glint(args, self.gguf_path, self.tokenizer, threads, "v3")
            peers["llama.cpp"] = LlamaCpp(args, self.gguf_path, threads)
        if self.torch:
            peers["PyTorch"] = Torch(args, *self.torch, threads)
        return peers


def measure(args, result, case, threads, has_llama_cpp):
    """Rounds in which all programs take turns; a row for each."""
    peers = case.peers(args, threads, has_llama_cpp)
    text, prompts, products, memory = {key: [] for key in peers}, {key: [] for key in peers}, [], []
    for i in range(args.rounds):
        for key, peer in peers.items():
            turns.note("%s %s, %d threads: round %d of %d, %s" % (case.model, case.weights, threads, i + 1, args.rounds, key))
            written, read = peer.rates()
            text[key].append(written), prompts[key].append(read)
        memory.append(peers["glint"].answer["memory_bytes_per_second"])
        products.append(product_limit(args.products, case.shapes, 200))
    turns.note("")
    for key in peers:
        row = {"model": case.model, "weights": case.weights, "program": key, "tokens_per_second": statistics.median(text[key]),
               "prompt_tokens_per_second": statistics.median(prompts[key]), "threads": threads,
               "product_tokens_per_second": threads * statistics.median(products),
               "memory_tokens_per_second": statistics.median(memory) / case.bytes}
        print("%-12s %-6s %d thread%s  %-11s %8.1f tokens/s written (%.2f of the memory), %8.0f tokens/s of a prompt (%.2f of the products)" %
              (case.model, case.weights, threads, " " if threads == 1 else "s", key, row["tokens_per_second"],
               row["tokens_per_second"] / row["memory_tokens_per_second"], row["prompt_tokens_per_second"],
               row["prompt_tokens_per_second"] / row["product_tokens_per_second"]), flush=True)
        result["rows"].append(row)


def stories_cases(args, folder, result):
    """stories15M as it is, and as GGUF files that llama.cpp reads, too."""
    c, w = read_llama2c(args.model)
    tokenizer = os.path.join(os.path.dirname(args.model), "tokenizer.bin")
    shapes = llama_shapes(c)
    count = sum(n * k * times for n, k, times in shapes) + c["vocab"] * c["dim"]
    files = {}
    try:
        import gguf
        for name, kind in (("f32", gguf.GGMLQuantizationType.F32), ("q8_0", gguf.GGMLQuantizationType.Q8_0)):
            files[name] = os.path.join(folder, name + ".gguf")
            write_gguf(files[name], c, w, *read_tokenizer(tokenizer), kind)
    except ImportError:
        result["skipped"].append("Q8_0 and llama.cpp: the package gguf is not installed")
    yield Case("stories15M", "f32", shapes, 4 * count, files.get("f32", args.model), tokenizer, files.get("f32"), (c, w))
    if files:
        yield Case("stories15M", "q8_0", shapes, 34 / 32 * count, files["q8_0"], tokenizer, files["q8_0"])


def main():
    parser = turns.parser(__doc__, 5)
    parser.add_argument("--model", default="data/stories15m/stories15M.bin")
    parser.add_argument("--gguf", nargs="*", default=["SmolLM2-135M=data/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
                                                      "Gemma-3-270M=data/gemma3-270m/gemma-3-270m-q4_k_m.gguf"], metavar="NAME=FILE")
    parser.add_argument("--only", default="", help="the models whose names begin with this")
    parser.add_argument("--products", default="build/release/bench/products_bench")
    parser.add_argument("--bench", default="build/release/bench/foreign_bench")
    parser.add_argument("--tokens", type=int, default=100)
    args = parser.parse_args()
    counts = [int(t) for t in args.threads.split(",")]
    if os.environ.get("GLINT_TUNED") != "1":  # read when the libraries load
        os.execve(sys.executable, [sys.executable] + sys.argv, dict(os.environ, GLINT_TUNED="1", **tuned.environment("eager", max(counts))))
    result = turns.result(args)
    has_llama_cpp = importlib.util.find_spec("xllamacpp") is not None
    if not has_llama_cpp:
        result["skipped"].append("llama.cpp: xllamacpp is not installed")
    with tempfile.TemporaryDirectory() as folder:
        cases = list(stories_cases(args, folder, result))
        for name, path in (word.split("=", 1) for word in args.gguf):
            if os.path.exists(path):
                cases.append(Case(name, path.rsplit(".gguf", 1)[0].replace("-", ".").split(".")[-1].upper(), *gguf_shapes(path), path, "", path))
            else:
                result["skipped"].append("%s: `scripts/fetch-data` did not get it" % name)
        for case in cases:
            if case.model.lower().startswith(args.only.lower()):
                for threads in counts:
                    measure(args, result, case, threads, has_llama_cpp)
    for note in result["skipped"]:
        print("skipped: " + note, file=sys.stderr)
    turns.save(args, result)


if __name__ == "__main__":
    main()
