#!/usr/bin/env python3
"""Opens exported language models with transformers.

    check_hf_export.py own FOLDER CORPUS EVAL.json      the loss that `glint eval RUN --json` found on the corpus
    check_hf_export.py family FOLDER GOLDEN.safetensors  the logits of tests/golden/families

`own` is a model of glint, with its own modeling_glint.py; `family` one that transformers has a class for."""
import json
import os
import struct
import sys
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

# Both compute in f32 through a few layers; sums of a loss are over hundreds of tokens.
LOSS, LOGITS = 1e-5, 1e-4


def stories(path):
    raw = Path(path).read_bytes()
    (version,) = struct.unpack_from("<I", raw, 8)
    count, ids = struct.unpack_from("<QQ", raw, len(raw) - 64)
    size = 2 if version == 1 else 4
    tokens = struct.unpack_from(f"<{ids}{'H' if size == 2 else 'I'}", raw, 64)
    starts = struct.unpack_from(f"<{count + 1}Q", raw, len(raw) - 64 - 8 * (count + 1))
    return [list(tokens[a:b]) for a, b in zip(starts, starts[1:])]


def own(folder, corpus, evaluated):
    model = AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=True).eval()
    expected = json.loads(Path(evaluated).read_text())
    end, context = model.config.eos_token_id, model.config.context
    total, tokens = 0.0, 0
    with torch.no_grad():
        for story in stories(Path(corpus) / "valid.bin"):
            row, target = ([end] + story)[:context], (story + [end])[:context]
            logits = model(torch.tensor([row])).logits[0].double()
            total += torch.nn.functional.cross_entropy(logits, torch.tensor(target), reduction="sum").item()
            tokens += len(target)
        # Padding on the right changes nothing before it, and text goes on as it is computed token by token.
        row = torch.tensor([[end] + stories(Path(corpus) / "valid.bin")[0][:6]])
        padded, mask = torch.cat((row, row[:, :2]), 1), torch.tensor([[1] * row.shape[1] + [0, 0]])
        apart = (model(padded, attention_mask=mask).logits[:, : row.shape[1]] - model(row).logits).abs().max().item()
        written = model.generate(row, max_new_tokens=5, do_sample=False, pad_token_id=end)[0].tolist()
        by_hand = row[0].tolist()
        for _ in range(len(written) - len(by_hand)):
            by_hand.append(int(model(torch.tensor([by_hand])).logits[0, -1].argmax()))
    loss = total / tokens
    print(f"{folder}: loss {loss:.7f} in transformers, {expected['loss']:.7f} in glint, {tokens} tokens")
    assert tokens == expected["tokens"], (tokens, expected["tokens"])
    assert abs(loss - expected["loss"]) <= LOSS * loss, "another loss"
    assert apart <= 1e-5 and written == by_hand, (apart, written, by_hand)
    q = model.interaction(torch.ones(model.config.d_model), 0)
    assert q.shape == (model.config.d_model,) * 2 and torch.equal(q, q.T)


def family(folder, golden):
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    want = load_file(golden)
    with torch.no_grad():
        got = model(want["tokens"].long()[None], use_cache=False).logits[0]
    worst = ((got - want["logits"]).abs().max() / want["logits"].abs().max()).item()
    print(f"{folder}: largest difference of logits {worst:.2g} of the largest")
    assert worst <= LOGITS, "other logits"


if __name__ == "__main__":
    {"own": own, "family": family}[sys.argv[1]](*sys.argv[2:])
